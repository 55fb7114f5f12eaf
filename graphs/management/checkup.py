"""What `doctor` looks at. Each check answers with findings in words for the person who runs the installation."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks import WARNING, run_checks
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from graphs import queue as doorbell
from graphs.actions import definitions
from graphs.agents import named
from graphs.engine.errors import SaysoError
from graphs.library import registry
from graphs.models import Heartbeat, OutboxMessage
from graphs.models.clock import Now
from hitl_site import redis_server

OUTBOX_SECONDS = 30
ROLES = {
    "clock": "manage.py clock",
    "worker-threads": "manage.py worker threads",
    "worker-background": "manage.py worker background",
}


@dataclass(frozen=True)
class Finding:
    subject: str
    text: str
    mend: str = ""

    @property
    def good(self) -> bool:
        return not self.mend


def examine() -> Iterator[Finding]:
    """All findings, in the order in which a person would mend them. What needs the database waits until it answers."""
    yield from site()
    yield from secret_key()
    yield from folder()
    yield from redis()
    database_findings = list(database())
    yield from database_findings
    if all(finding.good for finding in database_findings):
        for check in NEED_DATABASE:
            yield from check()
    yield from graphs()
    yield from models()


def site() -> Iterator[Finding]:
    problems = [message for message in run_checks(include_deployment_checks=False) if message.level >= WARNING]
    for message in problems:
        yield Finding("settings", str(message.msg), str(message.hint or f"See {message.id}."))
    if settings.DEBUG:
        yield Finding("settings", "DEBUG is on: error pages show code and settings to everyone", "Unset DEBUG.")
    if "*" in settings.ALLOWED_HOSTS:
        yield Finding("settings", "ALLOWED_HOSTS accepts every host name", "List the names that people use.")
    if not problems:
        yield Finding("settings", f"read; hosts: {', '.join(settings.ALLOWED_HOSTS)}")


def secret_key() -> Iterator[Finding]:
    if not settings.SECRET_KEY_IS_SET:
        yield Finding("secret key", "there is none", "Run manage.py up once, or set SECRET_KEY or SECRET_KEY_FILE.")
    elif len(settings.SECRET_KEY) < 50:
        yield Finding("secret key", "it is shorter than 50 characters", "Set SECRET_KEY to a long random text.")
    else:
        yield Finding("secret key", "set")


def folder() -> Iterator[Finding]:
    var = settings.SAYSO_VAR
    if not var.exists():
        yield Finding("folder", f"{var} does not exist yet; everything comes from the environment")
    elif stat.S_IMODE(var.stat().st_mode) & 0o077:
        yield Finding("folder", f"{var} can be read by other users of this machine", f"chmod 700 {var}")
    else:
        yield Finding("folder", f"{var} is private")


def without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"


def redis() -> Iterator[Finding]:
    where = without_password(settings.REDIS_URL)
    if redis_server.run_id(settings.REDIS_URL) is None:
        ours = redis_server.private_url(settings.SAYSO_VAR) == settings.REDIS_URL
        mend = "Start it with manage.py up, or set REDIS_URL." if ours else "Start that server or correct REDIS_URL."
        yield Finding("Redis", f"does not answer at {where}. Decisions are still stored; runs wait", mend)
        return
    waiting = ", ".join(f"{doorbell.depth(name)} in {name}" for name in settings.RQ_QUEUES)
    yield Finding("Redis", f"answers at {where}; jobs waiting: {waiting}")
    if refused := doorbell.refused():
        yield Finding(
            "Redis",
            f"{refused} jobs were refused: somebody else writes to this Redis",
            "Give Sayso a Redis, or at least a user, of its own; see the worker's log for what they carried.",
        )


def database() -> Iterator[Finding]:
    name = f"{connection.display_name} {connection.settings_dict['NAME']}"
    try:
        connection.ensure_connection()
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        yield Finding("database", f"{name} does not answer: {error}".strip(), "Start it, or correct DATABASE_URL.")
        return
    if pending:
        yield Finding("database", f"{name}: {len(pending)} migrations are missing", "manage.py migrate")
    else:
        yield Finding("database", f"{name}, migrations complete")


def people() -> Iterator[Finding]:
    if get_user_model()._default_manager.filter(is_active=True).exists():
        yield Finding("people", "somebody can sign in")
    else:
        yield Finding("people", "nobody can sign in", "manage.py createsuperuser, or manage.py up")


def age(at: datetime, now: datetime) -> str:
    return str(timedelta(seconds=max(0, int((now - at).total_seconds()))))


def heartbeats() -> Iterator[Finding]:
    # The database's clock on both sides: the processes may run on machines that disagree about the time.
    beats = list(Heartbeat.objects.order_by("-at").annotate(now=Now()))
    for role, command in ROLES.items():
        mine = [beat for beat in beats if beat.name.partition("@")[0] == role]
        mend = f"manage.py up, or on its own: {command}"
        if not mine:
            yield Finding(role, "has never run here", mend)
            continue
        alive = [
            beat for beat in mine if beat.now - beat.at <= timedelta(seconds=20 + 2 * settings.SAYSO_CLOCK_SECONDS)
        ]
        if alive:
            yield Finding(role, f"{len(alive)} alive, last heard of {age(alive[0].at, alive[0].now)} ago")
        else:
            yield Finding(role, f"silent for {age(mine[0].at, mine[0].now)}", mend)


def outbox() -> Iterator[Finding]:
    oldest = OutboxMessage.objects.filter(published_at__isnull=True).order_by("created_at").annotate(now=Now()).first()
    if oldest is None:
        yield Finding("outbox", "empty")
    elif oldest.now - oldest.created_at > timedelta(seconds=OUTBOX_SECONDS):
        waiting = OutboxMessage.objects.filter(published_at__isnull=True).count()
        yield Finding(
            "outbox",
            f"{waiting} messages wait, the oldest for {age(oldest.created_at, oldest.now)}",
            "The clock publishes what is left behind: see that it, Redis and the background worker run.",
        )
    else:
        yield Finding("outbox", f"moving; the oldest message is {age(oldest.created_at, oldest.now)} old")


def threads() -> Iterator[Finding]:
    """Threads that wait for people look well until one answers: here they are found before."""
    found = definitions.stranded()
    count = sum(one.count for one in found)
    if not count:
        yield Finding("threads", "every waiting one can go on with the installed graphs")
        return
    named = ", ".join(sorted({one.graph_id for one in found}))
    text = f"{count} waiting thread{'s' if count > 1 else ''} of {named} cannot go on: {found[0].reason}"
    yield Finding("threads", text, "manage.py check_graphs names each; register the old version, or migrate_threads.")


def graphs() -> Iterator[Finding]:
    found = registry.entries()
    broken = [entry for entry in found if entry.error]
    for entry in broken:
        yield Finding("graphs", f"{entry.module}: {entry.error}", "Correct the module, or remove it from SAYSO_GRAPHS.")
    yield Finding("graphs", f"{len(found) - len(broken)} can be started")


def models() -> Iterator[Finding]:
    """Which model agents speak through, and whether there is one of that name and a key for it."""
    if not settings.SAYSO_MODELS:
        yield Finding("models", "none is set: the agents that ship follow a script")
        return
    try:
        chosen = named.resolve("")
        getattr(chosen, "check", lambda: None)()
    except SaysoError as error:
        yield Finding("models", str(error), "Correct SAYSO_MODELS, or what it needs, and restart.")
    else:
        yield Finding("models", f"agents speak through {settings.SAYSO_MODELS}")


NEED_DATABASE: tuple[Callable[[], Iterator[Finding]], ...] = (people, heartbeats, outbox, threads)
