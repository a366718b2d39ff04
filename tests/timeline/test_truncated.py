"""A trace that ends in the middle: what was read, and no bounds from what is missing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from roofline.errors import InputError
from roofline.render import selection_json
from roofline.render.selection import markdown, render, warning
from roofline.timeline import load_timeline, select
from roofline.timeline.model import Basis, Criteria, Selection
from tests.shared import SHARED
from tests.timeline.made import kernel, launched, step, trace, write

FOLDER = None if SHARED is None else SHARED / "timelines"


def cut(folder: Path, *, device: int = 0) -> Path:
    """Five steps of 100 us, each 60 busy; the last kernels that are left are those of step 2.

    As Kineto writes it: the steps first, then what ran.
    """
    steps = [step(i, 100 * i, 100) for i in range(5)]
    ran: list[Any] = [*launched(99, "other", 5, 10, device=1)] if device else []
    for i in range(5):
        ran += launched(2 * i + 1, "gemm", 100 * i + 10, 40)
        ran += launched(2 * i + 2, "softmax", 100 * i + 60, 20)
    content = trace(*steps, ran)
    return write(folder, content[: content.rindex(b'"gemm"', 0, content.index(b'"ts": 310'))])


def chosen(path: Path, **wanted: Any) -> Selection:
    return select(load_timeline(path), Criteria(**wanted))


def test_no_bounds_from_what_is_missing(tmp_path: Path):
    # Steps 4 and 5 lost all their kernels: as idle time, they would make gaps come first.
    selection = chosen(cut(tmp_path))
    device = selection.selected

    assert selection.truncated
    assert (device.use, device.first, device.gaps, device.steps) == (None, None, (), ())
    assert [k.name for k in selection.chosen] == ["gemm", "softmax"]
    assert selection.kernels[0].kernel_share == pytest.approx(120 / 180)
    assert selection.kernels[0].exposed_share is None
    assert selection.kernels[0].speedup_at_most == (None, None)
    assert [r.basis for r in selection.requests] == [Basis.UNKNOWN]


def test_the_first_line_says_so(tmp_path: Path):
    selection = chosen(cut(tmp_path))
    said = "The trace ends in the middle: what it lacks is not known, so there are no bounds."
    assert render(selection).splitlines()[0] == said
    assert markdown(selection).startswith(said)
    assert warning(selection)[0] == said
    for text in (render(selection), markdown(selection)):
        assert "buys at most" not in text
        assert "gaps" not in text.lower()


def test_json_says_so(tmp_path: Path):
    document = json.loads(selection_json.render(chosen(cut(tmp_path))))
    assert document["truncated"] is True
    assert document["devices"][0]["use"] is None
    whole = write(tmp_path, trace(step(1, 0, 100), launched(1, "a", 10, 40)), "whole.json")
    assert json.loads(selection_json.render(chosen(whole)))["truncated"] is False


@pytest.mark.parametrize("wanted", [{"start": 0}, {"end": 10}, {"keep": "all"}, {"keep": (1, 2)}])
def test_no_stretch_of_it_can_be_looked_at(tmp_path: Path, wanted: dict[str, Any]):
    with pytest.raises(InputError, match="ends in the middle"):
        chosen(cut(tmp_path), **wanted)


def test_devices_are_kept_apart(tmp_path: Path):
    path = cut(tmp_path, device=1)
    selection = chosen(path)
    assert (selection.device, [d.index for d in selection.devices]) == (0, [0, 1])
    other = chosen(path, device=1)
    assert [(k.name, k.device) for k in other.kernels] == [("other", 1)]
    assert "1: kernels 10.0 µs in all" in render(selection)
    with pytest.raises(InputError, match="no kernel ran on device 3"):
        chosen(path, device=3)


@pytest.mark.skipif(FOLDER is None, reason="the public timelines are not at hand")
@pytest.mark.parametrize("part", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("name", ["hta_v100_2gpu_ddp", "hta_v100_2gpu_dlrm", "tracelens_h100_vit"])
def test_public_traces_cut_anywhere(tmp_path: Path, name: str, part: float):
    assert FOLDER is not None
    (path,) = FOLDER.glob(f"{name}*")
    whole = gzip.decompress(path.read_bytes())
    if part == 0.5 and name.startswith("tracelens"):
        part = 0.87  # half of this one has no kernel yet
    selection = chosen(write(tmp_path, whole[: int(part * len(whole))]))
    assert selection.truncated
    assert selection.selected.use is None


def test_whole_traces_are_whole(tmp_path: Path):
    assert not load_timeline(write(tmp_path, trace(kernel("k", 1, 1)))).truncated
