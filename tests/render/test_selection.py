from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import roofline
from roofline.render import selection_json
from roofline.render.selection import markdown, render, speedup
from roofline.timeline import load_timeline, select
from roofline.timeline.model import Criteria, Selection
from tests.timeline.made import KERNELS, NVTX, Export, copy, kernel, launched, step, trace, write

SCHEMA = json.loads(
    (Path(roofline.__file__).parent / "schemas" / "selection-1.schema.json").read_text("utf-8")
)
SECRETS = ("alice", "hunter2", "node-17.example", "SECRET_TOKEN", "/home/")


def closed(schema: Any) -> Any:
    """The schema with no room for keys that it does not describe."""
    if isinstance(schema, dict):
        strict = {key: closed(value) for key, value in schema.items()}
        return strict | ({"additionalProperties": False} if "properties" in schema else {})
    return [closed(s) for s in schema] if isinstance(schema, list) else schema


def stepped(folder: Path, **wanted: Any) -> Selection:
    events: list[Any] = []
    for i in range(4):
        start = 1000 * i
        events += [
            step(i, start, 990),
            launched(2 * i + 1, "void n::gemm<4, true>(int)", start + 100, 300),
            launched(2 * i + 2, "ncclDevKernel_AllReduce", start + 350, 100, stream=9),
            copy(start + 600, 50),
            kernel("tiny", start + 700, 1),
        ]
    return select(load_timeline(write(folder, trace(*events))), Criteria(**wanted))


def summary(folder: Path) -> Selection:
    header = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)"
    content = f"{header},Name\n100,90000,3,1,1,1,1,1,k\n".encode()
    return select(load_timeline(write(folder, content, "stats.csv")))


def everything_idle(folder: Path) -> Selection:
    return select(load_timeline(write(folder, trace(kernel("a", 1, 1)))))


MADE = pytest.mark.parametrize("made", [stepped, summary, everything_idle])


@MADE
def test_json_follows_its_schema(tmp_path: Path, made: Any):
    document = json.loads(selection_json.render(made(tmp_path)))
    jsonschema.validate(document, SCHEMA)
    jsonschema.validate(document, closed(SCHEMA))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@MADE
@pytest.mark.parametrize("width", [60, 99, 120, 200])
def test_the_table_fits(tmp_path: Path, made: Any, width: int):
    lines = render(made(tmp_path), width=width).splitlines()
    assert all(len(line) <= width for line in lines if "roofline profile" not in line)


def test_the_answer_comes_first(tmp_path: Path):
    lines = render(stepped(tmp_path), width=200).splitlines()
    # Of 2000 us: gemm 600, all-reduce 100 of its 200 alone, copies 100, tiny 2: idle 1198.
    # It is one step of two that is judged. Launches come 2 us before the kernels: the CPU is late.
    assert lines[0] == (
        "Gaps come first: the CPU sets the pace. The GPU is idle for 599 µs of 1.00 ms (59.9 %); "
        "the CPU waits for it for 0 s."
    )
    # All kernels 351 of each 1000 us; without the all-reduce, of which gemm covers half, 301.
    assert lines[1] == (
        "Removing the gaps buys up to 2.49x. Kernels that cost nothing buy up to 1.54x, compute "
        "kernels alone 1.43x."
    )


def test_the_table_says_what_is_chosen_and_what_is_not(tmp_path: Path):
    text = render(stepped(tmp_path))
    # gemm: 300 of each 1000 us, 1 / 0.7; but the host launches each only when it does.
    assert "1.00x to 1.43x" in text
    assert "communication: 1 kernel, 2 in all" in text
    assert "short: 1 kernel" in text
    assert "2 steps of 1.00 ms, left out: 1 (first: warm-up), 4 (last:" in text
    assert "No commands: the kernels are not what the step waits for." in text


def test_commands_where_kernels_come_first(tmp_path: Path):
    events = [[step(i, 100 * i, 100), launched(i, "gemm", 100 * i + 5, 95)] for i in range(1, 5)]
    made = select(load_timeline(write(tmp_path, trace(*(e for pair in events for e in pair)))))
    words = "--kernel-name gemm --launch-skip 2 --launch-count 1 -- PROGRAM"
    assert f"\n  roofline profile {words}\n" in render(made)
    assert f"```sh\nroofline profile {words}\n```" in markdown(made)


def test_the_rest_is_measured_as_the_rows_are(tmp_path: Path):
    # b runs for 40 of 100 us, 10 of them alone; c for 5 alone.
    events = [kernel("a", 0, 80), kernel("b", 50, 40, stream=8), kernel("c", 95, 5)]
    made = select(load_timeline(write(tmp_path, trace(*events))), Criteria(top=1))
    text = render(made)
    assert "2 more kernels: 36.0 % of kernel time, none exposed for more than 10.0 % of" in text


def test_no_kernel_is_more_than_none_and_no_blank_lines_meet(tmp_path: Path):
    none = render(select(load_timeline(write(tmp_path, trace(kernel("a", 0, 5)))), Criteria(top=0)))
    assert "\n1 kernel: 100.0 % of kernel time" in none
    short = render(select(load_timeline(write(tmp_path, trace(kernel("a", 0, 1))))))
    assert "Skipped" in short
    assert "\n\n\n" not in none + short


