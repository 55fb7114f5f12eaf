"""A server of tools, written with the SDK: `shop.py` speaks over standard input and output, `shop.py PORT` over HTTP,
and prints the port that it listens on. `SHOP_LOG` is a file in which each run of a tool is noted."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Any

from mcp import UrlElicitationRequiredError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    ElicitRequestURLParams,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

shop = MCPServer("shop")


class Size(BaseModel):
    size: int = Field(ge=1, le=9, description="From 1 to 9.")


class Sure(BaseModel):
    approved: bool


class Nothing(BaseModel):
    pass


def note(word: str) -> None:
    if "SHOP_LOG" in os.environ:
        with open(os.environ["SHOP_LOG"], "a") as log:
            log.write(f"{word}\n")


def signing() -> ElicitRequestURLParams:
    return ElicitRequestURLParams(message="Sign.", url="https://sign.example/c/2", elicitation_id="c-2")


def flag(name: str) -> bool:
    """Whether a test has put a file of this name beside the log."""
    return Path(os.environ["SHOP_LOG"]).with_name(name).exists()


@shop.tool()
def greet(name: str) -> str:
    """Greet somebody."""
    note("greet")
    return f"Hello, {name}."


@shop.tool()
def stock(item: str, at_least: int = 0) -> dict[str, Any]:
    """How many there are."""
    return {"item": item, "left": 7, "enough": at_least <= 7}


@shop.tool()
async def order(item: str, ctx: Context) -> str:
    """Order something: asks for its size, then whether it is really wanted."""
    note("order")
    size = await ctx.elicit(f"Which size of {item}?", Size)
    if size.action != "accept":
        return f"size: {size.action}"
    sure = await ctx.elicit(f"Order size {size.data.size}?", Sure)
    return f"size {size.data.size}, sure: {sure.action} {getattr(sure, 'data', None)}"


@shop.tool()
async def confirm(ctx: Context) -> str:
    """Asks for a plain yes, unless the shop is closed or asks no more."""
    note("confirm")
    if flag("quiet"):
        return "done without asking"
    said = await ctx.elicit("Really?" if not flag("changed") else "Really, now that it is dearer?", Nothing)
    return f"said {said.action}"


@shop.tool()
async def sign(ctx: Context) -> str:
    """Sends a person to a page."""
    said = await ctx.elicit_url("Sign the contract.", "https://sign.example/c/1", "c-1")
    return f"signing: {said.action}"


@shop.tool()
def ship() -> str:
    """Runs only once the contract is signed."""
    note("ship")
    if flag("signed"):
        return "shipped"
    raise UrlElicitationRequiredError([signing()])


@shop.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("out of paper")


@shop.tool()
def die() -> str:
    """Ends the process."""
    note("die")
    os._exit(3)


@shop.tool()
async def sleep(seconds: float) -> str:
    """Takes its time."""
    note("sleep")
    await asyncio.sleep(seconds)
    return "rested"


@shop.tool(structured_output=False)
def show() -> list[Any]:
    """A text, a picture and a file."""
    picture = Image(data=b"\x89PNG" + bytes(96), format="png").to_image_content()
    assert isinstance(picture, ImageContent)
    file = TextResourceContents(uri="shop://terms", mime_type="text/plain", text="No returns.")
    return [TextContent(type="text", text="Look:"), picture, EmbeddedResource(type="resource", resource=file)]


@shop.tool(annotations=ToolAnnotations(destructive_hint=True))
def wipe() -> str:
    """Forget all orders."""
    note("wipe")
    return "wiped"


@shop.tool()
def told(ctx: Context) -> dict[str, Any]:
    """What this server was told: a variable, a header, and the key of the call."""
    headers = ctx.headers or {}
    meta = ctx.request_context.meta or {}
    key = meta.get("sayso/idempotency-key")
    return {"variable": os.environ.get("SHOP_KEY"), "header": headers.get("x-shop"), "key": key}


def serve(port: int) -> None:
    import uvicorn

    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(shop.streamable_http_app(), log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    serve(int(sys.argv[1])) if len(sys.argv) > 1 else shop.run("stdio")
