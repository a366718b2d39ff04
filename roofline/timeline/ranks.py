"""Ranks of one job: collectives matched over them, who comes last, and what the transfer takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

import numpy as np

from roofline.errors import InputError
from roofline.timeline.device import DeviceEvents
from roofline.timeline.events import Integers, Message
from roofline.timeline.model import Collective, Job, Rank
from roofline.timeline.occupancy import COMMUNICATION, Kinds

# Bytes on the wire of each rank, as a part of the message, by (members - 1) / members, as NCCL's
# tests count them; where a name holds none of these it is all of the message.
_ON_THE_WIRE = {"allreduce": 2.0, "allgather": 1.0, "reducescatter": 1.0, "alltoall": 1.0}

Key = tuple[str | None, str]  # process group, where it was recorded, and kind of collective


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The collectives of one rank that count, in order of end; ``starts`` and ``ends`` in ns.

    ``source`` is the place of its file among all, ``told`` its rank and ``world_size`` how many
    there are as far as the file tells.
    ``names`` are of kernels, ``which`` of each collective; ``known`` is by start what was recorded.
    """

    rank: Rank
    source: int
    told: int | None
    world_size: int | None
    steps: int | None
    starts: Integers
    ends: Integers
    which: Integers
    names: tuple[str, ...]
    known: dict[int, Message]

    def messages(self, places: Integers) -> list[Message | None]:
        """What was recorded of the collectives at ``places``."""
        return [self.known.get(at) for at in self.starts[places].tolist()]

    def places(self) -> dict[Key, Integers]:
        """Where the collectives of each process group and kind are."""
        found: defaultdict[Key, list[int]] = defaultdict(list)
        every = self.messages(np.arange(len(self.starts)))
        for i, (which, told) in enumerate(zip(self.which.tolist(), every, strict=True)):
            found[(None, self.names[which]) if told is None else (told.group, told.name)].append(i)
        return {key: np.array(places, dtype=np.int64) for key, places in found.items()}


def track(part: DeviceEvents, kind: Kinds, source: int) -> Track:
    """The collectives of a device; ``kind`` is that of each group of ``part``."""
    timeline, events = part.timeline, part.events
    own = np.flatnonzero(part.counted & (kind[part.group] == COMMUNICATION))
    own = own[np.argsort(events.end[own], kind="stable")]
    steps = len(part.kept) if part.ranged else None
    step_s = part.occupancy.wall_ns / 1e9 / len(part.kept) if part.ranged else None
    return Track(
        rank=Rank(
            number=part.index,
            file=timeline.file,
            device=part.index,
            step_s=step_s,
            communication_s=part.occupancy.use.communication_s,
            exposed_s=part.occupancy.use.exposed_communication_s,
        ),
        source=source,
        told=timeline.rank,
        world_size=timeline.world_size,
        steps=steps,
        starts=events.start[own],
        ends=events.end[own],
        which=events.identity[own],
        names=tuple(i.base_name for i in timeline.identities),
        known={at: told for (index, at), told in timeline.messages.items() if index == part.index},
    )


