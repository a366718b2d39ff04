"""What arguments of functions may be: everything else is an ``ArgumentError`` that names them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from roofline.errors import ArgumentError


def several(given: Any) -> tuple[Any, ...]:
    """One text, path or value as well as several."""
    if isinstance(given, Mapping):
        return tuple(given.items())
    alone = isinstance(given, str | Path) or not hasattr(given, "__iter__")
    return (given,) if alone else tuple(given)


def unless_none(**given: object) -> dict[str, Any]:
    """Those arguments of which ``None`` says nothing that say something."""
    return {name: value for name, value in given.items() if value is not None}


def number(
    least: float, most: float = inf, *, above: bool = False, hint: str, **given: Any
) -> None:
    """Finite numbers in a range, without its lower end where they must be ``above`` it."""
    span = f"above {least:g}" if above else f"from {least:g}"
    span += " on" if most == inf else f" to {most:g}"
    for name, value in given.items():
        real = isinstance(value, Real) and not isinstance(value, bool)
        if not real or not least <= value <= most or value == inf or (above and value == least):
            raise ArgumentError(f"{name} is {value!r}", why=f"it is a number {span}", hint=hint)


def share(**given: Any) -> None:
    """Parts of a whole, 0 to 1."""
    number(0, 1, hint="0.03 for 3 %", **given)


def whole(least: int, most: float = inf, **given: Any) -> None:
    """Whole numbers in a range."""
    span = f"of at least {least}" if most == inf else f"from {least} to {most}"
    for name, value in given.items():
        exact = isinstance(value, Integral) and not isinstance(value, bool)
        if not exact or not least <= value <= most:
            why, hint = f"it is a whole number {span}", f"{name}={max(least, 1)}"
            raise ArgumentError(f"{name} is {value!r}", why=why, hint=hint)


def word(known: Collection[str], more: str = "", **given: object) -> None:
    """One of the words that the command takes, which ``more`` may follow in the hint."""
    for name, value in given.items():
        if not isinstance(value, str) or value not in known:
            hint = f"one of {', '.join(known)} {more}".rstrip()
            raise ArgumentError(f"{name} is {value!r}", hint=hint)


def of_type(kind: type | tuple[type, ...], hint: str, **given: object) -> None:
    """Values of a type."""
    for name, value in given.items():
        if not isinstance(value, kind):
            raise ArgumentError(f"{name} is {value!r}", why="it is of another type", hint=hint)
