"""What the levels ask for: names that exist, and no more passes than promised."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from roofline.capture.levels import (
    CHIP_OF_CAPABILITY,
    MEMBERS,
    RARE_MEMBERS,
    TABLE,
    base_name,
    chip_of,
    cost,
    hardware,
    is_listed,
    metrics_of,
    software,
    table,
)
from roofline.capture.request import CaptureLevel, Version
from roofline.counters.evidence import counts_of, ratios_of, tables
from roofline.counters.instructions import details
from roofline.counters.measure import measure
from roofline.counters.peaks import DENSE_PEAKS
from roofline.counters.recipes import L2_MISSES
from roofline.counters.utilization import unit_uses
from roofline.process import run_quietly
from roofline.units import ELAPSED, unit_of_metric
from tests.metrics import PlainMetrics, launch
from tests.shared import REPORTS, SHARED

# Passes of level standard at most.
PROMISED = {
    "TU102": 7, "GA100": 6, "GA102": 5, "AD102": 6, "GH100": 7, "GB100": 7, "GB202": 7,
}  # fmt: skip
SCRIPTS = Path(__file__).parents[2] / "scripts"


def script(name: str, folder: Path = SCRIPTS) -> ModuleType:
    """A module of scripts/ or benchmarks/, which are no packages."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("chip", PROMISED)
def test_passes_are_as_few_as_promised(chip: str) -> None:
    assert table()[chip].passes[CaptureLevel.QUICK] == 1
    assert table()[chip].passes[CaptureLevel.LEAN] == 2
    assert cost(CaptureLevel.LEAN, chip)[1] == (4, 5)
    assert table()[chip].passes[CaptureLevel.STANDARD] <= PROMISED[chip]


def test_every_chip_of_a_capability_is_in_the_table_but_volta() -> None:
    assert set(CHIP_OF_CAPABILITY.values()) - set(table()) == {"GV100", "GV11B"}


def test_pass_table_is_what_the_library_says() -> None:
    nvperf = script("nvperf")
    path = nvperf.find_library()
    if path is None:
        pytest.skip("nvidia-cuda-cupti is not installed")
    library = nvperf.Library(path)
    maker = script("make_pass_table")
    for chip in ("TU102", "GH100", "GB100", "GB20B"):
        row = maker.describe(library, chip)
        known = table()[chip]
        assert row["passes"] == {str(level): count for level, count in known.passes.items()}
        assert frozenset(row["absent"]) == known.absent
        assert {level: frozenset(out) for level, out in row["left_out"].items()} == known.left_out


def test_library_knows_the_passes_of_single_counters() -> None:
    # Both measured by hand: one hardware pass, and a name that GH100 spells otherwise.
    nvperf = script("nvperf")
    path = nvperf.find_library()
    if path is None:
        pytest.skip("nvidia-cuda-cupti is not installed")
    library = nvperf.Library(path)
    assert library.passes("GH100", ["gpu__time_duration.sum"]) == (1, [])
    assert library.passes("GB202", ["dram__bytes_read.sum"])[1] == ["dram__bytes_read.sum"]


TOOL = SHARED / "tools" / "ncu_passes.py" if SHARED else None


@pytest.mark.skipif(TOOL is None or not TOOL.is_file(), reason="ncu_passes.py is not here")
@pytest.mark.parametrize("chip", PROMISED)
@pytest.mark.parametrize("level", [CaptureLevel.QUICK, CaptureLevel.LEAN, CaptureLevel.STANDARD])
def test_another_count_of_the_passes_agrees(chip: str, level: CaptureLevel) -> None:
    """What a capture asks for, counted by a tool that shares no code with our script."""
    if script("nvperf").find_library() is None:
        pytest.skip("nvidia-cuda-cupti is not installed")
    asked = [m for m in metrics_of(level, [chip]) if m not in software(level)]

    done = run_quietly([sys.executable, str(TOOL), "passes", chip, *asked], timeout_s=60)

    assert done is not None
    promised = table()[chip].passes[level]
    assert done.stdout.strip() == f"{chip}: {len(asked)} metrics, {promised} passes"


