"""The same workloads on LangGraph with its own checkpointers, where the extra `[bench]` is installed; else nothing."""

from __future__ import annotations

import operator
import sqlite3
import tempfile
import uuid
from pathlib import Path
from typing import Annotated, Any, TypedDict

from tests.load.measure import Body, timed


def saver() -> Any:
    """LangGraph's checkpointer on the same kind of database, as durable as ours; None without the extra."""
    from django.db import connection

    try:
        if connection.vendor == "postgresql":
            from langgraph.checkpoint.postgres import PostgresSaver
            from psycopg import Connection
            from psycopg.rows import dict_row

            found = connection.get_connection_params()
            link: Any = Connection.connect(
                host=found.get("host"), user=found["user"], dbname=found["dbname"], autocommit=True,
                prepare_threshold=0, row_factory=dict_row,
            )  # fmt: skip
            kept: Any = PostgresSaver(link)
        else:
            from langgraph.checkpoint.sqlite import SqliteSaver

            path = Path(tempfile.mkdtemp(prefix="sayso-load-")) / "peer.sqlite3"
            link = sqlite3.connect(path, check_same_thread=False)
            link.execute("PRAGMA journal_mode=WAL")
            link.execute("PRAGMA synchronous=FULL")
            kept = SqliteSaver(link)
    except ImportError:
        print("LangGraph is not installed (extra [bench]); only the floor is printed.")
        return None
    kept.setup()
    return kept


def chain(length: int) -> Body | None:
    """A chain of that many nodes, each step stored before the next."""
    kept = saver()
    if kept is None:
        return None
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        text: str

    graph = StateGraph(State)
    names = [f"n{number}" for number in range(length)]
    for name in names:
        graph.add_node(name, lambda state: {"text": state["text"]})
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    app = graph.compile(checkpointer=kept)

    def body() -> float:
        config = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": length + 10}
        return timed(lambda: app.invoke({"text": "x" * 1000}, config, durability="sync"))

    return body


def pause() -> Body | None:
    """One node that asks: start until it pauses, then resume."""
    kept = saver()
    if kept is None:
        return None
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt

    class State(TypedDict):
        text: str

    graph = StateGraph(State)
    graph.add_node("question", lambda state: {"text": str(interrupt({"note": "measured"}))})
    graph.add_edge(START, "question")
    graph.add_edge("question", END)

    def body() -> float:
        config = {"configurable": {"thread_id": str(uuid.uuid4())}}

        def cycle() -> None:
            graph.compile(checkpointer=kept).invoke({"text": "x" * 1000}, config, durability="sync")
            graph.compile(checkpointer=kept).invoke(Command(resume=True), config, durability="sync")

        return timed(cycle)

    return body


def fan(width: int, *, at_once: bool) -> Body | None:
    """So many nodes that ask side by side, answered one by one or all at once; the start is not measured."""
    kept = saver()
    if kept is None:
        return None
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt

    class State(TypedDict):
        text: Annotated[list[str], operator.add]

    graph = StateGraph(State)
    graph.add_node("join", lambda state: {"text": ["joined"]})
    names = [f"q{number}" for number in range(width)]
    for name in names:
        graph.add_node(name, lambda state: {"text": [str(interrupt({"note": "measured"}))]})
        graph.add_edge(START, name)
    graph.add_edge(names, "join")
    graph.add_edge("join", END)
    app = graph.compile(checkpointer=kept)

    def body() -> float:
        config = {"configurable": {"thread_id": str(uuid.uuid4())}}
        app.invoke({"text": ["x" * 1000]}, config, durability="sync")
        ids = [one.id for task in app.get_state(config).tasks for one in task.interrupts]
        assert len(ids) == width

        def answer() -> None:
            for some in [ids] if at_once else [[one] for one in ids]:
                app.invoke(Command(resume=dict.fromkeys(some, True)), config, durability="sync")

        return timed(answer)

    return body
