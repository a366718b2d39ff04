"""Named parts of a program, for ``roofline profile --region``; free without a profiler.

A region is an NVTX start/end range in the domain ``roofline``: it holds what any thread launches
while it is open, the backward pass, too.
"""

from __future__ import annotations

import os
from _thread import allocate_lock  # as threading would have to be imported
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from roofline.nvtx import Tool

DOMAIN = "roofline"
_Function = TypeVar("_Function", bound=Callable[..., Any])
_lock = allocate_lock()
_library = os.environ.get("NVTX_INJECTION64_PATH", "")
_listening = _library not in ("", "./.")
_tool: Tool | None = None  # until the first region is entered


class Region:
    """What ``region`` returns: a context manager and a decorator, to be used again and again."""

    __slots__ = ("_open", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        # Ranges of one name cover the same time in whatever order they are ended.
        self._open: list[tuple[Tool, int]] = []

    def __enter__(self) -> Region:
        if _listening and (tool := _tool or _attached()):
            self._open.append((tool, tool.start(self.name)))
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            tool, number = self._open.pop()
            tool.end(number)

    def __call__(self, function: _Function) -> _Function:
        """The function with a range for each call."""
        return _wrapped(self.name, function) if _listening else function


@overload
def region(name: str) -> Region: ...
@overload
def region(name: _Function) -> _Function: ...
def region(name: str | Callable[..., Any]) -> Any:
    """Name a part of a program.

    ``with region("fwd"):``, ``@region("fwd")``, or ``@region``, which takes the name of the
    function (``Model.forward``). A decorated function is returned as it is where no profiler
    listens; else each call (of a coroutine or generator, from its first step to its end) is one
    range.

    Args:
        name: what ``roofline profile --region`` calls it, or the function to decorate.

    Raises:
        ArgumentError: the name is empty, or neither a text nor a function.

    """
    if not callable(name):
        if not isinstance(name, str) or not name:
            from roofline.errors import ArgumentError

            why, hint = "a region has a text for its name", 'roofline.region("fwd")'
            raise ArgumentError(f"name is {name!r}", why=why, hint=hint)
        return Region(name)
    return Region(name.__qualname__.rpartition("<locals>.")[2])(name)


def _attached() -> Tool | None:
    """The tool, attached once; ``None`` where that fails, which must not break a program."""
    global _listening, _tool
    with _lock:
        if _listening and _tool is None:
            try:
                from roofline.nvtx import Tool

                _tool = Tool(_library, DOMAIN)
            except (ImportError, OSError, AttributeError):
                _listening = False
    return _tool


def _wrapped(name: str, function: Any) -> Any:
    import functools
    import inspect

    async def asynchronous(*args: Any, **named: Any) -> Any:
        with Region(name):
            return await function(*args, **named)

    def generator(*args: Any, **named: Any) -> Any:
        with Region(name):
            return (yield from function(*args, **named))

    async def asynchronous_generator(*args: Any, **named: Any) -> Any:
        inner = function(*args, **named)
        step = inner.__anext__()
        with Region(name):
            try:
                while True:
                    value = await step
                    try:
                        step = inner.asend((yield value))
                    except Exception as error:  # noqa: BLE001  # the function's to handle
                        step = inner.athrow(error)
            except StopAsyncIteration:
                return
            finally:
                await inner.aclose()

    def plain(*args: Any, **named: Any) -> Any:
        with Region(name):
            return function(*args, **named)

    kinds: tuple[tuple[Callable[[Any], bool], Any], ...] = (
        (inspect.isasyncgenfunction, asynchronous_generator),
        (inspect.iscoroutinefunction, asynchronous),
        (inspect.isgeneratorfunction, generator),
    )
    wrapper = next((wrapper for is_kind, wrapper in kinds if is_kind(function)), plain)
    return functools.wraps(function)(wrapper)
