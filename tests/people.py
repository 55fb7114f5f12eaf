"""Four people that every test of who-may-what knows: what each of them holds is in their names."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission, User

from graphs.models import ApprovalQueue, Conversation, QueueMembership, Right, Thread


@dataclass
class People:
    """Two teams and their queues; `requester` and `stranger` belong to none, `operator` holds the Django permission."""

    finance: ApprovalQueue
    legal: ApprovalQueue
    decider: User
    viewer: User
    administrator: User
    grouped: User
    other_team: User
    requester: User
    operator: User
    stranger: User
    inactive: User


def member(name: str, queue: ApprovalQueue, right: Right) -> User:
    user = User.objects.create_user(name)
    QueueMembership.objects.create(queue=queue, user=user, right=right)
    return user


def invite() -> People:
    """Make them all."""
    finance = ApprovalQueue.objects.create(slug="finance", title="Finance")
    legal = ApprovalQueue.objects.create(slug="legal", title="Legal")
    group = Group.objects.create(name="controllers")
    QueueMembership.objects.create(queue=finance, group=group, right=Right.DECIDE)
    grouped = User.objects.create_user("grouped")
    grouped.groups.add(group)
    operator = User.objects.create_user("operator")
    operator.user_permissions.add(Permission.objects.get(codename="operate_thread"))
    inactive = member("inactive", finance, Right.DECIDE)
    inactive.is_active = False
    inactive.save()
    return People(
        finance=finance,
        legal=legal,
        decider=member("decider", finance, Right.DECIDE),
        viewer=member("viewer", finance, Right.VIEW),
        administrator=member("administrator", finance, Right.ADMINISTER),
        grouped=grouped,
        other_team=member("other_team", legal, Right.DECIDE),
        requester=User.objects.create_user("requester"),
        operator=User.objects.get(pk=operator.pk),
        stranger=User.objects.create_user("stranger"),
        inactive=inactive,
    )


def requested_by(thread: Thread, user: User) -> None:
    """Make this thread one that `user` has asked for."""
    Conversation.objects.filter(threads=thread).update(requester=user, requester_name=user.username)
