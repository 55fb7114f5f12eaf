"""What stands between a reviewer and a verdict, as the card says it: votes, words, the password again, a hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from graphs import permissions
from graphs.actions import voting
from graphs.models import Decision, Interrupt, Vote
from graphs.permissions import Ruling, ruling
from graphs.policies import policy as policies
from graphs.policies import quorum
from graphs.policies.policy import Policy
from graphs.policies.risk import Level
from graphs.web import asking
from graphs.web.asking import Act
from graphs.web.forms import Problem
from graphs.web.people import display_name

#: Names that a card lists of those who may decide.
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Guard:
    """The policy of one question's queue for one reader. `may` is their right to decide, with its reason in words;
    `votes` are those of the present round, `missing` how many more that agree it takes; `people` who may decide, by
    name and at most `MOST_NAMED` of them, `more` says that there are others."""

    interrupt: Interrupt
    may: Ruling
    policy: Policy
    votes: list[Vote]
    missing: int
    mine: Vote | None
    people: list[str]
    more: bool

    @property
    def opens(self) -> bool:
        """Whether this reader's answer would be taken now."""
        return self.interrupt.is_waiting and bool(self.may) and self.mine is None

    @property
    def several(self) -> bool:
        """Whether it takes more than one person, for a yes or for a no."""
        return self.policy.quorum > 1 or self.policy.rejects > 1

    @property
    def reason(self) -> str:
        """Which decisions need a reason: "always", "reject", or none."""
        if self.interrupt.risk >= Level.HIGH:
            return "always"
        return "" if self.policy.reason == "never" else self.policy.reason

    @property
    def password(self) -> bool:
        """Whether the password is asked for again (PRODUCT 1.1.7)."""
        return self.policy.step_up == "critical" and self.interrupt.risk >= Level.CRITICAL

    @property
    def typed(self) -> str:
        """The word that a critical yes has to be typed with where no password is asked for; else empty."""
        if self.password or self.interrupt.risk < Level.CRITICAL:
            return ""
        return asking.object_of(self.interrupt) or self.interrupt.node_id

    @property
    def twice(self) -> bool:
        """Whether a yes takes a second press at the same spot."""
        return self.interrupt.risk == Level.MEDIUM

    @property
    def opened(self) -> bool:
        """Whether every long value has to be opened before a yes."""
        return self.interrupt.risk >= Level.HIGH


def guard(user: User, interrupt: Interrupt) -> Guard:
    """What this reader finds between the question and a verdict."""
    policy = policies.parse(interrupt.queue.policy_spec)
    may = ruling(user, "decide", interrupt)
    votes = cast(interrupt, policy)
    found = quorum.tally(policy, [quorum.Ballot(one.voter_id, one.outcome, one.value_digest) for one in votes])
    mine = next((one for one in votes if one.voter_id == user.pk), None)
    named = interrupt.is_waiting and (policy.quorum > 1 or policy.rejects > 1 or not may)
    people = [display_name(one) for one in islice(permissions.able(interrupt), MOST_NAMED + 1)] if named else []
    return Guard(interrupt, may, policy, votes, found.needed, mine, people[:MOST_NAMED], len(people) > MOST_NAMED)


def cast(interrupt: Interrupt, policy: Policy) -> list[Vote]:
    """The votes of the present round; of a closed question those that made its verdict."""
    if policy.quorum == 1 and policy.rejects == 1 and interrupt.is_waiting:
        return []
    last = Decision.objects.filter(interrupt=interrupt).order_by("-round").values_list("round", flat=True).first() or 0
    present = last + 1 if interrupt.is_waiting else last
    return list(Vote.objects.filter(interrupt=interrupt, round=present).order_by("pk"))


def problems(guard: Guard, posted: Mapping[str, str], act: Act) -> list[Problem]:
    """What an answer lacks that the policy asks for: a reason, and the word typed beside a critical yes."""
    no = act.outcome in voting.NOES
    found = []
    if not posted.get("comment", "").strip() and voting.reason_needed(guard.interrupt, guard.policy, no):
        found.append(Problem("#comment", lacking_reason(guard)))
    if not no and guard.typed and posted.get("typed_word", "").strip().casefold() != guard.typed.casefold():
        text = _("This is critical. Type “%(word)s” to say that you mean it.") % {"word": guard.typed}
        found.append(Problem("#typed_word", text))
    return found


def lacking_reason(guard: Guard) -> str:
    if guard.interrupt.risk >= Level.HIGH:
        return _("The risk is high: write why before you decide.")
    return _("%(queue)s asks for a reason. Write why.") % {"queue": guard.interrupt.queue.title}
