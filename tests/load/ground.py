"""What a measurement stands on: a database with durable commits, a Redis and the site, all in a temporary folder."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


def prepare(kind: str, var: str = "") -> None:
    """Set the environment, start what is needed and load the site on a SQLite file or a PostgreSQL server.

    Call it once a process, before anything of Django is imported. `var` is a running installation's folder to share.
    """
    folder = var or tempfile.mkdtemp(prefix="sayso-load-")
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "hitl_site.settings",
        "SAYSO_VAR": folder,
        "SAYSO_GRAPHS": "tests.load.definitions",
        "SAYSO_LOG_LEVEL": "ERROR",
        "SAYSO_SLICE_STEPS": "100000",
    }
    if not var:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["SECRET_KEY"] = secrets.token_urlsafe(48)
    if kind == "postgres":
        os.environ["DATABASE_URL"] = start_postgres()
    load_site(fresh=not var)


def start_postgres() -> str:
    from tests.postgres import USER, PostgresServer

    server = PostgresServer(durable=True)
    atexit.register(server.stop)
    server.execute("CREATE DATABASE load")
    return f"postgres://{USER}@/load?host={server.folder}"


def load_site(fresh: bool) -> None:
    import django

    django.setup()
    if not fresh:
        return
    from django.conf import settings
    from django.core.management import call_command

    from hitl_site import redis_server

    call_command("migrate", verbosity=0)
    server = redis_server.start(settings.SAYSO_VAR)
    atexit.register(server.kill)


def person(name: str = "measure") -> Any:
    """A superuser, who may start and decide everything."""
    from django.contrib.auth.models import User

    found = User.objects.filter(username=name).first()
    return found or User.objects.create_superuser(name, password=None)


class Bare:
    """The floor: the same bytes written by the bare driver, one durable commit a step, to tables of its own."""

    def __init__(self) -> None:
        from django.db import connection

        self.postgres = connection.vendor == "postgresql"
        self.link: Any = self.open(connection)
        serial = "bigserial PRIMARY KEY" if self.postgres else "integer PRIMARY KEY"
        for statement in (
            "DROP TABLE IF EXISTS bare_step",
            "DROP TABLE IF EXISTS bare_head",
            f"CREATE TABLE bare_step (id {serial}, data text)",
            "CREATE TABLE bare_head (id integer PRIMARY KEY, step integer)",
            "INSERT INTO bare_head VALUES (1, 0)",
        ):
            self.link.execute(statement)

    def open(self, connection: Any) -> Any:
        if self.postgres:
            import psycopg

            found = connection.get_connection_params()
            return psycopg.connect(host=found.get("host"), user=found["user"], dbname=found["dbname"], autocommit=True)
        link = sqlite3.connect(connection.settings_dict["NAME"], timeout=30, isolation_level=None)
        link.execute("PRAGMA journal_mode=WAL")
        link.execute("PRAGMA synchronous=FULL")
        return link

    def commit(self, data: str) -> None:
        """One step: on PostgreSQL as one statement, which is the least that it can be done in."""
        if self.postgres:
            self.link.execute(
                "WITH kept AS (INSERT INTO bare_step (data) VALUES (%s)) UPDATE bare_head SET step = step + 1", [data]
            )
            return
        self.link.execute("BEGIN IMMEDIATE")
        self.link.execute("INSERT INTO bare_step (data) VALUES (?)", [data])
        self.link.execute("UPDATE bare_head SET step = step + 1")
        self.link.execute("COMMIT")
