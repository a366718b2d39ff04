"""Conditions and amounts of the knowledge base: arithmetic over evidence, in a few words of Python.

What is not known stays unknown: a comparison with it is neither true nor false, so an entry fires
only on what was measured.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache

Evidence = Mapping[str, float]
# ``None`` where the evidence does not tell; a truth value is 1.0 or 0.0.
Value = float | None
_Meaning = Callable[[Evidence], Value]

_OPERATORS: Mapping[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda top, bottom: top / bottom,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CHOICES = {"min": min, "max": max}


def holds(text: str, evidence: Evidence) -> bool:
    """Whether a condition is true; one that cannot be told is not."""
    meaning, _, needed = _compiled(text)
    return needed <= evidence.keys() and bool(meaning(evidence))


def amount(text: str, evidence: Evidence) -> Value:
    """The value of an expression, ``None`` where it cannot be told."""
    return _compiled(text)[0](evidence)


def names(text: str) -> frozenset[str]:
    """What an expression reads. A ``ValueError`` says what in it is not understood."""
    return _compiled(text)[1]


@cache
def _compiled(text: str) -> tuple[_Meaning, frozenset[str], frozenset[str]]:
    """What an expression means, what it reads, and what of this a true condition needs to know."""
    try:
        tree = ast.parse(" ".join(text.split()), mode="eval").body
        meaning = _meaning(tree)
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(f"{text[:60]!r} is no expression") from error
    said = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return meaning, frozenset(said - _CHOICES.keys() - {"known"}), _needed(tree)


def _needed(node: ast.AST) -> frozenset[str]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return frozenset[str]().union(*map(_needed, node.values))
    parts = list(ast.walk(node))
    if any(isinstance(part, ast.BoolOp | ast.IfExp | ast.Call) for part in parts):
        return frozenset()  # it may be told without some of its names
    return frozenset(part.id for part in parts if isinstance(part, ast.Name))


def _meaning(node: ast.AST) -> _Meaning:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            number = float(value)
            return lambda _: number
        case ast.Name(id=name):
            return lambda evidence: evidence.get(name)
        case ast.BoolOp(op=joined, values=nodes):
            parts, decisive = [_meaning(part) for part in nodes], isinstance(joined, ast.Or)
            return lambda evidence: _joined(parts, evidence, decisive=decisive)
        case ast.UnaryOp(op=ast.Not() | ast.USub() as sign, operand=inner):
            of = _meaning(inner)
            if isinstance(sign, ast.Not):
                return lambda evidence: _applied(lambda x, _: not x, of(evidence), 0.0)
            return lambda evidence: _applied(lambda x, _: -x, of(evidence), 0.0)
        case (
            ast.BinOp(left=one, op=sign, right=other)
            | ast.Compare(left=one, ops=[sign], comparators=[other])
        ) if type(sign) in _OPERATORS:
            left, right, does = _meaning(one), _meaning(other), _OPERATORS[type(sign)]
            return lambda evidence: _applied(does, left(evidence), right(evidence))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            asked, yes, no = _meaning(test), _meaning(body), _meaning(orelse)
            return lambda evidence: (yes if asked(evidence) else no)(evidence)
        case ast.Call(func=ast.Name(id="known"), args=[inner], keywords=[]):
            of = _meaning(inner)
            return lambda evidence: float(of(evidence) is not None)
        case ast.Call(func=ast.Name(id=name), args=nodes, keywords=[]) if name in _CHOICES:
            choose, parts = _CHOICES[name], [_meaning(part) for part in nodes]
            return lambda evidence: choose(
                (v for part in parts if (v := part(evidence)) is not None), default=None
            )
    raise ValueError(f"{ast.unparse(node)!r} is not understood")


def _applied(does: Callable[[float, float], float], one: Value, other: Value) -> Value:
    if one is None or other is None:
        return None
    try:
        return float(does(one, other))
    except (ZeroDivisionError, OverflowError):
        return None


def _joined(parts: list[_Meaning], evidence: Evidence, *, decisive: bool) -> Value:
    """``and``, or with ``decisive`` ``or``: one that decides is enough, else all must tell."""
    told = True
    for part in parts:
        value = part(evidence)
        if value is None:
            told = False
        elif bool(value) is decisive:
            return float(decisive)
    return float(not decisive) if told else None
