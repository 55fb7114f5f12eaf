"""What a form is made of: a tree of fields, each bound to one place of the answer by its JSON pointer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

#: Stands for "nothing here": None is a JSON value and an answer of its own.
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT", "__bool__": lambda self: False})()


@dataclass(frozen=True, slots=True)
class Option:
    """One choice. What is posted is its index, so that the answer keeps the type its author wrote (U28)."""

    index: str
    label: str
    value: Any


@dataclass(slots=True)
class Field:
    """One widget, or a fieldset of them.

    `widget`: text, textarea, number, email, url, date, datetime, yesno, radio, select, lines, json, const or group.
    `text` is what the widget shows (for choices: the chosen index); `problem` is what is wrong with it. A field that
    `stands` answers with its default, whatever that is, as long as it comes back the way it was shown.
    """

    pointer: str
    name: str
    label: str
    widget: str
    kind: str
    schema: Any
    required: bool = False
    nullable: bool = False
    help: str = ""
    hint: str = ""
    attrs: dict[str, str] = field(default_factory=dict)
    options: list[Option] = field(default_factory=list)
    children: list[Field] = field(default_factory=list)
    item: str = ""
    default: Any = ABSENT
    text: str = ""
    problem: str = ""
    patterned: bool = False
    stands: bool = False

    @property
    def id(self) -> str:
        """The widget's id: letters, digits and dashes, whatever the property is called."""
        return "f" + "".join(char if char.isascii() and char.isalnum() else f"-{ord(char):x}-" for char in self.pointer)

    @property
    def key(self) -> str:
        """The last step of the pointer, unescaped: the property's name in its object."""
        return self.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")

    @property
    def clearable(self) -> bool:
        """Whether "no answer" is a choice of its own: it says nothing where a default would stand in for it."""
        return not self.required and (self.default is ABSENT or (self.default is None and self.nullable))

    @property
    def long(self) -> bool:
        """Wide widgets take the whole line; short ones stand side by side."""
        return self.widget in {"textarea", "lines", "json", "group", "radio"}

    def walk(self) -> Iterator[Field]:
        """This field and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()
