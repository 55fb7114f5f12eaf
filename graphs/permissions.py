"""Who may do what to which row: the one function that every channel asks. Lists use the `visible_to` querysets.

Rights come by membership of a queue, directly or by group; a requester sees their own threads and questions; operators
hold `graphs.operate_thread`. Whoever is none of these is told that there is nothing (404), never that they may not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User as UserRow
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.models import (
    ApprovalQueue,
    AuditEntry,
    Comment,
    Conversation,
    Decision,
    Delegation,
    Interrupt,
    QueueMembership,
    Right,
    Thread,
    Trust,
)
from graphs.policies import policy as policies

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

DECIDERS = (Right.DECIDE, Right.ADMINISTER)
PERMISSIONS_BACKEND = "django.contrib.auth.backends.ModelBackend"
#: What is done to a thread as a whole.
STEERING = ("cancel", "suspend", "retry", "say")
#: What goes around people's decisions: a fork goes on with answers that were given once, and with another state.
OPERATING = ("fork", "migrate")


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether somebody may do something, why, and by whose right where it is a delegated one."""

    allowed: bool
    reason: str
    on_behalf_of: str = ""

    def __bool__(self) -> bool:
        return self.allowed


def can(user: User | AnonymousUser, action: str, obj: Any = None) -> bool:
    """May this person do `action` to `obj`? `ruling` says why."""
    return ruling(user, action, obj).allowed


def ruling(user: User | AnonymousUser, action: str, obj: Any = None) -> Ruling:
    """The one answer to who may do what, with its reason in words for the person who asks.

    Actions are view, decide, claim, ask_back, assign, undo, comment, start, administer, operate, audit; for threads
    cancel, suspend, resume, retry, say, fork and migrate; for questions trust (all threads of an agent); for trust
    revoke; for delegations end. `obj` is an Interrupt, Thread, Conversation, Comment, Decision, Trust, Delegation or
    ApprovalQueue; `start`, `operate` and `audit` need none.
    """
    if not user.is_authenticated:
        return Ruling(False, _("Nobody is signed in."))
    if not user.is_active:
        return Ruling(False, _("This account is deactivated."))
    if action == "start":
        return Ruling(True, _("Everybody who is signed in may start a thread."))
    if action == "operate":
        return said(operates(user), _("Operators steer every thread."), _("Only operators may do this."))
    if action == "audit":
        return said(
            audits(user), _("Auditors and operators read the whole audit chain."), _("Only auditors may do this.")
        )
    if action in ("decide", "claim", "ask_back"):
        return deciding(user, obj)
    check, yes, no = RULES[action]
    return said(obj is not None and check(user, obj), yes, no)


def said(allowed: bool, yes: str, no: str) -> Ruling:
    return Ruling(allowed, str(yes if allowed else no))


def deciding(user: User | AnonymousUser, obj: Any) -> Ruling:
    """A member's right to decide, their own or delegated, unless it is their own request and the policy forbids that
    on every channel (S01)."""
    if not isinstance(obj, Interrupt):
        return Ruling(False, _("Only questions are decided."))
    requester, alone = obj.thread.conversation.requester_id, not policies.parse(obj.queue.policy_spec).self_approval
    if alone and requester == user.pk:
        return Ruling(
            False,
            _("You asked for this yourself, and in %(title)s somebody else has to decide.")
            % {"title": obj.queue.title},
        )
    if user.has_perm("graphs.decide_interrupt"):
        return Ruling(True, _("This account may decide the questions of every queue."))
    if (right := own_right(user, obj.queue_id)) in DECIDERS:
        return Ruling(
            True, _("A member of %(title)s who %(label)s.") % {"title": obj.queue.title, "label": Right(right).label}
        )
    given = delegations(user, obj.queue_id)
    if alone:
        given = [one for one in given if one.giver_id != requester]
    if given:
        name = given[0].giver_name
        return Ruling(
            True,
            _("%(name)s has delegated deciding until %(ends_at)s UTC.")
            % {"name": name, "ends_at": f"{given[0].ends_at:%Y-%m-%d %H:%M}"},
            name,
        )
    return Ruling(False, only_members(obj))


def only_members(obj: Interrupt) -> str:
    return _("You may see this but not decide it: that is for the members of %(title)s who may.") % {
        "title": obj.queue.title
    }


