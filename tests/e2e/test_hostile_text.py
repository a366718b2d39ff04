"""Hostile texts in every field of every input, and what every output makes of them."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from roofline.analysis import analyze
from sample_reports.writer import Process
from tests import strange
from tests.e2e.running import run
from tests.hostile import HOSTILE
from tests.shared import remembering

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = re.compile(r"^\s*::[\w-]+[^:\n]*::|##(\[|vso\[)", re.MULTILINE)
# What our own Markdown has of HTML.
OURS = re.compile(
    r"<!-- -->|</?(sub|details|summary|picture|span)>|Details|<(source|img) [^<>]*roofline[^<>]*>"
)


_LINKED = r"@\w+|(?<!\\)#\d+|https?://\S|GH-\d|www\.\w|\$\S+\$"


def harmless(text: str) -> bool:
    """Whether a terminal and a log only show it."""
    plain = COLOURS.sub("", text).replace("\n", "")
    return plain.isprintable() and not COMMANDS.search(COLOURS.sub("", text))


def markdown_acts(text: str) -> list[str]:
    """What in Markdown does more than to show text."""
    from markdown_it import MarkdownIt

    found = []
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        for token in (block, *(block.children or ())):
            if token.type in ("link_open", "image"):
                found.append(f"{token.type} {token.attrs}")
            elif token.type.startswith("html") and OURS.sub("", token.content).strip():
                found.append(token.content)
            elif token.type == "text":
                found += re.findall(_LINKED, token.content)
    return found


@pytest.fixture(scope="module", autouse=True)
def read_once() -> Iterator[None]:
    """The same two reports are analysed once: the tests are about what is said of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roofline.analysis.analyze", remembering(analyze))
        yield


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two reports with a launch for each text, which stands in every field."""
    folder = tmp_path_factory.mktemp("hostile")
    made = []
    for side in ("before", "after"):
        launches = []
        for number, text in enumerate(HOSTILE):
            said = text.encode("utf-8", "replace").decode()  # a file holds UTF-8
            named = {"device__attribute_display_name": said if number < 60 else f"{said} GPU"}
            figures = {"gpu__time_duration.sum": 1e6 * (1 + number % 7) * (1 + (side == "after"))}
            launches.append(
                strange.launch(
                    said,
                    demangled=f"void {said}<{said}>({said})",
                    nvtx=(said, said),
                    metrics=named | figures,
                    process=Process(id=number + 1, name=said),
                )
            )
        odd = " ".join(text.encode("utf-8", "replace").decode() for text in HOSTILE)
        capture = replace(
            strange.CAPTURE,
            comment=f"computed by {odd}",
            versions={"Nsight Compute Target": f"2024.1.1 {odd}", odd: odd},
            settings={"clock_control": odd, "replay_mode": odd, "sections": odd},
        )
        path = folder / f"{side}.ncu-rep"
        path.write_bytes(strange.report(*launches, capture=capture))
        made.append(path)
    return made[0], made[1]


@pytest.mark.parametrize(
    "words",
    [[], ["--launches"], ["--explain", "1"], ["--top", "200", "--sort", "name"]],
    ids=["table", "launches", "explain", "all"],
)
@pytest.mark.parametrize("columns", ["60", "200"])
def test_terminals(reports: tuple[Path, Path], words: list[str], columns: str, monkeypatch: Any):
    monkeypatch.setenv("COLUMNS", columns)
    done = run("analyze", *reports, *words)

    assert done.exit_code == 0, done.stderr
    assert harmless(done.stdout)
    assert harmless(done.stderr)


def test_every_kernel_explained(reports: tuple[Path, Path]):
    for rank in range(1, len(HOSTILE), 5):
        assert harmless(run("analyze", reports[0], "--explain", rank).stdout)


def test_csv_and_json(reports: tuple[Path, Path]):
    done = run("analyze", *reports, "--launches", "--format", "csv")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert len(rows) == 1 + 2 * len(HOSTILE)
    for cell in (cell for row in rows[1:] for cell in row):
        assert cell.isprintable()
        assert not cell.startswith(("=", "+", "@")), cell
        assert not cell.startswith("-") or float(cell) < 0

    done = run("analyze", *reports, "--json")
    found = json.loads(done.stdout)
    assert len(found["launches"]) == 2 * len(HOSTILE)
    for text in texts(found):
        assert text.isprintable()


def texts(value: Any) -> Iterator[str]:
    """Every text of a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *texts(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


@pytest.mark.parametrize("command", ["analyze", "compare"])
def test_markdown(reports: tuple[Path, Path], command: str):
    done = run(command, *reports, "--format", "markdown", "--top", "200")

    assert done.exit_code == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if not harmless(line)] == []
    assert markdown_acts(done.stdout) == []


