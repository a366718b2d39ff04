"""Whole verdicts from the counters of a launch: what people got wrong answers about."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from roofline.analysis import Judge
from roofline.counters.measure import measure
from roofline.model import Bound, Result
from roofline.specs import load
from roofline.text import verdict as said
from roofline.units import the_unit
from roofline.view import promise
from tests.makers import measurement, unit
from tests.metrics import Value, launch

PCT = ".avg.pct_of_peak_sustained_elapsed"
UNITS = (
    *("dram__cycles_active", "lts__t_sectors", "l1tex__data_pipe_lsu_wavefronts"),
    *("sm__issue_active", "sm__pipe_fma_cycles_active", "sm__pipe_alu_cycles_active"),
    *("sm__pipe_fp64_cycles_active", "sm__pipe_tensor_cycles_active"),
)
A100 = {
    "device__attribute_display_name": "NVIDIA A100-SXM4-40GB",
    "device__attribute_compute_capability_major": 8.0,
    "device__attribute_compute_capability_minor": 0.0,
    "device__attribute_multiprocessor_count": 108.0,
    "device__attribute_max_warps_per_multiprocessor": 64.0,
}
T4 = {
    "device__attribute_display_name": "Tesla T4",
    "device__attribute_compute_capability_major": 7.0,
    "device__attribute_compute_capability_minor": 5.0,
    "device__attribute_multiprocessor_count": 40.0,
    "device__attribute_max_warps_per_multiprocessor": 32.0,
}


def judged(
    device: Mapping[str, Value],
    busy: Mapping[str, float],
    instanced: Mapping[str, Mapping[str, float]] | None = None,
    **values: Value,
) -> Result:
    """One launch of 1 ms: units at 5 % but for those that are ``busy``, and further metrics."""
    units = dict.fromkeys(UNITS, 5.0) | dict(busy)
    metrics: dict[str, Value] = {name + PCT: percent for name, percent in units.items()}
    metrics |= {"gpu__time_duration.sum": 1e-3, "launch__block_size": 256.0, **device}
    metrics |= {name.replace("__DOT__", "."): value for name, value in values.items()}
    found = launch(metrics, instanced=instanced or {})
    return Judge(registry=load())(measure(found))


def test_the_larger_of_two_causes_comes_first() -> None:
    # 64 blocks on 40 SMs, two on each: 0.80 waves give 1.25x, 27 of 50 % occupancy 1.85x.
    found = judged(
        T4,
        {"lts__t_sectors": 33.0},
        launch__waves_per_multiprocessor=0.8,
        launch__grid_dim_x=64.0,
        launch__grid_dim_y=1.0,
        launch__grid_dim_z=1.0,
        launch__block_dim_x=256.0,
        launch__block_dim_y=1.0,
        launch__block_dim_z=1.0,
        launch__registers_per_thread=124.0,
        launch__occupancy_limit_registers=2.0,
        sm__maximum_warps_per_active_cycle_pct=50.0,
        sm__warps_active__DOT__avg__DOT__pct_of_peak_sustained_active=27.0,
        smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active__DOT__ratio=9.0,
        smsp__average_warps_issue_stalled_wait_per_issue_active__DOT__ratio=1.0,
    )

    gains = {cause.code: cause.gain for cause in found.verdict.causes}
    assert list(gains) == ["few_warps", "grid_too_small", "stall_long_scoreboard"]
    assert gains["few_warps"] == pytest.approx(50 / 27)
    assert gains["grid_too_small"] == pytest.approx(1.25)
    assert said.cause(found) == (
        "few warps: occupancy is 27 % of 50 % possible, as 64 blocks are 0.8 waves; the grid is "
        "too small: 64 blocks on 40 SMs, 0.8 waves; top stall long scoreboard (90 % of stalls)"
    )


WAVEFRONTS, REQUESTS = "l1tex__data_pipe_lsu_wavefronts", "l1tex__lsuin_requests"
PATH = "l1tex__m_l1tex2xbar_req_cycles_active"
HOST, READ = "lts__d_sectors_fill_sysmem", "pcie__read_bytes.sum.pct_of_peak_sustained_elapsed"


@pytest.mark.parametrize(
    ("device", "busy", "values", "top", "near"),
    [
        (A100, {WAVEFRONTS: 90.0, REQUESTS: 85.0}, {}, "l1", "lsu"),
        (A100, {WAVEFRONTS: 85.0, REQUESTS: 90.0}, {}, "lsu", "l1"),
        # L1's path to L2 reaches half of its counter's peak: 43 % are 86.
        (T4, {PATH: 43.0, "lts__t_sectors": 80.0}, {"l1tex__throughput" + PCT: 86.0}, "l1", "l2"),
        (T4, {PATH: 43.0, "lts__t_sectors": 90.0}, {"l1tex__throughput" + PCT: 86.0}, "l2", "l1"),
        (A100, {HOST: 90.0}, {READ: 85.0}, "sysmem", "pcie"),
        (A100, {HOST: 85.0}, {READ: 90.0}, "pcie", "sysmem"),
        # No second units at all: they count the same work.
        (A100, {"dram__cycles_active": 90.0}, {"lts__throughput" + PCT: 85.0}, "dram", None),
        (T4, {"sm__pipe_fp64_cycles_active": 85.0, "sm__mio_pq_read_cycles_active": 80.0}, {},
         "fp64", None),
    ],
)  # fmt: skip
def test_what_the_same_fix_relieves_does_not_limit_next(
    device: Mapping[str, Value],
    busy: Mapping[str, float],
    values: Mapping[str, float],
    top: str,
    near: str | None,
) -> None:
    found = judged(device, {"sm__issue_active": 40.0, **busy}, **values)
    verdict = found.verdict

    assert (verdict.limiter, verdict.co_limiter, verdict.next_limiter) == (top, near, "issue")
    assert verdict.next_floor_s == pytest.approx(0.4e-3)
    if near is not None:
        both = f"with less work for it and {the_unit(near)}: up to 2.50x"
        assert f"{both} (1.00 ms -> 400 µs), then issue slots" in said.bounds(found)


def test_an_fp64_queue_limits_of_its_own_where_fp64_does_not_pass_it() -> None:
    busy = {"sm__pipe_fp64_cycles_active": 85.0, "sm__mio_pq_read_cycles_active": 80.0}

    assert judged(A100, busy).verdict.next_limiter == "lsu"


def test_nothing_limits_next_where_all_else_is_relieved_too() -> None:
    uses = (unit("l1", 90.0), unit("lsu", 85.0))
    measured = measurement(units=uses, operations={}, dram_bytes=None)
    found = Judge(registry=load())(measured)

    assert (found.verdict.next_limiter, found.verdict.next_floor_s) == (None, None)
    assert said.bounds(found).endswith("until L1/shared is full")


@pytest.mark.parametrize(
    ("device", "fp64", "told"),
    [
        # 43 of the 86 % that two FP64 units an SM reach
        (T4, 43.0, "headroom: up to 2.00x (1.00 ms -> 500 µs) until the FP64 pipe is full"),
        (T4, 86.0, "no headroom: the FP64 pipe is full"),
        (T4, 86.1, "no headroom: the FP64 pipe is full"),
        (A100, 80.0, "headroom: up to 1.25x (1.00 ms -> 800 µs) until the FP64 pipe is full"),
    ],
)
def test_fp64_where_there_is_almost_none_has_no_headroom_that_it_cannot_reach(
    device: Mapping[str, Value], fp64: float, told: str
) -> None:
    assert told in said.bounds(judged(device, {"sm__pipe_fp64_cycles_active": fp64}))


def test_what_limits_is_nearest_to_full_in_all_that_is_said_of_it() -> None:
    # 77.4 of 86 % are 90 %: full before the ALU pipe, which is busier.
    found = judged(T4, {"sm__pipe_fp64_cycles_active": 77.4, "sm__pipe_alu_cycles_active": 80.0})
    verdict = found.verdict

    assert (verdict.limiter, verdict.nearest, verdict.co_limiter) == ("fp64", "fp64", "alu")
    assert (verdict.limiter_percent, verdict.next_limiter) == (77.4, "alu")
    assert verdict.floor_s == pytest.approx(0.9e-3)
    assert verdict.next_floor_s == pytest.approx(0.8e-3)
    assert {"near_fp64", "near_alu"} <= verdict.evidence.keys()
    (points,) = (d.facts["points"] for d in verdict.doubts if d.code == "other_unit_near")
    assert points == pytest.approx(10.0)
    assert verdict.waste_floor_s == pytest.approx(0.8e-3)
    assert verdict.evidence["most"] == pytest.approx(1 / 0.9)
    assert said.bounds(found).endswith(
        "up to 1.11x (1.00 ms -> 900 µs) until the FP64 pipe is full"
    )


def test_conversions_fill_the_fp64_pipe_where_that_does_them() -> None:
    # Each FP32 value that a double sum takes is converted first: half of what the pipe does.
    mix = {"F2F.F64.F32": 8.46e8, "DADD": 8.46e8, "F2F.F32.F64": 2.82e5, "IADD3": 3.5e10}
    mix |= {"F2I.TRUNC": 1e6, "I2F.S8": 1e6, "MUFU.RCP64H": 1e6}
    opcodes = {"sass__inst_executed_per_opcode_with_modifier_all": mix}
    busy = {"sm__pipe_fp64_cycles_active": 86.1, "sm__pipe_alu_cycles_active": 36.0}
    found, wide = (judged(device, busy, opcodes) for device in (T4, A100))

    causes = {cause.code: cause.gain for cause in found.verdict.causes}
    assert list(causes) == ["slow_fp64", "fp64_conversions"]
    assert causes["fp64_conversions"] == pytest.approx((2 * 8.46e8 + 2.82e5) / 8.46e8)
    claim = "conversions to and from FP64: 846,282,000 instructions, 50.0 % of what its pipe does"
    assert claim in said.claim(found)
    assert any("a double accumulator converts each value" in s for s in said.try_first(found))
    assert "fp64_conversions" not in {cause.code for cause in wide.verdict.causes}


def test_constants_and_barriers_are_no_memory_instructions() -> None:
    # Constants at 92 % of the ADU's rate, beside LSU instructions at 50 %.
    busy = {WAVEFRONTS: 98.0, "sm__inst_executed_pipe_adu": 95.0, REQUESTS: 50.0}
    found = judged(A100, {**busy, "idc__request_cycles_active": 92.0, "sm__issue_active": 88.0})
    full = judged(A100, {"sm__inst_executed_pipe_adu": 95.0, "idc__request_cycles_active": 92.0})

    assert {use.unit: use.percent for use in found.measurement.units}["lsu"] == 50.0
    assert (found.verdict.co_limiter, found.verdict.next_limiter) == ("adu", "adu")
    assert "less work for it: up to 1.05x" in said.bounds(found)
    assert (full.verdict.limiter, full.verdict.co_limiter) == ("adu", "constant")
    assert full.verdict.next_floor_s == pytest.approx(0.05e-3)


def test_local_memory_is_not_told_to_coalesce() -> None:
    sectors = "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}.sum"
    found = judged(
        A100,
        {"l1tex__data_pipe_lsu_wavefronts": 92.0},
        **{
            sectors.format("local", "ld"): 9.5e8,
            sectors.format("local", "st"): 4e8,
            sectors.format("global", "ld"): 3e7,
            sectors.format("global", "st"): 1e7,
            "launch__shared_mem_per_block_static": 0.0,
            "launch__shared_mem_per_block_dynamic": 0.0,
            "launch__registers_per_thread": 255.0,
        },
    )

    advice = " ".join((said.hint(found), *said.try_first(found)))
    assert found.verdict.limiter == "l1"
    # 13.5e8 of 13.9e8 sectors
    assert "local memory: 97.1 % of L1's sectors (1,350,000,000)" in said.claim(found)
    assert "variable index" in advice
    assert "__launch_bounds__" in advice
    assert "smaller tiles" in advice
    assert "oalesce" not in advice
    assert not any("traffic is global" in line for line in said.avoid(found))


def test_atomics_are_in_the_claim_and_first_in_the_advice() -> None:
    found = judged(A100, {"lts__d_atomic_input_cycles_active": 95.0, "lts__t_sectors": 40.0})

    assert found.verdict.limiter == "l2"
    assert "atomics: L2's atomic units are busy 95 %" in said.claim(found)
    assert "atomic" in said.try_first(found)[0]
    assert "tiles" not in said.try_first(found)[0]


def test_an_fp64_tensor_gemm_is_limited_by_its_own_pipe() -> None:
    # 92 % of 19.5 TFLOP/s in 1 ms: 1.794e10 operations, 2 x 8 x 8 x 4 for each DMMA.884.
    mix = {"DMMA.8x8x4": 1.794e10 / 512}
    found = judged(
        A100,
        {
            "sm__pipe_tensor_op_dmma_cycles_active": 90.0,
            "sm__pipe_fp64_cycles_active": 90.0,
            "l1tex__data_pipe_lsu_wavefronts": 30.0,
        },
        {"sass__inst_executed_per_opcode_with_modifier_all": mix},
        sm__cycles_elapsed__DOT__avg__DOT__per_second=1.41e9,
    )

    advice = " ".join(said.try_first(found))
    assert found.verdict.bound is Bound.COMPUTE
    assert found.verdict.limiter == "tensor_fp64"
    assert found.verdict.next_limiter == "l1"
    assert found.verdict.next_floor_s == pytest.approx(0.3e-3)
    assert all(word in advice for word in ("TF32", "accuracy"))
    assert "FP8" not in advice


def shape(blocks: float, threads: float = 256.0) -> dict[str, Value]:
    """The metrics of a grid of so many blocks."""
    sizes = (("grid", blocks), ("block", threads))
    ones = {f"launch__{what}_dim_{axis}": 1.0 for what, _ in sizes for axis in "yz"}
    return ones | {f"launch__{what}_dim_x": size for what, size in sizes}


def test_reductions_that_fill_l2_are_named_without_its_atomic_units() -> None:
    # 6 of 7 in 10 sectors
    found = judged(
        A100,
        {"lts__t_sectors": 90.0},
        **{
            "lts__t_sectors_op_red.sum": 6e8,
            "lts__t_sectors_op_atom.sum": 0.0,
            "lts__t_sectors.sum": 7e8,
        },
    )

    assert "atomics and reductions are 85.7 % of L2's sectors" in said.claim(found)
    assert "atomic" in said.try_first(found)[0]


def test_integer_products_are_not_told_to_take_tf32() -> None:
    mix = {"IDP.4A.S8.S8": 1e9, "LDG.E": 1e6}
    found = judged(
        A100,
        {"sm__pipe_fma_cycles_active": 85.0},
        {"sass__thread_inst_executed_true_per_opcode_with_modifier_all": mix},
    )

    assert found.measurement.integer_operations == 8e9
    assert said.hint(found) == "FMA pipe at 85 %: fewer integer multiply-adds"
    assert not any("TF32" in line for line in said.try_first(found))


@pytest.mark.parametrize(
    ("busy", "code", "gain"),
    [
        # A quarter of each warp is enough: 85 % falls to 21 %, and DRAM at 40 % holds.
        ({"sm__issue_active": 85.0, "dram__cycles_active": 40.0}, "empty_lanes", 2.5),
        # Bytes stay; empty lanes may be why DRAM is not full.
        ({"dram__cycles_active": 70.0}, "partial_warps", 1 / 0.7),
    ],
)
def test_empty_lanes_are_waste_only_where_lanes_take_time(busy, code, gain) -> None:
    found = judged(A100, busy, **shape(1e6, 8.0))

    assert found.verdict.cause == code
    assert found.verdict.gain == pytest.approx(gain)


def test_what_has_no_bound_stands_under_no_other() -> None:
    # Blocks of one thread. 32 warps for 16 give 1.89x at most, but filled ones have less to load.
    curve = {str(size): 32.0 if size >= 64 else 16.0 for size in (32, 64, 128)}
    found = judged(
        T4,
        {"dram__cycles_active": 53.0},
        {"launch__occupancy_per_block_size": curve},
        **shape(1e6, 1.0),
        sm__warps_active__DOT__avg__DOT__pct_of_peak_sustained_active=50.0,
        sm__maximum_warps_per_active_cycle_pct=50.0,
        launch__waves_per_multiprocessor=1000.0,
        launch__registers_per_thread=40.0,
    )
    v = found.verdict

    assert [cause.code for cause in v.causes] == ["partial_warps", "block_size_limits"]
    assert (v.gain, v.gain_by) == (None, "unbounded")
    assert said.bounds(found).endswith("; with more warps alone: up to 1.89x")
    assert said.gain(found).startswith("no bound: no counter says what it saves to fill the warps")
    assert promise(found, 1.0) < promise(judged(A100, {"dram__cycles_active": 70.0}), 1.0)


def test_a_green_context_of_unknown_size_is_not_judged_surely() -> None:
    context = {"launch__uses_green_context": 1.0}
    found = judged(A100, {"dram__cycles_active": 88.0}, **context)
    whole = judged(A100, {"dram__cycles_active": 88.0}, **context, launch__sm_count=108.0)

    assert "how many SMs its green context has is not known" in said.confidence_reasons(found)
    assert "part_unknown" in {note.code for note in found.measurement.notes}
    assert "part_unknown" not in {note.code for note in whole.measurement.notes}


@pytest.mark.parametrize(
    ("dram", "fp64", "told"), [(70.0, 30.0, True), (85.0, 30.0, False), (70.0, 9.0, False)]
)
def test_some_fp64_is_told_of_where_there_is_almost_none(dram, fp64, *, told) -> None:
    busy = {"dram__cycles_active": dram, "sm__pipe_fp64_cycles_active": fp64}
    codes = {note.code for note in judged(T4, busy).measurement.notes}

    assert ("some_fp64" in codes) is told
    assert "some_fp64" not in {note.code for note in judged(A100, busy).measurement.notes}


def test_rates_without_a_time_are_not_said_to_be_missing() -> None:
    rates = {
        "sm__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.sum.per_second": 1.6e13,
        "dram__bytes_read.sum.per_second": 5e11,
        "dram__bytes_write.sum.per_second": 1e11,
        "sm__pipe_fma_cycles_active" + PCT: 82.0,
    }
    found = Judge(registry=load())(measure(launch(A100 | rates)))

    missing = {gap.quantity for gap in found.measurement.missing}
    assert "duration" in missing
    assert missing.isdisjoint({"operations", "dram_bytes"})
    assert said.bounds(found) == "headroom: up to 1.22x until the FMA pipe is full"


@pytest.mark.parametrize(("converted", "cause"), [(1e6, None), (1e8, "conversions")])
def test_conversions_are_a_cause_where_the_xu_pipe_is_full_of_them(converted, cause) -> None:
    mix = {"MUFU.EX2": 3e7, "FMUL": 3e7, "F2F.F16.F32": converted}
    found = judged(
        A100,
        {"sm__inst_executed_pipe_xu": 88.0},
        {"sass__inst_executed_per_opcode_with_modifier_all": mix},
    )

    assert found.verdict.limiter == "xu"
    assert found.verdict.cause == cause


def test_two_wastes_of_one_unit_are_both_named() -> None:
    # Half of the wavefronts are shared, 4 of 5 of these conflicts; 3 of 4 sectors are excess.
    found = judged(
        A100,
        {"l1tex__data_pipe_lsu_wavefronts": 92.0, "l1tex__lsuin_requests": 8.0},
        **{
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 4e7,
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 0.0,
            "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 0.46 * 108e6,
            "sm__cycles_elapsed.max": 1e6,
            "memory_l2_theoretical_sectors_global": 4e8,
            "memory_l2_theoretical_sectors_global_ideal": 1e8,
        },
    )

    assert {cause.code for cause in found.verdict.causes} == {"bank_conflicts", "uncoalesced"}
    # 0.92 x (1 - 0.5 x 0.805) x (1 - 0.5 x 0.75)
    assert found.verdict.gain == pytest.approx(1 / 0.3436, abs=0.01)
