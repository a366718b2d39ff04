"""``python -m roofline`` and the ``roofline`` command."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import NoReturn

_ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main() -> None:
    """Run the command line."""
    for number in _ENDS:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one, and that stays
            with suppress(ValueError):  # not in the main thread
                signal.signal(number, _ended)
    try:
        from roofline.cli import cli  # here, as an interrupt may come while it is imported

        cli(prog_name="roofline")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001  # before or after any command: 1 is for gates alone
        if isinstance(error.__cause__, KeyboardInterrupt | SystemExit):
            # Python 3.11 makes a RuntimeError of what comes while a class is made.
            sys.exit(getattr(error.__cause__, "code", 130))
        why = f"{type(error).__name__}: {error}"
        with suppress(OSError, AttributeError):  # no stderr
            sys.stderr.write(f"roofline: cannot run: {why}\n  try: install it again\n")
        sys.exit(70)


def _ended(number: int, _frame: object) -> NoReturn:
    """End as Ctrl-C does, so that programs are ended and temporary files removed."""
    for one in _ENDS:
        signal.signal(one, signal.SIG_IGN)  # a second one would stop the first from cleaning up
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
