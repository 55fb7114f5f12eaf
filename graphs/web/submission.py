"""One posted answer: which button, which question as it was seen, and the value of the form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from graphs.models import Interrupt
from graphs.models.moves import ANSWERABLE
from graphs.web import asking, calls, editing, guards, trusting
from graphs.web.asking import Act, Card
from graphs.web.forms import Field, Problem, attach, read
from graphs.web.forms.changing import said
from graphs.web.forms.fields import ABSENT
from graphs.web.forms.operating import operate
from graphs.web.forms.reading import loads
from graphs.web.guards import Guard

KEY = re.compile(r"[0-9a-f]{32}")
MOST_COMMENT = 10_000


@dataclass(slots=True)
class Submission:
    """What was sent, kept whole so that a page can show it again."""

    interrupt: Interrupt
    posted: Mapping[str, str]
    card: Card
    act: Act | None
    key: str
    value: Any = None
    problems: list[Problem] = field(default_factory=list)
    pairs: list[tuple[Field | None, Problem]] = field(default_factory=list)

    @classmethod
    def read(cls, guard: Guard, posted: Mapping[str, str]) -> Submission:
        """Take a posted form apart. Fields that the card did not offer are ignored (S09)."""
        interrupt = guard.interrupt
        edited = editing.state_of(interrupt, shown_step(posted))
        card = asking.card(interrupt, edited)
        key = posted.get("key", "")
        found = cls(interrupt, posted, card, card.act(posted.get("act", "")), key if KEY.fullmatch(key) else "")
        problems = found._read() + (edited.misfits(found.value) if edited else [])
        if found.act is not None and not found.act.bare:
            problems += trusting.problems(interrupt, posted)
        if found.act is not None and found.current:
            problems += guards.problems(guard, posted, found.act)
        if len(posted.get("comment", "")) > MOST_COMMENT:
            problems.append(
                Problem("#comment", _("A comment has at most %(most)s characters.") % {"most": MOST_COMMENT})
            )
        if "\x00" in posted.get("comment", ""):
            problems.append(Problem("#comment", _("A comment cannot hold the character U+0000.")))
        found.blame(problems)
        return found

    @classmethod
    def draft(cls, interrupt: Interrupt, posted: Mapping[str, str]) -> Submission:
        """The same form where it was not sent: kept as it was typed, and judged by nobody."""
        card = asking.card(interrupt, editing.state_of(interrupt, shown_step(posted)))
        key = posted.get("key", "")
        found = cls(interrupt, posted, card, None, key if KEY.fullmatch(key) else "")
        if card.form is not None:
            found.posted = posted = operate(card.form, posted)
            read(card.form, posted, required=False)
            for one in card.form.walk():
                one.problem = ""
        return found

    def _read(self) -> list[Problem]:
        problems: list[Problem] = []
        value: Any = ABSENT
        bare = self.act is not None and self.act.bare
        if self.card.form is not None:
            if self.card.call:
                calls.take(self.card.form, self.posted)
            value, problems = read(self.card.form, self.posted, required=not bare)
        elif self.card.free and self.act is not None and self.act.name == "answer":
            value, problems = self._free()
        if bare:
            # A rejection counts whatever stands in the form; what cannot be read is left out, not held against it.
            problems = []
        if self.act is None:
            return [Problem("#act", _("Choose one of the buttons.")), *problems]
        self.value = self._verdict(None if value is ABSENT else value)
        return problems

    def _free(self) -> tuple[Any, list[Problem]]:
        text = self.posted.get("free", "").replace("\r\n", "\n")
        if self.posted.get("free_kind") != "json":
            return (text, []) if text else (ABSENT, [Problem("#free", _("Write the answer first."))])
        try:
            return loads(text), []
        except ValueError as error:
            return ABSENT, [Problem("#free", str(error))]

    def _verdict(self, value: Any) -> Any:
        """Set `approved` where the schema has it; a rejection without anything filled in has no value. Of an edited
        state only what was changed is sent: the rest may go on meanwhile."""
        if self.card.step is not None:
            bare = self.act is None or self.act.bare or self.card.form is None
            return None if bare else editing.changed(self.card.form, value)
        if self.card.call and self.act is not None:
            return self._call(value)
        if self.card.verdict and self.act is not None:
            return {**(value if isinstance(value, dict) else {}), asking.VERDICT: not self.act.bare}
        return value if value != {} or not (self.act and self.act.bare) else None

    def _call(self, value: Any) -> dict[str, Any]:
        """The verdict on a tool call: with the arguments where they were changed, and with trust where it was given."""
        assert self.act is not None
        if self.act.bare:
            return {asking.VERDICT: False}
        edited = calls.edited(self.interrupt, value)
        found = {asking.VERDICT: True} | ({} if edited is None else {calls.ARGUMENTS: edited})
        trust = trusting.given(self.interrupt, self.posted, found)
        return found if trust is None else {**found, "trust": trust}

    def blame(self, problems: Sequence[Problem]) -> None:
        """Add problems and put them beside their fields."""
        self.problems += problems
        form = self.card.form
        self.pairs += attach(form, problems) if form is not None else [(None, problem) for problem in problems]

    @property
    def version(self) -> int:
        """The version that was on the page; 0, which no question has, where it was tampered with."""
        return whole(self.posted, "version") or 0

    @property
    def current(self) -> bool:
        """Whether what was on the page is still what is asked."""
        return self.interrupt.status in ANSWERABLE and self.interrupt.version == self.version

    def given(self) -> dict[str, Any]:
        """The arguments of `decisions.Given`: the question as the reviewer saw it, never as it is now."""
        assert self.act is not None
        return {
            "interrupt_id": str(self.interrupt.pk),
            "version": self.version,
            "digest": self.posted.get("digest", "")[:64],
            "outcome": self.act.outcome,
            "value": self.value,
            "comment": self.posted.get("comment", "").replace("\r\n", "\n").strip(),
            "policy_version": whole(self.posted, "policy"),
        }


def shown_step(posted: Mapping[str, str]) -> int | None:
    """The checkpoint whose state was on the page, where the form edits it."""
    return whole(posted, "state_step")


def whole(posted: Mapping[str, str], name: str) -> int | None:
    """A number that was hidden in the page; None where it was tampered with."""
    text = posted.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def typed_texts(submission: Submission) -> list[tuple[str, str]]:
    """What its author had typed, by label, so that nothing of it is lost."""
    texts: list[tuple[str, str]] = []
    if submission.card.form is not None:
        for one in submission.card.form.walk():
            if one.text and one.widget not in ("group", "const", "rows", "map"):
                texts.append((one.place, said(one, one.text)))
    elif free := submission.posted.get("free", ""):
        texts.append((_("Answer"), free))
    if comment := submission.posted.get("comment", "").strip():
        texts.append((_("Reason"), comment))
    return texts
