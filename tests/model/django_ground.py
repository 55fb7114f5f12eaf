"""The Django tables under the model test: one process after the other, each with the lease of the one that died."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import F

from graphs.actions import threads
from graphs.actions.mainthread import drive
from graphs.actions.supersteps import DjangoCheckpointer
from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import ThreadRef
from graphs.models import Lease, Thread
from graphs.store import loading
from tests.model.grounds import Ground

T = TypeVar("T")


class DjangoGround(Ground):
    """Two holders at once are `ThreadBusy` here, and only the clock of an installation lets questions expire."""

    two_holders = False
    lets_expire = False

    def open(self) -> Any:
        return DjangoCheckpointer()

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return drive(call)

    def restart(self) -> None:
        # As the sweep finds it once the lease of the dead has run out.
        Lease.objects.filter(expires_at__isnull=False).update(expires_at=None, token=F("token") + 1)
        self.store.store = self.open()

    def cancel(self, ref: ThreadRef, step: int) -> None:
        with transaction.atomic():
            thread = threads.lock(Thread.objects.get(graph_id=ref.graph_id, thread_id=ref.thread_id))
            threads.finish_cancelled(thread)

    def questions(self, ref: ThreadRef) -> list[Interrupt]:
        where = "k.thread_id = (SELECT id FROM graphs_thread WHERE graph_id = %s AND thread_id = %s)"
        return loading.questions(where, [ref.graph_id, ref.thread_id])
