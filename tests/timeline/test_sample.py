"""The sample timeline, and a report of the same program."""

from __future__ import annotations

import copy
import gzip
import pickle
from dataclasses import asdict
from pathlib import Path

import pytest

from roofline.analysis import analyze
from roofline.api import parse_move
from roofline.timeline import load_timeline, select
from roofline.timeline.join import join
from roofline.timeline.model import Criteria, Keep
from roofline.timeline.what_if import what_if
from sample_reports import timeline
from tests.timeline.made import used

FOLDER = Path(timeline.__file__).parent
SAMPLE = FOLDER / timeline.FILE


def test_it_is_what_its_script_writes():
    assert gzip.decompress(SAMPLE.read_bytes()) == gzip.decompress(timeline.content())


def test_it_says_that_it_was_computed():
    assert b"computed by roofline" in gzip.decompress(SAMPLE.read_bytes())


def test_what_comes_of_it_obeys_python():
    timeline_ = load_timeline(SAMPLE)
    selection = select(timeline_)
    for value in (timeline_, selection, join(analyze(FOLDER / "h100_mix.ncu-rep"), selection)):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
        assert asdict(value)


def test_its_kernels_are_those_of_the_report():
    selection = select(load_timeline(SAMPLE))
    joined = join(analyze(FOLDER / "h100_mix.ncu-rep"), selection)

    assert not joined.unmatched
    assert not joined.ambiguous
    assert not joined.unprofiled
    assert len(joined.kernels) == 9


def test_faster_kernels_shorten_its_steps():
    # Of 22.3 ms half of 21.3 ms goes at most. If the kernels of the last 1.5 ms wait for the
    # all-reduce, as they may: 5.3 ms, 0.9 idle, 0.1, the 9 of the all-reduce, and 0.7.
    saved = select(load_timeline(SAMPLE)).selected.twice_saves
    assert saved is not None
    assert saved[0] == pytest.approx(1 - 16.1 / 22.3, rel=0.01)
    assert saved[1] == pytest.approx(21.3 / 22.3 / 2, rel=0.01)


@pytest.mark.parametrize("keep", ["inner", "all", (5, 5), (6, 6)])
def test_a_step_is_no_shorter_than_its_all_reduce(keep: Keep):
    found = what_if(load_timeline(SAMPLE), [parse_move("kernels=0")], Criteria(keep=keep)).what_if
    assert found is not None
    assert 9e-3 < found.after.wall_s < found.before.wall_s
    assert found.after.exposed_communication_s == pytest.approx(9e-3)


def test_the_all_reduce_runs_long_and_shows_little():
    # 9 ms in each of four steps, under kernels with gaps of 1.5 us between them.
    selection = select(load_timeline(SAMPLE))
    (reduce,) = [k for k in selection.selected.apart if k.apart == "communication"]
    assert reduce.wall_share == pytest.approx(4 * 9e-3 / used(selection).wall_s)
    assert 0 < (reduce.exposed_share or 0) < 0.01
