"""Proposed policies on their queue's page: what they change, and a second administrator's yes or no."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from graphs.actions import proposals
from graphs.models import ApprovalQueue, PolicyProposal
from graphs.policies import wording
from graphs.web.errors import answers_refusals
from graphs.web.people import person
from graphs.web.shell import SeeOther


def waiting(user: User, queue: ApprovalQueue) -> dict[str, Any] | None:
    """The proposal that waits in a queue, for who administers it."""
    found = PolicyProposal.objects.visible_to(user).waiting().filter(queue=queue).first()
    if found is None:
        return None
    changes = wording.differences(queue.policy_spec, found.spec)
    mine, stale = found.author_id == user.pk, found.base != queue.policy_version
    return {"row": found, "changes": changes, "mine": mine, "stale": stale}


@require_POST
@answers_refusals
def answer(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Confirm or refuse; whatever else was sent refuses nothing and confirms nothing."""
    user = person(request)
    queue = ApprovalQueue.objects.visible_to(user).filter(slug=slug).first()
    if queue is None or pk > 2**31 or not PolicyProposal.objects.filter(queue=queue, pk=pk).exists():
        raise Http404
    if request.POST.get("act") == "confirm":
        version = proposals.confirm(user, pk)
        return SeeOther(f"{reverse('queue', args=[slug])}?from={version.version - 1}&to={version.version}#history")
    if request.POST.get("act") == "refuse":
        proposals.refuse(user, pk)
    return SeeOther(reverse("queue", args=[slug]))
