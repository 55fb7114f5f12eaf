"""The store of the Django tables, with what the tests read of the other two."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connection

from graphs.actions.supersteps import DjangoCheckpointer
from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import ThreadRef
from graphs.models import ThreadEvent
from graphs.store import loading

T = TypeVar("T")


class ReadableCheckpointer(DjangoCheckpointer):
    """Reads at any moment, from inside a running node too: in a thread and on a connection of its own."""

    def questions(self, ref: ThreadRef) -> list[Interrupt]:
        """All questions that were ever opened, oldest first."""
        return read(lambda: _questions(ref))

    def events(self, ref: ThreadRef) -> list[dict[str, Any]]:
        """The stored timeline, oldest first."""
        return read(lambda: _events(ref))


def read(function: Callable[[], T]) -> T:
    def work() -> T:
        try:
            return function()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def _questions(ref: ThreadRef) -> list[Interrupt]:
    where = "k.thread_id = (SELECT id FROM graphs_thread WHERE graph_id = %s AND thread_id = %s)"
    return loading.questions(where, [ref.graph_id, ref.thread_id])


def _events(ref: ThreadRef) -> list[dict[str, Any]]:
    rows = ThreadEvent.objects.filter(thread__graph_id=ref.graph_id, thread__thread_id=ref.thread_id)
    return list(rows.order_by("seq").values("type", "path", "visit", "seq", "at", "data"))
