"""A question as a card: which buttons it has, what they are called, and which form stands above them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.agents.mcp import elicitation
from graphs.engine.statuses import Outcome
from graphs.models import Interrupt
from graphs.web import calls
from graphs.web.editing import Edited
from graphs.web.forms import Field, build
from graphs.web.forms.changing import Change, changes
from graphs.web.forms.mapping import resolve
from graphs.web.reading import facts, visible
from graphs.web.speech import PLACE

#: The field that Approve and Reject set themselves, so the form does not ask for it again.
VERDICT = "approved"
#: Ways of asking whose node cannot be told "rejected" unless its schema has the verdict.
WITHOUT_REJECT = {"request_input", "effect"}
#: What the metadata says to the card, and is shown where it belongs rather than among the facts.
TOLD = ("options", "act", "effects", "reversible", "on_reject")
MOST_EFFECTS = 10


@dataclass(frozen=True, slots=True)
class Act:
    """One button. `bare` ones take the form as far as it is filled in: a rejection asks for nothing more."""

    name: str
    outcome: Outcome
    label: str
    icon: str
    tone: str
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """What the reviewer can fill in and press; `free` offers an answer in words or JSON where no schema asks."""

    acts: list[Act] = field(default_factory=list)
    form: Field | None = None
    free: bool = False
    verdict: bool = False
    #: What the author calls the verdict, where the schema says more than "approved".
    states: str = ""
    #: The form edits the arguments of the call that the question is about.
    call: bool = False
    #: The form edits the state that a structural pause goes on with, as it was at this checkpoint.
    step: int | None = None

    @property
    def changing(self) -> bool:
        """Whether the form shows what somebody proposed, so that what a reviewer changes is shown beside it."""
        return self.form is not None and (self.call or self.step is not None)

    @property
    def changes(self) -> list[Change]:
        return changes(self.form) if self.form is not None else []

    def act(self, name: str) -> Act | None:
        """The act of a posted button; only what was offered counts."""
        return next((act for act in self.acts if act.name == name), None)


def card(interrupt: Interrupt, edited: Edited | None = None) -> Card:
    """The card of a question, by its way of asking and its schema; `edited` is the state that it goes on with, where a
    person may edit that."""
    schema, options = interrupt.response_schema, offered(interrupt)
    if interrupt.style == "structural":
        return structural(interrupt, edited)
    if calls.is_gate(interrupt) and verdict_in(schema):
        return Card([approve(interrupt), reject(interrupt)], calls.form(interrupt), verdict=True, call=True)
    if interrupt.style == "interrupt" and interrupt.kind == elicitation.KIND:
        return elicited(build(schema or {}))
    if verdict_in(schema):
        form = build(schema, skip=frozenset({VERDICT}))
        return Card(
            [approve(interrupt), reject(interrupt)],
            form if form.children or form.widget != "group" else None,
            verdict=True,
            states=states(schema),
        )
    if schema or options:
        form = build(schema or {}, options=options)
        return Card(_acts(interrupt, form), form)
    if interrupt.style in WITHOUT_REJECT:
        return Card([answer()], free=True)
    return Card([approve(interrupt), reject(interrupt), answer(quiet=True)], free=True)


def structural(interrupt: Interrupt, edited: Edited | None) -> Card:
    """A pause around a node: go on, with the state as it is or edited (T17), or end the thread there."""
    acts = [Act("approve", Outcome.APPROVED, _("Continue"), "player-play", "go"), reject(interrupt)]
    return Card(acts, edited.form(), step=edited.step) if edited else Card(acts)


def elicited(form: Field) -> Card:
    """A question of a tool server, which tells a no from a question that nobody took up (H37). Every field is the
    server's, one named `approved` too."""
    accept = answer() if form.children else Act("answer", Outcome.ANSWERED, _("Accept"), "check", "go")
    decline = Act("reject", Outcome.REJECTED, _("Decline"), "x", "stop", bare=True)
    return Card([accept, decline, Act("cancel", Outcome.CANCELLED, _("Cancel"), "ban", "stop", bare=True)], form)


