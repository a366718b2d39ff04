"""What one process reads: no more than so many bytes, and every result once."""

from __future__ import annotations

import roofline
from roofline.reader import batch
from roofline.repfile import require_whole
from roofline.repfile.writer import compressed
from tests import strange


def test_a_compressed_report_is_cut_by_what_it_holds(tmp_path, in_parts):
    plain = strange.many(tmp_path / "many.ncu-rep", 60)
    packed = tmp_path / "many.ncu-repz"
    packed.write_bytes(compressed(plain.read_bytes()))
    assert require_whole(packed).result_bytes == require_whole(plain).result_bytes
    in_parts(plain.stat().st_size // 4 + 1)

    results = roofline.analyze(packed, jobs=2).results

    assert len(list(batch.batches([packed]))) in (4, 5)
    assert [r.measurement.index for r in results] == list(range(60))
    assert [r.measurement.name for r in results] == [f"kernel{i % 10}" for i in range(60)]


def test_parts_are_small_and_hold_every_result_once(tmp_path, in_parts):
    path = strange.many(tmp_path / "many.ncu-rep", 100)
    size = path.stat().st_size // 7
    in_parts(size)

    found = list(batch.batches([path, path]))

    parts = [part for items in found for part in items if isinstance(part, batch.Part)]
    for one in (parts[: len(parts) // 2], parts[len(parts) // 2 :]):
        numbers = [part.first + i for part in one for i in range(len(part.results))]
        assert numbers == list(range(100))
        assert [part.last for part in one] == [False] * (len(one) - 1) + [True]
    assert all(sum(part.sizes) <= size for part in parts)


def test_parts_are_cut_by_bytes_and_not_by_numbers(tmp_path, in_parts):
    large = strange.launch("large", metrics={"breakdown:sm__throughput.avg": "x" * 20_000})
    path = tmp_path / "mixed.ncu-rep"
    path.write_bytes(strange.report(*[large] * 10, *[strange.launch("small")] * 40))
    in_parts(40_000)

    parts = [part for items in batch.batches([path]) for part in items]

    assert all(isinstance(part, batch.Part) and sum(part.sizes) <= 40_000 for part in parts)
    assert len(parts[0].results) == 1  # type: ignore[union-attr]
    assert len(parts[-1].results) > 10  # type: ignore[union-attr]
    assert sum(len(part.results) for part in parts) == 50  # type: ignore[union-attr]


def test_bytes_of_results_are_those_of_the_file(tmp_path):
    path = strange.many(tmp_path / "many.ncu-rep", 100)
    sizes = require_whole(path).result_bytes

    assert len(sizes) == 100
    assert path.stat().st_size - 100 < sum(sizes) <= path.stat().st_size
