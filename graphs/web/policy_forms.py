"""A policy's document as a form and back: the schema of its fields, and hours as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from graphs.policies import checking, wording
from graphs.policies.hours import DAYS
from graphs.web.forms import Field, build, fill

NOTE = "note"
#: In the order of the page: about what, and the keys of the document that are about it.
SECTIONS = {
    gettext_noop("Votes"): (
        "quorum",
        "rejects",
        "self_approval",
        "reason",
        "step_up",
        "hold_seconds",
        "trust",
        "four_eyes",
    ),
    gettext_noop("Risk"): ("risk", "amount_path"),
    gettext_noop("Times, in minutes"): (
        "look_minutes",
        "due_minutes",
        "remind_minutes_before",
        "escalate_minutes",
        "escalate_to",
        "expire_minutes",
        "expire_outcome",
    ),
    gettext_noop("Working hours"): ("hours",),
    gettext_noop("Routes"): ("routes",),
}
WHEN_HELP = gettext_noop(
    'Every condition has to hold; without any the rule always does. Example: [{"path": "/payload/amount", "op": ">",'
    ' "value": 1000}]. Paths begin with /payload, /graph, /node, /tool, /reason, /requester or /queue.'
)
DAY_NAMES = dict(
    zip(
        DAYS,
        (
            gettext_noop("Monday"),
            gettext_noop("Tuesday"),
            gettext_noop("Wednesday"),
            gettext_noop("Thursday"),
            gettext_noop("Friday"),
            gettext_noop("Saturday"),
            gettext_noop("Sunday"),
        ),
        strict=True,
    )
)


def form_of(queues: Iterable[tuple[str, str]], spec: Mapping[str, Any] | None = None, note: str = "") -> Field:
    """The form of a document, filled in with it; `queues` are slugs and titles of those that it may escalate to."""
    field = build(schema([*queues, *kept_target(queues, spec)]), name="p")
    fill(field, {**laid_out(spec), NOTE: note})
    return field


def kept_target(queues: Iterable[tuple[str, str]], spec: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The target that the document names already, also where this editor sees no such queue."""
    slug = (spec or {}).get("escalate_to")
    known = [one for one, _title in queues]
    return [(slug, slug)] if isinstance(slug, str) and slug and slug not in known else []


def sections(field: Field) -> list[tuple[str, list[Field]]]:
    """The fields under the headings that the page gives them."""
    by_key = {one.key: one for one in field.children}
    for one in field.walk():
        if one.widget == "json":
            # Its schema is "any JSON": the help beside it says what it takes.
            one.schema = None
    return [(_(title), [by_key[key] for key in keys]) for title, keys in SECTIONS.items()]


def laid_out(spec: Mapping[str, Any] | None) -> dict[str, Any]:
    """Every key of a document with its usual meaning where it has none, and hours as they are typed."""
    found = {key: wording.meant(spec, key) for key in checking.KEYS}
    if isinstance(found["hours"], Mapping):
        days = found["hours"].get("days")
        days = days if isinstance(days, Mapping) else {}
        found["hours"] = {**found["hours"], "days": {day: spans_text(spans) for day, spans in days.items()}}
    for key in ("escalate_to", "expire_outcome", "amount_path"):
        found[key] = found[key] or None
    return {key: value for key, value in found.items() if value is not None}


def spans_text(spans: Any) -> str:
    """A day's times as one line; what is no list of pairs stays as it is written."""
    if not isinstance(spans, list):
        return str(spans)
    return ", ".join("-".join(map(str, one)) if isinstance(one, list) else str(one) for one in spans)


def document(value: Mapping[str, Any]) -> dict[str, Any]:
    """The document of what the form holds: what only says the usual is left out, and hours are lists again."""
    found = {key: one for key, one in value.items() if key != NOTE}
    if isinstance(found.get("hours"), Mapping):
        found["hours"] = hours(found["hours"])
    for rules in (found.get("risk"), found.get("routes")):
        for rule in rules or ():
            if rule.get("when") in (None, []):
                rule.pop("when", None)
    usual = {key: wording.meant(None, key) for key in checking.KEYS}
    return {key: one for key, one in found.items() if key not in usual or one != usual[key]}


def hours(typed: Mapping[str, Any]) -> dict[str, Any]:
    days = {day: spans(text) for day, text in (typed.get("days") or {}).items() if text.strip()}
    found = {"zone": typed.get("zone", ""), "days": days}
    dates = [one.strip() for one in typed.get("holidays") or ()]
    return found | ({"holidays": dates} if dates else {})


def spans(text: str) -> list[list[str]]:
    """ "09:00-12:00, 13:00-17:00" as pairs; what is none is left for the check to name."""
    parts = [one.replace("–", "-") for one in text.split(",")]
    return [[side.strip() for side in one.split("-")] for one in parts if one.strip()]


