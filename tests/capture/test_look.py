"""PyTorch's profiler inside of the program, against a torch that says what it was told to."""

from __future__ import annotations

import marshal
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roofline.capture import look
from roofline.capture.look import Look, by_torch, look_at, python_with_torch
from roofline.capture.machine import Machine
from roofline.capture.request import CaptureRequest, Ncu, Version
from roofline.capture.run import CaptureSetup
from roofline.errors import InputError, ProgramError, UsageError
from tests.timeline.made import launched, trace

# As much of torch as the hook touches; CUDA is in use from torch.use() on.
TORCH = """
import os, shutil, sys, time
from types import SimpleNamespace as some
said, state = [], {}
def use(): state["on"] = True
cuda = some(is_initialized=lambda: "on" in state)
_C = some(_profiler=some(ProfilerActivity=some(CPU="cpu", CUDA="cuda")))
class profile:
    def __init__(self, use_kineto): assert use_kineto
    def config(self): return "config"
def prepare(config, activities, activity_filter=None):
    assert config == "config"
    said.append(f"prepare {min(activities)}")
def enable(config, activities):
    if state.get("profiling"): os.abort()  # as two profilers at once do
    state["profiling"] = True
    said.append(f"enable {min(activities)}")
def disable():
    state["profiling"] = False
    said.append("disable")
    return some(save=lambda place: shutil.copy(os.environ["FAKE_TRACE"], place))
profiler = some(profile=profile, _prepare_profiler=prepare, _enable_profiler=enable,
                _disable_profiler=disable, _is_profiler_enabled=False)
autograd = some(profiler=profiler)
"""
SETUP = CaptureSetup(
    ncu=Ncu(path=Path("ncu"), version=Version(2025, 1), how="test"),
    machine=Machine(driver="580.1"),
    linger_s=0,
)
TO_THE_END = replace(SETUP, linger_s=math.inf)
FAKE_NSYS = Path(__file__).parents[1] / "e2e" / "fake_nsys.py"
LAST = "import sys, torch, time; torch.use(); "
Seen = Callable[..., Look]
BY_NCU: Any = "by ncu"


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Looks at a Python program given as text."""
    package = tmp_path / "site" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TORCH)
    kernels = [launched(n, "gemm", 100 * n, 50) for n in range(1, 21)]
    (tmp_path / "trace.json").write_bytes(trace(*kernels))
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("FAKE_TRACE", str(tmp_path / "trace.json"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def run(text: str, *words: str, seconds: float = 30, until_end: bool = False) -> Look:
        request = CaptureRequest(program=(sys.executable, "-c", text, *words))
        return by_torch(request, TO_THE_END if until_end else SETUP, seconds)

    return run


def test_a_short_program_is_seen_and_left_alone(
    seen: Seen, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = "time.sleep(.2); print(sys.argv[1:], torch.said, sys.path, end='x'); sys.exit(7)"

    found = seen(LAST + code, "a b", "*")

    assert found.by == "PyTorch's profiler"
    assert len(found.timeline.events.start) == 20
    out, err = capfd.readouterr()
    assert out.startswith("['a b', '*'] ['prepare cpu', 'enable cpu', 'disable', 'prepare cuda', ")
    assert "roofline" not in out  # its path is its own
    assert out.endswith("x")
    assert err == ""
    assert {path.name for path in tmp_path.iterdir()} == {"site", "trace.json"}


def test_a_program_that_runs_on_is_ended(seen: Seen, capfd: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    code = "\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('gently')"

    found = seen(LAST + code, seconds=0.3)

    assert len(found.timeline.events.start) == 20
    assert capfd.readouterr().out == "gently\n"
    assert time.monotonic() - began < 20


def test_a_program_may_run_to_its_end(seen: Seen, capfd: pytest.CaptureFixture[str]) -> None:
    seen(LAST + "time.sleep(1); print('end')", seconds=0.2, until_end=True)
    assert capfd.readouterr().out == "end\n"


def test_the_profiler_of_the_program_wins(seen: Seen, capfd: pytest.CaptureFixture[str]) -> None:
    own = """
