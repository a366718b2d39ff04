"""Regions: what a tool hears of them, and that they cost nothing where none listens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GCC = shutil.which("gcc")
ROOT = Path(__file__).parents[1]
PRELUDE = "import roofline, asyncio, threading\nfrom roofline import region\n"


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if GCC is None:
        pytest.skip("no gcc to build a tool for NVTX with")
    library = tmp_path_factory.mktemp("tool") / "libtool.so"
    source = Path(__file__).with_name("nvtx_tool.c")
    subprocess.run([GCC, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def run(code: str, tool: Path | str = "", log: Path | str = "") -> str:
    environment = {key: text for key, text in os.environ.items() if "NVTX" not in key}
    environment |= {"NVTX_INJECTION64_PATH": str(tool)} if tool else {}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        env=environment | {"NVTX_TEST_LOG": str(log), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def heard(code: str, tool: Path, folder: Path) -> list[str]:
    """What the tool is told: "start NAME NUMBER" and "end - NUMBER", all in our domain."""
    log = folder / "log"
    run(code, tool, log)
    lines = [line.split(" ", 2) for line in log.read_text().splitlines()]
    assert {domain for _, domain, _ in lines} == {"roofline"}
    return [f"{what} {rest}" for what, _, rest in lines]


CASES = {
    "nested": (
        "with region('a'):\n with region('b'): pass",
        ["start a 1", "start b 2", "end - 2", "end - 1"],
    ),
    "ends with an error": (
        "try:\n with region('a'): raise KeyError\nexcept KeyError: pass",
        ["start a 1", "end - 1"],
    ),
    "function with its own name": (
        "class M:\n @region\n def fwd(self): return 7\nassert M().fwd() == 7",
        ["start M.fwd 1", "end - 1"],
    ),
    "kept and nested in itself": (
        "r = region('a')\nwith r:\n with r: pass",
        ["start a 1", "start a 2", "end - 2", "end - 1"],
    ),
    "one for each call of a recursion": (
        "@region('r')\ndef f(n):\n if n: f(n - 1)\nf(1)",
        ["start r 1", "start r 2", "end - 2", "end - 1"],
    ),
    "a thread's outlives the one it was started in": (
        (
            "@region\ndef t(): go.wait()\ngo = threading.Event()\nth = threading.Thread(target=t)\n"
            "with region('main'):\n th.start()\n import time; time.sleep(.2)\ngo.set(); th.join()"
        ),
        ["start main 1", "start t 2", "end - 1", "end - 2"],
    ),
    "coroutines that interleave": (
        (
            "@region\nasync def c(n):\n await asyncio.sleep(n)\n"
            "async def all(): await asyncio.gather(c(.2), c(.1))\nasyncio.run(all())"
        ),
        ["start c 1", "start c 2", "end - 2", "end - 1"],
    ),
    "generators that interleave, with what is sent": (
        (
            "@region\ndef g():\n x = yield 1\n assert x == 5\n yield 2\n return 3\n"
            "a, b = g(), g()\nassert (next(a), next(b)) == (1, 1)\nassert a.send(5) == 2\n"
            "assert list(a) == []\nb.close()"
        ),
        ["start g 1", "start g 2", "end - 1", "end - 2"],
    ),
    "an asynchronous generator, with what is sent and thrown": (
        (
            "@region\nasync def g():\n x = yield 1\n try: yield x\n except KeyError: yield 9\n"
            "async def main():\n a = g()\n assert await a.__anext__() == 1\n"
            " assert await a.asend(4) == 4\n assert await a.athrow(KeyError) == 9\n"
            " await a.aclose()\nasyncio.run(main())"
        ),
        ["start g 1", "end - 1"],
    ),
    "a name that is not ASCII": ("with region('für'): pass", ["start für 1", "end - 1"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_tool_hears_each_range(name: str, tool: Path, tmp_path: Path) -> None:
    code, expected = CASES[name]
    assert heard(code, tool, tmp_path) == expected


def test_nothing_is_wrapped_or_loaded_where_no_tool_listens() -> None:
    said = run(
        "import sys, types\nbefore = set(sys.modules)\n"
        "def f(): pass\nassert region(f) is f\nassert region('a')(f) is f\n"
        "with region('a') as r: assert r.name == 'a'\n"
        "print({'roofline.nvtx', 'inspect', 'numpy'} & (set(sys.modules) - before))"
    )
    assert said == "set()\n"


@pytest.mark.parametrize("library", ["./.", "no-such-library.so", "libc.so.6"])
def test_what_is_no_tool_breaks_nothing(library: str) -> None:
    assert run("with region('a'): print('ran')", library) == "ran\n"


NSYS = os.environ.get("ROOFLINE_TEST_NSYS")


@pytest.mark.skipif(NSYS is None, reason="no real nsys in ROOFLINE_TEST_NSYS")
def test_the_real_nsys_sees_the_ranges(tmp_path: Path) -> None:
    import sqlite3

    assert NSYS is not None
    code = PRELUDE + "with region('outer'):\n with region('inner'): pass"
    report = tmp_path / "r.nsys-rep"
    words = [NSYS, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", f"-o{report}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([*words, sys.executable, "-c", code], check=True, env=environment)
    table = tmp_path / "r.sqlite"
    subprocess.run([NSYS, "export", "--type=sqlite", f"-o{table}", report], check=True)
    with sqlite3.connect(table) as base:
        rows = base.execute(
            "SELECT s.value FROM NVTX_EVENTS e JOIN StringIds s ON e.textId = s.id "
            "WHERE e.end NOT NULL ORDER BY e.start"
        ).fetchall()
    base.close()
    assert rows == [("outer",), ("inner",)]
