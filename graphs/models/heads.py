"""The newest or oldest open questions of several queues at once, read from the head of each queue's index."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models.expressions import RawSQL


def open_heads(
    queue_ids: Sequence[int],
    *,
    descending: bool,
    limit: int,
    past: tuple[datetime, uuid.UUID] | None = None,
    hidden: tuple[str, Sequence[Any]] | None = None,
) -> RawSQL:
    """The keys of the first `limit` open questions of these queues by age, beyond `past` where it is given.
    `hidden` is a statement with its values whose keys are left out.

    One scan over all queues would sort whatever is open in them for the sake of one page, so the heads are merged. It
    narrows and grants nothing: filter `visible_to(user)` by it.
    """
    direction = "DESC" if descending else "ASC"
    order = f"ORDER BY created_at {direction}, id {direction}"
    beyond = f"AND (created_at, id) {'<' if descending else '>'} (%s, %s)" if past else ""
    beyond += f" AND id NOT IN ({hidden[0]})" if hidden else ""
    branch = (
        "SELECT * FROM (SELECT id, created_at FROM graphs_interrupt WHERE queue_id = %s AND status IN ('open',"  # noqa: S608
        f" 'needs_info') {beyond} {order} LIMIT {int(limit)}) AS head"
    )
    ids = list(queue_ids) or [0]
    union = " UNION ALL ".join([branch] * len(ids))
    return RawSQL(  # noqa: S611 - every value is a parameter
        f"SELECT id FROM ({union}) AS heads {order} LIMIT {int(limit)}",  # noqa: S608
        [one for pk in ids for one in (pk, *_values(past), *(hidden[1] if hidden else ()))],
    )


def _values(past: tuple[datetime, uuid.UUID] | None) -> list[Any]:
    if past is None:
        return []
    moment, pk = past
    native = connection.features.has_native_uuid_field
    return [connection.ops.adapt_datetimefield_value(moment), pk if native else pk.hex]
