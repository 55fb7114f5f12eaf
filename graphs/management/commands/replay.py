from __future__ import annotations

import uuid
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand, CommandError

from graphs.actions.supersteps import DjangoCheckpointer
from graphs.engine import replaying
from graphs.engine.errors import CannotReplay
from graphs.engine.ports import ThreadRef
from graphs.library import registry
from graphs.library.registry import UnknownGraph
from graphs.models import Thread


class Command(BaseCommand):
    help = (
        "Rebuilds a thread from its log with the installed definition and compares every checkpoint with the stored"
        " one. No node runs and nothing is written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("thread", nargs="?", metavar="THREAD", help="the thread's uid, or GRAPH/THREAD_ID")
        parser.add_argument("--all", action="store_true", help="every thread, oldest first")

    def handle(self, *args: Any, thread: str | None, all: bool, **options: Any) -> None:
        if (thread is None) is not all:
            raise CommandError("Name one thread, or say --all.")
        checked = agreed = bad = 0
        for one in every_thread() if thread is None else [find(thread)]:
            steps, told, problem = replay(one)
            checked, agreed, bad = checked + 1, agreed + steps, bad + problem
            if told:
                self.stdout.write(f"{one.graph_id}/{one.thread_id}: {told}")
        self.stdout.write(f"{agreed} checkpoints of {checked} threads agree with their logs.")
        if bad:
            raise CommandError(f"{bad} of {checked} threads do not.", returncode=1)


def every_thread() -> Iterable[Thread]:
    return Thread.objects.order_by("pk").only("uid", "graph_id", "thread_id", "fingerprint").iterator(200)


def find(named: str) -> Thread:
    graph_id, _, thread_id = named.rpartition("/")
    try:
        wanted = {"graph_id": graph_id, "thread_id": thread_id} if graph_id else {"uid": uuid.UUID(named)}
        return Thread.objects.get(**wanted)
    except (ValueError, Thread.DoesNotExist):
        raise CommandError(f"There is no thread {named!r}; give its uid, or GRAPH/THREAD_ID.", returncode=1) from None


def replay(thread: Thread) -> tuple[int, str, bool]:
    """How many checkpoints agree, what there is to say, and whether that is a problem."""
    try:
        graph = registry.pinned(thread.graph_id, thread.fingerprint)
        ref = ThreadRef(thread.graph_id, thread.thread_id)
        compared = async_to_sync(replaying.compare)(graph, DjangoCheckpointer(), ref)
    except (UnknownGraph, CannotReplay) as error:
        return 0, str(error), True
    changed = "" if graph.fingerprint == thread.fingerprint else " (its definition has changed since it began)"
    if found := compared.difference:
        return compared.agreed, f"step {found.step}, {found.name}: {found.why}{changed}", True
    if compared.first:
        why = "it was written without a log, or moved to another definition there"
        return compared.agreed, f"cannot be replayed before step {compared.first}: {why}", False
    return compared.agreed, "", False
