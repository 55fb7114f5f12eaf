"""Approval queues: a team's questions, and who may view, decide and administer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from graphs.models.append_only import AppendOnly
from graphs.models.clock import Now
from graphs.models.fields import JSONTextField

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    from graphs.models.interrupts import Interrupt  # noqa: F401


class Right(models.TextChoices):
    """What a membership allows; each includes the ones before it."""

    VIEW = "view", _("may view")
    DECIDE = "decide", _("may decide")
    ADMINISTER = "administer", _("may administer")


class ApprovalQueueQuerySet(models.QuerySet["ApprovalQueue"]):
    """Reads of queues by membership."""

    def visible_to(self, user: User | AnonymousUser) -> ApprovalQueueQuerySet:
        """Queues this person belongs to in any way; all for operators and those who administer every queue."""
        everywhere = ("graphs.operate_thread", "graphs.change_approvalqueue")
        return self if any(user.has_perm(one) for one in everywhere) else self.of(user)

    def overseen_by(self, user: User | AnonymousUser) -> ApprovalQueueQuerySet:
        """Queues whose numbers this person is shown: those that they administer; all for operators."""
        everywhere = ("graphs.operate_thread", "graphs.change_approvalqueue")
        return self if any(user.has_perm(one) for one in everywhere) else self.of(user, Right.ADMINISTER)

    def of(self, user: User | AnonymousUser, *rights: Right) -> ApprovalQueueQuerySet:
        """Queues in which this person holds one of `rights`, directly, by group, or to decide in another's place by a
        delegation that counts now; any right where none is named."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        member = Q(user=user) | Q(group__in=user.groups.values("pk"))
        own = Q(pk__in=QueueMembership.objects.filter(member, right__in=rights or list(Right)).values("queue_id"))
        if rights and Right.DECIDE not in rights and Right.VIEW not in rights:
            return self.filter(own)
        return self.filter(own | Q(pk__in=Delegation.objects.opened_to(user).values("queue_id")))


class ApprovalQueue(models.Model):
    """A team's approval queue. Exactly one is the default, where questions go that name no queue."""

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    is_default = models.BooleanField(default=False)
    policy_version = models.PositiveIntegerField(default=0, help_text="The policy in force; 0 is the built-in one.")
    policy_spec = JSONTextField(null=True, blank=True, help_text="That version's document, read with the queue.")

    objects = ApprovalQueueQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["is_default"], condition=Q(is_default=True), name="one_default_queue")
        ]

    def __str__(self) -> str:
        return self.title


class QueueMembership(models.Model):
    """One person's or one group's right in one queue. Without either it gives nobody anything."""

    queue = models.ForeignKey(ApprovalQueue, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.SET_NULL)
    right = models.CharField(max_length=10, choices=Right.choices, default=Right.DECIDE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "user"], name="membership_user"),
            models.UniqueConstraint(fields=["queue", "group"], name="membership_group"),
        ]

    def __str__(self) -> str:
        return f"{self.user or self.group} {self.right} {self.queue}"


class QueuePolicy(AppendOnly):
    """One version of a queue's policy, kept for good; `ApprovalQueue.policy_version` names the one in force."""

    queue = models.ForeignKey(ApprovalQueue, on_delete=models.PROTECT, related_name="policies")
    version = models.PositiveIntegerField()
    spec = JSONTextField()
    note = models.CharField(max_length=300, blank=True, help_text="What was changed, and why.")
    author_id = models.BigIntegerField(null=True, blank=True)
    author_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "version"], name="policy_version")]
        verbose_name_plural = "queue policies"

    def __str__(self) -> str:
        return f"{self.queue} version {self.version}"


class DelegationQuerySet(models.QuerySet["Delegation"]):
    """Reads of delegations."""

    def current(self) -> DelegationQuerySet:
        """Those that count now, by the database's clock."""
        return self.filter(ended_at=None, starts_at__lte=Now(), ends_at__gt=Now())

    def within(self, queue_id: int) -> DelegationQuerySet:
        """Those that count now in a queue: their giver may decide there. One may come twice, by person and by group."""
        opened = QueueMembership.objects.filter(queue=queue_id, right__in=[Right.DECIDE, Right.ADMINISTER])
        holders = Q(giver__in=opened.values("user")) | Q(giver__groups__in=opened.values("group"))
        return self.current().filter(Q(queue=None) | Q(queue=queue_id), holders, giver__is_active=True)

    def opened_to(self, user: User | AnonymousUser) -> models.QuerySet[QueueMembership]:
        """Memberships that let people decide who have delegated that to this person; with `queue_id` of each."""
        mine = self.current().filter(receiver=user.pk, giver__is_active=True)
        scope = Q(queue=None) | Q(queue=models.OuterRef("queue"))
        holder = Q(giver=models.OuterRef("user")) | Q(giver__groups=models.OuterRef("group"))
        deciding = QueueMembership.objects.filter(right__in=[Right.DECIDE, Right.ADMINISTER])
        return deciding.filter(models.Exists(mine.filter(scope, holder)))

    def visible_to(self, user: User | AnonymousUser) -> DelegationQuerySet:
        """Given by or to this person, and those of queues that they administer."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        if user.has_perm("graphs.change_approvalqueue"):
            return self
        administered = ApprovalQueue.objects.of(user, Right.ADMINISTER).values("pk")
        return self.filter(Q(giver=user) | Q(receiver=user) | Q(queue__in=administered))


class Delegation(models.Model):
    """One person decides in another's place between two moments, in one queue or, without one, in all."""

    giver = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="delegations_given"
    )
    giver_name = models.CharField(max_length=150)
    receiver = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="delegations_received"
    )
    receiver_name = models.CharField(max_length=150)
    queue = models.ForeignKey(
        ApprovalQueue, null=True, blank=True, on_delete=models.CASCADE, related_name="delegations"
    )
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    move_open = models.BooleanField(default=False, help_text="What the giver had claimed goes to the receiver.")
    moved_at = models.DateTimeField(null=True, blank=True)
    note = models.CharField(max_length=300, blank=True)
    created_by_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = DelegationQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["receiver", "ends_at"], name="delegation_to"),
            models.Index(fields=["ends_at"], condition=Q(ended_at__isnull=True), name="delegation_running"),
        ]

    def __str__(self) -> str:
        return f"{self.giver_name} to {self.receiver_name}"
