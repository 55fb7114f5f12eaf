"""Interrupts and their decisions: the open questions, and the verdicts that closed them."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models.append_only import AppendOnly, AppendOnlyQuerySet
from graphs.models.clock import Now
from graphs.models.fields import JSONTextField
from graphs.models.queues import ApprovalQueue
from graphs.models.threads import Task, Thread, choices

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


#: Risk in the order of its weight; `graphs.policies.risk.Level` has the same numbers.
RISKS = [(0, "low"), (1, "medium"), (2, "high"), (3, "critical")]

#: A literal of its own, because a partial index serves only queries that repeat its condition.
STILL_OPEN = Q(status__in=["open", "needs_info"])


def still_open(column: str = "status") -> models.Func:
    """The same for queries, spelled out: SQLite does not see a partial index's condition in one that has parameters."""
    return literally(column, "IN ('open', 'needs_info')")


def literally(column: str, condition: str) -> models.Func:
    """A condition of one column without a parameter, as partial indexes have it."""
    template = f"%(expressions)s {condition}"
    return models.Func(models.F(column), template=template, output_field=models.BooleanField())


class InterruptQuerySet(models.QuerySet["Interrupt"]):
    """Reads of questions; every list, count, search, socket and export starts from `visible_to`."""

    def visible_to(self, user: User | AnonymousUser) -> InterruptQuerySet:
        """Questions in the queues this person belongs to, those of threads they requested, all for operators."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        if user.has_perm("graphs.view_interrupt") or user.has_perm("graphs.operate_thread"):
            return self
        queues = ApprovalQueue.objects.of(user).values("pk")
        return self.filter(Q(queue__in=queues) | Q(thread__conversation__requester=user))

    def waiting(self) -> InterruptQuerySet:
        """Questions that a person can still answer."""
        return self.filter(still_open())

    def expired(self) -> InterruptQuerySet:
        """Questions past their deadline that declared what then counts; the others stay open and are shown overdue.
        While information is asked for the clock stands still."""
        return self.waiting().filter(has_default=True, expires_at__lte=Now(), paused_at=None)

    def expired_by_policy(self) -> InterruptQuerySet:
        """Those past a deadline of their queue's policy, which says what then counts."""
        ends = literally("expiry_outcome", "IN ('rejected', 'cancelled')")
        return self.waiting().filter(ends, expires_at__lte=Now(), paused_at=None)

    def orphaned(self) -> InterruptQuerySet:
        """Those whose assignee's account is gone: only the name is left."""
        return self.waiting().filter(literally("assignee_name", "> ''"), assignee=None)