def _acts(interrupt: Interrupt, form: Field) -> list[Act]:
    # `ask` hands its author the whole Decision, so a form beside it is a supplement to yes or no.
    if interrupt.style == "ask" and form.widget == "group":
        return [approve(interrupt), reject(interrupt)]
    return [answer()] if interrupt.style in WITHOUT_REJECT else [answer(), reject(interrupt)]


def approve(interrupt: Interrupt) -> Act:
    named = object_of(interrupt)
    label = _("Approve %(object)s") % {"object": named} if named else _("Approve")
    return Act("approve", Outcome.APPROVED, label, "check", "go")


def reject(interrupt: Interrupt) -> Act:
    named = object_of(interrupt)
    label = _("Reject %(object)s") % {"object": named} if named else _("Reject")
    return Act("reject", Outcome.REJECTED, label, "x", "stop", bare=True)


def answer(*, quiet: bool = False) -> Act:
    return Act("answer", Outcome.ANSWERED, _("Send answer"), "send", "quiet" if quiet else "go")


def object_of(interrupt: Interrupt) -> str:
    """What the buttons act on: the author's word, else the tool's name; nothing that would be a guess."""
    metadata = interrupt.metadata if isinstance(interrupt.metadata, Mapping) else {}
    named = metadata.get("act") or (interrupt.name if interrupt.style == "tool" else "") or metadata.get("tool") or ""
    return visible(named) if isinstance(named, str) and 0 < len(named) <= 30 else ""


def verdict_in(schema: Any) -> bool:
    """Whether a schema has the boolean that Approve and Reject stand for."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return False
    return resolve(schema["properties"].get(VERDICT), schema).get("type") == "boolean"


def states(schema: Any) -> str:
    """The title of the verdict, else its description; the name of the field alone says nothing."""
    found = resolve(schema["properties"][VERDICT], schema)
    texts = [found.get(key) for key in ("title", "description")]
    return next((text for text in texts if isinstance(text, str) and text.strip() and text.lower() != VERDICT), "")


def offered(interrupt: Interrupt) -> list[Any]:
    """The choices that the value or metadata offers (U28)."""
    for source in (interrupt.payload, interrupt.metadata):
        options = source.get("options") if isinstance(source, Mapping) else None
        if isinstance(options, list) and options:
            return options
    return []


def shown_value(interrupt: Interrupt) -> Any:
    """What the question is about: its payload, with what `metadata` adds; choices are shown as choices."""
    metadata = interrupt.metadata if isinstance(interrupt.metadata, Mapping) else {}
    beside = {key: value for key, value in metadata.items() if key not in TOLD}
    # A tool that asks with its arguments would have them shown twice: those of its call stand in the metadata.
    arguments, payload = beside.get("arguments"), interrupt.payload
    if isinstance(arguments, Mapping) and isinstance(payload, Mapping):
        own = {key: value for key, value in arguments.items() if key not in payload or payload[key] != value}
        beside = {key: value for key, value in beside.items() if key != "arguments"}
        beside |= {"arguments": own} if own else {}
    if not beside:
        return interrupt.payload
    if interrupt.payload is None:
        return beside
    return (
        {**interrupt.payload, **beside}
        if isinstance(interrupt.payload, dict)
        else {"value": interrupt.payload, **beside}
    )


@dataclass(frozen=True, slots=True)
class Consequences:
    """What its author says of a yes and a no: what happens outside, whether it can be taken back, what a no does."""

    effects: list[str]
    reversible: str
    on_reject: str


def consequences(interrupt: Interrupt) -> Consequences:
    """From `effects` (a text or several), `reversible` (yes, no, or how) and `on_reject` of the metadata."""
    metadata = interrupt.metadata if isinstance(interrupt.metadata, Mapping) else {}
    effects, undo = metadata.get("effects"), metadata.get("reversible")
    listed = effects if isinstance(effects, list) else [effects]
    words = {True: _("Yes"), False: _("No")}.get(undo, "") if isinstance(undo, bool) else undo
    on_reject = metadata.get("on_reject")
    return Consequences(
        [visible(one) for one in listed[:MOST_EFFECTS] if isinstance(one, str) and one.strip()],
        visible(words) if isinstance(words, str) else "",
        visible(on_reject) if isinstance(on_reject, str) else "",
    )


def about(interrupt: Interrupt) -> Any:
    """What a question is about beside its own words: of a call its arguments, since the question names the tool."""
    return calls.proposed(interrupt) if calls.is_gate(interrupt) else shown_value(interrupt)


def brief(value: Any) -> str:
    """The first few values of an object in one line."""
    return ", ".join(f"{fact.label} {' '.join(fact.text.split())[:50]}" for fact in facts(value)[:3] if fact.text)


def title_of(interrupt: Interrupt) -> str:
    """The question as a heading. The first line of the message; the rest is shown below it."""
    first = visible(interrupt.message.strip().split("\n", 1)[0].strip())
    if interrupt.style == "effect":
        return effect_title(interrupt, first)[:200]
    if calls.is_gate(interrupt) and (given := brief(calls.proposed(interrupt))):
        # Three calls of one tool are three questions: what each would do is in its arguments.
        return f"{first}: {given}"[:200]
    return first[:200] or _("%(node)s asks for an answer") % {"node": interrupt.node_id}


def effect_title(interrupt: Interrupt, first: str) -> str:
    """The engine's question about an effect, with the tool it belongs to and its node: two effects may share a key."""
    payload = interrupt.payload if isinstance(interrupt.payload, Mapping) else {}
    effect, tool = visible(str(payload.get("effect", ""))), visible(tool_of(interrupt))
    shown = effect
    if tool and (place := PLACE.fullmatch(effect)):
        shown = tool if place["what"] == "call" else _("%(what)s in %(tool)s") % {"what": place["what"], "tool": tool}
    named = first.replace(f"“{effect}”", f"“{shown}”", 1)
    return named if "” of " in named else named.replace("”", f"” of {interrupt.node_id}", 1)


