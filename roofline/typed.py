"""Regular expressions that people type: compiled with a clear refusal, matched within a limit.

Python's engine tries every way to match, and an expression like ``(.*)*x`` has more ways than
anybody can wait for.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from roofline.errors import UsageError

LIMIT_S = 2.0  # of computing, for all that one expression is matched against
_ESCAPE = "put a backslash before ( ) [ ] * + ? where they are meant as they stand"


class Typed:
    """An expression that somebody typed; ``option`` names where, for messages.

    The limit needs a timer signal: it holds on the main thread, on systems that have one (not on
    Windows). Elsewhere matching is not limited.

    Raises:
        UsageError: it is not a regular expression; ``search`` raises it at the limit.

    """

    def __init__(self, pattern: str | re.Pattern[str], *, flags: int = 0, option: str = "") -> None:
        text = pattern if isinstance(pattern, str) else pattern.pattern
        self._called = f"{option} {text!r}".strip()
        self._left_s = LIMIT_S
        self._known: dict[str, re.Match[str] | None] = {}
        try:
            # Repeats of more than 2**32 are an OverflowError, brackets too deep a RecursionError.
            self._pattern = re.compile(text, flags) if isinstance(pattern, str) else pattern
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(
                f"{self._called} is not a regular expression", why=str(error), hint=_ESCAPE
            ) from error

    def search(self, text: str) -> re.Match[str] | None:
        """The first match in ``text``; a text that was asked about is remembered."""
        if text not in self._known:
            with self._limited():
                self._known[text] = self._pattern.search(text)
        return self._known[text]

    def last(self, text: str) -> re.Match[str] | None:
        """The last match in ``text``."""
        found = None
        with self._limited():
            for match in self._pattern.finditer(text):
                found = match
        return found

    def in_any(self, *texts: str) -> bool:
        """Whether one of ``texts`` holds a match."""
        return any(self.search(text) is not None for text in texts)

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Raise in the block when the computing time that is left has passed."""
        main = threading.current_thread() is threading.main_thread()
        if not main or not hasattr(signal, "setitimer"):
            yield
            return

        def stop(_number: int, _frame: FrameType | None) -> None:
            raise self._too_long()

        if self._left_s <= 0:
            raise self._too_long()
        began = time.process_time()
        before = signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._left_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
            self._left_s -= time.process_time() - began  # the timer itself counts in ticks

    def _too_long(self) -> UsageError:
        return UsageError(
            f"{self._called} takes too long to match",
            why=f"after {LIMIT_S:g} s of trying there is no answer",
            hint="an expression without a repeat inside a repeat: .*x instead of (.*)*x",
        )
