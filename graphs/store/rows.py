"""Rows of models read and written by plain statements: the ORM's columns and conversions without its compiler, which
costs more than the statement itself. For what every superstep, question and decision does; all else uses the ORM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar

from django.db import connection, models

from graphs.store import sql

M = TypeVar("M", bound=models.Model)
Converter = Callable[[Any, Any, Any], Any]


class Table(Generic[M]):
    """All columns of one model's table."""

    def __init__(self, model: type[M]) -> None:
        self.model = model
        self.fields: list[models.Field[Any, Any]] = list(model._meta.concrete_fields)
        self.names = [field.attname for field in self.fields]
        self.width = len(self.fields)

    def columns(self, alias: str) -> str:
        """The columns for a SELECT, to be read back by `read`."""
        return ", ".join(f'{alias}."{field.column}"' for field in self.fields)

    def read(self, row: Sequence[Any], start: int = 0) -> M:
        """The instance in the columns of `row` that begin at `start`."""
        values = list(row[start : start + self.width])
        for index, convert, column in converters(self.model, connection.vendor):
            values[index] = convert(values[index], column, connection)
        return self.model.from_db(connection.alias, self.names, values)

    def insert(self, instances: Sequence[M], raw: Mapping[str, str] | None = None) -> None:
        """Insert new rows in one statement and give them their keys. `raw` spells columns as SQL, such as the clock."""
        raw = raw or {}
        fields = [one for one in self.fields if not (one.primary_key and isinstance(one, models.AutoField))]
        given = [one for one in fields if one.attname not in raw]
        place = ", ".join(raw.get(one.attname, "%s") for one in fields)
        statement = (
            f"INSERT INTO {self.model._meta.db_table} ({', '.join(quoted(one.column) for one in fields)}) VALUES "
            + ", ".join([f"({place})"] * len(instances))
            + " RETURNING "
            + quoted(self.model._meta.pk.column)
        )
        values = [
            field.get_db_prep_save(field.pre_save(instance, True), connection)
            for instance in instances
            for field in given
        ]
        for instance, (key,) in zip(instances, sql.fetch(statement, values), strict=True):
            if instance.pk is None:
                instance.pk = key
            instance._state.adding, instance._state.db = False, connection.alias


def quoted(name: str | None) -> str:
    return f'"{name}"'


@cache
def table(model: type[M]) -> Table[M]:
    """The one table of a model."""
    return Table(model)


@cache
def converters(model: type[models.Model], vendor: str) -> list[tuple[int, Converter, Any]]:
    """What turns a database's values into the model's, by position; most columns need nothing."""
    found = []
    for index, field in enumerate(model._meta.concrete_fields):
        column = field.get_col(model._meta.db_table)
        for convert in [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]:
            found.append((index, convert, column))
    return found


def value(model: type[models.Model], name: str, given: Any) -> Any:
    """One value of a column as the model has it, for a statement that reads single columns."""
    field = model._meta.get_field(name)
    index = list(model._meta.concrete_fields).index(field)  # type: ignore[arg-type]
    for place, convert, column in converters(model, connection.vendor):
        if place == index:
            given = convert(given, column, connection)
    return given
