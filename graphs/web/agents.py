"""Agents in the launcher: which graphs one talks to, what they can do, and a person's conversations with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.db.models import Count, Max, Q, QuerySet, TextField
from django.db.models.functions import Cast, Substr
from django.http import QueryDict

from graphs.actions.turns import keeps_conversation
from graphs.agents.hooks import BeforeToolCallEvent, BeforeToolsEvent
from graphs.agents.teams.swarm import HAND_OVER
from graphs.engine.graph import CompiledGraph
from graphs.engine.statuses import ThreadStatus
from graphs.models import Interrupt, Thread
from graphs.web.asking import title_of
from graphs.web.listing import WAITING, moment
from graphs.web.markdown import words

PAGE = 20
#: What a list reads of a reply; it shows one line.
GLIMPSE = 400
#: The beginning of a JSON string, up to the last character that is whole.
SAID = re.compile(r'"(?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*', re.DOTALL)


def is_agent(graph: CompiledGraph) -> bool:
    """Whether one talks to it: it keeps a conversation, and is begun with words."""
    schema = graph.input_schema
    words_only = isinstance(schema, dict) and schema.get("type") == "string" and "enum" not in schema
    return words_only and keeps_conversation(graph)


@dataclass(frozen=True, slots=True)
class Ability:
    """One tool, and whether each call of it waits for a person."""

    name: str
    about: str
    asks: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """What an agent or a team can do, as far as its definition says. `careful`: some calls may wait for a person."""

    members: list[str] = field(default_factory=list)
    tools: list[Ability] = field(default_factory=list)
    careful: bool = False


def profile(graph: CompiledGraph) -> Profile:
    members = [one.node.label or one.node.id for one in graph.places.values() if one.node.kind == "agent"]
    boxes = [box for one in graph.places.values() if (box := getattr(one.node.body, "toolbox", None)) is not None]
    found: dict[str, Ability] = {}
    for box in boxes:
        for tool in box.tools.values():
            asks = tool.long_running or box.gates(tool.name)
            if tool.name != HAND_OVER and (asks or tool.name not in found):
                found[tool.name] = Ability(tool.name, " ".join(tool.description.split("\n\n")[0].split()), asks)
    return Profile(members if len(members) > 1 else [], list(found.values()), any(map(may_ask, boxes)))


def may_ask(box: Any) -> bool:
    """Whether something else than a tool's name decides if a person is asked: its arguments, or a hook."""
    if box.predicates or any(callable(tool.require_confirmation) for tool in box.tools.values()):
        return True
    return bool(box.hooks.wants(BeforeToolCallEvent) or box.hooks.wants(BeforeToolsEvent))


@dataclass(frozen=True, slots=True)
class Tally:
    """A person's conversations with one agent: how many, how many wait for somebody, and when one last went on."""

    count: int
    waiting: int
    last: datetime


def tallies(user: User, graphs: Iterable[CompiledGraph]) -> dict[str, Tally]:
    """By graph; those that this person never talked to are missing."""
    rows = mine(user).filter(graph_id__in=[graph.id for graph in graphs]).order_by().values("graph_id")
    waiting = Count("pk", filter=Q(status=ThreadStatus.INTERRUPTED))
    told = rows.annotate(count=Count("pk"), waiting=waiting, last=Max("updated_at"))
    return {one["graph_id"]: Tally(one["count"], one["waiting"], one["last"]) for one in told}


def mine(user: User) -> QuerySet[Thread]:
    return Thread.objects.visible_to(user).filter(conversation__requester=user.pk)


@dataclass(frozen=True, slots=True)
class Line:
    """One conversation in the list: its first words, and the last ones, or what it waits for."""

    thread: Thread
    title: str
    last: str
    asks: str


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of them, the latest first; `after` is the cursor of the next."""

    lines: list[Line]
    q: str
    paged: bool
    after: str = ""


def conversations(user: User, graph: CompiledGraph, query: QueryDict) -> Listed:
    """Those that this person began with this agent, in a fixed number of queries."""
    text = query.get("q", "").replace("\x00", "").strip()[:200]
    rows = mine(user).filter(graph_id=graph.id).annotate(begun=Cast("input", TextField()))
    for word in text.split()[:10]:
        # As it stands in JSON text.
        rows = rows.filter(Q(title__icontains=word) | Q(begun__icontains=orjson.dumps(word).decode()[1:-1]))
    if place := parsed(query.get("before", "")):
        rows = rows.filter(past(*place))
    rows = rows.annotate(said=Substr(Cast("output", TextField()), 1, GLIMPSE)).order_by("-updated_at", "-pk")
    found = list(rows.defer("input", "output", "metadata", "active", "error")[: PAGE + 1])
    asked = open_questions(user, found[:PAGE])
    lines = [Line(one, first_words(one, graph), last_words(one), asked.get(one.pk, "")) for one in found[:PAGE]]
    return Listed(lines, text, place is not None, cursor(found[PAGE - 1]) if len(found) > PAGE else "")


def past(moment: datetime, pk: int) -> Q:
    """What comes after the thread where a page ended, which was of this moment then."""
    return Q(updated_at__lt=moment) | Q(updated_at=moment, pk__lt=pk)


def open_questions(user: User, threads: Iterable[Thread]) -> Mapping[int, str]:
    """What each of these threads waits for, in a word: the first open question."""
    waiting = [one.pk for one in threads if one.status == ThreadStatus.INTERRUPTED]
    rows = Interrupt.objects.visible_to(user).filter(thread__in=waiting, status__in=WAITING)
    return {one.thread_id: title_of(one) for one in rows.order_by("-created_at", "-pk")}


def first_words(thread: Thread, graph: CompiledGraph) -> str:
    """The thread's title, less the agent's own, which stands above the list."""
    return (thread.title or thread.thread_id).removeprefix(f"{graph.title or graph.id}, ")


def last_words(thread: Any) -> str:
    """What the agent said last, of a thread that is not at work any more; empty where it gave something else."""
    found = SAID.match(thread.said or "") if thread.status == ThreadStatus.COMPLETED else None
    return words(orjson.loads(f'{found[0]}"')) if found else ""


def cursor(thread: Thread) -> str:
    return f"{thread.updated_at.astimezone(UTC).isoformat()}_{thread.pk}"


def parsed(text: str) -> tuple[datetime, int] | None:
    """A cursor as it was written; anything else is dropped (A14)."""
    told, _, number = text.rpartition("_")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    at = moment(told)
    return None if at is None else (at, int(number))
