"""What arguments of functions may be: everything else is an ``ArgumentError`` that names them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import cache, partial, wraps
from inspect import Parameter, signature, unwrap
from math import inf
from numbers import Integral, Real
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from roofline.errors import ArgumentError

_Called = TypeVar("_Called", bound=Callable[..., Any])
_OTHER = "it is of another type"
# What types are called in a hint; others by their own names.
_NOUNS = {
    "bool": "True or False",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "Path": "a path",
    "Pattern": "a compiled expression",
    "Callable": "a function",
    "Mapping": "a dictionary",
    "Analysis": "what roofline.analyze gives",
    "Displayed": "an analysis, a kernel, a comparison, a selection",
    "Point": "roofline.Point(NAME, gpu=..., seconds=..., flops=...)",
    "Rule": "roofline.Rule(latency=60)",
}


def checked(called: _Called) -> _Called:
    """A function or class that refuses arguments of other types than it is annotated with.

    Numbers are left to ``number`` and ``whole``, and types that are imported for annotations alone
    to the function.
    """
    if isinstance(called, type):
        called.__init__ = checked(called.__init__)  # type: ignore[misc]
        return cast("_Called", called)
    told = signature(called)
    kinds = cache(partial(_kinds, called))  # at the first call, as modules are whole by then

    @wraps(called)
    def call(*args: Any, **named: Any) -> Any:
        try:
            given = told.bind(*args, **named)
        except TypeError:
            return called(*args, **named)  # Python says what is wrong
        for name, kind in kinds().items():
            if name not in given.arguments:
                continue
            value = given.arguments[name]
            if isinstance(value, Iterator) and _fits((), kind):
                value = given.arguments[name] = tuple(value)
            each = told.parameters[name].kind is Parameter.VAR_POSITIONAL
            for one in value if each else (value,):
                if not _fits(one, kind):
                    hint = f"each on its own: {called.__name__}(*{name})" if each else _said(kind)
                    if isinstance(one, str) and _fits(one.split(), kind):
                        hint = f"{name}={one.split()}"
                    why = "it is no word of these" if get_origin(kind) is Literal else _OTHER
                    raise ArgumentError(f"{name} is {one!r:.100}", why=why, hint=hint)
        return called(*given.args, **given.kwargs)

    return cast("_Called", call)


def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of its parameters; anything for a name that its module does not have."""
    known, told = unwrap(function).__globals__, unwrap(function).__annotations__
    texts = {name: text for name, text in told.items() if name != "return"}
    names = {name for text in texts.values() for name in compile(text, "", "eval").co_names}
    absent = {name: Any for name in names if name not in known and not hasattr(builtins, name)}
    return get_type_hints(SimpleNamespace(__annotations__=texts), known, absent)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type; of several, any collection will do."""
    of, parts = get_origin(kind) or kind, get_args(kind)
    if kind in (Any, int, float):
        return True
    if of in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if of is Literal or kind is bool:
        return isinstance(value, Hashable) and value in (parts or (False, True))
    if not parts or not issubclass(of, Iterable):
        return isinstance(value, of)
    if of is Mapping:
        pairs = value.items() if isinstance(value, Mapping) else [(value, value)]
        return all(_fits(*both) for pair in pairs for both in zip(pair, parts, strict=True))
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    values = tuple(value)
    if of is not tuple or ... in parts:
        return all(_fits(one, parts[0]) for one in values)
    return len(values) == len(parts) and all(map(_fits, values, parts))


def _said(kind: Any) -> str:
    """What fits an annotated type, in words."""
    nouns: dict[str, None] = {}
    for one in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        of, parts = get_origin(one) or one, get_args(one)
        if of is Literal:
            nouns |= dict.fromkeys(map(repr, parts))
        elif (name := getattr(of, "__name__", "Any")) in _NOUNS or not parts:
            nouns |= {_NOUNS.get(name, name): None} if name not in ("Any", "NoneType") else {}
        else:
            each = _said(parts[0])
            told = any(noun in each for noun in nouns)
            nouns["several" if told else f"several, each {each}"] = None
    *others, last = nouns or ("another",)
    return f"{', '.join(others)} or {last}" if others else last


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
            why, hint = f"it is a whole number {span}", f"{name}={min(max(least, 1), most)}"
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
            raise ArgumentError(f"{name} is {value!r:.100}", why=_OTHER, hint=hint)
