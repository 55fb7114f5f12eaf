"""Compares the ledger with the database of an installation after its faults, and prints
what is violated. Run with that installation's environment: python -m tests.processes.invariants LEDGER THREADS KILLS"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitl_site.settings")
django.setup()

from graphs.actions import audit  # noqa: E402
from graphs.models import (  # noqa: E402
    AuditEntry,
    Checkpoint,
    Decision,
    Interrupt,
    JournalEntry,
    Lease,
    OutboxMessage,
    Task,
    Thread,
)
from graphs.models.clock import Now  # noqa: E402
from tests.processes.ledger import Ledger  # noqa: E402
from tests.processes.ledger_graph import ROUNDS, expected_keys  # noqa: E402

GRAPH = "ledger"
#: An outbox row older than this (seconds) was forgotten: the sweep says again what nobody said.
SAID_WITHIN = 20


def threads() -> list[Thread]:
    return list(Thread.objects.filter(graph_id=GRAPH).order_by("pk"))


def number(thread: Thread) -> int:
    return int(thread.input["number"])


def check(ledger: Ledger, count: int, kills: int) -> Iterator[str]:
    yield from all_ended(count)
    yield from each_effect_once(ledger)
    yield from nothing_recorded_ran_again(ledger)
    yield from no_more_attempts_than_crashes(ledger, kills)
    yield from one_decision_and_its_value(ledger)
    yield from nothing_half_written()
    yield from steps_and_tokens_grow(ledger)


def each_effect_once(ledger: Ledger) -> Iterator[str]:
    expected = {key for thread in threads() for key in expected_keys(number(thread))}
    applied = {key for (key,) in ledger.read("SELECT key FROM applied")}
    if missing := expected - applied:
        yield f"I1 effects that never happened: {sorted(missing)}"
    if foreign := applied - expected:
        yield f"I1 effects that nobody asked for: {sorted(foreign)}"
    fences: dict[str, set[str]] = defaultdict(set)
    for key, fence in ledger.read("SELECT key, fence FROM attempts"):
        fences[key].add(fence)
    yield from (f"I1 {key} was tried under several keys: {seen}" for key, seen in fences.items() if len(seen) > 1)


def nothing_recorded_ran_again(ledger: Ledger) -> Iterator[str]:
    """The ledger's clock and the database's rows come from one machine, so their times compare."""
    numbers = {thread.pk: number(thread) for thread in threads()}
    recorded = {
        f"{numbers[entry.task.thread_id]}:{entry.task.path}:{entry.task.visit}:{entry.key}": entry.at.timestamp()
        for entry in JournalEntry.objects.select_related("task").filter(task__thread__in=numbers)
    }
    for key, at in ledger.read("SELECT key, max(at) FROM attempts GROUP BY key"):
        if key not in recorded:
            yield f"I2 {key} was tried but is not in the journal"
        elif at > recorded[key]:
            yield f"I2 {key} was tried {at - recorded[key]:.3f} s after it had been recorded"
    finished = {
        f"{numbers[task.thread_id]}:{task.path}:{task.visit}": task.at.timestamp()
        for task in Task.objects.filter(thread__in=numbers, status="finished")
    }
    for key, at in ledger.read("SELECT key, max(at) FROM entered GROUP BY key"):
        if key in finished and at > finished[key]:
            yield f"I2 node {key} was entered {at - finished[key]:.3f} s after it had finished"


def no_more_attempts_than_crashes(ledger: Ledger, kills: int) -> Iterator[str]:
    for key, tries in ledger.read("SELECT key, count(*) FROM attempts GROUP BY key"):
        if tries > 1 + kills:
            yield f"I3 {key} was tried {tries} times with {kills} crashes of its runner"


def one_decision_and_its_value(ledger: Ledger) -> Iterator[str]:
    decisions = Decision.objects.filter(interrupt__thread__graph_id=GRAPH).select_related("interrupt")
    stored = {str(decision.interrupt_id): decision for decision in decisions}
    for interrupt, times in Counter(str(decision.interrupt_id) for decision in decisions).items():
        if times > 1:
            yield f"I4 {interrupt} has {times} decisions"
    for interrupt, value in ledger.read("SELECT interrupt, value FROM acks WHERE status = 200"):
        if interrupt not in stored:
            yield f"I5 {interrupt} was acknowledged, and no decision is stored"
        elif stored[interrupt].value != {"word": value}:
            yield f"I4 {interrupt} was acknowledged with {value}, stored is {stored[interrupt].value}"
    yield from (problem for thread in threads() for problem in words_at_their_places(thread, stored))


def words_at_their_places(thread: Thread, stored: dict[str, Decision]) -> Iterator[str]:
    if not thread.output:
        return
    output = thread.output["words"] if "words" in thread.output else thread.output["finish"]["words"]
    given = {word["place"]: word["word"] for word in output}
    questions = Interrupt.objects.filter(thread=thread).select_related("task").order_by("pk")
    wanted = {}
    for question in questions:
        if str(question.pk) in stored:
            wanted[f"{question.node_id}:{question.payload['round']}"] = stored[str(question.pk)].value["word"]
    if given != wanted or len(given) != 2 * ROUNDS:
        yield f"I4 thread {number(thread)} ended with {given}, decided was {wanted}"


def nothing_half_written() -> Iterator[str]:
    entries = set(AuditEntry.objects.values_list("pk", flat=True))
    for decision in Decision.objects.all():
        if decision.audit_seq not in entries:
            yield f"I5 decision {decision.pk} has no audit entry"
    for question in Interrupt.objects.filter(thread__graph_id=GRAPH, status="closed", seq=0):
        yield f"I5 {question.pk} closed without an event number"
    stale = Now() - timedelta(seconds=SAID_WITHIN)
    for message in OutboxMessage.objects.filter(published_at__isnull=True, created_at__lt=stale):
        yield f"I5 {message} was never published"
    verdict = audit.verify()
    if not verdict.ok:
        yield f"I5 the audit chain is broken: {verdict.problem}"


def all_ended(count: int) -> Iterator[str]:
    found = threads()
    if len(found) != count:
        yield f"I6 {count} threads were started, {len(found)} are there"
    for thread in found:
        if thread.status != "completed":
            yield f"I6 thread {number(thread)} is {thread.status}: {thread.error}"
    for lease in Lease.objects.filter(expires_at__gt=Now()):
        yield f"I6 {lease} is still held"
    for question in Interrupt.objects.waiting().filter(thread__in=found):
        yield f"I6 {question.pk} is still open"


def steps_and_tokens_grow(ledger: Ledger) -> Iterator[str]:
    for thread in threads():
        steps = list(Checkpoint.objects.filter(thread=thread).order_by("pk").values_list("step", flat=True))
        if steps != sorted(set(steps)) or steps[-1:] != [thread.step]:
            yield f"I7 thread {number(thread)} has the checkpoints {steps} and is at step {thread.step}"
        elif steps != list(range(steps[0], steps[0] + len(steps))):
            yield f"I7 thread {number(thread)} has a gap in {steps}"
    if not ledger.read("SELECT 1 FROM tokens LIMIT 1"):
        yield "I7 no node noted the token of its lease"
    seen: dict[str, int] = {}
    for thread, token in ledger.read("SELECT thread, token FROM tokens ORDER BY at"):
        if token < seen.get(thread, 0):
            yield f"I7 the token of thread {thread} fell from {seen[thread]} to {token}"
        seen[thread] = token


def main() -> None:
    ledger, count, kills = Ledger(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    problems = list(check(ledger, count, kills))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
