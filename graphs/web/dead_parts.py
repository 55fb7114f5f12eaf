"""The saved view that an address names, and what of its filter is no longer there."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, QueryDict
from django.utils.translation import gettext as _

from graphs.models import ApprovalQueue
from graphs.web.filters import SORTS, VIEWS, Filter
from graphs.web.rails import Saved


def active(found: Sequence[Saved], asked: QueryDict) -> Saved | None:
    """The saved view that an address names; None where it names none, Http404 for one that is not this person's."""
    text = asked.get("saved", "")
    if not text:
        return None
    for one in found:
        if str(one.pk) == text:
            return one
    raise Http404


def dead(user: User, wanted: Filter, queues: Sequence[ApprovalQueue], address: str = "") -> list[str]:
    """What of a filter is no longer there, in words; the rest of it still works."""
    said = []
    asked = QueryDict(address)
    for name, known in (("view", VIEWS), ("sort", SORTS)):
        if asked.get(name) and asked[name] not in known:
            said.append(_("“%(word)s” is not a view or an order any more.") % {"word": asked[name]})
    slugs = {queue.slug.lower() for queue in queues}
    named = [wanted.queue, *(chip.value for chip in wanted.chips if chip.key == "queue")]
    said += [
        _("The queue “%(word)s” is gone, or you are no longer in it.") % {"word": name}
        for name in named
        if name and name.lower() not in slugs
    ]
    said += [_("“%(word)s” is not understood.") % {"word": chip} for chip in wanted.chips if not chip.known]
    return said + gone(wanted)


def gone(wanted: Filter) -> list[str]:
    """People who are named in a filter and have no account any more."""
    names = {chip.value for chip in wanted.chips if chip.key in ("assignee", "requester")}
    names = {name for name in names if name.lower() not in ("me", "none")}
    return [
        _("Nobody called “%(word)s” has an account here any more.") % {"word": name}
        for name in sorted(names)
        if not User.objects.filter(Q(username__iexact=name) | fullname(name), is_active=True).exists()
    ]


def fullname(name: str) -> Q:
    """People by the name that pages show: the first and the last one with a space between."""
    first, _space, last = name.partition(" ")
    return Q(first_name__iexact=first, last_name__iexact=last) if last else Q(pk__in=[])
