"""The bracket of a replay and Amdahl's law, held against programs whose every dependency is known.

``Program`` is simulated twice, as it is and with faster kernels. A recording of the first is all
that the replay gets; the second is the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.api import parse_move
from roofline.errors import UsageError
from roofline.timeline import load_timeline
from roofline.timeline.events import Timeline
from roofline.timeline.model import Criteria, WhatIf
from roofline.timeline.what_if import what_if
from tests.timeline.made import call, kernel, step, trace, write

CALL, LATENCY, NEXT = 3, 5, 1  # us: of a launch on the host, until it runs, between two of a stream
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Work of ``lasts`` us on a stream, after that of other streams ``after`` so many launches."""

    stream: int
    lasts: int
    after: tuple[int, ...] = ()
    name: str = "gemm"


@dataclass(frozen=True, kw_only=True)
class Host:
    """The host works for so long, and first waits for a stream (-1: for all)."""

    works: int
    waits: int | None = None


def simulated(program: list[Launch | Host | int], factor: float = 1) -> list[Any]:
    """The events of a recording; an int begins the step of that number."""
    now, number, done, events = 1000.0, 0, {}, []
    ran: list[tuple[int, float]] = []  # stream and end
    begun: tuple[int, float] | None = None
    for what in program:
        if isinstance(what, Launch):
            number += 1
            start = max(now + LATENCY, done.get(what.stream, 0) + NEXT)
            start = max([start, *(ran[-n][1] for n in what.after if n <= len(ran))])
            lasts = what.lasts / factor if what.name == "gemm" else what.lasts
            ran.append((what.stream, start + lasts))
            done[what.stream] = start + lasts
            events.append(call("cudaLaunchKernel", now, CALL, number))
            events.append(kernel(what.name, start, lasts, stream=what.stream, launch=number))
            now += CALL
        elif isinstance(what, Host):
            if what.waits is not None:
                awaited = [end for s, end in ran if what.waits in (s, -1)]
                until = max([now, *awaited])
                events.append(call("cudaStreamSynchronize", now, until - now))
                now = until
            now += what.works
        else:
            events += [] if begun is None else [step(begun[0], begun[1], now - begun[1])]
            begun = (what, now)
    return events


def recorded(folder: Path, events: list[Any]) -> Timeline:
    return load_timeline(write(folder, trace(events)))


def asked(timeline: Timeline, move: str) -> WhatIf:
    found = what_if(timeline, [parse_move(move)], Criteria(keep="all")).what_if
    assert found is not None
    return found


def never_slower(timeline: Timeline, criteria: Criteria) -> None:
    """The more is taken out, the shorter the step."""
    for moves in (("gemm=1x", "gemm=2x", "gemm=0"), ("comm=1x", "comm=3x", "comm=0"), ("gaps=0",)):
        try:
            found = [what_if(timeline, [parse_move(m)], criteria).what_if for m in moves]
        except UsageError:  # nothing of that name ran
            continue
        walls = [f.after.wall_s for f in found if f is not None]
        whole = [f.before.wall_s for f in found if f is not None]
        assert [whole[0], *walls] == sorted([whole[0], *walls], reverse=True)


def wall_us(events: list[Any]) -> float:
    ran = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["cat"] == "kernel"]
    return max(end for _, end in ran) - min(start for start, _ in ran)


launches = st.builds(
    Launch,
    stream=st.integers(7, 9),
    lasts=st.integers(1, 60).map(lambda n: 4 * n),
    after=st.lists(st.integers(1, 6), max_size=2).map(tuple),
    name=st.sampled_from(["gemm", "gemm", REDUCE]),
)
hosts = st.builds(Host, works=st.integers(0, 300), waits=st.sampled_from([None, None, -1, 7, 8, 9]))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.one_of(launches, launches, hosts), min_size=2, max_size=30),
    st.sampled_from("24"),
)
def test_the_truth_lies_between_replay_and_amdahls_law(
    tmp_path_factory: Any, work: list[Any], factor: str
) -> None:
    program = [Launch(stream=7, lasts=40), *work]
    timeline = recorded(tmp_path_factory.mktemp("made"), simulated(program))
    found = asked(timeline, f"gemm={factor}x")
    truth = wall_us(simulated(program, float(factor)))
    before, after = found.before.wall_s * 1e6, found.after.wall_s * 1e6
    assert after <= before + 1e-6
    assert found.at_most[1] is not None
    assert before / found.at_most[1] - 1e-6 <= truth <= after + 1e-6
    never_slower(timeline, Criteria(keep="all"))


def training(
    layers: list[int], buckets: int, transfer: int, *, steps: int, host: int, waits: int | None
) -> list[Any]:
    """Steps of layers on one stream, all-reduces on another, and an optimizer after the last."""
    program: list[Any] = []
    for number in range(steps):
        program += [number, Host(works=host)]
        since = 0  # launches since the last all-reduce
        for i, lasts in enumerate(layers):
            program.append(Launch(stream=7, lasts=lasts))
            since += 1
            if i >= len(layers) - buckets:
                program.append(Launch(stream=20, lasts=transfer, after=(1,), name=REDUCE))
                since = 0
        optimizer = Launch(stream=7, lasts=40, after=(since + 1,) if buckets else ())
        program += [optimizer, Host(works=10, waits=waits)]
    return [*program, steps]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 100).map(lambda n: 4 * n), min_size=1, max_size=8),
    st.integers(0, 3),
    st.integers(1, 1500),
    st.integers(0, 1000),
    st.sampled_from([None, -1, 7]),
    st.sampled_from(["2x", "4x", "0"]),
    st.sampled_from(["inner", "one"]),
)
def test_steps_take_no_longer_than_a_replay_says(
    tmp_path_factory: Any,
    layers: list[int],
    buckets: int,
    transfer: int,
    host: int,
    waits: int | None,
    factor: str,
    kept: str,
) -> None:
    def events(scale: float = 1, steps: int = 8) -> list[Any]:
        shape = min(buckets, len(layers)), transfer
        return simulated(training(layers, *shape, steps=steps, host=host, waits=waits), scale)

    timeline = recorded(tmp_path_factory.mktemp("made"), events())
    keep: Any = "inner" if kept == "inner" else (4, 4)
    found = what_if(timeline, [parse_move(f"gemm={factor}")], Criteria(keep=keep)).what_if
    assert found is not None
    scale = float(factor.removesuffix("x")) or 1e9
    # What a step more takes, after enough of them.
    truth = (wall_us(events(scale, steps=41)) - wall_us(events(scale, steps=21))) / 20
    before, after = found.before.wall_s * 1e6, found.after.wall_s * 1e6
    assert after <= before + 1e-6
    assert truth <= after + 1e-3
    if found.at_most[1] is not None:
        assert before / found.at_most[1] - 1e-3 <= truth
    never_slower(timeline, Criteria(keep=keep))
