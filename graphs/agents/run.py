"""One execution of an agent: its loop of model and tools, each step an entry of the task's journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphs.agents.batch import Batch, stop_repeated
from graphs.agents.calling import hooks_of
from graphs.agents.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    MessageAddedEvent,
)
from graphs.agents.models import REPLY, ModelReply, ToolCall, reply_of
from graphs.agents.state import AgentValues, kept_state, settled, state_channel
from graphs.agents.structured import following
from graphs.agents.trimming import trimmed
from graphs.engine import canonical, messages
from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context
from graphs.engine.counters import counted
from graphs.engine.errors import PayloadError, SaysoError
from graphs.engine.hooks import HookEvent
from graphs.engine.messages import Message
from graphs.engine.ports import JournalEntry, Json
from graphs.engine.scopes import Scope
from graphs.engine.state import StateView

if TYPE_CHECKING:
    from graphs.agents.agent import Agent

#: Where the journal notes that a budget was used up: a retry begins to count anew behind it.
BUDGET = "budget"


class TooManyTurns(SaysoError):
    """The model asked for tools more often than the agent allows; a retry gives it as many turns again."""


class TooManyTokens(SaysoError):
    """The agent used more tokens than it may; a retry gives it as many again."""


class AgentRun:
    """An agent as it runs in one task: what hooks and tools see as `agent`.

    `messages` is the conversation so far, `state` what hooks and tools keep beside it; both belong to this thread.
    """

    def __init__(self, agent: Agent, ctx: Context) -> None:
        self.agent = agent
        self.ctx = ctx
        self.name = agent.name
        self.system_prompt = agent.system_prompt
        self.messages: list[Message] = []
        #: How many of the messages were said before this prompt.
        self.known = 0
        #: The member that a tool of this pass hands over to, in a swarm.
        self.handing = ""
        self.state = AgentValues(kept_state(ctx.state, agent.name) or agent.initial_state)
        self.hooks = hooks_of(agent.toolbox, ctx)
        self._scope = Scope(ctx)

    async def run(self, value: Any) -> Json:
        """The output: the text of the model's last reply, or what fits the agent's schema."""
        await self.agent.toolbox.open()
        await self._fire(BeforeInvocationEvent(self))
        ended = AfterInvocationEvent(self)
        try:
            ended.result = await self._converse(value)
            return ended.result
        except TaskEnded as stopped:
            # What was said and done is in the journal (`given_up`); a change that no hook or tool settled is here only.
            if self.agent.remembers and self.state.changed:
                stopped.writes[state_channel(self.name)] = self.state.get()
            raise
        finally:
            await self._fire(ended)
            if ended.result is not None and self.state.changed:
                self.ctx.state[state_channel(self.name)] = self.state.get()

    async def _converse(self, value: Any) -> Json:
        known = self.known = await self._open(value)
        spent: Counter[str] = Counter()
        turn = 0
        while True:
            since = self._activation()
            await self._stop_at(turn, since, spent)
            message, usage = await self._ask_model(turn)
            spent.update(usage if turn >= since else {})
            self.messages.append(message)
            done, output = await self._answered(turn, message)
            if done:
                self._keep(known)
                return output
            turn += 1

    async def _answered(self, turn: int, message: Message) -> tuple[bool, Json]:
        """Whether a reply ends the loop, with what; else its calls are made and their results follow it."""
        schema = self.agent.output_schema
        if schema is not None:
            fits, output, wrong = schema.read(message)
            told = following(message, wrong) if fits or wrong else None
            if fits:
                self.messages += [] if told is None else [told]
                return True, output
            if told is not None:
                await self._add_results(turn, told)
                return False, None
        elif not message.tool_calls:
            return True, "".join(block.get("text", "") for block in message.content)
        results = await Batch(self.agent.toolbox, self.ctx, turn, message, self).run()
        await self._add_results(turn, Message.tool_result_message(results))
        stop_repeated(self.agent.toolbox, self.messages)
        return False, None

    # The conversation

    async def _open(self, value: Any) -> int:
        """Begin with what was said before and the prompt; how many of the messages the thread has already."""
        channel = self.agent.remembers
        if holds_conversation(value, self.ctx.state):
            self.messages = messages.read(self.ctx.state["messages"])
            return len(self.messages)
        before = messages.read(self.ctx.state.get(channel)) if channel else []
        self.messages = [*before, prompt_of(value)]
        await self._tell_added("prompt", 0, self.messages[-1])
        return len(before) if channel else len(self.messages)

    def _keep(self, known: int) -> None:
        channel = self.agent.remembers or "messages"
        if self.agent.remembers or "messages" in self.ctx.state:
            self.ctx.state[channel] = self.messages[known:]

    async def _add_results(self, turn: int, message: Message) -> None:
        self.messages.append(message)
        await self._tell_added("results", turn, message)

    async def _tell_added(self, key: str, ordinal: int, message: Message) -> None:
        if not self.hooks.wants(MessageAddedEvent):
            return
        place = f"added:{key}"

        async def tell() -> dict[str, Json]:
            await self._fire(MessageAddedEvent(self, canonical.copy(message)), f"{place}.{ordinal}/")
            return {}

        await settled(self.state, self._scope, place, tell, ordinal=ordinal)

    # The model

    async def _ask_model(self, turn: int) -> tuple[Message, Mapping[str, int]]:
        found = await settled(self.state, self.ctx.scope, REPLY, lambda: self._complete(turn), ordinal=turn)
        self.ctx.spend(**found["usage"])
        return Message(found["message"]), found["usage"]

    async def _complete(self, turn: int) -> dict[str, Json]:
        await self._fire(BeforeModelCallEvent(self), f"model.{turn}/")
        try:
            reply = await self._reply(turn)
        except Exception as error:
            await self._fire(AfterModelCallEvent(self, None, error), f"model.{turn}/")
            raise
        message = _assistant(reply, turn)
        await self._fire(AfterModelCallEvent(self, canonical.copy(message)), f"model.{turn}/")
        await self._fire(MessageAddedEvent(self, canonical.copy(message)), f"model.{turn}/")
        return {"message": message, "usage": counted(reply.usage)}

    async def _reply(self, turn: int) -> ModelReply:
        agent = self.agent
        shown = [Message(one) for one in canonical.copy(trimmed(self.messages, agent.window))]
        told = 0

        def tell(text: str) -> None:
            nonlocal told
            # With where in the reply it stands: one that begins anew after an error is not taken for its rest.
            self.ctx.stream({"text": _clean(text), "agent": agent.name, "turn": turn, "at": told})
            told += len(text)

        reply = await reply_of(agent.model, shown, agent.specs, self.system_prompt, tell)
        if not isinstance(reply, ModelReply):
            raise TypeError(f"the model of agent {agent.name!r} gave {reply!r:.100}, which is no ModelReply")
        return reply

    # Budgets

    def _activation(self) -> int:
        """The turn from which budgets count: behind the last one that a person decided something of, or that used a
        budget up before a retry (DESIGN 4.1)."""
        decided = [one.key for one in self.ctx.journal.record.interrupts if one.decision is not None]
        noted = [int(entry.value) for entry in self.ctx.journal.effects(BUDGET)]
        return max([0, *noted, *(turn_of(key) + 1 for key in decided)])

    async def _stop_at(self, turn: int, since: int, spent: Mapping[str, int]) -> None:
        agent = self.agent
        if turn - since >= agent.max_turns:
            await self._note_budget(turn)
            raise TooManyTurns(f"agent {agent.name!r} called its model {agent.max_turns} times without an end")
        if agent.max_tokens is not None and spent.get("tokens", 0) >= agent.max_tokens:
            await self._note_budget(turn)
            raise TooManyTokens(f"agent {agent.name!r} used {spent['tokens']} tokens of the {agent.max_tokens} it may")

    async def _note_budget(self, turn: int) -> None:
        count = sum(1 for _ in self.ctx.journal.effects(BUDGET))
        await self.ctx.record(JournalEntry(BUDGET, count, "done", turn))

    async def _fire(self, event: HookEvent, place: str = "") -> None:
        if self.hooks.wants(type(event)):
            event.scope = Scope(self.ctx, f"{place}{event.kind}/")
            await self.hooks.fire(event, self.ctx)


def turn_of(key: str) -> int:
    """The turn that a place of the journal belongs to, -1 for one that belongs to none."""
    head = key.partition("/")[0]
    kind, _, rest = head.partition(":")
    number = rest.partition(".")[0]
    return int(number) if kind in ("tool", "batch") and number.isdecimal() else -1


def holds_conversation(value: Any, state: StateView) -> bool:
    """Whether a node's input is the whole conversation so far, which its thread keeps already (T31)."""
    return isinstance(value, Mapping) and "messages" in value and "messages" in state


