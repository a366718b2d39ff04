"""What a folder of reports means, and what is said of files that are left out."""

import gzip
import os
import re
import warnings
from pathlib import Path

import pytest

from roofline.errors import InputError, RooflineWarning
from roofline.reports import read
from roofline.reports.find import files_of
from tests import strange


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return strange.write(tmp_path, "two launches").rename(tmp_path / "a.ncu-rep")


@pytest.mark.parametrize("name", ["b.ncu-rep.gz", "b.ncu-repz.gz", "B.NCU-REP.GZ"])
def test_a_compressed_report_is_refused_and_not_passed_over(report: Path, name: str) -> None:
    (report.parent / name).write_bytes(gzip.compress(report.read_bytes()))
    errors: list[InputError] = []

    launches = list(read(report.parent, on_error=errors.append))

    assert len(launches) == 2
    (error,) = errors
    assert error.hint == "gunzip it first"
    assert name in error.what


def test_an_empty_folder_with_the_name_of_a_report_is_refused(report: Path) -> None:
    """A container's mount of a file that is not there makes one."""
    report.with_name("b.ncu-rep").mkdir()
    kept = report.with_name("c.ncu-rep")
    kept.mkdir()
    report.rename(kept / "a.ncu-rep")
    errors: list[InputError] = []

    assert len(list(read(kept.parent, on_error=errors.append))) == 2
    (error,) = errors
    assert str(error).startswith(f"cannot read {kept.parent / 'b.ncu-rep'}: it is a folder")


def test_a_dangling_link_that_is_named_as_a_pattern_is_told_of(tmp_path: Path) -> None:
    link = tmp_path / "*.ncu-rep"
    link.symlink_to("nothing")

    with pytest.raises(InputError, match="a link to something that is not there"):
        list(read(link))


def test_one_that_lies_beside_its_copy_is_that_copy(report: Path) -> None:
    report.with_name("a.ncu-rep.gz").write_bytes(gzip.compress(report.read_bytes()))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert files_of([report.parent]) == [report]


@pytest.mark.parametrize("name", ["b.ncu-rep.bak", "b.ncu_rep", "b", "deep/b.ncu-rep.old"])
def test_what_begins_as_a_report_under_another_name_is_named(report: Path, name: str) -> None:
    other = report.parent / name
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(report.read_bytes())

    with pytest.warns(RooflineWarning, match=f"left out of .*: {re.escape(str(other))}$"):
        assert files_of([report.parent]) == [report]


def test_a_copy_that_has_not_begun_is_named_too(report: Path) -> None:
    other = report.with_name("b.ncu-rep.partial")
    other.touch()

    with pytest.warns(RooflineWarning, match=f"left out of .*: {re.escape(str(other))}$"):
        assert files_of([report.parent]) == [report]


def test_what_is_no_report_is_passed_over_silently(report: Path) -> None:
    """Answers about a report, a sum of it, a pipe that would be waited for, the like of others."""
    for name in ("a.ncu-rep.csv", "a.ncu-rep.sha256", "notes.txt"):
        (report.parent / name).write_text("text")
    (report.parent / "gone.bin").symlink_to("nothing")
    os.mkfifo(report.parent / "pipe")
    deep = report.parent / "build"
    deep.mkdir()
    (deep / "cache").write_bytes(report.read_bytes())  # no name says so, and no report lies there

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert files_of([report.parent]) == [report]


def test_of_many_the_first_are_named(report: Path) -> None:
    for number in range(5):
        (report.parent / f"{number}.bak").write_bytes(report.read_bytes())

    with pytest.warns(RooflineWarning, match=r"/0\.bak, \S+/1\.bak, \S+/2\.bak, \.\.\.$"):
        files_of([report.parent])
