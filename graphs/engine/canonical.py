"""The one JSON of the engine: what may be stored, how it is written, and how it is digested (F23, Z21, Z48)."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson

from graphs.engine.errors import PayloadError
from graphs.engine.ports import Json

MAX_DEPTH = 64
MAX_KEY = 256
# Names are columns, and PostgreSQL refuses what does not fit where SQLite would take it: each thread that went on under
# such a name would fail with its store, again and again, instead of with its author's mistake.
MAX_NAME, MAX_KIND, MAX_PLACE, MAX_PATH = 200, 60, 300, 400
MAX_BYTES = 16 * 1024 * 1024
MAX_QUESTION = 1024 * 1024
_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1


def encode(value: Any, where: str = "", limit: int = MAX_BYTES) -> Json:
    """A private JSON copy of `value`, or `PayloadError` with the JSON pointer of what is not JSON.

    Dataclasses, Pydantic models, dates (ISO), Decimal, UUID and enums have a declared encoding; tuples, sets, bytes,
    NaN, infinities, NUL, lone surrogates and whole numbers beyond 64 bits are refused. `limit` is in bytes.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str and len(value) < 1_000 and value.isascii() and "\0" not in value:
        return value
    if kind in (int, float, str):
        scalar = _walk(value, where, 0)
        if kind is str and len(value) * 4 > limit:
            _bounded(orjson.dumps(scalar), where, limit)
        return scalar
    try:
        data = orjson.dumps(value)
        copy = orjson.loads(data)
    except (TypeError, ValueError, RecursionError):
        copy = data = None
    # What orjson would silently bend (tuples, NaN, dataclasses) does not compare equal after the round trip.
    if data is None or copy != value or b"\\u0000" in data or not _shallow(copy):
        copy = _walk(value, where, 0)
        data = orjson.dumps(copy)
    _bounded(data, where, limit)
    return copy


def dumps(value: Json) -> bytes:
    """Canonical bytes: sorted keys, no spaces."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def loads(data: bytes | str) -> Json:
    """The value of JSON text; NaN and the like are refused with ValueError."""
    return orjson.loads(data)


def digest(value: Json) -> str:
    """SHA-256 (hex) of the canonical bytes."""
    return hashlib.sha256(dumps(value)).hexdigest()


def copy(value: Json) -> Json:
    """A value that its receiver may change without touching the stored one."""
    return orjson.loads(orjson.dumps(value)) if isinstance(value, (dict, list)) else value


_HINTS = {
    "generator": "; give a list, or let the node itself yield",
    "async_generator": "; give a list, or let the node itself yield",
    "coroutine": "; await it",
    "function": "; call it",
    "bytes": "; give its text, as by base64",
}


def _bounded(data: bytes, where: str, limit: int) -> None:
    if len(data) > limit:
        raise PayloadError(f"{len(data):,} bytes of JSON are more than the {limit:,} allowed", where)


def _shallow(value: Json) -> bool:
    """True where no branch is deeper than the bound and no key longer; level by level, containers only."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                if item and max(map(len, item)) > MAX_KEY:
                    return False
                item = item.values()
            below.extend([one for one in item if type(one) in (dict, list)])
        if not below:
            return True
        level = below
    return False


def _walk(value: Any, where: str, depth: int) -> Json:
    if depth > MAX_DEPTH:
        raise PayloadError(f"deeper than {MAX_DEPTH} levels", where)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _walk(value.value, where, depth)
    if isinstance(value, (str, int, float)):
        return _scalar(value, where)
    if isinstance(value, Mapping):
        return {_key(key, where): _walk(item, f"{where}/{_escape(key)}", depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, f"{where}/{index}", depth + 1) for index, item in enumerate(value)]
    return _walk(_declared(value, where), where, depth)


def _scalar(value: str | int | float, where: str) -> Json:
    if isinstance(value, str):
        if "\0" in value:
            raise PayloadError("text holds a NUL character", where)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise PayloadError("text holds a lone surrogate", where) from None
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise PayloadError(f"{value} is not JSON; give None, or its text", where)
        return float(value)
    if not _MIN_INT <= value <= _MAX_INT:
        raise PayloadError("a whole number beyond 64 bits; send it as text", where)
    return int(value)


def _declared(value: Any, where: str) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    hint = "; use a list" if isinstance(value, (tuple, set, frozenset)) else _HINTS.get(type(value).__name__, "")
    hint = hint or "; give a dict, a dataclass or a Pydantic model"
    raise PayloadError(f"{type(value).__name__} is not JSON{hint}", where)


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise PayloadError(f"key {key!r} is not text", where)
    if len(key) > MAX_KEY:
        raise PayloadError(f"a key longer than {MAX_KEY} characters", where)
    return str(_scalar(key, where))


def _escape(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")[:MAX_KEY]