def own_right(user: User | AnonymousUser, queue_id: int) -> str | None:
    """The greatest right that this person holds in a queue, directly or by a group; None where they are no member."""
    member = Q(user=user.pk) | Q(group__in=user.groups.values("pk"))
    held = set(QueueMembership.objects.filter(member, queue=queue_id).values_list("right", flat=True))
    return next((right for right in reversed(list(Right)) if right in held), None)


def delegations(user: User | AnonymousUser, queue_id: int) -> list[Delegation]:
    """Delegations to this person that count now and whose giver may decide in this queue, the oldest first."""
    return list(Delegation.objects.within(queue_id).filter(receiver=user.pk).order_by("pk").distinct())


def deciders(interrupt: Interrupt) -> list[User]:
    """The people of its queue who may decide this question now: members and who stands in for them. Operators with the
    right to every queue are not counted: they are the way out where this is nobody."""
    return list(able(interrupt))


def able(interrupt: Interrupt) -> Iterator[User]:
    """The same one after the other, for whoever needs to know only of so many."""
    people = UserRow.objects.filter(candidates(interrupt.queue_id), is_active=True).distinct().order_by("username")
    return (one for one in people.iterator(200) if deciding(one, interrupt))


def candidates(queue_id: int) -> Q:
    """Whoever could decide in a queue: its members who may, and receivers of delegations that count now."""
    opened = QueueMembership.objects.filter(queue=queue_id, right__in=DECIDERS)
    stand_ins = Delegation.objects.current().filter(Q(queue=None) | Q(queue=queue_id)).values("receiver")
    return Q(pk__in=opened.values("user")) | Q(groups__in=opened.values("group")) | Q(pk__in=stand_ins)


def administrators(queue_id: int) -> QuerySet[User]:
    """The people who may administer a queue, those included who administer every one."""
    opened = QueueMembership.objects.filter(queue=queue_id, right=Right.ADMINISTER)
    everywhere = UserRow.objects.with_perm("graphs.change_approvalqueue", backend=PERMISSIONS_BACKEND).values("pk")
    people = Q(pk__in=opened.values("user")) | Q(groups__in=opened.values("group")) | Q(pk__in=everywhere)
    return UserRow.objects.filter(people, is_active=True).distinct()


def concerned(queue_id: int) -> QuerySet[User, int]:
    """Ids of the people whose own requests other people may decide in this queue than everybody else's."""
    givers = Delegation.objects.current().filter(Q(queue=None) | Q(queue=queue_id)).values("giver")
    people = UserRow.objects.filter(candidates(queue_id) | Q(pk__in=givers))
    return people.order_by("pk").values_list("pk", flat=True).distinct()


def operates(user: User | AnonymousUser) -> bool:
    return user.has_perm("graphs.operate_thread")


def may_view(user: User | AnonymousUser, obj: Any) -> bool:
    if isinstance(obj, Interrupt):
        return Interrupt.objects.visible_to(user).filter(pk=obj.pk).exists()
    if isinstance(obj, Thread):
        return Thread.objects.visible_to(user).filter(pk=obj.pk).exists()
    if isinstance(obj, Conversation):
        return obj.requester_id == user.pk or Thread.objects.visible_to(user).filter(conversation=obj).exists()
    if isinstance(obj, Comment):
        return Comment.objects.visible_to(user).filter(pk=obj.pk).exists()
    if isinstance(obj, Decision):
        return Decision.objects.visible_to(user).filter(pk=obj.pk).exists()
    if isinstance(obj, Trust):
        return Trust.objects.visible_to(user).filter(pk=obj.pk).exists()
    if isinstance(obj, Delegation):
        return Delegation.objects.visible_to(user).filter(pk=obj.pk).exists()
    if isinstance(obj, ApprovalQueue):
        return ApprovalQueue.objects.visible_to(user).filter(pk=obj.pk).exists()
    return False


def audits(user: User | AnonymousUser) -> bool:
    return user.has_perm("graphs.view_auditentry") or operates(user)


def may_assign(user: User | AnonymousUser, obj: Any) -> bool:
    """Who administers the queue, and whoever has the question and hands it over."""
    if not isinstance(obj, Interrupt):
        return False
    return may_administer(user, obj.queue) or (obj.assignee_id == user.pk and can(user, "decide", obj))


