"""Two timelines of one program: what a change did to the step, part by part, and to its kernels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.errors import InputError
from roofline.kernel_names import comparable
from roofline.model import Dim3, Note
from roofline.timeline.model import First, Job, KernelShare, Selection, StepUse


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange:
    """A part of the judged step before and after; ``title`` is that of a class of idle time."""

    part: First
    before_s: float
    after_s: float
    cause: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchChange:
    """A kernel's time and launches a step; ``None`` on a side that does not have it.

    Grid and block are those of the side that has it, before if both do and they differ.
    """

    name: str
    grid: Dim3 | None
    block: Dim3 | None
    before_s: float | None
    after_s: float | None
    before_launches: float | None
    after_launches: float | None

    @property
    def saved_s(self) -> float:
        """Time a step that went; negative where it came."""
        return (self.before_s or 0.0) - (self.after_s or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChange:
    """The judged steps of two timelines. ``spread`` is how far counted steps of a side differ.

    It is half of longest minus shortest over the median, of the side where that is larger; ``None``
    where a side counts one step. ``notes`` are what was expected, and how it came out.
    """

    before: Selection
    after: Selection
    before_s: float
    after_s: float
    before_first: First | None
    after_first: First | None
    spread: float | None
    parts: tuple[PartChange, ...]
    kernels: tuple[LaunchChange, ...]
    notes: tuple[Note, ...] = ()

    @property
    def jobs(self) -> tuple[Job, Job] | None:
        """The ranks of both sides and their collectives, where both are jobs."""
        before, after = self.before.job, self.after.job
        return None if before is None or after is None else (before, after)

    @property
    def speedup(self) -> float:
        """How many times faster the step is."""
        return self.before_s / self.after_s

    @property
    def alike(self) -> float:
        """The part of the kernel time of both sides that is in kernels of both, 0 to 1.

        A kernel counts by how alike its shares of all launches are: programs of one framework have
        kernels in common, and launch them in other numbers.
        """
        whole_s = sum((k.before_s or 0.0) + (k.after_s or 0.0) for k in self.kernels)
        launches = [(k.before_launches or 0.0, k.after_launches or 0.0) for k in self.kernels]
        totals = [sum(side) or 1.0 for side in zip(*launches, strict=True)] or [1.0, 1.0]
        both_s = 0.0
        for k, numbers in zip(self.kernels, launches, strict=True):
            if k.before_s is not None and k.after_s is not None:
                few, many = sorted(n / of for n, of in zip(numbers, totals, strict=True))
                both_s += (k.before_s + k.after_s) * (few / many if many else 1.0)
        return both_s / whole_s if whole_s else 1.0

    @property
    def gpus(self) -> tuple[str | None, str | None]:
        """What each side ran on, with its SMs where only these differ; ``None`` is not recorded."""
        before, after = (side.selected.device for side in (self.before, self.after))
        counts = {before.sm_count, after.sm_count}
        if before.name is None or before.name != after.name or None in counts or len(counts) == 1:
            return before.name, after.name
        return f"{before.name} ({before.sm_count} SMs)", f"{after.name} ({after.sm_count} SMs)"

    @property
    def into_idle_s(self) -> tuple[float, float]:
        """Work that a step has less of, and idle time that it has more of."""
        idle_s = sum(
            p.after_s - p.before_s for p in self.parts if p.part is First.GAPS and not p.cause
        )
        return self.before_s - self.after_s + idle_s, idle_s

    @property
    def within_spread(self) -> bool:
        """Whether steps of one side differ as much as the two sides."""
        return self.spread is not None and abs(1 - self.after_s / self.before_s) <= self.spread


def step_change(before: Selection, after: Selection) -> StepChange:
    """Compare the judged steps of the selected devices.

    Raises:
        InputError: a side is a summary or incomplete, so that no step of it is known.

    """
    uses = [_judged(side) for side in (before, after)]
    rows = {(part, ""): [use.parts[part] for use in uses] for part in uses[0].parts}
    titles = {}
    for place, side in enumerate((before, after)):
        for cause in side.selected.idle:
            titles[cause.code] = cause.title
            rows.setdefault((First.GAPS, cause.code), [0.0, 0.0])[place] = cause.total_s
    return StepChange(
        before=before,
        after=after,
        before_s=uses[0].wall_s,
        after_s=uses[1].wall_s,
        before_first=before.selected.first,
        after_first=after.selected.first,
        spread=_spread(before, after),
        parts=tuple(
            PartChange(part=p, cause=c or None, title=titles.get(c), before_s=b, after_s=a)
            for (p, c), (b, a) in rows.items()
            if b or a
        ),
        kernels=tuple(sorted(_kernels(before, after), key=_rank)),
    )


def _rank(kernel: LaunchChange) -> tuple[float, float, str]:
    """By what changed most; what did not change by its time."""
    return -abs(kernel.saved_s), -(kernel.before_s or kernel.after_s or 0.0), kernel.name


def _judged(side: Selection) -> StepUse:
    if side.selected.judged is None:
        why = "a summary, or a trace that ends in the middle, has no step"
        hint = "the whole trace of several steps, on both sides"
        raise InputError(f"{side.file} cannot be compared", why=why, hint=hint)
    return side.selected.judged


def _spread(*sides: Selection) -> float | None:
    found = []
    for side in sides:
        lengths = sorted(s.wall_s for s in side.selected.steps if s.left_out is None)
        if len(lengths) < 2:
            return None
        found.append((lengths[-1] - lengths[0]) / 2 / lengths[(len(lengths) - 1) // 2])
    return max(found)


def _kernels(before: Selection, after: Selection) -> list[LaunchChange]:
    """Kernels by name, grid and block in any spelling; where grids changed, by name in order."""
    pairs: list[tuple[KernelShare | None, KernelShare | None]] = []
    pools = [[*side.selected.kernels, *side.selected.apart] for side in (before, after)]
    for sized in (True, False):
        alike: defaultdict[object, list[list[KernelShare]]] = defaultdict(lambda: [[], []])
        for place, pool in enumerate(pools):
            for k in pool:
                alike[comparable(k.name), *((k.grid, k.block) if sized else ())][place].append(k)
        pools = [[], []]
        for old, new in alike.values():
            both = min(len(old), len(new))
            pairs += zip(old[:both], new[:both], strict=True)
            pools = [pools[0] + old[both:], pools[1] + new[both:]]
    pairs += [(k, None) for k in pools[0]] + [(None, k) for k in pools[1]]
    steps = [max(side.selected.counted, 1) for side in (before, after)]
    return [_change(pair, steps) for pair in pairs]


def _change(pair: Sequence[KernelShare | None], steps: Sequence[int]) -> LaunchChange:
    known = next(k for k in pair if k is not None)
    sides = [
        (k.total_s / n, k.instances / n) if k else (None, None)
        for k, n in zip(pair, steps, strict=True)
    ]
    (before_s, before), (after_s, after) = sides
    return LaunchChange(
        name=known.name,
        grid=known.grid,
        block=known.block,
        before_s=before_s,
        after_s=after_s,
        before_launches=before,
        after_launches=after,
    )
