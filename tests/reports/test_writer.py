from __future__ import annotations

import math
import tempfile
from pathlib import Path

import ncu_report
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import UsageError
from roofline.process import run_quietly
from roofline.reports.fields import Workload
from sample_reports.writer import Capture, Launch, Metric, Rule, Section, write
from tests import strange
from tests.shared import NCU
from tests.strange import actions


def test_names_and_values_come_back(tmp_path: Path):
    path = tmp_path / "a.ncu-rep"
    write(
        path,
        [
            Launch(
                name="gemm",
                demangled="void gemm<float>(int)",
                mangled="_Z4gemmIfEvi",
                metrics={"number": 0.1, "count": 2**40, "text": "a, b", "none": math.nan},
            )
        ],
    )
    (action,) = actions(path)

    assert action.name(action.NameBase_FUNCTION) == "gemm"
    assert action.name(action.NameBase_DEMANGLED) == "void gemm<float>(int)"
    assert action.name(action.NameBase_MANGLED) == "_Z4gemmIfEvi"
    assert action["number"].value() == 0.1
    assert action["count"].value() == 2**40
    assert action["text"].value() == "a, b"
    assert math.isnan(action["none"].value())
    assert action.metric_by_name("absent") is None


@given(
    st.dictionaries(
        st.text("abcdefghijklmnop_.", min_size=1, max_size=30),
        st.one_of(st.floats(allow_nan=False), st.integers(0, 2**64 - 1)),
        min_size=1,
        max_size=8,
    )
)
def test_every_number_comes_back_exactly(metrics: dict[str, float | int]):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.ncu-rep"
        write(path, [Launch(name="k", metrics=metrics)])
        (action,) = actions(path)
        assert {name: action[name].value() for name in metrics} == metrics


def test_instances_come_back_with_their_correlation_ids(tmp_path: Path):
    path = tmp_path / "a.ncu-rep"
    opcodes = Metric(30.0, (("FFMA", 10.0), ("HMMA.16816.F32.BF16", 20.0)))
    addresses = Metric(None, ((0x7F00, 1), (0x7F10, 2)))
    write(path, [Launch(name="k", metrics={"opcodes": opcodes, "addresses": addresses})])
    (action,) = actions(path)

    mix, ids = action["opcodes"], action["opcodes"].correlation_ids()
    assert [(ids.as_string(i), mix.as_double(i)) for i in range(2)] == list(opcodes.instances)
    pcs, ids = action["addresses"], action["addresses"].correlation_ids()
    assert [(ids.as_uint64(i), pcs.as_uint64(i)) for i in range(2)] == list(addresses.instances)


def test_units_come_from_the_chip_alone(tmp_path: Path):
    path = tmp_path / "a.ncu-rep"
    chip = {"device__attribute_implementation": 0x180}
    time = {"gpu__time_duration.sum": 5.0}
    write(path, [Launch(name="known", metrics=chip | time), Launch(name="unknown", metrics=time)])

    assert [a["gpu__time_duration.sum"].unit() for a in actions(path)] == ["ns", ""]


def test_nvtx_ranges_and_rules_come_back(tmp_path: Path):
    path = tmp_path / "a.ncu-rep"
    rule = Rule(
        identifier="SOLBottleneck",
        name="Bottleneck",
        section="SpeedOfLight",
        title="Latency Issue",
        message="words",
        kind="optimization",
        speedup_percent=12.5,
    )
    write(path, [Launch(name="k", nvtx=("step", "forward"), rules=(rule,))])
    (action,) = actions(path)

    assert action.nvtx_state()[0].push_pop_ranges() == ("step", "forward")
    (found,) = action.rule_results_as_dicts()
    assert found["rule_message"]["title"] == "Latency Issue"
    assert found["speedup_estimation"]["speedup"] == 12.5


@pytest.mark.parametrize(
    ("workload", "kind"),
    [(Workload.KERNEL, 0), (Workload.RANGE, 1), (Workload.CMDLIST, 2), (Workload.GRAPH, 3)],
)
def test_every_workload_comes_back(workload: Workload, kind: int, tmp_path: Path):
    path = tmp_path / "a.ncu-rep"
    write(path, [strange.launch("it", workload=workload)])
    (action,) = actions(path)

    assert action.workload_type() == kind
    assert action["gpu__time_duration.sum"].value() == 1e6


def test_the_ending_decides_whether_a_report_is_compressed(tmp_path: Path):
    plain, packed = tmp_path / "a.ncu-rep", tmp_path / "a.ncu-repz"
    launches = [strange.launch(demangled="x" * 20_000)]
    write(plain, launches)
    write(packed, launches)

    assert packed.stat().st_size < plain.stat().st_size / 4
    assert actions(packed)[0].name(ncu_report.IAction.NameBase_DEMANGLED) == "x" * 20_000


def test_nothing_is_overwritten_unasked(tmp_path: Path):
    path = tmp_path / "a.ncu-rep"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write(path, [strange.launch()])
    assert path.read_text() == "mine"

    write(path, [strange.launch()], force=True)
    assert len(actions(path)) == 1


needs_ncu = pytest.mark.skipif(NCU is None, reason="ROOFLINE_TEST_NCU names no ncu")


def imported(path: Path, page: str) -> str:
    done = run_quietly([str(NCU), "--import", str(path), "--page", page, "--csv"])
    assert done is not None
    assert done.code == 0, done.stderr
    return done.stdout


@needs_ncu
@pytest.mark.parametrize("name", strange.WHOLE)
def test_ncu_imports_what_is_whole(name: str, tmp_path: Path):
    rows = imported(strange.write(tmp_path, name), "raw").splitlines()
    if "\n" not in "".join(launch.demangled for launch in strange.WHOLE[name]):
        assert len(rows) == 2 + len(strange.WHOLE[name])  # names, units, launches


@needs_ncu
def test_ncu_shows_sections(tmp_path: Path):
    path = tmp_path / "a.ncu-rep"
    section = Section(
        identifier="SpeedOfLight", name="Speed", metrics={"gpu__time_duration.sum": "Duration"}
    )
    write(path, [strange.launch()], Capture(sections=(section,)))

    assert '"Speed","Duration"' in imported(path, "details")
