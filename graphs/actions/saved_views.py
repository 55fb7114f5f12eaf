"""Inbox views under a name: saving, renaming, sharing with a queue's team, deleting. None of them grants anything:
a view's rows are those that whoever opens it may see anyway (U15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from graphs import outbox, permissions
from graphs.actions import audit
from graphs.actions.actors import person_id
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound
from graphs.models import ApprovalQueue, Right, SavedView

if TYPE_CHECKING:
    from graphs.actions.actors import Person

LONGEST_TITLE = 80
LONGEST_QUERY = 1000
#: One person keeps at most this many; every one of them is counted with the list.
MOST = 20


def save(actor: Person, title: str, query: str, team: str = "", *, channel: str = "form") -> SavedView:
    """Keep an inbox address under a name, for oneself or for the team of the queue whose slug is `team`.

    Raises InputInvalid for a name that is empty, too long or used already, NotAllowed for a team that one does not
    decide in.
    """
    problems = faults(title, query)
    if SavedView.objects.filter(owner=person_id(actor)).count() >= MOST:
        problems.append(("/title", _("you have %(most)s saved views already; delete one first") % {"most": MOST}))
    if problems:
        raise InputInvalid(problems)
    queue = shareable(actor, team)
    try:
        with transaction.atomic():
            view = SavedView.objects.create(owner_id=person_id(actor), title=title.strip(), query=query, queue=queue)
            noted(actor, "save_view", view, queue, channel)
    except IntegrityError as error:
        raise taken(title) from error
    return view


def change(
    actor: Person, pk: int, title: str, team: str = "", query: str | None = None, *, channel: str = "form"
) -> SavedView:
    """Rename one's view, share it or keep it for oneself again, and give it another address where `query` is one.

    Raises NotFound, NotAllowed for a view of others or a team that one does not decide in, InputInvalid.
    """
    view = owned(actor, pk)
    if problems := faults(title, view.query if query is None else query):
        raise InputInvalid(problems)
    before = view.queue
    kept = before is not None and before.slug == team
    view.title, view.queue = title.strip(), before if kept else shareable(actor, team)
    view.query = view.query if query is None else query
    try:
        with transaction.atomic():
            view.save(update_fields=["title", "queue", "query"])
            noted(actor, "change_view", view, before, channel)
    except IntegrityError as error:
        raise taken(title) from error
    return view


def delete(actor: Person, pk: int, *, channel: str = "form") -> None:
    """Delete one's view, for the team it is shared with too; who administers its queue may take it from the team.

    Raises NotFound, NotAllowed.
    """
    view = found(actor, pk)
    if view.owner_id != actor.pk and not permissions.can(actor, "administer", view.queue):
        raise NotAllowed(_("Only its owner and who administers the queue may delete a saved view."))
    with transaction.atomic():
        noted(actor, "delete_view", view, view.queue, channel)
        view.delete()


def found(actor: Person, pk: int) -> SavedView:
    view = SavedView.objects.visible_to(actor).select_related("queue").filter(pk=pk).first()
    if view is None:
        raise NotFound
    return view


def owned(actor: Person, pk: int) -> SavedView:
    view = found(actor, pk)
    if view.owner_id != actor.pk:
        raise NotAllowed(_("Only its owner changes a saved view. Save it under another name to have one of your own."))
    return view


def shareable(actor: Person, team: str) -> ApprovalQueue | None:
    """The queue to share with; None for nobody's. A foreign queue and a missing one look alike (S02)."""
    if not team:
        return None
    queue = ApprovalQueue.objects.of(actor, Right.DECIDE, Right.ADMINISTER).filter(slug=team).first()
    if queue is None:
        raise NotAllowed(_("A view is shared with the team of a queue by those who decide in it."))
    return queue


def faults(title: str, query: str) -> list[tuple[str, str]]:
    """What is wrong with a name and an address."""
    problems = []
    if not title.strip():
        problems.append(("/title", _("give it a name")))
    if len(title.strip()) > LONGEST_TITLE or "\x00" in title:
        problems.append(
            (
                "/title",
                _("a name has at most %(most)s characters, and none of them is U+0000") % {"most": LONGEST_TITLE},
            )
        )
    if len(query) > LONGEST_QUERY:
        problems.append(("/query", _("this filter is too long to be kept")))
    return problems


def taken(title: str) -> InputInvalid:
    return InputInvalid([("/title", _("you have a view called %(title)s already") % {"title": title.strip()})])


def noted(actor: Person, action: str, view: SavedView, before: ApprovalQueue | None, channel: str) -> None:
    """Record it, and bring the rails up to date of everybody who sees or saw it."""
    facts = {"title": view.title, "query": view.query, "team": view.queue.slug if view.queue else ""}
    audit.record(actor, action, "saved_view", view.pk, facts, channel)
    queues = {queue.pk for queue in (before, view.queue) if queue is not None}
    groups = [f"user.{actor.pk}", *(f"queue.{pk}" for pk in sorted(queues))]
    outbox.put([outbox.hint(groups, {"topic": "inbox"})])
