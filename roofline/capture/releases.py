"""Which CUDA toolkit a release of ncu comes with, to hold it against the driver."""

from __future__ import annotations

from roofline.capture.request import Ncu

# ncu <-> the CUDA toolkit that it comes with, newest first (NVIDIA's release notes).
CUDA_OF_NCU: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = (
    ((2026, 2), (13, 3)),
    ((2026, 1), (13, 2)),
    ((2025, 4), (13, 1)),
    ((2025, 3), (13, 0)),
    ((2025, 2), (12, 9)),
    ((2025, 1), (12, 8)),
    ((2024, 3), (12, 6)),
    ((2024, 2), (12, 5)),
    ((2024, 1), (12, 4)),
    ((2023, 3), (12, 3)),
    ((2023, 2), (12, 2)),
    ((2023, 1), (12, 1)),
    ((2022, 4), (12, 0)),
    ((2022, 3), (11, 8)),
    ((2022, 2), (11, 7)),
    ((2022, 1), (11, 6)),
)


def cuda_of(ncu: Ncu) -> tuple[int, int] | None:
    """The CUDA version that an ncu comes with; ``None`` for a release that the table lacks."""
    have = (ncu.version.year, ncu.version.minor)
    return next((cuda for released, cuda in CUDA_OF_NCU if released == have), None)


def pair(text: str | None) -> tuple[int, int] | None:
    """The first two numbers of a version; ``None`` where there are none."""
    parts = (text or "").split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    return int(parts[0]), int(parts[1])


def dots(version: tuple[int, int]) -> str:
    """12.4 for (12, 4)."""
    return f"{version[0]}.{version[1]}"
