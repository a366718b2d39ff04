"""Every tensor counter of every chip: each operation is counted once, whatever was collected."""

import random
from collections.abc import Iterable

import pytest

from roofline.counters import tensor
from roofline.counters.recipes import QuantityReader
from roofline.counters.tensor import TensorWork
from roofline.model import Metrics
from tests.metrics import PlainMetrics
from tests.shared import SHARED


def tensor_work(metrics: Metrics) -> TensorWork:
    return tensor.tensor_work(QuantityReader(metrics))


PREFIX = "sm__ops_path_tensor_"
HALVES = ("_sparsity_off", "_sparsity_on")
KINDS = (
    "hmma", "hgmma", "utchmma", "imma", "igmma", "utcimma", "utcqmma", "utcomma", "bmma", "bgmma",
)  # fmt: skip
LISTS = sorted((SHARED / "ncu-metrics").glob("*.txt")) if SHARED else []
Leaf = tuple[str | None, str, str]
needs_lists = pytest.mark.skipif(not LISTS, reason="needs the metric names of the chips")
each_chip = pytest.mark.parametrize("path", LISTS, ids=lambda p: p.stem)


def names_of(path) -> list[str]:
    """Counters of a chip without their prefix; those of the sampler count the same again."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [
        line.removeprefix(PREFIX)
        for line in lines
        if line.startswith(PREFIX) and "realtime" not in line
    ]


def split(name: str) -> tuple[str | None, str, str | None]:
    """A counter's kind of MMA, its types and its half."""
    half = next((h for h in HALVES if name.endswith(h)), None)
    name = name.removesuffix(half or "")
    if not name.startswith("op_"):
        return None, name, half
    kind, _, source = name.removeprefix("op_").partition("_src_")
    return kind, f"src_{source}", half


def leaves_of(names: Iterable[str]) -> list[Leaf]:
    """What cannot be split further: one kind, one type with its destination, one half."""
    found = set()
    kinds_of: dict[str, set[str]] = {}
    for name in names:
        kind, source, _ = split(name)
        if kind:
            kinds_of.setdefault(source, set()).add(kind)
    whole = {source for _, source, _ in map(split, names)}
    for source in whole:
        finer = {s for s in kinds_of if s.startswith(f"{source}_dst_")}
        for kind in kinds_of.get(source, {None}):
            # Hopper's op_hmma_src_fp16 is the sum of both destinations
            if any(kind in kinds_of[s] for s in finer):
                continue
            found |= {(kind, source, half) for half in HALVES}
    return sorted(found, key=str)


def holds(name: str, leaf: Leaf) -> bool:
    kind, source, half = split(name)
    return (
        kind in (None, leaf[0])
        and (leaf[1] == source or leaf[1].startswith(f"{source}_dst_"))
        and half in (None, leaf[2])
    )


def launch_of(names: list[str], seed: int) -> tuple[dict[str, float], dict[Leaf, float]]:
    """Counters that hold together, and the operations that there really were, by leaf."""
    draw = random.Random(seed)
    never = ("src_fp64", "src_int1")
    amounts = {
        leaf: 0.0 if leaf[1] in never and leaf[2] == HALVES[1] else float(draw.randint(1, 10**6))
        for leaf in leaves_of(names)
    }
    values = {
        f"{PREFIX}{name}.sum": sum(v for leaf, v in amounts.items() if holds(name, leaf))
        for name in names
    }
    return values, amounts


def counted(values: dict[str, float]) -> float:
    return sum(tensor_work(PlainMetrics(values)).operations.values())


def picked(values: dict[str, float], *, op: bool | None = None, half: bool | None = None):
    return {
        name: value
        for name, value in values.items()
        if (op is None or ("_op_" in name) is op)
        and (half is None or ("_sparsity_" in name) is half)
    }


@needs_lists
@each_chip
def test_all_counters_together_count_each_operation_once(path):
    values, amounts = launch_of(names_of(path), seed=1)

    assert counted(values) == sum(amounts.values())


@needs_lists
@each_chip
def test_the_wholes_alone_are_enough(path):
    values, amounts = launch_of(names_of(path), seed=2)

    assert counted(picked(values, op=False, half=False)) == pytest.approx(sum(amounts.values()))


@needs_lists
@each_chip
def test_each_counter_alone_counts_itself(path):
    values, _ = launch_of(names_of(path), seed=3)
    for name, value in values.items():
        assert counted({name: value}) == value, name


@needs_lists
@each_chip
def test_no_selection_counts_more_than_there_was(path):
    values, amounts = launch_of(names_of(path), seed=4)
    draw = random.Random(5)
    for _ in range(200):
        some = {name: value for name, value in values.items() if draw.random() < 0.4}
        assert max(some.values(), default=0.0) <= counted(some) <= sum(amounts.values())


@needs_lists
@each_chip
def test_dense_and_sparse_are_told_apart_where_the_chip_does(path):
    names = names_of(path)
    values, amounts = launch_of(names, seed=6)
    shown = [name for name in names if split(name)[2]]
    sparse = sum(
        amount
        for leaf, amount in amounts.items()
        if leaf[2] == HALVES[1] and any(holds(name, leaf) for name in shown)
    )

    operations = tensor_work(PlainMetrics(values)).operations

    assert sum(v for k, v in operations.items() if k.endswith("_sparse")) == sparse


def test_types_that_are_never_sparse_raise_no_question():
    work = tensor_work(PlainMetrics({f"{PREFIX}src_fp64.sum": 1e9, f"{PREFIX}src_int1.sum": 1e9}))

    assert work.notes == ()


def test_turing_knows_no_sparsity():
    turing = {
        "device__attribute_compute_capability_major": 7.0,
        f"{PREFIX}src_fp16_bf16_tf32_dst_fp32.sum": 1e9,
    }

    assert tensor_work(PlainMetrics(turing)).notes == ()


def test_what_no_half_accounts_for_is_dense_and_said_to_be_unknown():
    work = tensor_work(
        PlainMetrics(
            {
                f"{PREFIX}src_bf16_dst_fp32.sum": 1000.0,
                f"{PREFIX}op_hmma_src_bf16_dst_fp32_sparsity_off.sum": 300.0,
                f"{PREFIX}op_hmma_src_bf16_dst_fp32_sparsity_on.sum": 100.0,
            }
        )
    )

    assert work.operations == {"tensor_bf16": 900.0, "tensor_bf16_sparse": 100.0}
    assert [note.code for note in work.notes] == ["sparsity_unknown"]


def test_one_half_and_the_whole_give_the_other_half():
    work = tensor_work(
        PlainMetrics({f"{PREFIX}src_int8.sum": 1000.0, f"{PREFIX}src_int8_sparsity_off.sum": 600.0})
    )

    assert work.operations == {"tensor_int8": 600.0, "tensor_int8_sparse": 400.0}
    assert work.notes == ()


def test_blackwell_ultra_splits_its_fp8_by_kind():
    fp8 = "op_utcqmma_src_fp8_dst_fp32_sparsity"
    work = tensor_work(
        PlainMetrics({f"{PREFIX}{fp8}_off.sum": 600.0, f"{PREFIX}{fp8}_on.sum": 400.0})
    )

    assert work.operations == {"tensor_fp8": 600.0, "tensor_fp8_sparse": 400.0}
    assert work.path == "tcgen05"
