"""What tests of reading in parts share."""

from __future__ import annotations

from pathlib import Path

import pytest

import roofline
from roofline.errors import InputError
from roofline.model import Analysis
from roofline.reader import batch


def analyzed(path: Path, jobs: int | None = None) -> tuple[Analysis, list[str]]:
    errors: list[InputError] = []
    analysis = roofline.analyze(path, jobs=jobs, on_error=errors.append)
    return analysis, [str(error) for error in errors]


@pytest.fixture
def in_parts(monkeypatch):
    """A function that sets how many bytes of a report one process reads."""
    return lambda size: monkeypatch.setattr(batch, "PART_BYTES", size)
