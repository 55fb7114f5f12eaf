"""Filters of the forms: answers without their secrets."""

from __future__ import annotations

import json
from typing import Any

from django import template

from graphs.models import Decision
from graphs.web.forms import masked

register = template.Library()


@register.filter
def as_ascii(text: str) -> str:
    """A text as JSON of plain characters, for scripts: an attribute holds no mark that turns what is read (S04)."""
    return json.dumps(text)


@register.filter
def answer(decision: Decision) -> Any:
    """What was answered, with “•••• (set)” for each secret that the question's schema knows of."""
    schema = decision.interrupt.response_schema
    return masked(decision.value, schema, schema)
