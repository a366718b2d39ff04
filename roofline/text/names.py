"""Names for people: C++ kernel names cut to fit, and what units and operations are called."""

from __future__ import annotations

import re
from collections.abc import Iterable

from roofline import units
from roofline.kernel_names import printable as printable  # renderers say names.printable
from roofline.model import QUANTITIES, Dim3
from roofline.text.cpp import ELLIPSIS as ELLIPSIS
from roofline.text.cpp import Name, parse
from roofline.text.numbers import ABSENT

# What is not a number, or is named where it is missing.
_OTHERS = {
    "gpu": "GPU",
    "sm_count": "number of SMs",
    "occupancy_limiter": "occupancy limited by",
    "utilization": "utilisation unit by unit",
    "stalls": "stall reasons",
    "launch": "waves and registers",
    "sm_clock": "SM clock",
}
_INTEGER = re.compile(r"int\d")


def unit(key: str | None) -> str:
    """The name of a hardware unit: "issue" is "issue slots"; ``None`` is the empty text."""
    return "" if key is None else units.unit_name(key)


def the_unit(key: str | None) -> str:
    """What limits, within a sentence: "DRAM", "the FP64 pipe"; "latency" for ``None``."""
    return "latency" if key is None else units.the_unit(key)


def operation(key: str) -> str:
    """The name of an operation key: "tensor_bf16_sparse" is "tensor BF16 sparse"."""
    return " ".join(
        word if word in ("tensor", "sparse") else word.upper() for word in key.split("_")
    )


def operation_unit(key: str | None) -> str:
    """What one operation of a key is called: "OP" for integers, else "FLOP"."""
    return "OP" if key is not None and _INTEGER.search(key) else "FLOP"


def quantity(key: str) -> str:
    """The name of a quantity: "dram_bytes" is "DRAM bytes"; "operations.fp32" "FP32 operations"."""
    group, _, member = key.partition(".")
    if group == "operations" and member:
        return f"{operation(member)} operations"
    if member:
        return f"{unit(member)} {words(group)}"
    known = QUANTITIES.get(key)
    return _OTHERS.get(key, words(key)) if known is None else known.label


def words(code: str) -> str:
    """A code as words: "long_scoreboard" is "long scoreboard"."""
    return code.replace("_", " ")


def last_part(path: str) -> str:
    """The file name alone: folders say who someone is."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def dims(dim: Dim3 | None) -> str:
    """A grid or block without trailing ones: (64, 64, 1) is "64x64"."""
    if dim is None:
        return ABSENT
    sizes = list(dim)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "x".join(map(str, sizes))


def short(name: str, width: int = 40) -> str:
    """The most telling form of a (demangled) kernel name in at most ``width`` characters.

    Return type, parameters and namespaces go first, then the insides of template arguments, then
    the arguments from the last one on, then the middle of the name.
    """
    parsed = parse(printable(name).strip())
    for text in _forms(parsed, width):
        if len(text) <= width:
            return text
    return middle(parsed.head, width)


def short_all(names: Iterable[str], width: int = 40) -> list[str]:
    """``short`` for several names; those that would look the same show where they differ."""
    full = list(names)
    shorts = [short(name, width) for name in full]
    alike: dict[str, set[str]] = {}
    for name, text in zip(full, shorts, strict=True):
        alike.setdefault(text, set()).add(name)
    telling = {
        name: text
        for text, same in alike.items()
        if len(same) > 1
        for name, text in _apart(sorted(same), text, width).items()
    }
    return [telling.get(name, text) for name, text in zip(full, shorts, strict=True)]


def middle(text: str, width: int) -> str:
    """``text`` with its middle cut out so that it fits into ``width``."""
    if len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    tail = (width - 1) // 3
    return text[: width - 1 - tail] + ELLIPSIS + (text[-tail:] if tail else "")


def _forms(name: Name, width: int) -> Iterable[str]:
    yield name.text()
    yield name.text(1)
    if name.args:
        yield from _leading_arguments(name, name.args, width)
        yield name.text(0)
    yield name.head


def _leading_arguments(name: Name, args: tuple[Name, ...], width: int) -> Iterable[str]:
    for kept in range(len(args) - 1, 0, -1):
        yield f"{name.head}<{', '.join(a.text(0) for a in args[:kept])}, {ELLIPSIS}>"
    room = width - len(name.head) - 2 - (3 if len(args) > 1 else 0)
    if room >= 12:  # below that a fragment of an argument tells nobody anything
        rest = f", {ELLIPSIS}" if len(args) > 1 else ""
        yield f"{name.head}<{middle(args[0].text(0), room)}{rest}>"


def _apart(names: list[str], same: str, width: int) -> dict[str, str]:
    """Forms of names with one ``short`` form that begin shortly before the first difference."""
    texts = [parse(printable(name).strip()).text() for name in names]
    if len(set(texts)) == 1:
        return dict.fromkeys(names, same)
    common = next(
        (i for i, chars in enumerate(zip(*texts, strict=False)) if len(set(chars)) > 1),
        min(map(len, texts)),
    )
    head = parse(printable(names[0]).strip()).head
    # A template's name is told whole where it can be, of a plain name the beginning is enough.
    head = middle(head, width // 2) if len(head) <= common else head[: width // 3]
    room = width - len(head) - 1
    if room < 4:
        return dict.fromkeys(names, same)
    last = min(map(len, texts)) - room  # from there on the end fits
    start = max(_word_start(texts[0], common), common - room // 2, len(head))
    start = min(start, max(last, len(head)))
    return {
        name: f"{head}{ELLIPSIS}{cut(text[start:], room)}"
        for name, text in zip(names, texts, strict=True)
    }


def _word_start(text: str, position: int) -> int:
    while position > 0 and text[position - 1] not in "<, _":
        position -= 1
    return position


def cut(text: str, width: int) -> str:
    """``text`` with its end cut off so that it fits into ``width``."""
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS
