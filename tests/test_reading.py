"""Reports with little or odd in them, written as a file and analysed: nothing is left unread."""

import math

import pytest

from roofline import analyze
from roofline.render import explain, markdown, table
from roofline.units import ELAPSED
from sample_reports.chips import CHIPS, attributes
from sample_reports.writer import Launch, Metric, write
from tests.makers import analysis

SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
TENSOR = "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum"
A100, B200 = CHIPS["A100"], CHIPS["B200"]
UNITS = {
    f"{name}{ELAPSED}": 5.0
    for name in (
        *("dram__cycles_active", "lts__t_sectors", "l1tex__data_pipe_lsu_wavefronts"),
        *(f"sm__pipe_{pipe}_cycles_active" for pipe in ("fma", "alu", "fp64")),
        "sm__issue_active",
    )
}
IDLE_TENSOR = {f"sm__pipe_tensor_cycles_active{ELAPSED}": 0.0}
TIME = {"gpu__time_duration.sum": 1e6}  # 1 ms
T4 = {
    "device__attribute_display_name": "Tesla T4",
    "device__attribute_compute_capability_major": 7,
    "device__attribute_compute_capability_minor": 5,
    "device__attribute_multiprocessor_count": 40,
}


@pytest.fixture
def first(tmp_path):
    """What the only kernel of a report with such metrics comes out as."""

    def read(metrics, *, chip=None, **launch):
        path = tmp_path / "made.ncu-rep"
        device = attributes(chip) if chip else {}
        write(path, [Launch(name="kernel", metrics={**device, **metrics}, **launch)], force=True)
        return analyze(path).results[0]

    return read


def packed(form=""):
    counts = {"ffma": 1e9, "ffma2": 8e9, "fadd": 0.0, "fmul": 0.0, "fadd2": 0.0, "fmul2": 0.0}
    cycles = 1.15e6 if form else 1.0
    return {SASS.format(op) + form: count / cycles for op, count in counts.items()}


@pytest.mark.parametrize("form", ["", ".per_cycle_elapsed"])
def test_packed_arithmetic_is_counted_by_its_lanes(first, form):
    metrics = {
        **UNITS, **IDLE_TENSOR, **TIME, **packed(form),
        f"sm__pipe_fma_cycles_active{ELAPSED}": 82.0,
        "smsp__cycles_elapsed.avg.per_second": 1.15e9,
        "dram__bytes_read.sum": 1e8, "dram__bytes_write.sum": 0.0,
    }  # fmt: skip
    result = first(metrics, chip=B200)

    # 2 x 1e9 + 4 x 8e9 over 1e8 bytes; the roof is 148 SMs x 256 x 1.15 GHz = 43.6 TFLOP/s
    assert result.measurement.total_operations == 3.4e10
    assert result.measurement.arithmetic_intensity == 340.0
    assert result.verdict.roof_percent["fp32"] == pytest.approx(3.4e13 / 43.5712e12 * 100)
    assert result.measurement.unmeasured == ()


def test_packed_arithmetic_without_the_plain_one_is_no_count(first):
    counts = {SASS.format(op): 1e9 for op in ("fadd2", "fmul2", "ffma2")}
    m = first({**TIME, **UNITS, **IDLE_TENSOR, **counts}, chip=B200).measurement

    assert (m.operations, m.unmeasured) == ({}, ("packed_fp32",))


@pytest.mark.parametrize(
    ("extra", "unmeasured"),
    [
        ({OPCODES: Metric(1.0, (("FFMA2", 2.5e8), ("FFMA", 1e6)))}, ("packed_fp32",)),
        ({SASS.format("ffma2"): 5.0}, ("packed_fp32",)),  # one counter of three
        ({SASS.format("qfma4"): 5.0}, ("packed_fp8",)),
        ({OPCODES: Metric(1.0, (("FFMA2", 0.0), ("FFMA", 1e6)))}, ()),
    ],
)
def test_packed_arithmetic_that_is_not_counted_leaves_no_total(first, extra, unmeasured):
    counts = {SASS.format(op): 1e9 for op in ("fadd", "fmul", "ffma")}
    m = first({**TIME, **UNITS, **IDLE_TENSOR, **counts, **extra}, chip=B200).measurement

    assert m.unmeasured == unmeasured
    assert (m.total_operations is None) == bool(unmeasured)


