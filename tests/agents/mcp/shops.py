"""The test's server as a process, and agents that use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.mcp.server import MCPServer
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.engine.graph import CompiledGraph, Graph

SHOP = Path(__file__).with_name("shop.py")


class Shop:
    """A shop that is served over HTTP, or (`started`) as a program of each session; `ran` is what its tools noted."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def open(self) -> None:
        """Serve over HTTP, on the port of last time."""
        line = [sys.executable, str(SHOP), str(self.port)]
        env = {"SHOP_LOG": str(self.log), "PATH": ""}
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=env)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        """As `kill -9`."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None

    def flag(self, name: str) -> None:
        self.log.with_name(name).touch()

    @property
    def ran(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    def served(self, **options: Any) -> MCPServer:
        """The shop by its address."""
        return MCPServer(url=f"http://127.0.0.1:{self.port}/mcp", **{"name": "shop", "timeout": 120, **options})

    def started(self, **options: Any) -> MCPServer:
        """The shop as a program."""
        env = {"SHOP_LOG": str(self.log), **options.pop("env", {})}
        return MCPServer([sys.executable, str(SHOP)], env=env, **{"name": "shop", "timeout": 120, **options})


def buyer(server: Any, *calls: Any, **options: Any) -> Agent:
    """An agent that makes these calls, one a turn, and then says “Done.”."""
    made = [ToolCall(one) if isinstance(one, str) else one for one in calls]
    return Agent("buyer", ScriptedModel([*made, "Done."]), tools=[server], **options)


def graph_of(agent: Agent) -> CompiledGraph:
    return Graph.new("shopping").node("agent", agent).entry("agent").terminal("agent").compile()


def told(agent: Agent) -> tuple[str, Any]:
    """How the last call ended, as the model was told: status, and the text or JSON."""
    (result,) = agent.model.seen[-1][-1].tool_results  # type: ignore[union-attr]
    (block,) = result["content"]
    return result["status"], block["text"] if "text" in block else block["json"]
