"""The rules of the model test: what people, workers and faults do to threads, in any order."""

from __future__ import annotations

import os
import sys
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from graphs.engine import failpoints, replaying, superstep
from graphs.engine.answers import OPEN
from graphs.engine.errors import AlreadyAnswered, AnswerMismatch, DefinitionChanged, LeaseLost
from graphs.engine.graph import CompiledGraph
from graphs.engine.hooks import HookRegistry
from graphs.engine.interrupts import Interrupt
from graphs.engine.loop import Advanced, Loop, advance
from graphs.engine.pool import SHARED
from graphs.engine.ports import Answer, Snapshot, ThreadRef, random_id
from graphs.engine.statuses import Outcome, ThreadStatus
from tests.model.grounds import Ground
from tests.model.plans import DEFAULT, EXPIRES_IN, Plan, compiled, plans
from tests.model.reference import Place, Reference

CRASHES = [
    f"{when}_{what}"
    for what in ("effect", "record_effect", "open_interrupt", "record_tasks", "commit")
    for when in ("before", "after")
]
WHICH = st.integers(0, 9)
VALUES = st.sampled_from([True, False, 0, "", "yes", [], {"a": 1}])


class Case:
    """One thread: what the engine has, and what the reference says that it must have."""

    def __init__(self, number: int, plan: Plan, ground: Ground) -> None:
        self.plan = plan
        self.ref = ThreadRef("model", f"{ground.name}-{number}")
        self.graph = compiled(plan, ground.world)
        self.reference = Reference(plan, number)
        self.early: set[Place] = set()
        self.answers: dict[str, Any] = {}
        self.crashes = 0


def place_of(question: Interrupt) -> Place:
    task, _, number = question.question.rpartition("?")
    path, _, visit = task.rpartition("#")
    return path, int(visit), int(number)


