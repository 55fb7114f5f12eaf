"""My decisions, and those that I may see: what was decided, what was changed in it, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from graphs.engine import trust
from graphs.models import Decision, Interrupt, Vote
from graphs.models.fields import REFERENCE
from graphs.policies.edits import edits
from graphs.web import keyset
from graphs.web.keyset import Column
from graphs.web.people import person
from graphs.web.shell import page

PAGE = 50
WHOSE = {"mine": _("Mine"), "all": _("All that I may see")}
ORDER = [Column("decided_at", True)]
#: Never shown in a list, and read for nothing where they are long.
UNSHOWN = (
    "value",
    "original",
    *(f"interrupt__{one}" for one in ("payload", "response_schema", "search", "default", "graph_path", "risk_rules")),
    *(f"interrupt__thread__{one}" for one in ("input", "output", "error", "metadata", "active")),
)


@require_safe
def decisions(request: HttpRequest) -> HttpResponse:
    """The list, the newest first."""
    user = person(request)
    whose = request.GET.get("show", "mine")
    whose = whose if whose in WHOSE else "mine"
    text = " ".join(request.GET.get("q", "").replace("\x00", "").split())[:200]
    rows = narrowed(Decision.objects.visible_to(user), text)
    found = paged(rows.filter(of(user)) if whose == "mine" else rows, request.GET.get("after", ""))
    more, found = len(found) > PAGE, found[:PAGE]
    context = {
        "nav": "decisions",
        "rows": [{"decision": one, "edits": edited(one), "undoable": undoable(user, one)} for one in titled(found)],
        "whose": whose,
        "groups": list(WHOSE.items()),
        "q": text,
        "next_after": keyset.cursor([found[-1].decided_at], found[-1].pk) if more else "",
    }
    return page(request, "decisions/list.html", context)


def of(user: User) -> Q:
    """What this person decided, alone or as one of several who voted."""
    voted = Vote.objects.filter(voter_id=user.pk).values("interrupt")
    return Q(reviewer_id=user.pk) | Q(interrupt__in=voted)


def narrowed(rows: QuerySet[Decision], text: str) -> QuerySet[Decision]:
    """Those that have every word in their question, reason or decider."""
    for word in text.split()[:10]:
        rows = rows.filter(
            Q(interrupt__search__contains=word.lower()) | Q(comment__icontains=word) | Q(reviewer_name__icontains=word)
        )
    return rows


def paged(rows: QuerySet[Decision], after: str) -> list[Decision]:
    """One page and one row more, where there is one; values stay texts, so that no long one is fetched by itself."""
    last = keyset.read(after, ORDER, keyset.whole)
    if last is not None:
        rows = rows.filter(keyset.past(ORDER, *last))
    rows = with_texts(rows.with_undone())  # type: ignore[attr-defined]
    return list(rows.order_by("-decided_at", "-pk")[: PAGE + 1])


def with_texts(rows: QuerySet[Decision]) -> QuerySet[Decision]:
    """With what `edited` needs, and without what a list never shows."""
    kept = {f"{name}_text": Cast(name, TextField()) for name in ("original", "value")}
    return rows.annotate(**kept).select_related("interrupt__queue", "interrupt__thread").defer(*UNSHOWN)


def titled(found: Sequence[Decision]) -> Sequence[Decision]:
    """With the payload of each question about an effect, whose title is made of it: one query for all of them."""
    effects = [one.interrupt_id for one in found if one.interrupt.style == "effect"]
    payloads = dict(Interrupt.objects.filter(pk__in=effects).values_list("pk", "payload")) if effects else {}
    for one in found:
        if one.interrupt_id in payloads:
            one.interrupt.payload = payloads[one.interrupt_id]
    return found


def edited(one: Decision) -> int | None:
    """How many fields the answer changed of what was proposed; None where it did, in a value too long for a list."""
    texts = [getattr(one, f"{name}_text") for name in ("original", "value")]
    if any(text is None for text in texts):
        return 0
    if any(text.startswith(REFERENCE) for text in texts):
        return None
    original, value = (orjson.loads(text) for text in texts)
    return len(edits(original, value, call=one.interrupt.kind == trust.GATE))


def undoable(user: User, one: Decision) -> bool:
    """Whether this reader decided it and its hold may still last; the question's page undoes it, and knows for sure."""
    return one.reviewer_id == user.pk and one.held_until is not None and not one.undone  # type: ignore[attr-defined]
