"""Research and write: one agent collects facts, another writes them up, and an editor agrees before it is published."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.named import configured_or
from graphs.agents.teams.swarm import HAND_OVER, Swarm
from graphs.agents.tools import tool
from graphs.engine.messages import Message, since_prompt
from graphs.engine.statuses import Outcome

#: Stands for an archive that the researcher can search.
NOTES: Mapping[str, Sequence[str]] = {
    "bees": (
        "A honeybee that has found flowers dances on the comb to tell the others where they are.",
        "A worker lives for about six weeks in summer, and for several months through the winter.",
        "In winter a colony keeps itself warm by shivering its flight muscles.",
    ),
    "bread": (
        "Yeast turns sugar into carbon dioxide, and its bubbles make the dough rise.",
        "A sourdough lives from wild yeast and lactic acid bacteria, which also give it its taste.",
        "Steam in the oven keeps the crust soft at first, so that the loaf can still grow.",
    ),
    "tides": (
        "The moon's pull raises two bulges of water, one on its side of the Earth and one on the far side.",
        "Most coasts see two high tides a day, about twelve hours and twenty-five minutes apart.",
        "The tides are highest at new and at full moon, when sun and moon pull along one line.",
    ),
}
#: The scripted writer's drafts of one text; a real one stops when its calls repeat (`max_rejections`).
DRAFTS = 3

Title = Annotated[str, Field(title="Title", min_length=1, max_length=120)]
Text = Annotated[str, Field(title="Text", min_length=1, max_length=20_000, json_schema_extra={"format": "textarea"})]


@tool
def search_notes(topic: str) -> dict[str, Any]:
    """Search the archive for facts about a topic, given in one or two words."""
    found = _topic(topic)
    return {"topic": found, "facts": list(NOTES[found])} if found else {"unknown": topic, "known": list(NOTES)}


@tool
def publish(title: Title, text: Text) -> dict[str, Any]:
    """Publish a text; the same title again replaces it. An editor reads it first, and may change or refuse it."""
    address = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return {"address": f"/{address or 'text'}", "title": title, "words": len(text.split())}


def _topic(text: str) -> str:
    return next((topic for topic in NOTES if re.search(rf"\b{topic.removesuffix('s')}", text, re.IGNORECASE)), "")


# What the two say without a model


def research(said: Sequence[Message]) -> str | ToolCall:
    """The researcher's reply, which follows from the messages alone."""
    turn = since_prompt(said)
    if len(turn) == 1:
        return _look(turn[0].text(), said)
    if turn[-2].tool_calls[-1]["name"] == HAND_OVER:
        return "The writer goes on."
    found = turn[-1].tool_results[-1]["content"][0].get("json") or {}
    if "facts" not in found:
        return f"I have no notes on that. Ask me about {_list(NOTES)}."
    return _hand_over(f"Write a short text about {found['topic']}.", found)


def _look(wish: str, said: Sequence[Message]) -> str | ToolCall:
    asked = re.search(r"\b(?:about|on|of)\s+(?:the\s+)?([\w-]+)", wish)
    if topic := _topic(wish) or (asked[1] if asked else ""):
        return ToolCall("search_notes", {"topic": topic})
    earlier = [part.get("json") for one in said for each in one.tool_results for part in each["content"]]
    known = [one for one in earlier if isinstance(one, dict) and "facts" in one]
    if known and len(wish.split()) > 1:
        return _hand_over(wish, known[-1])
    return f"What shall the text be about? I have notes on {_list(NOTES)}."


def _hand_over(message: str, found: Mapping[str, Any]) -> ToolCall:
    return ToolCall(HAND_OVER, {"agent_name": "writer", "message": message, "context": dict(found)})


def write(said: Sequence[Message]) -> str | ToolCall:
    """The writer's reply, which follows from the messages alone."""
    turn = since_prompt(said)
    prompt = turn[0].text()
    if len(turn) == 1:
        return _draft(prompt, [prompt] if "Write a short text" not in prompt.partition("\n")[0] else [])
    results = [result for one in turn for result in one.tool_results]
    last, text = results[-1], turn[-1].text()
    if last["status"] == "success":
        done = last["content"][0].get("json") or {}
        return f"“{done.get('title')}” is published at {done.get('address')}, {done.get('words')} words."
    if last.get("outcome") != Outcome.REJECTED or len(results) >= DRAFTS:
        return f"It is not published. {text}"
    return _draft(prompt, [_words(result) for result in results])


def _words(result: Mapping[str, Any]) -> str:
    return " ".join(str(part.get("text", "")) for part in result["content"])


def _draft(prompt: str, wishes: Sequence[str]) -> ToolCall:
    """A draft from what was handed over, with what is wished of it."""
    known = _known(prompt)
    topic, facts = str(known.get("topic", "this")), [str(one) for one in known.get("facts", ())]
    if any(re.search(r"\bshort|\bbrief|too long", one.partition("\n")[0], re.IGNORECASE) for one in wishes):
        facts = facts[:2]
    notes = [f"Revised, draft {at + 2}: {one}" for at, one in enumerate(wishes) if "\n" not in one]
    return ToolCall("publish", {"title": f"What to know about {topic}", "text": "\n\n".join([*facts, *notes])})


def _known(prompt: str) -> dict[str, Any]:
    at = prompt.rfind("knows: {")
    try:
        found = json.loads(prompt[at + len("knows: ") :]) if at >= 0 else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _list(names: Sequence[str] | Mapping[str, Any]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"


def desk() -> Swarm:
    """The two, and the editor's gate before what they publish."""
    researcher = Agent(
        "researcher",
        configured_or(ScriptedModel(research, pause=0.02)),
        "You collect facts with search_notes, then hand over to the writer with the topic and the facts as context. "
        "Where there are no notes, say what there are notes on. You write no texts yourself.",
        tools=[search_notes],
        description="Collects facts",
    )
    writer = Agent(
        "writer",
        configured_or(ScriptedModel(write, pause=0.02)),
        "You write short texts from the facts that you are given, and no others, and publish them. Where the editor "
        "rejects one, revise it as they say and publish it again.",
        tools=[publish],
        approve=["publish"],
        description="Writes texts and publishes them",
    )
    return Swarm(
        [researcher, writer],
        name="research",
        title="Research and write",
        description="Two agents: one collects facts, one writes them up. An editor agrees before a text is published.",
        queue="editors",
    )


root_agent = desk()
