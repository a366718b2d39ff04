"""The samples hold together: what a report says twice, it says alike."""

from __future__ import annotations

import re
from pathlib import Path

import ncu_report
import pytest

from roofline.analysis import analyze
from roofline.files import opened
from roofline.process import run_quietly
from roofline.reports.container import Walk
from sample_reports.chips import CHIPS
from sample_reports.generate import ORIGIN, launches, main, samples, table
from tests import strange
from tests.shared import NCU, SHARED

FOLDER = Path(__file__).parents[2] / "sample_reports"
SAMPLES = samples()
FULL = [stem for stem, sample in SAMPLES.items() if sample.collected == "full"]
COUNTED = [stem for stem in FULL if CHIPS[SAMPLES[stem].chip].dram_bytes_per_cycle is not None]
PCT = ".avg.pct_of_peak_sustained_elapsed"
by_name = pytest.mark.parametrize("stem", SAMPLES)


def actions(stem: str) -> list[ncu_report.IAction]:
    context = ncu_report.load_report(str(FOLDER / f"{stem}.ncu-rep"))
    return [action for part in context for action in part]


def value(action: ncu_report.IAction, name: str) -> float:
    return float(action[name].value())


def test_the_files_are_what_the_generator_writes(tmp_path: Path):
    main(tmp_path)

    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in FOLDER.glob("*.ncu-rep")}
    assert written.keys() == kept.keys()
    assert [name for name in kept if kept[name] != written[name]] == []


@by_name
def test_the_file_is_small_and_says_what_it_is(stem: str):
    path = FOLDER / f"{stem}.ncu-rep"

    assert path.stat().st_size < 100_000
    assert strange.summary(path).found == len(SAMPLES[stem].kernels)
    with opened(path) as file:
        programs = {block.message.process.name for block in Walk(file).blocks()}
    assert programs == {ORIGIN.encode()}


def test_the_readme_lists_what_is_here():
    assert table() in (FOLDER / "README.md").read_text(encoding="utf-8")


@by_name
def test_throughputs_are_the_largest_of_their_members(stem: str):
    for action in actions(stem):
        for whole in ("sm__throughput", "gpu__compute_memory_throughput"):
            members = action[f"breakdown:{whole}{PCT}"].as_string().split(",")
            shares = [value(action, member) for member in members]
            assert value(action, whole + PCT) == max(shares)
            assert 0 <= max(shares) <= 100


@pytest.mark.parametrize("stem", COUNTED)
def test_bytes_agree_with_their_rate_and_share(stem: str):
    for action in actions(stem):
        seconds = value(action, "gpu__time_duration.sum") * 1e-9
        moved = value(action, "dram__bytes_read.sum") + value(action, "dram__bytes_write.sum")
        rate = value(action, "dram__bytes.sum.per_second")
        peak = value(action, "dram__bytes.sum.peak_sustained")
        clock = value(action, "dram__cycles_elapsed.avg.per_second")

        assert moved == pytest.approx(rate * seconds, rel=1e-12)
        assert value(action, "dram__cycles_active" + PCT) == pytest.approx(
            100 * rate / (peak * clock), rel=1e-9
        )


@pytest.mark.parametrize("stem", FULL)
def test_operations_a_cycle_are_whole_numbers_of_operations(stem: str):
    for action in actions(stem):
        cycles = value(action, "smsp__cycles_elapsed.avg")
        seconds = value(action, "gpu__time_duration.sum") * 1e-9
        clock = value(action, "smsp__cycles_elapsed.avg.per_second")
        assert clock * seconds == pytest.approx(cycles, rel=1e-12)
        for kind in ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma"):
            name = f"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum.per_cycle_elapsed"
            count = value(action, name) * cycles
            assert count == pytest.approx(round(count), abs=1e-3)


@pytest.mark.parametrize("stem", FULL)
def test_opcodes_add_up(stem: str):
    for action in actions(stem):
        mix = action["sass__inst_executed_per_opcode_with_modifier_all"]
        counts = [mix.as_double(i) for i in range(mix.num_instances())]
        assert sum(counts) == mix.as_double() == value(action, "smsp__inst_executed.sum")


def mma_operations(action: ncu_report.IAction) -> float:
    """2 x M x N x K of every MMA opcode; an HGMMA is one of four warps' executions."""
    mix = action["sass__inst_executed_per_opcode_with_modifier_all"]
    ids, total = mix.correlation_ids(), 0.0
    for i in range(mix.num_instances()):
        code = ids.as_string(i)
        if shape := re.match(r"HGMMA\.(\d+)x(\d+)x(\d+)", code):
            m, n, k = map(int, shape.groups())
            total += 2 * m * n * k * mix.as_double(i) / 4
        elif code.startswith("HMMA.16816"):
            total += 2 * 16 * 8 * 16 * mix.as_double(i)
    return total


