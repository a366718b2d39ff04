"""The ncu command line of a request."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.capture.command import command, names_command, shell
from roofline.capture.request import CaptureLevel, CaptureRequest, NameBase, Ncu, Replay, Version
from roofline.errors import UsageError


def ncu(year: int = 2024, minor: int = 1) -> Ncu:
    version = Version(year=year, minor=minor, text=f"{year}.{minor}.0")
    return Ncu(path=Path("/opt/ncu"), version=version, how="test")


def words(version: tuple[int, int] = (2024, 1), **request: object) -> tuple[str, ...]:
    asked = CaptureRequest(program=("prog", "--kernel-name", "x"), **request)  # type: ignore[arg-type]
    return command(
        asked, ncu(*version), metrics=("a__b.sum", "c__d.avg"), report=Path("r"), log=Path("l")
    )


def value(argv: tuple[str, ...], option: str) -> str | None:
    return argv[argv.index(option) + 1] if option in argv else None


def test_defaults_are_spelt_out() -> None:
    argv = words()
    expected = {
        "--config-file": "off",
        "--target-processes": "all",
        "--replay-mode": "kernel",
        "--graph-profiling": "node",
        "--cache-control": "all",
        "--clock-control": "base",
        "--kernel-name-base": "demangled",
        "--launch-skip": "0",
        "--launch-count": "10",
        "--profile-from-start": "on",
        "--apply-rules": "no",
        "--import-source": "no",
        "--metrics": "a__b.sum,c__d.avg",
        "--log-file": "l",
        "--export": "r",
    }
    assert {option: value(argv, option) for option in expected} == expected
    assert argv[-3:] == ("prog", "--kernel-name", "x")
    assert "--force-overwrite" not in argv


@given(st.lists(st.text(min_size=1), min_size=1))
def test_the_program_is_the_end_of_it_whatever_it_is(program: list[str]) -> None:
    request = CaptureRequest(program=tuple(program))
    argv = command(request, ncu(), metrics=("m",), report=Path("r"), log=Path("l"))
    assert argv[-len(program) :] == tuple(program)


def test_old_ncu_is_spared_options_that_it_lacks() -> None:
    argv = words((2022, 2))
    assert "--config-file" not in argv
    assert "--graph-profiling" not in argv


@pytest.mark.parametrize(
    ("request_", "needed"),
    [
        ({"per_config": True}, "2022.4"),
        ({"graphs": "graph"}, "2022.4"),
        ({"replay": Replay.APP_RANGE}, "2023.1"),
    ],
)
def test_old_ncu_cannot_do_everything(request_: dict[str, object], needed: str) -> None:
    with pytest.raises(UsageError, match=needed):
        words((2022, 2), **request_)


def test_per_config() -> None:
    argv = words(per_config=True, launch_count=1)
    assert value(argv, "--filter-mode") == "per-launch-config"
    assert value(argv, "--launch-count") == "1"


def test_no_limit() -> None:
    assert "--launch-count" not in words(launch_count=None)


def test_nvtx_takes_both_kinds_of_ranges() -> None:
    argv = words(nvtx=("step", "A/*/B]"))
    assert argv.count("--nvtx") == 1
    includes = [argv[i + 1] for i, word in enumerate(argv) if word == "--nvtx-include"]
    assert includes == ["step/", "step", "A/*/B]"]


def test_capture_range_and_devices() -> None:
    argv = words(from_start=False, devices="0,1")
    assert value(argv, "--profile-from-start") == "off"
    assert value(argv, "--devices") == "0,1"


def test_full_and_sections_bring_rules() -> None:
    assert value(words(level=CaptureLevel.FULL), "--set") == "full"
    assert value(words(level=CaptureLevel.FULL), "--apply-rules") == "yes"
    argv = words(sections=("Nvlink", "Occupancy"), section_set="roofline")
    assert [argv[i + 1] for i, word in enumerate(argv) if word == "--section"] == [
        "Nvlink",
        "Occupancy",
    ]
    assert value(argv, "--set") == "roofline"


def test_ncu_takes_one_set() -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        words(level=CaptureLevel.FULL, section_set="roofline")


def test_ranges_have_no_kernels() -> None:
    argv = words(replay=Replay.RANGE, nvtx=("step",))
    ours = set(argv[:-3])
    assert not {"--kernel-name", "--kernel-name-base", "--profile-from-start"} & ours
    for chosen in ({"kernel_regex": "x"}, {"kernels": ("x",)}, {"per_config": True}):
        with pytest.raises(UsageError, match="not kernels"):
            words(replay=Replay.APP_RANGE, **chosen)


def test_words_of_the_user_come_before_the_program() -> None:
    assert words(ncu_options=("--app-replay-mode=relaxed",))[-4:] == (
        "--app-replay-mode=relaxed",
        "prog",
        "--kernel-name",
        "x",
    )


def test_names_run_is_cheap_and_unfiltered() -> None:
    asked = CaptureRequest(program=("p",), kernel_regex="gemm", launch_count=3)
    argv = names_command(asked, ncu(), report=Path("r"), log=Path("l"))
    assert value(argv, "--metrics") == "gpu__time_duration.sum"
    assert value(argv, "--launch-count") == "200"
    assert value(argv, "--clock-control") == "none"
    assert "gemm" not in " ".join(argv)
    assert "nccl" in (value(argv, "--kernel-name") or "")


def test_name_base_is_the_users() -> None:
    assert value(words(name_base=NameBase.MANGLED), "--kernel-name-base") == "mangled"


def test_percent_is_a_macro_in_export() -> None:
    request = CaptureRequest(program=("p",))
    argv = command(request, ncu(), metrics=("m",), report=Path("a%p%h"), log=Path("b%"))
    assert value(argv, "--export") == "a%%p%%h"
    assert value(argv, "--log-file") == "b%"


def test_shell_quotes() -> None:
    assert shell(["ncu", "-k", "regex:a b'c"]) == """ncu -k 'regex:a b'"'"'c'"""
