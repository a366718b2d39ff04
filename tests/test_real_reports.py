"""Public reports, where they are: NVIDIA's own stored verdicts and identities hold."""

import math

import pytest

from roofline.analysis import Judge
from roofline.counters.measure import measure
from roofline.counters.opcodes import plain_mix
from roofline.errors import InputError
from roofline.fold import fold
from roofline.model import Bound, Launch
from roofline.reports import read
from roofline.specs import load
from roofline.text import verdict as said
from roofline.units import ELAPSED
from tests.shared import REPORTS

pytestmark = pytest.mark.skipif(not REPORTS, reason="no public reports beside the repository")
THREADS = "sass__thread_inst_executed_true_per_opcode_with_modifier_all"


@pytest.fixture(scope="module")
def launches() -> list[Launch]:
    return list(read(*REPORTS, on_error=lambda error: None))


@pytest.fixture(scope="module")
def results(launches):
    judge = Judge(registry=load())
    return [judge(measure(launch)) for launch in launches]


def test_every_launch_has_a_verdict_or_the_reason_why_not(results):
    for result in results:
        if result.verdict.bound is Bound.UNKNOWN:
            assert said.cause(result)
            assert result.verdict.missing
        else:
            assert said.claim(result)
            assert said.refute(result)


def above_both(result) -> bool:
    """Whether L1 or L2 is the busiest by its own throughput, which is in neither percentage."""
    nearest = next(u for u in result.measurement.units if u.unit == result.verdict.nearest)
    return "__throughput" in nearest.metric and nearest.unit in ("l1", "l2")


def test_latency_where_nvidia_says_so(launches, results):
    """Both of NVIDIA's percentages under 60: our latency, on every launch that has both.

    But where there are two FP64 units an SM, full at 83 to 86 %: there they limit from 40 on.
    """
    compared = 0
    for launch, result in zip(launches, results, strict=True):
        sm = launch.metrics.number(f"sm__throughput{ELAPSED}")
        memory = launch.metrics.number(f"gpu__compute_memory_throughput{ELAPSED}")
        if sm is not None and memory is not None:
            compared += 1
            if above_both(result):
                assert result.verdict.limiter_percent > max(sm, memory) - 0.5
                continue
            waits = (sm < 60 and memory < 60) and not few_fp64(result)
            assert (result.verdict.bound is Bound.LATENCY) == waits
            if few_fp64(result):  # nearer to full than what is busier
                assert result.verdict.limiter_percent / 0.86 > max(sm, memory) - 0.5
                continue
            assert result.verdict.limiter_percent == pytest.approx(max(sm, memory), abs=0.5)
    assert compared > 0


def few_fp64(result):
    """Whether FP64 limits a GPU that has almost none from 40 % on."""
    v = result.verdict
    return v.limiter == "fp64" and v.evidence["few_fp64"] == 1.0 and v.limiter_percent >= 40


# What fewer than one wave comes to, and what is worse than that.
FEW_BLOCKS = {"grid_too_small", "few_warps", "partial_warps", "short_kernel", "debug_build"}
NVIDIA = {
    "Latency Issue": {"latency"},
    "Small Grid": {"latency"},
    "High Compute Throughput": {"compute"},
    "High Memory Throughput": {"bandwidth"},
    "High Throughput": {"bandwidth", "compute"},
    "Balanced Throughput": {"bandwidth", "compute"},
}


def test_no_stored_verdict_of_nvidia_is_contradicted(launches, results):
    compared = 0
    for launch, result in zip(launches, results, strict=True):
        rules = {rule.identifier: rule.title for rule in launch.metrics.rules}
        title = rules.get("SOLBottleneck")
        if title in NVIDIA and not above_both(result):
            compared += 1
            agreed = result.verdict.bound.value in NVIDIA[title] or few_fp64(result)
            assert agreed, (launch.source, launch.name)
            if title == "Small Grid":  # fewer than one wave: that may leave SMs idle, or warps
                assert result.verdict.cause in FEW_BLOCKS, (launch.source, launch.name)
    assert compared > 0


def test_read_plus_write_is_the_rate_times_the_time(launches):
    compared = 0
    for launch in launches:
        rate = launch.metrics.number("dram__bytes.sum.per_second")
        measured = measure(launch)
        if rate and measured.dram_bytes and measured.duration_s:
            compared += 1
            assert measured.dram_bytes == pytest.approx(rate * measured.duration_s, rel=1e-6)
    assert compared > 0


def test_counters_and_opcode_mix_count_the_same_operations(launches):
    compared = 0
    for launch in launches:
        mix, measured = launch.metrics.instances(THREADS), measure(launch)
        for key in ("fp32", "fp64"):
            how = measured.provenance.get(f"operations.{key}", "")
            if mix and "mix" not in how and key in measured.operations:
                compared += 1
                assert measured.operations[key] == plain_mix(mix)[key]
    assert compared > 0


def test_all_amounts_are_finite(results):
    for result in results:
        measured = result.measurement
        amounts = [measured.duration_s, measured.dram_bytes, measured.l1_bytes, measured.l2_bytes]
        amounts += list(measured.operations.values())
        assert all(a is None or (math.isfinite(a) and a >= 0) for a in amounts)


def test_a_datasheet_bandwidth_is_near_the_reports(results):
    """Two figures from different places: the report's counters, the registry."""
    far = {
        f"{m.device.name}: {m.peaks.dram_bytes_per_s:.4g} of {sheet.dram_bytes_per_s:.4g}"
        for result in results
        if (m := result.measurement).peaks.dram_bytes_per_s
        and (sheet := result.peaks.datasheet) is not None
        and sheet.dram_bytes_per_s
        and "dram_clock_low" not in {note.code for note in m.notes}
        and not 0.7 < m.peaks.dram_bytes_per_s / sheet.dram_bytes_per_s < 1.03
    }
    assert not far


def test_folding_all_launches_of_a_file_keeps_the_time(launches):
    measured = [measure(launch) for launch in launches]
    timed = [m for m in measured if m.duration_s]

    assert fold(timed).duration_s == pytest.approx(sum(m.duration_s for m in timed))


def test_an_empty_report_is_its_own_error():
    empty = [path for path in REPORTS if path.stat().st_size == 0]
    for path in empty:
        with pytest.raises(InputError, match="empty"):
            list(read(path))


@pytest.mark.parametrize(
    ("file", "key", "shape"),
    [
        ("panjd123__cutlass__report-s4.ncu-rep", "tensor_int8", (384, 384, 384)),
        ("panjd123__cutlass__report80.a8dd479.ncu-rep", "tensor_int4", (768, 768, 512)),
    ],
)
def test_matrix_products_of_known_size_are_exact(file, key, shape):
    m, n, k = shape
    path = next((path for path in REPORTS if path.name == file), None)
    if path is None:
        pytest.skip(f"{file} is not there")
    first = measure(next(read(path)))

    assert first.operations[key] == 2.0 * m * n * k