def job(tracks: Sequence[Track]) -> Job | None:
    """Match the collectives of several ranks; ``None`` where they have none in common.

    Starts are compared within one file. Clocks of several files differ, and all ranks leave a
    collective together: there, each instance is compared by how long it took.

    Raises:
        InputError: two files are of one rank.

    """
    for one, other in combinations(tracks, 2):
        _refuse_same(one, other)
    one_clock = len({t.source for t in tracks}) == 1
    told = [t.rank.device if one_clock else t.told for t in tracks]
    known = [n for n in told if n is not None]
    number = known if len(set(known)) == len(tracks) else list(range(len(tracks)))
    world_size = None
    if number is known and not one_clock:
        world_size = max(max(known) + 1, *(t.world_size or 0 for t in tracks))
    last, caused, waited = np.zeros((3, len(tracks)), np.int64)
    found: list[Collective] = []
    places = [t.places() for t in tracks]
    for group, name in dict.fromkeys(key for own in places for key in own):
        who = [i for i, own in enumerate(places) if (group, name) in own]
        if len(who) < 2:
            continue
        rows = _aligned([(tracks[i], places[i][group, name]) for i in who])
        start = np.stack([tracks[i].starts[p] for i, p in zip(who, rows, strict=True)])
        end = np.stack([tracks[i].ends[p] for i, p in zip(who, rows, strict=True)])
        if not one_clock:
            start, end = start - end, end * 0
        together = end.min(axis=0) > start.max(axis=0)  # else they are not one collective
        start, end, first = start[:, together], end[:, together], rows[0][together]
        if not len(first):
            continue
        came = start.max(axis=0)
        uneven = came > start.min(axis=0)
        skew = came - start.min(axis=0)
        behind = start.argmax(axis=0)[uneven]
        late = np.bincount(behind, minlength=len(who))
        last[who] += late
        np.add.at(caused, np.array(who)[behind], skew[uneven])
        waited[who] += (came - start).sum(axis=1)
        transfer_s = int((end.min(axis=0) - came).sum()) / 1e9
        found.append(
            Collective(
                name=name,
                group=group,
                ranks=tuple(number[i] for i in who),
                count=len(first),
                skew_s=int(skew.sum()) / 1e9,
                transfer_s=transfer_s,
                last=number[who[int(late.argmax())]],
                last_count=int(late.max()),
                bus_bytes_per_s=_rate(tracks[who[0]].messages(first), transfer_s),
            )
        )
    if not found:
        return None
    counts = last.tolist(), (caused / 1e9).tolist(), (waited / 1e9).tolist()
    steps = [t.steps for t in tracks if t.steps is not None]
    return Job(
        ranks=tuple(
            replace(t.rank, number=own, last=late, caused_s=by_it, waited_s=here)
            for t, own, late, by_it, here in zip(tracks, number, *counts, strict=True)
        ),
        collectives=tuple(sorted(found, key=lambda c: -(c.skew_s + c.transfer_s))),
        steps=min(steps) if len(steps) == len(tracks) else None,
        matched_by="order" if any(c.group is None for c in found) else "name",
        one_clock=one_clock,
        world_size=world_size,
        unmatched=sum(len(t.starts) for t in tracks) - sum(c.count * len(c.ranks) for c in found),
    )


def _refuse_same(one: Track, other: Track) -> None:
    if one.source == other.source:
        return
    why, told = None, (one.told, other.told)
    same = ((one.starts, other.starts), (one.ends, other.ends))
    if None not in told:
        why = f"both say that they are rank {one.told}" if len(set(told)) == 1 else None
    elif len(one.starts) and all(np.array_equal(*both) for both in same):
        why = "they hold the same collectives at the same times"
    if why is not None:
        what = f"{one.rank.file} and {other.rank.file} are of one rank"
        raise InputError(what, why=why, hint="one file for each rank of one job")


def _aligned(ranks: Sequence[tuple[Track, Integers]]) -> list[Integers]:
    """For each rank and its places those that all of them have, in the same order.

    By sequence number where every one has it; else in order, and where one rank recorded more, the
    stretch whose ends keep the most even distance to the shortest.
    """
    places = [p for _, p in ranks]
    numbers = [_sequence(t, p) for t, p in ranks]
    if all(len(number) for number in numbers):
        common = reduce(np.intersect1d, numbers)
        orders = [np.argsort(number) for number in numbers]
        return [
            place[order[np.searchsorted(number[order], common)]]
            for place, number, order in zip(places, numbers, orders, strict=True)
        ]
    ends = [t.ends[p] for t, p in ranks]
    shortest = min(ends, key=len)
    rows = []
    for place, end in zip(places, ends, strict=True):
        windows = (end[i : i + len(shortest)] for i in range(len(end) - len(shortest) + 1))
        at = int(np.argmin([np.ptp(window - shortest) for window in windows]))
        rows.append(place[at : at + len(shortest)])
    return rows


def _sequence(track: Track, places: Integers) -> Integers:
    """The recorded sequence numbers; none where one lacks or occurs twice."""
    told = track.messages(places)
    numbers = [m.sequence for m in told if m is not None and m.sequence is not None]
    return np.array(numbers if len(set(numbers)) == len(places) else [], dtype=np.int64)


def _rate(messages: Sequence[Message | None], transfer_s: float) -> float | None:
    """Bytes on the wire of a rank over the time of transfer, if the size of each was recorded."""
    moved = 0.0
    for told in messages:
        if told is None or told.size is None or told.members is None:
            return None
        plain = told.name.lower().replace("_", "")
        factor = next((f for word, f in _ON_THE_WIRE.items() if word in plain), None)
        part = 1.0 if factor is None else factor * (told.members - 1) / told.members
        moved += part * told.size
    return moved / transfer_s
