"""What a question, a reply and an output may carry: JSON within bounds, refused where it is made (Z21, Z29, Z48)."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from graphs.engine.asking import ask, request_human_input
from graphs.engine.context import Context, ExecutableInput
from graphs.engine.errors import PayloadError
from graphs.engine.outputs import RequestInput
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import one, resume, start

Store = Any
LONG = "n" * 201


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"a": [1, {2, 3}]}, "payload/a/1"),
        ({"a": (1,)}, "payload/a"),
        ({"when": float("inf")}, "payload/when"),
        ({"b": {"c": b"x"}}, "payload/b/c"),
        ({1: "x"}, "payload"),
        ({"t": "a\0b"}, "payload/t"),
        ({"s": "\udc00"}, "payload/s"),
        ({"n": 2**64}, "payload/n"),
        ({"k" * 300: 1}, "payload"),
    ],
)
async def test_z21_what_is_not_json_is_refused_where_it_is_asked(store: Store, payload: Any, path: str) -> None:
    """Also Z48: with its path, before anything is stored."""
    paths: list[str] = []

    def node() -> Any:
        try:
            ask("?", payload=payload)
        except PayloadError as error:
            paths.append(error.path)
            raise

    result = await start(one(node), store)
    assert result.status is ThreadStatus.FAILED and paths == [path]
    assert store.questions(ThreadRef("one", "run-1")) == []


class Form(BaseModel):
    amount: Decimal
    day: date


async def test_z21_declared_encodings_keep_their_meaning(store: Store) -> None:
    given = {"form": Form(amount=Decimal("1.10"), day=date(2026, 1, 2)), "at": datetime(2026, 1, 2, 3, 4)}
    asked = (await start(one(lambda: ask("?", payload=given)), store)).interrupts[0]
    assert asked.value == {"form": {"amount": "1.10", "day": "2026-01-02"}, "at": "2026-01-02T03:04:00"}


@pytest.mark.parametrize("output", [{1, 2}, (1,), float("nan"), object()])
async def test_z21_outputs_keep_their_types_or_are_refused(store: Store, output: Any) -> None:
    result = await start(one(lambda: output), store)
    assert result.status is ThreadStatus.FAILED and result.error["type"] == "payload_error"


@pytest.mark.parametrize(
    ("asking", "where"),
    [
        (lambda inp: request_human_input(inp, "?", kind="k" * 61), "kind"),
        (lambda inp: ask("?", queue=LONG), "queue"),
        (lambda inp: RequestInput(interrupt_id=LONG), "interrupt_id"),
        (lambda inp: ask("?", key="k" * 257), "key"),
        (lambda inp, ctx: ctx.once("k" * 200, lambda: ask("?", key="k" * 120)), "key"),
    ],
)
async def test_z29_names_that_a_store_could_not_keep_fail_their_node(store: Store, asking: Any, where: str) -> None:
    """Every store takes the same names: one that only SQLite takes would break its thread on PostgreSQL."""
    asking.__annotations__ = {"inp": ExecutableInput, "ctx": Context}
    result = await start(one(asking), store)
    assert result.error["type"] == "payload_error" and f"(at {where})" in result.error["message"]
    assert store.questions(ThreadRef("one", "run-1")) == []


async def test_a_long_key_gives_a_handle_that_fits(store: Store) -> None:
    graph = one(lambda: ask("?", key="k" * 250).value)
    (asked,) = (await start(graph, store)).interrupts
    assert len(asked.interrupt_id) == 200
    assert (await resume(graph, store, {asked.interrupt_id: 1})).output == 1
