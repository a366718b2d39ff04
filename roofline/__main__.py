"""``python -m roofline`` and the ``roofline`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from roofline.cli import cli  # here, as an interrupt may come while it is imported
    except KeyboardInterrupt:
        sys.exit(130)
    cli(prog_name="roofline")


if __name__ == "__main__":
    main()
