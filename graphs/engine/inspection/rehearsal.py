"""A dry run: a graph is run in memory, its effects are stood in for, its questions answered, and all of it told.

Through the one loop. Nothing is stored anywhere, no effect that goes through the journal takes place, and no tool is
called. Node bodies themselves are run, and models are asked: give agents a `ScriptedModel` for a rehearsal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphs.engine import answers, effects, passing
from graphs.engine.blocking import blocking
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.errors import AnswerInvalid
from graphs.engine.graph import CompiledGraph
from graphs.engine.inspection import samples
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.outputs import NOTHING, Event
from graphs.engine.ports import Answer, Json
from graphs.engine.results import GraphRunResult
from graphs.engine.runner import Runner
from graphs.engine.statuses import Outcome, ThreadStatus
from graphs.engine.workflow import compiled

#: A loop that asks again and again is not rehearsed for ever.
MOST_QUESTIONS = 100
_THREAD = "rehearsal"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that would be asked: the interrupt, and the outcome and value it was answered with.

    `given` says that the answer came from the caller's `answers`; `round` counts from 1, and questions of one round
    are open at the same time.
    """

    interrupt: Interrupt
    outcome: Outcome
    value: Json
    given: bool
    round: int


@dataclass(frozen=True, slots=True)
class StoodIn:
    """One effect that did not take place: where, under which key, and what stood for its result.

    `kind` is `once`, `tool` or `node`; `arguments` are those of a tool call.
    """

    path: str
    key: str
    kind: str
    result: Json
    given: bool
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a run would do. `stopped` says why it was not rehearsed to its end, or is empty; `notes` name what was given
    and that nothing asked for, such as a misspelled key."""

    status: ThreadStatus
    output: Json
    error: Mapping[str, Json] | None
    asked: tuple[Asked, ...]
    effects: tuple[StoodIn, ...]
    stopped: str = ""
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> tuple[Interrupt, ...]:
        """The interrupts in the order they would fire."""
        return tuple(one.interrupt for one in self.asked)


async def arehearse(
    graph: Any,
    input: Any = None,
    *,
    answers: Mapping[str, Any] | None = None,
    stubs: Mapping[str, Any] | None = None,
    state: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    hooks: Sequence[Any] = (),
    most_questions: int = MOST_QUESTIONS,
) -> Rehearsal:
    """Run a graph, workflow or agent without its effects, and return what it would ask, in order.

    `answers` are by the question's interrupt id, key, task path, node id, name (a tool's or a hook's) or message; a
    list is used up one after the other, the last one stays; a `Decision` says how it is decided. Where nothing is
    given the simplest valid value stands. `stubs` are the results of effects, by the key of `once`, by a tool's name,
    or by the id of an at-most-once node (where an `Event` may carry a route); None where nothing is given.
    Raises `DefinitionError`, `AnswerInvalid` where a given answer does not fit its question.
    """
    stage = _Stage(compiled(graph), dict(answers or {}), dict(stubs or {}), most_questions)
    token = effects.stand_in.set(stage.stand_in)
    try:
        return await stage.play(input, {"hooks": list(hooks), "state": state, "context": context})
    finally:
        effects.stand_in.reset(token)


def rehearse(graph: Any, input: Any = None, **options: Any) -> Rehearsal:
    """`arehearse` for code without an event loop."""
    return blocking(arehearse(graph, input, **options))


class _Stage:
    """One rehearsal while it goes on."""

    def __init__(self, graph: CompiledGraph, given: dict[str, Any], stubs: dict[str, Any], most: int) -> None:
        self.graph, self.given, self.stubs, self.most = graph, given, stubs, most
        self.store = InMemoryCheckpointer()
        self.asked: list[Asked] = []
        self.effects: list[StoodIn] = []
        self.used: dict[str, int] = {}
        self.taken: set[tuple[str, str]] = set()

    async def play(self, input: Any, options: dict[str, Any]) -> Rehearsal:
        hooks = options.pop("hooks")
        result = await Runner.arun_graph(self.graph, input, hooks=[*hooks, self.store], thread_id=_THREAD, **options)
        number = 0
        while result.status is ThreadStatus.INTERRUPTED:
            number += 1
            if len(self.asked) + len(result.interrupts) > self.most:
                return self._told(result, f"it asks more than {self.most} questions")
            try:
                replies = [self._answered(one, number) for one in result.interrupts]
            except samples.NoSample as error:
                return self._told(result, str(error))
            result = await Runner.arun_graph_from_checkpoint(
                self.graph, checkpointer=self.store, thread_id=_THREAD, resume=replies, hooks=hooks
            )
        return self._told(result)

    def _told(self, result: GraphRunResult, stopped: str = "") -> Rehearsal:
        asked, stood = tuple(self.asked), tuple(self.effects)
        return Rehearsal(result.status, result.output, result.error, asked, stood, stopped, tuple(self._unused()))

    def _unused(self) -> Iterator[str]:
        what = {
            "answers": (self.given, "no question goes by this name", [one.interrupt.node_id for one in self.asked]),
            "stubs": (self.stubs, "no effect has this key", [one.key for one in self.effects]),
        }
        for option, (given, why, known) in what.items():
            for name in given:
                if (option, name) not in self.taken:
                    there = f"; there were {', '.join(map(repr, dict.fromkeys(known)))}" if known else ""
                    yield f"{option}[{name!r}] was not used: {why}{there}"

    # Answers

    def _answered(self, question: Interrupt, number: int) -> Answer:
        given, decision = self._decision(question)
        try:
            value = answers.validate(question, decision.outcome, decision.value, decision.comment)
        except AnswerInvalid as error:
            where = [(f"{question.path}: {question.message!r}{pointer}", text) for pointer, text in error.problems]
            raise AnswerInvalid(where) from error
        self.asked.append(Asked(question, decision.outcome, value, given, number))
        return Answer(question.id, decision.outcome, decision.value, decision.comment)

    def _decision(self, question: Interrupt) -> tuple[bool, Decision]:
        names = (question.interrupt_id, question.key, question.key.partition(":")[2], question.path, question.node_id)
        for name in (*names, question.name, question.message):
            if name and name in self.given:
                self.taken.add(("answers", name))
                value = self._next(name)
                outcome = Outcome.CANCELLED if value is None and question.style == "interrupt" else Outcome.ANSWERED
                return True, value if isinstance(value, Decision) else Decision(outcome, value)
        return False, self._simplest(question)

    def _next(self, name: str) -> Any:
        value = self.given[name]
        if not isinstance(value, list) or not value:
            return value
        at = self.used.get(name, 0)
        self.used[name] = at + 1
        return value[min(at, len(value) - 1)]

    def _simplest(self, question: Interrupt) -> Decision:
        if question.style == "structural" or (question.style == "ask" and question.response_schema is None):
            return Decision(Outcome.APPROVED)
        try:
            return Decision(Outcome.ANSWERED, samples.simplest(question.response_schema))
        except samples.NoSample as error:
            raise samples.NoSample(f"{question.path} asks {question.message!r}: {error}") from error

    # Effects

    def stand_in(self, effect: effects.Effect) -> Callable[[], Any] | None:
        """What stands for an effect: nothing for those that only wrap others or that ask a model."""
        if effect.harmless:
            return None
        if effect.named:
            return lambda: self._stood(effect, effect.key.rpartition("/")[2], "once")
        if effect.scope.call is not None:
            return lambda: self._called(effect)
        # A node that may run only once is an effect as a whole; one that is only kept for a later pause is not.
        if effect.mode == effects.AT_MOST_ONCE:
            return lambda: self._ran(effect)
        return None

    def _called(self, effect: effects.Effect) -> Json:
        assert effect.scope.call is not None
        details = effect.scope.call.details
        result = self._stood(effect, str(details["tool"]), "tool", details.get("arguments") or {})
        return {"status": "success", "content": result, "arguments": details.get("arguments") or {}}

    def _ran(self, effect: effects.Effect) -> Json:
        node_id = effect.scope.task.node_id
        stub = self._stood(effect, node_id, "node")
        event = stub if isinstance(stub, Event) else Event(output=stub)
        return {
            passing.GIVEN: True,
            "output": None if event.output is NOTHING else event.output,
            "route": None if event.route is NOTHING else event.route,
            "has_route": event.route is not NOTHING and event.route is not None,
            "writes": [list(write) for write in (event.state or {}).items()],
        }

    def _stood(self, effect: effects.Effect, key: str, kind: str, arguments: Mapping[str, Json] | None = None) -> Any:
        path = effect.scope.task.path
        names = (f"{path}:{key}", key)
        found = [self.stubs[name] for name in names if name in self.stubs]
        self.taken.update(("stubs", name) for name in names if name in self.stubs)
        result = found[0] if found else None
        shown = result.output if isinstance(result, Event) else result
        self.effects.append(StoodIn(path, key, kind, shown, bool(found), dict(arguments or {})))
        return result
