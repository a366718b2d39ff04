"""``python -m roofline`` and the ``roofline`` command."""

from __future__ import annotations

from roofline.cli import cli


def main() -> None:
    """Run the command line."""
    cli(prog_name="roofline")


if __name__ == "__main__":
    main()
