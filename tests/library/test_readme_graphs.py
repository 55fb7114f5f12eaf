"""The graphs that the README prints run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from graphs import GraphResume, InMemoryCheckpointer, Runner
from graphs.library import registry

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")


def printed(pattern: str) -> dict[str, Any]:
    """What the block after `pattern` defines."""
    source = re.search(pattern + r".*?```python\n(.*?)```", README, re.DOTALL)
    assert source is not None
    names: dict[str, Any] = {}
    exec(compile(source[1], "README.md", "exec"), names)
    return names


def test_the_ten_line_graph_asks_and_ships() -> None:
    app = printed("<!-- own graph -->")["app"]
    store = InMemoryCheckpointer()
    paused = Runner.run_graph(app, {"id": "7"}, hooks=[store], thread_id="t")
    assert [question.question for question in paused.interrupts] == ["Ship order 7"]
    done = Runner.run_graph_from_checkpoint(
        app, checkpointer=store, thread_id="t", resume=GraphResume(replies={"review": True})
    )
    assert done.output == "shipped 7"


@pytest.mark.parametrize(("limit", "output"), [(500, "account with limit 500"), (None, "refused")])
def test_the_longer_graph_forks_joins_and_routes(limit: int | None, output: str) -> None:
    app = printed("<!-- longer graph -->")["app"]
    store = InMemoryCheckpointer()
    paused = Runner.run_graph(app, {"name": "Ana"}, hooks=[store], thread_id="t")
    assert [question.node_id for question in paused.interrupts] == ["credit"]
    resume = GraphResume(replies={"credit": {"limit": limit}}) if limit else GraphResume(rejected={"credit": "no"})
    done = Runner.run_graph_from_checkpoint(app, checkpointer=store, thread_id="t", resume=resume)
    assert str(done.output).startswith(output)


def test_the_script_pauses_and_completes() -> None:
    names = printed("In a script, without the server:")
    assert names["paused"].status.value == "interrupted"
    assert names["done"].status.value == "completed"
    assert names["done"].output == "yes"


def test_the_called_graph_pauses_in_a_tool_and_pays() -> None:
    names = printed("<!-- called graph -->")
    assert names["asked"].message == "Pay 40?" and names["asked"].tool_call_id == "call-0"
    assert names["said"] == "paid 40"


def test_the_readme_lists_every_graph_that_ships_under_its_title() -> None:
    listed = set(re.findall(r"^\| ([^|]+) \| `(\w+)\.py` \|", README, re.MULTILINE))
    shipped = [one for one in registry.entries() if one.module.startswith("graphs.library.")]
    assert listed == {(one.graph.title, one.module.rpartition(".")[2]) for one in shipped if one.graph is not None}
