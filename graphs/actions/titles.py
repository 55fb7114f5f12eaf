"""What a new thread is called, so that two of one graph can be told apart in a list."""

from __future__ import annotations

from typing import Any

from graphs.engine.graph import CompiledGraph

LENGTH = 60
#: Formats whose values must not stand in a heading that everybody with the list reads.
SECRET = {"password", "secret"}


def title_of(graph: CompiledGraph, given: Any) -> str:
    """The graph's title and the first short fact of the input: `Refund an order, A-4721`."""
    fact = first_fact(graph, given)
    return f"{graph.title or graph.id}, {fact}" if fact else graph.title or graph.id


def first_fact(graph: CompiledGraph, given: Any) -> str:
    """The first plain value on one line; empty where there is none, or where the schema calls it secret."""
    fields = given.items() if isinstance(given, dict) else [("", given)]
    for name, value in fields:
        if isinstance(value, str | int | float) and not isinstance(value, bool) and not is_secret(graph, name):
            text = " ".join(str(value).split())
            return text if len(text) <= LENGTH else f"{text[: LENGTH - 1]}…"
    return ""


def is_secret(graph: CompiledGraph, name: str) -> bool:
    schema = graph.input_schema
    field = schema.get("properties", {}).get(name, {}) if isinstance(schema, dict) else {}
    return isinstance(field, dict) and (bool(field.get("writeOnly")) or field.get("format") in SECRET)
