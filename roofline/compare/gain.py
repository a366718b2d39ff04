"""What a faster kernel does for the whole: Amdahl's law, and two timings set beside it."""

from __future__ import annotations

from roofline.compare.model import StepGain


def step_gain(share: float, ratio: float) -> float:
    """How many times faster a step gets: ``1 / (1 - share + share / ratio)``.

    ``share`` is the kernel's part of the step before (0 to 1), ``ratio`` its own speed-up.

    Raises:
        ValueError: a share outside 0 to 1 or a ratio that is not above 0.

    """
    if not 0 <= share <= 1 or not ratio > 0:
        raise ValueError(f"share must be 0 to 1 and ratio above 0, not {share} and {ratio}")
    return 1 / (1 - share + share / ratio)


def gain_of(share: float, ratio: float, *, share_low: float | None = None) -> StepGain:
    """The step gain as a value; with ``share_low`` a range, as overlap hides part of the share."""
    return StepGain(
        share=share,
        gain=step_gain(share, ratio),
        share_low=share_low,
        gain_low=None if share_low is None else step_gain(share_low, ratio),
    )