@pytest.mark.parametrize(
    "active",
    [
        "sm__inst_executed_pipe_tensor.sum",
        "smsp__inst_executed_pipe_tensor.avg",
        "sm__inst_executed_pipe_tensor_op_hmma.sum.per_cycle_elapsed",
        "sm__pipe_tensor_op_hmma_cycles_active.max",
        "sm__inst_executed_pipe_fp64_op_dmma.sum",
        "sm__pipe_tc_cycles_active.sum",
        "sm__ops_path_tensor_src_bf16_dst_fp32.avg",
    ],
)
def test_any_counter_of_the_tensor_pipe_says_that_it_ran(first, active):
    counts = {SASS.format(op): 1.7e7 for op in ("fadd", "fmul", "ffma")}
    m = first({**TIME, **counts, active: 33554432.0, "dram__bytes.sum": 1e8}, chip=A100).measurement

    assert m.unmeasured == ("tensor",)
    assert m.arithmetic_intensity is None
    assert "operations.tensor" in {gap.quantity for gap in m.missing}


def test_a_tensor_pipe_that_did_nothing_hides_nothing(first):
    counts = {SASS.format(op): 1.0 for op in ("fadd", "fmul", "ffma")}
    still = {
        "sm__inst_executed_pipe_tensor.sum": 0.0,
        "sm__inst_executed_pipe_tensor.sum.peak_sustained": 432.0,
    }

    assert first({**counts, **still}).measurement.total_operations == 4.0


@pytest.mark.parametrize("unit", ["sm", "smsp", "gpc"])
@pytest.mark.parametrize("most", ["avg", "max"])
def test_the_time_is_cycles_over_their_rate(first, unit, most):
    metrics = {
        f"{unit}__cycles_elapsed.{most}": 1.095e6,
        f"{unit}__cycles_elapsed.avg.per_second": 1.095e9,
        "dram__bytes.sum": 2e8,
        **{SASS.format(op): 1e8 for op in ("fadd", "fmul", "ffma")},
    }
    m = first(metrics, chip=A100).measurement

    assert m.duration_s == pytest.approx(1e-3, rel=1e-12)
    assert m.operations_per_s == pytest.approx(4e11)
    assert m.dram_bytes_per_s == pytest.approx(2e11)
    assert "duration" not in {gap.quantity for gap in m.missing}


def test_rates_alone_give_rates_and_intensity(first):
    metrics = {
        f"{TENSOR}.per_cycle_elapsed": 4096.0,
        "sm__cycles_elapsed.avg.per_second": 1e9,
        "dram__bytes.sum.per_second": 2.048e11,
    }
    m = first(metrics, chip=A100).measurement

    assert (m.duration_s, m.operations, m.dram_bytes) == (None, {}, None)
    assert m.operations_per_s == 4096e9
    assert m.dram_bytes_per_s == 2.048e11
    assert m.arithmetic_intensity == 20.0