def tool_of(interrupt: Interrupt) -> str:
    """The tool inside whose call it is asked; empty where it is asked elsewhere."""
    tool = interrupt.metadata.get("tool") if isinstance(interrupt.metadata, Mapping) else None
    if not tool and interrupt.style == "tool":
        tool = interrupt.name
    return tool if isinstance(tool, str) else ""


#: Why the engine itself asks, in words for reviewers.
OWN_REASONS = {
    "interrupt_before": gettext_lazy("The graph stops before this node, each time it comes to it."),
    "interrupt_after": gettext_lazy("The graph stops after this node, each time it is done."),
    "effect_in_doubt": gettext_lazy("The process that ran it died, so nobody knows whether it took place."),
    "tool_approval": gettext_lazy("A person agrees to a call of this tool before it runs."),
    "long_running_tool": gettext_lazy("The tool has begun something; what comes of it is for a person to say."),
    "effect_in_parent": gettext_lazy(
        "This thread is a fork. What its parent did outside is not repeated before somebody says so."
    ),
}


def reason_of(interrupt: Interrupt) -> str:
    """Why it is asked, in one line, where the author or the engine said so."""
    reason = interrupt.reason
    if interrupt.style in ("structural", "effect", "tool") and isinstance(reason, str) and reason in OWN_REASONS:
        return str(OWN_REASONS[reason])
    if isinstance(reason, Mapping):
        reason = next(
            (reason[key] for key in ("reason", "message", "text", "why") if isinstance(reason.get(key), str)), ""
        )
    if not isinstance(reason, str) or reason == "input_required":
        return ""
    plain = reason.replace("_", " ") if reason.isidentifier() else reason
    return plain[:1].upper() + plain[1:]
