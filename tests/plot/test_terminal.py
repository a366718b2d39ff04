from __future__ import annotations

import re
from dataclasses import replace

import pytest

from roofline.model import Bound
from roofline.plot import terminal
from roofline.view import chosen
from tests.makers import analysis, unit
from tests.plot.values import crowd, kernel, mixed


def rendered(shown, width=100, *, launches=False):
    return terminal.render(chosen(shown), launches=launches, width=width, color=False)


@pytest.mark.parametrize("width", [60, 100, 200])
@pytest.mark.parametrize("shown", [mixed(), crowd(2)], ids=["few", "many"])
def test_it_is_no_wider_than_the_terminal(width, shown):
    assert max(map(len, rendered(shown, width).splitlines())) <= width


def test_what_limits_each_kernel_is_named():
    waits = kernel("idle", Bound.LATENCY, units=(unit("dram", 20.0), unit("issue", 1.0)))
    lines = rendered(analysis(kernel("k"), waits)).splitlines()

    assert "1 k: DRAM 90 %" in lines
    assert any("DRAM 1.00 TB/s" in line for line in lines)
    assert any("FP32 10.0 TFLOP/s" in line for line in lines)


def test_a_mark_is_below_its_own_ceiling():
    # 1 % of DRAM: two decades below the roof.
    low = kernel("k", units=(unit("dram", 1.0), unit("issue", 0.5)), duration_s=1e-1)
    low = replace(low, verdict=replace(low.verdict, limiter_percent=1.0))
    lines = rendered(analysis(low)).splitlines()
    rows = {"━━━": [], "│": []}
    for number, line in enumerate(lines[2:-4]):
        for sign, found in rows.items():
            if sign in line:
                found.append((number, line.index(sign)))
    ((bar, at),) = rows["━━━"]
    below = list(enumerate(lines))[bar + 3 :]
    mark = next(n for n, line in below if line[at + 1 : at + 2] == "1") - 2

    assert mark > bar
    assert all(column == at + 1 for _, column in rows["│"])


@pytest.mark.parametrize(("seconds", "said"), [(1e-300, True), (1e-3, False)])
def test_kernels_beyond_the_axes_are_told(seconds, said):
    lines = rendered(analysis(kernel("k", duration_s=seconds))).splitlines()

    assert ("Beyond the axes, drawn on their edge: 1 kernel." in lines) is said


def test_without_a_roofline_the_reason_is_said():
    text = rendered(analysis(kernel("k", operations={})))

    assert text == "\nNo roofline: operations not measured.\n"


def test_names_cannot_command_the_terminal():
    text = rendered(analysis(kernel("k\x1b[31m", demangled="k\x1b[31m(int)")))

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