def may_undo(user: User | AnonymousUser, obj: Any) -> bool:
    """Whoever decided it, and who administers its queue; for how long is the decision's matter."""
    if not isinstance(obj, Decision):
        return False
    own = obj.reviewer_id == user.pk and can(user, "view", obj.interrupt)
    return own or may_administer(user, obj.interrupt.queue)


def may_steer(user: User | AnonymousUser, obj: Any) -> bool:
    """A thread is its requester's to steer, and the operators'."""
    return isinstance(obj, Thread) and (operates(user) or obj.conversation.requester_id == user.pk)


def may_resume(user: User | AnonymousUser, obj: Any) -> bool:
    """The operators, and the requester where it was not somebody else who stopped the thread."""
    if not may_steer(user, obj) or operates(user):
        return may_steer(user, obj)
    suspended = AuditEntry.objects.about("thread", str(obj.uid)).filter(action="suspend").last()
    return suspended is None or suspended.actor_id == user.pk


def may_operate_on(user: User | AnonymousUser, obj: Any) -> bool:
    """The operators' alone: a requester who forks could have what was approved once done twice, or otherwise."""
    return isinstance(obj, Thread) and operates(user)


def may_trust(user: User | AnonymousUser, obj: Any) -> bool:
    """Every thread of an agent: it ends the question for the whole team, so it is for who administers the queue."""
    return (
        isinstance(obj, Interrupt) and can(user, "decide", obj) and (operates(user) or may_administer(user, obj.queue))
    )


def may_revoke(user: User | AnonymousUser, obj: Any) -> bool:
    """Asking more is always safe, so whoever could have decided may revoke, and whoever gave it."""
    if not isinstance(obj, Trust):
        return False
    return obj.granted_by_id == user.pk or operates(user) or holds(user, obj.queue_id, *DECIDERS)


def may_end(user: User | AnonymousUser, obj: Any) -> bool:
    """Who gave it, and who administers its queue; one of all queues is for those who administer every one."""
    if not isinstance(obj, Delegation):
        return False
    everywhere = user.has_perm("graphs.change_approvalqueue")
    return obj.giver_id == user.pk or everywhere or (obj.queue is not None and may_administer(user, obj.queue))


def may_administer(user: User | AnonymousUser, obj: Any) -> bool:
    if not isinstance(obj, ApprovalQueue):
        return False
    return user.has_perm("graphs.change_approvalqueue") or holds(user, obj.pk, Right.ADMINISTER)


def holds(user: User | AnonymousUser, queue_id: int, *rights: Right) -> bool:
    return ApprovalQueue.objects.of(user, *rights).filter(pk=queue_id).exists()


#: Action -> (who may, why they may, what the others are told).
RULES: dict[str, tuple[Any, Any, Any]] = {
    "view": (
        may_view,
        gettext_lazy("It is in a queue or thread of theirs."),
        gettext_lazy("It is in no queue or thread of theirs."),
    ),
    "comment": (
        may_view,
        gettext_lazy("Whoever sees it may write a remark."),
        gettext_lazy("It is in no queue or thread of theirs."),
    ),
    "assign": (
        may_assign,
        gettext_lazy("They administer the queue, or have it."),
        gettext_lazy("Only who administers the queue may assign it."),
    ),
    "undo": (
        may_undo,
        gettext_lazy("They decided it, or administer the queue."),
        gettext_lazy("Only who decided it may undo that."),
    ),
    **dict.fromkeys(
        STEERING,
        (
            may_steer,
            gettext_lazy("They asked for it, or operate."),
            gettext_lazy("Only its requester and operators may."),
        ),
    ),
    "resume": (
        may_resume,
        gettext_lazy("They may resume it."),
        gettext_lazy("Only who suspended it and operators may resume it."),
    ),
    **dict.fromkeys(
        OPERATING, (may_operate_on, gettext_lazy("Operators may."), gettext_lazy("Only operators may do this."))
    ),
    "end": (
        may_end,
        gettext_lazy("They gave it, or administer its queue."),
        gettext_lazy("Only who gave it may end it."),
    ),
    "administer": (
        may_administer,
        gettext_lazy("They administer the queue."),
        gettext_lazy("Only who administers the queue may."),
    ),
    "trust": (
        may_trust,
        gettext_lazy("They administer the queue."),
        gettext_lazy("Only who administers the queue may trust every thread."),
    ),
    "revoke": (
        may_revoke,
        gettext_lazy("They gave it, or decide in its queue."),
        gettext_lazy("Only who gave it and deciders may revoke it."),
    ),
}
