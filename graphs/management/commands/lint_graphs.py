from __future__ import annotations

import json as jsons
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from graphs.engine.errors import SaysoError
from graphs.engine.graph import CompiledGraph
from graphs.engine.inspection import linting
from graphs.engine.inspection.diagrams import mermaid
from graphs.engine.inspection.linting import Finding, LookedOver, Pause
from graphs.engine.inspection.rehearsal import Rehearsal, rehearse
from graphs.engine.statuses import ThreadStatus
from graphs.library import registry
from graphs.models import ApprovalQueue

HERE = Path.cwd()


class Command(BaseCommand):
    help = (
        "Looks graphs over without running them: lists every pause they can make, and what would go wrong at one;"
        " exits 1 where something would."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("graphs", nargs="*", metavar="GRAPH", help="ids of graphs; all of them where none is given")
        parser.add_argument("--json", action="store_true", help="one JSON list instead of lines")
        parser.add_argument("--mermaid", action="store_true", help="the graphs as Mermaid text, nothing else")
        parser.add_argument("--rehearse", metavar="INPUT_JSON", help="run one graph with this input and no effects")
        parser.add_argument(
            "--answers", metavar="JSON", default="{}", help="for --rehearse: answers by node or message"
        )
        parser.add_argument("--stubs", metavar="JSON", default="{}", help="for --rehearse: results of effects by key")

    def handle(self, *args: Any, **options: Any) -> None:
        found = wanted(options["graphs"])
        if options["mermaid"]:
            self.stdout.write("\n".join(mermaid(graph) for graph in usable(found)), ending="")
        elif options["rehearse"] is not None:
            self._rehearse(list(usable(found)), options)
        else:
            self._look_over(found, options["json"])

    def _look_over(self, entries: Sequence[registry.Entry], json: bool) -> None:
        looked = [look_over(entry) for entry in entries]
        if json:
            self.stdout.write(jsons.dumps([asdict(one) for one in looked], indent=2, default=str))
        for one in [] if json else looked:
            self.stdout.write("\n".join(lines(one)))
        failing = sum(finding.fails for one in looked for finding in one.findings)
        if failing:
            raise CommandError(f"{failing} finding{'s' if failing != 1 else ''} to mend.", returncode=1)
        if not json:
            self.stdout.write("Nothing to mend.")

    def _rehearse(self, graphs: Sequence[CompiledGraph], options: dict[str, Any]) -> None:
        if len(graphs) != 1:
            raise CommandError("--rehearse takes one GRAPH.", returncode=2)
        try:
            told = rehearse(
                graphs[0],
                read(options["rehearse"], "the input"),
                answers=read(options["answers"], "--answers"),
                stubs=read(options["stubs"], "--stubs"),
            )
        except SaysoError as error:
            raise CommandError(str(error), returncode=1) from error
        text = jsons.dumps(asdict(told), indent=2, default=str) if options["json"] else "\n".join(acts(told))
        self.stdout.write(text)
        if told.stopped or told.status is ThreadStatus.FAILED:
            raise CommandError("; ".join(hints(told)), returncode=1)


def hints(told: Rehearsal) -> Iterator[str]:
    yield f"It was not rehearsed to its end: {told.stopped}" if told.stopped else "The rehearsal failed"
    guessed = sorted({effect.key for effect in told.effects if not effect.given})
    if guessed and not told.stopped:
        shown = ", ".join(f'"{key}": …' for key in guessed)
        yield f"where an effect's result is needed, give one: --stubs '{{{shown}}}'"


def wanted(ids: Sequence[str]) -> list[registry.Entry]:
    entries = list(registry.entries())
    for id in ids:
        if id not in {entry.graph_id for entry in entries}:
            known = ", ".join(entry.graph_id for entry in entries if entry.graph is not None)
            why = registry.missing(id)
            raise CommandError(f"There is no graph {id!r}; there are {known}.{f' {why}.' if why else ''}", returncode=2)
    return [entry for entry in entries if not ids or entry.graph_id in ids]


def usable(entries: Sequence[registry.Entry]) -> Iterator[CompiledGraph]:
    for entry in entries:
        if entry.graph is None:
            raise CommandError(f"{entry.module}: {entry.error}", returncode=1)
        if entry.current:
            yield entry.graph


def read(text: str, what: str) -> Any:
    try:
        return jsons.loads(text)
    except ValueError as error:
        raise CommandError(f"{what} is no JSON: {error}", returncode=2) from error


def look_over(entry: registry.Entry) -> LookedOver:
    if entry.graph is None:
        broken = Finding(linting.ERROR, "definition", "", f"{entry.module}: {entry.error}")
        return LookedOver(entry.graph_id, [], [broken])
    looked = linting.look_over(entry.graph)
    known = queues()
    for pause in looked.pauses if known is not None else ():
        if pause.queue and pause.queue not in (known or ()):
            text = f"queue {pause.queue!r} of this question does not exist"
            looked.findings.append(Finding(linting.WARNING, "unknown-queue", pause.path, text, pause.file, pause.line))
    looked.findings = list(dict.fromkeys(looked.findings))
    return looked


def queues() -> frozenset[str] | None:
    """The queues there are; None where there is no database to ask, as in a build."""
    try:
        return frozenset(ApprovalQueue.objects.values_list("slug", flat=True))
    except DatabaseError:
        return None


def lines(looked: LookedOver) -> Iterator[str]:
    count = len(looked.pauses)
    yield f"{looked.graph_id}: {count} pause{'s' if count != 1 else ''}"
    for pause in looked.pauses:
        yield f"  {pause.path}  {pause.style}  “{pause.message}”{details(pause)}  {place(pause.file, pause.line)}"
    for finding in looked.findings:
        word = "silenced" if finding.silenced else finding.severity
        where = "".join(f" {part}" for part in (finding.path, place(finding.file, finding.line)) if part)
        yield f"  {word} [{finding.rule}]{where}: {finding.message}"
        if finding.fails or (finding.severity == linting.WARNING and not finding.silenced):
            yield f"      way out: {finding.way}"


def details(pause: Pause) -> str:
    schema = pause.schema if isinstance(pause.schema, str) or pause.schema is None else shape(pause.schema)
    said = {"answer": schema, "queue": pause.queue, "expires in": pause.expires}
    return "".join(f"  {name}: {value}" for name, value in said.items() if value)


def shape(schema: Any) -> str:
    """A schema in a few words."""
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        required = schema.get("required", ())
        return "{" + ", ".join(name if name in required else f"{name}?" for name in schema["properties"]) + "}"
    kind = schema.get("type") if isinstance(schema, dict) else None
    return str(kind) if kind else "a JSON value"


def place(file: str, line: int) -> str:
    if not file:
        return ""
    path = Path(file)
    return f"{path.relative_to(HERE) if path.is_relative_to(HERE) else path}:{line}"


def acts(told: Rehearsal) -> Iterator[str]:
    for number, one in enumerate(told.asked, 1):
        question = one.interrupt
        queue = f" (queue {question.queue})" if question.queue else ""
        yield f"{number}. round {one.round}, {question.path} asks “{question.message}”{queue}"
        yield f"   shown: {jsons.dumps(question.value, ensure_ascii=False)}"
        value, origin = jsons.dumps(one.value, ensure_ascii=False), "" if one.given else " (made up)"
        yield f"   answered: {one.outcome} {value}{origin}"
    for effect in told.effects:
        stub = jsons.dumps(effect.result, ensure_ascii=False)
        yield f"not done: {effect.kind} {effect.key!r} of {effect.path}, taken as {stub}"
    yield f"It ends as {told.status}" + (f", since {told.stopped}" if told.stopped else "")
    yield f"   output: {jsons.dumps(told.output, ensure_ascii=False)}"
    yield from (f"   note: {note}" for note in told.notes)
    if told.error:
        yield f"   error: {told.error.get('type')}: {told.error.get('message')}"
