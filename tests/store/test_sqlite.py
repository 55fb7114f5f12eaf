from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphs.engine.checkpointers.sqlite import SQLiteCheckpointer
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import ThreadStatus
from tests.store.specification import A, StoreSpecification, finished


class TestSQLiteStore(StoreSpecification):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SQLiteCheckpointer]:
        checkpointer = SQLiteCheckpointer(tmp_path / "threads.sqlite3")
        yield checkpointer
        checkpointer.close()

    def test_g09_another_process_reads_what_was_committed(
        self, store: SQLiteCheckpointer, ref: ThreadRef, tmp_path: Path
    ) -> None:
        self.begin(store, ref)
        self.commit(store, ref, 1, ThreadStatus.COMPLETED, results=(finished(A, 1),), output=1, active=())
        again = SQLiteCheckpointer(tmp_path / "threads.sqlite3")
        assert self.load(again, ref).output == 1
        again.close()

    def test_a_file_from_before_the_log_gets_its_column(
        self, store: SQLiteCheckpointer, ref: ThreadRef, tmp_path: Path
    ) -> None:
        self.begin(store, ref)
        store._db.execute("ALTER TABLE checkpoints DROP COLUMN log")
        again = SQLiteCheckpointer(tmp_path / "threads.sqlite3")
        self.commit(again, ref, 1, log={"kind": "step"})
        assert [one.log for one in self.call(again.log, ref)] == [{}, {"kind": "step"}]
        again.close()
