"""One suite, two databases. A test that is parametrised with `database` runs once on a SQLite file and once on a real
PostgreSQL server; the application sees either as its `default` and knows nothing of the other."""

from __future__ import annotations

import atexit
import os
from functools import cache
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.conf import settings as django_settings
from django.db import connections, transaction
from django.db.backends.sqlite3.operations import DatabaseOperations as SQLiteOperations
from django.test.utils import setup_databases

from hitl_site import settings as site
from tests.postgres import PostgresServer, PostgresUnavailable

SQLITE, POSTGRES = "sqlite", "postgres"
# A whole run may be put on one database: SAYSO_TEST_DATABASE=postgres python -m pytest
ONLY = os.environ.get("SAYSO_TEST_DATABASE", "")
KINDS = [kind for kind in (SQLITE, POSTGRES) if ONLY in ("", kind)]


@cache
def postgres_server() -> PostgresServer:
    """The server of this test process, started when the first test needs it."""
    try:
        server = PostgresServer()
    except PostgresUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must run the PostgreSQL half: {error}")
        pytest.skip(f"no PostgreSQL here: {error}")
    atexit.register(server.stop)
    return server


class Switch:
    """Points `default` at one of the test databases and makes each when it is first used."""

    def __init__(self) -> None:
        let_go_of_append_only_rows()
        self.settings: dict[str, dict[str, Any]] = {}
        self.current = ""

    def use(self, kind: str) -> None:
        if kind == self.current:
            return
        known = kind in self.settings
        settings = self.settings[kind] if known else self.describe(kind)
        self.current = ""
        self.point(settings)
        if not known:
            setup_databases(verbosity=0, interactive=False)
        self.settings[kind], self.current = settings, kind

    def describe(self, kind: str) -> dict[str, Any]:
        if kind == SQLITE:
            return site.database(f"sqlite:///{site.SAYSO_VAR / 'sayso.sqlite3'}")
        return site.database(postgres_server().url("postgres"))

    def point(self, settings: dict[str, Any]) -> None:
        connections.close_all()
        connections.settings = connections.configure_settings({"default": settings})
        django_settings.DATABASES["default"] = settings
        forget()
        # Django runs synchronous code of async tests in one lasting thread, which keeps a connection of its own.
        SyncToAsync.single_thread_executor.submit(forget).result()


def let_go_of_append_only_rows() -> None:
    """Between tests all rows go, those included that the application may never remove: SQLite empties a table with
    DELETE, which its triggers refuse, so they are lifted within the transaction that empties. PostgreSQL truncates."""
    flush = SQLiteOperations.execute_sql_flush

    def execute_sql_flush(self: SQLiteOperations, sql_list: list[str]) -> None:
        with transaction.atomic(using=self.connection.alias), self.connection.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = cursor.fetchall()
            for name, _sql in triggers:
                cursor.execute(f'DROP TRIGGER "{name}"')
            flush(self, sql_list)
            for _name, sql in triggers:
                cursor.execute(sql)

    SQLiteOperations.execute_sql_flush = execute_sql_flush  # type: ignore[method-assign]


def forget() -> None:
    if hasattr(connections._connections, "default"):
        connections["default"].close()
        del connections["default"]
