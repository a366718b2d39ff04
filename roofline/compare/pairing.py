"""Which kernel of BEFORE became which of AFTER: a partial matching, exact first, guesses named."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import log, prod

from roofline.compare.names import base_name, select, similarity
from roofline.errors import UsageError
from roofline.model import Analysis, Group, Measurement

# Names this alike are taken for a rename; less is enough where grid and block are the same too.
SIMILAR, SIMILAR_SAME_LAUNCH = 0.6, 0.4
# Work of several launch shapes within this factor is taken for the work of one, split up.
SPLIT_TOLERANCE = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Positions in ``Analysis.groups`` that belong together, and by what."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    how: str

    @property
    def kind(self) -> str:
        """One of "one_to_one", "one_to_many", "many_to_one", "many_to_many"."""
        sides = ("one" if len(side) == 1 else "many" for side in (self.before, self.after))
        return "_to_".join(sides)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A group on its way to a partner."""

    position: int
    first: int
    base: str
    measured: Measurement

    @property
    def launch(self) -> tuple[Hashable, ...]:
        return (self.measured.kind, self.measured.grid, self.measured.block)


def pair(
    before: Analysis, after: Analysis, *, maps: Sequence[tuple[str, str]] = ()
) -> tuple[Match, ...]:
    """Pair the groups of two captures; each is used at most once.

    In this order: what ``maps`` says (OLD, NEW: names or regular expressions); equal name, grid
    and block; equal base name (template arguments, Triton and Inductor suffixes dropped) with
    equal launch; equal base name; similar name; being alone on each side. Within one
    step the order of first launch decides.

    Raises:
        UsageError: a map names a kernel that its side does not have.

    """
    left, right = _kernels(before.groups), _kernels(after.groups)
    alone = len(left) == len(right) == 1
    matches = _mapped(left, right, maps)
    for how, key in _STEPS:
        matches += _bucketed(left, right, how, key)
    matches += _by_base_name(left, right)
    matches += _by_similarity(left, right)
    if left and right and alone and left[0].measured.kind == right[0].measured.kind:
        how = "being the only kernel on each side"
        matches.append(Match(before=(left[0].position,), after=(right[0].position,), how=how))
    return tuple(matches)


_STEPS: tuple[tuple[str, Callable[[_Kernel], Hashable]], ...] = (
    ("name, grid and block", lambda k: (k.measured.demangled, k.launch, k.measured.device.index)),
    ("name, grid and block", lambda k: (k.measured.demangled, k.launch)),
)


def _kernels(groups: Iterable[Group]) -> list[_Kernel]:
    kernels = [
        _Kernel(
            position=position,
            first=min(group.launches, default=0),
            base=base_name(group.result.measurement.name, group.result.measurement.demangled),
            measured=group.result.measurement,
        )
        for position, group in enumerate(groups)
    ]
    return sorted(kernels, key=lambda k: (k.first, k.position))


def _mapped(
    left: list[_Kernel], right: list[_Kernel], maps: Sequence[tuple[str, str]]
) -> list[Match]:
    """The user's own pairs; maps that share a kernel are one pair (many to one, one to many)."""
    joined: list[tuple[set[int], set[int]]] = []
    for old, new in maps:
        olds, news = _named(left, old, "BEFORE"), _named(right, new, "AFTER")
        for other in [j for j in joined if j[0] & olds or j[1] & news]:
            olds, news = olds | other[0], news | other[1]
            joined.remove(other)
        joined.append((olds, news))
    for olds, news in joined:
        left[:] = [k for k in left if k.position not in olds]
        right[:] = [k for k in right if k.position not in news]
    return [
        Match(before=tuple(sorted(olds)), after=tuple(sorted(news)), how="--map")
        for olds, news in joined
    ]


def _named(kernels: Sequence[_Kernel], pattern: str, side: str) -> set[int]:
    found = select(pattern, [(k.measured.name, k.measured.demangled) for k in kernels])
    if not found:
        names = ", ".join(dict.fromkeys(k.measured.name for k in kernels))
        raise UsageError(
            f"--map: {side} has no kernel {pattern!r}", why=f"it has {names}"[:600] or None
        )
    return {kernels[i].position for i in found}


