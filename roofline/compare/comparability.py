"""May these two captures be compared: each difference is stated, some refuse the comparison."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from roofline.compare.model import Check, Level
from roofline.compare.side import SETTINGS
from roofline.errors import UsageError
from roofline.model import Analysis, Measurement
from roofline.text.numbers import clock, percent

CLOCK_TOLERANCE = 0.03
# Refusals: what makes a verdict meaningless. --allow takes these.
REFUSALS = ("gpu", "kind")
# Under 10 points of the maximum clock apart, the same clock control is likely.
_CONTROL_POINTS = 0.10


def check(before: Analysis, after: Analysis) -> tuple[Check, ...]:
    """Everything in which two captures differ and must not, worst first."""
    left = [r.measurement for r in before.results]
    right = [r.measurement for r in after.results]
    found = [
        *_device(left, right),
        *_kind(left, right),
        *_clocks(left, right),
        *_tool(left, right),
        *_collected(left, right),
        *_settings(left, right),
    ]
    order = (Level.REFUSAL, Level.WARNING, Level.INFO)
    return tuple(sorted(found, key=lambda c: order.index(c.level)))


def refuse(checks: Iterable[Check], allow: Collection[str]) -> tuple[Check, ...]:
    """Turn allowed refusals into warnings; raise for the others.

    Raises:
        UsageError: a refusal that ``allow`` (codes, or "all") does not name.

    """
    kept, refused = [], []
    for item in checks:
        if item.level is not Level.REFUSAL:
            kept.append(item)
        elif item.code in allow or "all" in allow:
            kept.append(Check(code=item.code, level=Level.WARNING, text=f"{item.text} (allowed)"))
        else:
            refused.append(item)
    if refused:
        codes = " ".join(f"--allow {code}" for code in dict.fromkeys(c.code for c in refused))
        raise UsageError(
            "these captures do not compare",
            why="; ".join(c.text for c in refused),
            hint=f"capture both alike, or {codes} to compare them all the same",
        )
    return tuple(kept)


def _device(left: Sequence[Measurement], right: Sequence[Measurement]) -> list[Check]:
    found = []
    for what, one, other in (
        ("GPU", *_values(left, right, lambda m: m.device.name)),
        ("number of SMs", *_values(left, right, lambda m: m.device.sm_count)),
        ("compute capability", *_values(left, right, lambda m: m.device.compute_capability)),
    ):
        if one and other and one.isdisjoint(other):
            text = f"different {what}: {_list(one)} before, {_list(other)} after"
            found.append(Check(code="gpu", level=Level.REFUSAL, text=text))
            break
        if one and other and one != other:
            text = f"the captures cover different sets by {what}: {_list(one)}, {_list(other)}"
            found.append(Check(code="gpu", level=Level.WARNING, text=text))
            break
    names = _values(left, right, lambda m: m.device.name)
    if not all(names):
        text = "the GPU is not recorded on both sides: that it is the same one is assumed"
        found.append(Check(code="gpu", level=Level.WARNING, text=text))
    return found


def _kind(left: Sequence[Measurement], right: Sequence[Measurement]) -> list[Check]:
    one, other = _values(left, right, lambda m: str(m.kind))
    if one and other and one.isdisjoint(other):
        text = (
            f"different replay: {_list(one)} results before, {_list(other)} results after "
            "(kernel replay against range or graph replay)"
        )
        return [Check(code="kind", level=Level.REFUSAL, text=text)]
    return []


def _clocks(left: Sequence[Measurement], right: Sequence[Measurement]) -> list[Check]:
    found = []
    for code, what, get in (
        ("sm_clock", "SM clock", lambda m: m.sm_clock_hz),
        ("dram_clock", "DRAM clock", lambda m: m.dram_clock_hz),
    ):
        one, other = _time_weighted(left, get), _time_weighted(right, get)
        if one is None or other is None:
            if any(m.duration_s is not None for m in (*left, *right)):
                text = f"the {what} is not measured on both sides: it cannot be taken out"
                found.append(Check(code=code, level=Level.INFO, text=text))
        elif abs(other / one - 1) > CLOCK_TOLERANCE:
            text = (
                f"the {what} differs by {percent(abs(other / one - 1) * 100, places=1)}: "
                f"{clock(one)} before, {clock(other)} after; what the clock alone explains "
                "is not counted as a change"
            )
            found.append(Check(code=code, level=Level.WARNING, text=text))
    control = _clock_control(left, right)
    return found if control is None else [*found, control]


def _clock_control(left: Sequence[Measurement], right: Sequence[Measurement]) -> Check | None:
    shares = []
    for side in (left, right):
        actual = _time_weighted(side, lambda m: m.sm_clock_hz)
        top = next((m.device.sm_clock_max_hz for m in side if m.device.sm_clock_max_hz), None)
        if actual is None or top is None:
            return None
        shares.append(actual / top)
    if abs(shares[0] - shares[1]) <= _CONTROL_POINTS:
        return None
    text = (
        f"clock control probably differs: the SMs ran at {percent(shares[0] * 100)} of their "
        f"maximum before and {percent(shares[1] * 100)} after (ncu locks to base by default)"
    )
    return Check(code="clock_control", level=Level.WARNING, text=text)


def _tool(left: Sequence[Measurement], right: Sequence[Measurement]) -> list[Check]:
    one, other = _values(left, right, lambda m: m.ncu_version)
    if not one or not other or one == other:
        return []
    text = (
        f"different ncu: {_list(one)} before, {_list(other)} after; formulas and peaks of some "
        "percentages changed between versions, times did not"
    )
    return [Check(code="ncu_version", level=Level.WARNING, text=text)]


def _collected(left: Sequence[Measurement], right: Sequence[Measurement]) -> list[Check]:
    """Quantities that one side has and the other lacks altogether: different metric sets."""
    one, other = _lacking(left), _lacking(right)
    said = [
        f"{name} lacks {_list(gap.replace('_', ' ') for gap in gaps)}"
        for name, gaps in (("before", one - other), ("after", other - one))
        if gaps
    ]
    if not said:
        return []
    text = f"different metric sets: {'; '.join(said)}; only what both have is compared"
    return [Check(code="set", level=Level.WARNING, text=text)]


def _lacking(side: Sequence[Measurement]) -> set[str]:
    gaps = [{gap.quantity for gap in m.missing} for m in side]
    return set.intersection(*gaps) if gaps else set()


def _settings(left: Sequence[Measurement], right: Sequence[Measurement]) -> list[Check]:
    """What ncu was told, where the files say so, and what they do not say."""
    found, silent = [], []
    for key in SETTINGS:
        what = key.replace("_", " ")
        one, other = _values(left, right, _setting(key))
        if not one or not other:
            silent.append(what)
        elif one != other:
            text = f"different {what}: {_list(one)} before, {_list(other)} after"
            found.append(Check(code=key, level=Level.WARNING, text=text))
    if silent:
        text = f"not recorded on both sides, so taken to be alike: {', '.join(silent)}"
        found.append(Check(code="not_recorded", level=Level.INFO, text=text))
    return found


def _setting(key: str) -> Callable[[Measurement], str | None]:
    return lambda m: m.settings.get(key)


def _values(
    left: Sequence[Measurement],
    right: Sequence[Measurement],
    get: Callable[[Measurement], object],
) -> tuple[set[object], set[object]]:
    one, other = ({v for m in side if (v := get(m)) is not None} for side in (left, right))
    return one, other


def _time_weighted(
    side: Sequence[Measurement], get: Callable[[Measurement], float | None]
) -> float | None:
    """Cycles over time: the mean that makes cycles add up."""
    known = [(hz, m.duration_s) for m in side if (hz := get(m)) and m.duration_s]
    whole = sum(seconds for _, seconds in known)
    return sum(hz * seconds for hz, seconds in known) / whole if whole else None


def _list(values: Iterable[object]) -> str:
    return ", ".join(sorted(str(v) for v in values))