def prompt_of(value: Any) -> Message:
    """A node's input as the message that an agent is asked with."""
    if isinstance(value, Mapping) and value.get("role") and isinstance(value.get("content"), list):
        return Message.of(value)
    return Message.text_message(value if isinstance(value, str) else canonical.dumps(value).decode())


def _assistant(reply: ModelReply, turn: int) -> Message:
    calls, taken = [], set()
    for index, one in enumerate(reply.tool_calls):
        id = _clean(one.id) or f"call-{turn}-{index}"
        while id in taken:
            # Models repeat ids; results are told apart by them, so within one reply each is made to differ.
            id = f"{id}-{index}"
        taken.add(id)
        given, broken = _arguments(one)
        use = {"toolUseId": id, "name": _clean(one.name), "input": given}
        calls.append({**use, "broken": broken[:2_000]} if broken else use)
    blocks = [{"text": _clean(reply.text)}] if reply.text or not calls else []
    return Message(role="assistant", content=[*blocks, *({"toolUse": one} for one in calls)])


def _arguments(call: ToolCall) -> tuple[Json, str]:
    """What a tool is called with, and what is wrong with it: then it is not called, and the model is told."""
    try:
        return canonical.encode(dict(call.input), "input"), _clean(call.broken)
    except PayloadError as error:
        return {}, str(error)


def _clean(text: str) -> str:
    """A model's text without what no JSON may hold."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
