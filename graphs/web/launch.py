"""The launcher: agents to talk to and graphs to start, each as a card, and a form of what they begin with."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from graphs.actions import threads as actions
from graphs.actions.errors import InputInvalid, Refused
from graphs.engine.errors import AnswerInvalid, PayloadError
from graphs.engine.graph import CompiledGraph
from graphs.library import registry
from graphs.models import ApprovalQueue, Thread
from graphs.web import agents
from graphs.web.conversation import MOST
from graphs.web.errors import refused
from graphs.web.forms import Field, Problem, attach, build, fill, posted_texts, read
from graphs.web.forms.fields import ABSENT
from graphs.web.forms.operating import OP, operate
from graphs.web.people import person
from graphs.web.reading import pretty
from graphs.web.shell import SeeOther, page
from graphs.web.submission import KEY

#: What a form calls a field that has no name of its own.
UNNAMED = gettext_lazy("Answer")
TEXT = "text"
HOW_TO_SAY_TEXT = gettext_lazy('For a text, choose “text” below, or put it in quotes: "hello".')


@require_safe
def launcher(request: HttpRequest) -> HttpResponse:
    """The cards. A module that failed to import is listed with its error and breaks nothing else."""
    entries, queues = registry.entries(), known_queues()
    current = [(entry, entry.graph) for entry in entries if entry.graph is not None and entry.current]
    talkers = [graph for _, graph in current if agents.is_agent(graph)]
    known = agents.tallies(person(request), talkers)
    context = {
        "nav": "launch",
        "agents": [(graph, agents.profile(graph), known.get(graph.id)) for graph in talkers],
        "graphs": [
            (graph, asks(graph.queue, queues), older(entry, entries))
            for entry, graph in current
            if graph not in talkers
        ],
        "broken": [entry for entry in entries if entry.graph is None],
    }
    return page(request, "launch/list.html", context)


def older(current: registry.Entry, entries: tuple[registry.Entry, ...]) -> list[str]:
    """The other versions of a graph, which only threads that began on them still run on."""
    same = [one.graph for one in entries if one.graph_id == current.graph_id and not one.current]
    return [graph.version for graph in same if graph is not None]


@dataclass(frozen=True, slots=True)
class Asks:
    """The queue that a graph's questions really reach, and the one it names where there is none of that name."""

    title: str
    missing: str = ""


def known_queues() -> dict[str, ApprovalQueue]:
    """Every queue by its slug, the default one by an empty one too."""
    found = {queue.slug: queue for queue in ApprovalQueue.objects.all()}
    usual = next((queue for queue in found.values() if queue.is_default), None)
    return found | {"": usual} if usual else found


def asks(slug: str, queues: dict[str, ApprovalQueue]) -> Asks:
    """As `actions.queues.route` sends them; a question may still name another queue itself."""
    if slug in queues:
        return Asks(queues[slug].title)
    usual = queues.get("")
    return Asks(usual.title if usual else _("Inbox"), slug)


@require_http_methods(["GET", "HEAD", "POST"])
def launch(request: HttpRequest, graph_id: str) -> HttpResponse:
    try:
        graph = registry.get(graph_id)
    except registry.UnknownGraph:
        raise Http404 from None
    form = form_of(graph)
    if request.method == "POST" and OP in request.POST and not is_free(graph):
        return reshaped(request, graph, form)
    if request.method == "POST":
        return start(request, graph, form)
    like = model(request, graph)
    if like is not None:
        fill(form, like.input)
        if is_free(graph) and isinstance(like.input, str):
            form.text, form.kind = like.input, TEXT
    return shown(request, graph, form, uuid.uuid4().hex, like=like)


def form_of(graph: CompiledGraph) -> Field:
    """The form of a graph's input. Without a schema anything is input, nothing at all too."""
    form = build(graph.input_schema)
    if form.label == str(UNNAMED):
        form.label = _("Input")
    if is_free(graph):
        form.required = False
    return form


def is_free(graph: CompiledGraph) -> bool:
    return not graph.input_schema


