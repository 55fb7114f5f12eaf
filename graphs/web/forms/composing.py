"""A posted form becomes a JSON value. What cannot be read is a problem at its pointer; everything typed is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from graphs.web.forms import files
from graphs.web.forms.conditions import grown
from graphs.web.forms.fields import ABSENT, BARE, NESTS, Field
from graphs.web.forms.filling import choose
from graphs.web.forms.problems import Problem
from graphs.web.forms.reading import leaf
from graphs.web.forms.several import repoint, set_rows
from graphs.web.forms.standing import plain, ticks, touched, untouched
from graphs.web.reading import escape_token

ROW = re.compile(r"[0-9]{1,6}")
#: Conditions may follow from fields that came under conditions; this often they are looked at again.
MOST_ROUNDS = 4


class Reading:
    """One pass over a posted form. `required` is whether blanks are held against it."""

    def __init__(self, posted: Mapping[str, str]) -> None:
        self.posted = posted
        self.problems: list[Problem] = []

    def value(self, field: Field, required: bool) -> Any:
        if field.widget in BARE | NESTS:
            return self._several(field, required)
        if field.stands and untouched(field, self.posted):
            return field.default
        if field.widget == "const":
            return field.default
        self._take(field)
        if field.widget == "file" and field.stands and not field.hidden:
            return ABSENT if files.removed(field, self.posted) else field.default
        try:
            found = leaf(field, required)
        except ValueError as error:
            self._blame(field, str(error))
            found = ABSENT
        if field.widget == "secret":
            field.hidden, field.again, field.text = field.text, bool(field.text), ""
        return found

    def _take(self, field: Field) -> None:
        """The text that was typed into a widget. One that came only now shows what it starts with."""
        if field.widget == "file":
            files.take(field, self.posted)
            return
        given = self.posted.get(field.name)
        if given is None:
            field.text = field.text if field.start is None else ""
        elif field.widget == "checks":
            chosen = ticks(field, self.posted)
            # Those that were there keep their order.
            before = [index for index in field.text.split(",") if index in chosen]
            field.text = ",".join([*before, *(index for index in chosen if index not in before)])
        else:
            field.text = plain(given)

    def _blame(self, field: Field, message: str) -> None:
        field.problem = field.problem or message
        self.problems.append(Problem(field.pointer, message))

    def _several(self, field: Field, required: bool) -> Any:
        if field.stands and untouched(field, self.posted):
            return field.default
        read = {"group": self._group, "tuple": self._tuple, "rows": self._rows, "branches": self._branches}
        return read[field.widget](field, required)

    # --- objects

    def _group(self, field: Field, required: bool) -> Any:
        # An optional group that nobody touched is absent, so its own required fields ask for nothing.
        idle = bool(field.pointer) and not field.required and not touched(field, self.posted)
        found: dict[str, Any] = {}
        asks = required and not idle
        told: dict[int, tuple[Field, Any, list[Problem]]] = {}
        for _round in range(MOST_ROUNDS):
            found = {}
            for one in field.children:
                if id(one) not in told:
                    told[id(one)] = (one, *self._apart(one, asks))
                self._put(found, one, told[id(one)][1])
            fresh = field.children if idle else grown(field, found)
            if [id(one) for one in fresh] == [id(one) for one in field.children]:
                break
            field.children = fresh
        for one in field.children:
            self.problems += told[id(one)][2] if id(one) in told else []
        if idle:
            return None if field.nullable else ABSENT
        return found

    def _apart(self, field: Field, required: bool) -> tuple[Any, list[Problem]]:
        """The value of a field and its own problems, which count only if the field stays."""
        before, self.problems = self.problems, []
        value = self._map(field, required) if field.widget == "map" else self.value(field, required)
        mine, self.problems = self.problems, before
        return value, mine

    @staticmethod
    def _put(found: dict[str, Any], field: Field, value: Any) -> None:
        if field.widget == "map":
            found.update({key: one for key, one in value.items() if key not in found})
        elif value is not ABSENT:
            found[field.key] = value

    def _map(self, field: Field, required: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._lay(field)
        for row in field.children:
            key, held = row.children
            self._take(key)
            name = key.text
            if not name:
                value = self.value(held, False)
                if required and value is not ABSENT and touched(held, self.posted):
                    self._blame(key, _("Give this value a name."))
                continue
            repoint(held, f"{field.pointer}/{escape_token(name)}")
            value = self.value(held, required)
            if name in found:
                self._blame(key, _("This name is there twice."))
            elif value is not ABSENT:
                found[name] = value
        return found

    # --- lists

    def _lay(self, field: Field) -> None:
        given = self.posted.get(field.name)
        if given is not None or field.start is not None:
            ids = [one for one in (given or "").split(",") if ROW.fullmatch(one)]
            set_rows(field, list(dict.fromkeys(ids)))

    def _rows(self, field: Field, required: bool) -> Any:
        self._lay(field)
        values = [self.value(one, required) for one in field.children]
        if not values:
            return None if field.nullable else [] if field.required else ABSENT
        return [value for value in values if value is not ABSENT]

    def _tuple(self, field: Field, required: bool) -> Any:
        idle = not field.required and not touched(field, self.posted)
        values = [self.value(one, required and not idle) for one in field.children]
        if idle:
            return None if field.nullable else ABSENT
        while values and values[-1] is ABSENT:
            values.pop()
        for one, value in zip(field.children, values, strict=False):
            if value is ABSENT and not one.problem and required:
                self._blame(one, _("This is needed, since one after it is filled in."))
        return [value for value in values if value is not ABSENT]

    # --- one of several

    def _branches(self, field: Field, required: bool) -> Any:
        given = self.posted.get(field.name)
        index = field.text if given is None and field.start is None else (given or "").strip()
        if not index:
            choose(field, "")
            if not field.nullable and field.required and required:
                self._blame(field, _("Choose one."))
            return None if field.nullable else ABSENT
        chosen = choose(field, index) if any(option.index == index for option in field.options) else None
        if chosen is None:
            self._blame(field, _("This is none of the choices."))
            return ABSENT
        before = len(self.problems)
        value = self.value(chosen, required)
        if required and value is not ABSENT and field.judge and len(self.problems) == before:
            told = field.judge(field, value)
            self.problems += [Problem(field.pointer + pointer, message) for pointer, message in told]
        return value


def read(field: Field, posted: Mapping[str, str], *, required: bool = True) -> tuple[Any, list[Problem]]:
    """The value of a whole form, and what is wrong with it. Sets `text` on every field to what was typed.

    `required=False` reads what is there and asks for nothing more: a rejection needs no complete form.
    """
    for one in field.walk():
        one.start = one.text
    reading = Reading(posted)
    value = reading.value(field, required)
    for one in field.walk():
        one.start = one.start or ""
    return value, reading.problems
