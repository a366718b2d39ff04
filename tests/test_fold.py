from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.fold import OWN, POLICIES, fold, key_of
from roofline.model import (
    FOLDS,
    Device,
    Fold,
    Kind,
    Measurement,
    Missing,
    Note,
    Peaks,
    Stall,
)
from tests.makers import measurement, unit


def test_one_launch_is_itself():
    only = measurement()

    assert fold([only]) is only


def test_intensity_of_a_group_is_a_sum_over_a_sum():
    # 10 over 1 and 30 over 9 bytes: 40/10 = 4, where the mean of the ratios would be 6.67
    folded = fold(
        [
            measurement(operations={"fp32": 10.0}, dram_bytes=1.0),
            measurement(operations={"fp32": 30.0}, dram_bytes=9.0),
        ]
    )

    assert folded.arithmetic_intensity == 4.0


def test_utilisation_is_weighted_by_time():
    # 1 ms at 90 % and 3 ms at 50 %: 2.4 ms of 4
    folded = fold(
        [
            measurement(duration_s=1e-3, units=(unit("dram", 90.0),)),
            measurement(duration_s=3e-3, units=(unit("dram", 50.0),)),
        ]
    )

    assert folded.units[0].percent == pytest.approx(60.0)
    assert folded.duration_s == pytest.approx(4e-3)
    assert folded.count == 2


def test_what_one_launch_lacks_the_sum_lacks():
    folded = fold([measurement(), measurement(dram_bytes=None, operations={}, units=())])

    assert folded.dram_bytes is None
    assert folded.total_operations is None
    assert folded.units == ()


def at(rate: float, how: str = "") -> Peaks:
    return Peaks(
        kind="report",
        source="",
        dram_bytes_per_s=rate,
        l2_bytes_per_s=2 * rate,
        l1_bytes_per_s=3 * rate,
        operations_per_s={"fp32": rate},
        how={"dram": "counted", "l2": how},
    )


