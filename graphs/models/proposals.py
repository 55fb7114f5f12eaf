"""Changes of a policy that wait for a second administrator (four eyes)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from graphs.models.fields import JSONTextField
from graphs.models.queues import ApprovalQueue, Right

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class ProposalState(models.TextChoices):
    """Where a proposal stands; every state but the first is for good."""

    WAITING = "waiting", _("waiting")
    CONFIRMED = "confirmed", _("confirmed")
    REFUSED = "refused", _("refused")
    WITHDRAWN = "withdrawn", _("withdrawn")


class PolicyProposalQuerySet(models.QuerySet["PolicyProposal"]):
    """Reads of proposals."""

    def visible_to(self, user: User | AnonymousUser) -> PolicyProposalQuerySet:
        """Those of the queues that this person administers."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        if user.has_perm("graphs.change_approvalqueue"):
            return self
        return self.filter(queue__in=ApprovalQueue.objects.of(user, Right.ADMINISTER).values("pk"))

    def waiting(self) -> PolicyProposalQuerySet:
        return self.filter(state=ProposalState.WAITING)


class PolicyProposal(models.Model):
    """A policy's document that one administrator proposes over version `base`; another one confirms it. At most one
    waits in each queue."""

    queue = models.ForeignKey(ApprovalQueue, on_delete=models.PROTECT, related_name="proposals")
    spec = JSONTextField()
    base = models.PositiveIntegerField(help_text="The version that it was made from.")
    note = models.CharField(max_length=300, blank=True)
    author_id = models.BigIntegerField(null=True, blank=True)
    author_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=10, choices=ProposalState.choices, default=ProposalState.WAITING)
    closed_by_name = models.CharField(max_length=150, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = PolicyProposalQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue"], condition=Q(state="waiting"), name="one_waiting_proposal")
        ]

    def __str__(self) -> str:
        return f"{self.author_name} for {self.queue}"
