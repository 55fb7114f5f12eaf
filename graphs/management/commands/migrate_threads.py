from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from graphs.actions import definitions
from graphs.actions.actors import System
from graphs.actions.errors import Refused
from graphs.engine.errors import SaysoError
from graphs.engine.graph import CompiledGraph
from graphs.library import registry
from graphs.models import Thread

#: Who the audit names: whoever may run commands on this machine.
OPERATOR = System("system:migrate_threads")


class Command(BaseCommand):
    help = "Moves waiting threads of a graph to its installed definition by renaming their nodes, each all or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("graph", help="the graph's id")
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="OLD=NEW",
            help="a node's old path and its new one; an empty new one gives up a node that is done and gone",
        )
        parser.add_argument("--to", metavar="VERSION", help="move to this registered version, not to the current one")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")

    def handle(self, *args: Any, graph: str, map: list[str], to: str | None, dry_run: bool, **options: Any) -> None:
        target, names = definition(graph, to), mapping(map)
        unknown = sorted(new for new in names.values() if new and new not in target.places)
        if unknown:
            raise CommandError(f"Version {target.version} of {graph} has no node {', '.join(map_names(unknown))}.")
        moved, refused = 0, 0
        for thread in list(definitions.movable(graph, target)):
            try:
                self.move(thread, target, names, dry_run)
                moved += 1
            except (Refused, SaysoError) as error:
                refused += 1
                self.stderr.write(f"{thread.thread_id}: {error}")
        word = "would be moved" if dry_run else "moved"
        self.stdout.write(f"{moved} {word} to version {target.version} of {graph}, {refused} left as they are.")
        if refused:
            raise CommandError(f"{refused} of them do not fit; map the nodes that are named above.", returncode=1)

    def move(self, thread: Thread, target: CompiledGraph, names: dict[str, str], dry_run: bool) -> None:
        before = thread.graph_version or "?"
        if dry_run:
            definitions.plan(thread, target, names)
        else:
            definitions.migrate(OPERATOR, thread, target, names)
        self.stdout.write(f"{thread.thread_id}: {before} to {target.version}")


def definition(graph_id: str, version: str | None) -> CompiledGraph:
    found = [entry.graph for entry in registry.entries() if entry.graph is not None and entry.graph_id == graph_id]
    for graph in found:
        if version is None or graph.version == version:
            return registry.get(graph_id) if version is None else graph
    if not found:
        known = ", ".join(sorted({entry.graph_id for entry in registry.entries() if entry.graph is not None})) or "none"
        why = registry.missing(graph_id)
        raise CommandError(f"No graph {graph_id!r} is registered; there are {known}.{f' {why}.' if why else ''}")
    versions = ", ".join(sorted(graph.version for graph in found))
    raise CommandError(f"No graph {graph_id!r} of version {version} is registered ({versions}).")


def mapping(given: Iterable[str]) -> dict[str, str]:
    """The pairs of `--map`. One that is no pair, or that names a node twice, is an error of the caller's."""
    names: dict[str, str] = {}
    for pair in given:
        old, found, new = (part.strip() for part in pair.partition("="))
        if not found or not old:
            raise CommandError(f"--map {pair}: write it as OLD=NEW.")
        if old in names:
            raise CommandError(f"--map {pair}: {old} is mapped already.")
        names[old] = new
    return names


def map_names(names: Iterable[str]) -> list[str]:
    return [repr(name) for name in names]
