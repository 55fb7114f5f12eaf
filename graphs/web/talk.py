"""A thread as a conversation: what was asked for, what agents, nodes and tools gave, what people said and decided."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.agents.models import is_reply
from graphs.engine import events
from graphs.models import (
    Comment,
    CommentKind,
    Decision,
    Interrupt,
    JournalEntry,
    StreamedText,
    Task,
    Thread,
    ThreadEvent,
)
from graphs.web import asking, calls, differences, entries, speech
from graphs.web.definitions import agents, labels, titles
from graphs.web.entries import Place
from graphs.web.reading import Fact, facts, pretty, prose
from graphs.web.replies import Card, Replies

#: Questions that the lists of a page go over.
MOST = 200
#: Values of a bubble past this many facts are folded.
SHORT = 6
#: A reply to an agent inside a tool call of another, and what that inner run came to, which the call's result says.
INNER = re.compile(r".*tool:.*run_node:(?P<name>[^/]+)\.[0-9]+/model")
CHILD = re.compile(r".*tool:.*run_node:[^/]+")
END_WORDS = {
    "completed": gettext_lazy("The thread is completed."),
    "failed": gettext_lazy("The thread failed."),
    "cancelled": gettext_lazy("The thread was cancelled."),
    "rejected": gettext_lazy("The thread ended as rejected."),
}


@dataclass(slots=True)
class Entry:
    """One bubble. `prose` is what a node or agent says and is shown fenced; `facts` come from values."""

    kind: str
    at: datetime
    who: str
    icon: str
    rank: int = 0
    node: str = ""
    text: str = ""
    prose: str = ""
    facts: list[Fact] = field(default_factory=list)
    calls: list[speech.Call] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    raw: str = ""
    folded: bool = False
    note: str = ""
    interrupt: Interrupt | None = None
    decision: Decision | None = None

    @property
    def waits(self) -> bool:
        """Whether it is a question that still waits for people."""
        return self.interrupt is not None and self.interrupt.status in ("open", "needs_info")


@dataclass(slots=True)
class Talk:
    """A page of a conversation: the entries before the question in view, and those that came after its decision.

    `first` is where it begins, `older` says that there is more before that, `gap` that not all is shown of what
    followed the decision.
    """

    before: list[Entry]
    after: list[Entry] = field(default_factory=list)
    first: Place = entries.START
    older: bool = False
    gap: bool = False


def read(thread: Thread, *, before: Place | None = None, since: Place | None = None) -> Talk:
    """The end of a conversation, or the page `before` a place, in a fixed number of queries. `since` is where an open
    page begins, so that what is shown there does not move."""
    page = entries.page(thread, before, since)
    return Talk(_entries(thread, page, opening=not page.older), [], page.first, page.older)


def around(thread: Thread, current: Interrupt, since: Place | None = None) -> Talk:
    """The conversation before a question, which itself is left to its card, and what followed its decision."""
    turn = entries.behind(current.closed_at) if current.closed_at is not None else None
    page = entries.page(thread, turn, since)
    later = entries.page(thread, since=turn) if turn is not None else entries.Page([], False)
    return Talk(
        _entries(thread, page, opening=not page.older, current=current),
        _entries(thread, later, current=current),
        page.first,
        page.older,
        later.cut,
    )


def _entries(
    thread: Thread, page: entries.Page, *, opening: bool = False, current: Interrupt | None = None
) -> list[Entry]:
    found = Reading(thread, page.rows, current).entries() if page.rows else []
    if opening:
        found = [*_opening(thread), *found]
    found.sort(key=lambda entry: (entry.at, entry.rank))
    _fold_repeats(found)
    return found


def _fold_repeats(found: list[Entry]) -> None:
    """A node that passes on what it was given says nothing new: its bubble becomes one line."""
    shown = set()
    for entry in found:
        if entry.kind in ("input", "node") and entry.raw:
            if entry.raw in shown:
                entry.kind, entry.icon = "system", "check"
                entry.text = _("%(who)s passed it on unchanged.") % {"who": entry.who}
            shown.add(entry.raw)


def questions_of(thread: Thread) -> list[Interrupt]:
    """The newest questions of a thread, oldest first, each with its decisions."""
    return list(entries.asked(thread).order_by("-created_at", "-pk")[:MOST])[::-1]


def streamed(thread: Thread) -> list[Entry]:
    """What its agents are writing at this moment."""
    names = labels(thread)
    rows = StreamedText.objects.of(thread)
    return [
        Entry("node", row.at, names.get(row.path, row.path), "robot", prose=row.text, note=row.speaker) for row in rows
    ]


def _opening(thread: Thread) -> Iterator[Entry]:
    who = thread.conversation.requester_name or _("Somebody")
    entry = _value(
        Entry("input", thread.created_at, who, "user", rank=-2), thread.input, titles=titles(thread.graph_id)
    )
    entry.text, entry.prose = entry.text or entry.prose, ""
    yield entry


def result(thread: Thread) -> Entry:
    """What a completed thread gave, with the same care for who says it: any of its agents may have."""
    fenced = agents(thread) != frozenset()
    entry = Entry("result", thread.ended_at or thread.updated_at, "", "flag")
    _value(entry, thread.output, fenced=fenced)
    # It is what one came for, and never folded away.
    entry.folded = False
    return entry


def _value(
    entry: Entry,
    value: Any,
    *,
    fenced: bool = False,
    titles: Mapping[str, str] | None = None,
    known: Mapping[str, str] | None = None,
) -> Entry:
    """Put a value into a bubble: words as words, an agent's behind a fence, the rest as facts, all of it as JSON."""
    said = prose(value)
    if speech.messages(value):
        entry.prose, entry.calls = speech.said(value), speech.calls(value, known or {})
    elif said:
        entry.text, entry.prose = ("", said) if fenced or not isinstance(value, str) else (said, "")
    elif value is not None:
        entry.facts = facts(value, titles)
        entry.folded = len(entry.facts) > SHORT
    entry.raw = pretty(value) if isinstance(value, dict | list) and value else ""
    return entry


