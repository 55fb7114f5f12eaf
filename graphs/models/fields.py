"""One JSON column, the same on both databases: canonical text, never jsonb, which reorders keys and alters numbers (F23)."""

from __future__ import annotations

from typing import Any

import orjson
from django.db import models


class JSONTextField(models.TextField):  # type: ignore[type-arg]
    """Holds any JSON value as text; what comes back is what went in. SQL NULL stands for JSON null."""

    def from_db_value(self, value: str | None, expression: object, connection: object) -> Any:
        return None if value is None else orjson.loads(value)

    def to_python(self, value: Any) -> Any:
        return value

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else orjson.dumps(value).decode()

    def value_to_string(self, obj: models.Model) -> str:
        return orjson.dumps(self.value_from_object(obj)).decode()
