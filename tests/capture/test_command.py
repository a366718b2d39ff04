"""The ncu command line of a request."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.capture.command import (
    check_regex,
    command,
    escape,
    name_base,
    name_filter,
    names_request,
    region_range,
    wants_collectives_in_vain,
)
from roofline.capture.preflight import ask
from roofline.capture.request import CaptureLevel, CaptureRequest, Ncu, Version
from roofline.errors import UsageError
from tests.e2e import fake_ncu
from tests.shared import NCU

FACES = tuple(fake_ncu.FACES)


def ncu(face: str | None = "2024.1") -> Ncu:
    year, minor = (face or "9999.0").split(".")
    version = Version(year=int(year), minor=int(minor), text=f"{face}.0")
    help_ = fake_ncu.described(face) if face else None
    return Ncu(path=Path("/opt/ncu"), version=version, how="test", help=help_)


def words(face: str | None = "2024.1", **request: object) -> tuple[str, ...]:
    asked = CaptureRequest(program=("prog", "--kernel-name", "x"), **request)  # type: ignore[arg-type]
    return command(
        replace(asked, metrics=("a__b.sum", "c__d.avg")), ncu(face), report=Path("r"), log=Path("l")
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


@pytest.mark.slow
@given(st.lists(st.text(min_size=1), min_size=1))
def test_the_program_is_the_end_of_it_whatever_it_is(program: list[str]) -> None:
    request = CaptureRequest(program=tuple(program))
    argv = command(request, ncu(), report=Path("r"), log=Path("l"))
    assert argv[-len(program) :] == tuple(program)


def test_what_help_does_not_list_is_not_passed() -> None:
    old, new = words("2022.3", nvtx=("a",)), words("2025.1", nvtx=("a",))
    younger = {
        "--config-file": "off",
        "--graph-profiling": "node",
        "--rename-kernels": "off",
        "--pipeline-boost-state": "stable",
        "--nvtx-push-pop-scope": "process",
    }
    assert {option: value(new, option) for option in younger} == younger
    assert not set(younger) & set(old)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"kernel_regex": "x", "nvtx": ("a",), "devices": "0"},
        {"replay": "application", "rules": True, "source": True},
        {"level": CaptureLevel.FULL, "clock_control": "none", "cache_control": "none"},
        {"sections": ("A", "B"), "section_set": "basic", "launch_count": None},
        {"ncu_options": ("--clock-control=none", "-c", "3", "--set=basic")},
    ],
)
def test_every_generation_takes_our_words(face: str, request_: dict[str, object]) -> None:
    argv = words(face, **request_)
    assert fake_ncu.fault(list(argv[1:]), face) is None


@pytest.mark.parametrize(
    ("request_", "needed"),
    [
        ({"per_config": True}, "--filter-mode per-launch-config"),
        ({"graphs": "graph"}, "--graph-profiling graph"),
        ({"replay": "app-range"}, "--replay-mode app-range"),
        ({"clock_control": "boost"}, "--clock-control boost"),
    ],
)
def test_old_ncu_cannot_do_everything(request_: dict[str, object], needed: str) -> None:
    with pytest.raises(UsageError, match=f"2022.3.0 does not list {needed}"):
        words("2022.3", **request_)
    words("2026.1", **request_)


def test_what_help_says_about_an_option_is_its_own() -> None:
    # "-c 2" of the examples and "--elsewhere" of the texts are no options.
    taken = ncu("2025.4")
    assert taken.takes("--launch-count")
    assert taken.takes("--clock-control", "boost")
    assert not taken.takes("--clock-control", "all")
    assert not taken.takes("--elsewhere")
    assert not taken.takes("--no-option")


@pytest.mark.parametrize(
    ("given", "option", "left"),
    [
        ("--clock-control=none", "--clock-control", []),
        ("--clock-c=none", "--clock-control", []),
        ("-c=3", "--launch-count", []),
        ("-k", "--kernel-name", []),
        ("--metrics=x", "--metrics", []),
        ("--section=Mine", "--section", ["Occupancy"]),  # these add up
        ("--nvtx", "--nvtx-include", ["a/", "a"]),
    ],
)
def test_a_word_of_the_user_replaces_ours(given: str, option: str, left: list[str]) -> None:
    argv = words("2025.1", ncu_options=(given,), sections=("Occupancy",), nvtx=("a",))
    assert [argv[i + 1] for i, word in enumerate(argv[:-4]) if word == option] == left
    assert value(argv, "--kernel-name-base") == "demangled"


@pytest.mark.parametrize("given", ["-o", "--export=x", "--exp=x", "--log-file"])
def test_where_files_lie_is_ours(given: str) -> None:
    with pytest.raises(UsageError, match="roofline passes --"):
        words(ncu_options=(given, "x"))


def test_rules_bring_a_set_and_source_is_asked_for() -> None:
    argv = words(rules=True, source=True)
    assert value(argv, "--set") == "basic"
    assert value(argv, "--apply-rules") == "yes"
    assert value(argv, "--import-source") == "yes"
    assert value(words(rules=True, sections=("Nvlink",)), "--set") is None


def test_per_config() -> None:
    argv = words(per_config=True, launch_count=1)
    assert value(argv, "--filter-mode") == "per-launch-config"
    assert value(argv, "--launch-count") == "1"


def test_no_limit() -> None:
    assert "--launch-count" not in words(launch_count=None)


def test_a_region_is_a_start_end_range_of_our_domain() -> None:
    argv = words(nvtx=(region_range("fwd"), region_range(r"a/b[0]@c\d")))
    includes = [argv[i + 1] for i, word in enumerate(argv) if word == "--nvtx-include"]
    assert includes == ["roofline@fwd", r"roofline@a\/b\[0\]\@c\\d"]
    with pytest.raises(UsageError, match="region is empty"):
        region_range("")


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
    argv = words(replay="range", nvtx=("step",))
    ours = set(argv[:-3])
    assert not {"--kernel-name", "--kernel-name-base", "--profile-from-start"} & ours
    for chosen in ({"kernel_regex": "x"}, {"kernels": ("x",)}, {"per_config": True}):
        with pytest.raises(UsageError, match="not kernels"):
            words(replay="app-range", **chosen)


def test_words_of_the_user_come_before_the_program() -> None:
    assert words(ncu_options=("--app-replay-mode=relaxed",))[-4:] == (
        "--app-replay-mode=relaxed",
        "prog",
        "--kernel-name",
        "x",
    )


def test_names_run_is_cheap_and_unfiltered() -> None:
    asked = CaptureRequest(program=("p",), kernel_regex="gemm", launch_count=3)
    argv = command(names_request(asked), ncu(), report=Path("r"), log=Path("l"))
    assert value(argv, "--metrics") == "gpu__time_duration.sum"
    assert "--launch-count" not in argv
    assert value(argv, "--clock-control") == "none"
    assert "gemm" not in " ".join(argv)
    assert "nccl" in (value(argv, "--kernel-name") or "")


def test_name_base_is_the_users() -> None:
    assert value(words(name_base="mangled"), "--kernel-name-base") == "mangled"


def test_percent_is_a_macro_in_export() -> None:
    request = CaptureRequest(program=("p",))
    argv = command(request, ncu(), report=Path("a%p%h"), log=Path("b%"))
    assert value(argv, "--export") == "a%%p%%h"
    assert value(argv, "--log-file") == "b%"


# --- which kernels: by Python's engine here, by ncu's own where there is one ---------------------

SOBEL = "void Sobel<float>(uchar4 *, uchar4 *, int, int)"


def request(**values: object) -> CaptureRequest:
    return CaptureRequest(program=("p",), **values)  # type: ignore[arg-type]


def takes(request_: CaptureRequest, name: str) -> bool:
    """What ncu's search would answer, by Python's engine."""
    wanted = name_filter(request_)
    if wanted is None:
        return True
    if not wanted.startswith("regex:"):
        return wanted == name
    return re.search(wanted.removeprefix("regex:"), name) is not None


FILTERS = [
    ({}, True),
    ({"kernel_regex": "Sobel"}, True),
    ({"kernel_regex": "sobel"}, False),
    ({"kernel_regex": "^void Sob"}, True),
    ({"kernel_regex": "^Sob"}, False),
    ({"kernel_regex": r"int\)$"}, True),
    ({"kernel_regex": "gemm|Sobel<float>"}, True),
    ({"kernel_regex": "gemm|relu"}, False),
    ({"kernels": (SOBEL,)}, True),
    ({"kernels": ("other", SOBEL)}, True),
    ({"kernels": ("void Sobel<float>", "x")}, False),
]


@pytest.mark.parametrize(("values", "taken"), FILTERS)
def test_filter(values: dict[str, object], taken: bool) -> None:
    assert takes(request(**values), SOBEL) is taken


@pytest.mark.skipif(NCU is None, reason="no ncu to ask")
@pytest.mark.parametrize(("values", "taken"), [*FILTERS, ({"kernel_regex": "(?i)sOBEL"}, True)])
def test_filter_by_ncu_itself(values: dict[str, object], taken: bool) -> None:
    assert NCU is not None
    report = next(_examples().rglob("sobelFloat.ncu-rep"), None)
    if report is None:
        pytest.skip("the reports that come with ncu are not here")
    words = [NCU, "--import", str(report), "--csv", "--page", "raw"]
    if (wanted := name_filter(request(**values))) is not None:
        words += ["--kernel-name", wanted, "--kernel-name-base", "demangled"]
    answer = ask(words)
    assert answer is not None
    assert ("Sobel" in answer.stdout) is taken


def _examples() -> Path:
    """The folder in which ncu was unpacked, as far up as it stays NVIDIA's."""
    assert NCU is not None
    path = Path(NCU).resolve()
    return next((p for p in path.parents if (p / "usr").is_dir() and p != Path("/")), path.parent)


