"""What is new of single questions that a page shows already: who looks at them, and what became of those that left."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from graphs import presence
from graphs.models import Interrupt
from graphs.web.people import display_name, person
from graphs.web.shell import page

#: More questions than these are not told of at once; a page of the inbox holds fewer.
MOST_ASKED = 100


@require_safe
def news(request: HttpRequest) -> HttpResponse:
    """A piece of each question that is asked for and that this person may see; of others there is none (S02)."""
    user = person(request)
    found = Interrupt.objects.visible_to(user).filter(pk__in=asked_for(request)).prefetch_related("decisions")
    rows = list(found.only("pk", "status", "queue_id"))
    note_present(user, rows)
    return page(request, "inbox/news.html", {"rows": rows})


def asked_for(request: HttpRequest) -> list[uuid.UUID]:
    found = []
    for text in request.GET.getlist("id")[:MOST_ASKED]:
        try:
            found.append(uuid.UUID(text))
        except ValueError:
            continue
    return found


def note_present(user: User, rows: Sequence[Interrupt]) -> None:
    """Set `present` of each row: the names of the others who look at it now. One query more where anybody does."""
    looking = presence.looking([row.pk for row in rows if row.is_waiting])
    others = {pk for those in looking.values() for pk in those} - {user.pk}
    people = User.objects.filter(pk__in=others, is_active=True) if others else User.objects.none()
    names = {one.pk: display_name(one) for one in people}
    for row in rows:
        present = sorted(names[pk] for pk in looking.get(row.pk, ()) if pk in names)
        row.present = present  # type: ignore[attr-defined]
