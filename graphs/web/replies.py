"""What an agent said in one turn, and each tool that it called there as a card: with what, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.agents import structured
from graphs.agents.models import REPLY, is_reply
from graphs.agents.teams.swarm import HAND_OVER
from graphs.engine import events
from graphs.engine.statuses import DONE as ENDED_TASKS
from graphs.engine.statuses import ENDED, Outcome, ThreadStatus
from graphs.models import Interrupt, JournalEntry, Thread, ThreadEvent
from graphs.web import differences, speech
from graphs.web.reading import Fact, facts, pretty

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

#: While a thread is one of these, a call without a result may still get one.
MOVING = {ThreadStatus.READY, ThreadStatus.RUNNING}
#: In one that ended so, nothing is called any more; a failed one may be retried.
GIVEN_UP = ENDED - {ThreadStatus.FAILED}


@dataclass(frozen=True, slots=True)
class State:
    """How a call stands, as word, icon and colour."""

    word: StrOrPromise
    icon: str
    tone: str


DONE = State(gettext_lazy("done"), "check", "green")
FAILED = State(gettext_lazy("failed"), "alert-circle", "red")
ASKS = State(gettext_lazy("waits for a decision"), "hand-stop", "amber")
REFUSED = State(gettext_lazy("not allowed"), "ban", "red")
CANCELLED = State(gettext_lazy("not run"), "ban", "grey")
WORKING = State(gettext_lazy("at work"), "refresh", "blue")
LATER = State(gettext_lazy("to be run"), "clock", "grey")


@dataclass(slots=True)
class Card:
    """One call of a tool."""

    name: str
    state: State
    arguments: list[Fact]
    #: What it ran with, where a person or a hook changed that.
    changed: list[Fact] = field(default_factory=list)
    text: str = ""
    facts: list[Fact] = field(default_factory=list)
    raw: str = ""
    #: The member that it hands over to, and with what words.
    hands_to: str = ""
    handed: str = ""
    #: Whose trust let it run without a question.
    trusted: str = ""

    @property
    def shown(self) -> list[Fact]:
        """The arguments for the folded card: those that it ran with."""
        return self.changed or self.arguments


@dataclass
class Replies:
    """What is known of the replies and calls that some journal rows belong to, read in a fixed number of queries."""

    thread: Thread
    #: The last turn of each journal scope, by task and scope.
    last: dict[tuple[int, str], int] = field(default_factory=dict)
    #: Tasks whose agent has replied.
    replied: set[int] = field(default_factory=set)
    settled: dict[tuple[int, str], Any] = field(default_factory=dict)
    questions: list[Interrupt] = field(default_factory=list)
    names: dict[tuple[int, str], str] = field(default_factory=dict)

    @classmethod
    def read(cls, thread: Thread, rows: Sequence[JournalEntry], tasks: Iterable[int]) -> Replies:
        """Look up what the replies among `rows` need, and of every one of `tasks` whether it has replied."""
        found = cls(thread)
        ids = {row.task_id for row in rows} | set(tasks)
        spoken = JournalEntry.objects.filter(task__in=ids, key__endswith=REPLY, state="done")
        for task, key, turn in spoken.values_list("task", "key").annotate(Max("ordinal")):
            if is_reply(key):
                found.last[task, key.removesuffix(REPLY)] = turn
                found.replied.add(task)
        found._read_calls([row for row in rows if is_reply(row.key)])
        found._read_questions([row for row in rows if is_reply(row.key) or speech.PLACE.fullmatch(row.key)])
        return found

    def _read_calls(self, replies: Sequence[JournalEntry]) -> None:
        tasks = {row.task_id for row in replies}
        for row in replies:
            self.names.update(((row.task_id, place), use["name"]) for place, use in called(row))
        keys = {f"{place}/{what}" for _, place in self.names for what in ("call", "after", "before")}
        keys |= {batch_of(place) for _, place in self.names}
        rows = JournalEntry.objects.filter(task__in=tasks, key__in=keys, state="done") if keys else []
        self.settled = {(row.task_id, row.key): row.value for row in rows}

    def _read_questions(self, calls: Sequence[JournalEntry]) -> None:
        """Those about calls: what became of one without a result, and which of its arguments are secrets."""
        tasks = {row.task_id for row in calls}
        asked = Interrupt.objects.filter(task__in=tasks, key__contains="tool:").prefetch_related("decisions")
        self.questions = list(asked.order_by("created_at", "pk")[:200]) if tasks else []

    def owns(self, row: JournalEntry) -> bool:
        """Whether a call is told by the card of the reply that made it."""
        place = speech.PLACE.fullmatch(row.key)
        return bool(
            place and place["what"] == "call" and int(place["turn"]) <= self.last.get((row.task_id, place["scope"]), -1)
        )

    def cards(self, row: JournalEntry) -> list[Card]:
        """The calls of one reply, in the order in which it made them."""
        return [self._card(row, place, use) for place, use in called(row)]

    def _card(self, row: JournalEntry, place: str, use: Mapping[str, Any]) -> Card:
        given = self._covered(use.get("input") or {}, row, place)
        card = Card(str(use["name"]), LATER, facts(given) if given else [])
        if card.name == HAND_OVER and isinstance(given, Mapping):
            card.hands_to, card.handed = str(given.get("agent_name", "")), str(given.get("message", ""))[:200]
        ran, after = self.settled.get((row.task_id, f"{place}/call")), self.settled.get((row.task_id, f"{place}/after"))
        if isinstance(ran, Mapping) and "status" in ran:
            arguments = self._covered(ran.get("arguments"), row, place)
            self._tell_result(card, {**ran, "arguments": arguments}, given)
        elif isinstance(after, Mapping) and isinstance(after.get("result"), Mapping):
            told = speech.gave(after["result"], card.name)
            card.state, card.text, card.facts = _state(str(after["result"].get("status"))), told.text, told.facts
        else:
            self._tell_why(card, row, place)
        return card

    def _covered(self, arguments: Any, row: JournalEntry, place: str) -> Any:
        return differences.covered(arguments, self.questions, row.task_id, place)

    def _tell_result(self, card: Card, ran: Mapping[str, Any], given: Any) -> None:
        told = speech.settled(ran, card.name)
        card.state = _state(str(ran["status"]))
        if told:
            card.text, card.facts = told[1].text, told[1].facts
        if ran.get("arguments") not in (None, given):
            card.changed = facts(ran["arguments"])
        if isinstance(ran.get("trust"), Mapping):
            card.trusted = str(ran["trust"].get("by") or _("somebody"))
        card.raw = pretty(ran["content"]) if isinstance(ran.get("content"), dict | list) and ran["content"] else ""

    def _tell_why(self, card: Card, row: JournalEntry, place: str) -> None:
        """A call without a result: what it waits for, or why there is none."""
        within = [one for one in self.questions if one.task_id == row.task_id and one.key.startswith(f"{place}/")]
        own = [one for one in within if is_of(one, place)]
        found = [self.settled.get((row.task_id, key)) for key in (f"{place}/before", batch_of(place))]
        why = next((one["cancel"] for one in found if isinstance(one, Mapping) and one.get("cancel")), "")
        decision = own[-1].verdict() if own else None
        if any(one.status in ("open", "needs_info") for one in within):
            card.state = ASKS
        elif decision is not None and decision.outcome in (Outcome.REJECTED, Outcome.CANCELLED, Outcome.EXPIRED):
            card.state, card.text = REFUSED, decision.comment
        elif why:
            card.state, card.text = CANCELLED, why if isinstance(why, str) else ""
        elif self._is_over(row):
            card.state = CANCELLED
        else:
            card.state = WORKING if self.thread.status in MOVING else LATER

    def _is_over(self, row: JournalEntry) -> bool:
        """Whether nothing can come of a call any more: its agent went on without it, or its turn has ended."""
        if row.ordinal < self.last.get((row.task_id, row.key.removesuffix(REPLY)), row.ordinal):
            return True
        return row.task.status in ENDED_TASKS or self.thread.status in GIVEN_UP or row.at < self._begun

    @cached_property
    def _begun(self) -> datetime:
        """When the thread's present turn began."""
        rows = ThreadEvent.objects.filter(thread=self.thread, type=events.GRAPH_START).order_by("-seq")
        return rows.values_list("at", flat=True).first() or self.thread.created_at


def is_of(question: Interrupt, place: str) -> bool:
    """Whether a question is about this call itself, and not about one that an agent makes inside of it."""
    found = speech.PLACE.fullmatch(question.key)
    return found is not None and found["place"] == place


def batch_of(place: str) -> str:
    """Where the journal keeps what was settled before the batch that a call belongs to."""
    scope, _, turn = place.rpartition("tool:")
    return f"{scope}batch:{turn.partition('.')[0]}/before"


def _state(status: str) -> State:
    return DONE if status == "success" else FAILED


def called(row: JournalEntry) -> list[tuple[str, Mapping[str, Any]]]:
    """The calls of one reply with their places in the journal; an output by schema is no call of a tool."""
    scope = row.key.removesuffix(REPLY)
    uses = [block["toolUse"] for block in speech.blocks(row.value) if isinstance(block.get("toolUse"), Mapping)]
    found = [(f"{scope}tool:{row.ordinal}.{index}", use) for index, use in enumerate(uses) if use.get("name")]
    return [(place, use) for place, use in found if use["name"] != structured.NAME]
