"""Values obey Python's protocols, and every quantity says what it is."""

import copy
import dataclasses
import enum
import inspect
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import roofline
from roofline import model
from roofline.compare import model as changes
from roofline.compare.change import changes_of
from roofline.compare.gates import judge, parse_gate
from roofline.compare.judge import compare, judge_program
from roofline.compare.predictions import parse_expect
from roofline.compare.record import run_check
from roofline.errors import UsageError
from roofline.model import (
    QUANTITIES,
    Details,
    Instruction,
    Measurement,
    Peaks,
    Rule,
    RuleResult,
)
from roofline.timeline import model as uses
from roofline.timeline.load import load_timeline
from roofline.timeline.selection import select_ranks
from roofline.timeline.what_if import what_if
from roofline.wall_time import ProgramTimes, TimeSummary

SAMPLES = Path(__file__).parents[1] / "sample_reports"


def public_types() -> list[type]:
    """Every class of the three modules of values and of ``roofline`` itself, enumerations apart."""
    exported = [getattr(roofline, name) for name in roofline.__all__]
    named = [
        kind
        for home in (model, changes, uses)
        for name, kind in vars(home).items()
        if not name.startswith("_") and getattr(kind, "__module__", "") == home.__name__
    ]
    kinds = {kind for kind in (*named, *exported) if inspect.isclass(kind)}
    values = {k for k in kinds if not issubclass(k, enum.Enum | Exception) and k != model.Metrics}
    return sorted(values, key=lambda kind: kind.__name__)


def parts(value: Any) -> Iterator[Any]:
    """Every dataclass within a value."""
    if dataclasses.is_dataclass(value):
        yield value
        value = [getattr(value, item.name) for item in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    for item in value if isinstance(value, list | tuple) else ():
        yield from parts(item)


@cache
def real_values() -> dict[type, Any]:
    """A value of each type, made from the samples as the commands make them."""
    mix = SAMPLES / "h100_mix.ncu-rep"
    before, after = (
        roofline.analyze(*(SAMPLES / f"{name}.ncu-rep" for name in names))
        for names in (("h100_decode_before", "h100_copy"), ("h100_decode_after", "a100_tiny"))
    )
    comparison = compare(
        before,
        after,
        allow=["gpu"],
        expectations=[parse_expect("gemv=1.2x")],
        shares=dict.fromkeys((0, 1), (0.4, 0.5)),
    )
    wall = TimeSummary(**dict.fromkeys((f.name for f in dataclasses.fields(TimeSummary)), 1.0))
    times = ProgramTimes(schema="roofline.time/1", wall_s=wall)
    one = load_timeline(SAMPLES / "h100_step.trace.json.gz")
    ranks = [dataclasses.replace(one, rank=number) for number in range(2)]
    selection = select_ranks(ranks, uses.Criteria(lanes=True))
    moves = [uses.Move(what="kernels", factor=0.5)]
    made = (
        what_if(ranks[0], moves).what_if,
        uses.Criteria(),
        roofline.analyze(
            mix, SAMPLES / "h100_basic.ncu-rep", SAMPLES / "none.ncu-rep", on_error=lambda _: None
        ),
        next(iter(roofline.read(mix))),
        comparison,
        judge(comparison, [parse_gate("regression=5%")]),
        changes_of(comparison.pairs[0].before, comparison.pairs[0].after),
        comparison.left_out,
        judge_program(times, times),
        run_check("true")[0],
        selection,
        uses.Useful(**dict.fromkeys((f.name for f in dataclasses.fields(uses.Useful)), 1.0)),
        tuple(QUANTITIES.values()),
        RuleResult(identifier="SOLBottleneck", title="Small Grid", text="..."),
        Details(index=0, sampled=(Instruction(address=16, sass="EXIT"),)),
        roofline.Point("mine", gpu="h100", seconds=1.0, flops=1e12),
    )
    return {type(part): part for part in parts(made)}


@pytest.mark.parametrize("kind", public_types(), ids=lambda kind: kind.__name__)
def test_every_public_value_obeys_python(kind):
    value = next(value for value in real_values().values() if isinstance(value, kind))

    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert dataclasses.replace(value) == value
    assert dataclasses.asdict(value).keys() == {item.name for item in dataclasses.fields(value)}


def test_a_rule_is_a_part_of_the_analysis():
    found = dataclasses.asdict(real_values()[model.Analysis])

    assert found["rule"] == {"latency": 60.0, "balance": 10.0, "waves": 1.0}


@pytest.mark.parametrize("values", [{"latency": -1}, {"balance": 101}, {"waves": float("nan")}])
def test_a_rule_out_of_range_is_refused(values):
    with pytest.raises(UsageError, match=next(iter(values))):
        Rule(**values)


def test_a_threshold_as_a_fraction_is_refused():
    with pytest.raises(UsageError, match="percentage") as refused:
        Rule(latency=0.6)
    assert refused.value.hint == "60 for 60 %"
    assert (Rule(latency=0).latency, Rule(latency=1).latency) == (0, 1)


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


def test_what_is_built_thawed_is_the_value() -> None:
    named: dict[str, Any] = {
        "unit": "dram",
        "family": model.Family.BANDWIDTH,
        "percent": 12.0,
        "metric": "dram__a",
    }
    use = model.thawed(model.UnitUse)(**named)
    use.__class__ = model.UnitUse

    assert use == model.UnitUse(**named)
    assert hash(use) == hash(model.UnitUse(**named))
    assert dataclasses.replace(use, percent=1.0).percent == 1.0
    assert pickle.loads(pickle.dumps(use)) == use
    with pytest.raises(dataclasses.FrozenInstanceError):
        use.percent = 1.0
