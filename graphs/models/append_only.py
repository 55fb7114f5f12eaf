"""Rows that nothing may change once they are written; triggers in the database refuse the same."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model, covariant=True)


class AppendOnlyError(TypeError):
    """This record is append-only: correct it by adding another, never by changing or removing it."""


def refuse(*args: object, **kwargs: object) -> NoReturn:
    raise AppendOnlyError(AppendOnlyError.__doc__)


class AppendOnlyQuerySet(models.QuerySet[Row, Row]):
    """Reads and inserts only."""

    update = refuse
    delete = refuse
    bulk_update = refuse
    update_or_create = refuse


class AppendOnly(models.Model):
    """Refuses a second save and every delete."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            refuse()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        refuse()
