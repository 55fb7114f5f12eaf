"""Replay and checkpointed mode are two ways to the same end (W32)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from graphs.engine import replaying
from graphs.engine.checkpointers.replayed import replayed
from graphs.engine.context import Context
from graphs.engine.conversation.apps import App, ResumabilityConfig, RunEvent
from graphs.engine.conversation.content import Content, FunctionResponse, Part
from graphs.engine.effects import aonce
from graphs.engine.functions import FunctionNode
from graphs.engine.graph import CompiledGraph
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import ThreadStatus
from graphs.engine.workflow import START, Workflow

Store = Any


class Flow:
    """A workflow with a loop, a nested workflow, effects, state and a node that fails once."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        inner = Workflow("checks", [(START, (self.legal, self.money), self.verdict)])
        review = FunctionNode(self.review, rerun_on_resume=True)
        self.root = Workflow(
            "plan",
            [
                (START, self.draft, review),
                (review, {"rejected": self.revise, "approved": inner}),
                (self.revise, review),
                (inner, self.publish),
            ],
            state={"log": "append", "rounds": "add"},
        )

    def draft(self, node_input: str) -> str:
        self.calls["draft"] += 1
        return f"draft of {node_input}"

    async def review(self, ctx: Context, node_input: str) -> AsyncIterator[Any]:
        rounds = ctx.state.get("rounds", 0)
        answer = ctx.resume_inputs.get(f"review_{rounds}")
        if answer is None:
            yield Event(state={"log": f"asked {rounds}"})
            yield RequestInput(f"review_{rounds}", f"{node_input}?", response_schema=bool)
            return
        self.calls["review"] += 1
        yield Event(output=node_input, route="approved" if answer else "rejected", state={"rounds": 1})

    async def revise(self, ctx: Context, node_input: str) -> str:
        self.calls["revise"] += 1

        async def work() -> str:
            self.calls["work"] += 1
            return f"{node_input}, better"

        return str(await aonce("work", work))

    def legal(self, node_input: str) -> Any:
        self.calls["legal"] += 1
        return RequestInput("legal", "Legal?")

    def money(self, node_input: str) -> str:
        self.calls["money"] += 1
        return "paid"

    def verdict(self, node_input: dict[str, Any], ctx: Context) -> Any:
        self.calls["verdict"] += 1
        return node_input

    def publish(self, node_input: Any) -> Any:
        self.calls["publish"] += 1
        if self.calls["publish"] == 1:
            raise ValueError("the press is away")
        return {"published": node_input}


async def play(flow: Flow, store: Store, resumable: bool, restarted: Callable[[Store], Store]) -> RunEvent:
    """One whole run, each message in a process of its own."""

    async def say(message: Any = None, **options: Any) -> list[RunEvent]:
        app = App("plan", flow.root, ResumabilityConfig(is_resumable=resumable))
        run = Runner(app=app, session_service=restarted(store))
        events = run.run_async(user_id="ana", session_id=str(resumable), new_message=message, **options)
        return [event async for event in events]

    events = await say("a plan")
    for value in (False, False, True, "fine"):
        (call,) = [call for event in events for call in event.get_function_calls()]
        events = await say(Content("user", [Part(function_response=FunctionResponse(call.id, "", {"result": value}))]))
    assert events[-1].error_code == "ValueError"
    return (await say(invocation_id=events[-1].invocation_id))[-1]


async def test_w32_both_modes_come_to_the_same_final_state_and_run_no_node_twice(
    store: Store, restarted: Callable[[Store], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends, counts, threads = [], [], []
    rebuilds: list[str] = []

    async def noted(graph: CompiledGraph, checkpointer: Any, ref: ThreadRef) -> Any:
        rebuilds.append(ref.thread_id)
        return await replaying.rebuilt(graph, checkpointer, ref)

    monkeypatch.setattr("graphs.engine.checkpointers.replayed.rebuilt", noted)
    for resumable in (True, False):
        flow = Flow()
        ends.append(await play(flow, store, resumable, restarted))
        counts.append(dict(flow.calls))
        threads.append(await store.load(ThreadRef("plan", f"ana/{resumable}/1")))
    assert ends[0].output == ends[1].output == {"published": {"legal": "fine", "money": "paid"}}
    assert counts[0] == counts[1] == {
        "draft": 1, "review": 3, "revise": 2, "work": 2, "legal": 1, "money": 1, "verdict": 1, "publish": 2,
    }  # fmt: skip
    checkpointed, rebuilt = threads
    assert rebuilt.status is checkpointed.status is ThreadStatus.COMPLETED
    assert rebuilt.cells == checkpointed.cells and rebuilt.step == checkpointed.step
    assert rebuilt.cells["channel:|log"] == ["asked 0", "asked 1", "asked 2"]
    assert set(rebuilds) == {"ana/False/1"} and len(rebuilds) > 5


async def test_w32_what_replay_loads_comes_from_the_log_and_not_from_the_last_checkpoint(
    store: Store, restarted: Callable[[Store], Store]
) -> None:
    flow = Flow()
    await play(flow, store, False, restarted)
    ref = ThreadRef("plan", "ana/False/1")
    plain = store.load

    async def damaged(ref: ThreadRef) -> Any:
        snapshot = await plain(ref)
        snapshot.cells = {name: value for name, value in snapshot.cells.items() if not name.startswith("channel:")}
        return snapshot

    right = (await plain(ref)).cells
    store.load = damaged
    assert (await replayed(store, flow.root.compile()).load(ref)).cells == right
    assert (await store.load(ref)).cells != right
