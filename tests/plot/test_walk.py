"""The walk of a kernel: a mark a capture in its order, an arrow a change of the same kernel."""

from __future__ import annotations

from itertools import pairwise

from matplotlib.patches import FancyArrowPatch

from roofline.compare.history import followed
from roofline.compare.judge import compare
from roofline.plot import walk
from roofline.plot.save import Picture
from roofline.plot.scene import Options
from tests.compare.pairs import capture, launch


def drawn(*sides: object) -> Picture:
    captures = [capture(*(side if isinstance(side, tuple) else (side,))) for side in sides]
    pairs = [compare(a, b) for a, b in pairwise(captures)]
    names = [f"v{number}.ncu-rep" for number in range(1, len(sides) + 1)]
    return walk.picture(list(zip(names, followed(pairs), strict=True)), Options())


def arrows(picture: Picture) -> int:
    return sum(isinstance(one, FancyArrowPatch) for one in picture.figure.findobj())


def test_captures_keep_their_order_whatever_they_took() -> None:
    slow, slower, fast = (
        launch("k", us=us, operations={"fp32": 1e9}, dram_bytes=bytes_)
        for us, bytes_ in ((100, 4e8), (300, 9e8), (10, 1e7))
    )
    picture = drawn(slow, slower, fast)

    assert [mark.name for mark in picture.marks] == ["v1.ncu-rep", "v2.ncu-rep", "v3.ncu-rep"]
    assert [mark.rank for mark in picture.marks] == [1, 2, 3]
    assert arrows(picture) == 2
    assert picture.title == "k: 100 → 10.0 µs, 10.0x"


def test_no_arrow_leads_to_another_kernel() -> None:
    given = {"operations": {"fp32": 1e9}}
    gone, kept = launch("gone", us=9, dram_bytes=9e7, **given), launch("kept", us=5, **given)
    picture = drawn((gone, kept), kept)

    assert arrows(picture) == 0
    assert picture.title.startswith("gone → kept")
    assert any("None leads to" in text.get_text() for text in picture.figure.texts)


def test_a_kernel_without_operations_is_drawn_by_its_units() -> None:
    copy = launch("copy", us=9, operations={}, dram_bytes=9e7)

    assert len(drawn(copy, copy).marks) == 2
    picture = drawn(copy, copy)
    assert arrows(picture) == 0
    assert not any("Arrows" in text.get_text() for text in picture.figure.texts)
