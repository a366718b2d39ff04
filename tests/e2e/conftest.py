"""A fake ncu, and a folder that somebody without rights can get to."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.fake import Fake


@pytest.fixture
def open_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may look into, as pytest's own are the user's alone."""
    folder = Path(tempfile.mkdtemp(dir="/tmp" if os.geteuid() == 0 else tmp_path))
    folder.chmod(0o755)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "configuration"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)
