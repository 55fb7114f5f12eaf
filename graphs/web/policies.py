"""The editor of a queue's policy: a form, the same as JSON, and what came of saving it."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from graphs import permissions
from graphs.actions import policies as actions
from graphs.actions.errors import InputInvalid, NotFound, Overtaken, Refused, status_of
from graphs.models import ApprovalQueue, PolicyProposal
from graphs.policies import checking
from graphs.web import policy_forms, proposals, simulating
from graphs.web.forms import Field, Problem, attach, posted_texts, read
from graphs.web.forms.operating import OP, operate
from graphs.web.forms.reading import loads
from graphs.web.people import person
from graphs.web.shell import SeeOther, page

MOST_QUEUES = 200


@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: HttpRequest, slug: str) -> HttpResponse:
    """The editor, for who administers the queue; 403 for who only sees it, 404 for everybody else."""
    queue = ApprovalQueue.objects.visible_to(person(request)).filter(slug=slug).first()
    if queue is None:
        raise Http404
    if not permissions.can(person(request), "administer", queue):
        raise PermissionDenied
    if request.method != "POST":
        form = form_of(request, queue)
        return shown(request, queue, form, queue.policy_version)
    if OP in request.POST:
        return reshaped(request, queue)
    acts = {"document": from_document, "simulate": simulate}
    return acts.get(request.POST.get("act", ""), save)(request, queue)


def form_of(request: HttpRequest, queue: ApprovalQueue, spec: Any = ..., note: str = "") -> Field:
    """The form, filled in with the policy in force or with `spec`."""
    targets = ApprovalQueue.objects.visible_to(person(request)).exclude(pk=queue.pk).order_by("title")
    ways = [(one.slug, one.title) for one in targets.only("slug", "title")[:MOST_QUEUES]]
    return policy_forms.form_of(ways, queue.policy_spec if spec is ... else spec, note)


def shown(
    request: HttpRequest, queue: ApprovalQueue, form: Field, base: int, status: int = 200, **more: Any
) -> HttpResponse:
    made = orjson.dumps(more.pop("spec", queue.policy_spec) or {}, option=orjson.OPT_INDENT_2).decode()
    own = more.pop("document", "") or written(request)
    context = {
        "nav": "queues",
        "queue": queue,
        "form": form,
        "sections": policy_forms.sections(form),
        "note": next(one for one in form.children if one.key == policy_forms.NOTE),
        "base": base,
        "four_eyes": bool((queue.policy_spec or {}).get("four_eyes")),
        "proposal": proposals.waiting(person(request), queue),
        "document": own or made,
        # Of a text that somebody wrote there is none, so that it stays theirs.
        "document_seal": "" if own else seal(made),
    }
    return page(request, "queues/policy.html", context | more, status)


def written(request: HttpRequest) -> str:
    """What somebody wrote into the text of the document and has not filled the form in from; else empty."""
    given = request.POST.get("document", "").replace("\r\n", "\n")
    kept = given and seal(given) != request.POST.get("document_seal") and request.POST.get("act") != "document"
    return given if kept else ""


def seal(text: str) -> str:
    """Tells whether a text came back as it was shown; a line's end may have changed on the way."""
    return hashlib.sha256(text.replace("\r\n", "\n").strip().encode("utf-8", "replace")).hexdigest()[:16]


def base_of(request: HttpRequest) -> int:
    """The version that the editor was opened at; one that no form has is none that is in force."""
    given = request.POST.get("base", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 9 else -1


def typed(request: HttpRequest, queue: ApprovalQueue) -> tuple[Field, dict[str, Any], list[Problem], str]:
    """The form with what was typed, the document of it, what could not be read, and the note."""
    form = form_of(request, queue)
    value, problems = read(form, posted_texts(request))
    given = value if isinstance(value, dict) else {}
    return form, policy_forms.document(given), problems, str(given.get(policy_forms.NOTE, ""))


def reshaped(request: HttpRequest, queue: ApprovalQueue) -> HttpResponse:
    """The form once more with a row more or less; nothing is saved."""
    form = form_of(request, queue)
    value, _problems = read(form, operate(form, posted_texts(request)), required=False)
    for one in form.walk():
        one.problem = ""
    spec = policy_forms.document(value) if isinstance(value, dict) else queue.policy_spec
    return shown(request, queue, form, base_of(request), spec=spec)


def save(request: HttpRequest, queue: ApprovalQueue) -> HttpResponse:
    form, spec, problems, note = typed(request, queue)
    base = base_of(request)
    if problems:
        return again(request, queue, form, problems, base, spec)
    try:
        made = actions.save(person(request), queue, actions.Edited(spec, base, note))
    except InputInvalid as error:
        found = [Problem(place, message) for place, message in error.problems]
        return again(request, queue, form, found, base, spec)
    except Overtaken as error:
        # What counts now is shown beside what was typed; saving once more is a deliberate act.
        now = ApprovalQueue.objects.get(pk=queue.pk)
        return shown(request, now, form, error.version, 409, overtaken=error, spec=spec, opened_at=base)
    except NotFound as error:
        raise Http404 from error
    except Refused as error:
        return shown(request, queue, form, base, status_of(error), refusal=str(error), spec=spec)
    address = reverse("queue", args=[queue.slug])
    if isinstance(made, PolicyProposal):
        return SeeOther(f"{address}#proposal")
    return SeeOther(f"{address}?from={base}&to={made.version}#history")


def simulate(request: HttpRequest, queue: ApprovalQueue) -> HttpResponse:
    """What it would have made of the last decisions, above the form as it was typed; nothing is written."""
    form, spec, problems, _note = typed(request, queue)
    found = [one for one in problems if one.pointer != f"/{policy_forms.NOTE}"]
    for one in form.walk():
        one.problem = ""
    found = found or [Problem(place, message) for place, message in checking.problems(spec)]
    if found:
        return again(request, queue, form, found, base_of(request), spec)
    told = simulating.simulated(person(request), queue, spec)
    return shown(request, queue, form, base_of(request), spec=spec, simulated=told)


def again(
    request: HttpRequest, queue: ApprovalQueue, form: Field, problems: list[Problem], base: int, spec: Any
) -> HttpResponse:
    """422: each problem beside its field, everything typed kept, nothing saved."""
    return shown(request, queue, form, base, 422, problems=attach(form, problems), spec=spec)


def from_document(request: HttpRequest, queue: ApprovalQueue) -> HttpResponse:
    """Fill the form in from the JSON text; nothing is saved."""
    given = request.POST.get("document", "")
    try:
        spec = loads(given)
        found = checking.problems(spec)
    except ValueError as error:
        spec, found = None, [("", str(error))]
    note = str(posted_texts(request).get(f"p/{policy_forms.NOTE}", ""))
    if found:
        form = typed(request, queue)[0]
        for one in form.walk():
            one.problem = ""
        return shown(request, queue, form, base_of(request), 422, document_problems=found, document=given)
    return shown(request, queue, form_of(request, queue, spec, note), base_of(request), spec=spec, filled=True)
