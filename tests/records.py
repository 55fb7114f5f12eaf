"""Hand-made records for tests of the store and the actions: what the engine would pass, without the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graphs.actions import leases
from graphs.actions.supersteps import DjangoCheckpointer
from graphs.engine import canonical
from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import Cells, Commit, Delta, Snapshot, TaskKey, TaskResult, ThreadRef, ThreadStart
from graphs.engine.statuses import TaskStatus, ThreadStatus
from graphs.models import Thread


def run(method: Any, *arguments: Any, **named: Any) -> Any:
    """Call one of the port's async methods from a test without a loop; the store works in this thread."""
    return async_to_sync(method)(*arguments, **named)


def reference(name: str = "") -> ThreadRef:
    return ThreadRef("graph", name or uuid4().hex)


def beginning(cells: Cells | None = None) -> ThreadStart:
    return ThreadStart("f" * 64, "1", {"amount": 5}, cells or {"task:a#1": {"i": None}})


def finished(path: str = "a", visit: int = 1, output: Any = None, **details: Any) -> TaskResult:
    return TaskResult(TaskKey(path, visit), TaskStatus.FINISHED, output, **details)


def commit(
    step: int,
    cells: Cells,
    *,
    status: ThreadStatus = ThreadStatus.RUNNING,
    delta: Delta | None = None,
    results: Sequence[TaskResult] = (),
    waiting: Sequence[str] = (),
    events: Sequence[dict[str, Any]] = (),
    **rest: Any,
) -> Commit:
    """One commit; `cells` are all cells after it, for a store that wants a snapshot."""
    return Commit(
        step=step,
        status=status,
        delta=delta or Delta(set=cells),
        full=lambda: cells,
        results=tuple(results),
        waiting=tuple(waiting),
        events=tuple(events),
        **rest,
    )


def event(seq: int, type: str = "graph.superstep_end", **data: Any) -> dict[str, Any]:
    return {"type": type, "path": "", "visit": 0, "seq": seq, "at": "2026-01-02T03:04:05.678901+00:00", "data": data}


def question(path: str = "a", key: str = "ask", ordinal: int = 0, **fields: Any) -> Interrupt:
    """One question as the engine opens it, its digest over what a reviewer would see."""
    shown = [fields.get("question", "May I?"), fields.get("value")]
    defaults = {
        "id": str(uuid4()),
        "node_id": path,
        "path": path,
        "key": key,
        "ordinal": ordinal,
        "question": "May I?",
        "style": "ask",
        "digest": canonical.digest(shown),
    }
    return Interrupt(**{**defaults, **fields})


class Pen:
    """A thread with its holder: what a job is to the store."""

    def __init__(self, ref: ThreadRef | None = None, cells: Cells | None = None, queue: str = "") -> None:
        self.ref = ref or reference()
        self.store = DjangoCheckpointer(queue=queue)
        run(self.store.create, self.ref, beginning(cells))

    @property
    def thread(self) -> Thread:
        return Thread.objects.get(graph_id=self.ref.graph_id, thread_id=self.ref.thread_id)

    def claim(self) -> leases.Held:
        """Take the lease as a job does, and load."""
        held = leases.claim()
        assert held is not None and held.ref == self.ref
        self.store = DjangoCheckpointer(held)
        self.load()
        return held

    def load(self) -> Snapshot:
        snapshot: Snapshot = run(self.store.load, self.ref)
        return snapshot

    def ask(self, *questions: Interrupt) -> list[Interrupt]:
        return [run(self.store.open_interrupt, self.ref, one) for one in questions]

    def write(self, step: int, cells: Cells | None = None, **rest: Any) -> Any:
        return run(self.store.commit, self.ref, commit(step, cells or {"n": step}, **rest))

    def pause(self, *questions: Interrupt, step: int = 1) -> list[Interrupt]:
        """Open the questions and pause on them."""
        asked = self.ask(*questions)
        self.write(step, status=ThreadStatus.INTERRUPTED, waiting=[one.id for one in asked])
        return asked


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements that the block sends, without BEGIN, COMMIT and savepoints, which are counted apart."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield found
    found += [query["sql"] for query in captured.captured_queries if not frame(query["sql"])]


def frame(statement: str) -> bool:
    return statement.upper().startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK"))
