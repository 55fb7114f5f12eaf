"""The registry finds what ships and what the settings name, and a broken module takes nothing along."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from pytest_django.fixtures import Settings

from graphs.library import registry

GRAPH = """
from graphs import Graph
def say(inp):
    return "hello"
{name} = Graph.new("{graph_id}").node("say", say).entry("say").terminal("say").compile()
"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    registry.reload()
    yield
    registry.reload()


def own(settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch, **sources: str) -> None:
    monkeypatch.syspath_prepend(str(folder))
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(dedent(source))
        sys.modules.pop(name, None)
    settings.SAYSO_GRAPHS = list(sources)


def test_every_shipped_graph_is_registered_with_a_form() -> None:
    found = {entry.graph_id: entry for entry in registry.entries()}
    assert {"refund", "time_off", "moderation", "release"} <= set(found)
    assert [entry.error for entry in found.values()] == [""] * len(found)
    assert found["refund"].graph is not None
    assert found["refund"].graph.input_schema["properties"]["amount"]["exclusiveMinimum"] == 0


def test_a_module_of_the_settings_is_found(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own(settings, tmp_path, monkeypatch, mine_one=GRAPH.format(name="app", graph_id="mine"))
    assert registry.get("mine").id == "mine"


def test_a_module_that_fails_is_listed_with_its_error_and_breaks_nothing_else(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(
        settings, tmp_path, monkeypatch,
        broken_one="raise ValueError('no such thing')", leaves_one="raise SystemExit(3)", empty_one="x = 1",
        good_one=GRAPH.format(name="whatever", graph_id="good"),
    )  # fmt: skip
    errors = {entry.module: entry.error for entry in registry.entries() if entry.error}
    assert "no such thing" in errors["broken_one"]
    assert "SystemExit" in errors["leaves_one"]
    assert "compile()" in errors["empty_one"]
    assert registry.get("good").id == "good"
    assert registry.get("refund").id == "refund"


def test_a_second_graph_of_the_same_id_is_refused_by_name(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(settings, tmp_path, monkeypatch, twin_one=GRAPH.format(name="app", graph_id="refund"))
    twin = next(entry for entry in registry.entries() if entry.module == "twin_one")
    assert twin.graph is None
    assert "taken by graphs.library.refund" in twin.error


def test_an_unknown_graph_names_what_could_not_be_used(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(settings, tmp_path, monkeypatch, absent_one="import does_not_exist_anywhere")
    with pytest.raises(registry.UnknownGraph, match="does_not_exist_anywhere"):
        registry.get("nothing")


VERSIONED = """
from graphs import Graph
def say(inp):
    return "hello"
app = Graph.new("mine", version="{version}").node("{node}", say).entry("{node}").terminal("{node}").compile()
"""


def test_r8_an_older_version_is_kept_beside_the_current_one_for_the_threads_that_began_on_it(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(
        settings, tmp_path, monkeypatch,
        mine_nine=VERSIONED.format(version="1.9", node="old"), mine_ten=VERSIONED.format(version="1.10", node="new"),
    )  # fmt: skip
    found = [entry for entry in registry.entries() if entry.graph_id == "mine"]
    assert [(entry.module, entry.current, entry.error) for entry in found] == [
        ("mine_nine", False, ""),
        ("mine_ten", True, ""),
    ]
    assert list(registry.get("mine").nodes) == ["new"]
    assert found[0].graph is not None
    assert list(registry.pinned("mine", found[0].graph.fingerprint).nodes) == ["old"]
    assert list(registry.pinned("mine", "a version that is gone").nodes) == ["new"]


WORKFLOW = """
from graphs import App, FunctionNode, ResumabilityConfig, START, Workflow
def say(node_input):
    return "hello"
root_agent = Workflow(name="{graph_id}", edges=[(START, say)])
{more}
"""
AGENT = """
from graphs import Agent, ScriptedModel
root_agent = Agent("helper", ScriptedModel(["hello"]))
"""


def test_a_module_may_export_an_app_a_workflow_or_an_agent(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preferred = (
        "other = Workflow(name='preferred', edges=[(START, say)])\n"
        "app = App(name='shop', root_agent=other, resumability_config=ResumabilityConfig(is_resumable=True))"
    )
    own(
        settings, tmp_path, monkeypatch,
        rooted_one=WORKFLOW.format(graph_id="rooted", more=""),
        app_one=WORKFLOW.format(graph_id="hidden", more=preferred),
        loose_one=WORKFLOW.format(graph_id="loose", more="flow, root_agent = root_agent, None"),
        agent_one=AGENT,
    )  # fmt: skip
    mine = [entry for entry in registry.entries() if entry.module.endswith("_one")]
    assert [(entry.graph_id, entry.error) for entry in mine] == [
        ("rooted", ""),
        ("preferred", ""),
        ("loose", ""),
        ("helper", ""),
    ]
    assert registry.get("rooted") is registry.get("rooted") and registry.get("rooted").pause == "quiescent"


def test_a_root_agent_that_cannot_run_is_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(settings, tmp_path, monkeypatch, wrong_one="root_agent = 7")
    (entry,) = [entry for entry in registry.entries() if entry.module == "wrong_one"]
    assert "root_agent is 7" in entry.error


def test_a_graph_beside_an_app_is_hidden_and_whoever_asks_for_it_is_told(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = GRAPH.format(name="app", graph_id="front") + GRAPH.format(name="other", graph_id="back")
    own(settings, tmp_path, monkeypatch, hiding_one=both)
    assert registry.hidden() == (registry.Hidden("back", "hiding_one", "app"),)
    with pytest.raises(registry.UnknownGraph, match="hiding_one has it, but exports only its app"):
        registry.get("back")
