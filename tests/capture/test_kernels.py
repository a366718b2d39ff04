"""Which kernels a filter takes: by Python's engine here, by ncu's own where there is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roofline.capture.command import (
    check_regex,
    escape,
    name_base,
    name_filter,
    wants_collectives_in_vain,
)
from roofline.capture.preflight import ask
from roofline.capture.request import CaptureRequest, NameBase
from roofline.errors import UsageError
from tests.shared import NCU

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
    assert name_base(request(kernel_regex="x")) is NameBase.DEMANGLED
    assert name_base(request(kernels=("gemm",))) is NameBase.FUNCTION
    assert name_base(request(kernels=(SOBEL,))) is NameBase.DEMANGLED
    assert name_base(request(kernels=("gemm",), name_base=NameBase.MANGLED)) is NameBase.MANGLED


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
