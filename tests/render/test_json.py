from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roofline
from roofline.model import (
    PRECISIONS,
    Bound,
    Confidence,
    Device,
    Kind,
    Missing,
    Note,
    Peaks,
    PeakSet,
    Result,
    Stall,
    Verdict,
)
from roofline.render.json import render
from roofline.view import Choice, choose
from scripts.make_schemas import text
from tests.makers import TOY_PEAKS, analysis, measurement, result, unit, verdict

SCHEMA = json.loads(
    (Path(roofline.__file__).parent / "schemas" / "analysis-1.schema.json").read_text("utf-8")
)


def closed(schema: Any) -> Any:
    """The schema with no room for keys that it does not describe."""
    strict = deepcopy(schema)
    for definition in (strict, *strict["$defs"].values()):
        if "properties" in definition:
            definition["additionalProperties"] = False
    return strict


def parsed(*results: Result) -> Any:
    text = render(analysis(*results))
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    jsonschema.validate(document, SCHEMA)
    jsonschema.validate(document, closed(SCHEMA))
    return document


def full() -> Result:
    """Every optional field filled."""
    peaks = PeakSet(
        report=TOY_PEAKS,
        datasheet=Peaks(
            kind="datasheet",
            source="sheet",
            dram_bytes_per_s=1.1e12,
            operations_per_s={"fp32": 20e12, "tensor_fp8_sparse": 1e15},
        ),
        achieved=Peaks(kind="achieved", source="bench", dram_bytes_per_s=0.95e12),
        spec="toy",
    )
    measured = measurement(
        "full",
        source="/home/someone/secret/toy.ncu-rep",
        kind=Kind.KERNEL,
        l2_bytes=1e9,
        l1_bytes=2e9,
        operations={"fp32": 75e6, "tensor_bf16_sparse": 1e9},
        accumulate={"tensor_bf16_sparse": "fp32"},
        unmeasured=("fp16",),
        tensor_path="wgmma",
        occupancy_percent=50.0,
        occupancy_limiter="registers",
        registers_per_thread=64.0,
        stalls=(Stall(reason="long_scoreboard", share=0.31),),
        nvtx=("outer", "inner"),
        process=7,
        ncu_version="2025.3",
        settings={"clock_control": "base", "working_dir": "/home/someone"},
        provenance={"dram_bytes": "read + write"},
        missing=(Missing(quantity="stalls", flag="--section WarpStateStats"),),
        notes=(Note(code="computed", facts={"by": "locked"}),),
    )
    return Result(measurement=measured, peaks=peaks, verdict=verdict(roof_percent={"fp32": 0.75}))


def test_the_schema_is_a_schema_and_that_of_the_documents():
    assert json.loads(text("analysis-1.schema.json")) == SCHEMA, "python scripts/make_schemas.py"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_field_has_its_place():
    (launch,) = parsed(full())["launches"]

    assert launch["device"]["sm_clock_hz"] == 1e9
    assert launch["dram_bytes"] == 0.9e9
    assert launch["operations"] == {"fp32": 75e6, "tensor_bf16_sparse": 1e9}
    assert launch["utilization"] == {"dram": 90.0, "issue": 20.0, "l2": 40.0}
    assert launch["stalls"] == [{"reason": "long_scoreboard", "share": 0.31}]
    assert launch["peaks"]["dram_bytes_per_s"] == {
        "report": 1e12,
        "datasheet": 1.1e12,
        "achieved": 0.95e12,
    }
    assert launch["peaks"]["operations_per_s"]["fp32"] == {"report": 10e12, "datasheet": 20e12}
    assert launch["peaks"]["operations_per_s"]["fp64"] == {"report": 5e12}
    assert launch["provenance"]["dram_bytes"] == "read + write"
    assert launch["provenance"]["utilization.dram"] == "toy__dram.pct"
    assert launch["missing"] == [{"quantity": "stalls", "flag": "--section WarpStateStats"}]
    assert launch["notes"] == [{"code": "computed", "text": "locked"}]
    assert launch["arithmetic_intensity"] is None  # some operations ran uncounted


def test_paths_and_unknown_settings_stay_at_home():
    text = render(analysis(full()))

    assert "secret" not in text
    assert "someone" not in text
    assert '"source": "toy.ncu-rep"' in text


def test_a_launch_of_which_nothing_is_known():
    bare = result(
        measurement(
            grid=None,
            block=None,
            device=Device(),
            duration_s=None,
            dram_bytes=None,
            dram_read_bytes=None,
            dram_write_bytes=None,
            operations={},
            units=(),
            sm_clock_hz=None,
            dram_clock_hz=None,
            waves=None,
            peaks=Peaks(kind="report", source="none"),
        ),
        Verdict(bound=Bound.UNKNOWN, confidence=Confidence.LOW),
    )

    (launch,) = parsed(bare)["launches"]

    assert launch["bound"] == "unknown"
    assert launch["grid"] is None
    assert launch["operations"] == {}
    assert launch["dram_bytes"] is None
    assert launch["device"]["name"] is None


@given(
    st.floats(allow_nan=True, allow_infinity=True),
    st.dictionaries(st.sampled_from(PRECISIONS), st.floats(), max_size=3),
    st.text(),
)
def test_always_valid_json(number, operations, name):
    text = render(
        analysis(result(measurement(name, duration_s=1.0, waves=number, operations=operations)))
    )

    document = json.loads(text, parse_constant=lambda found: pytest.fail(found))
    waves = document["launches"][0]["waves"]
    assert waves == number if math.isfinite(number) else waves is None
    assert document["launches"][0]["name"] == name


def test_launches_stay_in_file_order_and_groups_as_asked():
    short, long = measurement("short", duration_s=1e-3), measurement("long", duration_s=2e-3)
    part = choose(analysis(result(short), result(long)), Choice(sort="time"))

    document = json.loads(render(part))

    assert [x["name"] for x in document["launches"]] == ["short", "long"]
    assert [x["name"] for x in document["groups"]] == ["long", "short"]
    assert [x["launches"] for x in document["groups"]] == [[1], [0]]
    assert [x["share"] for x in document["groups"]] == pytest.approx([2 / 3, 1 / 3])


def test_a_part_says_what_it_is_a_part_of():
    both = analysis(result(measurement("a")), result(measurement("b", duration_s=3e-3)))

    document = json.loads(render(choose(both, Choice(top=1))))
    jsonschema.validate(document, closed(SCHEMA))

    assert document["profiled"] == {"launches": 2, "groups": 2, "duration_s": 4e-3}
    assert document["filters"] == ["--top 1"]
    assert [x["name"] for x in document["launches"]] == ["b"]
    assert document["launches"][0]["share"] == pytest.approx(0.75)


def test_one_launch_is_one_line():
    two = analysis(result(unit_heavy()), result(unit_heavy()))

    assert sum('"demangled"' in line for line in render(two).splitlines()) == 4


def unit_heavy():
    return measurement(units=(unit("dram", 104.0), unit("tensor", 1.0)))
