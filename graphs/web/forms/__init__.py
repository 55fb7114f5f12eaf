"""JSON Schema to form and back, by a mapping of our own: types are kept, and nothing is ever left without a field."""

from __future__ import annotations

from graphs.web.forms.composing import read
from graphs.web.forms.fields import Field, Option
from graphs.web.forms.files import posted_texts
from graphs.web.forms.mapping import build, fill
from graphs.web.forms.problems import Problem, attach
from graphs.web.forms.proposing import alike, propose
from graphs.web.forms.showing import masked

__all__ = [
    "Field",
    "Option",
    "Problem",
    "alike",
    "attach",
    "build",
    "fill",
    "masked",
    "posted_texts",
    "propose",
    "read",
]