@pytest.mark.parametrize(
    ("metrics", "operations"),
    [
        ({f"{TENSOR}.per_second": 4e12}, {"tensor_fp16": 4e9}),
        ({f"{TENSOR}.per_cycle_elapsed": 4e3, "sm__cycles_elapsed.avg": 1e6}, {"tensor_fp16": 4e9}),
        # a multiply-add is two of these
        ({"sm__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.sum": 7.0}, {"fp32": 7.0}),
        ({SASS.format(op) + ".per_second": 1e3 for op in ("fadd", "fmul", "ffma")}, {"fp32": 4.0}),
        # each counter in the form that there is
        (
            {
                SASS.format("fadd"): 1.0,
                SASS.format("fmul") + ".per_second": 2e3,
                SASS.format("ffma") + ".per_cycle_elapsed": 3.0,
                "sm__cycles_elapsed.avg": 1.0,
            },
            {"fp32": 9.0},
        ),
    ],
)
def test_with_a_time_rates_are_totals(first, metrics, operations):
    assert first({**TIME, **metrics}).measurement.operations == pytest.approx(operations)


def test_what_stands_beside_the_metrics_tells_kernels_apart(tmp_path):
    metrics = {**TIME, "dram__bytes.sum": 1e6}
    shapes = ((65536, 1, 1), (1, 1, 1))
    path = tmp_path / "made.ncu-rep"
    write(path, [Launch(name="scale", grid=g, block=(256, 1, 1), metrics=metrics) for g in shapes])
    analysis = analyze(path)

    assert [r.measurement.grid for r in analysis.results] == [*shapes]
    assert {r.measurement.block for r in analysis.results} == {(256, 1, 1)}
    assert len(analysis.groups) == 2


def test_the_first_versions_counted_a_grid_in_threads(first):
    m = first({"launch__grid_size": 200.0}, grid=(640, 320, 1), block=(32, 32, 1)).measurement

    assert m.grid == (20, 10, 1)


def test_a_counter_without_a_number_is_named_and_cannot_be_collected(first):
    metrics = {
        **UNITS, **IDLE_TENSOR, **TIME,
        f"dram__cycles_active{ELAPSED}": math.nan,
        "dram__bytes_read.sum": 1e8, "dram__bytes_write.sum": math.nan,
    }  # fmt: skip
    result = first(metrics, chip=B200)
    (note,) = result.measurement.notes

    assert note.code == "counters_nan"
    assert note.facts["names"] == ["dram__bytes_write.sum", f"dram__cycles_active{ELAPSED}"]
    missing = {gap.quantity for gap in (*result.measurement.missing, *result.verdict.missing)}
    assert not missing & {"dram_bytes", "utilization"}
    assert "2 counters without a number" in table.render(analysis(result))


def test_text_is_no_counter_without_a_number(first):
    metrics = {**TIME, **UNITS, "device__attribute_multiprocessor_count": "many"}

    assert [note.code for note in first(metrics).measurement.notes] == ["unknown_device"]


@pytest.mark.parametrize(("percent", "remarked"), [(104.0, True), (100.4, True), (99.0, False)])
def test_more_than_all_is_kept_and_remarked(first, percent, remarked):
    metrics = {**UNITS, **IDLE_TENSOR, **TIME, f"dram__cycles_active{ELAPSED}": percent}
    result = first(metrics, chip=A100)

    assert result.verdict.limiter_percent == percent
    for written in (
        table.render(analysis(result), width=200),
        markdown.render(analysis(result)),
    ):
        assert ("above 100 %" in written) == remarked


