"""Microbenchmarks: what is planned for a device, and how injected timings become ceilings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from roofline.errors import UsageError
from roofline.model import Device
from roofline.specs import load
from roofline.specs.measure import (
    Bench,
    Plan,
    Run,
    build,
    open_torch,
    parse_smi,
    plan,
    run_plans,
)

REGISTRY = load()
H100 = Device(
    name="NVIDIA H100 80GB HBM3",
    compute_capability="9.0",
    sm_count=132,
    l2_bytes=50 * 2**20,
    memory_bytes=80 * 10**9,
)


def by_quantity(plans: Sequence[Plan]) -> dict[str, Plan]:
    return {p.quantity: p for p in plans}


def test_a_copy_moves_every_byte_twice() -> None:
    plans = by_quantity(plan(H100, None))

    size = plans["dram_copy"].size
    assert plans["dram_copy"].amount == 2 * size
    assert plans["dram_read"].amount == plans["dram_write"].amount == size


def test_dram_arrays_dwarf_the_cache_and_cache_arrays_fit_it() -> None:
    plans = by_quantity(plan(H100, None))

    assert plans["dram_copy"].size >= 4 * 50 * 2**20
    assert 2 * plans["l2_copy"].size <= 50 * 2**20
    # 64 passes over 12.5 MiB, read and written: 1.68 GB.
    assert plans["l2_copy"].amount == 64 * 2 * 12.5 * 2**20


def test_small_devices_get_small_arrays() -> None:
    small = replace(H100, memory_bytes=4 * 10**9, l2_bytes=2**20)

    plans = plan(small, None)

    assert max(p.size for p in plans if p.kind != "gemm") <= 0.5e9
    for p in plans:
        if p.kind == "gemm":
            assert 3 * 8 * p.size**2 <= 1e9


def test_a_gemm_is_two_n_cubed_and_takes_about_as_long_on_every_unit() -> None:
    plans = by_quantity(plan(H100, REGISTRY.specs["h100-sxm5-80gb"]))

    # At 989 TFLOP/s 20 ms are 19.8e12 operations: 16384^3 x 2 = 8.8e12 is the largest power of 2.
    assert plans["tensor_bf16"].size == 16384
    assert plans["tensor_bf16"].amount == 2 * 16384**3
    # At 67 TFLOP/s they are 1.3e12: 8192^3 x 2 = 1.1e12.
    assert plans["fp32"].size == 8192


def test_fp64_is_named_after_the_unit_that_does_it() -> None:
    assert "tensor_fp64" in by_quantity(plan(H100, REGISTRY.specs["h100-sxm5-80gb"]))
    assert "fp64" in by_quantity(plan(H100, REGISTRY.specs["h800-sxm5"]))
    assert "fp64" in by_quantity(plan(replace(H100, compute_capability="8.9"), None))


def test_only_types_that_the_device_has_are_planned() -> None:
    turing = replace(H100, compute_capability="7.5")

    def gemms(key: str) -> set[str]:
        return {p.quantity for p in plan(turing, REGISTRY.specs[key]) if p.kind == "gemm"}

    assert gemms("t4") == {"fp32", "fp64", "tensor_fp16", "tensor_int8"}
    assert gemms("gtx-1660-ti") == {"fp32", "fp64", "fp16"}


def bench(seconds: Sequence[float], refused: str | None = None, words: str = "no") -> Bench:
    """Runs that take the given times; building one quantity fails."""

    def build(p: Plan) -> Run:
        if p.quantity == refused:
            raise RuntimeError(words)
        return lambda: None

    return Bench(
        build=build,
        time=lambda _: seconds,
        watch=lambda *_: {"sm_clock_hz": 1.5e9, "power_w": 600.0},
    )


def test_timings_become_ceilings_with_clocks_and_power() -> None:
    plans = [by_quantity(plan(H100, None))["dram_read"]]

    (found,), skipped = run_plans(plans, bench([2e-3, 1e-3, 3e-3]))

    assert found.per_s == plans[0].amount / 1e-3
    assert found.median_per_s == plans[0].amount / 2e-3
    assert (found.sm_clock_hz, found.power_w, found.repeats) == (1.5e9, 600.0, 3)
    assert skipped == {}


def test_what_a_library_refuses_is_skipped_with_its_first_line() -> None:
    plans, started = plan(H100, None), []
    refusing = bench([1e-3], refused="tensor_fp8", words="not on this device\nat line 12\n")

    done, skipped = run_plans(plans, refusing, on_start=started.append)

    assert skipped == {"tensor_fp8": "not on this device"}
    assert len(done) == len(plans) - 1
    assert started == list(plans)


def test_a_failure_without_words_is_named_by_its_kind() -> None:
    _, skipped = run_plans(plan(H100, None), bench([1e-3], refused="fp32", words=""))

    assert skipped == {"fp32": "RuntimeError"}


CLOCKS = {"sm_clock_hz": 1.755e9, "dram_clock_hz": 2.619e9}


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        ("1755, 2619, 612.4\n", CLOCKS | {"power_w": 612.4}),
        ("1755, 2619, [N/A]\n", CLOCKS),
        ("[Not Supported]\n", {}),
        ("", {}),
    ],
)
def test_nvidia_smi_is_read_and_what_it_does_not_know_is_absent(
    text: str, sample: dict[str, float]
) -> None:
    assert parse_smi(text) == sample


def test_without_pytorch_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(UsageError, match="needs PyTorch") as caught:
        open_torch()

    assert "pip install torch" in str(caught.value)


def fake_torch(*, gpus: int) -> Any:
    properties = SimpleNamespace(
        name="NVIDIA L4", major=8, minor=9, multi_processor_count=58, total_memory=24 * 10**9
    )
    return SimpleNamespace(
        __version__="2.9",
        version=SimpleNamespace(cuda="12.8"),
        cuda=SimpleNamespace(
            is_available=lambda: gpus > 0,
            device_count=lambda: gpus,
            set_device=lambda _: None,
            get_device_properties=lambda _: properties,
        ),
    )


def test_without_a_gpu_the_message_says_where_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(gpus=0))

    with pytest.raises(UsageError, match="needs a GPU") as caught:
        open_torch()

    assert "roofline doctor" in str(caught.value)


def test_an_index_past_the_last_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(gpus=2))

    with pytest.raises(UsageError, match="there is no GPU 2: PyTorch sees 2"):
        open_torch(2)


def test_the_device_is_described_as_pytorch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(gpus=1))

    _, device, made_with = open_torch()

    assert device == Device(
        name="NVIDIA L4", compute_capability="8.9", sm_count=58, index=0, memory_bytes=24 * 10**9
    )
    assert made_with == "PyTorch 2.9, CUDA 12.8"


@pytest.mark.parametrize("quantity", [p.quantity for p in plan(H100, None)])
def test_pytorch_can_run_every_plan_on_a_cpu_in_small(quantity: str) -> None:
    torch = pytest.importorskip("torch")
    small = replace(by_quantity(plan(H100, None))[quantity], size=4096, passes=2)

    run = build(torch, replace(small, size=64) if small.kind == "gemm" else small, "cpu")

    run()
