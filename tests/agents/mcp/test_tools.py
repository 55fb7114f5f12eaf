"""Tools of servers: what agents see of them, what calls give, and servers that die, hang or say nonsense."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from graphs.agents.agent import Agent
from graphs.agents.mcp import connection
from graphs.agents.mcp.errors import ToolServerUnavailable
from graphs.agents.mcp.server import MCPServer
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.outcomes import AgentFailed
from graphs.agents.tool_node import ToolNode
from graphs.agents.tools import tool
from graphs.engine.errors import DefinitionError
from graphs.engine.graph import Graph
from graphs.engine.messages import Message
from graphs.engine.runner import Runner
from tests.agents.mcp.shops import Shop, buyer, told

ODD = Path(__file__).with_name("odd.py")


def odd(manner: str, **options: Any) -> MCPServer:
    return MCPServer([sys.executable, str(ODD), manner], **{"name": "odd", "timeout": 120, **options})


class Answering(BaseHTTPRequestHandler):
    """A web server that knows nothing of tools."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(self.path.strip("/").partition("?")[0]))
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        return


@contextmanager
def answering(status: int) -> Iterator[str]:
    web = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    serving = threading.Thread(target=web.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"http://127.0.0.1:{web.server_address[1]}/{status}"
    finally:
        web.shutdown()
        web.server_close()
        serving.join()


def left(shop: Shop | None = None) -> list[psutil.Process]:
    """Servers that this process has started and left behind, but for the shop that a test serves."""
    served = None if shop is None or shop.process is None else shop.process.pid
    alive = [one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE and one.pid != served]
    return [one for one in alive if any("mcp" in word for word in one.cmdline())]


async def test_an_agent_calls_a_tool_of_a_server(server: Callable[..., MCPServer]) -> None:
    agent = buyer(server(), ToolCall("greet", {"name": "Bo"}))
    assert agent.tools == {}, "nothing is asked before it runs"
    assert str(await agent.invoke_async("go")) == "Done." and told(agent) == ("success", "Hello, Bo.")
    spec = next(one for one in agent.specs if one["name"] == "stock")
    assert spec["description"] == "How many there are."
    assert spec["inputSchema"]["properties"]["at_least"]["default"] == 0 and spec["inputSchema"]["required"] == ["item"]


def test_an_agent_is_called_from_several_event_loops(shop: Shop) -> None:
    shop.open()
    replies = [ToolCall("greet", {"name": "Bo"}), "Once.", ToolCall("greet", {"name": "Ida"}), "Twice."]
    agent = Agent("host", ScriptedModel(replies), tools=[shop.served()])
    assert (str(agent("go")), str(agent("go on"))) == ("Once.", "Twice.")
    assert shop.ran == ["greet", "greet"]


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (ToolCall("stock", {"item": "hat"}), ("success", {"item": "hat", "left": 7, "enough": True})),
        (ToolCall("fail"), ("error", "ToolFailed: Error executing tool fail: out of paper")),
        (ToolCall("greet", {"nam": "Bo"}), ("error", "ValueError: the arguments: 'name' is a required property")),
        (ToolCall("stock", {"item": 3}), ("error", "ValueError: /item: 3 is not of type 'string'")),
    ],
)
async def test_what_a_call_gives(shop: Shop, call: ToolCall, result: Any) -> None:
    shop.open()
    agent = buyer(shop.served(), call)
    await agent.invoke_async("go")
    assert told(agent) == result


async def test_pictures_are_told_by_their_size_and_files_by_their_text(shop: Shop) -> None:
    shop.open()
    agent = buyer(shop.served(), "show")
    await agent.invoke_async("go")
    assert told(agent) == (
        "success",
        {
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image", "mimeType": "image/png", "bytes": 100},
                {"type": "resource", "uri": "shop://terms", "mimeType": "text/plain", "text": "No returns."},
            ]
        },
    )


async def test_a_server_is_told_its_variables_its_headers_and_the_key_of_the_call(shop: Shop) -> None:
    shop.open()
    for made, found in (
        (shop.served(headers={"X-Shop": "secret-1"}), {"variable": None, "header": "secret-1"}),
        (shop.started(env={"SHOP_KEY": "secret-2"}), {"variable": "secret-2", "header": None}),
    ):
        agent = buyer(made, "told")
        result = await agent.invoke_async("go")
        key = f"buyer/{result.thread_id}/buyer/1/tool:0.0/call/0"
        assert told(agent) == ("success", {**found, "key": key})
        assert "secret" not in repr(made) + repr(made.connection)


async def test_a_server_that_dies_in_a_call_is_an_error_result(server: Callable[..., MCPServer], shop: Shop) -> None:
    agent = buyer(server(), "die")
    assert str(await agent.invoke_async("go")) == "Done."
    status, text = told(agent)
    assert status == "error" and text.startswith("ToolServerUnavailable: the MCP server shop ended while it ran die")
    assert shop.ran == ["die"] and left(shop) == []


