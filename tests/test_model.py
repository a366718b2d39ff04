"""Values obey Python's protocols, and every quantity says what it is."""

import copy
import dataclasses
import enum
import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import roofline
from roofline import model
from roofline.errors import UsageError
from roofline.model import QUANTITIES, Measurement, Peaks, Rule
from tests.makers import analysis, measurement, result, verdict

SAMPLE = Path(__file__).parents[1] / "sample_reports" / "h100_mix.ncu-rep"
VALUES = (
    analysis(result(), result(measurement("other"))),
    measurement(notes=(model.Note(code="a", facts={"percent": 1.0}),), nvtx=("step",)),
    verdict(),
    Rule(latency=50),
    model.Missing(quantity="stalls", flag="--section WarpStateStats"),
    model.Stall(reason="wait", share=0.5),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_pickle_copy_and_compare(value):
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert dataclasses.replace(value) == value
    assert dataclasses.asdict(value).keys() == {item.name for item in dataclasses.fields(value)}


def kinds() -> Iterator[type]:
    for name, kind in inspect.getmembers(model, inspect.isclass):
        if kind.__module__ == "roofline.model" and not name.startswith("_"):
            yield kind


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_every_type_is_frozen_and_slotted(kind):
    if issubclass(kind, enum.Enum) or kind.__name__ == "Metrics":
        return
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)


def test_a_real_analysis_goes_through_all_of_it():
    found = roofline.analyze(SAMPLE)

    assert pickle.loads(pickle.dumps(found)) == found
    assert copy.deepcopy(found) == found
    assert dataclasses.asdict(found)["rule"] == {"latency": 60.0, "balance": 10.0, "waves": 1.0}


@pytest.mark.parametrize("values", [{"latency": -1}, {"balance": 101}, {"waves": float("nan")}])
def test_a_rule_out_of_range_is_refused(values):
    with pytest.raises(UsageError, match=next(iter(values))):
        Rule(**values)


def test_every_number_of_a_measurement_is_a_quantity():
    numbers = {
        item.name
        for kind in (Measurement, Peaks)
        for item in dataclasses.fields(kind)
        if str(item.type).startswith(("Annotated[Amount", "Annotated[Mean", "Annotated[Same,"))
    }
    derived = {name for name, value in vars(Measurement).items() if isinstance(value, property)}

    assert set(QUANTITIES) == numbers | derived
    assert all(quantity.label and quantity.unit for quantity in QUANTITIES.values())


@pytest.mark.parametrize(
    ("ending", "unit"),
    [("_s", "s"), ("_bytes", "B"), ("_bytes_per_s", "B/s"), ("_hz", "Hz"), ("_percent", "%")],
)
def test_units_are_those_of_the_names(ending, unit):
    for name, quantity in QUANTITIES.items():
        if name.endswith(ending) and not name.endswith("_per_s"):
            assert quantity.unit == unit
