"""Threads in one SQLite file: durable over restarts and kills, without Django."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from graphs.engine.checkpointers import rules
from graphs.engine.checkpointers import statements as sql
from graphs.engine.errors import LeaseLost, ThreadExists, UnknownThread
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.ports import (
    Answer,
    Cells,
    CheckpointInfo,
    Clock,
    Commit,
    Delta,
    JournalEntry,
    Snapshot,
    StepLog,
    SystemClock,
    TaskKey,
    TaskRecord,
    TaskResult,
    ThreadRef,
    ThreadStart,
)
from graphs.engine.statuses import DONE, TaskStatus, ThreadStatus
from graphs.engine.trust import Grant


class SQLiteCheckpointer:
    """Keeps threads in the file `path`. Processes may share it; a commit that came second raises `LeaseLost`."""

    #: Deltas since the last whole copy that are kept at least, before one outgrowing it makes the next.
    SMALL = 16_384
    MAX_ROWS = 64

    def __init__(self, path: str | Path, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._db = sqlite3.connect(str(path), timeout=30, isolation_level=None, check_same_thread=False)
        # FULL: with NORMAL a power cut can lose an answer that somebody was told is recorded.
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;")
        self._db.executescript(sql.SCHEMA)
        self._bring_up_to_date()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    async def create(self, ref: ThreadRef, start: ThreadStart) -> None:
        data = _text(start.cells)
        row = (ref.graph_id, ref.thread_id, "ready", start.fingerprint, start.graph_version, _text(start.input))
        with self._writing() as db:
            try:
                cursor = db.execute(
                    sql.CREATE,
                    (*row, _text(dict(start.metadata)), len(data)),
                )
            except sqlite3.IntegrityError:
                raise ThreadExists(f"graph {ref.graph_id!r} has a thread {ref.thread_id!r} already") from None
            db.execute(sql.CHECKPOINT, (cursor.lastrowid, 0, 1, data, "ready", self._clock.now().isoformat(), "{}"))

    async def load(self, ref: ThreadRef) -> Snapshot | None:
        with self._reading() as db:
            row = self._find(db, ref)
            if row is None:
                return None
            id, status, fingerprint, version, step, next_seq, input_, output, error, full_step, _, _ = row
            cells = self._cells(db, id, full_step, step)
            tasks = self._tasks(db, id)
        loaded = (orjson.loads(input_), cells, tasks, next_seq, orjson.loads(output), orjson.loads(error))
        return Snapshot(ref, ThreadStatus(status), fingerprint, version, step, *loaded)

    def holding(self, ref: ThreadRef) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def record_effect(self, ref: ThreadRef, task: TaskKey, entry: JournalEntry) -> None:
        value = _text(entry.value)
        with self._writing() as db:
            id = self._row(db, ref)[0]
            _ensure_task(db, id, task)
            row = (id, task.path, task.visit, entry.key, entry.ordinal, entry.state, entry.mode, value)
            if db.execute(sql.RECORD, row).rowcount != 1:
                raise LeaseLost(f"{entry.key!r} of {task.path!r} is done already: another holder went on")

    async def open_interrupt(self, ref: ThreadRef, interrupt: Interrupt) -> Interrupt:
        data = _text(rules.interrupt_to_json(interrupt))
        place = (interrupt.path, interrupt.visit, interrupt.key, interrupt.ordinal)
        with self._writing() as db:
            id = self._row(db, ref)[0]
            found = db.execute(sql.AT_PLACE, (id, *place, interrupt.revision)).fetchone()
            if found is not None:
                return _question(found)
            _ensure_task(db, id, TaskKey(interrupt.path, interrupt.visit))
            db.execute(sql.SUPERSEDE, (id, *place, interrupt.revision))
            db.execute(
                "INSERT INTO interrupts (id, thread, path, visit, key, ordinal, revision, status, data)"
                " VALUES (?,?,?,?,?,?,?,?,?)",
                (interrupt.id, id, *place, interrupt.revision, str(interrupt.status), data),
            )
        return interrupt

    async def record_tasks(self, ref: ThreadRef, results: Sequence[TaskResult]) -> None:
        rows = [_result_row(one) for one in results]
        with self._writing() as db:
            id = self._row(db, ref)[0]
            for one in results:
                _ensure_task(db, id, one.key)
            self._keep(db, id, rows, applied=False)

    async def commit(self, ref: ThreadRef, commit: Commit) -> Sequence[Interrupt]:
        # Everything is written out as text before the file is locked: other threads commit meanwhile (F17).
        delta = _text([commit.delta.set, commit.delta.append, commit.delta.drop])
        rows = [_result_row(one) for one in commit.results]
        events = [(one["seq"], _text({**one, "at": one["at"].isoformat()})) for one in commit.events]
        ends = (_text(commit.output), _text(commit.error))
        with self._writing() as db:
            row = self._row(db, ref)
            id, step, next_seq = row[0], row[4], row[5]
            if commit.step != step + 1:
                raise LeaseLost(f"checkpoint {commit.step} does not follow {step}: another holder went on")
            self._keep(db, id, rows, applied=True)
            decided = _decided(db, id, commit)
            status = ThreadStatus.RUNNING if decided else commit.status
            if status in rules.WITHDRAWS:
                db.execute(sql.WITHDRAW_ALL, (id,))
            sizes = self._checkpoint(db, row, commit, delta, status)
            db.executemany("INSERT INTO events VALUES (?,?,?)", [(id, *one) for one in events])
            db.execute(
                sql.ADVANCE,
                (commit.step, str(status), next_seq + len(events), *ends, *sizes, id),
            )
        return decided

    async def answer(self, ref: ThreadRef, answers: Sequence[Answer], *, actor: str = "") -> Sequence[Decision]:
        with self._writing() as db:
            row = self._row(db, ref)
            known = _named_or_open(db, row[0], [one.interrupt_id for one in answers])
            now = self._clock.now()
            closed, decisions = rules.decide(known, answers, actor, now)
            given = [
                (one.id, ref.graph_id, ref.thread_id, _text(rules.grant_to_json(one)))
                for one in rules.grants(closed, ref, now)
            ]
            db.executemany(sql.GRANT, given)
            for question in closed:
                assert question.decision is not None
                db.execute(
                    "UPDATE interrupts SET status='closed', decision=? WHERE id=?",
                    (_text(rules.decision_to_json(question.decision)), question.id),
                )
            if closed:
                status = rules.after_answer(ThreadStatus(row[1]))
                db.execute("UPDATE threads SET status=? WHERE id=?", (str(status), row[0]))
        return decisions

    async def retry(self, ref: ThreadRef) -> None:
        with self._writing() as db:
            row = self._row(db, ref)
            status = rules.after_retry(ThreadStatus(row[1]))
            db.execute("UPDATE threads SET status=?, error='null' WHERE id=?", (str(status), row[0]))

    async def history(self, ref: ThreadRef, limit: int = 100) -> Sequence[CheckpointInfo]:
        with self._reading() as db:
            rows = db.execute(
                "SELECT step, at, status FROM checkpoints WHERE thread=? ORDER BY step DESC LIMIT ?",
                (self._row(db, ref)[0], limit),
            ).fetchall()
        return [CheckpointInfo(step, datetime.fromisoformat(at), ThreadStatus(status)) for step, at, status in rows]

    async def results(self, ref: ThreadRef, keys: Sequence[TaskKey]) -> Mapping[TaskKey, TaskResult]:
        wanted = _text([[key.path, key.visit] for key in keys])
        with self._reading() as db:
            rows = db.execute(
                sql.RESULTS,
                (wanted, self._row(db, ref)[0]),
            ).fetchall()
        found = [(TaskKey(path, visit), orjson.loads(data)) for path, visit, data in rows]
        return {key: rules.result_from_json(key, data) for key, data in found}

    async def load_step(self, ref: ThreadRef, step: int) -> Cells | None:
        with self._reading() as db:
            row = self._row(db, ref)
            if not 0 <= step <= row[4]:
                return None
            (full,) = db.execute(
                "SELECT max(step) FROM checkpoints WHERE thread=? AND is_full=1 AND step<=?", (row[0], step)
            ).fetchone()
            return self._cells(db, row[0], full, step)

    async def log(self, ref: ThreadRef, first: int = 0, limit: int = 500) -> Sequence[StepLog]:
        with self._reading() as db:
            rows = db.execute(
                "SELECT step, status, log, is_full, data FROM checkpoints WHERE thread=? AND step>=?"
                " ORDER BY step LIMIT ?",
                (self._row(db, ref)[0], first, limit),
            ).fetchall()
        return [_step_log(*row) for row in rows]

    async def grants(self, ref: ThreadRef) -> Sequence[Grant]:
        with self._reading() as db:
            rows = db.execute(sql.GRANTS, (ref.graph_id,)).fetchall()
        found = [rules.grant_from_json(orjson.loads(data), ThreadRef(ref.graph_id, name)) for name, data in rows]
        now = self._clock.now()
        return [one for one in found if one.reaches(ref) and one.valid(now)]

    async def revoke(self, ref: ThreadRef, grant_id: str, *, actor: str = "") -> bool:
        if not any(one.id == grant_id for one in await self.grants(ref)):
            return False
        with self._writing() as db:
            return db.execute("DELETE FROM grants WHERE id=?", (grant_id,)).rowcount == 1

    async def decided(self, ref: ThreadRef, name: str) -> Sequence[Interrupt]:
        with self._reading() as db:
            rows = db.execute(sql.DECIDED, (self._row(db, ref)[0], name)).fetchall()
        return [_question(row) for row in rows]

    async def journals(self, ref: ThreadRef) -> Mapping[TaskKey, Sequence[JournalEntry]]:
        with self._reading() as db:
            rows = db.execute(sql.JOURNALS, (self._row(db, ref)[0],)).fetchall()
        found: dict[TaskKey, list[JournalEntry]] = {}
        for path, visit, key, ordinal, state, value, mode in rows:
            entry = JournalEntry(key, ordinal, state, orjson.loads(value), mode)
            found.setdefault(TaskKey(path, visit), []).append(entry)
        return found

    def events(self, ref: ThreadRef) -> list[Mapping[str, Any]]:
        """The stored timeline, oldest first; `at` as ISO text."""
        with self._reading() as db:
            rows = db.execute(
                "SELECT data FROM events WHERE thread=? ORDER BY seq", (self._row(db, ref)[0],)
            ).fetchall()
        return [orjson.loads(data) for (data,) in rows]

    def questions(self, ref: ThreadRef) -> list[Interrupt]:
        """All questions that were ever opened, oldest first."""
        with self._reading() as db:
            rows = db.execute(
                "SELECT data, status, decision FROM interrupts WHERE thread=? ORDER BY n", (self._row(db, ref)[0],)
            ).fetchall()
        return [_question(row) for row in rows]

    def _bring_up_to_date(self) -> None:
        with self._writing() as db:
            if "log" not in {row[1] for row in db.execute("PRAGMA table_info(checkpoints)")}:
                db.execute(sql.ADD_LOG)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("COMMIT")

    @staticmethod
    def _find(db: sqlite3.Connection, ref: ThreadRef) -> Any:
        return db.execute(
            sql.FIND,
            (ref.graph_id, ref.thread_id),
        ).fetchone()

    def _row(self, db: sqlite3.Connection, ref: ThreadRef) -> Any:
        row = self._find(db, ref)
        if row is None:
            raise UnknownThread(f"graph {ref.graph_id!r} has no thread {ref.thread_id!r}")
        return row

    @staticmethod
    def _cells(db: sqlite3.Connection, id: int, full_step: int, step: int) -> Cells:
        cells: Cells = {}
        rows = db.execute(
            "SELECT is_full, data FROM checkpoints WHERE thread=? AND step BETWEEN ? AND ? ORDER BY step",
            (id, full_step, step),
        )
        for is_full, data in rows:
            if is_full:
                cells = orjson.loads(data)
            else:
                Delta(*orjson.loads(data)).apply(cells)
        return cells

    @staticmethod
    def _tasks(db: sqlite3.Connection, id: int) -> dict[TaskKey, TaskRecord]:
        found: dict[TaskKey, TaskRecord] = {}
        for path, visit, data in db.execute(
            "SELECT path, visit, result FROM tasks WHERE thread=? AND applied=0", (id,)
        ):
            key = TaskKey(path, visit)
            result = None if data is None else rules.result_from_json(key, orjson.loads(data))
            found[key] = TaskRecord(key, TaskStatus.RUNNING if result is None else result.status, result=result)
        live = "FROM tasks AS t JOIN {0} AS x USING (thread, path, visit) WHERE t.thread=? AND t.applied=0 ORDER BY {1}"
        effects = "SELECT path, visit, key, ordinal, state, value, mode " + live.format("journal", "key, ordinal")
        for path, visit, key_, ordinal, state, value, mode in db.execute(effects, (id,)):
            found[TaskKey(path, visit)].journal.append(JournalEntry(key_, ordinal, state, orjson.loads(value), mode))
        asked = "SELECT path, visit, data, status, decision " + live.format("interrupts", "n")
        for path, visit, *row in db.execute(asked, (id,)):
            found[TaskKey(path, visit)].interrupts.append(_question(row))
        return found

    @staticmethod
    def _keep(db: sqlite3.Connection, id: int, rows: Sequence[tuple[str, int, str, bool]], *, applied: bool) -> None:
        for path, visit, data, done in rows:
            db.execute(
                "INSERT INTO tasks VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET applied=excluded.applied, result=CASE"
                " WHEN json_extract(tasks.result,'$.status') IN ('finished','rejected','cancelled') THEN tasks.result"
                " ELSE excluded.result END",
                (id, path, visit, int(applied and done), data),
            )
            if done:
                db.execute(sql.WITHDRAW, (id, path, visit))

    def _checkpoint(
        self, db: sqlite3.Connection, row: Any, commit: Commit, delta: str, status: ThreadStatus
    ) -> tuple[int, int, int]:
        id, full_step, full_bytes, delta_bytes = row[0], row[9], row[10], row[11] + len(delta)
        is_full = delta_bytes > max(2 * full_bytes, self.SMALL) or commit.step - full_step >= self.MAX_ROWS
        data = _text(commit.full()) if is_full else delta
        at = self._clock.now().isoformat()
        log = _text(dict(commit.log))
        db.execute(sql.CHECKPOINT, (id, commit.step, int(is_full), data, str(status), at, log))
        return (commit.step, len(data), 0) if is_full else (full_step, full_bytes, delta_bytes)


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _ensure_task(db: sqlite3.Connection, id: int, key: TaskKey) -> None:
    db.execute("INSERT OR IGNORE INTO tasks VALUES (?,?,?,0,NULL)", (id, key.path, key.visit))
    found = db.execute("SELECT applied FROM tasks WHERE thread=? AND path=? AND visit=?", (id, key.path, key.visit))
    if found.fetchone()[0]:
        raise LeaseLost(f"{key.path!r} is finished: another holder went on")


def _result_row(result: TaskResult) -> tuple[str, int, str, bool]:
    return result.key.path, result.key.visit, _text(rules.result_to_json(result)), result.status in DONE


def _step_log(step: int, status: str, log: str, is_full: int, data: str) -> StepLog:
    body = orjson.loads(data)
    cells, delta = (body, None) if is_full else (None, Delta(body[0], body[1], tuple(body[2])))
    return StepLog(step, ThreadStatus(status), orjson.loads(log), cells, delta)


def _question(row: Sequence[Any]) -> Interrupt:
    data, status, decision = row
    return rules.interrupt_from_json(orjson.loads(data), status, None if decision is None else orjson.loads(decision))


def _named_or_open(db: sqlite3.Connection, id: int, ids: Sequence[str]) -> dict[str, Interrupt]:
    rows = db.execute(sql.NAMED_OR_OPEN, (id, _text(list(ids)))).fetchall()
    return {one.id: one for one in map(_question, rows)}


def _decided(db: sqlite3.Connection, id: int, commit: Commit) -> list[Interrupt]:
    if commit.status is not ThreadStatus.INTERRUPTED or not commit.waiting:
        return []
    rows = db.execute(
        "SELECT data, status, decision FROM interrupts WHERE thread=? AND status='closed'"
        " AND id IN (SELECT value FROM json_each(?)) ORDER BY n",
        (id, _text(list(commit.waiting))),
    ).fetchall()
    return [_question(row) for row in rows]