@pytest.mark.parametrize(
    ("metrics", "unit", "percent"),
    [
        ({"dram__bytes_read.sum.pct_of_peak_sustained_elapsed": 93.0}, "dram", 93.0),
        (
            {
                "dram__bytes_op_read.sum.pct_of_peak_sustained_elapsed": 53.0,
                "dram__bytes_op_write.sum.pct_of_peak_sustained_elapsed": 40.0,
            },
            "dram",
            93.0,
        ),
        ({f"sm__memory_throughput{ELAPSED}": 93.0}, "other_memory", 93.0),
        ({"dram__throughput.max.pct_of_peak_sustained_elapsed": 93.0}, "dram", 93.0),
        ({f"smsp__pipe_fma_cycles_active{ELAPSED}": 93.0}, "fma", 93.0),
        ({"sm__inst_executed_pipe_xu.sum.pct_of_peak_sustained_elapsed": 93.0}, "xu", 93.0),
        ({f"{TENSOR}.pct_of_peak_sustained_elapsed": 93.0}, "tensor", 93.0),
        # over the time for which SMs were active, half of all
        (
            {
                "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active": 90.0,
                "sm__cycles_active.avg": 40.0,
                "gpc__cycles_elapsed.max": 50.0,
            },
            "alu",
            72.0,
        ),
        ({"sm__sol_pct": 93.0}, "other_compute", 93.0),
        ({"gpu__compute_memory_sol_pct": 93.0}, "other_memory", 93.0),
        ({"fbpa__sol_pct": 93.0}, "dram", 93.0),
        ({"ltc__sol_pct": 93.0}, "l2", 93.0),
        ({"tex__sol_pct": 93.0}, "l1", 93.0),
        ({"dram__read_pct": 50.0, "dram__write_pct": 43.0}, "dram", 93.0),
    ],
)
def test_percentages_in_every_spelling_are_utilisation(first, metrics, unit, percent):
    busiest = first({**TIME, **metrics}).measurement.units[0]

    assert (busiest.unit, busiest.percent) == (unit, pytest.approx(percent))


