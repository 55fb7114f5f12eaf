"""The database's clock and its moments as expressions, spelled so that they compare with those that we write."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import functions
from django.db.models.sql.compiler import SQLCompiler


class Seconds(models.Func):
    """The seconds from one moment to another, counted by the database itself: on SQLite Django's own difference calls
    back into Python for every row."""

    output_field = models.FloatField()

    def __init__(self, since: str, until: str) -> None:
        super().__init__(models.F(until), models.F(since))

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        """The expression for PostgreSQL."""
        return self.spelled(compiler, "EXTRACT(EPOCH FROM ({} - {}))::double precision")

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        """The expression for SQLite, to a tenth of a millisecond."""
        return self.spelled(compiler, "ROUND((julianday({}) - julianday({})) * 86400.0, 4)")

    def spelled(self, compiler: SQLCompiler, template: str) -> Any:
        (until, first), (since, second) = (compiler.compile(one) for one in self.get_source_expressions())
        return template.format(until, since), (*first, *second)


class Now(functions.Now):
    """The moment of the statement, by the database.

    SQLite compares moments as texts, and has no more than milliseconds of its own. Django writes them as `.946` here
    and as `.946000` where the moment is ours: the same one would be two, and a page that goes on behind a row would
    begin with that row again.
    """

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        """The expression for SQLite, to the microsecond like every moment of ours."""
        template = "STRFTIME('%%%%Y-%%%%m-%%%%d %%%%H:%%%%M:%%%%f000', 'NOW')"
        return self.as_sql(compiler, connection, template=template, **extra)
