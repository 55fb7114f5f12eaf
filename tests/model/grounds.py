"""Where the model test runs the engine: a store, a clock, and a way to lose everything that is only in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.checkpointers.sqlite import SQLiteCheckpointer
from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import Answer, Commit, Delta, JournalEntry, TaskKey, TaskResult, ThreadRef, random_id
from graphs.engine.statuses import DONE, Outcome, ThreadStatus
from tests.engine.conftest import FakeClock
from tests.model.plans import World

T = TypeVar("T")


class Watched:
    """A store whose writes are noted once they are durable, and in which a person can answer while a pause is written.

    `meanwhile` is the answer of that person: it is given right before the next commit that pauses (F22); `given` then
    says to which question, and before which checkpoint.
    """

    def __init__(self, store: Any, world: World) -> None:
        self.store, self.world = store, world
        self.meanwhile: Any = None
        self.given: tuple[str, int] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def record_effect(self, ref: ThreadRef, task: TaskKey, entry: JournalEntry) -> None:
        await self.store.record_effect(ref, task, entry)
        if entry.state == "done":
            self.world.settled.add((ref.thread_id, task.path, str(task.visit), entry.key))

    async def record_tasks(self, ref: ThreadRef, results: Sequence[TaskResult]) -> None:
        await self.store.record_tasks(ref, results)
        self._settled(ref, results)

    async def commit(self, ref: ThreadRef, commit: Commit) -> Sequence[Interrupt]:
        if self.meanwhile is not None and commit.status is ThreadStatus.INTERRUPTED and commit.waiting:
            answer = Answer(commit.waiting[0], Outcome.ANSWERED, self.meanwhile)
            await self.store.answer(ref, [answer])
            self.given, self.meanwhile = (answer.interrupt_id, commit.step), None
        decided: Sequence[Interrupt] = await self.store.commit(ref, commit)
        self._settled(ref, commit.results)
        return decided

    def _settled(self, ref: ThreadRef, results: Sequence[TaskResult]) -> None:
        done = (one.key for one in results if one.status in DONE)
        self.world.settled.update((ref.thread_id, key.path, str(key.visit)) for key in done)


class Ground:
    """Memory: nothing is lost but what the engine itself keeps between two wakes."""

    #: Whether two jobs may have loaded one thread at a time, and whether this store lets its caller expire a question.
    two_holders = True
    lets_expire = True

    def __init__(self) -> None:
        self.name = random_id()[:8]
        self.clock = FakeClock()
        self.world = World()
        self.runner = asyncio.Runner()
        self.store = Watched(self.open(), self.world)

    def open(self) -> Any:
        return InMemoryCheckpointer(self.clock)

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    def restart(self) -> None:
        """What a new process would begin with."""

    def cancel(self, ref: ThreadRef, step: int) -> None:
        """End a thread from outside."""
        commit = Commit(step + 1, ThreadStatus.CANCELLED, Delta(), dict, log={"kind": "standing"})
        self.run(self.store.store.commit(ref, commit))

    def questions(self, ref: ThreadRef) -> list[Interrupt]:
        """All questions that were ever opened."""
        found: list[Interrupt] = self.store.questions(ref)
        return found

    def close(self) -> None:
        self.runner.close()


class SQLiteGround(Ground):
    """A file, opened anew after each crash."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "threads.sqlite3"
        super().__init__()

    def open(self) -> Any:
        store = SQLiteCheckpointer(self.path, self.clock)
        # No power is cut here, and waiting for the disk is most of the time.
        store._db.execute("PRAGMA synchronous=OFF")
        return store

    def restart(self) -> None:
        self.store.store.close()
        self.store.store = self.open()

    def close(self) -> None:
        self.store.store.close()
        super().close()
        for path in self.path.parent.glob("threads.sqlite3*"):
            path.unlink()
