"""Which kernel of BEFORE became which of AFTER: a partial matching, exact first, guesses named."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log, prod
from typing import cast

from roofline.compare.model import PairKind, note
from roofline.errors import UsageError
from roofline.kernel_names import build_name, few, similarity
from roofline.model import Analysis, Group, Measurement, Note
from roofline.patterns import select

# Names this alike are taken for a rename; less is enough where grid and block are the same too.
SIMILAR, SIMILAR_SAME_LAUNCH = 0.6, 0.4
# Work of several launch shapes within this factor is taken for the work of one, split up.
SPLIT_TOLERANCE = 1.25
# The ways of pairing that need no word to the reader.
PLAIN = ("by_map", "by_name_and_launch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Positions in ``Analysis.groups`` that belong together, and by what."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    how: Note

    @property
    def kind(self) -> PairKind:
        """How many launch shapes became how many."""
        sides = ("one" if len(side) == 1 else "many" for side in (self.before, self.after))
        return cast("PairKind", "_to_".join(sides))


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A group on its way to a partner."""

    position: int
    base: str
    measured: Measurement

    @property
    def launch(self) -> tuple[Hashable, ...]:
        return (self.measured.kind, self.measured.grid, self.measured.block)

    @property
    def threads(self) -> int:
        shape = (self.measured.grid or (1, 1, 1)) + (self.measured.block or (1, 1, 1))
        return max(prod(shape), 1)


def pair(
    before: Analysis, after: Analysis, *, maps: Sequence[tuple[str, str]] = ()
) -> tuple[Match, ...]:
    """Pair the groups of two captures; each is used at most once.

    Only kernels of one GPU pair, where the sides have one in common. In this order: what ``maps``
    says (OLD, NEW: names or regular expressions, of any GPU); equal name, grid and block; equal
    base name (template arguments, Triton and Inductor suffixes dropped) with equal launch; equal
    base name; similar name; being alone on each side. Within one step the order of first launch
    decides. A map to a kernel that is not there is a UsageError.
    """
    work = _Pairing(left=_kernels(before.groups), right=_kernels(after.groups), matches=[])
    sides = list(_by_gpu(work.left, work.right))
    work.pair_mapped(maps)
    left, right = ({k.position for k in side} for side in (work.left, work.right))
    for ours, theirs in sides:
        part = _Pairing(
            left=[k for k in ours if k.position in left],
            right=[k for k in theirs if k.position in right],
            matches=work.matches,
        )
        part.pair_unmapped(alone=len(ours) == len(theirs) == 1)
    return tuple(work.matches)


def _by_gpu(
    before: Sequence[_Kernel], after: Sequence[_Kernel]
) -> Iterator[tuple[list[_Kernel], list[_Kernel]]]:
    """The kernels of each GPU that both sides have, or all where they have none in common."""
    one, other = ({k.measured.device.name for k in side} for side in (before, after))
    common = sorted(filter(None, one & other)) if None not in one | other else []
    for gpu in (*common,) or (None,):
        ours, theirs = (
            [k for k in side if gpu in (None, k.measured.device.name)] for side in (before, after)
        )
        yield ours, theirs


def _kernels(groups: Iterable[Group]) -> list[_Kernel]:
    """In order of first launch."""
    order = sorted(enumerate(groups), key=lambda item: (min(item[1].launches, default=0), item[0]))
    measured = [(position, group.result.measurement) for position, group in order]
    return [_Kernel(i, build_name(m.demangled or m.name), m) for i, m in measured]