class Threads(RuleBasedStateMachine):
    """Up to three threads in one store."""

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self.ground = ground
        self.cases: list[Case] = []

    def teardown(self) -> None:
        try:
            # After a failure the store may hold what no engine can bring to an end.
            for case in self.cases if sys.exc_info()[0] is None else ():
                self.bring_to_its_end(case)
        finally:
            os.environ.pop("SAYSO_FAILPOINT", None)
            self.ground.close()

    # What happens

    @initialize(plan=plans())
    def first(self, plan: Plan) -> None:
        self.start(plan)

    @precondition(lambda self: len(self.cases) < 3)
    @rule(plan=plans())
    def start(self, plan: Plan) -> None:
        case = Case(len(self.cases), plan, self.ground)
        self.ground.run(self.ground.store.create(case.ref, superstep.begin(case.graph, len(self.cases))))
        self.cases.append(case)

    @rule(which=WHICH)
    def wake(self, which: int) -> None:
        self.woken(self.case(which))

    @rule(which=WHICH, place=st.sampled_from(CRASHES), nth=st.integers(1, 4))
    def crash(self, which: int, place: str, nth: int) -> None:
        self.crashing(self.case(which), place, nth)

    @rule(which=WHICH, question=WHICH, value=VALUES, place=st.sampled_from(CRASHES))
    def decide_and_crash(self, which: int, question: int, value: Any, place: str) -> None:
        self.decide(which, question, value)
        self.crashing(self.case(which), place, 1)

    @rule(which=WHICH, question=WHICH, value=VALUES)
    def decide(self, which: int, question: int, value: Any) -> None:
        case = self.case(which)
        asked = self.open(case)
        if asked:
            self.answer(case, asked[question % len(asked)], Outcome.ANSWERED, value)

    @rule(which=WHICH, value=VALUES)
    def decide_while_it_pauses(self, which: int, value: Any) -> None:
        self.ground.store.meanwhile = value
        self.woken(self.case(which))
        self.ground.store.meanwhile = None

    @rule(which=WHICH, question=WHICH)
    def double_submit(self, which: int, question: int) -> None:
        case = self.case(which)
        if case.answers:
            id = list(case.answers)[question % len(case.answers)]
            (known,) = [one for one in self.ground.questions(case.ref) if one.id == id]
            assert known.decision is not None
            again = Answer(id, known.decision.outcome, known.decision.value)
            assert self.ground.run(self.ground.store.answer(case.ref, [again])) == [known.decision]

    @rule(which=WHICH, question=WHICH)
    def decide_stale(self, which: int, question: int) -> None:
        case = self.case(which)
        closed = [one for one in self.ground.questions(case.ref) if one.status not in OPEN]
        if closed:
            late = Answer(closed[question % len(closed)].id, Outcome.ANSWERED, "too late")
            with pytest.raises((AlreadyAnswered, AnswerMismatch)):
                self.ground.run(self.ground.store.answer(case.ref, [late]))

    @rule(which=WHICH, question=WHICH)
    def decide_one_right_one_wrong(self, which: int, question: int) -> None:
        case = self.case(which)
        asked = self.open(case)
        given = [Answer(one.id, Outcome.ANSWERED, 1) for one in asked[:1]] + [Answer(random_id(), Outcome.ANSWERED, 1)]
        with pytest.raises(AnswerMismatch):
            self.ground.run(self.ground.store.answer(case.ref, given))

    @rule(which=WHICH)
    def expire(self, which: int) -> None:
        self.ground.clock.move(EXPIRES_IN)
        case = self.case(which)
        for one in self.open(case) if self.ground.lets_expire else ():
            if one.expires_at is not None and one.expires_at <= self.ground.clock.now():
                self.answer(case, one, Outcome.EXPIRED, DEFAULT)

    @precondition(lambda self: len(self.cases) > 1)
    @rule(which=WHICH)
    def cancel(self, which: int) -> None:
        case = self.case(which)
        if case.reference.status not in ("completed", "cancelled"):
            snapshot = self.snapshot(case)
            self.ground.cancel(case.ref, snapshot.step)
            case.reference.status, case.reference.step = "cancelled", self.snapshot(case).step
            case.early = set()

    @rule(which=WHICH)
    def retry(self, which: int) -> None:
        case = self.case(which)
        if case.reference.status == "failed":
            self.ground.world.repaired.add(case.ref.thread_id)
            self.ground.run(self.ground.store.retry(case.ref))
            case.reference.broken, case.reference.status = False, "ready"

    @precondition(lambda self: self.ground.two_holders)
    @rule(which=WHICH)
    def duplicate_wake(self, which: int) -> None:
        """Two jobs load one thread; the second commits nothing once the first has."""
        case = self.case(which)
        second = self.loop(case, self.snapshot(case))
        before = case.reference.step
        self.woken(case)
        self.ground.world.stale = True
        try:
            if case.reference.step > before:
                with pytest.raises(LeaseLost):
                    self.ground.run(second.run(None, None))
            else:
                assert self.ground.run(second.run(None, None)).steps == 0
        finally:
            self.ground.world.stale = False

    @rule(which=WHICH)
    def redeploy(self, which: int) -> None:
        """A version that fits is gone on with; under one that does not nothing runs and nothing is written."""
        case = self.case(which)
        case.graph = compiled(case.plan, self.ground.world, 1)
        changed = compiled(case.plan, self.ground.world, 2)
        before = self.snapshot(case)
        if case.reference.status in ("ready", "running", "interrupted"):
            with pytest.raises(DefinitionChanged):
                self.ground.run(self.advance(case, changed))
        else:
            assert self.ground.run(self.advance(case, changed)).steps == 0
        after = self.snapshot(case)
        assert (after.step, after.status, after.cells) == (before.step, before.status, before.cells)

    @rule()
    def flush(self) -> None:
        self.ground.restart()

    # How it is done

    def case(self, which: int) -> Case:
        return self.cases[which % len(self.cases)]

    def snapshot(self, case: Case) -> Snapshot:
        snapshot = self.ground.run(self.ground.store.load(case.ref))
        assert snapshot is not None
        return snapshot

    def open(self, case: Case) -> list[Interrupt]:
        return [one for one in self.ground.questions(case.ref) if one.status in OPEN]

    async def advance(self, case: Case, graph: CompiledGraph) -> Advanced:
        return await advance(graph, self.ground.store, case.ref, clock=self.ground.clock, new_id=random_id)

    def loop(self, case: Case, snapshot: Snapshot) -> Loop:
        ground = self.ground
        return Loop(case.graph, ground.store, snapshot, ground.clock, random_id, None, HookRegistry(()), SHARED)

    def answer(self, case: Case, asked: Interrupt, outcome: Outcome, value: Any) -> None:
        (decision,) = self.ground.run(self.ground.store.answer(case.ref, [Answer(asked.id, outcome, value)]))
        assert (decision.outcome, decision.value) == (outcome, value)
        self.answered(case, asked, value)

    def answered(self, case: Case, asked: Interrupt, value: Any) -> None:
        case.answers[asked.id] = value
        case.reference.answers[place_of(asked)] = value
        if case.reference.status == "interrupted":
            case.reference.status = "ready"

    def woken(self, case: Case) -> None:
        """Advance without a fault, and the reference as far as it says that the thread must come."""
        reference, store = case.reference, self.ground.store
        given, store.given = store.meanwhile, None
        advanced = self.ground.run(self.advance(case, case.graph))
        going = reference.wakes()
        while going:
            reference.superstep()
            if store.given is not None and store.given[1] == reference.step:
                self.meanwhile(case, given)
            going = reference.status == "running"
        case.early = set()
        assert advanced.status == self.snapshot(case).status
        assert self.snapshot(case).step == reference.step
        assert {place_of(one) for one in advanced.interrupts} == reference.open

    def meanwhile(self, case: Case, value: Any) -> None:
        assert self.ground.store.given is not None
        id, _ = self.ground.store.given
        (asked,) = [one for one in self.ground.questions(case.ref) if one.id == id]
        assert case.reference.status == "interrupted"
        self.answered(case, asked, value)
        case.reference.status = "running"

    def crashing(self, case: Case, place: str, nth: int) -> None:
        """Advance until this place is reached for the nth time; without it, as far as the thread comes."""
        os.environ["SAYSO_FAILPOINT"] = f"{place}:raise:{nth}"
        failpoints.reset()
        try:
            self.woken(case)
        except failpoints.Crash:
            note(f"crashed at {place} {nth}")
            case.crashes += 1
            os.environ.pop("SAYSO_FAILPOINT")
            self.ground.restart()
            self.recover(case)
        finally:
            os.environ.pop("SAYSO_FAILPOINT", None)

    def recover(self, case: Case) -> None:
        """The checkpoints that were written are the reference's; a question may be open that its step did not reach."""
        while case.reference.step < self.snapshot(case).step:
            case.reference.superstep()
        begun = deepcopy(case.reference)
        if begun.wakes():
            begun.superstep()
        case.early = {place_of(one) for one in self.open(case)} - case.reference.open
        assert case.early <= begun.open

    def bring_to_its_end(self, case: Case) -> None:
        for _ in range(200):
            self.retry(self.cases.index(case))
            for one in self.open(case):
                self.answer(case, one, Outcome.ANSWERED, "at last")
            self.woken(case)
            if case.reference.status in ("completed", "cancelled"):
                break
        snapshot = self.snapshot(case)
        assert str(snapshot.status) == case.reference.status
        assert snapshot.output == case.reference.output
        compared = self.ground.run(replaying.compare(case.graph, self.ground.store.store, case.ref))
        assert compared == replaying.Compared(0, snapshot.step), compared

    # What must hold after each rule

    @invariant()
    def what_is_stored_is_what_the_reference_says(self) -> None:
        for case in self.cases:
            snapshot, questions = self.snapshot(case), self.ground.questions(case.ref)
            asked = [one for one in questions if one.status in OPEN]
            self.the_inbox_is_right(case, asked)
            self.the_thread_is_right(case, snapshot)
            self.i3_nothing_ran_more_often_than_there_were_crashes(case)
            decided = {one.id: one.decision.value for one in questions if one.decision}
            assert decided == case.answers, "I4: each question has one answer at most, and it is the one that was given"
            if snapshot.status is ThreadStatus.INTERRUPTED:
                assert asked, "I6: a paused thread waits for somebody"
            lines = self.ground.run(self.ground.store.history(case.ref, 1_000))
            steps = [one.step for one in lines]
            assert steps == list(range(case.reference.step, -1, -1)), "I7: one checkpoint a step"

    def the_inbox_is_right(self, case: Case, asked: list[Interrupt]) -> None:
        early = case.early - set(case.reference.answers)
        assert {place_of(one) for one in asked} == case.reference.open | early

    def the_thread_is_right(self, case: Case, snapshot: Snapshot) -> None:
        reference = case.reference
        assert str(snapshot.status) == reference.status
        if reference.status != "cancelled":
            assert {name[5:] for name in snapshot.cells if name.startswith("task:")} == reference.names
            assert {f"{path}#{visit}" for path, visit in snapshot.tasks} <= reference.names
        assert snapshot.cells.get("channel:|log", []) == reference.log
        assert snapshot.cells.get("channel:|sum", 0) == reference.sum

    def i3_nothing_ran_more_often_than_there_were_crashes(self, case: Case) -> None:
        for place, runs in self.ground.world.runs.items():
            is_effect = place[0] == case.ref.thread_id and len(place) == 4
            assert not is_effect or runs <= 1 + case.crashes, place