def _bucketed(
    left: list[_Kernel], right: list[_Kernel], how: str, key: Callable[[_Kernel], Hashable]
) -> list[Match]:
    """Pair equal keys in order of first launch."""
    waiting: dict[Hashable, list[_Kernel]] = {}
    for kernel in right:
        waiting.setdefault(key(kernel), []).append(kernel)
    return [
        _take(left, right, kernel, candidates.pop(0), how)
        for kernel in list(left)
        if (candidates := waiting.get(key(kernel)))
    ]


def _by_base_name(left: list[_Kernel], right: list[_Kernel]) -> list[Match]:
    matches = []
    for base in dict.fromkeys(k.base for k in left):
        ours = [k for k in left if k.base == base]
        theirs = [k for k in right if k.base == base]
        if _is_split(ours, theirs) or _is_split(theirs, ours):
            left[:] = [k for k in left if k not in ours]
            right[:] = [k for k in right if k not in theirs]
            positions = (tuple(k.position for k in ours), tuple(k.position for k in theirs))
            how = "base name, several launch shapes"
            matches.append(Match(before=positions[0], after=positions[1], how=how))
        else:
            matches += _best_first(left, right, ours, theirs, _same_base)
    return matches


def _by_similarity(left: list[_Kernel], right: list[_Kernel]) -> list[Match]:
    return _best_first(left, right, list(left), list(right), _alike)


def _is_split(one: Sequence[_Kernel], many: Sequence[_Kernel]) -> bool:
    """Whether one launch shape became several that do its work, as far as can be told."""
    if len(one) != 1 or len(many) < 2 or len({k.measured.kind for k in (*one, *many)}) != 1:
        return False
    measures: tuple[Callable[[Measurement], float | None], ...] = (
        lambda m: m.total_operations,
        lambda m: m.dram_bytes,
    )
    for get in measures:
        whole = get(one[0].measured)
        parts = [get(k.measured) for k in many]
        known = [p for p in parts if p is not None]
        if whole and len(known) == len(parts):
            return 1 / SPLIT_TOLERANCE <= sum(known) / whole <= SPLIT_TOLERANCE
    return False


def _best_first(
    left: list[_Kernel],
    right: list[_Kernel],
    ours: Sequence[_Kernel],
    theirs: Sequence[_Kernel],
    judge: Callable[[_Kernel, _Kernel], tuple[float, str] | None],
) -> list[Match]:
    scored = []
    for i, one in enumerate(ours):
        for j, other in enumerate(theirs):
            if one.measured.kind == other.measured.kind and (found := judge(one, other)):
                scored.append((-found[0], abs(i - j), i, j, found[1]))
    used_left: set[int] = set()
    used_right: set[int] = set()
    matches = []
    for _, _, i, j, how in sorted(scored):
        if i not in used_left and j not in used_right:
            used_left.add(i)
            used_right.add(j)
            matches.append(_take(left, right, ours[i], theirs[j], how))
    return matches


def _same_base(one: _Kernel, other: _Kernel) -> tuple[float, str]:
    """Same launch counts most, then how alike the full names are, then how near the grids."""
    same_launch = one.launch == other.launch
    same_name = one.measured.demangled == other.measured.demangled
    score = 2.0 * same_launch + similarity(one.measured.demangled, other.measured.demangled)
    score -= 0.01 * abs(log(_threads(one) / _threads(other)))
    what = "name" if same_name else "base name"
    return score, f"{what}, grid and block" if same_launch else f"{what}; grid or block differ"


def _alike(one: _Kernel, other: _Kernel) -> tuple[float, str] | None:
    alike = similarity(one.base, other.base)
    same_launch = one.measured.grid is not None and one.launch == other.launch
    if alike < (SIMILAR_SAME_LAUNCH if same_launch else SIMILAR):
        return None
    extra = " and equal grid and block" if same_launch else ""
    return alike + 0.2 * same_launch, f"similar name ({alike:.2f}){extra}"


def _threads(kernel: _Kernel) -> int:
    shape = (kernel.measured.grid or (1, 1, 1)) + (kernel.measured.block or (1, 1, 1))
    return max(prod(shape), 1)


def _take(
    left: list[_Kernel], right: list[_Kernel], one: _Kernel, other: _Kernel, how: str
) -> Match:
    left.remove(one)
    right.remove(other)
    return Match(before=(one.position,), after=(other.position,), how=how)