@dataclass(slots=True, kw_only=True)
class _Pairing:
    """The kernels that are still without a partner, and the matches so far."""

    left: list[_Kernel]
    right: list[_Kernel]
    matches: list[Match]

    def take(self, ours: Sequence[_Kernel], theirs: Sequence[_Kernel], how: Note) -> None:
        """Match ``ours`` with ``theirs``."""
        before, after = (tuple(sorted(k.position for k in side)) for side in (ours, theirs))
        self.left = [k for k in self.left if k.position not in before]
        self.right = [k for k in self.right if k.position not in after]
        self.matches.append(Match(before=before, after=after, how=how))

    def pair_unmapped(self, *, alone: bool) -> None:
        """Pair by name and launch, exact first; ``alone`` are the only kernels of each side."""
        self.pair_equal(lambda k: (k.measured.demangled, k.launch, k.measured.device.index))
        self.pair_equal(lambda k: (k.measured.demangled, k.launch))
        self.pair_by_base_name()
        self.pair_best_first(self.left, self.right, _alike)
        kinds = {k.measured.kind for k in (*self.left, *self.right)}
        if alone and self.left and self.right and len(kinds) == 1:
            self.take(self.left, self.right, note("by_being_alone"))

    def pair_mapped(self, maps: Sequence[tuple[str, str]]) -> None:
        """The user's own pairs; maps that share a kernel are one pair."""
        joined: list[tuple[set[int], set[int]]] = []
        for old, new in maps:
            olds, news = _named(self.left, old, "BEFORE"), _named(self.right, new, "AFTER")
            for other in [j for j in joined if j[0] & olds or j[1] & news]:
                olds, news = olds | other[0], news | other[1]
                joined.remove(other)
            joined.append((olds, news))
        for olds, news in joined:
            ours = [k for k in self.left if k.position in olds]
            theirs = [k for k in self.right if k.position in news]
            self.take(ours, theirs, note("by_map"))

    def pair_equal(self, key: Callable[[_Kernel], Hashable]) -> None:
        """Pair equal keys in order of first launch."""
        waiting: dict[Hashable, list[_Kernel]] = {}
        for kernel in self.right:
            waiting.setdefault(key(kernel), []).append(kernel)
        for kernel in self.left:
            if candidates := waiting.get(key(kernel)):
                self.take([kernel], [candidates.pop(0)], note("by_name_and_launch"))

    def pair_by_base_name(self) -> None:
        """Pair within a base name: one launch shape split into several, else the most alike."""
        for base in dict.fromkeys(k.base for k in self.left):
            ours = [k for k in self.left if k.base == base]
            theirs = [k for k in self.right if k.base == base]
            if _is_split(ours, theirs) or _is_split(theirs, ours):
                self.take(ours, theirs, note("by_base_name_split"))
            else:
                self.pair_best_first(ours, theirs, _same_base)

    def pair_best_first(
        self,
        ours: Sequence[_Kernel],
        theirs: Sequence[_Kernel],
        judge: Callable[[_Kernel, _Kernel], tuple[float, Note] | None],
    ) -> None:
        """Pair the highest score first, then the nearest in order."""
        scored = [
            (-found[0], abs(i - j), i, j, found[1])
            for i, one in enumerate(ours)
            for j, other in enumerate(theirs)
            if one.measured.kind == other.measured.kind and (found := judge(one, other))
        ]
        used: set[tuple[str, int]] = set()
        for _, _, i, j, how in sorted(scored, key=lambda s: s[:4]):
            if used.isdisjoint((("before", i), ("after", j))):
                used |= {("before", i), ("after", j)}
                self.take([ours[i]], [theirs[j]], how)


def _named(kernels: Sequence[_Kernel], pattern: str, side: str) -> set[int]:
    found = select(pattern, [(k.measured.name, k.measured.demangled) for k in kernels])
    if not found:
        names = few(dict.fromkeys(k.measured.name for k in kernels))
        what = f"--map: {side} has no kernel {pattern!r}"
        raise UsageError(what, hint=f"a part of one of these: {names}")
    return {kernels[i].position for i in found}


def _is_split(one: Sequence[_Kernel], many: Sequence[_Kernel]) -> bool:
    """Whether one launch shape became several that do its work, as far as can be told."""
    if len(one) != 1 or len(many) < 2 or len({k.measured.kind for k in (*one, *many)}) != 1:
        return False
    for measure in ("total_operations", "dram_bytes"):
        whole = getattr(one[0].measured, measure)
        parts = [getattr(k.measured, measure) for k in many]
        if whole and None not in parts:
            ratio: float = sum(parts) / whole
            return 1 / SPLIT_TOLERANCE <= ratio <= SPLIT_TOLERANCE
    return False


def _same_base(one: _Kernel, other: _Kernel) -> tuple[float, Note]:
    """Same launch counts most, then how alike the full names are, then how near the grids."""
    same_launch = one.launch == other.launch
    same_name = one.measured.demangled == other.measured.demangled
    score = 2.0 * same_launch + similarity(one.measured.demangled, other.measured.demangled)
    score -= 0.01 * abs(log(one.threads / other.threads))
    name = "name" if same_name else "base_name"
    return score, note(f"by_{name}_and_launch" if same_launch else f"by_{name}")


def _alike(one: _Kernel, other: _Kernel) -> tuple[float, Note] | None:
    alike = similarity(one.base, other.base)
    same_launch = one.measured.grid is not None and one.launch == other.launch
    if alike < (SIMILAR_SAME_LAUNCH if same_launch else SIMILAR):
        return None
    code = "by_similar_name_and_launch" if same_launch else "by_similar_name"
    return alike + 0.2 * same_launch, note(code, alike=alike)