def test_what_is_attached_to_a_pull_request(reports: tuple[Path, Path], tmp_path: Path):
    for text in ("@a ![x](http://x) $a$ <b>", "\x1b[31m::error::x"):
        done = run("report", *reports, "-o", tmp_path / "pr", "--title", text, "--force")
        assert done.exit_code == 0, done.stderr
        comment = (tmp_path / "pr" / "comment.md").read_text()
        mark, _, said = comment.partition("\n")
        assert mark == "<!-- roofline -->"  # our own, to find the comment again
        assert markdown_acts(said) == []
        assert harmless(said)
        for name in ("roofline.svg", "roofline-dark.svg"):
            ET.fromstring((tmp_path / "pr" / name).read_text())


@pytest.mark.parametrize("ending", ["svg", "html", "png"])
def test_pictures(reports: tuple[Path, Path], tmp_path: Path, ending: str):
    path = tmp_path / f"p.{ending}"
    done = run("plot", *reports, "-o", path)

    assert done.exit_code == 0, done.stderr
    if ending == "svg":
        ET.fromstring(path.read_text())
    if ending == "html":
        page = path.read_text()
        assert page.count("<script") == 3  # its data, its own, and what unpacks both
        assert "<img" not in page
        assert "onerror=a()>" not in page


def test_records_gates_and_logs(reports: tuple[Path, Path], tmp_path: Path, monkeypatch: Any):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    record, junit = tmp_path / "record.md", tmp_path / "junit.xml"
    said = " ".join(text for text in HOSTILE if "\0" not in text)
    words = ["--record", record, "--problem", said, "--hypothesis", "]]>\n---\n" + said]
    done = run("compare", *reports, *words, "--junit", junit, "--fail-on", "time>1us")
    again = run("compare", *reports, *words)

    assert (done.exit_code, again.exit_code) == (1, 0), done.stderr
    assert harmless(done.stdout)
    for line in done.stderr.splitlines():
        known = re.match(r"::(error|warning) title=roofline( gate)?::", line)
        assert harmless(line[known.end() :] if known else line)
    ET.fromstring(junit.read_text())
    for text in (record.read_text(), summary.read_text()):
        assert text.replace("\n", "").isprintable()
    parts = re.split(r"^---\n", record.read_text(), flags=re.MULTILINE)
    heads = [
        {key: json.loads(value) for key, _, value in (line.partition(": ") for line in lines)}
        for lines in (part.splitlines() for part in parts[1::2])
    ]
    assert [head["entry"] for head in heads] == [1, 2]
    assert all(markdown_acts(part) == [] for part in (*parts[2::2], summary.read_text()))


def chrome(path: Path) -> Path:
    """A trace with every text as kernel, range, call, device and metadata."""
    events: list[dict[str, Any]] = []
    for i, text in enumerate(HOSTILE):
        at = {"ph": "X", "pid": 0, "tid": text, "dur": 90}
        args = {"device": 0, "stream": text, "correlation": i + 1, "grid": [1, 1, 1]}
        events += [
            at | {"cat": "cuda_runtime", "name": text, "ts": 100 * i, "args": args},
            at | {"cat": "kernel", "name": text, "ts": 100 * i + 5, "args": args},
            at | {"cat": "user_annotation", "name": f"step {text}", "ts": 100 * i, "args": {}},
        ]
    devices = [{"id": 0, "name": HOSTILE[0], "numSms": 108, "computeMajor": 8, "computeMinor": 0}]
    found = {"traceEvents": events, "deviceProperties": devices, HOSTILE[1]: HOSTILE[1]}
    path.write_text(json.dumps(found))
    return path


