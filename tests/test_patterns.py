from __future__ import annotations

import time

import pytest

from roofline.errors import UsageError
from roofline.patterns import command_words, compiled, select

NAMES = [("gemm", "void gemm<1>(int)"), ("gemm_2", "void gemm_2<1>(int)")]


def test_an_exact_name_wins_over_the_expression():
    assert select("gemm", NAMES) == (0,)
    assert select("gem", NAMES) == (0, 1)
    assert select("void gemm<1>(int)", NAMES) == (0,)
    assert select("softmax", NAMES) == ()


def test_a_bad_expression_says_how_to_mend_it():
    with pytest.raises(UsageError, match="backslash"):
        select("gemm(", NAMES)


@pytest.mark.parametrize("text", ["(", "*", "a{99999999999999999999}", "(" * 9000])
def test_what_is_no_expression_is_refused_where_it_was_typed(text: str):
    with pytest.raises(UsageError, match=r"step.* is not a regular expression"):
        compiled(text, option="--step")


ENDLESS = (
    r"(a+)+$ (\w+)+x ([a-z_:]+)*\( (x+x+)+y (gemm|gemmgemm)+_ .*.*.*.*.*q (.*,)+; (q|q|q)+z{1}"
)
USUAL = (
    r".*gemm.*_tn.* (\w+::)*gemm gemm.*gemm.*tn ^void.(at::)?\w+<.*>\(.*\)$ a{2,5}b+c* "
    r"ampere_\w+_(\d+)x(\d+)_.*(nn|tn) (fwd|bwd)_kernel.*<.*128.*64.*>"
)


@pytest.mark.parametrize("text", ENDLESS.split())
def test_what_can_take_forever_is_refused_soon(text: str):
    begin = time.process_time()
    with pytest.raises(UsageError, match=r"kernels.* can take forever") as refused:
        compiled(text, option="--kernel")
    assert "(a+)+" in str(refused.value)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("text", USUAL.split())
def test_usual_expressions_are_taken_within_moments(text: str):
    begin = time.process_time()
    assert compiled(text).pattern == text
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("glob", ["*gemm", "*gemm*", "?gemm"])
def test_a_glob_is_told_from_an_expression(glob: str):
    with pytest.raises(UsageError, match="not a glob: gemm is found anywhere"):
        compiled(glob, option="--kernel")


@pytest.mark.parametrize(
    ("command", "way_out"),
    [("a && b", "--check \"bash -c 'a && b'\""), ("a 'x y' | b", "--check 'bash FILE'")],
)
def test_a_command_that_needs_a_shell_is_refused(command: str, way_out: str):
    with pytest.raises(UsageError, match="needs a shell") as refused:
        command_words(command, "--check")
    assert refused.value.hint == way_out


def test_signs_of_a_shell_inside_of_words_are_words():
    assert command_words("a -k='b|c' \"d;\"", "--check") == ["a", "-k=b|c", "d;"]
