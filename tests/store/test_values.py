"""What goes in comes out, on both databases, whatever its size (F23)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphs.engine.ports import Delta
from graphs.engine.statuses import ThreadStatus
from graphs.models import Blob, Checkpoint, Interrupt, Task, Thread
from tests.records import Pen, finished, question, statements

pytestmark = pytest.mark.django_db(transaction=True)

LARGE = "x" * 70_000
SAMPLES: list[Any] = [
    None,
    False,
    0,
    -0.0,
    1e308,
    5e-324,
    0.1 + 0.2,
    2**63 - 1,
    -(2**63),
    "",
    "@0123",
    '"',
    "ü ß 漢字 🏳️‍🌈 \u2028 \x7f",
    [],
    {},
    {"b": 1, "a": [None, {"": [[]]}]},
    {"$blob": "x", "__proto__": 1},
    [LARGE, {"large": LARGE}],
]

json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_$@", max_size=5), inner, max_size=4),
    max_leaves=12,
)


def exact(value: Any) -> str:
    return repr(value)


@pytest.mark.parametrize("value", SAMPLES, ids=lambda value: repr(value)[:20])
def test_every_place_of_a_value_gives_it_back_exactly(value: Any) -> None:
    pen = Pen(cells={"cell": value})
    pen.claim()
    pen.ask(question("q", value=value))
    pen.write(
        1,
        {"cell": value, "more": value, "list": [value, value]},
        delta=Delta(set={"more": value}, append={"list": [value, value]}),
        results=[finished("a", 1, value, writes=(("c", value),))],
        output=value,
    )
    snapshot = pen.load()
    assert exact(snapshot.cells) == exact({"cell": value, "more": value, "list": [value, value]})
    assert exact(snapshot.output) == exact(value)
    assert exact(Task.objects.get(path="a").output) == exact(value)
    assert exact(Interrupt.objects.get(thread=pen.thread).payload) == exact(value)
    (record,) = snapshot.tasks.values()
    assert exact(record.interrupts[0].value) == exact(value)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=json)
def test_any_json_comes_back_exactly(value: Any) -> None:
    pen = Pen(cells={"cell": value})
    assert exact(pen.load().cells["cell"]) == exact(value)


def test_a_large_value_is_stored_once_and_compressed() -> None:
    pen = Pen(cells={"n": 0})
    pen.claim()
    cells: dict[str, Any] = {"n": 0}
    for step in (1, 2):
        cells = {**cells, f"cell{step}": LARGE}
        pen.write(step, cells, delta=Delta(set={f"cell{step}": LARGE}), results=[finished("a", step, LARGE)])
    blob = Blob.objects.get()
    assert blob.size > 70_000 > 10 * len(blob.data)
    assert sum(len(str(row)) for row in Checkpoint.objects.values_list("data", flat=True)) < 1000
    assert Task.objects.filter(output=LARGE).count() == 0
    assert pen.load().cells == {"n": 0, "cell1": LARGE, "cell2": LARGE}


def test_blobs_of_a_load_are_read_in_one_query() -> None:
    pen = Pen(cells={str(n): str(n) * 70_000 for n in range(5)})
    with statements() as sent:
        pen.load()
    assert len([one for one in sent if "graphs_blob" in one]) == 1


def test_a_large_input_and_answerable_payload_read_as_themselves() -> None:
    pen = Pen()
    thread = pen.thread
    thread.input = {"text": LARGE}
    thread.save()
    assert Thread.objects.get(pk=thread.pk).input == {"text": LARGE}
    pen.claim()
    (asked,) = pen.pause(question("q", value={"text": LARGE}))
    row = Interrupt.objects.get(pk=asked.id)
    assert row.payload == {"text": LARGE}
    assert len(row.search) <= 4000
    assert pen.thread.status == ThreadStatus.INTERRUPTED
