"""Whose work helps a kernel: its author's, its callers', nobody's."""

from __future__ import annotations

import pytest

from roofline.model import Action, Bound, Device
from roofline.text.verdict import avoid, hint, try_first
from roofline.verdict.action import action_of
from roofline.verdict.rule import judge
from tests.makers import TOY_DEVICE, measurement, result, unit, with_rest

ATEN = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"
FIX = (Action.FIX, "")
FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"


@pytest.mark.parametrize(
    ("name", "unit", "percent", "expected"),
    [
        ("mine", "dram", 85.0, (Action.LEAVE, "near_ceiling")),
        ("mine", "dram", 84.9, (Action.FIX, "")),
        ("mine", "l1", 91.0, (Action.FIX, "")),
        ("mine", "issue", 80.0, (Action.LEAVE, "near_ceiling")),
        ("mine", "xu", 71.0, (Action.LEAVE, "near_ceiling")),
        ("mine", "branch", 99.0, (Action.FIX, "")),  # nobody knows what the best reach
        # a library's is as good as there as it will be a little before that
        (
            "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
            "tensor",
            78.0,
            (Action.LEAVE, "near_ceiling"),
        ),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "tensor", 70.0, (Action.CALLER, "library")),
        (ATEN, "dram", 60.0, (Action.CALLER, "library")),
        (FILL, "dram", 60.0, (Action.LEAVE, "initialisation")),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "dram", 61.0, (Action.CALLER, "library")),
        # generated or framed, yet the user's own
        ("void cutlass::Kernel<cutlass::gemm::kernel::Gemm<X>>(P)", "tensor", 79.0, FIX),
        ("triton_poi_fused_add_0", "dram", 60.0, (Action.FIX, "")),
        ("fill_matrix", "dram", 60.0, (Action.FIX, "")),
    ],
)
def test_what_to_do(name: str, unit: str, percent: float, expected: tuple[Action, str]) -> None:
    bound = Bound.BANDWIDTH if unit in ("dram", "l1") else Bound.COMPUTE
    measured = measurement(name, demangled=name)
    assert action_of(measured, bound, unit, percent) == expected


def test_a_kernel_that_waits_is_near_no_ceiling() -> None:
    found = action_of(measurement(), Bound.LATENCY, "issue", 90.0)
    assert found == (Action.FIX, "")


@pytest.mark.parametrize(("capability", "action"), [("8.0", Action.LEAVE), ("8.6", Action.FIX)])
def test_fp64_where_there_is_almost_none_is_to_be_fixed(capability: str, action: Action) -> None:
    from dataclasses import replace

    device = replace(TOY_DEVICE, compute_capability=capability)
    assert action_of(measurement(device=device), Bound.COMPUTE, "fp64", 85.0)[0] is action


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "caller.gemm"),
        ("flash_fwd_kernel", "caller.attention"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "caller.communication"),
        (ATEN, "caller.elementwise"),  # has no entry of its own: that on others
        ("mine", "unit.dram"),
    ],
)
def test_a_library_s_callers_get_advice_of_their_own(name: str, advice: str) -> None:
    measured = measurement(name, demangled=name, units=with_rest(unit("dram", 70.0)))
    judged = judge(measured, result(measured).peaks)
    found = result(measured, judged)

    assert judged.advice == advice
    called = try_first(found) and avoid(found)[-1] == "tuning the kernel: it is not yours"
    assert called is (advice in ("caller.gemm", "caller.attention", "caller.elementwise"))


@pytest.mark.parametrize(
    ("blocks", "percent", "few"),
    [(16, 20.0, True), (16, 85.0, False), (1000, 20.0, False), (None, 20.0, False)],
)
@pytest.mark.parametrize(
    "name", ["nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "flash_fwd_kernel", ATEN]
)
def test_a_grid_of_few_blocks_needs_more_blocks_and_no_narrower_type(
    name: str, blocks: int | None, percent: float, few: bool
) -> None:
    grid = None if blocks is None else (blocks, 1, 1)
    units = with_rest(unit("dram", percent))
    device = Device(compute_capability="8.0", sm_count=108)
    measured = measurement(name, demangled=name, units=units, grid=grid, device=device)
    advised = try_first(result(measured, judge(measured, result(measured).peaks)))

    assert any("so few blocks do not fill the GPU" in line for line in advised) is few
    assert any("narrower" in line or "FP8" in line for line in advised) is not few


def test_a_short_wave_of_a_library_s_kernel_that_waits_needs_more_blocks_too() -> None:
    # 96 blocks of 108 SMs, 0.3 waves: nothing is near its peak.
    name = "cutlass_80_tensorop_gemm"
    device = Device(compute_capability="8.0", sm_count=108)
    few = {"grid": (96, 1, 1), "waves": 0.3, "device": device}
    for percent, narrower in ((12.0, False), (70.0, True)):
        units = with_rest(unit("dram", percent))
        measured = measurement(name, demangled=name, units=units, **few)
        advised = try_first(result(measured, judge(measured, result(measured).peaks)))
        assert any("narrower" in line for line in advised) is narrower
        assert any("do not fill the GPU" in line for line in advised) is not narrower


def test_who_instantiates_cutlass_chooses_its_tiles() -> None:
    name = "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<X>>(P)"
    device = Device(compute_capability="10.0", sm_count=148)
    few = {"grid": (1, 56, 1), "waves": 0.19, "device": device}
    measured = measurement(name, demangled=name, units=with_rest(unit("l2", 15.0)), **few)
    found = result(measured, judge(measured, result(measured).peaks))

    assert (found.verdict.action, found.verdict.cause) == (Action.FIX, "grid_too_small")
    assert try_first(found)[0].startswith("a smaller tile, split-K or stream-K of CUTLASS's")
    assert not any("it is not yours" in line for line in avoid(found))


def test_near_a_ceiling_only_less_work_helps() -> None:
    measured = measurement(units=with_rest(unit("dram", 92.0)))
    text = hint(result(measured, judge(measured, result(measured).peaks)))
    assert text.endswith("near its ceiling, only less work helps: move fewer bytes")


def test_the_verdict_has_it() -> None:
    measured = measurement(units=with_rest(unit("dram", 92.0)))
    judged = judge(measured, result(measured).peaks)
    assert (judged.action, judged.action_reason) == (Action.LEAVE, "near_ceiling")


def test_a_unit_that_is_full_of_waste_is_not_left_alone() -> None:
    counts = {"requested_sectors": 4e9, "ideal_sectors": 1e9, "excess_sectors": 3e9}
    measured = measurement(units=with_rest(unit("l1", 98.0), unit("dram", 30.0)), counts=counts)
    judged = judge(measured, result(measured).peaks)
    assert judged.gain_by == "waste"
    assert judged.action is Action.FIX