time.sleep(.2)
p = torch.profiler
p._prepare_profiler("config", {"its own"}); p._enable_profiler("config", {"its own"})
p._disable_profiler(); print(torch.said[-4:])
"""
    found = seen(LAST + own)

    assert len(found.timeline.events.start) == 20
    assert capfd.readouterr().out == "['disable', 'prepare its own', 'enable its own', 'disable']\n"


WITHOUT = [
    (LAST + "time.sleep(.2); import os; os._exit(0)", "it ended by os._exit or a signal"),
    ("import torch, time; time.sleep(.2)", "it used no CUDA"),
    (LAST + "torch.profiler._is_profiler_enabled = True; time.sleep(.2)", "own profiler"),
    ("import torch; del torch.profiler", "it used no CUDA"),
    ("pass", "it imported no torch"),
]


@pytest.mark.parametrize(("code", "why"), WITHOUT, ids=[why for _, why in WITHOUT])
def test_why_nothing_was_seen(seen: Seen, code: str, why: str) -> None:
    with pytest.raises(InputError, match="PyTorch's profiler saw nothing") as error:
        seen(code)
    assert why in str(error.value)


def test_a_torch_that_cannot_be_recorded_runs_as_ever(
    seen: Seen, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site" / "torch" / "__init__.py").write_text("def use(): pass\n")
    with pytest.raises(InputError, match="does not let itself be recorded"):
        seen(LAST + "print('end')")
    assert capfd.readouterr() == ("end\n", "")


def test_a_program_that_empties_its_environment_runs_as_ever(
    seen: Seen, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="PyTorch's profiler saw nothing"):
        seen("import os; os.environ.clear(); import torch; print('end')")
    assert capfd.readouterr() == ("end\n", "")


def test_a_program_that_fails_is_the_failure(seen: Seen) -> None:
    with pytest.raises(ProgramError, match="ended with exit code 3"):
        seen("import sys; sys.exit(3)")


def test_its_sitecustomize_and_its_children_are_its_own(
    seen: Seen, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site" / "sitecustomize.py").write_text("own = 1\n")
    code = (
        """
import importlib.util, os, sitecustomize
print(sitecustomize.own, importlib.util.find_spec("torch") is not None)
"""
        + LAST
        + """
time.sleep(.2)
sys.stdout.flush()
if (pid := os.fork()) == 0:
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    )
    began = time.monotonic()
    assert len(seen(code).timeline.events.start) == 20
    assert capfd.readouterr().out == "1 True\n5\n"
    assert time.monotonic() - began < 20


def test_a_program_that_uses_no_gpu_is_not_waited_for(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "_PATIENCE_S", 0.5)
    with pytest.raises(ProgramError, match="the program uses no GPU"):
        seen("import time; time.sleep(60)")


