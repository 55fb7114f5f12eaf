"""The database's clock as an expression, spelled so that its moments compare with those that we write."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import functions
from django.db.models.sql.compiler import SQLCompiler


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
