"""The devices of real reports: all are found, and nothing about them is unexplained."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from roofline.counters.measure import measure
from roofline.errors import RooflineError
from roofline.model import Measurement
from roofline.reports import read
from roofline.specs import load
from roofline.specs.audit import compared
from tests.shared import SHARED

pytestmark = pytest.mark.skipif(SHARED is None, reason="there are no shared reports here")
REGISTRY = load()


@pytest.fixture(scope="module")
def measurements() -> list[Measurement]:
    return list(_first_of_each_device())


def _first_of_each_device() -> Iterator[Measurement]:
    assert SHARED is not None
    seen = set()
    for path in sorted((SHARED / "reports").glob("*.ncu-rep")):
        try:
            measured = measure(next(iter(read(path))))
        except RooflineError:
            continue
        if measured.device not in seen:
            seen.add(measured.device)
            yield measured


def test_there_are_devices_to_look_at(measurements: list[Measurement]) -> None:
    assert len(measurements) >= 25


def test_every_device_is_found_by_its_name(measurements: list[Measurement]) -> None:
    for measured in measurements:
        found = REGISTRY.find(measured.device)
        assert found.how == "name", (measured.device, found.notes)


def test_every_pci_id_on_record_is_the_one_that_the_report_gives(
    measurements: list[Measurement],
) -> None:
    for measured in measurements:
        spec = REGISTRY.find(measured.device).spec
        assert spec is not None
        if spec.pci_ids and measured.device.pci_device_id:
            assert measured.device.pci_device_id in spec.pci_ids


def test_every_difference_is_explained(measurements: list[Measurement]) -> None:
    for measured in measurements:
        spec = REGISTRY.find(measured.device).spec
        assert spec is not None
        apart = [row for row in compared(measured, spec) if row.apart]
        assert [row for row in apart if row.cause is None] == [], measured.device.name
