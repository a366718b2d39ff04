"""Compressed files that hold far more than they seem to: refused early, at no cost to others."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import strange
from tests.e2e.reports import kernel, report
from tests.e2e.running import run, shell

MB = 1 << 20
# Runs its words, and says last on stderr how many kB they took at most and how many seconds of a
# processor: a process of its own, as one of the tests has had other children.
SPENT = (
    "import resource as r, subprocess as s, sys; code = s.run(sys.argv[1:]).returncode; "
    "used = r.getrusage(r.RUSAGE_CHILDREN); "
    "print(used.ru_maxrss, used.ru_utime + used.ru_stime, file=sys.stderr); sys.exit(code)"
)


def bomb(path: Path, head: bytes, gigabytes: int = 2) -> Path:
    """``head``, then gigabytes of zeros (blanks for JSON), in some hundred kB."""
    import zstandard

    filler = (b" " if path.suffix == ".gz" else b"\0") * MB
    with path.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as out:
                out.write(head)
                for _ in range(100):  # gzip makes 1000 into 1 at best
                    out.write(filler)
        else:
            with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as out:
                out.write(head)
                for _ in range(gigabytes << 10):
                    out.write(filler)
    return path


def heads() -> Iterator[tuple[str, bytes]]:
    """Reports whose zeros lie in different places."""
    healthy = strange.report(strange.launch("first"))
    yield "blocks", healthy
    yield "entry", healthy + b"\x08\0\0\0\x10\x01\x28\xff\xff\xff\xff\x0f" + b"\xff\xff\xff\xff"
    yield "payload", healthy + b"\x09\0\0\0\x08\x01\x28\x80\x80\x80\x80\x80\x01"
    yield "header", healthy + b"\xff\xff\xff\xff"


@pytest.mark.slow
@pytest.mark.parametrize("head", [head for _, head in heads()], ids=[name for name, _ in heads()])
def test_a_report_of_zeros_costs_only_itself(tmp_path: Path, head: bytes):
    path = bomb(tmp_path / "bomb.ncu-repz", head)
    report(tmp_path / "good.ncu-rep", kernel("seen", ns=1e6))
    assert path.stat().st_size < MB
    measured = f"ulimit -v 1500000; {sys.executable} -c '{SPENT}'"

    done = shell(f"{measured} $R analyze $1", tmp_path)
    peak_kb, took_s = map(float, done.stderr.split()[-2:])

    assert done.returncode == 3
    assert "seen" in done.stdout
    assert f"{path}: " in done.stderr
    assert "Traceback" not in done.stderr
    said = ("unpacks to more than 16 MB", "holds nothing", "no room", "ends")
    assert any(words in done.stderr for words in said)
    assert peak_kb < 300 << 10
    assert took_s < 5  # 1.2 of a processor here


@pytest.mark.parametrize("head", [b'{"traceEvents": [', b"[", b'{"a": "', b'[{"name": "'])
def test_a_trace_of_blanks_is_refused(tmp_path: Path, head: bytes):
    path = bomb(tmp_path / "trace.json.gz", head)

    done = shell("ulimit -v 1500000; $R select $1", path)

    assert done.returncode == 3
    assert f"cannot read {path}: it unpacks to more than 16 MB" in done.stderr or (
        "holds no kernels" in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_a_trusted_file_may_hold_more(tmp_path: Path, monkeypatch: Any):
    path = tmp_path / "a.ncu-repz"
    path.write_bytes(strange.packed(strange.report(strange.launch("trusted"))))
    trace = tmp_path / "t.json.gz"
    event = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 5, "args": {"device": 0}}
    trace.write_bytes(gzip.compress(json.dumps({"traceEvents": [event] * 50}).encode()))

    monkeypatch.setenv("ROOFLINE_MAX_UNPACKED", "1kB")
    for words in (["analyze", path], ["redact", path, "-o", tmp_path / "b.ncu-rep"]):
        done = run(*words)
        assert done.exit_code == 3
        assert "it unpacks to more than 0 MB\n  try: ROOFLINE_MAX_UNPACKED=1GB" in done.stderr
    assert run("select", trace).exit_code == 3

    monkeypatch.setenv("ROOFLINE_MAX_UNPACKED", "8GB")
    assert run("analyze", path).exit_code == 0
    assert run("select", trace).exit_code == 0

    monkeypatch.setenv("ROOFLINE_MAX_UNPACKED", "lots")
    done = run("analyze", path)
    assert done.exit_code == 2
    assert "'lots' is not a size" in done.stderr
