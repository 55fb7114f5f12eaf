"""What a tool of a server gives, as the result that a model and people are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphs.engine.ports import Json

if TYPE_CHECKING:
    from mcp.types import CallToolResult


def content_of(result: CallToolResult) -> Json:
    """Its structured content; its text where it holds nothing else; else its blocks, those of media by size only."""
    blocks = [_block(one) for one in result.content]
    texts = [one["text"] for one in blocks if one["type"] == "text"]
    structured = result.structured_content
    if len(texts) < len(blocks):
        # A list of blocks is said to be structured as well: the same once more, with all that the pictures hold.
        repeats = (
            isinstance(structured, Mapping) and isinstance(structured.get("result"), list) and len(structured) == 1
        )
        return {"content": blocks} if structured is None or repeats else {"structured": structured, "content": blocks}
    text = "\n".join(texts)
    # A tool that returns plain text is said to be structured by the SDKs: {"result": the text}.
    wraps_text = isinstance(structured, Mapping) and dict(structured) == {"result": text}
    return text if structured is None or wraps_text else structured


def text_of(result: CallToolResult) -> str:
    """Its words: what an error says of itself."""
    return "\n".join(one["text"] for one in map(_block, result.content) if "text" in one)


def _block(block: Any) -> dict[str, Any]:
    if block.type == "text":
        return {"type": "text", "text": block.text}
    if block.type in ("image", "audio"):
        return {"type": block.type, "mimeType": block.mime_type, "bytes": _size(block.data)}
    if block.type == "resource":
        held = block.resource
        told = {"type": "resource", "uri": str(held.uri), "mimeType": held.mime_type}
        return {**told, "text": held.text} if hasattr(held, "text") else {**told, "bytes": _size(held.blob)}
    found: dict[str, Any] = block.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


def _size(data: str) -> int:
    """How many bytes a base64 text holds; the conversation keeps none of them."""
    return len(data) * 3 // 4 - data[-2:].count("=")
