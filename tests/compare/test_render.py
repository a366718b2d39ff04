from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from roofline.compare import model
from roofline.compare.gates import judge, parse_gate
from roofline.compare.judge import compare
from roofline.compare.model import Comparison, Correctness
from roofline.compare.predictions import parse_claim, parse_expect
from roofline.render import comparison as table
from roofline.render import comparison_json, pull_request
from roofline.render.ci import github, junit
from roofline.render.pull_request import LIMIT, comment
from scripts import make_schemas
from tests.compare import pairs
from tests.compare.pairs import capture, compared, launch, one

SCHEMA: dict[str, Any] = json.loads(
    (Path(model.__file__).parents[1] / "schemas" / "comparison-1.schema.json").read_text()
)


def everything() -> Comparison:
    """A comparison with something in every field."""
    before = capture(
        launch("a", demangled="a<int>", us=100),
        launch("b", demangled="b", us=50),
        launch("lost", demangled="lost"),
    )
    after = capture(
        launch("a", demangled="a<int>", us=70),
        launch("b", demangled="b", us=90, sm_clock_hz=0.9e9),
        launch("fresh", demangled="fresh", grid=(7, 1, 1), sm_clock_hz=0.9e9),
    )
    wanted = [parse_expect("a=1.4x"), parse_claim("a=dram"), parse_expect("zzz=2x")]
    comparison = compare(before, after, expectations=wanted, shares={1: (0.1, 0.2)})
    gates = judge(comparison, [parse_gate("regression=5%"), parse_gate("zzz: time>1s")])
    done = Correctness(command="pytest -q", code=1, seconds=1.25, passed=False)
    return replace(comparison, gates=gates, correctness=done)


CASES = {
    "everything": everything,
    "fewer bytes": lambda: compared(*pairs.fewer_bytes()),
    "another size": lambda: compared(
        launch(), launch(grid=(200, 1, 1), operations={"fp32": 150e6}, dram_bytes=1.8e9)
    ),
    "not measured": lambda: compared(launch(duration_s=None), launch(units=(), dram_bytes=None)),
    "not a number": lambda: compared(launch(use={"dram": 90, "l2": math.nan}), launch()),
}


@pytest.mark.parametrize("case", CASES)
def test_json_is_valid_by_its_schema(case: str) -> None:
    data = json.loads(comparison_json.render(CASES[case]()), parse_constant=pytest.fail)

    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert data["schema"] == "roofline.comparison/1"


def test_the_schema_is_that_of_the_code() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    made = make_schemas.text("comparison-1.schema.json")
    assert json.loads(made) == SCHEMA, "python scripts/make_schemas.py"


def test_a_number_in_json_is_the_one_measured() -> None:
    data = json.loads(comparison_json.render(compared(*pairs.fewer_bytes())))

    (pair,) = data["pairs"]
    assert pair["timing"]["speedup"] == pytest.approx(2.0)
    assert pair["before"]["duration_s"] == 1e-3
    assert pair["before"]["utilization"]["dram"] == 90
    assert {c["quantity"]: c["ratio"] for c in pair["changes"]}["dram_bytes"] == 0.5


def test_json_has_the_causes_of_both_sides_and_which_went() -> None:
    local = {"local_sectors": 1e8, "global_sectors": 1e7}
    before = launch(use={"l1": 90, "dram": 20}, counts=local, waves=1.2, sm_active_percent=50.0)
    after = launch(
        us=300,
        use={"l1": 62, "dram": 60},
        counts=local | {"local_sectors": 0.0},
        waves=1.2,
        sm_active_percent=50.0,
    )

    (pair,) = json.loads(comparison_json.render(compared(before, after)))["pairs"]

    assert pair["before"]["causes"][0]["code"] == "local_memory"
    assert pair["before"]["gain_by"] == "waste"
    assert pair["causes_gone"] == ["local_memory"]
    codes = {cause["code"] for cause in pair["after"]["causes"]}
    assert set(pair["causes_new"]) == codes - {c["code"] for c in pair["before"]["causes"]}


def test_the_table_has_a_line_and_a_sentence_a_kernel() -> None:
    text = table.render(everything(), width=120)

    assert "2 kernels paired: 1 faster, 1 slower" in text
    assert "1.43x faster" in text
    assert "gone: lost" in text
    assert "new: fresh" in text
    assert "correctness: pytest -q: failed (exit code 1), 1.2 s" in text
    assert "gate: FAILED regression=5% at b" in text
    assert "gate: NOT JUDGED zzz: time>1s" in text
    assert "the step: at 20.0 % of it, 1.03x to 1.06x if nothing else changes" in text
    assert "\x1b[" not in text


