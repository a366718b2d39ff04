"""Which wait's time went between two versions, or came."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from roofline.compare.change import wait_moved
from roofline.model import Details
from roofline.text.notes import note_text


def pair(before_s: float | None, after_s: float | None) -> Any:
    sides = (SimpleNamespace(measured=SimpleNamespace(duration_s=s)) for s in (before_s, after_s))
    before, after = sides
    return SimpleNamespace(before=before, after=after)


def details(**waits: float) -> Details:
    return Details(index=0, waits={name.replace("_for_", " for "): w for name, w in waits.items()})


def test_the_wait_that_went_is_named_with_its_time() -> None:
    before, after = details(DADD_for_LDG=0.6, STG=0.4), details(DADD_for_LDG=0.1, STG=0.9)
    said = wait_moved(pair(1e-3, 5e-4), before, after)

    # 600 us of DADD became 50; STG went from 400 to 450.
    assert said is not None
    assert note_text(said) == (
        "DADD for LDG: 60.0 % of the samples (600 µs) before, 10.0 % (50.0 µs) after"
    )


def test_the_wait_that_came_is_named_where_it_got_slower() -> None:
    said = wait_moved(pair(5e-4, 1e-3), details(STG=1.0), details(STG=0.4, BAR=0.6))

    assert said is not None
    assert (said.facts["wait"], said.facts["before"], said.facts["after"]) == ("BAR", 0.0, 0.6)


@pytest.mark.parametrize(
    ("times", "before", "after"),
    [
        ((1e-3, 5e-4), details(), details(STG=1.0)),  # too few samples
        ((None, 5e-4), details(STG=1.0), details(STG=1.0)),
        ((1e-3, 0.95e-3), details(A=0.5, B=0.5), details(A=0.5, B=0.5)),  # nothing by a tenth
    ],
)
def test_what_names_nobody(times: tuple[float, float], before: Details, after: Details) -> None:
    assert wait_moved(pair(*times), before, after) is None
