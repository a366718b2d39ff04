"""The sentences of ``roofline.outlook`` and of what to do about a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from roofline.kernel_names import short
from roofline.model import Result
from roofline.playbook import play
from roofline.text.names import operation, operation_unit
from roofline.text.numbers import at_most, duration, exact, percent, si, size
from roofline.units import UNITS, the_unit, unit_name

_MORE = 0.05  # of the time: less than that more with less work is not said
_NAME = 40  # letters of a kernel's name in a sentence
# Kind of work -> kernels of it, and what the callers of a library's give them less of.
_KINDS = {
    "gemm": ("GEMMs", "a narrower type such as FP8, a fused epilogue, fewer or larger calls"),
    "attention": ("attention", "a narrower type, masks that skip blocks, fewer tokens"),
    "conv": ("convolutions", "channels-last layout, a narrower type, a fused epilogue"),
}
_ANY = ("kernels", "fusion, a narrower type, fewer calls")


def _part(fraction: float) -> str:
    return "All" if fraction > 0.995 else percent(100 * fraction)


def _near_ceilings(f: Mapping[str, Any]) -> str:
    what, less = _KINDS.get(f["family"] or "", _ANY)
    what = f"library {what}" if f["library"] else what
    if f["kernels"] == 1:
        what = short(f["kernel"], _NAME)
    low, high, units = round(f["low"]), round(f["high"]), f["units"]
    if len(units) > 1:
        at = f"near their ceilings ({', '.join(map(unit_name, units[:3]))})"
    else:
        span = percent(f["low"]) if low == high else f"{low} to {percent(f['high'])}"
        name = the_unit(units[0])
        at = f"at {span} of {name}'{'' if name.endswith('s') else 's'} peak"  # the issue slots'
    said = f"{_part(f['share'])} of the time is in {what} {at}: little left there"
    said += " at this amount of work" if f["less_work"] else ""
    them = "it" if f["kernels"] == 1 else "them"
    return f"{said}, but to give {them} less work ({less})." if f["library"] else f"{said}."


def _longest(f: Mapping[str, Any]) -> str:
    name = short(f["kernel"], _NAME)
    if f["kernels"] == 1:
        return name
    return f"{name} takes {percent(100 * f['share'])} of the time and"


def above_peak(f: Mapping[str, Any]) -> str:
    """Which stated figure no GPU reaches, by how much, and what to look at."""
    key, times = f["precision"], f["times_peak"]
    amount = size(f["amount"]) if key is None else si(f["amount"], operation_unit(key))
    peak = "DRAM" if key is None else operation(key)
    check = "bytes (those that caches served are not DRAM's)" if key is None else "dtype, flops"
    if tensor := f["tensor"]:
        word = tensor if tensor == "tensor_fp64" else tensor.removeprefix("tensor_")
        check = f"dtype (if tensor cores did it: {word}), flops"
    many = exact(round(times, 0 if times > 100 else 2))
    if key in ("tensor_fp16", "tensor_fp8") and times <= 2 and "GeForce" in f["gpu"]:
        check = f"the accumulator (FP16's peak may be twice FP32's: roofline specs show), {check}"
    return (
        f"{amount} in {duration(f['duration_s'])} is {many} times the {peak} peak of {f['gpu']}: "
        f"check {check} and time"
    )


def _where(f: Mapping[str, Any]) -> str:
    amount = f"{duration(f['saved_s'])} ({percent(100 * f['share'])})"
    saved = at_most(amount, beyond=f.get("beyond", False))
    return saved if f["only"] else f"{short(f['kernel'], _NAME)}, {saved}"


def _less_for(f: Mapping[str, Any]) -> str:
    return f"with less work for {' and '.join(map(the_unit, f['less_for']))}"


def _saving(f: Mapping[str, Any]) -> str:
    where = _where(f)
    if f.get("less", 0.0) >= f["share"] + _MORE:
        return f"Largest saving at this amount of work: {where}; {_less_for(f)} " + at_most(
            percent(100 * f["less"]), beyond=f["less_beyond"]
        )
    # A ceiling of another kernel may promise more, and seldom keeps it.
    return f"Largest saving {'left' if f['most'] else 'that counters prove'}: {where}"


SENTENCES: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "no_times": "No launch has a duration, so shares and savings are not known.",
    "initialisation": lambda f: (
        f"{_part(f['share'])} of the time is random initialisation or fill "
        f"({short(f['kernel'], _NAME)}), hardly what was meant: choose another kernel with "
        "roofline profile --kernel NAME PROGRAM."
    ),
    "near_ceilings": _near_ceilings,
    "longest_limited": lambda f: (
        f"{_longest(f)} is limited by {the_unit(f['unit'])}, {percent(f['percent'])} busy."
    ),
    "longest_held_back": lambda f: (
        f"{_longest(f).removesuffix(' and')}: first {play('cause.' + f['cause']).hint}."
    ),
    "longest_waits": lambda f: (
        f"{_longest(f)} waits: the busiest unit, {the_unit(f['unit'])}, is at "
        f"{percent(f['percent'])}."
    ),
    "longest_below_roofs": lambda f: (
        f"{_longest(f)} is limited by neither DRAM nor arithmetic: {the_unit(f['unit'])}, the "
        f"busier, is at {percent(f['percent'])}. A cache, shared memory, issue slots or latency: "
        "profile it to tell."
    ),
    "longest_not_judged": lambda f: f"{_longest(f)} cannot be judged: too little was measured.",
    "longest_above_peak": lambda f: f"{_longest(f)} cannot be judged. {above_peak(f)}.",
    "saving": lambda f: f"{_saving(f)}.",
    "saving_by_callers": lambda f: f"{_saving(f)}, by what calls it: it is a library's kernel.",
    "saving_with_less_work": lambda f: f"Largest saving {_less_for(f)}: {_where(f)}.",
    "saving_unbounded": lambda f: (
        f"No counter says what it saves to {play('cause.' + f['cause']).hint}"
        + ("." if f["only"] else f" ({short(f['kernel'], _NAME)}).")
    ),
    "no_saving": "Nothing promises 1 % or more of the time.",
    "saving_not_known": "What hiding latency would save, no counter predicts.",
}


def leave(result: Result) -> str:
    """Why a kernel is left alone, or left to its callers; empty where it is to be fixed."""
    v = result.verdict
    unit = UNITS.get(v.nearest or "")
    if v.action_reason == "near_ceiling" and unit is not None:
        reach = f"{percent(unit.ceiling)} of {the_unit(unit.key)}"
        return f"near its ceiling: the best kernels reach {reach}"
    return {
        "initialisation": "random initialisation or fill: hardly what was meant to be profiled",
        "library": "a library's kernel: what calls it can change, not the kernel",
    }.get(v.action_reason, "")