class Interrupt(models.Model):
    """One question of one task. `version` counts changes of the question; a decision must name the one it saw."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="interrupts")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="interrupts")
    queue = models.ForeignKey(ApprovalQueue, on_delete=models.PROTECT, related_name="interrupts")
    key = models.CharField(max_length=300)
    ordinal = models.PositiveIntegerField(default=0)
    revision = models.PositiveIntegerField(default=0)
    interrupt_id = models.CharField(max_length=200, blank=True)
    node_id = models.CharField(max_length=200)
    graph_path = JSONTextField()
    style = models.CharField(max_length=30)
    kind = models.CharField(max_length=60, default="generic")
    name = models.CharField(max_length=200, blank=True)
    message = models.TextField(blank=True)
    payload = JSONTextField(null=True, blank=True)
    reason = JSONTextField(null=True, blank=True)
    metadata = JSONTextField(null=True, blank=True)
    response_schema = JSONTextField(null=True, blank=True)
    default = JSONTextField(null=True, blank=True)
    has_default = models.BooleanField(default=False)
    tool_call_id = models.CharField(max_length=200, null=True, blank=True)
    digest = models.CharField(max_length=64)
    version = models.PositiveIntegerField(default=1)
    status = models.CharField(max_length=12, choices=choices(InterruptStatus), default=InterruptStatus.OPEN)
    closed_because = models.CharField(max_length=200, blank=True, help_text="Why it was withdrawn or superseded.")
    search = models.TextField(blank=True, help_text="Lower-case text that the inbox searches.")
    seq = models.PositiveBigIntegerField(default=0, help_text="The queue's counter at its last change.")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    policy_version = models.PositiveIntegerField(default=0, help_text="The policy that risk and deadlines come from.")
    risk = models.PositiveSmallIntegerField(choices=RISKS, default=0)
    risk_rules = JSONTextField(null=True, blank=True, help_text="Names of the rules that it comes from.")
    amount = models.FloatField(null=True, blank=True, help_text="What sorting by value goes by.")
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="assigned"
    )
    assignee_name = models.CharField(max_length=150, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    look_by = models.DateTimeField(null=True, blank=True, help_text="Somebody should have opened it by then.")
    due_at = models.DateTimeField(null=True, blank=True, help_text="It should be decided by then; nothing happens.")
    remind_at = models.DateTimeField(null=True, blank=True)
    reminded_at = models.DateTimeField(null=True, blank=True)
    escalate_at = models.DateTimeField(null=True, blank=True)
    escalated_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True, help_text="Since when its clock stands still.")
    paused_seconds = models.FloatField(null=True, blank=True, help_text="For how long it stood still before that.")
    expiry_outcome = models.CharField(max_length=12, default="expired", help_text="What counts at `expires_at`.")
    stuck_since = models.DateTimeField(null=True, blank=True, help_text="Since when nobody can decide it.")

    objects = InterruptQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "key", "ordinal", "revision"], name="interrupt_place"),
        ]
        indexes = [
            models.Index(fields=["queue", "-created_at", "-id"], condition=STILL_OPEN, name="interrupt_open"),
            models.Index(fields=["-created_at", "-id"], condition=STILL_OPEN, name="interrupt_open_all"),
            models.Index(fields=["queue", "seq"], name="interrupt_cursor"),
            models.Index(
                fields=["expires_at"],
                condition=STILL_OPEN & Q(has_default=True, expires_at__isnull=False),
                name="interrupt_deadline",
            ),
            models.Index(fields=["assignee", "-created_at", "-id"], condition=STILL_OPEN, name="interrupt_assigned"),
            models.Index(fields=["queue", "-risk", "-created_at"], condition=STILL_OPEN, name="interrupt_risk"),
            models.Index(
                fields=["queue", "due_at"], condition=STILL_OPEN & Q(due_at__isnull=False), name="interrupt_due"
            ),
            # One for each thing that the clock looks for, so that a sweep of nothing reads nothing.
            models.Index(
                fields=["remind_at"], condition=STILL_OPEN & Q(remind_at__isnull=False), name="interrupt_remind"
            ),
            models.Index(
                fields=["escalate_at"], condition=STILL_OPEN & Q(escalate_at__isnull=False), name="interrupt_escalate"
            ),
            models.Index(
                fields=["expires_at"],
                condition=STILL_OPEN & Q(expiry_outcome__in=["rejected", "cancelled"]),
                name="interrupt_expiry",
            ),
            models.Index(fields=["queue", "policy_version"], condition=STILL_OPEN, name="interrupt_policy"),
            models.Index(fields=["queue"], condition=STILL_OPEN & Q(stuck_since__isnull=False), name="interrupt_stuck"),
            models.Index(
                fields=["id"],
                condition=STILL_OPEN & Q(assignee__isnull=True, assignee_name__gt=""),
                name="interrupt_orphaned",
            ),
        ]
        permissions = [("decide_interrupt", "Can decide questions of every queue")]

    def __str__(self) -> str:
        return self.message[:80] or f"{self.node_id} asks"

    @property
    def is_waiting(self) -> bool:
        """Whether a person can still answer it."""
        return self.status in (InterruptStatus.OPEN, InterruptStatus.NEEDS_INFO)

    def verdict(self) -> Decision | None:
        """The decision that counts: that of the last round, and none while the question is open again (U25)."""
        return None if self.is_waiting else max(self.decisions.all(), key=lambda one: one.round, default=None)


class DecisionQuerySet(AppendOnlyQuerySet["Decision"]):
    """Reads of verdicts."""

    def visible_to(self, user: User | AnonymousUser) -> DecisionQuerySet:
        """Verdicts of the questions that this person may see."""
        return self.filter(interrupt__in=Interrupt.objects.visible_to(user).values("pk"))

    def with_undone(self) -> DecisionQuerySet:
        """Each with `undone`: whether it was taken back, so that a later round decides or has decided (U25)."""
        return self.annotate(undone=taken_back())

    def standing(self) -> DecisionQuerySet:
        """Those that count."""
        return self.filter(~taken_back())


def taken_back() -> Q:
    """Whether a decision was undone: its question is open again, or a later round decided it."""
    later = Decision.objects.filter(interrupt=models.OuterRef("interrupt"), round__gt=models.OuterRef("round"))
    waiting = Interrupt.objects.filter(pk=models.OuterRef("interrupt"), status__in=["open", "needs_info"])
    return Q(models.Exists(later) | models.Exists(waiting))


class Decision(AppendOnly):
    """The verdict that closed an interrupt, once a round; nothing may update it. `reviewer_id` has no constraint."""

    interrupt = models.ForeignKey(Interrupt, on_delete=models.PROTECT, related_name="decisions")
    round = models.PositiveSmallIntegerField(default=1)
    outcome = models.CharField(max_length=12, choices=[(str(o), str(o)) for o in Outcome])
    value = JSONTextField(null=True, blank=True)
    comment = models.TextField(blank=True)
    reviewer_id = models.BigIntegerField(null=True, blank=True)
    reviewer_name = models.CharField(max_length=150, blank=True)
    channel = models.CharField(max_length=20)
    digest = models.CharField(max_length=64)
    version = models.PositiveIntegerField(default=1)
    submission_key = models.CharField(max_length=64, null=True, blank=True)
    audit_seq = models.PositiveBigIntegerField(default=0)
    policy_version = models.PositiveIntegerField(default=0)
    on_behalf_of = models.CharField(max_length=150, blank=True, help_text="Whose right was used, where delegated.")
    original = JSONTextField(null=True, blank=True, help_text="What was proposed, where the answer changed it.")
    decided_at = models.DateTimeField(default=timezone.now)
    effective_at = models.DateTimeField(default=timezone.now, help_text="Nothing may act on it before.")

    objects = DecisionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["interrupt", "round"], name="decision_once"),
            models.UniqueConstraint(
                fields=["reviewer_id", "submission_key", "interrupt"],
                condition=Q(submission_key__isnull=False),
                name="decision_submission",
            ),
        ]
        indexes = [
            models.Index(fields=["reviewer_id", "-decided_at"], name="decision_by_reviewer"),
            models.Index(fields=["-decided_at"], name="decision_recent"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} by {self.reviewer_name}"

    @property
    def held_until(self) -> datetime | None:
        """When it counts, where it can be undone until then; None where it counted at once."""
        return self.effective_at if self.effective_at - self.decided_at >= timedelta(seconds=0.9) else None


class Vote(AppendOnly):
    """One person's answer to an interrupt. Enough that agree make a verdict; one per voter and round (S01)."""

    interrupt = models.ForeignKey(Interrupt, on_delete=models.PROTECT, related_name="votes")
    round = models.PositiveSmallIntegerField()
    voter_id = models.BigIntegerField()
    voter_name = models.CharField(max_length=150)
    on_behalf_of = models.CharField(max_length=150, blank=True)
    outcome = models.CharField(max_length=12, choices=[(str(o), str(o)) for o in Outcome])
    value = JSONTextField(null=True, blank=True)
    value_digest = models.CharField(max_length=64)
    comment = models.TextField(blank=True)
    channel = models.CharField(max_length=20)
    version = models.PositiveIntegerField(default=1)
    submission_key = models.CharField(max_length=64, null=True, blank=True)
    audit_seq = models.PositiveBigIntegerField(default=0)
    voted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["interrupt", "round", "voter_id"], name="vote_once")]

    def __str__(self) -> str:
        return f"{self.outcome} by {self.voter_name}"


class CommentQuerySet(models.QuerySet["Comment"]):
    """Reads of remarks."""

    def visible_to(self, user: User | AnonymousUser) -> CommentQuerySet:
        """Remarks beside the threads that this person may see."""
        return self.filter(thread__in=Thread.objects.visible_to(user).values("pk"))


class CommentKind(models.TextChoices):
    """What a remark is for: just said, asking for more before deciding, or telling it."""

    REMARK = "remark", _("remark")
    ASKS = "asks", _("asks for more information")
    TELLS = "tells", _("gives more information")


class Comment(models.Model):
    """A remark beside a thread or one of its questions; it never answers anything (U02)."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="comments")
    interrupt = models.ForeignKey(Interrupt, null=True, blank=True, on_delete=models.SET_NULL, related_name="comments")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    author_name = models.CharField(max_length=150)
    text = models.TextField()
    kind = models.CharField(max_length=8, choices=CommentKind, default=CommentKind.REMARK)
    created_at = models.DateTimeField(default=timezone.now)

    objects = CommentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.text[:60]
