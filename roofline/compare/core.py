"""Two analyses become a comparison: pair, check, judge each pair, order by time won or lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofline.compare.cause import Cause, changes_of, find_cause
from roofline.compare.comparability import check, refuse
from roofline.compare.expect import Expectation, expected
from roofline.compare.gain import gain_of
from roofline.compare.model import (
    Basis,
    Comparison,
    Lone,
    Outcome,
    Pair,
    Side,
    StepGain,
    Timing,
    Work,
)
from roofline.compare.pairing import Match, pair
from roofline.compare.promise import promised
from roofline.compare.sentence import sentence
from roofline.compare.side import capture_of, lone_of, side_of
from roofline.compare.timing import outcome_of, timing
from roofline.compare.words import times
from roofline.compare.work import work_of
from roofline.errors import UsageError
from roofline.model import Analysis, Note
from roofline.text.names import unit
from roofline.text.numbers import percent

_CLOCK_SAID = 0.03
_NO_CAUSE = Cause(code="unexplained")
# A fusion drops bytes, operations and threads alike: no sign of another problem size.
_SUMMED = Work(
    status="unknown",
    text="several kernels or launch shapes stand for one: the same work is assumed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compare; ``shares`` maps a position in BEFORE's groups to its share of the step.

    A share is (exposed, total), 0 to 1.
    """

    maps: Sequence[tuple[str, str]] = ()
    allow: Collection[str] = ()
    noise: float | None = None
    expectations: Sequence[Expectation] = ()
    shares: Mapping[int, tuple[float, float]] = field(default_factory=dict)


def compare(before: Analysis, after: Analysis, options: Options | None = None) -> Comparison:
    """Everything that changed between two captures.

    Raises:
        UsageError: the captures do not compare (see ``comparability.REFUSALS``), nothing pairs, or
            a map names a kernel that is not there.

    """
    options = options or Options()
    checks = refuse(check(before, after), options.allow)
    matches = pair(before, after, maps=options.maps)
    gone = _lone(before, {p for m in matches for p in m.before})
    new = _lone(after, {p for m in matches for p in m.after})
    if not matches:
        raise UsageError(
            "no kernel of BEFORE is one of AFTER",
            why=f"before: {_names(gone)}; after: {_names(new)}",
            hint="--map OLD=NEW names what became what",
        )
    judged = [_pair(before, after, match, options) for match in matches]
    said = expected(judged, options.expectations, before.rule)
    judged = [
        replace(p, predictions=(*p.predictions, *said.get(i, ()))) for i, p in enumerate(judged)
    ]
    one, other = _paired_time(judged)
    return Comparison(
        before=capture_of(before),
        after=capture_of(after),
        checks=checks,
        pairs=tuple(sorted(judged, key=_rank, reverse=True)),
        gone=gone,
        new=new,
        before_paired_s=one,
        after_paired_s=other,
        notes=tuple(
            Note(code="expectation", text=f"{p.claim}: {p.reason}") for p in said.get(-1, ())
        ),
        counts=Counter(str(p.outcome) for p in judged),
    )


def _pair(before: Analysis, after: Analysis, match: Match, options: Options) -> Pair:
    total = match.kind != "one_to_one"
    per = "total" if total else "launch"
    left = side_of(before, [before.groups[i] for i in match.before], total=total)
    right = side_of(after, [after.groups[i] for i in match.after], total=total)
    timed = timing(left, right, per=per, noise=options.noise)
    work = _SUMMED if total else work_of(left, right, timed)
    outcome, basis = _outcome(timed, work)
    if timed is None:
        cause, text = "not_measured", sentence(left, right, None, work, outcome, _NO_CAUSE)
    elif work.status == "different":
        cause, text = "other_size", sentence(left, right, timed, work, outcome, _NO_CAUSE)
    else:
        found = find_cause(left, right, timed, outcome)
        cause, text = found.code, sentence(left, right, timed, work, outcome, found)
    done = Pair(
        kind=match.kind,
        how=match.how,
        per=per,
        before=left,
        after=right,
        outcome=outcome,
        basis=basis,
        timing=timed,
        work=work,
        changes=changes_of(left, right),
        cause=cause,
        sentence=text,
        notes=_notes(match, left, right, timed, work, outcome),
    )
    return replace(done, predictions=promised(done), step=_step(match, timed, work, options))


