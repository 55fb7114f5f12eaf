"""Sayso's public face for graph authors. Names load on first use (PEP 562), so importing `graphs` loads no Django."""

from __future__ import annotations

import importlib
from typing import Any

_PLACES = {
    "graphs.agents.agent": "Agent LlmAgent",
    "graphs.agents.approvals": "AgentState NestedAgentInterrupt",
    "graphs.agents.hooks": (
        "AfterInvocationEvent AfterModelCallEvent AfterToolCallEvent AfterToolsEvent BeforeInvocationEvent"
        " BeforeModelCallEvent BeforeToolCallEvent BeforeToolsEvent MessageAddedEvent"
    ),
    "graphs.agents.mcp.elicitation": "Elicitation",
    "graphs.agents.mcp.errors": "ToolFailed ToolServerUnavailable",
    "graphs.agents.mcp.server": "MCPServer",
    "graphs.agents.models": "Model ModelError ModelReply ScriptedModel ToolCall",
    "graphs.agents.named": "configured_or use_models",
    "graphs.agents.outcomes": "AgentFailed",
    "graphs.agents.results": "AgentResult MultiAgentResult NodeResult Status",
    "graphs.agents.run": "TooManyTokens TooManyTurns",
    "graphs.agents.sessions": "AgentInput FileSessionManager SessionManager",
    "graphs.agents.teams.builder": "GraphBuilder",
    "graphs.agents.teams.swarm": "Swarm",
    "graphs.agents.tool_context": "ToolContext",
    "graphs.agents.tool_node": "ToolNode",
    "graphs.agents.tools": "LongRunningFunctionTool Tool tool",
    "graphs.engine.conversation.apps": "App ResumabilityConfig RunEvent",
    "graphs.engine.asking": "ask interrupt request_human_input",
    "graphs.engine.checkpointers.memory": "InMemoryCheckpointer",
    "graphs.engine.checkpointers.sqlite": "SQLiteCheckpointer",
    "graphs.engine.conversation.content": "types",
    "graphs.engine.context": "Context ExecutableInput",
    "graphs.engine.conversation.conversations": "InMemorySessionService",
    "graphs.engine.inspection.diagrams": "mermaid",
    "graphs.engine.effects": "aonce once",
    "graphs.engine.errors": (
        "AlreadyAnswered AmbiguousQuestion AnswerInvalid AnswerMismatch BudgetExceeded CannotFork ChildFailed DeadEnd"
        " DefinitionChanged DefinitionError InputMismatch LeaseLost NestedPause NodeTimeout OutputBesideQuestion"
        " PauseSwallowed PayloadError QuestionChanged QuestionExpired SaysoError SchemaError ThreadBusy ThreadEnded"
        " ThreadExists ThreadSuspended UnknownThread"
    ),
    "graphs.engine.events": (
        "GRAPH_END GRAPH_START NODE_END NODE_ERROR NODE_INTERRUPT NODE_START NODE_STREAM SUPERSTEP_END SUPERSTEP_START"
        " TOOL_END TOOL_START"
    ),
    "graphs.engine.forking": "afork fork",
    "graphs.engine.invocation.granularity": "ResponseGranularity StreamChunk StreamEvent",
    "graphs.engine.functions": "AnswersUnread FunctionNode",
    "graphs.engine.graph": "Budgets CompiledGraph Graph",
    "graphs.engine.hooks": "AfterNodeCallEvent BeforeNodeCallEvent HookProvider HookRegistry",
    "graphs.engine.interrupts": "Decision GraphInterrupt GraphResume Interrupt InterruptException",
    "graphs.engine.inspection.linting": "Finding Pause lint pauses",
    "graphs.engine.messages": "Message",
    "graphs.engine.outputs": "Event RequestInput",
    "graphs.engine.policies": "NodeRetryPolicy",
    "graphs.engine.inspection.rehearsal": "Rehearsal arehearse rehearse",
    "graphs.engine.invocation.responses": "pending_interrupt",
    "graphs.engine.results": "GraphRunResult GraphRunResultStreaming GraphRunStatus GraphState",
    "graphs.engine.runner": "GraphRunner Runner",
    "graphs.engine.state": "Channel",
    "graphs.engine.statuses": "Outcome",
    "graphs.engine.workflow": "DEFAULT_ROUTE START Workflow",
    "graphs.engine.invocation.swallowed": "assert_no_pause_swallowed",
}
_PLACE_OF = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = sorted(_PLACE_OF)


def __getattr__(name: str) -> Any:
    module = _PLACE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'graphs' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACE_OF})