class Reading:
    """The rows of one page as entries."""

    def __init__(self, thread: Thread, rows: Sequence[entries.Row], current: Interrupt | None) -> None:
        self.thread, self.rows, self.current = thread, rows, current
        self.names = labels(thread)
        self.journal: list[JournalEntry] = entries.of(rows, entries.JOURNAL)
        self.tasks: list[Task] = entries.of(rows, entries.TASKS)
        self.questions: list[Interrupt] = entries.of(rows, entries.QUESTIONS)
        self.replies = Replies.read(thread, self.journal, [task.pk for task in self.tasks])

    def entries(self) -> list[Entry]:
        """Each row's, in no order yet."""
        found = [*self._events(), *self._settled(), *self._finished(), *self._asked(), *self._decided()]
        return [*found, *self._unused(), *self._comments()]

    def _name(self, path: str) -> str:
        return self.names.get(path, path)

    def _events(self) -> Iterator[Entry]:
        rows = entries.of(self.rows, entries.EVENTS)
        last = max((row.seq for row in rows if row.type == events.GRAPH_START), default=0)
        for row in rows:
            data = row.data if isinstance(row.data, dict) else {}
            if row.type == events.GRAPH_START and row.seq > 1:
                yield _said(row, data)
            elif row.type == events.GRAPH_END:
                status = str(data.get("status", ""))
                # That a turn was completed need not be said where another one follows.
                if status in END_WORDS and not (status == "completed" and row.seq < last):
                    yield Entry("system", row.at, "Sayso", "flag", rank=5, text=str(END_WORDS[status]))
            elif row.type == events.NODE_ERROR:
                text = f"{data.get('type', 'Error')}: {data.get('message', '')}"
                yield Entry("error", row.at, self._name(row.path), "alert-circle", rank=4, node=row.path, text=text)

    def _settled(self) -> Iterator[Entry]:
        """What agents said with the calls that they made; effects, folded: they are in the journal and nowhere else."""
        for row in self.journal:
            if is_reply(row.key):
                yield from self._reply(row)
            elif not (self.replies.owns(row) or CHILD.fullmatch(row.key)):
                yield self._effect(row)

    def _reply(self, row: JournalEntry) -> Iterator[Entry]:
        said, cards = speech.said(row.value), self.replies.cards(row)
        if said or cards:
            inner = INNER.fullmatch(row.key)
            yield Entry(
                "node",
                row.at,
                inner["name"] if inner else self._name(row.task.path),
                "robot" if said else "tool",
                rank=-1,
                node=row.task.path,
                prose=said,
                cards=cards,
                note=_("for %(name)s") % {"name": self._name(row.task.path)} if inner else "",
            )

    def _effect(self, row: JournalEntry) -> Entry:
        place = speech.PLACE.fullmatch(row.key)
        entry = Entry("tool", row.at, row.key, "tool", rank=-1, node=row.task.path, note=self._name(row.task.path))
        tool = self.replies.names.get((row.task_id, place["place"]), _("tool call")) if place else ""
        if place:
            entry.who = tool if place["what"] == "call" else f"{tool}: {place['what']}"
        value = self._covered(row) if place else row.value
        settled = speech.settled(value, tool) if place else None
        if settled is None:
            _value(entry, value)
        else:
            entry.calls, entry.raw = settled, pretty(value)
        entry.folded = True
        return entry

    def _covered(self, row: JournalEntry) -> Any:
        if not isinstance(row.value, Mapping) or "arguments" not in row.value:
            return row.value
        asked, place = self.replies.questions, row.key.rpartition("/")[0]
        return {
            **row.value,
            "arguments": differences.covered(row.value["arguments"], asked, row.task_id, place),
        }

    def _finished(self) -> Iterator[Entry]:
        # A row is written with its commit; when its node ended, and before what, the events know.
        ended = ThreadEvent.objects.filter(
            thread=self.thread, type=events.NODE_END, path__in={t.path for t in self.tasks}
        )
        ended = ended.filter(visit__in={task.visit for task in self.tasks})
        ends = {(path, visit): at for path, visit, at in ended.values_list("path", "visit", "at")}
        speakers = agents(self.thread)
        known = {id_: name for task in self.tasks for id_, name in speech.names(task.output).items()}
        for task in self.tasks:
            if task.pk in self.replies.replied and isinstance(task.output, str):
                continue  # its last reply said the same
            at = ends.get((task.path, task.visit), task.at)
            note = _("pass %(visit)s") % {"visit": task.visit} if task.visit > 1 else ""
            entry = Entry("node", at, self._name(task.path), "bolt", node=task.path, note=note)
            yield _value(entry, task.output, fenced=speakers is None or task.path in speakers, known=known)

    def _asked(self) -> Iterator[Entry]:
        for one in self.questions:
            if one != self.current:
                yield Entry(
                    "question",
                    one.created_at,
                    self._name(one.node_id),
                    "hand-stop",
                    rank=1,
                    node=one.node_id,
                    text=asking.title_of(one),
                    facts=facts(asking.about(one))[:SHORT] if one.closed_at is None else [],
                    interrupt=one,
                )

    def _decided(self) -> Iterator[Entry]:
        for decision in entries.of(self.rows, entries.DECISIONS):
            if decision.interrupt != self.current or decision.undone:
                yield _decision(decision)

    def _unused(self) -> Iterator[Entry]:
        """An answer that was thrown away, since the node asked something else when it ran again with it."""
        later = {place_of(one, one.revision - 1): one for one in self.questions if one.revision}
        if not later:
            return
        tasks = {one.task_id for one in later.values()}
        for old in Interrupt.objects.filter(task__in=tasks, status="superseded").prefetch_related("decisions"):
            decision = old.verdict()
            newer = later.get(place_of(old, old.revision))
            if decision is not None and newer is not None:
                who = decision.reviewer_name or _("The system")
                text = _("The answer of %(who)s was not used: the node asked something else instead.") % {"who": who}
                yield Entry("unused", newer.created_at, "Sayso", "history", text=text, interrupt=newer)

    def _comments(self) -> Iterator[Entry]:
        comment: Comment
        for comment in entries.of(self.rows, entries.COMMENTS):
            entry = Entry("comment", comment.created_at, comment.author_name, "message", rank=3, text=comment.text)
            entry.note = str(CommentKind(comment.kind).label) if comment.kind != CommentKind.REMARK else ""
            yield entry