@pytest.mark.parametrize(
    ("stem", "operations"),
    [
        ("h100_gemm_bf16", 2 * 8192**3),
        ("h100_decode_before", 2 * 16 * 8192 * 8192),
        ("h100_decode_after", 2 * 16 * 8192 * 8192),
    ],
)
def test_mma_opcodes_give_the_problem(stem: str, operations: int):
    (action,) = actions(stem)
    assert mma_operations(action) == operations
    assert value(action, "sm__ops_path_tensor_src_bf16_dst_fp32.sum") == operations


def test_the_stencil_has_eight_operations_a_point():
    # 512^3 points: 5 FADD, 1 FMUL and 1 FFMA, which is two.
    (action,) = actions("a100_stencil_fp32")
    rate = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
    cycles = value(action, "smsp__cycles_elapsed.avg")
    counts = {kind: value(action, rate.format(kind)) * cycles for kind in ("fadd", "fmul", "ffma")}
    assert counts["fadd"] + counts["fmul"] + 2 * counts["ffma"] == pytest.approx(8 * 512**3)


def test_fp4_operations_are_in_the_counters_alone():
    (action,) = actions("b200_gemm_fp4")
    assert mma_operations(action) == 0
    assert value(action, "sm__ops_path_tensor_src_fp4_dst_fp32.sum") == 2 * 8192 * 8192 * 16384
    # The name without _sparsity_off has the sparse peak, so half the percentage.
    dense = value(action, f"sm__ops_path_tensor_op_utcomma_src_fp4_dst_fp32_sparsity_off{PCT}")
    assert value(action, f"sm__ops_path_tensor_src_fp4_dst_fp32{PCT}") == pytest.approx(dense / 2)


@pytest.mark.parametrize("stem", FULL)
def test_stall_reasons_add_up_to_the_latency(stem: str):
    for action in actions(stem):
        stalled = [
            value(action, name)
            for name in action.metric_names()
            if name.startswith("smsp__average_warps_issue_stalled_")
        ]
        latency = value(action, "smsp__average_warp_latency_per_inst_issued.ratio")
        assert sum(stalled) == pytest.approx(latency)


@by_name
def test_occupancy_and_waves_follow_from_the_limits(stem: str):
    for action in actions(stem):
        limits = ("blocks", "registers", "shared_mem", "warps")
        resident = min(value(action, f"launch__occupancy_limit_{limit}") for limit in limits)
        warps = resident * value(action, "launch__block_size") / 32
        most = value(action, "device__attribute_max_warps_per_multiprocessor")
        waves = value(action, "launch__grid_size") / (value(action, "launch__sm_count") * resident)

        assert value(action, "sm__maximum_warps_per_active_cycle_pct") == 100 * warps / most
        assert value(action, "launch__waves_per_multiprocessor") == pytest.approx(waves)


def test_the_basic_set_has_no_amounts():
    for action in actions("h100_basic"):
        names = set(action.metric_names())
        assert not any(name.startswith(("dram__bytes", "smsp__sass", "sass__")) for name in names)
        assert not any("stalled" in name or "ops_path" in name for name in names)


def test_the_orin_has_no_dram_counters():
    (action,) = actions("orin_stencil_fp32")
    assert not [n for n in action.metric_names() if n.startswith(("dram__", "fbpa__"))]
    assert "dram" not in action[f"breakdown:gpu__compute_memory_throughput{PCT}"].as_string()


@pytest.mark.skipif(SHARED is None, reason="no lists of the chips' metrics")
@pytest.mark.parametrize(
    ("chip", "file"),
    [
        ("H100", "gh100"),
        ("A100", "ga100"),
        ("RTX4090", "ad102"),
        ("B200", "gb100"),
        ("Orin", "ga10b"),
    ],
)
def test_every_counter_exists_on_its_chip(chip: str, file: str):
    assert SHARED is not None
    known = set((SHARED / "ncu-metrics" / f"{file}.txt").read_text().split())
    computed_by_ncu = ("device__", "launch__", "breakdown:", "profiler__", "derived__", "sass__")
    used = {
        name.split(".")[0]
        for sample in SAMPLES.values()
        if sample.chip == chip
        for launch in launches(sample)
        for name in launch.metrics
        if not name.startswith((*computed_by_ncu, "sm__maximum_warps"))
    }
    assert used
    assert used <= known


@pytest.mark.skipif(NCU is None, reason="ROOFLINE_TEST_NCU names no ncu")
@pytest.mark.parametrize("page", ["raw", "details", "session"])
@by_name
def test_ncu_imports_the_sample(stem: str, page: str):
    done = run_quietly([str(NCU), "--import", str(FOLDER / f"{stem}.ncu-rep"), "--page", page])
    assert done is not None
    assert done.code == 0
    assert SAMPLES[stem].kernels[0].name in done.stdout or page == "session"


@by_name
def test_no_more_sms_work_than_have_a_block(stem: str):
    for result in analyze(FOLDER / f"{stem}.ncu-rep").results:
        evidence = result.verdict.evidence
        if {"sm_active", "fill"} <= evidence.keys():
            assert evidence["sm_active"] <= evidence["fill"]
