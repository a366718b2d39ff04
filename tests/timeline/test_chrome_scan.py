"""The piecewise reader against traces as they really are: cut, dirty, oddly nested."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.timeline.chrome_scan import Scan, decode, decode_leniently
from tests.timeline.made import kernel, trace


@pytest.fixture(params=[decode, decode_leniently])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the decoders for all pieces."""
    monkeypatch.setattr("roofline.timeline.chrome_scan.decode", request.param)


DECODERS = pytest.mark.usefixtures("decoder")


def scan(content: bytes, piece: int = 64) -> tuple[list[Any], Scan]:
    found = Scan(stream=io.BytesIO(content), piece_bytes=piece)
    return [e for p in found.pieces() for e in p], found


@DECODERS
@pytest.mark.parametrize("piece", [7, 64, 1 << 20])
def test_every_event_arrives_whatever_the_piece(piece: int):
    content = trace(*(kernel(f"k{i}", i, 1) for i in range(50)), traceName="x")

    events, found = scan(content, piece)

    assert [e.name for e in events] == [f"k{i}" for i in range(50)]
    assert found.metadata["schemaVersion"] == 1
    assert not found.truncated
    assert not found.dropped


@DECODERS
def test_keys_after_the_events_are_kept():
    after = b'"traceName": "t", "other": [{"a": 1}, {"b": 2}]'
    content = b'{"traceEvents": [{"ph": "X", "name": "a"}], %b}' % after

    events, found = scan(content, 8)

    assert [e.name for e in events] == ["a"]
    assert found.metadata == {"traceName": "t", "other": [{"a": 1}, {"b": 2}]}


TWO = b'[{"ph": "X", "name": "a"}, {"ph": "X", "name": "b"}'


@DECODERS
@pytest.mark.parametrize(
    ("content", "names", "truncated", "dropped"),
    [
        pytest.param(TWO + b"]", "ab", False, 0, id="a bare list is a trace"),
        pytest.param(TWO + b",\n]", "ab", False, 0, id="a comma too many is let through"),
        pytest.param(TWO, "ab", False, 0, id="a bare list may lack its end"),
        pytest.param(TWO + b", ", "ab", False, 0, id="and end in a comma"),
        pytest.param(TWO + b', {"ph": "X", "na', "ab", True, 1, id="but not in an event"),
        pytest.param(b'{"traceEvents": []}', "", False, 0, id="an empty list is not truncated"),
        pytest.param(
            TWO + b', {"ph": "X", "name": "c"d"}, {"ph": "X", "name": "e"}]',
            *("abe", False, 1),
            id="an unreadable event costs only itself",
        ),
    ],
)
def test_how_a_list_ends(content: bytes, names: str, truncated: bool, dropped: int):
    events, found = scan(content)

    assert [e.name for e in events] == list(names)
    assert found.found
    assert (found.truncated, found.dropped) == (truncated, dropped)


@DECODERS
def test_what_looks_like_a_border_inside_a_string_is_none():
    names = ["a}, {b", "c}]", '{"traceEvents": [', "\\}, {\\"]
    content = trace(*(kernel(n, i, 1) for i, n in enumerate(names)))

    events, found = scan(content, 16)

    assert [e.name for e in events] == names
    assert not found.dropped


@DECODERS
def test_objects_nested_in_an_event_are_no_border():
    nested = kernel("k", 1, 1, ranks=[{"a": 1}, {"b": 2}, {"c": 3}])
    content = trace(*([nested] * 20))

    events, found = scan(content, 100)

    assert len(events) == 20
    assert not found.dropped


@DECODERS
def test_a_cut_file_gives_what_precedes_the_cut():
    content = trace(*(kernel(f"k{i}", i, 1) for i in range(50)))
    cut = content.index(b'"k30"') + 3  # in the middle of a name

    events, found = scan(content[:cut], 1000)

    assert [e.name for e in events] == [f"k{i}" for i in range(30)]
    assert found.truncated


@DECODERS
def test_a_cut_between_events_is_noticed():
    content = trace(kernel("a", 1, 1), kernel("b", 2, 1))
    cut = content.index(b', {"ph": "X", "cat": "kernel", "name": "b"')

    events, found = scan(content[:cut])

    assert [e.name for e in events] == ["a"]
    assert found.truncated


@DECODERS
@pytest.mark.parametrize(
    ("bad", "name"),
    [
        (b'"name": "a\x01b"', "a\x01b"),  # control character
        (b'"name": "a\xffb"', "a�b"),  # not UTF-8
        (b'"name": "a", "x": NaN', "a"),
        (b'"name": "C:\\Users"', "C:\\Users"),  # Windows path, not escaped
    ],
)
def test_dirty_events_are_read(bad: bytes, name: str):
    content = b'[{"ph": "X", "name": "first"}, {"ph": "X", %b}, {"ph": "X", "name": "last"}]' % bad

    events, found = scan(content, 1 << 20)

    assert [e.name for e in events] == ["first", name, "last"]
    assert not found.dropped


def test_both_decoders_see_the_same_event():
    content = trace(kernel("k", 1.25, 2, launch=3))[:-1].split(b"[", 2)[2][:-1]
    assert decode(content) == decode_leniently(content)


@given(
    names=st.lists(st.text(alphabet='ab{}[],:"\\ \n', max_size=12), min_size=1, max_size=12),
    piece=st.integers(1, 200),
    indent=st.sampled_from([None, 1]),
)
def test_no_text_in_a_name_is_lost(names: list[str], piece: int, indent: int | None):
    events = [{"ph": "X", "name": n, "args": {"l": [{"a": n}, {}]}} for n in names]
    content = json.dumps({"traceEvents": events, "end": [{}]}, indent=indent).encode()

    found, state = scan(content, piece)

    assert [e.name for e in found] == names
    assert not state.dropped
    assert not state.truncated
