"""One JSON column, the same on both databases: text, never jsonb, which reorders keys and alters numbers (F23).

A value over 64 KiB is kept once by content in the blob table and the column holds `@` and its digest: no JSON text
begins with `@`, so no value of a user can be taken for a reference.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Any

import orjson
from django.apps import apps
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

#: Bytes of JSON from which on a value is kept in the blob table.
INLINE_LIMIT = 64 * 1024
REFERENCE = "@"


class Packed(str):
    """JSON text ready for its column, made outside the transaction; it may be a reference to a blob."""

    __slots__ = ()


def dump(value: Any) -> bytes:
    return orjson.dumps(value)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def compress(data: bytes) -> bytes:
    return zlib.compress(data, 1)


def expand(data: bytes | memoryview) -> Any:
    return orjson.loads(zlib.decompress(data))


def read_blob(digest: str, using: str) -> Any:
    blob = apps.get_model("graphs", "Blob")._default_manager.using(using).get(pk=digest)
    return expand(blob.data)


def write_blob(data: bytes, using: str) -> str:
    """Keep these bytes of JSON once, and return their digest."""
    digest = digest_of(data)
    manager = apps.get_model("graphs", "Blob")._default_manager.using(using)
    manager.bulk_create([manager.model(digest=digest, data=compress(data), size=len(data))], ignore_conflicts=True)
    return digest


if TYPE_CHECKING:
    Base = models.TextField[Any, Any]
else:
    Base = models.TextField


class JSONTextField(Base):
    """Holds any JSON value as text; what comes back is what went in. SQL NULL stands for JSON null."""

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: object, connection: BaseDatabaseWrapper) -> Any:
        if value is None:
            return None
        if value.startswith(REFERENCE):
            return read_blob(value[1:], connection.alias)
        return orjson.loads(value)

    def to_python(self, value: Any) -> Any:
        return value

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = getattr(model_instance, self.attname)
        if value is None or isinstance(value, Packed) or hasattr(value, "resolve_expression"):
            return value
        data = dump(value)
        if len(data) <= INLINE_LIMIT:
            return Packed(data.decode())
        return Packed(REFERENCE + write_blob(data, model_instance._state.db or "default"))

    def get_prep_value(self, value: Any) -> str | None:
        if value is None or isinstance(value, Packed):
            return value
        return dump(value).decode()

    def value_to_string(self, obj: models.Model) -> str:
        return dump(self.value_from_object(obj)).decode()
