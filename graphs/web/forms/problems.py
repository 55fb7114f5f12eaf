"""What is wrong with a form: each problem at its field, in words, and no secret in any of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from graphs.web.forms.fields import Field

#: What the engine says of a text that breaks its pattern.
MISMATCH = " does not match "
#: And of a value that is none of the shapes, or more than one of them.
NO_SHAPE = (" is not valid under any of the given schemas", " is valid under each of ")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a form, at the pointer of its place."""

    pointer: str
    message: str


def attach(field: Field, problems: Iterable[Problem]) -> list[tuple[Field | None, Problem]]:
    """Put each problem beside its field, or beside the nearest one above it; returns them in that pairing."""
    by_pointer = {inner.pointer: inner for inner in field.walk() if inner.widget != "map"}
    secrets = [inner.hidden for inner in field.walk() if inner.widget == "secret" and inner.hidden]
    paired: list[tuple[Field | None, Problem]] = []
    for problem in problems:
        owner = _owner(by_pointer, problem.pointer)
        problem = Problem(problem.pointer, _words(owner, problem, secrets))
        if owner is not None:
            owner.problem = owner.problem or problem.message
        paired.append((owner, problem))
    return paired


def _owner(by_pointer: dict[str, Field], pointer: str) -> Field | None:
    # `#comment` and its like stand beside the form, in no field of it.
    while not pointer.startswith("#"):
        if pointer in by_pointer or not pointer:
            return by_pointer.get(pointer)
        pointer = pointer.rpartition("/")[0]
    return None


def _words(owner: Field | None, problem: Problem, secrets: list[str]) -> str:
    if owner is not None and owner.patterned and owner.pointer == problem.pointer and MISMATCH in problem.message:
        # The note beside the field says which form; an example stands in the field only while it is empty.
        example = owner.attrs.get("placeholder", "")
        if example:
            return _("This does not have the expected form, %(example)s.") % {"example": example}
        return _("This does not have the expected form.")
    if any(secret in problem.message or repr(secret)[1:-1] in problem.message for secret in secrets):
        if owner is not None and owner.hint:
            return _("This does not fit: %(hint)s.") % {"hint": owner.hint}
        return _("This does not fit what is asked for.")
    if NO_SHAPE[0] in problem.message:
        return _("This fits none of the shapes that it may have.")
    if NO_SHAPE[1] in problem.message:
        return _("This fits more than one of the shapes, and may have only one of them.")
    return problem.message
