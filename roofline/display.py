"""What a notebook shows of a value. Who knows how it looks stands above, and is named here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Shown(Protocol):
    """A picture or page that a notebook shows where it is the last line of a cell."""

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it to a file, whole or not at all; ``force`` overwrites one that exists."""


class Drawn(Shown, Protocol):
    """A picture."""

    @property
    def figure(self) -> Any:
        """The figure of matplotlib, of 72 dots an inch: a point is a pixel."""


class Displayed:
    """A value that a notebook shows as a table, a card, a picture or a page."""

    __slots__ = ()
    presenter: ClassVar[str]  # the module that says how each looks; the package itself sets it

    def ask(self, what: str, *args: Any, **options: Any) -> Any:
        """What the presenter makes of it."""
        return getattr(import_module(self.presenter), what)(self, *args, **options)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """What IPython asks for: the answer as text and as HTML without script."""
        shown: dict[str, str] = self.ask("bundle")
        return shown

    def plot(self, view: str | Sequence[str] = (), **options: Any) -> Drawn:
        """Draw it; the picture shows itself, and ``.save("a.svg")`` writes it.

        Args:
            view: "roofline", "units" or "gain", or several; without it what suits the number of
                kernels. A comparison and a timeline have one view.
            options: further fields of ``roofline.plot.Options``: ``theme``, ``title``,
                ``width_px``, ``height_px``, ``levels``, ``launches``, ``datasheet``.

        Raises:
            ArgumentError: there is no such view or option, or a number is out of range.
            UsageError: matplotlib is not installed.

        """
        drawn: Drawn = self.ask("plot", view, **options)
        return drawn

    def page(self, **options: Any) -> Shown:
        """All of it as one HTML page to explore, in a frame that can reach nothing else.

        ``options`` are those of ``plot``; ``.save("a.html")`` writes it.
        """
        made: Shown = self.ask("page", **options)
        return made


def short(value: object, **told: object) -> str:
    """A ``repr`` of one line: what matters most of a value, numbers to four digits."""

    def written(item: object) -> str:
        if isinstance(item, float):
            return f"{item:.4g}"
        text = str(item) if item is None or isinstance(item, int) else repr(str(item))
        return text if len(text) <= 80 else f"{text[:77]}...{text[-1]}"

    return f"{type(value).__name__}({', '.join(f'{k}={written(v)}' for k, v in told.items())})"
