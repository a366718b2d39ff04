from __future__ import annotations

import importlib
import importlib.util
import sys

import pytest

from roofline.errors import UsageError


def test_without_matplotlib_the_missing_package_is_named(monkeypatch):
    for name in [n for n in sys.modules if n.startswith("roofline.plot")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(UsageError, match="pip install matplotlib"):
        importlib.import_module("roofline.plot")
