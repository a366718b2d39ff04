"""Colours, marks and line styles of ``style.toml``: each meaning has a colour and a shape."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_STYLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
THEMES: Mapping[str, Mapping[str, str]] = {
    theme: {role: colors[place] for role, colors in _STYLE["colors"].items()}
    for place, theme in enumerate(("light", "dark", "paper"))
}
MARKERS: Mapping[str, tuple[str, float]] = _STYLE["markers"]
KINDS: Mapping[str, tuple[str | tuple[int, list[float]], str]] = {
    kind: ((0, dashes) if dashes else "-", text) for kind, (dashes, text) in _STYLE["kinds"].items()
}
RC: Any = _STYLE["rc"]  # matplotlib types the keys one by one
(FONT,) = RC["font.sans-serif"]
TITLE_PX, HEADING_PX, TEXT_PX, SMALL_PX = 16.0, 13.0, RC["font.size"], 10.5
PAD = 14.0  # between the edge of the picture and what is written
DPI = 72  # so that a point is a pixel, and every length is in pixels
