"""Values on their way into columns: JSON text made before the transaction, large values into the blob table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.engine.ports import Cells, Delta, Json
from graphs.models import Blob
from graphs.models.fields import INLINE_LIMIT, REFERENCE, Packed, compress, digest_of, dump, expand
from graphs.store import sql


class Packer:
    """Turns values into column text and collects the blobs that their transaction must write first."""

    def __init__(self) -> None:
        self.blobs: dict[str, tuple[bytes, int]] = {}

    def column(self, value: Json) -> Packed | None:
        """The text of a JSON column."""
        if value is None:
            return None
        data = dump(value)
        return Packed(data.decode()) if len(data) <= INLINE_LIMIT else Packed(REFERENCE + self.keep(data))

    def keep(self, data: bytes) -> str:
        digest = digest_of(data)
        if digest not in self.blobs:
            self.blobs[digest] = (compress(data), len(data))
        return digest

    def split(self, values: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
        """The values that stay where they are, and the digests of those too large for it."""
        inline: dict[str, Json] = {}
        references: dict[str, str] = {}
        for name, value in values.items():
            data = dump(value)
            if len(data) <= INLINE_LIMIT:
                inline[name] = value
            else:
                references[name] = self.keep(data)
        return inline, references

    def full(self, cells: Cells) -> bytes:
        """The body of a checkpoint that holds all cells."""
        inline, references = self.split(cells)
        return body(set=inline, blobs=references)

    def delta(self, delta: Delta) -> bytes:
        """The body of a checkpoint that holds what one superstep changed."""
        inline, references = self.split(delta.set)
        tails, long_tails = self.split({name: list(tail) for name, tail in delta.append.items()})
        return body(set=inline, blobs=references, append=tails, tails=long_tails, drop=list(delta.drop))

    def write(self) -> None:
        """Insert the blobs that are new; one that exists is the same by its name. One statement, none without blobs."""
        rows = [(digest, data, size) for digest, (data, size) in self.blobs.items()]
        sql.insert_many("INSERT INTO graphs_blob (digest, data, size)", rows, "ON CONFLICT (digest) DO NOTHING")


def body(**parts: Any) -> bytes:
    return dump({name: part for name, part in parts.items() if part})


def fold(rows: list[dict[str, Any]]) -> Cells:
    """The cells that a full checkpoint and the deltas after it add up to. Reads all blobs they name in one query."""
    blobs = read({digest for row in rows for part in ("blobs", "tails") for digest in row.get(part, {}).values()})
    cells: Cells = {}
    for row in rows:
        delta_of(row, blobs).apply(cells)
    return cells


def unpack(row: dict[str, Any]) -> Delta:
    """What one checkpoint holds: the changes of its step, or all cells as `set` where it is a full one."""
    return delta_of(row, read({digest for part in ("blobs", "tails") for digest in row.get(part, {}).values()}))


def delta_of(row: dict[str, Any], blobs: dict[str, Json]) -> Delta:
    whole = {name: blobs[digest] for name, digest in row.get("blobs", {}).items()}
    tails = {name: blobs[digest] for name, digest in row.get("tails", {}).items()}
    return Delta(
        set={**row.get("set", {}), **whole},
        append={**row.get("append", {}), **tails},
        drop=tuple(row.get("drop", ())),
    )


def read(digests: set[str]) -> dict[str, Json]:
    if not digests:
        return {}
    return {blob.digest: expand(blob.data) for blob in Blob.objects.filter(pk__in=digests)}
