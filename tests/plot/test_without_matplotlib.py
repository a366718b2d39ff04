from __future__ import annotations

import subprocess
import sys

import pytest

from roofline.errors import UsageError
from roofline.plot import picture
from tests.plot.values import mixed


def test_without_matplotlib_the_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(sys.modules["roofline.plot.save"], "find_spec", lambda name: None)

    with pytest.raises(UsageError, match="pip install matplotlib"):
        picture(mixed())


def test_what_is_shown_is_composed_without_matplotlib():
    code = "import sys, roofline.plot, roofline.plot.roofs; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
