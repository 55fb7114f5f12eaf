"""“Do not ask again” on the card of a gated call: what it offers, and the trust that a posted form gives (Z54)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.engine import trust
from graphs.models import Interrupt
from graphs.permissions import can
from graphs.web import calls
from graphs.web.forms import Problem
from graphs.web.reading import entry, humanise, leaf, pretty

ASK = "ask"
#: For how long, in seconds; an empty one has no end.
SPANS = {
    "3600": gettext_lazy("1 hour"),
    "28800": gettext_lazy("8 hours"),
    "604800": gettext_lazy("7 days"),
    "2592000": gettext_lazy("30 days"),
    "": gettext_lazy("until somebody revokes it"),
}
USUAL = "28800"
ANY, IS, LIKE = "any", "is", "like"
#: A longer value is shown by its beginning; it is compared whole.
SHOWN = 80


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the call: as it is, and how another call's is to be compared with it."""

    name: str
    label: str
    shown: str
    rule: str
    pattern: str
    #: Only texts, and lists of them, can be compared with a pattern.
    text: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """What the card offers beside Approve."""

    scopes: list[tuple[str, str]]
    scope: str
    spans: list[tuple[str, str]]
    span: str
    arguments: list[Argument]
    problem: str = ""

    @property
    def open(self) -> bool:
        """Whether something was chosen already, so that it is not folded away when the page comes back."""
        return self.scope != ASK


def offer(user: User, interrupt: Interrupt, posted: Mapping[str, str], problems: Mapping[str, str]) -> Offer | None:
    """The offer for a question that trust can be given with, as it was filled in; None for any other."""
    if not calls.is_gate(interrupt) or not isinstance(interrupt.metadata, Mapping):
        return None
    agent = str(interrupt.metadata.get("agent", _("this agent")))
    scopes = [
        (ASK, _("Ask every time")),
        (trust.THREAD, _("in this thread")),
        (trust.CONVERSATION, _("in this conversation")),
    ]
    if can(user, "trust", interrupt):
        scopes.append((trust.AGENT, _("in every thread of %(agent)s") % {"agent": agent}))
    scope = posted.get("trust_scope", ASK)
    arguments = [argument(name, value, posted, problems) for name, value in calls.proposed(interrupt).items()]
    span = posted.get("trust_span", USUAL)
    return Offer(
        scopes,
        scope,
        [(seconds, str(label)) for seconds, label in SPANS.items()],
        span,
        arguments,
        problems.get("trust", ""),
    )


def argument(name: str, value: Any, posted: Mapping[str, str], problems: Mapping[str, str]) -> Argument:
    text = is_text(value)
    first = value[0] if isinstance(value, list) and value else value
    return Argument(
        name,
        humanise(name),
        spoken(value)[:SHOWN],
        posted.get(f"trust_rule.{name}", IS),
        posted.get(f"trust_like.{name}", str(first) if text else ""),
        text,
        problems.get(name, ""),
    )


def is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def spoken(value: Any) -> str:
    if isinstance(value, list) and is_text(value):
        return ", ".join(entry(one) for one in value)
    return pretty(value) if isinstance(value, list | dict) else leaf(value)[0]


def given(interrupt: Interrupt, posted: Mapping[str, str], value: Any) -> dict[str, Any] | None:
    """The trust that a posted form gives, None where it gives none. Later calls are compared with the arguments of
    `value`, the answer it comes with, where the reviewer edited them."""
    scope = posted.get("trust_scope", ASK)
    if not calls.is_gate(interrupt) or scope == ASK:
        return None
    edited = value.get("arguments") if isinstance(value, Mapping) else None
    arguments = edited if isinstance(edited, Mapping) else calls.proposed(interrupt)
    rules = {name: rule(name, one, posted) for name, one in arguments.items()}
    found: dict[str, Any] = {"scope": scope, "arguments": {name: one for name, one in rules.items() if one}}
    span = posted.get("trust_span", USUAL)
    return found | ({"seconds": int(span)} if span in SPANS and span else {})


def problems(interrupt: Interrupt, posted: Mapping[str, str]) -> list[Problem]:
    """What is wrong with a posted form's trust before anybody looks at the call: a time that was not offered."""
    wanted = calls.is_gate(interrupt) and posted.get("trust_scope", ASK) != ASK
    known = posted.get("trust_span", USUAL) in SPANS
    return [Problem("/trust/seconds", _("Choose one of the times that are offered."))] if wanted and not known else []


def rule(name: str, value: Any, posted: Mapping[str, str]) -> dict[str, Any]:
    """How an argument is compared; what the form did not offer counts as the strictest."""
    chosen = posted.get(f"trust_rule.{name}", IS)
    if chosen == ANY:
        return {}
    return {"like": posted.get(f"trust_like.{name}", "")} if chosen == LIKE and is_text(value) else {"is": value}


def blamed(problems: list[tuple[Any, Problem]]) -> dict[str, str]:
    """The problems with the trust, by the argument they are about, or under `trust`."""
    found: dict[str, str] = {}
    for _place, problem in problems:
        if problem.pointer.startswith("/trust"):
            parts = problem.pointer.split("/", 3)
            found[parts[3] if len(parts) > 3 else "trust"] = problem.message
    return found
