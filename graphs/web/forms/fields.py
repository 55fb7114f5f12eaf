"""What a form is made of: a tree of fields, each bound to one place of the answer by its JSON pointer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphs.policies import file_types

#: Stands for "nothing here": None is a JSON value and an answer of its own.
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT", "__bool__": lambda self: False})()
#: A select of more choices than this is a list that can be searched.
SELECT_MOST = 30
#: What stands in a page for a secret that is there.
MASK = "•••• (set)"
#: The widgets that hold other fields and have no input of their own.
BARE = frozenset({"group", "tuple", "entry"})
#: The widgets that hold other fields, with an input that says which.
NESTS = frozenset({"rows", "map", "branches"})


def size_of(data: str) -> int:
    """The bytes of a base64 text."""
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))


def size_text(data: str) -> str:
    """The same in words."""
    return file_types.size_text(size_of(data))


@dataclass(frozen=True, slots=True)
class Option:
    """One choice. What is posted is its index, so that the answer keeps the type its author wrote (U28)."""

    index: str
    label: str
    value: Any


@dataclass(frozen=True, slots=True)
class Rule:
    """Properties of an object that count while `test` holds for what is filled in of it."""

    test: Callable[[Mapping[str, Any]], bool]
    properties: Mapping[str, Any]
    required: frozenset[str]
    because: str = ""


@dataclass(slots=True)
class Field:
    """One widget, or several of them.

    `widget`: text, textarea, number, email, url, date, time, datetime, secret, file, yesno, radio, select, checks,
    lines, json or const, and of several: group (an object), tuple, rows (an array), map (keys and values of an
    object), branches (one of several shapes). `text` is what the widget shows: for choices the chosen index, for rows
    the ids of the rows in their order; `problem` is what is wrong with it. A field that `stands` answers with its
    default, whatever that is, as long as it comes back the way it was shown. `name` is the same on every page, also
    when rows before it come and go; `pointer` follows the answer.
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
    #: Everything above it is required too, so a browser may insist on it.
    asked: bool = True
    deprecated: bool = False
    #: The row this is, by its id; the table it stands in, for whoever reads its label elsewhere.
    row: str = ""
    within: str = ""
    #: What was shown before anybody typed; None of a field that came with what was typed.
    start: str | None = None
    #: A secret, or a file as base64, never shown; `again` where it has to be given once more.
    hidden: str = ""
    filename: str = ""
    again: bool = False
    #: Makes a row, a branch or a property for this field: (field, id) to a field, None where there is no room.
    make: Callable[[Field, str], Field | None] | None = None
    columns: list[str] = field(default_factory=list)
    least: int = 0
    most: int = 0
    base: list[Field] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    pool: dict[Any, Field | None] = field(default_factory=dict)
    grow: Callable[[Field, str, tuple[int, ...]], Field | None] | None = None
    judge: Callable[[Field, Any], list[tuple[str, str]]] | None = None
    meant: Callable[[Field, Any], list[str]] | None = None

    @property
    def id(self) -> str:
        """The widget's id: letters, digits and dashes, whatever the property is called."""
        return "".join(char if char.isascii() and char.isalnum() else f"-{ord(char):x}-" for char in self.name)

    @property
    def key(self) -> str:
        """The last step of the pointer, unescaped: the property's name in its object."""
        return self.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")

    @property
    def clearable(self) -> bool:
        """Whether "no answer" is a choice of its own: it says nothing where a default would stand in for it."""
        return not self.required and (self.default is ABSENT or (self.default is None and self.nullable))

    @property
    def demanded(self) -> bool:
        """Whether a browser insists on it: not inside of something optional that may stay empty."""
        return self.required and self.asked

    @property
    def long(self) -> bool:
        """Wide widgets take the whole line; short ones stand side by side."""
        return self.widget in {"textarea", "lines", "json", "radio", "checks", "file", "datetime"} | BARE | NESTS

    @property
    def searchable(self) -> bool:
        """So many choices that a script puts a search above them."""
        return len(self.options) > SELECT_MOST

    @property
    def chosen(self) -> set[str]:
        """The indexes of the ticked choices."""
        return set(self.text.split(",")) - {""}

    @property
    def place(self) -> str:
        """Its label, for who reads it away from its field."""
        return f"{self.within}: {self.label}" if self.within else self.label

    @property
    def began(self) -> str:
        """What was in it before anybody typed."""
        return self.text if self.start is None else self.start

    @property
    def size(self) -> str:
        """How large the file is that was chosen, or else proposed."""
        return size_text(self.hidden or (self.default if isinstance(self.default, str) else ""))

    @property
    def full(self) -> bool:
        return bool(self.most) and len(self.children) >= self.most

    @property
    def live(self) -> bool:
        """Whether which fields it has follows from what is filled in."""
        return bool(self.rules) or self.widget == "branches"

    @property
    def moving(self) -> bool:
        """Whether anything in it needs the server to come or go."""
        return any(one.live or one.widget in ("rows", "map") for one in self.walk())

    @property
    def multipart(self) -> bool:
        """Whether files may come with it. A branch that is not chosen yet may have one."""
        return any(one.widget == "file" or one.live or one.widget in NESTS for one in self.walk())

    def walk(self) -> Iterator[Field]:
        """This field and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()
