"""The agents that ship answer over several turns, and stop before what a person must agree to."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphs.agents import models
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.named import use_models
from graphs.agents.results import Status
from graphs.engine.workflow import compiled
from graphs.library import operations, research, support
from graphs.library.operations import Sandbox


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is said without a model come in one piece; word by word it takes its time."""
    monkeypatch.setattr(models, "words", lambda text: [text])


def fresh(agent: Any) -> Any:
    """The same agent in a conversation of its own."""
    return agent.with_tools([])


def answered(team: Any, paused: Any, **answer: Any) -> Any:
    """What comes of the same answer to all that is asked."""
    blocks = [{"interruptResponse": {"interruptId": one.id, "response": answer}} for one in paused.interrupts]
    return team(blocks)


# Support


def test_support_looks_up_answers_on_and_asks_before_a_large_refund() -> None:
    agent = fresh(support.root_agent)
    assert "Which order" in str(agent("Hello"))
    assert "Floor lamp" in str(agent("It is a-4721"))
    asked = agent("I want my money back")
    assert asked.stop_reason == "interrupt"
    (question,) = asked.interrupts
    done = agent([{"interruptResponse": {"interruptId": question.id, "response": {"approved": True}}}])
    assert "180.00 was paid back" in str(done)


def test_support_pays_a_small_refund_at_once_and_tells_a_refusal() -> None:
    agent = fresh(support.root_agent)
    assert "19.90 was paid back" in str(agent("Refund A-4698"))
    (question,) = agent("Refund A-4721, please").interrupts
    refused = {"approved": False, "reason": "Too late"}
    said = agent([{"interruptResponse": {"interruptId": question.id, "response": refused}}])
    assert "Too late" in str(said) and "paid back" not in str(said)
    assert "cannot find" in str(agent("And Z-1?"))


def test_support_pays_nothing_back_twice() -> None:
    agent = fresh(support.root_agent)
    assert "paid back" in str(agent("Refund A-4698"))
    assert "0.00 is left to pay back" in str(agent("Refund A-4698 again, please"))
    assert agent.state.get() == {"repaid A-4698": 19.9}


def refunding(*replies: Any) -> Any:
    """The shipped agent, with a model that calls as it is told to."""
    agent = fresh(support.root_agent)
    agent.model = ScriptedModel([*replies, "Done."])
    return agent


SMALL = ToolCall("refund", {"order": "A-4721", "amount": 45.0})


@pytest.mark.parametrize("replies", [[SMALL] * 4, [[SMALL] * 4]], ids=["one after the other", "in one reply"])
def test_support_asks_before_small_refunds_of_an_order_come_to_a_large_one(replies: list[Any]) -> None:
    agent = refunding(*replies)
    asked = agent("All of it, in small pieces")
    assert [one.metadata["arguments"] for one in asked.interrupts] == [SMALL.input]
    assert agent.state.get() == {"repaid A-4721": 45.0}
    assert answered(agent, asked, approved=False, reason="Too much").stop_reason == "interrupt"
    assert agent.state.get() == {"repaid A-4721": 45.0}


def test_support_counts_what_was_paid_back_for_an_order_in_earlier_turns_and_for_no_other() -> None:
    agent = refunding(SMALL, "Paid.", ToolCall("refund", {"order": "A-4698", "amount": 19.9}), "Paid.", SMALL)
    assert not agent("45 of it").interrupts and not agent("And the light").interrupts
    asked = agent("45 more")
    assert answered(agent, asked, approved=True).stop_reason == "end_turn"
    assert agent.state.get() == {"repaid A-4721": 90.0, "repaid A-4698": 19.9}


# Operations


