"""Idle time by cause: what the thread that launches next did meanwhile, by patterns of names.

The classes and their patterns are data, in ``idle.toml``; people put classes of their own first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from roofline.errors import InputError
from roofline.files import read_text
from roofline.patterns import compiled
from roofline.timeline.events import Calls, Integers, Mask
from roofline.timeline.model import IdleClass
from roofline.timeline.occupancy import Clock

_HOME = Path(__file__).with_name("idle.toml")
# A gap of up to 1.5 times the usual time between launches (the median) is the cost of launching
# itself: 20 us on any host, 100 us on none. On public recordings of eager PyTorch launches are 17
# to 58 us apart; where it is 48 us (ViT on H100), 10 % to 90 % are from 30 to 69 us, in one hump.
_LAUNCH_NS = (20_000, 100_000)
_USUAL = 1.5
_LAUNCHES = 20  # so many tell what is usual
_DRAINED_NS = 100_000  # a gap after a wait: longer ones are what the host did after it
_WAITED = 0.1  # of a gap: a launch that was done by then left the rest to the GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleClasses:
    """Classes by code, in the order in which they are tried."""

    by_code: Mapping[str, IdleClass] = field(default_factory=dict)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes in order: what ``classify`` answers are places in it."""
        return tuple(self.by_code)

    @property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        """One expression for each class that has names."""
        return {
            code: compiled("|".join(f"(?:{n})" for n in found.names), option="--idle-causes")
            for code, found in self.by_code.items()
            if found.names
        }

    @property
    def any_name(self) -> re.Pattern[str]:
        """What a name must have to belong to any class."""
        return re.compile("|".join(f"(?:{p.pattern})" for p in self.patterns.values()))


@cache
def known_classes() -> IdleClasses:
    """The classes that come with the package."""
    return IdleClasses(by_code=_read(_HOME.read_bytes(), _HOME.name))


def load_classes(path: Path) -> IdleClasses:
    """Classes of a file of one's own before those known; a known class gets more names.

    Raises:
        InputError: the file cannot be read, or is no such table.
        UsageError: a name is not a regular expression.

    """
    known = dict(known_classes().by_code)
    own = {}
    for code, found in _read(read_text(path).encode(), path.name, known).items():
        if code in known:
            known[code] = found
        else:
            own[code] = found
    classes = IdleClasses(by_code=own | known)
    _ = classes.patterns  # refused before the work
    return classes


class _Row(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    title: str | None = None
    hypothesis: str | None = None
    check: str | None = None
    remedy: str | None = None
    color: Annotated[str, msgspec.Meta(pattern="^#[0-9a-fA-F]{6}$")] | None = None
    names: tuple[str, ...] = ()


def _read(
    text: bytes, file: str, known: Mapping[str, IdleClass] | None = None
) -> dict[str, IdleClass]:
    """The classes of a file; what one does not say is that of the ``known`` one, or its code."""
    try:
        rows = msgspec.toml.decode(text, type=dict[str, _Row])
    except (msgspec.MsgspecError, ValueError) as error:
        raise InputError(
            f"cannot read {file}",
            why=f"{error}",
            hint='tables as [my_class] with names = ["regular expression"], title, hypothesis, '
            "check and remedy",
        ) from error
    found = {}
    for code, row in rows.items():
        base = (known or {}).get(code) or IdleClass(title=code.replace("_", " "))
        said = msgspec.to_builtins(row) | {"names": row.names + base.names}
        found[code] = replace(base, **said)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """Idle stretches as columns: when, and how much passed before the launch of what runs next.

    ``late`` is that time in ns, ``known`` whether there is such a launch, ``thread`` who made it.
    """

    start: Integers
    end: Integers
    late: Integers
    known: Mask
    thread: Integers


def classify(
    gaps: Stretches,
    calls: Calls,
    names: Mapping[int, str],
    classes: IdleClasses,
    launches: Integers,
) -> NDArray[np.int8]:
    """For each stretch the place of its class among the ``codes`` of ``classes``.

    ``launches`` are the times at which the host launched.
    """
    place = {code: i for i, code in enumerate(classes.codes)}
    length = gaps.end - gaps.start
    cause = np.full(len(length), -1, dtype=np.int8)
    cause[~gaps.known] = place["unknown"]
    cause[gaps.known & (gaps.late < _WAITED * length)] = place["queued"]
    for code, thread, clock in _covering(calls, names, classes):
        mine = np.flatnonzero((cause < 0) & (gaps.thread == thread))
        start, end = gaps.start[mine], gaps.end[mine]
        fits = 2 * (clock.inside(end) - clock.inside(start)) > end - start
        if code == "synchronisation":
            fits |= clock.covers(start) & (end - start < _DRAINED_NS)
        cause[mine[fits]] = place[code]
    apart = np.diff(np.sort(launches))
    apart = apart[apart > 0]  # a graph is one launch
    usual = np.median(apart) if len(apart) >= _LAUNCHES else 0
    left, short = cause < 0, length < np.clip(_USUAL * usual, *_LAUNCH_NS)
    cause[left & short] = place["launch_rate"]
    cause[left & ~short] = place["host_code"]
    return cause


def _covering(
    calls: Calls, names: Mapping[int, str], classes: IdleClasses
) -> Iterator[tuple[str, int, Clock]]:
    """For each class and thread the time that its calls cover, in the order of the classes."""
    if not len(calls.name):
        return
    for code, pattern in classes.patterns.items():
        keys = [key for key, name in names.items() if name and pattern.search(name)]
        if not keys:
            continue
        mine = np.flatnonzero(np.isin(calls.name, keys))
        for thread in np.unique(calls.thread[mine]).tolist():
            own = mine[calls.thread[mine] == thread]
            yield code, thread, Clock.union(calls.start[own], calls.end[own])
