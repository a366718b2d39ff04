"""What a report says of its device against the registry: differences and their causes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roofline.model import Device, Peaks
from roofline.specs import Spec, load
from roofline.specs.audit import MEASURED_CLOCK, Difference, check_devices, compared
from roofline.text.notes import note_text
from tests.makers import measurement

REGISTRY = load()
A100 = REGISTRY.specs["a100-sxm4-40gb"]
CARD = REGISTRY.specs["rtx-3080-10gb"]
# What a faithful report of an A100 says: 2 x 1215 MHz x 5120 bits / 8 = 1555.2 GB/s.
DEVICE = Device(
    name="NVIDIA A100-SXM4-40GB",
    compute_capability="8.0",
    sm_count=108,
    sm_clock_max_hz=1410e6,
    dram_clock_max_hz=1215e6,
    dram_bus_bits=5120,
    l2_bytes=40 * 2**20,
    memory_bytes=42_298_834_944,
)
# 108 SMs x 64 FMA x 2 at 1.41 GHz = 19.49 TFLOP/s of FP32.
PEAKS = Peaks(
    kind="report",
    source="test",
    dram_bytes_per_s=1555.2e9,
    operations_per_s={"fp32": 108 * 128 * 1410e6, "tensor_bf16": 108 * 2048 * 1410e6},
)


NO_PEAKS = Peaks(kind="report", source="test")


def check(
    device: Device, peaks: Peaks, sm_clock_hz: float | None, spec: Spec, **values: Any
) -> dict[str, Difference]:
    """What a launch on ``device`` and ``spec`` disagree on, by quantity."""
    launch = measurement(device=device, peaks=peaks, sm_clock_hz=sm_clock_hz, **values)
    return {row.quantity: row for row in compared(launch, spec) if row.apart}


def cause(row: Difference) -> str | None:
    return None if row.cause is None else note_text(row.cause)


def test_a_faithful_report_differs_in_nothing() -> None:
    assert check(DEVICE, PEAKS, 1410e6, A100) == {}
    launch = measurement(device=DEVICE, peaks=PEAKS, sm_clock_hz=1410e6)
    assert len(compared(launch, A100)) == 10


def test_what_the_report_does_not_say_is_not_compared() -> None:
    launch = measurement(device=Device(), peaks=NO_PEAKS, sm_clock_hz=None)

    assert compared(launch, A100) == ()


def test_a_rate_that_differs_has_no_explanation_and_is_shown_per_clock_and_sm() -> None:
    # A report that gives twice the rate: the sparse peak taken for the dense one.
    sparse = replace(PEAKS, operations_per_s={"tensor_bf16": 108 * 4096 * 1000e6})

    found = check(DEVICE, sparse, 1000e6, A100)["tensor_bf16"]

    assert (found.registry, found.report, found.unit) == (2048, 4096, "op/clk/SM")
    assert found.percent == 100
    assert found.cause is None


def test_base_clocks_are_explained() -> None:
    # The A100's base clock is 1095 MHz: 22 % under boost.
    slow = replace(PEAKS, operations_per_s={"fp32": 108 * 128 * 1096e6})

    found = check(DEVICE, slow, 1096e6, A100)

    assert set(found) == {MEASURED_CLOCK}
    assert cause(found[MEASURED_CLOCK]) == "ncu held the base clock"
    assert found[MEASURED_CLOCK].percent == pytest.approx(-22.3, abs=0.1)


def test_other_low_clocks_are_explained_by_their_share_of_boost() -> None:
    found = check(DEVICE, NO_PEAKS, 705e6, A100)

    assert "50 % of boost" in cause(found[MEASURED_CLOCK])


def test_partner_boards_are_explained() -> None:
    board = Device(name="GeForce RTX 3080", sm_count=68, sm_clock_max_hz=1905e6)

    found = check(board, NO_PEAKS, None, CARD)

    assert cause(found["SM clock"]) == "a partner board with a boost clock of its own"
    assert found["SM clock"].percent == pytest.approx(11.4, abs=0.1)


def test_laptops_are_explained() -> None:
    laptop = REGISTRY.specs["rtx-4060-laptop"]
    device = Device(sm_clock_max_hz=2634e6)

    (found,) = check(device, NO_PEAKS, None, laptop).values()

    assert "laptop" in (cause(found) or "")


def test_a_memory_clock_under_its_maximum_is_explained() -> None:
    slow = replace(PEAKS, dram_bytes_per_s=0.9 * 1555.2e9)

    (found,) = check(DEVICE, slow, 1410e6, A100).values()

    assert found.quantity == "DRAM bandwidth"
    assert cause(found) == "the memory clock ran at 90 % of its maximum"


def test_a_bandwidth_that_clock_and_bus_do_not_explain_stays_unexplained() -> None:
    (found,) = check(DEVICE, replace(PEAKS, dram_bytes_per_s=2e12), 1410e6, A100).values()

    assert found.cause is None


def test_a_data_centre_part_with_another_boost_clock_is_not_excused() -> None:
    found = check(replace(DEVICE, sm_clock_max_hz=1600e6), PEAKS, None, A100)

    assert cause(found["SM clock"]) is None


def test_a_mig_slice_is_compared_with_the_slice() -> None:
    name = "NVIDIA A100-SXM4-40GB MIG 3g.20gb"
    device = replace(DEVICE, name=name, sm_count=42, l2_bytes=20 * 2**20, memory_bytes=None)
    spec = REGISTRY.find(device).spec
    assert spec is not None

    found = check(device, replace(PEAKS, operations_per_s={}), 1410e6, spec)

    # 20 of 40 GB is half of the memory; the report still gives the bandwidth of the whole.
    assert set(found) == {"DRAM bandwidth"}
    assert "MIG slice" in cause(found["DRAM bandwidth"])


def test_the_path_of_the_tensor_operations_is_heeded() -> None:
    h100 = REGISTRY.specs["h100-sxm5-80gb"]
    device = Device(sm_count=132)
    peaks = replace(PEAKS, operations_per_s={"tensor_bf16": 132 * 2730.67 * 1e9})

    peaks = replace(peaks, dram_bytes_per_s=None)

    assert "tensor_bf16" in check(device, peaks, 1e9, h100)
    assert "tensor_bf16" not in check(device, peaks, 1e9, h100, tensor_path="mma_sync")


def test_a_device_is_checked_once_and_keeps_its_largest_difference() -> None:
    launches = [
        measurement(device=DEVICE, peaks=PEAKS, sm_clock_hz=clock) for clock in (1400e6, 705e6, 1e9)
    ]

    (checked,) = check_devices(launches, REGISTRY)

    assert checked.found.spec == REGISTRY.specs["a100-sxm4-40gb"]
    assert checked.compared == 10
    (clock,) = [d for d in checked.differences if d.quantity == MEASURED_CLOCK]
    assert clock.report == 705e6


def test_a_device_that_is_not_known_is_named_with_what_is_near() -> None:
    device = Device(name="NVIDIA H100")

    (checked,) = check_devices([measurement(device=device)], REGISTRY)

    assert (checked.device, checked.found.spec, checked.compared) == ("NVIDIA H100", None, 0)
    assert "NVIDIA H100 PCIe" in checked.found.suggestions