@pytest.mark.parametrize(
    "metric",
    [
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "lts__cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    ],
)
def test_having_something_to_do_is_no_utilisation(first, metric):
    assert first({**TIME, metric: 93.0}).measurement.units == ()


def test_the_names_of_2019_are_read(first):
    metrics = {
        "gpu__time_duration": 1e6, "dram__read_bytes": 6e7, "dram__write_bytes": 4e7,
        "gpc__frequency": 1e9, "dram__frequency": 5e9,
        "sm__active_warps_avg_per_active_cycle_pct": 40.0,
        "smsp__warp_cycles_per_issue_stall_wait": 3.0,
        "smsp__warp_cycles_per_issue_stall_barrier": 1.0,
    }  # fmt: skip
    m = first(metrics).measurement

    assert (m.duration_s, m.dram_bytes, m.sm_clock_hz) == (1e-3, 1e8, 1e9)
    assert m.occupancy_percent == 40.0
    assert [(s.reason, s.share) for s in m.stalls] == [("wait", 0.75), ("barrier", 0.25)]


@pytest.mark.parametrize("share", [2.03, 20.0])
@pytest.mark.parametrize("mix", [OPCODES, "sass__inst_executed_per_opcode"])
def test_a_mix_proves_that_no_matrix_instruction_ran(first, share, mix):
    metrics = {
        **TIME, **UNITS, f"sm__pipe_tensor_cycles_active{ELAPSED}": share,
        mix: Metric(1.0, (("HFMA2.MMA" if mix == OPCODES else "HFMA2", 5.0), ("FFMA", 7.0))),
        **{SASS.format(op): 1e6 for op in ("fadd", "fmul", "ffma")},
    }  # fmt: skip
    m = first(metrics, chip=A100).measurement

    assert m.unmeasured == ()
    assert m.total_operations == 4e6


THREADS = "sass__thread_inst_executed_true_per_opcode_with_modifier_all"


@pytest.mark.parametrize(
    ("mix", "fp16"),
    [
        ({"HFMA2.MMA": 100.0, "FFMA": 5.0}, 0.0),
        ({"HFMA2.MMA": 100.0, "HADD2.F32": 7.0}, 0.0),  # a conversion
        ({"HFMA2.MMA": 100.0, "HADD2": 1.0}, 402.0),
    ],
)
def test_moves_of_constants_are_no_operations(first, mix, fp16):
    m = first({**TIME, THREADS: Metric(1.0, tuple(mix.items()))}, chip=A100).measurement

    assert m.operations["fp16"] == fp16


def test_moves_of_constants_are_seen_in_counters(first):
    counts = {SASS.format("hadd"): 0.0, SASS.format("hmul"): 0.0, SASS.format("hfma"): 1e6}
    busy = {"sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_elapsed": 45.0}

    assert first({**TIME, **counts}).measurement.operations == {"fp16": 0.0}
    assert first({**TIME, **counts, **busy}).measurement.operations == {"fp16": 4e6}


def test_integer_operations_are_apart(first):
    mix = {"IDP.4A.S8.S8": 100.0, "IMAD": 10.0, "IMAD.MOV.U32": 50.0, "IADD3": 5.0, "FFMA": 1.0}
    m = first({**TIME, THREADS: Metric(1.0, tuple(mix.items()))}, chip=A100).measurement

    assert m.integer_operations == 100 * 8 + 10 * 2 + 5 * 2
    assert m.total_operations == 2.0


@pytest.mark.parametrize(("floats", "shown"), [(1e6, "8.00 TOP/s"), (1e9, "2.00 TFLOP/s")])
def test_integer_operations_are_shown_where_they_dominate(first, floats, shown):
    mix = Metric(1.0, (("IDP.4A.S8.S8", 1e9), ("FFMA", floats)))
    busy = {**TIME, **UNITS, **IDLE_TENSOR, f"sm__pipe_alu_cycles_active{ELAPSED}": 85.0}
    result = first({**busy, THREADS: mix}, chip=A100)

    assert shown in explain.render(analysis(result).groups[0], width=200)


def test_the_thread_level_mix_counts_matrix_instructions(first):
    mix = Metric(1.0, (("HMMA.16816.F32", 32.0 * 10),))

    assert first({THREADS: mix}, chip=A100).measurement.operations["tensor_fp16"] == 40_960.0


@pytest.mark.parametrize(
    ("halves", "counted"),
    [
        ({"off": 8.0, "on": 0.0}, {"tensor_fp16": 8.0}),
        (
            {"off": 8.0, "on": 4.0},
            {"tensor_fp16": 8.0, "tensor_fp16_sparse": 4.0},
        ),
    ],
)
def test_halves_without_their_whole_lose_nothing(first, halves, counted):
    metrics = {f"sm__ops_path_tensor_src_fp16_sparsity_{half}.sum": n for half, n in halves.items()}

    assert first(metrics).measurement.operations == counted


# --- what breakdowns leave out --------------------------------------------------------------------


def l1(active: float, **members: float):
    return {
        **TIME, **T4, **UNITS, **IDLE_TENSOR,
        "l1tex__throughput.avg.pct_of_peak_sustained_active": active,
        "sm__cycles_active.avg": 80.0, "gpc__cycles_elapsed.max": 100.0,
        **{name + ELAPSED: percent for name, percent in members.items()},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("metrics", "percent", "part"),
    [
        # exactly twice what is over the elapsed time: it is, too
        (l1(90.0, l1tex__m_l1tex2xbar_req_cycles_active=45.0), 90.0, "l1_to_l2"),
        (l1(96.8, l1tex__data_pipe_lsu_wavefronts=48.4), 96.8, "l1_data"),
        # else over the time for which SMs were active: 0.8
        (l1(96.8, l1tex__data_pipe_lsu_wavefronts=38.6), 77.44, "l1_data"),
        (l1(90.0, l1tex__f_wavefronts=10.0), 72.0, None),
        ({**l1(90.0), f"l1tex__throughput{ELAPSED}": 81.0}, 81.0, None),
        ({**l1(90.0), "l1tex__throughput.sum.pct_of_peak_sustained_elapsed": 81.0}, 81.0, None),
    ],
)
def test_l1_is_as_busy_as_its_throughput(first, metrics, percent, part):
    result = first(metrics)
    (use,) = (u for u in result.measurement.units if u.unit == "l1")

    assert (use.percent, use.part) == (pytest.approx(percent), part)
    assert result.verdict.limiter == "l1"
    assert result.measurement.sm_active_percent == 80.0


def test_on_turing_half_of_the_data_path_is_all_of_it(first):
    metrics = l1(0.0, l1tex__data_pipe_lsu_wavefronts=47.0)
    del metrics["l1tex__throughput.avg.pct_of_peak_sustained_active"]
    use = first(metrics).measurement.units[0]

    assert (use.unit, use.percent) == ("l1", 94.0)
    assert use.metric == f"2 x l1tex__data_pipe_lsu_wavefronts{ELAPSED}"


def test_turing_has_half_of_the_roof(first):
    bytes_ = {"l1tex__t_bytes.sum": 1e6, "sm__cycles_elapsed.avg.per_second": 1e9}

    # 40 SMs x 64 bytes a cycle x 1 GHz
    assert first({**TIME, **T4, **bytes_}).peaks.report.l1_bytes_per_s == 2.56e12


def test_the_port_to_l2_is_not_counted_twice(first):
    metrics = {
        **TIME, **UNITS, f"l1tex__m_xbar2l1tex_read_sectors{ELAPSED}": 70.0,
        f"l1tex__throughput{ELAPSED}": 70.0,
    }  # fmt: skip
    found = {use.unit: use.percent for use in first(metrics, chip=A100).measurement.units}

    assert (found["l2"], found["l1"]) == (70.0, 5.0)


def test_between_the_halves_of_l2_is_a_part_of_its_own(first):
    metrics = {
        **TIME, **UNITS, **IDLE_TENSOR,
        f"dram__cycles_active{ELAPSED}": 88.0, f"lts__throughput{ELAPSED}": 80.0,
    }  # fmt: skip
    result = first(metrics, chip=A100)
    (use,) = (u for u in result.measurement.units if u.unit == "l2")

    assert (use.percent, use.part) == (80.0, "l2_fabric")
    assert (result.verdict.limiter, result.verdict.co_limited) == ("dram", False)


# --- a part of a GPU ------------------------------------------------------------------------------


def test_a_part_of_a_gpu_is_judged_by_that_part(first):
    metrics = {
        **TIME, **UNITS, **IDLE_TENSOR, f"sm__pipe_fma_cycles_active{ELAPSED}": 45.0,
        "launch__sm_count": 54.0, "sm__cycles_active.avg": 50.0, "sm__cycles_elapsed.max": 100.0,
        "sm__cycles_elapsed.avg.per_second": 1e9, "l1tex__t_bytes.sum": 1.0,
    }  # fmt: skip
    result = first(metrics, chip=A100)
    m = result.measurement

    assert (m.sm_count, m.device.sm_count) == (54, 108)
    assert (result.verdict.limiter, result.verdict.limiter_percent) == ("fma", 90.0)
    assert m.sm_active_percent == 100.0
    assert {u.unit: u.percent for u in m.units}["l2"] == 5.0  # shared by all SMs
    assert result.peaks.report.l1_bytes_per_s == 54 * 128 * 1e9
    assert result.peaks.report.operations_per_s["fp32"] == 54 * 128 * 1e9
    assert [note.code for note in m.notes] == ["part_of_gpu"]


def test_under_mps_nothing_is_sure(first):
    result = first({**TIME, **UNITS, **IDLE_TENSOR, "launch__uses_mps": 1}, chip=A100)

    assert [note.code for note in result.measurement.notes] == ["shared_gpu"]
    assert str(result.verdict.confidence) == "low"


def test_few_blocks_prove_an_idle_gpu(first):
    few = {f"dram__cycles_active{ELAPSED}": 4.0, f"lts__t_sectors{ELAPSED}": 3.0}
    small = first({**TIME, **few}, chip=A100, grid=(20, 1, 1))
    large = first({**TIME, **few}, chip=A100, grid=(200, 1, 1))

    assert str(small.verdict.bound) == "latency"
    assert str(large.verdict.bound) == "unknown"