def test_a_program_on_a_gpu_without_torch_is_left_to_others(
    seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = tmp_path / "dev" / "nvidia0"  # what one has open is known by the end of its path
    device.parent.mkdir()
    device.touch()
    monkeypatch.setattr(look, "_LATE_S", 0.5)
    with pytest.raises(InputError, match="it imported no torch"):
        seen(f"import time; f = open({str(device)!r}); time.sleep(60)")


PYTHON = [
    ((), True),
    (("-u", "x.py", "-I"), True),
    (("-Wignore::ImportWarning", "x.py"), True),
    (("-I", "x.py"), False),
    (("-uE", "x.py"), False),
    (("-S", "-m", "x"), False),
]


@pytest.mark.parametrize(("words", "can"), PYTHON, ids=str)
def test_a_python_that_lets_us_in(seen: Seen, words: tuple[str, ...], can: bool) -> None:
    assert seen
    assert python_with_torch((sys.executable, *words), os.environ) is can


def test_a_script_is_what_its_first_line_says(seen: Seen, tmp_path: Path) -> None:
    assert seen
    script = tmp_path / "torchrun"
    for first, can in ((f"#!{sys.executable}", True), ("#!/bin/sh", False), ("\x7fELF", False)):
        script.write_text(f"{first}\n")
        script.chmod(0o755)
        assert python_with_torch((str(script), "-S"), os.environ) is can
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": ""}
    assert not python_with_torch((sys.executable,), environment)  # it has no torch


@pytest.fixture
def nsys(seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Look]:
    """Looks at a Python program given as text, with a fake nsys that has a ``fault``."""
    assert seen
    monkeypatch.setenv("FAKE_NSYS", str(tmp_path / "scenario"))
    program = tmp_path / "nsys"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I {FAKE_NSYS} "$@"\n')
    program.chmod(0o755)

    def run(text: str, fault: str, seconds: float = 30, *, until_end: bool = False) -> Look:
        (tmp_path / "scenario").write_bytes(marshal.dumps({"fault": fault}))
        found = look.find_nsys({"ROOFLINE_NSYS": str(program)})
        assert found is not None
        request = CaptureRequest(program=(sys.executable, "-c", text))
        return look.by_nsys(found, request, TO_THE_END if until_end else SETUP, seconds)

    return run


@pytest.mark.parametrize("until_end", [False, True])
def test_an_nsys_that_outlives_the_program_is_ended(
    nsys: Callable[..., Look],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    until_end: bool,
) -> None:
    monkeypatch.setattr(look, "_WRITE_S", 0.5)
    began = time.monotonic()
    with pytest.raises(InputError, match="it did not end when the program did"):
        nsys("import time; print('end'); time.sleep(1)", "hangs", until_end=until_end)
    assert time.monotonic() - began < 30
    assert capfd.readouterr() == ("end\n", "")


def test_under_nsys_a_program_may_run_to_its_end(
    nsys: Callable[..., Look], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    device = tmp_path / "dev" / "nvidia0"
    device.parent.mkdir()
    device.touch()
    code = f"import time; f = open({str(device)!r}); time.sleep(2.5); print('end')"
    with pytest.raises(InputError, match="it made no report"):
        nsys(code, "no report", 0.5, until_end=True)
    assert capfd.readouterr().out == "end\n"
    assert not list(tmp_path.glob("*.session"))  # it was stopped before


def test_without_room_nothing_is_recorded(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1))
    with pytest.raises(InputError, match="less than 200 MB of room"):
        seen("pass")


def test_the_first_that_can_looks(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen
    monkeypatch.setattr(look, "find_nsys", lambda: None)
    monkeypatch.setattr(look, "by_ncu", lambda *_, **__: BY_NCU)
    said: list[str] = []

    def found(how: str, *words: str) -> Any:
        request = CaptureRequest(program=(sys.executable, *words))
        return look_at(request, SETUP, how, 5, said.append)

    assert found("auto", "-c", LAST + "time.sleep(.2)").by == "PyTorch's profiler"
    assert found("auto", "-c", "import torch") is BY_NCU
    assert found("auto", "-I", "-c", "import torch") is BY_NCU
    assert [line.partition(";")[0] for line in said] == [
        "Looking with PyTorch's profiler inside the program, at full speed",
        "Looking with PyTorch's profiler inside the program, at full speed",
        "PyTorch's profiler saw nothing: it used no CUDA",
        "Looking with ncu, kernel by kernel",
        "Looking with ncu, kernel by kernel",
    ]
    nowhere = replace(SETUP, machine=Machine())  # where ncu alone says what is wrong
    request = CaptureRequest(program=(sys.executable, "-c", "import torch"))
    assert look_at(request, nowhere, "auto", 5, said.append) is BY_NCU
    with pytest.raises(InputError, match="it used no CUDA"):
        found("torch", "-c", "import torch")
    with pytest.raises(UsageError, match="no PyTorch inside"):
        found("torch", "-I", "-c", "import torch")


REAL = os.environ.get("ROOFLINE_TEST_TORCH")


@pytest.mark.skipif(REAL is None, reason="ROOFLINE_TEST_TORCH names no Python with PyTorch")
@pytest.mark.parametrize("end", ["sys.exit(7)", "", "import os; os._exit(4)"], ids=repr)
def test_the_real_torch_leaves_the_program_alone(
    capfd: pytest.CaptureFixture[str], end: str
) -> None:
    # Without a GPU there is nothing to record: what must hold is that nobody notices.
    code = f"""
import sys, torch, time
torch.cuda.is_initialized = lambda: True
time.sleep(.3)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:
    a = torch.ones(8, 8) @ torch.ones(8, 8)
print(len(own.events()) > 0, a.sum().item(), "torch._inductor" in sys.modules, flush=True)
{end}
"""
    request = CaptureRequest(program=(str(REAL), "-W", "ignore", "-c", code))
    with pytest.raises((InputError, ProgramError)) as error:
        by_torch(request, TO_THE_END, 30)
    assert capfd.readouterr().out.startswith("True 512.0")
    code_of = {"sys.exit(7)": "exit code 7", "import os; os._exit(4)": "exit code 4"}
    assert code_of.get(end, "only the CPU was recorded") in str(error.value)
