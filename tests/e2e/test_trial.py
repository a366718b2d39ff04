"""``roofline.profile`` and the pytest fixture, against a fake ncu that runs the program."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import roofline
from roofline.errors import UsageError
from tests.e2e.fake import Fake


def python(fake: Fake, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=fake.folder,
        env=fake.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def script(fake: Fake, text: str) -> str:
    file = fake.folder / "bench.py"
    file.write_text("import os, sys, roofline\n" + text)
    return str(file)


def nvtx(fake: Fake) -> list[str]:
    """The range that each run of ncu was asked for."""
    return [c["argv"][c["argv"].index("--nvtx-include") + 1] for c in fake.calls()]


def test_a_script_is_run_again_up_to_the_call(fake: Fake) -> None:
    name = script(
        fake,
        "under = 'ROOFLINE_CALL' in os.environ\n"
        "def work(): print('work', under, sys.argv[1], file=sys.stderr)\n"
        "first = roofline.profile(work, 'gemm')\n"
        "second = roofline.profile(lambda: work(), warmup=0)\n"
        "print(under, first.groups[0].result.verdict.limiter, len(second.results))\n",
    )

    done = python(fake, name, "a b")

    assert done.returncode == 0, done.stderr
    assert done.stdout == "False dram 1\n"
    assert done.stderr.count("work True a b") == 3  # once for warming up
    assert nvtx(fake) == ["roofline@call-1", "roofline@call-2"]
    assert "gemm" in fake.calls()[0]["argv"][fake.calls()[0]["argv"].index("--kernel-name") + 1]


def test_a_command_is_run_as_it_is(fake: Fake) -> None:
    fake.program("bench", "true")
    name = script(
        fake,
        "a = roofline.profile(['bench', 'x y'], kernels=['gemm', 'a.*'], region='fwd',"
        " launch_count=None, level='quick', report='kept.ncu-rep')\n"
        "print(a.sources[0].file, len(roofline.details_of(a, (0,)).rules))\n",
    )

    done = python(fake, name)

    assert done.stdout == "kept.ncu-rep 0\n", done.stderr
    argv = fake.calls()[0]["argv"]
    assert argv[-2:] == ["bench", "x y"]
    assert nvtx(fake) == ["roofline@fwd"]
    assert "--launch-count" not in argv
    assert {"kept.ncu-rep", "kept.ncu-rep.log"} <= fake.files()


def test_a_text_is_no_command() -> None:
    with pytest.raises(UsageError, match=re.escape("target=['python', 'bench.py']")):
        roofline.profile("python bench.py")


def test_a_function_that_fails_is_named(fake: Fake) -> None:
    name = script(
        fake,
        "def work(): raise ValueError('boom')\n"
        "try: roofline.profile(work)\n"
        "except roofline.RooflineError as error: print(type(error).__name__, error)\n",
    )

    done = python(fake, name)

    assert done.stdout.startswith("ProgramError work did not end in the process under ncu")
    assert "boom" in done.stderr


def test_nothing_is_left_behind(fake: Fake) -> None:
    name = script(fake, "roofline.profile(lambda: None)\n")

    assert python(fake, name).returncode == 0
    assert fake.files() == {"bench.py"}
    assert not [path.name for path in fake.folder.parent.glob("roofline-*")]


NOTEBOOK = "import builtins; builtins.get_ipython = lambda: None\n"


def test_a_notebook_sends_what_it_imports_and_says_what_it_cannot(fake: Fake) -> None:
    (fake.folder / "kernels.py").write_text("import sys\ndef work(): print('ran', file=sys.stderr)")
    name = script(
        fake,
        NOTEBOOK + "import kernels\nsys.modules['cloudpickle'] = None\n"
        "print(len(roofline.profile(kernels.work, warmup=2).results))\n"
        "def mine(): pass\n"
        "try: roofline.profile(mine)\n"
        "except roofline.RooflineError as error: print(error)\n",
    )

    done = python(fake, name)

    assert done.stderr.count("ran") == 3, done.stderr
    assert done.stdout.splitlines()[0] == "1"
    assert "the function is in this session alone" in done.stdout
    assert "pip install cloudpickle" in done.stdout


TEST = """
import pytest
def work(): pass
@pytest.mark.parametrize("size", ["a b[x]::c"])
class TestX:
    def test_it(self, size, roofline_profile):
        first = roofline_profile(work, kernels="gemm")
        assert first.analysis.groups[0].result.verdict.limiter == "dram"
        first.fail_on("dram<80%", "bound=latency")
        second = roofline_profile(work)
        {more}
"""


def check(fake: Fake, more: str = "", *words: str) -> str:
    (fake.folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (fake.folder / "test_it.py").write_text(TEST.format(more=more))
    installed = any(entry.name == "roofline" for entry in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", "roofline.pytest_plugin")  # pytest refuses it twice
    options = (*plugin, "-p", "no:cacheprovider", "-rA", *words)
    return python(fake, "-m", "pytest", "-q", *options).stdout


@pytest.mark.slow
def test_a_test_is_run_again_by_its_exact_name(fake: Fake) -> None:
    said = check(fake)

    assert "1 passed" in said, said
    first, second = fake.calls()
    assert "test_it.py::TestX::test_it[a b[x]::c]" in first["argv"]
    assert "PYTEST_ADDOPTS" not in first["env"]
    assert nvtx(fake) == ["roofline@call-1", "roofline@call-2"]
    assert second["env"]["ROOFLINE_CALL"] != first["env"]["ROOFLINE_CALL"]
    assert "1 deselected" in check(fake, "", "-m", "not roofline")


@pytest.mark.slow
def test_a_gate_that_fails_fails_the_test_with_what_was_found(fake: Fake) -> None:
    said = check(fake, "second.fail_on('gemm: time>1us', 'bound=latency')")

    assert "1 failed" in said
    assert "FAILED gemm: time>1us at gemm" in said
    assert "DRAM" in said


@pytest.mark.slow
def test_a_machine_that_cannot_profile_skips_and_says_why(fake: Fake) -> None:
    (fake.bin / "ncu").unlink()
    fake.environment["ROOFLINE_NCU"] = "/no/ncu"

    said = check(fake)

    assert "1 skipped" in said, said
    assert "This machine cannot profile yet" in said


@pytest.mark.slow
def test_closed_counters_skip_and_say_why(fake: Fake) -> None:
    line = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters"
    fake.scenario({"log": [line], "run": True, "exit": 1})

    assert "1 skipped" in check(fake)
