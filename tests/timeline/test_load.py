"""What a file is, and the reports that only nsys can read."""

from __future__ import annotations

import gzip
import os
import re
import sys
from pathlib import Path

import pytest

from roofline.errors import InputError, UsageError
from roofline.timeline.events import refusal, table
from roofline.timeline.load import load_timeline
from tests.timeline.made import KERNELS, Export, kernel, trace, write


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"hello", "no timeline that is known"),
        (b"NVR\x00....", "Nsight Compute report"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"PAR1....", "table export"),
        ("Time (%),Total Time (ns),Instances,Name".encode("utf-16"), "text in UTF-16"),
        (b"PK\x03\x04....", "archive"),
        (gzip.compress(b"hello", mtime=0), "no timeline that is known"),
        (gzip.compress(b"SQLite format 3\0", mtime=0), "it is compressed"),
        (gzip.compress(b"Time (%),Total Time (ns),Instances,Name\n", mtime=0), "it is compressed"),
        (b"\x1f\x8bgarbage", "no timeline that is known"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, reason: str):
    with pytest.raises(InputError, match=reason) as refused:
        load_timeline(write(tmp_path, content, "the thing"))
    assert refused.value.exit_code == 3
    assert str(tmp_path / "the thing") in refused.value.what
    assert (f"roofline analyze '{tmp_path}/the thing'; a" in str(refused.value)) == (
        content[:3] == b"NVR"
    )


def test_a_missing_file(tmp_path: Path):
    with pytest.raises(InputError, match="No such file"):
        load_timeline(tmp_path / "none.json")


def test_a_folder(tmp_path: Path):
    with pytest.raises(InputError, match="it is a folder"):
        load_timeline(tmp_path)


def test_a_wrong_expression_is_wrong_usage(tmp_path: Path):
    with pytest.raises(UsageError, match="not a regular expression"):
        load_timeline(write(tmp_path, trace(kernel("k", 1, 1))), step="(")


def fake_nsys(folder: Path, body: str) -> str:
    """A program that stands for nsys: ``body`` is Python with the output's path in ``out``."""
    path = folder / "nsys"
    head = (
        f"#!{sys.executable}\nimport shutil, sys\nout = sys.argv[sys.argv.index('--output') + 1]\n"
    )
    path.write_text(head + body)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return write(tmp_path, b"closed format", "run.nsys-rep")


@pytest.mark.parametrize("on_path", [False, True])
def test_a_report_is_exported_by_nsys(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch, on_path: bool
):
    made = Export(tmp_path / "made.sqlite", KERNELS)
    made.kernel("k", 1, 2)
    nsys = fake_nsys(tmp_path, f"shutil.copy({str(made.done())!r}, out)\n")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}" if on_path else "")
    timeline = load_timeline(report, nsys=None if on_path else nsys)

    assert timeline.file == "run.nsys-rep"
    assert len(timeline.events) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "sys.exit('version (2026.1), newer than your current version, in /home/alice')",
            "newer Nsight Systems",
        ),
        ("sys.exit(3)", "ended with code 3"),
        ("sys.exit(0)", "ended with code 0"),  # and wrote nothing
    ],
)
def test_an_export_that_fails(tmp_path: Path, report: Path, body: str, reason: str):
    with pytest.raises(InputError, match=reason) as refused:
        load_timeline(report, nsys=fake_nsys(tmp_path, body))
    assert "alice" not in str(refused.value)
    assert "nsys export" in str(refused.value.hint)


def test_no_nsys(report: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="no nsys on PATH"):
        load_timeline(report)


def test_an_nsys_that_is_none(report: Path):
    with pytest.raises(InputError, match="cannot be run"):
        load_timeline(report, nsys="/nowhere/nsys")


def test_the_reasons_are_filled_in():
    facts = dict.fromkeys("path quoted accepted file tables program ended error".split(), "X")
    for code, row in table("refusals").items():
        error = refusal(code, **facts, share=0.5, minutes=10.0)
        assert str(error)
        assert "{" not in f"{error}{error.why}{error.hint}"
        assert re.compile(row.get("pattern", ""))
