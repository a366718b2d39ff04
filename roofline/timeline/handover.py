"""Chosen kernels as commands of ``roofline profile``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from roofline.model import Note
from roofline.timeline.selection import Basis, KernelShare, ProfileRequest


def options(request: ProfileRequest) -> tuple[str, ...]:
    """The options of ``roofline profile`` that say what ``request`` says."""
    words = [word for name in request.names for word in ("--kernel", name)]
    if request.name_base != "function":
        words += ["--name-base", request.name_base]
    if request.nvtx is not None:
        words += ["--nvtx", request.nvtx]
    if request.launch_skip:
        words += ["--launch-skip", str(request.launch_skip)]
    words += ["--launch-count", str(request.launch_count)]
    return (*words, *(["--per-config"] if request.per_config else []))


def command(request: ProfileRequest, program: Sequence[str] = ("PROGRAM",)) -> str:
    """What to type, quoted for a shell."""
    return shlex.join(["roofline", "profile", *options(request), "--", *program])


def blind(chosen: tuple[KernelShare, ...]) -> tuple[ProfileRequest, ...]:
    """One run for all, where nothing is known about the order of launches."""
    if not chosen:
        return ()
    text = (
        "The timeline does not say which launches these are: the first of each grid and block is "
        "taken, which may be warm-up. --nvtx RANGE around a step in your program is exact."
    )
    # Several kernels of a library can share a function's name; the mangled name is exact.
    mangled = [k.mangled for k in chosen if k.mangled is not None]
    exact = len(mangled) == len(chosen)
    names = dict.fromkeys(mangled if exact else (k.base_name for k in chosen))
    request = ProfileRequest(
        kernels=chosen,
        names=tuple(names),
        name_base="mangled" if exact else "function",
        basis=Basis.UNKNOWN,
        launch_count=1,
        per_config=True,
        notes=(Note(code="instance_unknown", text=text),),
    )
    return (request,)
