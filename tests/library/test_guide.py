"""The examples of the guide for graph authors run as they stand, and what it lists is all there is."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import pytest

from graphs.engine.graph import CompiledGraph
from graphs.engine.inspection import linting

FILE = Path(__file__).parent.parent.parent / "graphs" / "library" / "README.md"
GUIDE = FILE.read_text(encoding="utf-8")
PLAY = GUIDE.split("<!-- play -->")[1].split("<!-- /play -->")[0]


def examples() -> list[Any]:
    """Every example with its line, named by the heading above it."""
    found = []
    for match in re.finditer(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE):
        line = GUIDE[: match.start(1)].count("\n")
        heading = re.findall(r"^##+ (.*)$", GUIDE[: match.start()], re.MULTILINE)
        found.append(pytest.param(match[1], line, id=f"{line}-{heading[-1] if heading else 'play'}"))
    return found


def run(source: str, line: int, names: dict[str, Any]) -> dict[str, Any]:
    # At its own line of the guide, so that a failure names it; with its text, so that its nodes can be read.
    name = f"{FILE}:{line}"
    text = "\n" * line + source
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)
    return names


@pytest.mark.parametrize(("source", "line"), examples())
def test_an_example_of_the_guide_comes_to_what_it_says(source: str, line: int) -> None:
    names = run(PLAY.split("```python\n")[1].split("```")[0], 0, {"__name__": "play"})
    names = run(source, line, {**names, "__name__": "guide"})
    for graph in (one for one in names.values() if isinstance(one, CompiledGraph)):
        assert [one for one in linting.lint(graph) if one.fails] == []


def test_the_guide_has_an_example_of_each_way_to_ask() -> None:
    sources = "".join(param.values[0] for param in examples())
    for way in ("ask(", "request_human_input(", "interrupt(", "RequestInput(", "event.interrupt(", "interrupt_before="):
        assert way in sources
    assert "require_confirmation=" in sources and "LongRunningFunctionTool(" in sources


def test_the_guide_lists_every_rule_of_the_linter() -> None:
    table = GUIDE.split("| rule | what is wrong |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == set(linting.WAYS)


def test_every_name_that_the_guide_imports_is_public() -> None:
    import graphs

    for names in re.findall(r"^from graphs import (.+)$", GUIDE, re.MULTILINE):
        assert {name.strip() for name in names.split(",")} <= {*graphs.__all__, "…"}