@pytest.fixture
def box(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path / "box")


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A file beside the folder; it is there after each test."""
    file = tmp_path / "secret.txt"
    file.write_text("mine")
    os.utime(file, (0, 0))
    yield file
    assert file.read_text() == "mine"


def names_in(box: Sandbox) -> set[str]:
    return {one["name"] for one in box.list_files()["files"]}


def why_kept(box: Sandbox, name: str) -> str:
    given = box.delete_files([name])
    assert given["deleted"] == []
    return str(given["kept"][0]["why"])


OLD_ONES = {name for name, days in operations.SAMPLES.items() if days >= operations.OLD}


def test_operations_lists_and_deletes_a_batch_with_one_question(box: Sandbox) -> None:
    agent = operations.operator(box)
    assert "I look after" in str(agent("Good morning"))
    assert "logs/web-1.log: 93 days old" in str(agent("What is in the folder?"))
    paused = agent("Please clean up")
    (question,) = paused.interrupts
    assert (question.queue, set(question.metadata["arguments"]["names"])) == ("operations", OLD_ONES)
    assert names_in(box) == set(operations.SAMPLES)
    assert "Deleted:" in str(answered(agent, paused, approved=True))
    assert names_in(box) == set(operations.SAMPLES) - OLD_ONES
    assert "None of these is older" in str(agent("Delete what is old"))
    assert "These are back" in str(agent("samples, please")) and names_in(box) == set(operations.SAMPLES)


def test_the_folder_is_this_user_s_own_in_the_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "gettempdir", lambda: str(tmp_path))
    made = Sandbox()
    assert names_in(made) == set(operations.SAMPLES) and made.folder.parent == tmp_path
    assert made.folder.stat().st_mode & 0o777 == 0o700


def test_operations_keeps_all_when_rejected_and_deletes_what_the_reviewer_left(box: Sandbox) -> None:
    agent = operations.operator(box)
    assert "Not today" in str(answered(agent, agent("Delete the old logs"), approved=False, reason="Not today"))
    assert names_in(box) == set(operations.SAMPLES)
    fewer = {"approved": True, "arguments": {"names": ["logs/web-2.log"]}}
    assert "web-2.log" in str(answered(agent, agent("Delete the old logs"), **fewer))
    assert names_in(box) == set(operations.SAMPLES) - {"logs/web-2.log"}


def test_operations_asks_no_more_about_a_kind_of_files_that_is_trusted(box: Sandbox) -> None:
    agent = operations.operator(box)
    logs = {"scope": "thread", "arguments": {"names": {"like": "logs/*"}}}
    answered(agent, agent("Delete logs/web-1.log"), approved=True, trust=logs)
    assert "web-2.log" in str(agent("Delete the old logs")) and not names_in(box) & {"logs/web-1.log", "logs/web-2.log"}
    assert agent("Delete everything that is old").stop_reason == "interrupt"


def test_operations_understands_yes_no_and_names_of_its_own_folder_only(box: Sandbox) -> None:
    agent = operations.operator(box)
    assert "Shall I delete them?" in str(agent("Show me the logs"))
    (question,) = agent("Yes").interrupts
    assert question.metadata["arguments"]["names"] == ["logs/web-1.log", "logs/web-2.log"]
    fresh = operations.operator(box)
    assert "leave everything" in str(fresh("Don't delete anything"))
    assert "nothing named /etc/passwd" in str(fresh("delete /etc/passwd"))
    assert "keep them" in str(fresh("Delete notes.txt."))


@pytest.mark.parametrize(
    "name", ["../secret.txt", "logs/../../secret.txt", "/etc/hostname", "", ".", "..", "a//b", "a\0b", "./notes.txt"]
)
def test_no_name_leads_out_of_the_folder(box: Sandbox, outside: Path, name: str) -> None:
    assert why_kept(box, name) == "is no name of a file in this folder"


def test_no_link_leads_out_of_the_folder(box: Sandbox, outside: Path) -> None:
    box.list_files()
    (box.folder / "link.txt").symlink_to(outside)
    (box.folder / "up").symlink_to(outside.parent)
    assert not names_in(box) & {"link.txt", "up/secret.txt"}
    assert why_kept(box, "link.txt") == "is no plain file"
    assert why_kept(box, "up/secret.txt") == "does not lie in a plain folder"


def test_only_plain_old_files_are_deleted(box: Sandbox) -> None:
    box.list_files()
    os.mkfifo(box.folder / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(box.folder / "s"))
    assert {why_kept(box, name) for name in ("pipe", "s", "logs")} == {"is no plain file"}
    assert why_kept(box, "notes.txt") == "is younger than 30 days" and why_kept(box, "gone.txt") == "is not there"
    assert why_kept(box, "x" * 300).startswith("cannot be deleted")


def test_a_folder_of_somebody_else_or_a_link_to_one_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(PermissionError, match="open to others"):
        Sandbox(shared).list_files()
    shared.chmod(0o700)
    (tmp_path / "link").symlink_to(shared)
    with pytest.raises(OSError, match="link"):
        Sandbox(tmp_path / "link").list_files()


def test_a_folder_swapped_for_a_link_meanwhile_deletes_nothing_behind_it(
    box: Sandbox, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.list_files()
    victim = outside.parent / "victim"
    victim.mkdir()
    (victim / "web-1.log").write_text("mine")
    os.utime(victim / "web-1.log", (0, 0))
    checked = os.stat

    def swap(name: Any, **options: Any) -> os.stat_result:
        found = checked(name, **options)
        if name == "web-1.log":
            (box.folder / "logs").rename(box.folder / "moved")
            (box.folder / "logs").symlink_to(victim)
        return found

    monkeypatch.setattr(os, "stat", swap)
    assert box.delete_files(["logs/web-1.log"])["deleted"] == ["logs/web-1.log"]
    assert (victim / "web-1.log").exists() and not (box.folder / "moved" / "web-1.log").exists()


def test_a_reply_that_deletes_by_several_calls_is_told_to_use_one(box: Sandbox) -> None:
    calls = [ToolCall("delete_files", {"names": [name]}) for name in ("logs/web-1.log", "logs/web-2.log")]
    agent = operations.operator(box)
    agent.model = ScriptedModel([calls, "Sorry."])
    assert agent("clean up").stop_reason == "end_turn"
    assert "Name all files in one call" in json.dumps(agent.messages)
    assert names_in(box) == set(operations.SAMPLES)


# Research


def test_research_writes_and_publishes_what_the_editor_agrees_to() -> None:
    team = research.desk()
    assert "What shall the text be about" in str(team("Hello"))
    assert "no notes" in str(team("Write about volcanoes, please"))
    paused = team("Please write about bees")
    (question,) = paused.interrupts
    assert (question.node_id, question.queue, question.name) == ("writer", "editors", "publish")
    done = answered(team, paused, approved=True)
    assert done.status is Status.COMPLETED and "published at /what-to-know-about-bees" in str(done)
    assert done.execution_order == ("researcher", "writer")


def test_research_revises_a_rejected_draft_and_publishes_an_edited_one() -> None:
    team = research.desk()
    again = answered(team, team("Something about the tides"), approved=False, reason="Mention the sea")
    (question,) = again.interrupts
    assert "Mention the sea" in question.metadata["arguments"]["text"]
    edited = {"title": "The sea", "text": "It rises and falls."}
    assert "“The sea” is published at /the-sea, 4 words" in str(answered(team, again, approved=True, arguments=edited))
    (question,) = team("Make it shorter").interrupts
    assert question.metadata["arguments"]["text"].count("\n\n") == 1


def test_research_gives_a_text_up_that_the_editor_never_agrees_to() -> None:
    team = research.desk()
    result = team("bread")
    for count in range(research.DRAFTS):
        assert result.status is Status.INTERRUPTED, count
        result = answered(team, result, approved=False, reason=f"No {count}")
    assert result.status is Status.COMPLETED and "not published. No 2" in str(result)


# All of them


AGENTS = {"support": support.root_agent, "operations": operations.root_agent, "research": research.root_agent}
WORDS = [" ", "?", "42", "x" * 5000, "A-4721A-4721", "ünïcödé 🐝 \u202e", "{}", "yes", "no", "thanks!", "/", "*"]


@pytest.mark.parametrize("name", AGENTS)
def test_it_is_registered_with_words_for_people(name: str) -> None:
    graph = compiled(AGENTS[name])
    assert graph.id == name and graph.title != name and graph.description.endswith(".") and graph.queue
    assert graph.input_schema["title"] == "Message"


@pytest.mark.parametrize("said", WORDS)
def test_whatever_is_said_gets_an_answer_or_a_question(box: Sandbox, said: str) -> None:
    for made in (fresh(support.root_agent), operations.operator(box), research.desk()):
        first = made(said)
        later = made("And now?") if not first.interrupts else first
        assert later.interrupts or str(later)


def test_the_configured_model_speaks_for_them_where_there_is_one(box: Sandbox) -> None:
    asked: list[str] = []

    def factory(name: str) -> ScriptedModel:
        asked.append(name)
        return ScriptedModel(["I am another model."])

    agents = [fresh(support.root_agent), operations.operator(box), research.desk()]
    try:
        use_models(factory)
        assert [str(one("A-4721")) for one in agents] == ["I am another model."] * 3
    finally:
        use_models("")
    assert set(asked) == {""} and "Floor lamp" in str(fresh(support.root_agent)("A-4721"))