# Field -> its values in launches of 1 s and 3 s, and what both are together.
FIELDS: dict[str, tuple[Any, Any, Any]] = {
    "source": ("a.ncu-rep", "b.ncu-rep", "a.ncu-rep"),
    "range": (1, 2, 1),
    "index": (3, 4, 3),
    "kind": (Kind.KERNEL, Kind.KERNEL, Kind.KERNEL),
    "name": ("k", "k", "k"),
    "demangled": ("k()", "k()", "k()"),
    "grid": ((2, 1, 1), (2, 1, 1), (2, 1, 1)),
    "block": ((32, 1, 1), (32, 1, 1), (32, 1, 1)),
    "device": (Device(name="G"), Device(name="G"), Device(name="G")),
    "sm_count": (66, 66, 66),
    "count": (1, 2, 3),
    "duration_s": (1.0, 3.0, 4.0),
    "dram_bytes": (1.0, 2.0, 3.0),
    "dram_read_bytes": (1.0, None, None),
    "dram_write_bytes": (4.0, 5.0, 9.0),
    "l2_bytes": (6.0, 7.0, 13.0),
    "l1_bytes": (None, 8.0, None),
    "operations": ({"fp32": 1.0, "fp64": 9.0}, {"fp32": 2.0}, {"fp32": 3.0}),
    "rates": ({"fp32": 1.0}, {"fp32": 5.0}, {"fp32": 4.0}),
    "integer_operations": (5.0, 6.0, 11.0),
    "accumulate": (
        {"tensor_bf16": "fp32", "tensor_fp16": "fp16"},
        {"tensor_bf16": "fp32", "tensor_fp16": "fp32"},
        {"tensor_bf16": "fp32"},
    ),
    "tensor_path": ("wgmma", "mma_sync", None),
    "unmeasured": (("tensor",), ("fp16",), ("tensor", "fp16", "some launches")),
    "sm_clock_hz": (1e9, 2e9, 1.75e9),
    "dram_clock_hz": (2e9, 2e9, 2e9),
    "units": (
        (unit("dram", 90.0), unit("l2", 80.0)),
        (replace(unit("dram", 50.0), metric="another"), unit("issue", 99.0)),
        (unit("dram", 60.0),),
    ),
    "waves": (1.0, 5.0, 4.0),
    "occupancy_percent": (20.0, 40.0, 35.0),
    "theoretical_occupancy_percent": (50.0, None, None),
    "occupancy_limiter": ("registers", "blocks", None),
    "registers_per_thread": (32.0, 64.0, None),
    "shared_memory_bytes": (1024.0, 1024.0, 1024.0),
    "sm_active_percent": (80.0, 100.0, 95.0),
    "stalls": (
        (Stall(reason="wait", share=1.0),),
        (Stall(reason="barrier", share=1.0),),
        (Stall(reason="barrier", share=0.75), Stall(reason="wait", share=0.25)),
    ),
    "counts": ({"moves": 3.0, "spills": 1.0}, {"moves": 5.0}, {"moves": 8.0}),
    "ratios": ({"lanes": 8.0, "other_block": 64.0}, {"lanes": 16.0}, {"lanes": 14.0}),
    "passes": (8.0, 9.0, None),
    "nvtx": (("step",), ("other",), ()),
    "process": (1, 2, None),
    "ncu_version": ("2024.1", "2025.1", None),
    "spec": ("rtx-4070", "rtx-4070-gddr6", None),
    "settings": (
        {"replay_mode": "kernel", "clock_control": "base"},
        {"replay_mode": "kernel", "clock_control": "none"},
        {"replay_mode": "kernel"},
    ),
    "peaks": (
        at(2e12, "sectors"),
        at(4e12, "rate"),
        replace(at(3.5e12), how={"dram": "counted"}),
    ),
    "provenance": ({"waves": "a", "l2": "b"}, {"waves": "a"}, {"waves": "a"}),
    "missing": (
        (Missing(quantity="stalls", flag="-s"),),
        (Missing(quantity="stalls", flag="-s"), Missing(quantity="launch", flag="-l")),
        (Missing(quantity="stalls", flag="-s"), Missing(quantity="launch", flag="-l")),
    ),
    "notes": (
        (Note(code="a"),),
        (Note(code="b"), Note(code="a")),
        (Note(code="a"), Note(code="b")),
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_folds_as_its_policy_says(name):
    one = Measurement(**{key: values[0] for key, values in FIELDS.items()})
    other = Measurement(**{key: values[1] for key, values in FIELDS.items()})

    assert getattr(fold([one, other]), name) == FIELDS[name][2]


@pytest.mark.parametrize("kind", [Measurement, Peaks])
def test_no_field_is_without_a_policy(kind):
    policies = FOLDS[kind]

    assert set(policies) == {item.name for item in fields(kind)}
    assert set(policies.values()) - set(POLICIES) <= {Fold.KEY, Fold.FIRST, Fold.OWN}
    if kind is Measurement:
        assert set(FIELDS) == set(policies)
        assert {name for name, policy in policies.items() if policy is Fold.OWN} == set(OWN)


def test_a_launch_without_samples_leaves_the_stalls_of_the_others():
    folded = fold([measurement(stalls=(Stall(reason="wait", share=1.0),)), measurement()])

    assert folded.stalls == (Stall(reason="wait", share=1.0),)


def test_launches_weigh_the_same_where_one_has_no_duration():
    folded = fold([measurement(waves=1.0, duration_s=None), measurement(waves=3.0)])

    assert folded.waves == 2.0
    assert folded.duration_s is None


@pytest.mark.parametrize(
    "other",
    [
        {"grid": (101, 1, 1)},
        {"block": (128, 1, 1)},
        {"demangled": "void kernel(int *)"},
        {"device": Device(name="NVIDIA Other")},
    ],
)
def test_a_kernel_is_its_name_grid_block_and_device(other):
    assert key_of(measurement()) == key_of(measurement(index=7, duration_s=2.0))
    assert key_of(measurement()) != key_of(measurement(**other))


amounts = st.lists(
    st.tuples(st.floats(1e-6, 1.0), st.floats(1.0, 1e9), st.floats(1.0, 1e9), st.floats(0, 100)),
    min_size=1,
    max_size=6,
)


@given(amounts)
def test_a_fold_lies_between_its_launches_and_forgets_their_order(launches):
    members = [
        measurement(duration_s=t, dram_bytes=b, operations={"fp32": o}, units=(unit("dram", u),))
        for t, b, o, u in launches
    ]
    folded, backwards = fold(members), fold(members[::-1])

    intensities = [m.arithmetic_intensity for m in members]
    assert min(intensities) * 0.999 <= folded.arithmetic_intensity <= max(intensities) * 1.001
    percents = [m.units[0].percent for m in members]
    assert min(percents) - 1e-6 <= folded.units[0].percent <= max(percents) + 1e-6
    assert folded.duration_s == pytest.approx(backwards.duration_s)
    assert folded.units[0].percent == pytest.approx(backwards.units[0].percent)