def test_copies_that_overlap_are_counted_once_and_alike(tmp_path: Path):
    # Copies run from 40 to 100, both from 60 to 80: 60 % with nothing else, however they overlap.
    there = copy(60, 40, stream=10) | {"name": "Memcpy DtoH (Device -> Pinned)"}
    events = [kernel("a", 0, 40), copy(40, 40), there]
    text = render(select(load_timeline(write(tmp_path, trace(*events)))))
    assert "exposed copies" in text
    assert "copy: 2 kinds, 2 in all, exposed for 60.0 % of the wall time;" in text


def test_the_table_is_that_of_analyze(tmp_path: Path):
    made = stepped(tmp_path)
    wide = render(made, width=150).splitlines()
    at = wide.index("Kernels, a step, for later")
    assert wide[at + 1].split() == (
        "# kernel grid / block family launches time share exposed max step speedup".split()
    )
    narrow = render(made, width=100).splitlines()
    at = narrow.index("Kernels, a step, for later")
    assert narrow[at + 3] == "   64 / 128, gemm"
    assert "\x1b[2m   64 / 128, gemm" in render(made, width=100, color=True)  # dim


def test_figures_of_one_step_and_of_all_say_so(tmp_path: Path):
    text = render(stepped(tmp_path))
    # Of step 2 and of steps 2 and 3.
    assert "where step 2 (ProfilerStep#1) goes" in text
    assert "exposed for 5.0 % of the time of all 2 steps" in text


@pytest.mark.parametrize(
    ("bound", "said"),
    [(1.187, "1.19x"), (9.99, "9.99x"), (10.0, "over 10x"), (7e6, "over 10x"), (None, "no limit")],
)
def test_a_bound_is_no_longer_than_it_is_worth(bound: float | None, said: str):
    assert speedup(bound) == said


def test_markdown_is_a_table(tmp_path: Path):
    text = markdown(stepped(tmp_path))
    assert "**Kernels, a step, for later**" in text
    assert "| # | kernel | grid / block | family | launches | time | share |" in text
    assert "| 1 | `gemm<4, true>` | 64 / 128 | gemm | 1 | 300 µs |" in text
    assert "| idle: host code |" in text


def test_a_summary_has_no_bounds(tmp_path: Path):
    for text in (
        render(summary(tmp_path)),
        markdown(summary(tmp_path)),
    ):
        assert "buys at most" not in text
        assert "no wall time" in text


def test_two_devices_are_listed(tmp_path: Path):
    events = [kernel("a", 1, 10, device=d) for d in (0, 1)]
    text = render(select(load_timeline(write(tmp_path, trace(*events)))))
    assert "Devices (never added up):" in text


def test_colours_change_no_letter(tmp_path: Path):
    import re

    made = stepped(tmp_path)
    colourful = render(made, color=True)
    assert "\x1b[" in colourful
    assert re.sub(r"\x1b\[[\d;]*m", "", colourful) == render(made)


def secret_trace(folder: Path) -> Path:
    """A Kineto trace with something private wherever a trace has text that is no kernel's name."""
    private = "alice hunter2 node-17.example SECRET_TOKEN=1 /home/alice"
    annotation = step(9, 0, 3, private)
    function = annotation | {"cat": "python_function", "name": "/home/alice/x.py(3): f"}
    operator = annotation | {"cat": "cpu_op", "name": private, "dur": 5000}
    events: list[Any] = [annotation, function, operator]
    for i in range(4):
        events += [step(i, 1000 * i, 990), launched(i + 1, "gemm", 1000 * i + 100, 300)]
        events[-1][0]["args"]["note"] = private
    labels = {"ph": "M", "name": "process_name", "pid": 100, "args": {"name": private}}
    content = trace(*events, labels, username="alice", traceName="/home/alice/t.json", env=private)
    return write(folder, content)


def secret_export(folder: Path) -> Path:
    made = Export(folder / "report.sqlite", KERNELS, NVTX)
    made.kernel("gemm", 1000, 90_000)
    made.range("SECRET_TOKEN of alice", 0, 100_000)
    for table in ("META_DATA_CAPTURE", "META_DATA_EXPORT"):
        made.db.execute(f"CREATE TABLE {table} (name TEXT, value TEXT)")
        made.db.execute(f"INSERT INTO {table} VALUES ('PROCESS_0:ENV', 'SECRET_TOKEN=hunter2')")
        made.db.execute(f"INSERT INTO {table} VALUES ('EXPORT_HOST', 'node-17.example')")
    made.db.execute("CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT)")
    made.db.execute("INSERT INTO DIAGNOSTIC_EVENT VALUES (3, 'see /home/alice/log')")
    return made.done()


@pytest.mark.parametrize("made", [secret_trace, secret_export])
@pytest.mark.parametrize("step_name", [None, "SECRET|ProfilerStep"])
def test_nothing_private_reaches_an_output(tmp_path: Path, made: Any, step_name: str | None):
    selection = select(load_timeline(made(tmp_path), step=step_name))
    texts = (
        selection_json.render(selection),
        render(selection),
        markdown(selection),
    )
    for text in texts:
        assert "gemm" in text
        for secret in SECRETS:
            assert secret not in text