def test_collectives_are_left_out_unless_asked_for() -> None:
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)"

    assert not takes(request(), name)
    assert not takes(request(kernel_regex="."), name)
    assert takes(request(collectives=True), name)
    assert takes(request(collectives=True, kernel_regex=re.escape(name)), name)
    assert takes(request(kernels=(name,)), name)


@pytest.mark.parametrize(
    ("expression", "vain"), [("nccl.*", True), ("(?i)all_?reduce", True), ("reduce_kernel", False)]
)
def test_an_expression_that_asks_for_what_is_left_out_is_noticed(
    expression: str, vain: bool
) -> None:
    assert wants_collectives_in_vain(request(kernel_regex=expression)) is vain
    assert not wants_collectives_in_vain(request(kernel_regex=expression, collectives=True))


def test_names_are_matched_as_they_are_written() -> None:
    assert name_base(request(kernel_regex="x")) == "demangled"
    assert name_base(request(kernels=("gemm",))) == "function"
    assert name_base(request(kernels=(SOBEL,))) == "demangled"
    assert name_base(request(kernels=("gemm",), name_base="mangled")) == "mangled"


@pytest.mark.parametrize("name", [SOBEL, "a.b[c]{d}", "x\\y^z$"])
def test_escape_is_for_both_engines(name: str) -> None:
    assert re.fullmatch(escape(name), name)
    assert not re.fullmatch(escape(name), name + "x")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "empty"),
        ("gemm(", "missing"),
        ("*a", "nothing to repeat"),
        ("(?P<name>x)", "Perl"),
        ("a)(b", "unbalanced"),
    ],
)
def test_bad_expressions_are_refused_at_once(expression: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        check_regex(expression)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("expression", ["gemm|relu", "(?i)gemm", "a(?i)b", r"\bx\b", "(?<n>x)"])
def test_what_ncu_takes_is_not_refused(expression: str) -> None:
    check_regex(expression)
