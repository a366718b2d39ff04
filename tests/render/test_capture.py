"""What is said about a capture before the program starts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from roofline.capture.request import CaptureRequest
from roofline.render.capture import ending

ENDED, NEVER = "the program is ended", "(--until program: never)"
TO_ITS_END = "the program runs to its end"
CASES: list[tuple[dict[str, Any], float, bool, str]] = [
    (
        {},
        60.0,
        False,
        f"at most 10 launches (--launch-count N); {ENDED} 60 s after the last {NEVER}",
    ),
    (
        {"launch_count": 1},
        0.0,
        True,
        f"at most 1 launch; {ENDED} with the last {NEVER}",
    ),
    (
        {"launch_count": 1},
        math.inf,
        True,
        f"at most 1 launch; {TO_ITS_END}",
    ),
    ({"launch_count": None}, 0.0, False, f"every launch; {TO_ITS_END}"),
    (
        {"per_config": True, "launch_count": 2},
        0.0,
        False,
        f"at most 2 launches of each grid and block (--launch-count N); {TO_ITS_END}",
    ),
    (
        {"per_config": True, "launch_count": 2, "configs": 3},
        60.0,
        True,
        f"at most 2 launches of each grid and block; {ENDED} 60 s after 6 of them {NEVER}",
    ),
    # The program runs once for each pass, and to its end: launches do not end it.
    (
        {"replay": "application"},
        0.0,
        True,
        f"at most 10 launches; {TO_ITS_END}",
    ),
    (
        {"replay": "range", "launch_count": None},
        60.0,
        True,
        f"every range; {TO_ITS_END}",
    ),
]


@pytest.mark.parametrize(("asked", "linger_s", "counted", "said"), CASES)
def test_what_ends_the_program_is_said(
    asked: dict[str, Any], linger_s: float, counted: bool, said: str
) -> None:
    request = CaptureRequest(program=("bench",), **asked)
    assert ending(request, linger_s, counted=counted) == f"Profiling {said}"