LISTS = sorted((SHARED / "ncu-metrics").glob("*.txt")) if SHARED else []


@pytest.mark.skipif(not LISTS, reason="lists of metric names are not here")
@pytest.mark.parametrize("listing", LISTS, ids=lambda path: path.stem)
def test_names_exist_on_the_chip(listing: Path) -> None:
    names, chip = set(listing.read_text().split()), listing.stem.upper()
    assert chip in table()
    for level in CaptureLevel:
        for metric in metrics_of(level, [chip]):
            assert not is_listed(metric) or base_name(metric) in names, metric


def test_dram_is_spelt_as_the_chip_does() -> None:
    assert "dram__bytes_read.sum" in metrics_of(CaptureLevel.QUICK, ["GH100"])
    assert "dram__bytes_op_read.sum" not in metrics_of(CaptureLevel.QUICK, ["GH100"])
    assert "dram__bytes_op_read.sum" in metrics_of(CaptureLevel.QUICK, ["GB202"])
    assert "dram__bytes_read.sum" not in metrics_of(CaptureLevel.QUICK, ["GB202"])


def test_without_dram_counters_there_is_what_missed_in_l2() -> None:
    metrics = metrics_of(CaptureLevel.QUICK, ["GA10B"])
    assert not [name for name in metrics if name.startswith("dram__")]
    assert "lts__t_sectors_lookup_miss.sum" in metrics


@pytest.mark.parametrize("chip", TABLE["tensor"]["chips"])
def test_tensor_memory_chips_count_tensor_operations(chip: str) -> None:
    metrics = metrics_of(CaptureLevel.STANDARD, [chip])
    for kind in ("bf16_dst_fp32", "fp16_dst_fp32", "fp4_dst_fp32"):
        assert f"sm__ops_path_tensor_src_{kind}.sum" in metrics


def test_two_kinds_of_gpu_get_what_both_have() -> None:
    both = set(metrics_of(CaptureLevel.STANDARD, ["GH100", "GB202"]))
    assert "dram__bytes_read.sum" not in both
    assert "dram__bytes_op_read.sum" not in both
    assert "lts__t_bytes.sum" in both


def test_an_unknown_gpu_gets_what_all_have() -> None:
    every = set(metrics_of(CaptureLevel.STANDARD, []))
    for chip in PROMISED:
        have = {base_name(name) for name in metrics_of(CaptureLevel.STANDARD, [chip])}
        rare = {base_name(name) for name in RARE_MEMBERS}
        assert {base_name(name) for name in every} - rare <= have, chip


def test_ncu_decides_where_it_was_asked() -> None:
    listed = {"gpu__time_duration", "dram__bytes_read"}
    metrics = metrics_of(CaptureLevel.QUICK, ["GV100"], listed=listed)
    hardware_part = [name for name in metrics if is_listed(name)]
    assert hardware_part == ["gpu__time_duration.sum", "dram__bytes_read.sum"]


def test_extra_metrics_come_last_and_once() -> None:
    metrics = metrics_of(CaptureLevel.QUICK, ["GH100"], ["a__b.sum", "gpu__time_duration.sum"])
    assert metrics[-1] == "a__b.sum"
    assert len(metrics) == len(set(metrics))


@pytest.mark.parametrize("chip", PROMISED)
def test_levels_contain_one_another(chip: str) -> None:
    quick, lean, standard, full = (set(metrics_of(level, [chip])) for level in CaptureLevel)
    assert quick < lean < standard <= full


@pytest.mark.parametrize("chip", sorted(table()))
def test_standard_proves_causes_on_every_chip(chip: str) -> None:
    values = dict.fromkeys(metrics_of(CaptureLevel.STANDARD, [chip]), 1.0)
    metrics = PlainMetrics(values)
    found = {**counts_of(metrics), **ratios_of(metrics, {}, {})}
    expected = {*tables()["counts"], *tables()["ratios"]} - {"spills"}  # only where ncu lists it
    absent = {
        name
        for name, ways in {**tables()["counts"], **tables()["ratios"]}.items()
        if {base_name(metric) for metric in ways[0].needs} & table()[chip].absent
    }
    # What does not fit is in set full.
    left_out = {"l2_hit_percent"} if chip == "GA100" else set()
    left_out |= {"global_requests"} if chip.startswith("TU") else set()
    assert expected - absent - {*found} == left_out


