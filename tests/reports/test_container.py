from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from roofline.errors import InputError
from roofline.reports import read
from roofline.reports.container import ContainerError
from tests import strange
from tests.shared import REPORTS


def problem(path: Path) -> str | None:
    """The code of what is wrong with a file."""
    try:
        strange.summary(path)
    except ContainerError as error:
        return error.code
    return None


@pytest.mark.parametrize("name", strange.BROKEN)
def test_each_kind_of_broken_file_is_told_apart(name: str, tmp_path: Path):
    assert problem(strange.write(tmp_path, name)) == strange.BROKEN[name].code


NCU = ("ncu's text", "export the report with ncu -o NAME")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(b'{"traceEvents": []}', mtime=0), ("a timeline", "roofline select FILE")),
        (
            gzip.compress(b" " + os.urandom(20000), mtime=0),
            ("compressed with gzip", "gunzip it first"),
        ),
        (
            gzip.compress(strange.report(strange.launch()), mtime=0),
            ("a report compressed", "gunzip"),
        ),
        (b"\x1f\x8b and nothing that unpacks", ("compressed with gzip", "gunzip it first")),
        (b"[1, 2]", ("it is JSON", "roofline select FILE")),
        (b"==PROF== Connected to process 1\n", NCU),
        (b"\xef\xbb\xbf==WARNING== No kernels\n", NCU),
        (b"[4711] my app@127.0.0.1\n  kernel (1, 1, 1)", NCU),
        (b'"ID","Process ID","Process Name"\n', NCU),
        (b'\xef\xbb\xbf"ID","Process ID"\n', NCU),
        ('\ufeff"ID","Process ID"\r\n'.encode("utf-16-le"), NCU),  # what PowerShell's > writes
        (b"\xef\xbb\xbf\r\nID;Process ID;Process Name\n", NCU),
    ],
)
def test_a_file_of_another_kind_is_named(content: bytes, told: tuple[str, str], tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(content)

    with pytest.raises(ContainerError) as caught:
        strange.summary(path)

    assert caught.value.code == "magic"
    assert told[0] in str(caught.value)
    assert told[1] in caught.value.hint


@pytest.mark.parametrize("name", strange.WHOLE)
def test_a_whole_file_has_no_problem_and_counts_as_ncu_report_does(name: str, tmp_path: Path):
    path = strange.write(tmp_path, name)

    found = len(strange.actions(path))
    assert strange.summary(path).found == found == len(strange.WHOLE[name])


def test_no_cut_goes_unnoticed_except_between_blocks(tmp_path: Path):
    whole = strange.report(strange.launch("first"), strange.launch("second"))
    first = len(strange.report(strange.launch("first")))
    path = tmp_path / "cut.ncu-rep"

    unnoticed = []
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if problem(path) is None:
            unnoticed.append(length)

    assert unnoticed == [first]


def test_the_capture_is_known(tmp_path: Path):
    summary = strange.summary(strange.write(tmp_path, "two launches"))

    assert summary.ncu_version == "2024.1.1.0"
    assert summary.settings == {"clock_control": "Base", "replay_mode": "Kernel"}


def test_missing_folder_and_unreadable_are_input_errors(tmp_path: Path):
    with pytest.raises(InputError, match="No such file"):
        strange.summary(tmp_path / "missing.ncu-rep")
    with pytest.raises(InputError, match="it is a folder"):
        strange.summary(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file that fails when read")
def test_a_file_that_fails_when_it_is_read_is_told():
    with pytest.raises(InputError, match=r"/proc/self/mem: its beginning cannot be read"):
        next(read("/proc/self/mem"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_input_error(tmp_path: Path):
    path = strange.write(tmp_path, "two launches")
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        strange.summary(path)


def test_compressed_reports_are_looked_into(tmp_path: Path):
    path = tmp_path / "two.ncu-repz"
    path.write_bytes(strange.packed(strange.report(strange.launch(), strange.launch())))

    assert strange.summary(path).found == len(strange.actions(path)) == 2


def test_thousands_of_launches_are_counted(tmp_path: Path):
    path = strange.many(tmp_path / "many.ncu-rep", 5000)
    assert strange.summary(path).found == 5000


@pytest.mark.parametrize("name", strange.WHOLE)
def test_the_table_of_strings_has_every_metric_of_every_result(name: str, tmp_path: Path):
    path = strange.write(tmp_path, name)
    strings = set(strange.summary(path).names)

    for action in strange.actions(path):
        assert strings.issuperset(action.metric_names())


@pytest.mark.skipif(not REPORTS, reason="no folder of real reports")
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name[:60])
def test_real_reports_hold_what_they_announce(path: Path):
    if actions := strange.actions(path):
        assert strange.summary(path).found == len(actions)
    else:
        assert problem(path) is not None