def _outcome(timed: Timing | None, work: Work) -> tuple[Outcome, Basis]:
    if timed is None:
        return Outcome.UNKNOWN, Basis.TIME
    if work.status == "different" and work.ratio:
        judged = outcome_of(timed.equal_low * work.ratio, timed.equal_high * work.ratio)
        return judged, Basis.WORK
    clocks = (timed.sm_clock_ratio, timed.dram_clock_ratio)
    differ = any(c is not None and abs(c - 1) > _CLOCK_SAID for c in clocks)
    return outcome_of(timed.equal_low, timed.equal_high), Basis.CLOCK if differ else Basis.TIME


def _step(match: Match, timed: Timing | None, work: Work, options: Options) -> StepGain | None:
    """The step gain of the kernels in ``match``; none where the problem's size changed."""
    shares = [options.shares[i] for i in match.before if i in options.shares]
    if timed is None or not shares or work.status == "different":
        return None
    exposed, whole = sum(s[0] for s in shares), sum(s[1] for s in shares)
    low = exposed if exposed < whole else None
    return gain_of(min(whole, 1.0), timed.speedup, share_low=low)


def _notes(
    match: Match,
    left: Side,
    right: Side,
    timed: Timing | None,
    work: Work,
    outcome: Outcome,
) -> tuple[Note, ...]:
    """What a reader must know besides the sentence."""
    said = []
    if match.kind != "one_to_one":
        text = (
            f"{match.kind.replace('_', ' ')}: {left.shape_count} before, {right.shape_count} "
            f"after; times are totals of {left.launches} and {right.launches} launches"
        )
        said.append(Note(code=match.kind, text=text))
    elif left.launches != right.launches:
        text = f"launched {right.launches} times instead of {left.launches}: figures per launch"
        said.append(Note(code="launch_count", text=text))
    if match.how != "--map" and not match.how.startswith("name, grid"):
        said.append(Note(code="paired_by", text=f"paired by {match.how}; --map corrects it"))
    if work.status == "unknown" and work.text:
        said.append(Note(code="work_unknown", text=work.text))
    if timed is not None and outcome in (Outcome.FASTER, Outcome.SLOWER):
        said += _clock_note(timed)
    said += _better_used(left, right, outcome)
    return tuple(said)


def _clock_note(timed: Timing) -> list[Note]:
    low, high = timed.speedup_low, timed.speedup_high
    if max(abs(low / timed.speedup - 1), abs(high / timed.speedup - 1)) <= _CLOCK_SAID:
        return []
    faster = timed.speedup >= 1
    ends = (low, high) if faster else (1 / high, 1 / low)
    span = " to ".join(dict.fromkeys(times(e) for e in ends))
    text = f"at equal clocks {span} {'faster' if faster else 'slower'}"
    return [Note(code="equal_clocks", text=text)]


def _better_used(left: Side, right: Side, outcome: Outcome) -> list[Note]:
    """Slower with a busier limiter: the trap of judging by utilisation."""
    key = right.limiter or right.nearest
    if outcome is not Outcome.SLOWER or key is None or key != (left.limiter or left.nearest):
        return []
    one, other = left.utilization.get(key), right.utilization.get(key)
    if one is None or other is None or other <= one:
        return []
    text = f"a busier unit is not a faster kernel: {unit(key)} {percent(one)} to {percent(other)}"
    return [Note(code="busier_but_slower", text=text)]


def _paired_time(pairs: Sequence[Pair]) -> tuple[float | None, float | None]:
    """Time of all judged pairs, the launches of BEFORE on both sides."""
    known = [p for p in pairs if p.timing is not None and p.work.status != "different"]
    if not known:
        return None, None
    before = sum(p.before.total_s or 0.0 for p in known)
    return before, sum((p.before.total_s or 0.0) / p.timing.speedup for p in known if p.timing)


def _rank(pair_: Pair) -> tuple[bool, float]:
    """What changed first, by time won or lost."""
    changed = pair_.outcome in (Outcome.FASTER, Outcome.SLOWER)
    if pair_.timing is None or pair_.before.total_s is None:
        return changed, 0.0
    return changed, abs(pair_.before.total_s * (1 - 1 / pair_.timing.speedup))


def _lone(analysis: Analysis, used: set[int]) -> tuple[Lone, ...]:
    return tuple(lone_of(analysis, g) for i, g in enumerate(analysis.groups) if i not in used)


def _names(lone: Sequence[Lone]) -> str:
    names = list(dict.fromkeys(k.name for k in lone))
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