@pytest.mark.parametrize("level", CaptureLevel)
@pytest.mark.parametrize("chip", sorted(table()))
def test_of_loads_and_stores_both_are_counted_or_none(chip: str, level: CaptureLevel) -> None:
    metrics = set(metrics_of(level, [chip]))
    for name in metrics:
        other = re.sub("_op_ld(?!gsts)", "_op_st", name)
        assert other in metrics, name


def test_young_names_are_asked_for_only_where_ncu_knows_them() -> None:
    spills, theory = "sass__inst_executed_register_spilling", "memory_l2_theoretical_sectors_global"

    def asked(**known: Any) -> set[str]:
        return {spills, theory} & {*metrics_of(CaptureLevel.STANDARD, ["GH100"], **known)}

    assert asked() == {theory}
    assert asked(listed={spills}) == {spills, theory}
    assert asked(listed={"gpu__time_duration"}) == {theory}
    assert asked(version=Version(year=2022, minor=2)) == {theory}
    assert asked(version=Version(year=2022, minor=1)) == set()


def test_nothing_is_patched_into_ranges_and_graphs() -> None:
    metrics = metrics_of(CaptureLevel.STANDARD, ["GH100"], patched=False)
    assert not [name for name in metrics if "sass_" in name or name.startswith("memory_")]
    assert "inst_executed" not in metrics
    assert "dram__bytes_read.sum" in metrics


class Asked(PlainMetrics):
    """Metrics that note what they are asked for."""

    asked: ClassVar[set[str]] = set()

    def number(self, name: str) -> float | None:
        self.asked.add(name)
        return super().number(name)

    def any_of(self, names: frozenset[str]) -> bool:
        self.asked.update(names)
        return super().any_of(names)

    def text(self, name: str) -> str | None:
        self.asked.add(name)
        return super().text(name)

    def instances(self, name: str) -> Mapping[str, float]:
        self.asked.add(name)
        return super().instances(name)


# What is read and not asked for by name.
ELSEWHERE = re.compile(
    # ncu notes it with every launch
    r"device__|profiler__|launch__"
    # in NVIDIA's sections alone: level full, and links by --section
    r"|breakdown:|gpu__compute_memory_throughput|(sm|l1tex|lts)__throughput|l1tex__cycles_|derived__"
    r"|(nvl[rt]x|pcie)__"
    # shown where a report has it, and no evidence
    r"|l1tex__average_t_sectors|smsp__warps_(active|eligible)\.|smsp__sass_average_branch"
    r"|(smsp|lts|dram)__cycles_active\.|lts__t_sectors_op_(atom|red)\.sum$|smsp__thread_inst_executed_pred_on_per|l1tex__t_(sectors|requests)_pipe_lsu_mem_global_op_"
    # other forms and older names of what is collected
    r"|.*\.per_second$|.*\.per_cycle_elapsed$|dram__(bytes|sectors)\.sum$"
    r"|dram__(bytes|sectors)_(op_)?(read|write)\.sum$"
    r"|smsp__average_warps?_|smsp__pcsamp_warps_issue_stalled_"
    r"|sass__(thread_inst_executed_true|inst_executed)_per_opcode$"
    r"|sm(sp)?__sass_thread_inst_executed_op_(\w*2|integer)_pred_on"
    r"|sm(sp)?__sass_thread_inst_executed_ops_"
    r"|sm__ops_path_tensor_\w+\.sum\.peak_sustained$"
    # only where ncu lists it
    r"|sass__inst_executed_register_spilling$"
)


