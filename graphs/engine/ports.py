"""The one port through which the engine writes, and the records that pass through it.

Every store (memory, SQLite, the Django tables) implements `Checkpointer` and passes the specification in `tests/store`.
Values in these records are JSON already: `canonical.encode` ran where they were made, so a store never converts.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.statuses import Outcome, TaskStatus, ThreadStatus

if TYPE_CHECKING:
    from graphs.engine.trust import Grant

Json = Any
Cells = dict[str, Json]


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """Names one thread: thread ids are scoped by graph (Z17)."""

    graph_id: str
    thread_id: str


class TaskKey(NamedTuple):
    """Names one execution of one node: `path` is `outer/inner` for nested graphs, `visit` counts loop passes from 1."""

    path: str
    visit: int


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One settled effect of a task, found again by `(key, ordinal)` when the task re-fires.

    `state` is `started` (an at-most-once effect that may have happened) or `done`. `value` is the JSON result.
    """

    key: str
    ordinal: int
    state: str
    value: Json = None
    mode: str = "idempotent"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How one execution of a task ended: finished with its output and writes, or failed with its error.

    `writes` is the list of channel writes `[channel, value]` in the order they were made; they apply once, when the
    superstep commits. `error` is `{"type", "message", "traceback"}`. `seconds` is the duration of the last attempt.
    `targets` are the nodes that its edges lead to, decided once, when it finished, and never again; a store keeps them
    with the result. None means that nothing was decided (a task that did not finish).
    """

    key: TaskKey
    status: TaskStatus
    output: Json = None
    route: Json = None
    has_route: bool = False
    writes: tuple[tuple[str, Json], ...] = ()
    error: Mapping[str, Json] | None = None
    attempt: int = 1
    seconds: float = 0.0
    usage: Mapping[str, int] = field(default_factory=dict)
    targets: tuple[str, ...] | None = None


@dataclass(slots=True)
class TaskRecord:
    """What the store knows of a task that is not applied yet: its journal, its questions, its result if recorded."""

    key: TaskKey
    status: TaskStatus = TaskStatus.RUNNING
    journal: list[JournalEntry] = field(default_factory=list)
    interrupts: list[Interrupt] = field(default_factory=list)
    result: TaskResult | None = None


@dataclass(frozen=True, slots=True)
class ThreadStart:
    """What a new thread begins with. `cells` is the engine's first state, written whole as checkpoint 0."""

    fingerprint: str
    graph_version: str
    input: Json
    cells: Cells
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class Snapshot:
    """A thread as loaded: bounded by what is active, never by the length of its history (Z47).

    `tasks` holds only tasks that the cells still name as ready, waiting or failed.
    """

    ref: ThreadRef
    status: ThreadStatus
    fingerprint: str
    graph_version: str
    step: int
    input: Json
    cells: Cells
    tasks: dict[TaskKey, TaskRecord]
    next_seq: int = 1
    output: Json = None
    error: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """What a superstep changed in the cells: whole values set, tails appended to lists, cells dropped."""

    set: Mapping[str, Json] = field(default_factory=dict)
    append: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    drop: tuple[str, ...] = ()

    def apply(self, cells: Cells) -> None:
        """Bring `cells` in place from the checkpoint before to this one."""
        for name in self.drop:
            cells.pop(name, None)
        cells.update(self.set)
        for name, tail in self.append.items():
            cells[name] = [*cells.get(name, []), *tail]


@dataclass(frozen=True, slots=True)
class Commit:
    """One superstep's commit, written in one transaction or not at all.

    `step` is the number of the checkpoint it writes; the store refuses any but the last one's successor.
    `status` is where the engine wants the thread: with `interrupted` the store looks again, under the thread's lock,
    at the questions of `waiting`, and where one was decided meanwhile it stores `running` instead and returns that
    question (F22). `results` are all results of this step; the store skips those it has recorded already.
    `events` are the stored events in order; their `seq` is already set, following on from `Snapshot.next_seq`.
    `full()` gives the whole cells, for a store that prefers a snapshot now. `active` names every task that the cells
    still name after this commit (ready, waiting, failed, or holding a nested graph): what `Snapshot.tasks` loads.
    Open questions are withdrawn with the result of their task, unless it failed, and all of them by a commit that ends
    the thread otherwise than as failed: nobody is left to receive their answers.
    `log` is what a replay cannot derive of this step (`graphs.engine.replaying` says what is in it); results are not,
    since they are stored with their tasks.
    """

    step: int
    status: ThreadStatus
    delta: Delta
    full: Callable[[], Cells]
    results: tuple[TaskResult, ...] = ()
    waiting: tuple[str, ...] = ()
    active: tuple[TaskKey, ...] = ()
    events: tuple[Mapping[str, Json], ...] = ()
    output: Json = None
    error: Mapping[str, Json] | None = None
    log: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply that matched one open question: what `answers.match` returns and `Checkpointer.answer` records."""

    interrupt_id: str
    outcome: Outcome
    value: Json = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """One line of a thread's history: checkpoint number, time of the commit (UTC), status after it."""

    step: int
    at: datetime
    status: ThreadStatus


