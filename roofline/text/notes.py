"""The sentence of each note: a note carries a code and facts, what people read is made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from roofline.model import Note
from roofline.text import numbers

# How a fact is written: "{peak_bytes_per_s:bandwidth}" is numbers.bandwidth of it.
_AS = {
    name: getattr(numbers, name)
    for name in (
        *("duration", "size", "bandwidth", "rate", "clock", "plain", "exact", "percent", "share"),
        "ratio",
    )
}

Sentence = str | Callable[[Mapping[str, Any]], str]
# Code -> its sentence, with facts in braces, or a function of the facts where words depend on them.
SENTENCES: dict[str, Sentence] = {
    # --- reports
    # --- counters
    # --- specs
    # --- analysis
    # --- timeline
    # --- compare
    # --- capture
}


class _Facts(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        written = _AS.get(format_spec)
        return written(value) if written else str(super().format_field(value, format_spec))


def note_text(note: Note) -> str:
    """What a note says to people."""
    if note.text:
        return note.text
    sentence = SENTENCES[note.code]
    return (
        sentence(note.facts) if callable(sentence) else _Facts().vformat(sentence, (), note.facts)
    )
