"""Exports of the audit chain: rows as CSV or JSON lines, in a zip that is made while it is sent."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

import orjson
from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse

from graphs.actions import sealing

if TYPE_CHECKING:
    from graphs.models import AuditEntry
    from graphs.models.records import AuditEntryQuerySet

AT_ONCE = 500
#: What a spreadsheet takes for a formula at the beginning of a cell.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
FIELDS = (
    "seq",
    "at",
    "actor_id",
    "actor_name",
    "on_behalf_of",
    "action",
    "object_type",
    "object_id",
    "channel",
    "data",
    "previous",
    "digest",
)


@dataclass(slots=True)
class Told:
    """What an export says of itself at its end."""

    count: int = 0
    first_seq: int | None = None
    last_seq: int | None = None
    last_hash: str = ""

    def add(self, entry: AuditEntry) -> None:
        self.count += 1
        self.first_seq = entry.seq if self.first_seq is None else self.first_seq
        self.last_seq, self.last_hash = entry.seq, entry.digest


class Sink(io.RawIOBase):
    """Where a zip is written to that nobody can go back in; `take` hands over what has come together."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        found, self.parts = b"".join(self.parts), []
        return found


def packed(rows: AuditEntryQuerySet, kind: str, facts: Mapping[str, Any]) -> Iterator[bytes]:
    """The zip: the entries, the oldest first, and the verification file, which knows their digest only then."""
    sink, told, digest = Sink(), Told(), hashlib.sha256()
    name = f"audit.{kind}"
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as pack:
        with pack.open(name, "w", force_zip64=True) as file:
            for piece in pieces(rows, KINDS[kind], told):
                digest.update(piece)
                file.write(piece)
                yield sink.take()
        summary = {**facts, "count": told.count, "first_seq": told.first_seq, "last_seq": told.last_seq}
        summary |= {"last_hash": told.last_hash, "sha256": digest.hexdigest()}
        pack.writestr("verification.json", sealing.manifest("audit export", summary, {name: digest.hexdigest()}))
    yield sink.take()


def pieces(rows: AuditEntryQuerySet, write: Callable[[list[AuditEntry]], bytes], told: Told) -> Iterator[bytes]:
    """The rows in pieces of AT_ONCE, each read by itself: no cursor stays open for as long as somebody downloads."""
    last = 0
    yield write([])
    while found := list(rows.filter(seq__gt=last).order_by("seq")[:AT_ONCE]):
        for entry in found:
            told.add(entry)
        last = found[-1].seq
        yield write(found)


def as_csv(entries: list[AuditEntry]) -> bytes:
    """The lines of these entries; of none the heading."""
    text = io.StringIO()
    writer = csv.writer(text)
    if not entries:
        writer.writerow(FIELDS)
    for entry in entries:
        row = document(entry)
        data = "" if row["data"] is None else orjson.dumps(row["data"]).decode()
        writer.writerow([harmless(value) for value in {**row, "data": data}.values()])
    return text.getvalue().encode()


def as_lines(entries: list[AuditEntry]) -> bytes:
    """One JSON object a line, all of it as it was signed."""
    return b"".join(orjson.dumps(document(entry)) + b"\n" for entry in entries)


KINDS: dict[str, Callable[[list[AuditEntry]], bytes]] = {"csv": as_csv, "jsonl": as_lines}


def document(entry: AuditEntry) -> dict[str, Any]:
    """An entry by its fields; `at` in UTC, spelled as its digest was made of."""
    found = {name: getattr(entry, name) for name in FIELDS if name != "on_behalf_of"}
    found["at"] = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    found["on_behalf_of"] = entry.data.get("on_behalf_of", "") if isinstance(entry.data, dict) else ""
    return {name: found[name] for name in FIELDS}


def harmless(value: Any) -> str:
    """A cell that no spreadsheet runs: an apostrophe goes before what would begin a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def streamed(request: HttpRequest, chunks: Iterator[bytes], name: str, content_type: str) -> StreamingHttpResponse:
    """A download that is sent while it is made, by whichever server asks."""
    body: Any = awaited(chunks) if hasattr(request, "scope") else chunks
    response = StreamingHttpResponse(body, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


async def awaited(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (chunk := await sync_to_async(lambda: next(chunks, None))()) is not None:
        yield chunk
