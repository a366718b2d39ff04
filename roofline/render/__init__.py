"""Pure functions from an ``Analysis`` to text: they format what was computed and compute nothing.

Each module is one format and has ``render(analysis, ...) -> str``.
"""