def _said(row: ThreadEvent, data: Mapping[str, Any]) -> Entry:
    """What began a later turn."""
    entry = _value(Entry("input", row.at, str(data.get("by") or _("Somebody")), "user", rank=-2), data.get("input"))
    entry.text, entry.prose, entry.note = entry.text or entry.prose, "", _("said")
    return entry


def _decision(decision: Any) -> Entry:
    """A person's verdict, as their message: with what they wrote, and what they changed of a call."""
    question, who = decision.interrupt, decision.reviewer_name or _("The system")
    entry = Entry("receipt", decision.decided_at, who, "shield-check", rank=2, interrupt=question, decision=decision)
    value = differences.answered(question, decision.value)
    if calls.is_gate(question) and isinstance(value, Mapping):
        entry.facts = facts(value["arguments"]) if value.get("arguments") else []
        entry.note = _("with other arguments") if entry.facts else ""
    elif decision.outcome == "answered" and value is not None:
        _value(entry, value)
    if decision.undone:
        entry.note = _("undone before it counted")
    return entry


def place_of(question: Interrupt, revision: int) -> tuple[int, str, int, int]:
    return question.task_id, question.key, question.ordinal, revision


def successors(old: Interrupt, questions: list[Interrupt]) -> list[Interrupt]:
    """The questions that replaced this one, the newest last."""
    if old.status != "superseded":
        return []
    place = (old.task_id, old.key, old.ordinal)
    later = [one for one in questions if (one.task_id, one.key, one.ordinal) == place and one.revision > old.revision]
    return sorted(later, key=lambda one: one.revision)
