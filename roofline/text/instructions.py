"""Instructions in sentences: where the samples are, and which accesses move more than they need."""

from __future__ import annotations

import re
from collections.abc import Iterator

from roofline.model import SAMPLES_NEEDED, Details, Instruction, RuleResult
from roofline.text.names import printable, words
from roofline.text.numbers import exact, percent, share

_RULES = 6  # of NVIDIA's that are said
_LEAST = 0.1  # of the samples
# NVIDIA's rules that find something in a kernel, what tells most first.
_FINDINGS = (
    *("SharedMemoryConflicts", "UncoalescedSharedAccess", "UncoalescedGlobalAccess"),
    *("ThreadDivergence", "MemoryCacheAccessPattern", "SlowPipeLimiter", "FPInstructions"),
    *("LaunchConfiguration", "Occupancy", "CPIStall"),
)
_SENTENCE = re.compile(r"\.\s*(?=[A-Z])|\s(?=See the |The difference )|However, ")
_FINDING = re.compile(r"\A(?=.*\d)(?=.*(?:\b[Tt]his\b|average))", re.DOTALL)
_NOTHING = re.compile(
    r"returned an error|with an exception set|could not be found|^Check the|not impacted"
)


def place(one: Instruction) -> str:
    """Its file and line: "stencil.py:41"; empty where the report has no line table."""
    return "" if one.file is None else f"{printable(one.file)}:{one.line}"


def code(one: Instruction) -> str:
    """The instruction as it is disassembled, else its address, and where it stands."""
    at = f" ({place(one)})" if one.file else ""
    return f"{one.sass or f'the instruction at {one.address:#x}'}{at}"


def opcode(one: Instruction) -> str:
    """Its opcode with modifiers, without a predicate: "LDG.E.64"."""
    listed = [word for word in (one.sass or "").split() if not word.startswith("@")]
    return listed[0] if listed else f"{one.address:#x}"


def awaited(one: Instruction) -> str:
    """What its samples wait for: "LDG.E.64 R2, [R2.64]", "other warps", "mio throttle"."""
    behind = "" if one.producer is None else opcode(one.producer)
    if one.for_warps:
        return f"other warps ({behind})" if behind else "other warps"
    if one.producer is None:
        return words(one.reason or "")
    at, own = place(one.producer), place(one)
    return behind + (f" ({at})" if at and at != own else "")


def blame(details: Details) -> Iterator[str]:
    """The instruction at which most of the time goes, and how sure that is."""
    if details.samples is None:
        yield "not sampled: collect with --section SourceCounters"
        return
    whole = f"the {exact(details.samples)} samples"
    if details.samples < SAMPLES_NEEDED:
        yield f"{whole} are too few to name an instruction"
        return
    if details.sampled:
        yield _top(details, whole)
    else:
        yield f"{whole} are spread: no instruction has {percent(100 * _LEAST)} of them"
    if details.warps_share >= _LEAST:
        yield (
            f"{share(details.warps_share)} of them wait for other warps: at barriers, or as warps "
            "with a role of their own"
        )
    if not details.lines:
        yield "no source lines: compile with -lineinfo"
    # One line is many instructions, and what people change.
    elif lines := [f"{at} {share(part)}" for at, part in details.lines.items() if part >= _LEAST]:
        yield f"by source line: {printable(', '.join(lines))}"


def _top(details: Details, whole: str) -> str:
    own = next((one for one in details.sampled if not one.for_warps), None)
    # Warps with a role of their own wait most of the time, which need not cost any.
    top = own if own and own.share >= _LEAST else details.sampled[0]
    text = f"{share(top.share)} of {whole}"
    if top.for_warps or top.producer:
        return f"{text} wait at {code(top)} for {awaited(top)}"
    return f"{text} are at {code(top)}" + (f": {awaited(top)}" if top.reason else "")


def waste(details: Details) -> Iterator[str]:
    """Accesses that move more than their bytes need, largest first."""
    for one in details.wasting:
        many, total, what = one.sectors, details.sectors, "sectors"
        if many is None:
            many, total, what = one.wavefronts, details.wavefronts, "shared wavefronts"
        if many and total:
            part = percent(100 * many / total)
            yield f"{code(one)}: {exact(many)} {what} more than it needs, {part} of all"


def rules(results: tuple[RuleResult, ...]) -> Iterator[str]:
    """NVIDIA's own words: estimates of the whole kernel first, then of a part, largest first.

    Rules of ncu before 2023 have no estimates: of those that found something, by kind.
    """
    ranked = sorted(
        (rule for rule in results if (rule.gain_percent or 0.0) >= 1.0),
        key=lambda rule: (not rule.whole, -(rule.gain_percent or 0.0)),
    )
    found = [rule for rule in results if rule.identifier in _FINDINGS and _found(rule)]
    found.sort(key=lambda rule: _FINDINGS.index(rule.identifier))
    for rule in (ranked or found)[:_RULES]:
        what = "speedup" if rule.whole else "local speedup"
        gain = f" (estimated {what} {percent(rule.gain_percent)})" if rule.gain_percent else ""
        # What stands before and after the finding explains terms.
        said = _SENTENCE.split(printable(rule.text))
        text = next(filter(_FINDING.search, said), said[0]).rstrip(". ")
        yield f"{rule.title}{gain}: {text[:1].upper()}{text[1:]}"


def _found(rule: RuleResult) -> bool:
    """Whether it says more than that it looked, or that it failed."""
    return bool(_FINDING.search(rule.text)) and not _NOTHING.search(rule.text)