@dataclass(frozen=True, slots=True)
class StepLog:
    """One checkpoint as a replay reads it: what was logged of the step, and the cells that it wrote.

    `cells` are all cells where the store keeps them for this step, otherwise `delta` is what the step changed. `log` is
    empty for checkpoint 0, and for one that an earlier build wrote without a log.
    """

    step: int
    status: ThreadStatus
    log: Mapping[str, Json]
    cells: Cells | None = None
    delta: Delta | None = None


class Checkpointer(Protocol):
    """Where threads are kept. Every method is one atomic, durable write or one bounded read.

    Raises: `ThreadExists` (create), `UnknownThread` (all but create and load), `LeaseLost` from any write of a holder
    that was replaced (Django store) or whose `step` is not the successor of the stored one.
    """

    async def create(self, ref: ThreadRef, start: ThreadStart) -> None: ...

    async def load(self, ref: ThreadRef) -> Snapshot | None: ...

    def holding(self, ref: ThreadRef) -> AbstractAsyncContextManager[None]:
        """While the block runs, nobody else advances this thread, be it there already or created in the block.

        For a store that others work on too; raises `ThreadBusy` where one of them is at it. With the others a commit
        that came second is refused, and no more."""
        ...

    async def record_effect(self, ref: ThreadRef, task: TaskKey, entry: JournalEntry) -> None:
        """Store an effect as started or done, before the next one begins. The same `(key, ordinal)` is replaced, but
        never once it is done: only a holder that was replaced meanwhile would do that."""
        ...

    async def open_interrupt(self, ref: ThreadRef, interrupt: Interrupt) -> Interrupt:
        """Open one question, at once and durably. A question at the same `(task, key, ordinal)` with a lower revision
        becomes `superseded`; one with the same revision is returned as it is stored."""
        ...

    async def record_tasks(self, ref: ThreadRef, results: Sequence[TaskResult]) -> None:
        """Record finished tasks of the running superstep ahead of its commit, so that a crash repeats none of them
        (R4)."""
        ...

    async def commit(self, ref: ThreadRef, commit: Commit) -> Sequence[Interrupt]:
        """Write one superstep. Returns the questions of `commit.waiting` that were decided meanwhile (empty when
        none)."""
        ...

    async def answer(self, ref: ThreadRef, answers: Sequence[Answer], *, actor: str = "") -> Sequence[Decision]:
        """Record answers, all or none, and return their decisions. The Django store goes through `decide`.

        An answer equal to the one recorded already returns the first decision (Z34); another one to a closed question
        raises `AlreadyAnswered`, an unknown one `AnswerMismatch`; neither changes anything."""
        ...

    async def retry(self, ref: ThreadRef) -> None:
        """Bring a failed thread back to `ready`; its failed tasks keep journal and answers (Z04, W44)."""
        ...

    async def history(self, ref: ThreadRef, limit: int = 100) -> Sequence[CheckpointInfo]:
        """The newest checkpoints first, at most `limit`."""
        ...

    async def results(self, ref: ThreadRef, keys: Sequence[TaskKey]) -> Mapping[TaskKey, TaskResult]:
        """The recorded results of these tasks, for `GraphState.node_results`; what has none is left out."""
        ...

    async def load_step(self, ref: ThreadRef, step: int) -> Cells | None:
        """The cells as checkpoint `step` left them, or None where there is no such checkpoint."""
        ...

    async def log(self, ref: ThreadRef, first: int = 0, limit: int = 500) -> Sequence[StepLog]:
        """The checkpoints from step `first` on, oldest first, at most `limit`."""
        ...

    async def grants(self, ref: ThreadRef) -> Sequence[Grant]:
        """The trust that reaches this thread and has neither ended nor been revoked, oldest first (Z54). A store keeps
        it with the answer that gave it, in one write (`graphs.engine.trust.granted`)."""
        ...

    async def revoke(self, ref: ThreadRef, grant_id: str, *, actor: str = "") -> bool:
        """End a grant that reaches this thread; False where there is none (any more)."""
        ...

    async def decided(self, ref: ThreadRef, name: str) -> Sequence[Interrupt]:
        """The decided questions of this name in the thread, of finished tasks too, oldest first: what people have said
        of a tool's calls, which counts for more than trust (Z54). Grows with the decisions, so only trust reads it."""
        ...

    async def journals(self, ref: ThreadRef) -> Mapping[TaskKey, Sequence[JournalEntry]]:
        """The journals of all tasks of the thread, finished ones too: what a fork asks about (E25). Grows with the
        history, so nothing that runs often may read it."""
        ...


class Clock(Protocol):
    """Where the engine gets time; it has none of its own, so that tests and replays can give it theirs."""

    def now(self) -> datetime:
        """The current time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never steps back."""
        ...


class SystemClock:
    """The machine's clock: what callers pass in where they have no other."""

    def now(self) -> datetime:
        """The current time, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment of this process."""
        return time.monotonic()


def random_id() -> str:
    """A new random UUID as text: the usual `IdFactory`."""
    return str(uuid.uuid4())


IdFactory = Callable[[], str]
Emit = Callable[[Mapping[str, Any]], None]