async def test_a_server_that_does_not_answer_is_given_up(server: Callable[..., MCPServer], shop: Shop) -> None:
    slow = server()
    await slow.list_tools()
    slow.timeout = 2
    agent = buyer(slow, ToolCall("sleep", {"seconds": 3600}))
    assert str(await agent.invoke_async("go")) == "Done."
    text = "ToolServerUnavailable: the MCP server shop did not answer within 2 s while it ran sleep"
    assert told(agent) == ("error", text) and left(shop) == []


async def test_the_agents_own_timeout_ends_the_session_too(shop: Shop) -> None:
    agent = buyer(shop.started(), ToolCall("sleep", {"seconds": 3600}), tool_timeout=2)
    assert str(await agent.invoke_async("go")) == "Done."
    assert told(agent) == ("error", "TimeoutError: sleep took longer than 2 s and was given up") and left() == []


async def test_a_server_that_is_down_fails_the_agent_clearly_and_can_be_tried_again(shop: Shop) -> None:
    shop.open()
    shop.kill()
    agent = buyer(shop.served(), ToolCall("greet", {"name": "Bo"}))
    with pytest.raises(AgentFailed, match="the MCP server shop cannot be reached at http://"):
        await agent.invoke_async("go")
    shop.open()
    assert str(await agent.retry_async()) == "Done." and told(agent) == ("success", "Hello, Bo.")
    shop.kill()
    agent.model.replies += [ToolCall("greet", {"name": "Ida"}), "Still here."]  # type: ignore[union-attr]
    assert str(await agent.invoke_async("once more")) == "Still here."
    assert told(agent)[0] == "error" and len(agent.session.graph.nodes) == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (200, "refused while it listed its tools: Unexpected content type: text/html"),
        (401, "answered 401 Unauthorized while it listed its tools"),
        (404, "refused while it listed its tools: Not Found"),
        (503, "answered 503 Service Unavailable while it listed its tools"),
    ],
)
async def test_an_address_where_no_server_of_tools_answers_is_told_apart(status: int, words: str) -> None:
    with answering(status) as url:
        server = MCPServer(
            url=f"{url}?key=secret", headers={"Authorization": "Bearer secret"}, name="shop", timeout=120
        )
        with pytest.raises(ToolServerUnavailable) as caught:
            await server.list_tools()
    assert words in str(caught.value) and "secret" not in str(caught.value)


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    agent = buyer(MCPServer(str(tmp_path / "nowhere"), args=["--key", "secret"]), "greet")
    with pytest.raises(AgentFailed, match="the MCP server nowhere cannot be reached at the program") as caught:
        await agent.invoke_async("go")
    assert "secret" not in str(caught.value)


async def test_a_server_that_hangs_is_left() -> None:
    agent = buyer(odd("deaf", timeout=2), "good")
    with pytest.raises(AgentFailed, match="odd did not answer within 2 s while it listed its tools"):
        await agent.invoke_async("go")
    assert left() == []


async def test_a_server_that_lists_without_end_is_left_after_some_pages() -> None:
    agent = buyer(odd("endless"), "good")
    assert str(await agent.invoke_async("go")) == "Done." and told(agent)[1] == "There is no tool named 'good'."


async def test_what_is_no_usable_tool_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tools = await odd("garbage").list_tools()
    assert [one.name for one in tools] == ["good", "tree", "last_one"]
    assert len(tools[0].description) == 4_000
    warned = [record.getMessage() for record in caplog.records if "is left out" in record.getMessage()]
    assert (
        len(warned) == 10
        and any("'two words'" in one for one in warned)
        and any("another one" in one for one in warned)
    )


async def test_a_schema_that_refers_into_itself_can_stand_in_the_question_before_a_call() -> None:
    call = ToolCall("tree", {"top": {"n": 1}})
    agent = buyer(odd("plain"), call, ToolCall("tree", {"top": {}}), approve=["tree"])
    paused = await agent.invoke_async("go")
    paused = await agent.invoke_async(_agreed(paused))
    assert told(agent) == ("success", '[{"top": {"n": 1}}, null, null]')
    assert str(await agent.invoke_async(_agreed(paused))) == "Done."
    assert told(agent) == ("error", "ValueError: /top: 'n' is a required property")


@pytest.mark.parametrize(
    ("manner", "words"), [("shouts", "broke the protocol while it ran good"), ("refuses", "refused while it ran good")]
)
async def test_what_a_server_should_not_say_is_an_error_result(manner: str, words: str) -> None:
    agent = buyer(odd(manner), "good")
    assert str(await agent.invoke_async("go")) == "Done."
    status, text = told(agent)
    assert status == "error" and words in text and len(text) < 2_500


