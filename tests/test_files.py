from __future__ import annotations

import gc
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from platformdirs import user_config_path

from roofline.errors import InputError, UsageError
from roofline.files import (
    read_text,
    refuse_overwrite,
    settings_folder,
    uncollected,
    whole_file,
    whole_folder,
    write_text,
)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("path", ["pipe", "/dev/null"])
def test_a_pipe_or_a_device_is_refused(tmp_path: Path, path: str, force: bool):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UsageError, match="not a regular file"):
        write_text(tmp_path / path, "answer", force=force)

    assert list(tmp_path.iterdir()) == [tmp_path / "pipe"]


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


@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_came_meanwhile_is_written_over_by_force_alone(tmp_path: Path, force: bool):
    path = tmp_path / "a.txt"

    with nullcontext() if force else pytest.raises(UsageError, match="exists already"):  # noqa: SIM117
        with whole_file(path, force=force) as temporary:
            temporary.write_text("ours")
            path.write_text("theirs")

    assert path.read_text() == ("ours" if force else "theirs")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [False, True])
def test_a_result_has_the_permissions_of_any_new_file(tmp_path: Path, there: bool):
    path, other = tmp_path / "a.txt", tmp_path / "other"
    other.touch()
    if there:
        path.touch()

    write_text(path, "ours", force=there)

    assert path.stat().st_mode == other.stat().st_mode


def test_a_folder_gets_all_of_its_files_or_none(tmp_path: Path):
    folder = tmp_path / "out"

    def stop(made: Path) -> None:
        (made / "a").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), whole_folder(folder, ["a", "b"]) as made:
        stop(made)
    assert list(tmp_path.iterdir()) == []

    for force in (False, True):
        with whole_folder(folder, ["a", "b"], force=force) as made:
            for name in ("a", "b", "aside"):
                (made / name).write_text(name)
        assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    with pytest.raises(UsageError, match="exists already"), whole_folder(folder, ["c", "a"]):
        pass
    with pytest.raises(UsageError, match="it is a file"), whole_folder(folder / "a", ["c"]):
        pass
    with pytest.raises(UsageError, match="mkdir -p"), whole_folder(tmp_path / "x" / "y", ["c"]):
        pass


def test_a_full_disk_leaves_nothing(tmp_path: Path):
    def fill(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(UsageError, match="No space left"), whole_file(tmp_path / "a") as temporary:
        fill(temporary)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_is_not_writable_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
):
    path = tmp_path / "a"
    if there:
        path.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)

    with pytest.raises(UsageError, match="its folder is not writable"):
        refuse_overwrite(path, force=there)


def test_a_name_that_is_too_long_is_told():
    with pytest.raises(UsageError, match="File name too long"):
        refuse_overwrite(Path("a" * 300), force=True)


@pytest.mark.parametrize("home", ["/somewhere", "", " ", "relative", None])
def test_settings_are_where_platformdirs_says(home: str | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", home)
    theirs = user_config_path("roofline", appauthor=False)

    assert settings_folder("specs") == theirs / "specs"


def test_a_dash_is_no_file():
    for write in (
        lambda: refuse_overwrite(Path("-"), force=True),
        lambda: whole_folder(Path("-"), ["a"]).__enter__(),
    ):
        with pytest.raises(UsageError, match="'-'"):
            write()
    with pytest.raises(InputError, match="stdin"):
        read_text(Path("-"))


def test_a_file_is_no_folder_to_be_made(tmp_path: Path):
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match=r"Not a directory\n  try: another name or folder"):
        refuse_overwrite(tmp_path / "file" / "a.json", force=False)


def test_only_regular_files_are_read_and_a_pipe_does_not_block(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(InputError, match="not a regular file"):
        read_text(pipe)
    with pytest.raises(InputError, match="it is a folder"):
        read_text(tmp_path)
    with pytest.raises(InputError, match=f"try: ls {tmp_path}"):
        read_text(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_text(tmp_path / "binary")
    (tmp_path / "dangling").symlink_to("missing")
    with pytest.raises(
        InputError, match=r"a link to something that is not there\n  try: ls -ld \S+$"
    ):
        read_text(tmp_path / "dangling")


def test_a_name_may_hold_anything_and_a_message_stays_one_line(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        read_text(tmp_path / "two\nlines\x1b[31m\udcff")

    assert str(caught.value).splitlines()[0].count(r"two\nlines\x1b[31m\udcff") == 1
    assert len(str(caught.value).splitlines()) == 2  # what and what to try


@pytest.mark.parametrize("collects", [True, False])
def test_cycles_are_looked_for_after_a_block_as_before_it(collects: bool):
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        with uncollected():
            assert not gc.isenabled()
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
