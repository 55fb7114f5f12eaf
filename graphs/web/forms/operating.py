"""Rows that come, go and move, and values that go back to what was proposed: on what was posted, deciding nothing."""

from __future__ import annotations

from collections.abc import Mapping

from graphs.web.forms.fields import Field
from graphs.web.forms.standing import texts

#: The name of the buttons that change a form and send no answer.
OP = "op"


def operate(field: Field, posted: Mapping[str, str]) -> dict[str, str]:
    """What is posted after the button that was pressed; `field` is the form as it was before anybody typed. An
    operation on what is not there changes nothing."""
    verb, _, place = posted.get(OP, "").partition(":")
    if verb == "reset":
        return _reset(field, dict(posted), place or field.name)
    if verb == "add":
        return dict(posted) | _add(field, posted, place)
    name, _, row = place.rpartition(":")
    if verb in ("remove", "up", "down") and name and row in _ids(field, posted, name):
        return _move(dict(posted), name, row, _ids(field, posted, name), verb)
    return dict(posted)


def _shown(field: Field, name: str) -> str:
    return next((one.text for one in field.walk() if one.name == name), "")


def _ids(field: Field, posted: Mapping[str, str], name: str) -> list[str]:
    return [row for row in posted.get(name, _shown(field, name)).split(",") if row]


def _add(field: Field, posted: Mapping[str, str], name: str) -> dict[str, str]:
    ids = _ids(field, posted, name)
    # The id of a row that was proposed is never another row's, also after it was taken out.
    used = [int(row) for row in [*ids, *_shown(field, name).split(",")] if row.isascii() and row.isdigit()]
    return {name: ",".join([*ids, str(max(used, default=-1) + 1)])}


def _move(posted: dict[str, str], name: str, row: str, ids: list[str], verb: str) -> dict[str, str]:
    at = ids.index(row)
    ids.remove(row)
    if verb == "remove":
        _forget(posted, f"{name}/{row}")
    else:
        ids.insert(max(0, at - 1) if verb == "up" else at + 1, row)
    return posted | {name: ",".join(ids)}


def _forget(posted: dict[str, str], name: str) -> None:
    for key in [key for key in posted if key == name or key.startswith(f"{name}/")]:
        del posted[key]


def _reset(field: Field, posted: dict[str, str], name: str) -> dict[str, str]:
    _forget(posted, name)
    inside = (name, f"{name}/")
    return posted | {key: text for key, text in texts(field) if key == inside[0] or key.startswith(inside[1])}


def keepable(field: Field, posted: Mapping[str, str]) -> dict[str, str]:
    """The fields of a form as texts, for a draft: without secrets and files, and without buttons."""
    hidden = {one.name for one in field.walk() if one.widget in ("secret", "file")}
    own = (field.name, f"{field.name}/")
    return {
        name: text
        for name, text in posted.items()
        if (name == own[0] or name.startswith(own[1]))
        and not any(name == one or name.startswith(f"{one}/") for one in hidden)
    }
