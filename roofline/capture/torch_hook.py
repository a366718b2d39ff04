"""Runs inside a program, copied as its ``sitecustomize``: PyTorch's profiler looks for a while.

It imports nothing of roofline, runs in any Python 3, and hides what fails here from the program.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import Any

# In the folder of FOLDER a process leaves PID.state ("torch", "cuda" or "own") and PID.json.
FOLDER, SECONDS = "ROOFLINE_LOOK_FOLDER", "ROOFLINE_LOOK_SECONDS"
_HERE = os.path.dirname(os.path.abspath(__file__))
_WRITE_S = 60  # in which a trace is written while the program waits to end


class TorchFinder:
    """Finds torch as ever, and looks once it is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of torch, whose loader calls us afterwards; other modules are not ours."""
        if name != "torch":
            return None
        others = (getattr(f, "find_spec", None) for f in sys.meta_path if f is not self)
        specs = (find(name, path, target) for find in others if find is not None)
        spec: Any = next((found for found in specs if found is not None), None)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            del spec.loader.exec_module
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                try:
                    look(module)
                except Exception:
                    _note("failed")

        spec.loader.exec_module = exec_module
        return spec


def _note(state: str) -> None:
    # The look may be over, or the program may have emptied its environment.
    with suppress(OSError, KeyError):
        place = os.path.join(os.environ[FOLDER], f"{os.getpid()}.state")
        with open(place, "w") as file:
            file.write(state)


def _start(profiler: Any, config: Any, activities: set[Any]) -> None:
    """Use Kineto in this thread: it complains where its first use is in another one."""
    level = "KINETO_LOG_LEVEL"
    before = os.environ.get(level)
    os.environ[level] = "99"  # nothing on the program's stderr
    try:
        profiler._prepare_profiler(config, activities)
        profiler._enable_profiler(config, activities)
        profiler._disable_profiler()
    finally:
        del os.environ[level]
        if before is not None:
            os.environ[level] = before


def look(torch: Any) -> None:
    """Record the kernels of all threads for some seconds from when CUDA is first used."""
    import threading

    profiler, pid = torch.autograd.profiler, os.getpid()
    activity = torch._C._profiler.ProfilerActivity
    prepare, over, done = profiler._prepare_profiler, threading.Event(), threading.Event()
    config = profiler.profile(use_kineto=True).config()
    _start(profiler, config, {activity.CPU})

    def end() -> None:
        if os.getpid() == pid:  # a child by fork has no such thread
            over.set()
            done.wait(_WRITE_S)

    def prepare_own(*args: Any, **named: Any) -> Any:
        # The program's own profiler wins: two at once crash.
        end()
        return prepare(*args, **named)

    def record() -> None:
        while not torch.cuda.is_initialized():
            if over.wait(0.05):
                return
        if getattr(profiler, "_is_profiler_enabled", False):
            _note("own")
            return
        profiler._prepare_profiler = prepare_own
        try:
            _note("cuda")
            prepare(config, {activity.CUDA})
            profiler._enable_profiler(config, {activity.CUDA})
            over.wait(float(os.environ[SECONDS]))
            place = os.path.join(os.environ[FOLDER], f"{pid}.json")
            profiler._disable_profiler().save(f"{place}.part")
            os.replace(f"{place}.part", place)
        finally:
            profiler._prepare_profiler = prepare

    def run() -> None:
        try:
            record()
        except Exception:
            _note("failed")
        finally:
            done.set()

    _note("torch")
    threading.Thread(target=run, daemon=True).start()
    threading._register_atexit(end)  # type: ignore[attr-defined]  # the threads still run then


def boot() -> None:
    """Take our folder off the path, be the ``sitecustomize`` that we hide, and wait for torch."""
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != _HERE]
    sys.meta_path.insert(0, TorchFinder())
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    boot()
