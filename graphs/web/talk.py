"""A thread as a conversation: what was asked for, what nodes and tools gave, what people said and decided."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Prefetch

from graphs.engine.statuses import TaskStatus
from graphs.models import Comment, Decision, Interrupt, JournalEntry, Task, Thread, ThreadEvent
from graphs.web import asking, speech
from graphs.web.definitions import agents, labels, titles
from graphs.web.reading import Fact, facts, pretty, prose

#: A conversation longer than this shows its end, and says that there is more on the timeline.
MOST = 200
#: Values of a bubble past this many facts are folded.
SHORT = 6
TOLD = ["graph.start", "graph.node_end", "graph.node_error", "graph.end"]
END_WORDS = {
    "completed": "The thread is completed.",
    "failed": "The thread failed.",
    "cancelled": "The thread was cancelled.",
    "rejected": "The thread ended as rejected.",
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
    raw: str = ""
    folded: bool = False
    note: str = ""
    interrupt: Interrupt | None = None
    decision: Decision | None = None


@dataclass(slots=True)
class Talk:
    """The entries before the question in view, and those that came after its decision."""

    before: list[Entry]
    after: list[Entry]
    questions: list[Interrupt]
    cut: bool = False


def read(thread: Thread, current: Interrupt | None = None, questions: list[Interrupt] | None = None) -> Talk:
    """The conversation of a thread in a fixed number of queries; the question in view is left to its card."""
    names = labels(thread)
    questions = questions_of(thread) if questions is None else questions
    events = list(ThreadEvent.objects.filter(thread=thread, type__in=TOLD).order_by("-seq")[: MOST * 2])
    settled = settled_in(thread)
    entries = [
        *_opening(thread),
        *_tasks(thread, names, events, {row.task_id for row in settled if is_reply(row.key)}),
        *_tools(settled, names, questions),
        *_events(events, names),
    ]
    entries += [entry for question in questions if question != current for entry in _question(question, names)]
    entries += _unused(questions)
    entries += _comments(thread)
    entries.sort(key=lambda entry: (entry.at, entry.rank))
    _fold_repeats(entries)
    cut = len(entries) > MOST
    entries = [entries[0], *entries[-MOST:]] if cut else entries
    closed = current.closed_at if current is not None else None
    before = [entry for entry in entries if closed is None or entry.at <= closed]
    after = [entry for entry in entries if closed is not None and entry.at > closed]
    return Talk(before, after, questions, cut)


def _fold_repeats(entries: list[Entry]) -> None:
    """A node that passes on what it was given says nothing new: its bubble becomes one line."""
    shown = set()
    for entry in entries:
        if entry.kind in ("input", "node") and entry.raw:
            if entry.raw in shown:
                entry.kind, entry.text, entry.icon = "system", f"{entry.who} passed it on unchanged.", "check"
            shown.add(entry.raw)


def questions_of(thread: Thread) -> list[Interrupt]:
    """Every question of a thread, oldest first, each with its decisions."""
    decisions = Prefetch("decisions", queryset=Decision.objects.order_by("round"))
    rows = thread.interrupts.select_related("queue", "task").prefetch_related(decisions)
    return list(reversed(rows.defer("search", "task__output", "task__detail").order_by("-created_at", "-pk")[:MOST]))


def _opening(thread: Thread) -> Iterator[Entry]:
    who = thread.conversation.requester_name or "Somebody"
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


def _tasks(
    thread: Thread, names: dict[str, str], events: list[ThreadEvent], replied: Collection[int]
) -> Iterator[Entry]:
    # A row is written with its commit; when its node ended, and before what, the events know.
    speakers = agents(thread)
    ends = {(event.path, event.visit): event.at for event in events if event.type == "graph.node_end"}
    rows = Task.objects.filter(thread=thread, status=TaskStatus.FINISHED).defer("detail").order_by("-at", "-pk")[:MOST]
    known = {id_: name for task in rows for id_, name in speech.names(task.output).items()}
    for task in rows:
        if task.pk in replied and isinstance(task.output, str):
            continue  # its last reply said the same
        name = names.get(task.path, task.path)
        at = ends.get((task.path, task.visit), task.at)
        entry = Entry("node", at, name, "bolt", node=task.path, note=f"pass {task.visit}" if task.visit > 1 else "")
        yield _value(entry, task.output, fenced=speakers is None or task.path in speakers, known=known)


def settled_in(thread: Thread) -> list[JournalEntry]:
    """The newest effects, replies and tool calls of a thread."""
    rows = JournalEntry.objects.filter(task__thread=thread, state="done").select_related("task")
    return list(rows.defer("task__output", "task__detail").order_by("-at", "-pk")[:MOST])


def _tools(found: list[JournalEntry], names: dict[str, str], questions: list[Interrupt]) -> Iterator[Entry]:
    """What agents said, and effects and tool calls, folded: they are in the journal and nowhere else."""
    known = {id_: name for row in found for id_, name in speech.names(row.value).items()}
    tools = _called(found) | {
        (one.task_id, place["place"]): named
        for one in questions
        if (place := speech.PLACE.fullmatch(one.key)) and (named := asking.tool_of(one))
    }
    for row in found:
        name = names.get(row.task.path, row.task.path)
        if is_reply(row.key):
            yield from _reply(row, name)
            continue
        place = speech.PLACE.fullmatch(row.key)
        tool = tools.get((row.task_id, place["place"]), "tool call") if place else ""
        entry = Entry("tool", row.at, row.key, "tool", rank=-1, node=row.task.path, note=name)
        if place:
            entry.who, entry.note = (tool, name) if place["what"] == "call" else (f"{tool}: {place['what']}", name)
        settled = speech.settled(row.value, tool) if place else None
        if settled is None:
            _value(entry, row.value, known=known)
        else:
            entry.calls, entry.raw = settled, pretty(row.value)
        entry.folded = True
        yield entry


def is_reply(key: str) -> bool:
    """Whether an effect is a model's reply to an agent, or to one that runs inside another node."""
    return key == "model" or key.endswith("/model")