def nsys(path: Path) -> Path:
    """An export with every text as kernel and range, some of them as BLOB, and bad UTF-8."""
    columns = "start, end, deviceId, correlationId, globalPid, demangledName, gridX, gridY, gridZ, "
    columns += "blockX, blockY, blockZ, streamId"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
        db.execute(
            "CREATE TABLE TARGET_INFO_GPU"
            " (id, name, computeMajor, computeMinor, smCount, totalMemory)"
        )
        db.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid, text, domainId)")
        db.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, ?, 8, 0, 108, 1)", (b"\x1b[31m\xff",))
        for i, text in enumerate(HOSTILE):
            raw = text.encode("utf-8", "surrogatepass")
            value: Any = raw if i % 3 == 0 else raw.decode("utf-8", "replace")
            db.execute("INSERT INTO StringIds VALUES (?, ?)", (i, value))
            at = 100_000 * i
            row = (at, at + 90_000, 0, i + 1, 1 << 24, i, 1, 1, 1, 32, 1, 1, 7)
            marks = ",".join("?" * len(row))
            db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({marks})", row)
            row = (at, at + 99_000, 59, 1 << 24, value, 0)
            db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", row)
        db.execute("UPDATE StringIds SET value = CAST(x'ff1b5b' AS TEXT) WHERE id = 7")
    return path


def summary(path: Path) -> Path:
    """The kernel summary of nsys stats."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Name"])
    for i, text in enumerate(HOSTILE):
        clean = text.replace("\n", " ").replace("\r", " ").replace("\0", "")
        writer.writerow(["1", "nan" if i == 3 else "1e400" if i == 4 else 5000 + i, 1, 5000, clean])
    path.write_bytes(out.getvalue().encode("utf-8", "replace"))
    return path


@pytest.mark.parametrize("make", [chrome, nsys, summary])
def test_timelines(tmp_path: Path, make: Any, reports: tuple[Path, Path]):
    suffix = {"chrome": ".json", "nsys": ".sqlite", "summary": ".csv"}[make.__name__]
    path = make(tmp_path / f"a\x1b[31m\u202e{suffix}")
    for words in ([], ["--step", "step|."], ["--top", "100", "--min-share", "0"]):
        for form in ("table", "markdown", "json"):
            done = run("select", path, *words, "--format", form)
            assert done.exit_code in (0, 2, 3), done.stderr
            assert done.exit_code == 0 or words == ["--step", "step|."], done.stderr
            assert harmless(done.stderr)
            assert form == "json" or harmless(done.stdout), [
                line for line in done.stdout.splitlines() if not harmless(line)
            ]
            if form == "markdown":
                assert markdown_acts(done.stdout) == []
            elif form == "json" and done.stdout:
                assert all(text.isprintable() for text in texts(json.loads(done.stdout)))
    assert harmless(run("analyze", reports[0], "--timeline", path).stdout)


def test_names_of_files(tmp_path: Path):
    for number, text in enumerate(text for text in HOSTILE if "/" not in text and "\0" not in text):
        try:
            path = tmp_path / f"{number}{text}.ncu-rep"
            path.write_bytes(strange.report(strange.launch()))
        except (OSError, UnicodeEncodeError):
            continue
    done = run("analyze", tmp_path)
    assert done.exit_code == 0
    assert harmless(done.stdout)
    for form in ("json", "csv", "markdown"):
        done = run("analyze", tmp_path, "--format", form, "--launches", "-o", tmp_path / "o", "-f")
        assert done.exit_code == 0, done.stderr
        written = (tmp_path / "o").read_text("utf-8")
        assert written.replace("\n", "").isprintable()


def test_a_line_end_in_a_name_stays_on_its_line(reports: tuple[Path, Path], tmp_path: Path):
    broken = tmp_path / "a\nb"
    for words in (
        ["plot", reports[0], "-o", f"{broken}.svg"],
        ["redact", reports[0], "-o", f"{broken}.ncu-rep"],
        ["time", "--repeats", 1, "--warmup", 0, "-o", f"{broken}.json", "--", "true"],
        ["analyze", f"{broken}.ncu-rep"],
    ):
        done = run(*words)
        said = done.stdout + done.stderr
        assert done.exit_code == 0
        assert "a\\nb." in said or "a b." in said
        assert "a\nb" not in said


def test_documents_of_ours_that_somebody_changed(reports: tuple[Path, Path], tmp_path: Path):
    """Baselines, timings and ceilings."""
    folder, times = tmp_path / "base", tmp_path / "t.json"
    done = run(
        "compare",
        "--baseline",
        folder,
        strange.write(tmp_path, "two launches"),
        "--update-baseline",
    )
    assert done.exit_code == 0, done.stderr
    (path,) = folder.iterdir()
    text = json.dumps("\x1b[31m\u202e@a ![x](http://x)")
    path.write_text(path.read_text().replace('"first"', text).replace('"second"', text))
    done = run("compare", "--baseline", folder, strange.write(tmp_path, "two launches"))
    assert done.exit_code in (0, 3), done.stderr
    assert harmless(done.stdout + done.stderr)

    assert run("time", "--repeats", "1", "--warmup", "0", "-o", times, "true").exit_code == 0
    found = msgspec.json.decode(times.read_bytes())
    found["environment"]["gpus"] = list(HOSTILE[:16])
    times.write_text(json.dumps(found))
    done = run("compare", *reports, "--time", times, times)
    assert harmless(done.stdout + done.stderr)

    ceilings = tmp_path / "c.toml"
    ceilings.write_text('device = "\\u001b[31m\\u202e"\ndram_bytes_per_s = 1e12\n')
    done = run("analyze", reports[0], "--peaks", ceilings)
    assert harmless(done.stdout + done.stderr)