async def test_a_server_of_the_later_protocol_asks_by_giving_the_call_back() -> None:
    agent = buyer(odd("later"), ToolCall("good", {"n": 5}))
    (asked,) = (await agent.invoke_async("go")).interrupts
    assert (asked.message, asked.kind) == ("How many?", "elicitation")
    await agent.invoke_async([{"interruptResponse": {"interruptId": asked.id, "response": {"n": 2}}}])
    answered = '{"q": {"action": "accept", "content": {"n": 2}}}'
    assert told(agent) == ("success", f'[{{"n": 5}}, {answered}, "s-1"]')


async def test_approve_names_tools_of_servers_with_their_prefix(shop: Shop) -> None:
    shop.open()
    server = shop.served(prefix="shop_")
    agent = buyer(server, ToolCall("shop_greet", {"name": "Bo"}), approve=["shop_gr*"])
    paused = await agent.invoke_async("go")
    assert paused.interrupts[0].value == {"tool": "shop_greet", "arguments": {"name": "Bo"}} and shop.ran == []
    await agent.invoke_async(_agreed(paused, arguments={"name": "Ida"}))
    assert told(agent) == ("success", "Hello, Ida.")


@pytest.mark.parametrize("pattern", ["last.*", "odd_last_one"])
async def test_approve_knows_a_tool_by_its_servers_name_too(pattern: str) -> None:
    agent = buyer(odd("plain", prefix="odd_"), "odd_last_one", approve=[pattern])
    paused = await agent.invoke_async("go")
    assert paused.interrupts[0].message == "buyer wants to call odd_last_one"
    await agent.invoke_async(_agreed(paused))
    assert told(agent) == ("success", "[{}, null, null]")


async def test_a_tool_that_its_server_calls_destructive_asks_unless_that_is_switched_off(shop: Shop) -> None:
    shop.open()
    agent = buyer(shop.served(), "wipe")
    paused = await agent.invoke_async("go")
    assert paused.interrupts[0].message == "buyer wants to call wipe" and shop.ran == []
    await agent.invoke_async(_agreed(paused))
    assert told(agent) == ("success", "wiped")
    assert str(await buyer(shop.served(confirm_destructive=False), "wipe").invoke_async("go")) == "Done."
    assert (await buyer(shop.served(confirm_destructive=False), "wipe", approve=["wipe"]).invoke_async("go")).interrupts


async def test_a_name_that_is_taken_names_the_way_out(shop: Shop) -> None:
    shop.open()

    @tool
    def greet(name: str) -> str:
        """Greet."""
        return name

    agent = Agent("host", ScriptedModel([ToolCall("b_greet", {"name": "Bo"}), "Done."]), tools=[greet, shop.served()])
    for attempt in (lambda: agent.invoke_async("go"), agent.retry_async):
        with pytest.raises(AgentFailed, match=r"two tools named 'greet'.*MCPServer\('shop'\).*prefix"):
            await attempt()
    both = [shop.served(prefix="a_"), shop.served(prefix="b_"), greet]
    agent = Agent("host", ScriptedModel([ToolCall("b_greet", {"name": "Bo"}), "Done."]), tools=both)
    assert str(await agent.invoke_async("go")) == "Done." and told(agent) == ("success", "Hello, Bo.")


async def test_a_tool_node_and_a_graph_take_servers_that_do_not_run_yet(shop: Shop) -> None:
    shop.open()
    shop.kill()
    graph = Graph.new("g", state={"messages": "messages"}).node("tools", ToolNode([shop.served()])).entry("tools")
    compiled = graph.terminal("tools").compile()
    shop.open()
    call = Message.tool_call_message({"name": "greet", "input": {"name": "Bo"}})
    result = await Runner.arun_graph(compiled, call)
    assert Message(result.output).text() == "Hello, Bo."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "a command, which is started, or a url"),
        ({"command": "a", "url": "http://a"}, "one of the two"),
        ({"url": "ftp://a"}, "http://"),
        ({"url": "http://a", "env": {"A": "1"}}, "env and cwd are for a command"),
        ({"command": "a", "headers": {"A": "1"}}, "headers are for a url"),
        ({"command": "a", "timeout": 0}, "above 0"),
        ({"command": "a", "crash": "never"}, "crash is one of"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        MCPServer(**options)


def test_without_the_extra_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda name: None)
    with pytest.raises(DefinitionError, match=r"pip install 'sayso\[mcp\]'"):
        MCPServer("a")


def test_a_server_is_named_by_its_program_or_host() -> None:
    assert MCPServer("/usr/bin/notes").name == "notes"
    server = MCPServer(url="https://key@tools.example:8000/u/secret/mcp?token=1")
    assert (server.name, server.connection.where) == ("tools.example", "https://tools.example:8000")
    assert "secret" not in repr(server.connection)
    assert "secret" not in server.connection.hidden(f"404 for {server.connection.url!r}")  # type: ignore[attr-defined]


def _agreed(paused: Any, **more: Any) -> list[dict[str, Any]]:
    return [
        {"interruptResponse": {"interruptId": one.id, "response": {"approved": True, **more}}}
        for one in paused.interrupts
    ]
