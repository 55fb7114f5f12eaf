"""The names that each seed document uses for what is built so far, importable from `graphs` without Django."""

from __future__ import annotations

import subprocess
import sys

import pytest

import graphs

SEED_000 = """Graph Runner GraphRunner GraphResume GraphState GraphRunStatus GraphRunResult GraphRunResultStreaming
ExecutableInput NodeRetryPolicy Interrupt InterruptException NestedAgentInterrupt request_human_input GRAPH_END
NODE_INTERRUPT InMemoryCheckpointer SQLiteCheckpointer"""
SEED_001 = """interrupt pending_interrupt GraphInterrupt InMemoryCheckpointer Message ToolNode tool ResponseGranularity
StreamEvent"""
SEED_002 = """RequestInput Event Context Workflow FunctionNode App ResumabilityConfig START types LlmAgent
LongRunningFunctionTool"""
SEED_003 = """HookProvider HookRegistry BeforeNodeCallEvent AfterNodeCallEvent BeforeToolCallEvent BeforeToolsEvent
AfterToolCallEvent AfterToolsEvent BeforeModelCallEvent AfterModelCallEvent BeforeInvocationEvent AfterInvocationEvent
MessageAddedEvent tool ToolContext Agent AgentResult AgentInput FileSessionManager Swarm GraphBuilder Status"""
OURS = """ask once aonce Decision Outcome Budgets Channel CompiledGraph ScriptedModel ModelReply ToolCall Tool
GRAPH_START SUPERSTEP_START NODE_START NODE_STREAM NODE_END NODE_ERROR SUPERSTEP_END TOOL_START TOOL_END AgentState
RunEvent InMemorySessionService StreamChunk DEFAULT_ROUTE AnswersUnread use_models configured_or fork afork AgentFailed
TooManyTurns TooManyTokens SessionManager MultiAgentResult NodeResult Model ModelError MCPServer Elicitation ToolFailed
ToolServerUnavailable"""
FOR_AUTHORS = """lint pauses Finding Pause rehearse arehearse Rehearsal mermaid assert_no_pause_swallowed"""
ERRORS = """SaysoError DefinitionError SchemaError PayloadError InputMismatch AnswerInvalid AnswerMismatch
AlreadyAnswered AmbiguousQuestion QuestionChanged QuestionExpired PauseSwallowed NestedPause ChildFailed DeadEnd
OutputBesideQuestion BudgetExceeded NodeTimeout ThreadBusy ThreadEnded ThreadExists ThreadSuspended UnknownThread
DefinitionChanged CannotFork LeaseLost"""


@pytest.mark.parametrize("names", [SEED_000, SEED_001, SEED_002, SEED_003, OURS, FOR_AUTHORS, ERRORS])
def test_the_names_are_there(names: str) -> None:
    for name in names.split():
        assert getattr(graphs, name) is not None
        assert name in graphs.__all__ and name in dir(graphs)


def test_every_promised_name_loads() -> None:
    for name in graphs.__all__:
        assert getattr(graphs, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Workflows'"):
        graphs.Workflows  # noqa: B018


def test_the_engine_loads_neither_django_nor_pydantic_nor_a_network() -> None:
    program = (
        "import sys, graphs\n"
        "[getattr(graphs, name) for name in graphs.__all__]\n"
        "heavy = {'django', 'rq', 'redis', 'pydantic', 'jsonschema', 'requests', 'httpx'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
