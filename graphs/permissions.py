"""Who may do what to which row: the one function that every channel asks. Lists use the `visible_to` querysets.

Rights come by membership of a queue, directly or by group; a requester sees their own threads and questions; operators
hold `graphs.operate_thread`. Whoever is none of these is told that there is nothing (404), never that they may not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphs.models import ApprovalQueue, AuditEntry, Comment, Conversation, Decision, Interrupt, Right, Thread, Trust

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

DECIDERS = (Right.DECIDE, Right.ADMINISTER)
#: What is done to a thread as a whole.
STEERING = ("cancel", "suspend", "retry", "say")
#: What goes around people's decisions: a fork goes on with answers that were given once, and with another state.
OPERATING = ("fork", "migrate")


def can(user: User | AnonymousUser, action: str, obj: Any = None) -> bool:
    """May this person do `action` to `obj`?

    Actions are view, decide, comment, start, administer, operate, for threads cancel, suspend, resume, retry, say,
    fork and migrate, for questions trust (all threads of an agent), for trust revoke. `obj` is an Interrupt, Thread,
    Conversation, Comment, Decision, Trust or ApprovalQueue; `start` and `operate` need none.
    """
    if not user.is_authenticated or not user.is_active:
        return False
    if action == "start":
        return True
    if action == "operate":
        return operates(user)
    check = {
        "view": may_view,
        "comment": may_view,
        "decide": may_decide,
        **dict.fromkeys(STEERING, may_steer),
        "resume": may_resume,
        **dict.fromkeys(OPERATING, may_operate_on),
        "administer": may_administer,
        "trust": may_trust,
        "revoke": may_revoke,
    }[action]
    return obj is not None and check(user, obj)


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
    if isinstance(obj, ApprovalQueue):
        return operates(user) or ApprovalQueue.objects.of(user).filter(pk=obj.pk).exists()
    return False


def may_decide(user: User | AnonymousUser, obj: Any) -> bool:
    if not isinstance(obj, Interrupt):
        return False
    return user.has_perm("graphs.decide_interrupt") or holds(user, obj.queue_id, *DECIDERS)


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
    return isinstance(obj, Interrupt) and may_decide(user, obj) and (operates(user) or may_administer(user, obj.queue))


def may_revoke(user: User | AnonymousUser, obj: Any) -> bool:
    """Asking more is always safe, so whoever could have decided may revoke, and whoever gave it."""
    if not isinstance(obj, Trust):
        return False
    return obj.granted_by_id == user.pk or operates(user) or holds(user, obj.queue_id, *DECIDERS)


def may_administer(user: User | AnonymousUser, obj: Any) -> bool:
    if not isinstance(obj, ApprovalQueue):
        return False
    return user.has_perm("graphs.change_approvalqueue") or holds(user, obj.pk, Right.ADMINISTER)


def holds(user: User | AnonymousUser, queue_id: int, *rights: Right) -> bool:
    return ApprovalQueue.objects.of(user, *rights).filter(pk=queue_id).exists()
