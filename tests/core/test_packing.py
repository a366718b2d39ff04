"""Values survive the way between processes, and every type on the way is a quick one."""

from __future__ import annotations

import dataclasses
import gc
import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline import model
from roofline.model import Measurement, Note, Stall, UnitUse
from roofline.reader import batch, packing, survey

SAMPLES = Path(__file__).parents[2] / "sample_reports"
numbers = st.none() | st.floats(allow_nan=False)
texts = st.text(max_size=20)
measurements = st.builds(
    Measurement,
    source=texts,
    range=st.integers(0, 5),
    index=st.integers(0, 2**40),
    kind=st.sampled_from(model.Kind),
    name=texts,
    demangled=texts,
    grid=st.none() | st.tuples(st.integers(1), st.integers(1), st.integers(1)),
    duration_s=numbers,
    dram_bytes=numbers,
    operations=st.dictionaries(texts, st.floats(0), max_size=3),
    units=st.lists(
        st.builds(
            UnitUse,
            unit=texts,
            family=st.sampled_from(model.Family),
            percent=st.floats(0, 200),
            metric=texts,
        ),
        max_size=3,
    ).map(tuple),
    stalls=st.lists(st.builds(Stall, reason=texts, share=st.floats(0, 1)), max_size=3).map(tuple),
    notes=st.lists(st.builds(Note, code=texts, text=texts), max_size=3).map(tuple),
)


@given(st.lists(measurements, max_size=4))
def test_what_is_packed_comes_out_equal(values):
    assert packing.unpack(packing.pack(values)) == values


def test_measurements_of_the_samples_come_out_equal():
    values = [event.measurement for event in survey(SAMPLES) if isinstance(event, batch.Measured)]
    assert len(values) > 20
    assert packing.unpack(packing.pack(values)) == values


def dataclasses_in(annotation: object) -> set[type]:
    found: set[type] = set()
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        found.add(annotation)
        for inner in typing.get_type_hints(annotation).values():
            found |= dataclasses_in(inner)
    for inner in typing.get_args(annotation):
        found |= dataclasses_in(inner)
    return found


def test_every_type_of_a_measurement_is_packed_the_quick_way():
    assert dataclasses_in(Measurement) == set(packing._TYPES)


def test_errors_and_parts_go_the_same_way(tmp_path):
    bad = tmp_path / "bad.ncu-rep"
    bad.write_bytes(b"")
    refused, part = (
        packing.unpack(packing.pack(items[0]))
        for items in (*batch.batches([bad]), *batch.batches([SAMPLES / "h100_copy.ncu-rep"]))
    )

    assert str(refused.error) == str(next(batch.batches([bad]))[0].error)  # type: ignore[union-attr]
    assert part == next(batch.batches([SAMPLES / "h100_copy.ncu-rep"]))[0]


@pytest.mark.parametrize("end", [0, 5, -1])
def test_what_ends_too_early_is_no_value(end):
    with pytest.raises(ValueError, match="no whole value"):
        packing.unpack(packing.pack([1, 2, "three"])[:end])


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_afterwards_as_before(collecting):
    was = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        packing.unpack(packing.pack(1))
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if was else gc.disable)()
