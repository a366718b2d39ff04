"""Colours are looked at as people with each kind of colour blindness see them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from roofline.model import Bound
from roofline.plot.style import KINDS, MARKERS, THEMES

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def linear(color: str) -> np.ndarray:
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    ratio = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a: str, b: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(c)) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
def test_verdicts_differ_in_colour_for_everybody(theme, vision):
    colors = [THEMES[theme][bound] for bound in Bound]
    seen = [lab(VISION[vision] @ linear(color)) for color in colors]

    # 20 is far above the 2.3 or so of a just noticeable difference.
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 20


def test_verdicts_differ_in_shape_and_kinds_of_peak_in_line_too():
    assert len({shape for shape, _ in MARKERS.values()}) == len(Bound)
    assert len({str(dashes) for dashes, _ in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_contrast_is_that_of_wcag(theme):
    for text in (theme["ink"], theme["muted"]):
        assert contrast(text, theme["background"]) >= 4.5
        assert contrast(text, theme["panel"]) >= 4.5
    for mark in (*(theme[b] for b in Bound), theme["roof"], theme["faint"]):
        assert contrast(mark, theme["background"]) >= 3


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_no_two_roles_have_one_colour(theme):
    assert len(set(theme.values())) == len(theme)