@pytest.mark.parametrize("chip", PROMISED)
def test_what_is_collected_is_what_is_read(chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asked, "asked", set())
    collected = metrics_of(CaptureLevel.FULL, [chip])

    sample = "smsp__pcsamp_warps_issue_stalled_wait"  # one of the group
    values = dict.fromkeys((*collected, sample), 1.0)
    # Occupancy and waves that let the curves be read; conflicts that let theory be.
    values |= {"sm__maximum_warps_per_active_cycle_pct": 25.0}
    values |= {"launch__waves_per_multiprocessor": 10.0}
    by_address = {"16": 2000.0}
    instanced = dict.fromkeys(("inst_executed", "smsp__pcsamp_sample_count"), by_address)
    one = launch(metrics=Asked(values, instanced, {"16": "FADD R1, R2, R3"}))
    measure(one)
    details(one)

    # Misses are for chips without DRAM counters, requests in patched code for where the
    # hardware's are left out, a peak of matrix products for kernels that make such products; the
    # others check what is read.
    others = {L2_MISSES, "lts__t_sectors.sum", *DENSE_PEAKS}
    others |= {name for name in collected if name.startswith("smsp__sass_inst_executed_op_")}
    assert {*collected} - Asked.asked - others == {*TABLE["unread"]}
    absent = {name for name in Asked.asked if base_name(name) in table()[chip].absent}
    rare = table()[chip].left_out[CaptureLevel.STANDARD]
    unknown = Asked.asked - {*collected, ""} - absent - rare
    assert {name for name in unknown if not ELSEWHERE.match(name)} == set()


def test_measure_reads_every_unit_that_is_collected() -> None:
    for metric in (*MEMBERS, *RARE_MEMBERS):
        if metric.endswith(ELAPSED):
            uses = [use for use in unit_uses(PlainMetrics({metric: 12.5})) if use.metric == metric]
            assert [use.percent for use in uses] == [12.5], metric
            assert uses[0].unit not in ("other_compute", "other_memory"), metric


def test_cost_adds_patched_code_and_sampling() -> None:
    # GH100: 7 hardware passes, 1 or 2 for patched code, 1 for sampling; quick does not sample.
    assert cost(CaptureLevel.STANDARD, "GH100")[1] == (9, 10)
    assert cost(CaptureLevel.QUICK, "GH100")[1] == (2, 3)
    assert cost(CaptureLevel.FULL, "GH100")[1] == [39, 40]
    assert cost(CaptureLevel.FULL, "GB202")[1] is None
    assert cost(CaptureLevel.QUICK, "GV100")[1] is None


def seen(level: CaptureLevel, chip: str) -> set[str]:
    units = (unit_of_metric(m) for m in metrics_of(level, [chip]) if m.endswith(ELAPSED))
    return {unit.name for unit in units if unit is not None}


@pytest.mark.parametrize("chip", PROMISED)
def test_docs_say_what_a_level_does_not_see(chip: str) -> None:
    page = (SCRIPTS.parent / "docs" / "profile.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith(f"| {chip} |")]
    standard, lean = (cell.strip().split(", ") for cell in rows[0].split("|")[2:4])
    left_out = table()[chip].left_out[CaptureLevel.STANDARD]
    units = {unit.name for name in left_out if (unit := unit_of_metric(name))}
    assert {*standard} - {"-", "hit rate of L2"} == units - seen(CaptureLevel.STANDARD, chip)
    assert {*lean} == seen(CaptureLevel.STANDARD, chip) - seen(CaptureLevel.LEAN, chip)


def test_capability_of_an_unknown_gpu() -> None:
    assert chip_of("8.6") == "GA102"
    assert chip_of("99.0") is None


def test_names_look_like_metrics() -> None:
    for metric in (*hardware(CaptureLevel.STANDARD, "GB100"), *software(CaptureLevel.STANDARD)):
        assert re.fullmatch(r"(group:)?[a-z0-9]+_[a-z0-9_]+(\.[a-z_]+)*", metric), metric


@pytest.mark.skipif(not REPORTS, reason="public reports are not here")
def test_what_standard_leaves_out_does_not_change_verdicts() -> None:
    benchmark = script("standard_verdicts", SCRIPTS.parent / "benchmarks")
    same: Counter[bool] = Counter()
    for whole, less in benchmark.pairs([str(path) for path in REPORTS], CaptureLevel.STANDARD):
        a, b = whole.verdict, less.verdict
        same[(a.bound, a.limiter) == (b.bound, b.limiter)] += 1
    assert same.total() > 200
    assert same[True] >= 0.95 * same.total()
