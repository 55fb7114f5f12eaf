"""What every store promises a replay: each step's log, and what the step wrote."""

from __future__ import annotations

from typing import Any

from graphs.engine.ports import Checkpointer, Delta, ThreadRef
from graphs.engine.statuses import ThreadStatus


class LogSpecification:
    """The part of the store specification about the log; `StoreSpecification` brings its ways to call a store."""

    begin: Any
    commit: Any
    load: Any
    call: Any

    def test_a_step_s_log_comes_back_with_what_the_step_wrote(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref, n=0, list=[])
        log = {"kind": "step", "done": ["a#1"], "asked": {"ü#1": ["x"]}, "used": {"seconds": 0.5}}
        self.commit(store, ref, 1, delta=Delta({"n": 1}, {"list": [1]}), log=log)
        self.commit(store, ref, 2, ThreadStatus.COMPLETED, delta=Delta({}, {}, ("n",)), active=())
        begun, one, two = self.call(store.log, ref)
        assert (begun.step, begun.log, begun.cells) == (0, {}, {"n": 0, "list": []})
        assert (one.step, one.status, one.log, one.cells) == (1, ThreadStatus.RUNNING, log, None)
        assert one.delta is not None
        assert (dict(one.delta.set), {name: list(tail) for name, tail in one.delta.append.items()}) == (
            {"n": 1},
            {"list": [1]},
        )
        assert (two.status, two.log) == (ThreadStatus.COMPLETED, {})
        assert two.delta is not None and two.delta.drop == ("n",)

    def test_a_log_is_read_in_pages_and_folds_to_the_cells(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref, n=0, list=[])
        for step in range(1, 81):
            self.commit(store, ref, step, delta=Delta({"n": step}, {"list": [step]}), log={"kind": "step"})
        assert [one.step for one in self.call(store.log, ref, 30, 5)] == [30, 31, 32, 33, 34]
        assert list(self.call(store.log, ref, 81)) == []
        cells: dict[str, Any] = {}
        for one in self.call(store.log, ref):
            if one.cells is not None:
                cells = dict(one.cells)
            elif one.delta is not None:
                one.delta.apply(cells)
        assert cells == self.load(store, ref).cells

    def test_a_large_log_comes_back(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        log = {"kind": "turn", "input": "x" * 100_000}
        self.commit(store, ref, 1, log=log)
        assert self.call(store.log, ref, 1)[0].log == log
