from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from roofline import files
from roofline.errors import InputError, UsageError
from roofline.files import read_text, refuse_overwrite, whole_file, whole_folder, write_text


def drained(pipe: Path) -> tuple[threading.Thread, list[bytes]]:
    """Somebody who reads what is written to ``pipe``."""
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    return reader, got


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path, force: bool):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    reader, got = drained(pipe)

    write_text(pipe, "answer", force=force)

    reader.join(5)
    assert got == [b"answer"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("force", [False, True])
def test_a_character_device_is_written_to_and_stays_one(tmp_path: Path, force: bool):
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | 0o020000, os.makedev(1, 3))  # as /dev/null is
        device.open("wb").close()
    except OSError:
        pytest.skip("device nodes cannot be made here")

    write_text(device, "answer", force=force)

    assert device.is_char_device()


def test_a_block_device_is_refused_with_force_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    disk = tmp_path / "disk"
    disk.write_text("all that somebody has")
    monkeypatch.setattr(files, "_mode", lambda p: 0o060660 if p == disk else p.stat().st_mode)

    with pytest.raises(UsageError, match="block device"):
        write_text(disk, "answer", force=True)
    assert disk.read_text() == "all that somebody has"


def test_a_link_is_followed_and_stays(tmp_path: Path):
    link, target = tmp_path / "link.txt", tmp_path / "target.txt"
    link.symlink_to(target)

    write_text(link, "first")
    assert target.read_text() == "first"
    with pytest.raises(UsageError, match="exists already"):
        write_text(link, "second")
    write_text(link, "third", force=True)

    assert link.is_symlink()
    assert target.read_text() == "third"


def test_a_link_into_a_folder_that_is_not_there_names_that_folder(tmp_path: Path):
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "nowhere" / "target.txt")

    with pytest.raises(UsageError, match="nowhere does not exist"):
        refuse_overwrite(link, force=False)


def test_a_loop_of_links_is_told(tmp_path: Path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    with pytest.raises(UsageError, match="symbolic links"):
        refuse_overwrite(loop, force=True)
    with pytest.raises(InputError, match="symbolic links"):
        read_text(loop)


@pytest.mark.parametrize("hard_links", [True, False])
def test_a_file_that_came_meanwhile_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hard_links: bool
):
    path = tmp_path / "a.txt"
    real = os.link if hard_links else None

    def come_first(source: Path, target: Path) -> None:
        path.write_text("theirs")
        if real is None:
            raise OSError(95, "Operation not supported")
        real(source, target)

    monkeypatch.setattr(files.os, "link", come_first)

    with pytest.raises(UsageError, match="exists already"):
        write_text(path, "ours")
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(_source: Path, _target: Path) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files.os, "link", refuse)

    write_text(tmp_path / "a.txt", "ours")

    assert (tmp_path / "a.txt").read_text() == "ours"


def test_a_full_disk_leaves_nothing(tmp_path: Path):
    def fill(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(UsageError, match="No space left"), whole_file(tmp_path / "a") as temporary:
        fill(temporary)
    assert list(tmp_path.iterdir()) == []


def test_a_dash_is_no_file():
    for write in (
        lambda: refuse_overwrite(Path("-"), force=True),
        lambda: whole_folder(Path("-"), ["a"]).__enter__(),
    ):
        with pytest.raises(UsageError, match="'-'"):
            write()
    with pytest.raises(InputError, match="stdin"):
        read_text(Path("-"))


def test_only_regular_files_are_read_and_a_pipe_does_not_block(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(InputError, match="it is a pipe"):
        read_text(pipe)
    with pytest.raises(InputError, match="it is a folder"):
        read_text(tmp_path)
    with pytest.raises(InputError, match=f"try: ls {tmp_path}"):
        read_text(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_text(tmp_path / "binary")
    (tmp_path / "dangling").symlink_to("missing")
    with pytest.raises(InputError, match="a link to something that is not there"):
        read_text(tmp_path / "dangling")


def test_a_name_may_hold_anything_and_a_message_stays_one_line(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        read_text(tmp_path / "two\nlines\x1b[31m\udcff")

    assert str(caught.value).splitlines()[0].count(r"two\nlines\x1b[31m\udcff") == 1
    assert len(str(caught.value).splitlines()) == 2  # what and what to try
