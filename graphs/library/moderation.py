"""Moderation: three checks of one post side by side, two of which ask a person, and one verdict that joins them."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, Field

from graphs.engine.asking import interrupt, request_human_input
from graphs.engine.context import ExecutableInput
from graphs.engine.graph import Graph

#: What the automatic check looks for; two links or more read as advertising.
LINK = re.compile(r"https?://\S+", re.IGNORECASE)
SHOUTED = re.compile(r"\b[A-Z]{4,}\b")


class Post(BaseModel):
    """What was posted, and by whom."""

    author: str = Field(title="Author", min_length=1, max_length=100)
    text: str = Field(title="Text", min_length=1, max_length=5000, json_schema_extra={"format": "textarea"})


def receive(post: Post) -> dict[str, Any]:
    """Hand the same post to every check."""
    return post.model_dump()


def check_spam(post: dict[str, Any]) -> dict[str, Any]:
    """The check that needs nobody: it finishes while the others wait."""
    links, shouted = len(LINK.findall(post["text"])), len(SHOUTED.findall(post["text"]))
    return {"spam": links > 1 or shouted > 3, "links": links, "shouted_words": shouted}


def check_tone(inp: ExecutableInput) -> dict[str, Any]:
    """Ask for a word about the tone; a rejection arrives as its text, which is no option and so means: too harsh."""
    tones = ["friendly", "neutral", "harsh"]
    reply = request_human_input(
        inp, f"How does {inp.input['author']} sound?", kind="choice", options=tones, text=inp.input["text"]
    )
    return {"tone": reply if reply in tones else "harsh", "remark": "" if reply in tones else str(reply)}


def check_facts(post: dict[str, Any]) -> dict[str, Any]:
    """Ask whether the post states something untrue; no answer means that nobody could tell."""
    answer = interrupt(
        {"author": post["author"], "text": post["text"]},
        message=f"Check what {post['author']} claims",
        reason="fact_check",
        response_schema={
            "type": "object",
            "properties": {
                "approved": {"type": "boolean", "title": "Nothing untrue"},
                "finding": {"type": "string", "title": "What is wrong", "maxLength": 500},
            },
            "required": ["approved"],
        },
    )
    if answer is None:
        return {"true": None, "finding": "not checked"}
    return {"true": answer["approved"], "finding": answer.get("finding", "")}


def conclude(checks: dict[str, Any]) -> dict[str, Any]:
    """Fires once, after the last check, with every result under its check's name."""
    spam, tone, facts = checks["spam"], checks["tone"], checks["facts"]
    publish = not spam["spam"] and tone["tone"] != "harsh" and facts["true"] is not False
    return {"publish": publish, "spam": spam["spam"], "tone": tone["tone"], "finding": facts["finding"]}


app = (
    Graph.new(
        "moderation",
        title="Moderate a post",
        description="Three checks side by side: one decides alone, two ask a moderator, and the verdict waits for all.",
        input_schema=Post,
        queue="moderation",
    )
    .node("receive", receive, label="Receive the post")
    .node("spam", check_spam, label="Look for spam")
    .node("tone", check_tone, label="Ask about the tone")
    .node("facts", check_facts, label="Ask about the facts")
    .node("conclude", conclude, label="Conclude")
    .edge("receive", "spam")
    .edge("receive", "tone")
    .edge("receive", "facts")
    .edge("spam", "conclude")
    .edge("tone", "conclude")
    .edge("facts", "conclude")
    .entry("receive")
    .terminal("conclude")
    .compile()
)
