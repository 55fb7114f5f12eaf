"""The graph of a thread as data, for its picture and for the list beside it: states, and who decided where."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from graphs.engine.statuses import TaskStatus, ThreadStatus
from graphs.models import Interrupt, Task, Thread
from graphs.web import state, words
from graphs.web.definitions import shape
from graphs.web.progress import path_of
from graphs.web.tags import initials

#: Loops make many visits; the newest tell the state.
MOST_TASKS = 500
GOING = (TaskStatus.RUNNING, TaskStatus.WAITING)
OVER = (ThreadStatus.CANCELLED, ThreadStatus.REJECTED)


#: In these nothing runs before somebody lets the thread go on; of one that was set aside, what is next is the culprit.
HELD = (ThreadStatus.SUSPENDED, ThreadStatus.QUARANTINED, ThreadStatus.WAITING_VERSION)


@dataclass(slots=True)
class Mark:
    """One verdict on a node: whose, and which."""

    who: str
    outcome: str
    icon: str


@dataclass(slots=True)
class Node:
    """One node of the picture."""

    path: str
    label: str
    kind: str
    parent: str
    entry: bool
    terminal: bool
    state: str = "idle"
    word: str = ""
    icon: str = ""
    tone: str = ""
    visits: int = 0
    waiting: int = 0
    marks: list[Mark] = field(default_factory=list)


def draw(thread: Thread, questions: list[Interrupt]) -> dict[str, Any]:
    """Nodes and edges of a thread, as JSON for the script; the template lists the same nodes as text."""
    drawn = shape(thread)
    nodes = [_node(one) for one in drawn["nodes"]]
    known = {node.path: node for node in nodes}
    _before(thread, known)
    _tasks(thread, known)
    _active(thread, known)
    _questions(questions, known)
    for node in nodes:
        node.state = _stands(thread, node)
        seen = words.of(words.NODE, node.state)
        node.word, node.icon, node.tone = str(seen.word), seen.icon, seen.tone
    return {"nodes": [asdict(node) for node in nodes], "edges": [dict(edge) for edge in drawn["edges"]]}


def _node(one: dict[str, Any]) -> Node:
    return Node(
        path=one["path"],
        label=str(one.get("label") or one["id"]),
        kind=str(one.get("kind", "node")),
        parent=str(one.get("parent") or ""),
        entry=bool(one.get("entry")),
        terminal=bool(one.get("terminal")),
    )


def _before(thread: Thread, known: dict[str, Node]) -> None:
    """Nodes that were done in the parent of a fork, before it began: its first checkpoint counts their visits."""
    if thread.parent_step is None:
        return
    cells = state.at(thread, 0)
    for name, value in cells.items():
        node = known.get(name.removeprefix("visit:")) if name.startswith("visit:") else None
        if node is not None and f"task:{node.path}#{value[0]}" not in cells:
            node.state = "before"


def _tasks(thread: Thread, known: dict[str, Node]) -> None:
    rows = Task.objects.filter(thread=thread).order_by("-visit", "-pk").values_list("path", "status", "visit")
    for path, status, visit in rows[:MOST_TASKS]:
        node = known.get(path)
        if node is not None and visit > node.visits:
            node.visits, node.state = visit, status


def _active(thread: Thread, known: dict[str, Node]) -> None:
    if thread.status not in (ThreadStatus.READY, ThreadStatus.RUNNING, *HELD) or not isinstance(thread.active, list):
        return
    state = TaskStatus.RUNNING if thread.status == ThreadStatus.RUNNING else "next"
    for item in thread.active:
        if (node := known.get(path_of(item))) is not None and node.state != TaskStatus.WAITING:
            node.state = state


def _stands(thread: Thread, node: Node) -> str:
    """A task's row is not rewritten when its thread is stopped around it: nothing runs in one that is held, and in one
    that is over nothing waits either."""
    if thread.status in HELD and not node.waiting and node.state in GOING:
        return "next"
    if thread.status in OVER and node.state in (*GOING, "next"):
        return TaskStatus.CANCELLED
    return node.state


def _questions(questions: list[Interrupt], known: dict[str, Node]) -> None:
    marks: dict[str, list[Mark]] = defaultdict(list)
    for question in questions:
        node = known.get(question.task.path)
        if node is None:
            continue
        if question.status in ("open", "needs_info"):
            node.waiting += 1
            node.state = TaskStatus.WAITING
        if decision := question.verdict():
            seen = words.of(words.OUTCOME, decision.outcome)
            who = initials(decision.reviewer_name or "Sayso")
            marks[question.task.path].append(Mark(who, str(seen.word), seen.icon))
    for path, given in marks.items():
        known[path].marks = given[-4:]
