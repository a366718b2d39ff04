"""Which instruction's share of the samples went, or came."""

from __future__ import annotations

from roofline.compare.model import KernelPair, note
from roofline.model import Details, Note

_POINTS = 0.1  # a share of the samples that is worth naming


def moved(pair: KernelPair, before: Details, after: Details) -> Note | None:
    """The wait whose time changed most in the direction of the whole, with its shares.

    ``None`` where a side has too few samples, or no wait changed by a tenth of the slower side.
    """
    one, other = pair.before.measured.duration_s, pair.after.measured.duration_s
    if not (before.waits and after.waits and one and other):
        return None
    changes = {
        wait: other * after.waits.get(wait, 0.0) - one * before.waits.get(wait, 0.0)
        for wait in (*before.waits, *after.waits)
    }
    pick = min if other < one else max
    wait = pick(changes, key=lambda name: changes[name])
    if abs(changes[wait]) < _POINTS * max(one, other) or (changes[wait] < 0) != (other < one):
        return None
    shares = before.waits.get(wait, 0.0), after.waits.get(wait, 0.0)
    return note(
        "wait_moved",
        wait=wait,
        before=shares[0],
        after=shares[1],
        before_s=one * shares[0],
        after_s=other * shares[1],
    )