def _reply(row: JournalEntry, name: str) -> Iterator[Entry]:
    """What an agent said in one turn. Calls without words are told by their own lines."""
    said = speech.said(row.value)
    if said:
        yield Entry("node", row.at, name, "message", rank=-1, node=row.task.path, prose=said)


def _called(rows: list[JournalEntry]) -> dict[tuple[int, str], str]:
    """Which tool stands at which place: the model's message of that turn called them in this order."""
    found = {}
    for row in rows:
        scope = row.key.removesuffix("model")
        if scope != row.key:
            for index, name in enumerate(speech.names(row.value).values()):
                found[row.task_id, f"{scope}tool:{row.ordinal}.{index}"] = name
    return found


def _events(events: list[ThreadEvent], names: dict[str, str]) -> Iterator[Entry]:
    for row in events:
        data = row.data if isinstance(row.data, dict) else {}
        if row.type == "graph.start" and row.seq > 1:
            yield _said(row, data)
        elif row.type == "graph.end":
            status = str(data.get("status", ""))
            if status in END_WORDS:
                yield Entry("system", row.at, "Sayso", "flag", rank=5, text=END_WORDS[status])
        elif row.type == "graph.node_error":
            name = names.get(row.path, row.path)
            text = f"{data.get('type', 'Error')}: {data.get('message', '')}"
            yield Entry("error", row.at, name, "alert-circle", rank=4, node=row.path, text=text)


def _said(row: ThreadEvent, data: Mapping[str, Any]) -> Entry:
    """What began a later turn."""
    entry = _value(Entry("input", row.at, str(data.get("by") or "Somebody"), "user", rank=-2), data.get("input"))
    entry.text, entry.prose, entry.note = entry.text or entry.prose, "", "said"
    return entry


def _question(question: Interrupt, names: dict[str, str]) -> Iterator[Entry]:
    name = names.get(question.node_id, question.node_id)
    title = asking.title_of(question)
    yield Entry(
        "question",
        question.created_at,
        name,
        "hand-stop",
        rank=1,
        node=question.node_id,
        text=title,
        interrupt=question,
    )
    for decision in question.decisions.all():
        who = decision.reviewer_name or "The system"
        yield Entry("receipt", decision.decided_at, who, "shield-check", rank=2, interrupt=question, decision=decision)


def _unused(questions: list[Interrupt]) -> Iterator[Entry]:
    """An answer that was thrown away, since the node asked something else when it ran again with it."""
    for old in questions:
        decision = max(old.decisions.all(), key=lambda one: one.round, default=None)
        later = successors(old, questions)
        if decision is None or not later:
            continue
        who = decision.reviewer_name or "The system"
        text = f"The answer of {who} was not used: the node asked something else instead."
        yield Entry("unused", later[0].created_at, "Sayso", "history", text=text, interrupt=later[0])


def successors(old: Interrupt, questions: list[Interrupt]) -> list[Interrupt]:
    """The questions that replaced this one, the newest last."""
    if old.status != "superseded":
        return []
    place = (old.task_id, old.key, old.ordinal)
    later = [one for one in questions if (one.task_id, one.key, one.ordinal) == place and one.revision > old.revision]
    return sorted(later, key=lambda one: one.revision)


def _comments(thread: Thread) -> Iterator[Entry]:
    for comment in Comment.objects.filter(thread=thread).order_by("-created_at", "-pk")[:MOST]:
        yield Entry("comment", comment.created_at, comment.author_name, "message", rank=3, text=comment.text)
