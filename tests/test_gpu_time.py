"""``roofline.bench`` with libraries that only keep a clock: what is called, in which order."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import roofline
from roofline.errors import UsageError

L2 = 48 * 2**20


class Gpu:
    """A GPU whose clock stands still but for the work that it is given, in milliseconds."""

    def __init__(self) -> None:
        self.now, self.log = 0.0, list[str]()

    def work(self, name: str, ms: float) -> Callable[[], None]:
        def run() -> None:
            self.now += ms
            self.log.append(name)

        return run

    def event(self, **_: object) -> SimpleNamespace:
        """An event that both libraries could have made."""
        made = SimpleNamespace(synchronize=lambda: None)

        def record() -> None:
            made.at = self.now

        made.record, made.elapsed_time = record, lambda end: end.at - made.at
        return made

    def torch(self, *, available: bool = True) -> Any:
        properties = SimpleNamespace(name="NVIDIA L4", major=8, minor=9, total_memory=24 * 10**9)
        properties.multi_processor_count, properties.L2_cache_size = 58, L2
        return SimpleNamespace(
            __version__="2.9",
            version=SimpleNamespace(cuda="12.8"),
            int8="int8",
            empty=lambda size, **_: SimpleNamespace(zero_=self.work(f"flush {size}", 5.0)),
            cuda=SimpleNamespace(
                Event=self.event,
                is_available=lambda: available,
                device_count=lambda: 1,
                current_device=lambda: 0,
                set_device=lambda _: None,
                get_device_properties=lambda _: properties,
            ),
        )

    def cupy(self) -> Any:
        properties = {"name": b"NVIDIA L4", "l2CacheSize": L2}
        flush = self.work(f"flush {2 * L2}", 5.0)
        cuda = SimpleNamespace(
            Event=self.event,
            get_elapsed_time=lambda start, end: end.at - start.at,
            Device=lambda: SimpleNamespace(id=0),
            runtime=SimpleNamespace(getDeviceProperties=lambda _: properties),
        )
        buffer = SimpleNamespace(fill=lambda _: flush())
        return SimpleNamespace(__version__="14", cuda=cuda, empty=lambda *_, **__: buffer)


@pytest.fixture(params=["torch", "cupy"])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu()
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setitem(sys.modules, request.param, getattr(made, request.param)())
    monkeypatch.setattr("roofline.gpu_time.instrumentation", lambda *_: ())
    return made


def test_each_call_is_timed_after_a_flush(gpu: Gpu) -> None:
    times = roofline.bench(gpu.work("call", 2.0), warmup=1, repeats=2)

    assert gpu.log == ["call", *2 * [f"flush {2 * L2}", "call"]]
    assert (times.gpu, times.warmup, times.flushed_bytes) == ("NVIDIA L4", 1, 2 * L2)
    assert times.call_s.values == pytest.approx((2e-3, 2e-3))  # the flush is not in it
    assert pickle.loads(pickle.dumps(times)) == times


def test_percentiles_are_of_the_calls(gpu: Gpu) -> None:
    took = iter(range(1, 101))
    times = roofline.bench(
        lambda: gpu.work("call", next(took))(), warmup=0, repeats=100, flush_l2=False
    )

    # Of 1 ... 100 ms the value at 0.95 x 99 = 94.05 places after the first.
    found = (times.call_s.median, times.call_s.p95, times.call_s.p99)
    assert found == pytest.approx((50.5e-3, 95.05e-3, 99.01e-3))
    assert (times.flushed_bytes, gpu.log) == (0, ["call"] * 100)


def test_without_a_gpu_the_message_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"roofline\.bench needs PyTorch"):
        roofline.bench(lambda: None)
    monkeypatch.setitem(sys.modules, "torch", Gpu().torch(available=False))
    with pytest.raises(UsageError, match="needs a GPU that PyTorch can use"):
        roofline.bench(lambda: None)


def test_no_call_is_no_time() -> None:
    with pytest.raises(UsageError, match="repeats is 0: it is a whole number of at least 1"):
        roofline.bench(lambda: None, repeats=0)