def typed(request: HttpRequest, graph: CompiledGraph, form: Field) -> tuple[Any, list[Problem]]:
    """What was typed as a value. Where no schema says what it is, the person does: JSON, or text as it stands."""
    if agents.is_agent(graph):
        return said(request, form)
    if not is_free(graph):
        return read(form, posted_texts(request))
    if request.POST.get("as") == TEXT:
        form.kind, form.text = TEXT, request.POST.get(form.name, "").replace("\r\n", "\n")
        return form.text or ABSENT, []
    value, problems = read(form, request.POST)
    return value, [Problem(one.pointer, f"{one.message} {HOW_TO_SAY_TEXT}") for one in problems]


def said(request: HttpRequest, form: Field) -> tuple[Any, list[Problem]]:
    """The first message to an agent, within the same bounds as the later ones."""
    form.text = request.POST.get(form.name, "").replace("\r\n", "\n")
    text = form.text.strip()
    return text, [] if 0 < len(text) <= MOST else [
        Problem("", _("Write between 1 and %(most)s characters.") % {"most": f"{MOST:,}"})
    ]


def model(request: HttpRequest, graph: CompiledGraph) -> Thread | None:
    """The thread whose input the form begins with, where the address names one; a foreign one is a missing one."""
    named = request.GET.get("like")
    if named is None:
        return None
    try:
        uid = uuid.UUID(named)
    except ValueError:
        raise Http404 from None
    found = Thread.objects.visible_to(person(request)).filter(uid=uid, graph_id=graph.id).first()
    if found is None:
        raise Http404
    return found


def shown(
    request: HttpRequest,
    graph: CompiledGraph,
    form: Field,
    key: str,
    problems: list[tuple[Field | None, Problem]] | None = None,
    like: Thread | None = None,
) -> HttpResponse:
    user = person(request)
    context: dict[str, Any] = {
        "nav": "launch",
        "graph": graph,
        "form": form,
        "key": key,
        "like": like,
        "free": is_free(graph),
        "asks": asks(graph.queue, known_queues()),
        "problems": problems or [],
    }
    status = 422 if problems else 200
    if agents.is_agent(graph):
        context |= {"profile": agents.profile(graph), "most": MOST}
        context |= {"listed": agents.conversations(user, graph, request.GET)}
        return page(request, "launch/agent.html", context, status=status)
    mine = Thread.objects.visible_to(user).filter(graph_id=graph.id)
    context |= {
        "schema": pretty(graph.input_schema) if graph.input_schema else "",
        "last": mine.defer("input", "output", "metadata").order_by("-pk")[:5],
    }
    return page(request, "launch/form.html", context, status=status)


def reshaped(request: HttpRequest, graph: CompiledGraph, form: Field) -> HttpResponse:
    """The form once more with a row more or less, or other fields; nothing is started."""
    read(form, operate(form, posted_texts(request)), required=False)
    for one in form.walk():
        one.problem = ""
    return shown(request, graph, form, key_of(request))


def key_of(request: HttpRequest) -> str:
    key = request.POST.get("key", "")
    return key if KEY.fullmatch(key) else uuid.uuid4().hex


def start(request: HttpRequest, graph: CompiledGraph, form: Field) -> HttpResponse:
    """Start a thread once: the same key again leads to the thread that it started."""
    key = key_of(request)
    value, problems = typed(request, graph, form)
    form.problem = problems[0].message if problems and not form.children else form.problem
    if not problems:
        try:
            given = None if value is ABSENT else value
            thread = actions.start(person(request), graph.id, given, submission_key=key, channel="form")
        except (InputInvalid, AnswerInvalid) as error:
            problems = [Problem(pointer, message) for pointer, message in error.problems]
        except PayloadError as error:
            problems = [Problem(error.path, error.reason)]
        except Refused as error:
            return refused(request, error)
        else:
            # Where one talks on, at the end of what was said.
            return SeeOther(reverse("thread", args=[thread.uid]) + ("#say" if agents.is_agent(graph) else ""))
    return shown(request, graph, form, key, attach(form, problems))