def schema(queues: Iterable[tuple[str, str]]) -> dict[str, Any]:
    properties = {**votes(), **risks(), **times(queues), "hours": hours_schema(), **routes()}
    properties[NOTE] = {
        "type": "string",
        "title": _("Why it changes"),
        "maxLength": 200,
        "description": _("The history and the audit chain show it."),
    }
    needed = ["quorum", "rejects", "self_approval", "reason", "step_up", "hold_seconds", "trust", "four_eyes", NOTE]
    return {"type": "object", "properties": properties, "required": needed}


def votes() -> dict[str, Any]:
    return {
        "quorum": count("quorum", _("People who have to agree"), ""),
        "rejects": count("rejects", _("Noes that stop it"), ""),
        "self_approval": switch(_("Whoever asks may decide it themselves")),
        "reason": words(_("A reason is needed"), {one: _(label) for one, label in wording.REASONS.items()}),
        "step_up": words(_("The password again"), {"never": _("never"), "critical": _("where the risk is critical")}),
        "hold_seconds": count("hold_seconds", _("Seconds to undo a decision"), _("0 lets it count at once.")),
        "trust": switch(_("“Do not ask again” may be chosen")),
        "four_eyes": switch(_("A change of this policy needs a second administrator")),
    }


def count(key: str, title: str, help_: str) -> dict[str, Any]:
    least, most = checking.COUNTS[key]
    return {"type": "integer", "title": title, "description": help_, "minimum": least, "maximum": most}


def switch(title: str) -> dict[str, Any]:
    return {"type": "boolean", "title": title}


def words(title: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {"title": title, "oneOf": [{"const": value, "title": label} for value, label in labels.items()]}


def text(title: str, help_: str = "", most: int = 80) -> dict[str, Any]:
    plain = {"type": "string", "title": title, "description": help_}
    return plain | ({"maxLength": most} if most else {})


def risks() -> dict[str, Any]:
    level = words(_("Level"), {one: _(one) for one in checking.LEVELS})
    path = text(_("Where the payload has its amount"), _("A JSON pointer, such as /amount: lists sort by it."), 200)
    return {
        "risk": rules(_("Rules of risk"), {"level": level}, _("The highest level of those that hold counts.")),
        "amount_path": path,
    }


def routes() -> dict[str, Any]:
    priority = {"type": "integer", "title": _("Priority"), "minimum": 0, "maximum": 1000}
    about = _("Questions that name no queue come here where all conditions of a rule hold; the greatest priority wins.")
    return {"routes": rules(_("Rules of routing"), {"priority": priority}, about)}


def rules(title: str, more: Mapping[str, Any], about: str) -> dict[str, Any]:
    name = text(_("Name"), _("Reviewers read it as the reason."))
    item = {"name": name, **more, "when": {"title": _("When"), "description": _(WHEN_HELP)}}
    one = {"type": "object", "title": _("Rule"), "properties": item, "required": ["name", *more]}
    return {"type": "array", "title": title, "description": about, "items": one, "maxItems": checking.MOST_RULES}


def times(queues: Iterable[tuple[str, str]]) -> dict[str, Any]:
    titles = {
        "look_minutes": _("First look within"),
        "due_minutes": _("Decided within"),
        "remind_minutes_before": _("Reminder so long before"),
        "escalate_minutes": _("Escalated after"),
        "expire_minutes": _("Expires after"),
    }
    found: dict[str, Any] = {
        key: {
            "type": "integer",
            "title": title,
            "minimum": 0 if key == "remind_minutes_before" else 1,
            "maximum": checking.MOST_MINUTES,
        }
        for key, title in titles.items()
    }
    ways = [{"const": slug, "title": title} for slug, title in queues]
    to = {"title": _("Escalated to"), "description": _("Without a queue it is only marked.")}
    found["escalate_to"] = {**to, "oneOf": ways} if ways else {**to, "type": "string", "maxLength": 60}
    found["expire_outcome"] = words(_("What counts when it expires"), {one: _(one) for one in checking.OUTCOMES})
    return found


def hours_schema() -> dict[str, Any]:
    example = _("Such as 09:00-12:00, 13:00-17:00")
    days = {day: text(_(name), example if day == "mon" else "", 0) for day, name in DAY_NAMES.items()}
    return {
        "type": "object",
        "title": _("Times run only in these hours"),
        "description": _("Leave all of it empty, and they run always."),
        "properties": {
            "zone": text(_("Time zone"), _("Such as Europe/Lisbon"), 60),
            "days": {"type": "object", "title": _("Days"), "properties": days},
            "holidays": {
                "type": "array",
                "title": _("Holidays"),
                "description": _("Dates such as 2026-12-25."),
                "items": {"type": "string"},
            },
        },
    }