def test_a_kernel_of_another_name_stands_below_the_one_before() -> None:
    renamed = compared(launch("tile_naive"), launch("tile_padded", us=500))
    text = table.render(renamed, width=100)

    assert "\n1  tile_naive ->  1.00 ms  500 µs  2.00x faster" in text
    assert "\n   tile_padded\n" in text
    assert "| `tile_naive` -\\> `tile_padded` | 1.00 ms |" in pull_request.render(renamed)
    mapped = compared(launch("gemm"), launch("gemm", us=500))
    assert "->  1.00 ms" not in table.render(mapped, width=100)


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_the_table_fits_its_width(width: int) -> None:
    text = table.render(everything(), width=width)

    assert max(map(len, text.splitlines())) <= width


def test_a_hostile_name_steers_nothing() -> None:
    name = "evil\x1b[31m`|<script>\nx"
    comparison = compared(launch(name, demangled=name), launch(name, demangled=name, us=500))

    for text in (
        table.render(comparison),
        pull_request.render(comparison),
        comment(capture(launch(name, demangled=name)), comparison, title=name),
    ):
        assert "\x1b" not in text
    rows = [line for line in pull_request.render(comparison).splitlines() if line.startswith("| 1")]
    assert rows[0].count("|") - rows[0].count("\\|") == 8
    ET.fromstring(junit(replace(comparison, gates=judge(comparison, [parse_gate("gone")]))))


def test_markdown_tells_the_outcome_first() -> None:
    text = pull_request.render(everything())

    assert text.index("2 kernels paired") < text.index("| # |")
    assert "**2 of 3 gate checks failed**" in text
    assert "> warning: the SM clock differs" in text
    assert text.index("<details>") < text.index("expected: ") < text.index("</details>")
    assert "predicted: " not in text  # a bound that was not put to the test


# --- the comment ---------------------------------------------------------------------------------


def many(count: int, name: str = "kernel_{}_of_a_model") -> Comparison:
    names = [name.format(i) for i in range(count)]
    before = capture(*(launch(n, demangled=n, us=100 + i) for i, n in enumerate(names)))
    after = capture(*(launch(n, demangled=n, us=50 + i) for i, n in enumerate(names)))
    return compare(before, after)


def test_a_comment_has_at_most_10_rows() -> None:
    text = comment(capture(launch()), many(40), title="t", top=10)

    rows = [line for line in text.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) == 10
    assert "... and 30 more" in text


def test_a_comment_fits_whatever_the_kernels_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    # Sentences so long that ten of them break the limit.
    monkeypatch.setattr(table, "sentence", lambda _: "x " * 5000)

    text = comment(capture(launch()), many(12), title="t")

    assert len(text) <= LIMIT
    assert text.count("<details>") == text.count("</details>")


def test_one_sentence_beyond_the_limit_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "sentence", lambda _: "word " * 20_000)

    text = comment(capture(launch()), many(1), title="t")

    assert len(text) <= LIMIT
    assert "cut to fit GitHub's limit" in text


def test_the_picture_follows_the_readers_theme() -> None:
    text = comment(capture(launch()), None, title="A title")

    assert text.startswith("<!-- roofline -->\n## A title\n")
    assert '<source media="(prefers-color-scheme: dark)" srcset="roofline-dark.svg">' in text
    assert 'src="roofline.svg"' in text
    assert "<picture>" not in comment(capture(launch()), None, title="t", picture=False)


def test_below_an_address_the_picture_is_a_png_and_needs_no_bars() -> None:
    text = comment(capture(launch()), None, title="t", image_base="https://a.example/x?a&b/")

    assert 'src="https://a.example/x?a&amp;b/roofline.png"' in text
    assert 'srcset="https://a.example/x?a&amp;b/roofline-dark.png"' in text
    assert "```text" not in text


def test_bars_stand_in_for_the_picture() -> None:
    text = comment(capture(launch()), compared(launch(), launch(us=500)), title="t", picture=False)

    bars = text.split("```text\n")[1].split("\n```")[0].splitlines()
    full, half = (line.count("█") for line in bars)
    assert full == 2 * half == 24
    assert bars[1].endswith("2.00x faster")


def test_unchanged_kernels_are_one_line() -> None:
    names = [f"still_{i}" for i in range(12)]
    kept = [launch(n, demangled=n) for n in names]
    moved = [launch("moved", demangled="moved", us=us) for us in (100, 50)]
    text = pull_request.render(compare(capture(moved[0], *kept), capture(moved[1], *kept)))

    assert "| 1 |" in text
    assert "| 2 |" not in text
    (line,) = [line for line in text.splitlines() if "no change within" in line]
    assert "(12 kernels): " in line
    assert line.endswith(" and 2 more")


def test_a_grid_of_one_side_is_no_side_effect() -> None:
    # Registers went from 32 to 40; where the grid was, nobody knows.
    before = launch(grid=None, registers_per_thread=32)
    pair = one(before, launch(us=500, grid=(9, 1, 1), registers_per_thread=40))

    assert [*table.side_effects(pair)] == ["registers per thread: 32 to 40"]


def test_what_clocks_may_explain_is_told_with_its_time() -> None:
    # 1.12x slower at the same SM clock, 1.01x by DRAM's, with 5 % of noise: it is left open.
    use = {"l2": 70.0, "issue": 20.0}
    before, after = (
        capture(*(launch(n, us=us, use=use, dram_clock_hz=hz, demangled=n) for n in "ab"))
        for us, hz in ((10.0, 1.0e9), (11.2, 0.9e9))
    )
    found = compare(before, after)

    assert {p.cause.code for p in found.pairs} == {"clock"}
    assert (
        "no change beyond clocks and noise: #1 (1.12x slower by time), #2 (1.12x slower by time)"
    ) in table.render(found)


def test_where_nothing_changed_there_is_no_table() -> None:
    kept = [launch(n, demangled=n) for n in ("a", "b")]
    text = pull_request.render(compare(capture(*kept), capture(*kept)))

    assert "2 unchanged" in text
    assert "| # |" not in text
    assert "(2 kernels): a, b" in text


def test_nothing_personal_is_in_any_output() -> None:
    secret: dict[str, Any] = {
        "source": "/home/alice/run.ncu-rep",
        "nvtx": ("alice's step",),
        "process": 4711,
    }
    before = capture(launch(**secret), path="/home/alice/before.ncu-rep")
    after = capture(launch(us=500, **secret), path=r"C:\Users\alice\after.ncu-rep")
    comparison = compare(before, after)

    for text in (
        comparison_json.render(comparison),
        pull_request.render(comparison),
        table.render(comparison),
        junit(replace(comparison, gates=judge(comparison, [parse_gate("time>1us")]))),
    ):
        for word in ("alice", "/home", "Users", "4711"):
            assert word not in text


# --- what CI reads -------------------------------------------------------------------------------


def test_the_range_of_launches_is_theirs_and_not_the_noise() -> None:
    side = capture(*(launch(us=us, index=i) for i, us in enumerate((100, 110))))
    slower = capture(*(launch(us=us, index=i) for i, us in enumerate((100, 120))))

    alike = " ".join(table.render(compare(side, side)).split())
    apart = " ".join(table.render(compare(slower, side)).split())

    assert "before / after is 1.00x over 2 launches" in alike
    # 100 / 100 and 120 / 110.
    assert "before / after is 1.00x to 1.09x over 2 launches" in apart


def test_a_step_gain_that_reads_alike_is_said_once() -> None:
    text = table.render(compared(launch(), launch(), shares={0: (0.001, 0.002)}))

    assert "0.2 % of it, 1.00x if nothing else changes" in text


def test_junit_counts_what_failed() -> None:
    root = ET.fromstring(junit(everything()))

    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("4", "3")
    failures = {f.get("type"): f.get("message") for f in suite.iter("failure") if f.get("type")}
    assert failures["not judged"] == "no kernel of AFTER is named 'zzz'"


def test_annotations_are_escaped() -> None:
    lines = github(everything())

    assert lines[0].startswith("::error title=roofline gate::FAILED regression=5%25 at b")
    assert any(line.startswith("::warning title=roofline::the SM clock differs") for line in lines)
    assert all("\n" not in line for line in lines)


def test_a_comment_has_the_operations_where_they_changed() -> None:
    fewer = launch(us=500, operations={"fp32": 30e6})  # of 75e6
    text = comment(capture(fewer), compared(launch(), fewer), title="t")

    assert "| change | bytes | operations | limited by |" in text
    assert "| same | 0.40x | DRAM 90 % |" in text
    assert "- operations: 75.0 MOP to 30.0 MOP" in text
    same = comment(capture(launch()), compared(launch(), launch(us=500)), title="t")
    assert "| change | bytes | limited by |" in same
