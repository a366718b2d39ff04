from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.reports.fields import fields_of
from roofline.reports.redact import machine_code, without_paths
from roofline.reports.redact import scrubbed as scrubbed_by
from tests import wire


def scrubbed(data: bytes) -> bytes:
    return scrubbed_by(without_paths, data)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"/home/ann/src/gemm.cu", b"gemm.cu"),
        (b"at /home/ann/src/gemm.cu:12", b"at gemm.cu:12"),
        (b"/home/ann", b"~"),
        (b"/home/ann/", b"~"),
        (b"/root", b"~"),
        (b"/home/ann/a/b.py and /Users/bob/c/d.py", b"b.py and d.py"),
        (b"file:///home/ann/src/x.cu", b"file://x.cu"),
        (b"C:\\Users\\Ann Lee\\src\\x.cu(3)", b"x.cu(3)"),
        (b'"/mnt/disk/ann/x.cu"', b'"x.cu"'),
        (b"/fsx/ann/x.cu and /srv/ann/y.cu, /projects/lab/z.cu", b"x.cu and y.cu, z.cu"),
        (
            b"see https://docs.nvidia.com/data/page.html",
            b"see https://docs.nvidia.com/data/page.html",
        ),
        (b"homes/homely", b"homes/homely"),
        (b"sm__inst.sum/root.pct", b"sm__inst.sum/root.pct"),
    ],
)
def test_paths_are_cut_to_their_last_part(before: bytes, after: bytes):
    assert without_paths(before) == after


def test_a_path_deep_in_a_message_goes_and_the_lengths_fit():
    inner = wire.uint(1, 7) + wire.text(2, "/home/ann/src/kernel.cu") + wire.double(3, 1.5)
    done = scrubbed(wire.text(1, "Rule") + wire.blob(2, inner))

    name, body = fields_of(done) or []
    assert name == (1, 2, b"Rule")
    number, text, _ = fields_of(body[2]) or []  # type: ignore[arg-type]
    assert (number[2], text[2]) == (7, b"kernel.cu")


def test_in_binary_data_nothing_moves():
    data = b"\xff\xfe\x00/home/ann/src\x00\x80" + bytes(10)
    done = scrubbed(data)
    assert len(done) == len(data)
    assert b"ann" not in done
    assert done.startswith(b"\xff\xfe\x00xxx")


@given(st.binary(max_size=200))
def test_what_holds_no_path_stays_as_it_is(data: bytes):
    if b"/" not in data and b":" not in data:
        assert scrubbed(data) == data


def test_a_text_that_could_be_read_as_a_message_is_cut_as_text():
    # "eeee/" would be field 12 with four bytes, "home..." numbers.
    assert scrubbed(b"eeee/home/ann/src/aaaaaaa") == b"eeee~"


@given(st.text("ab/.", max_size=20), st.text("xyz /home", max_size=20))
def test_no_home_path_is_left(tail: str, before: str):
    message = wire.blob(1, wire.text(2, f"{before}/home/somebody/{tail}"))
    assert b"/home/somebody" not in scrubbed(message)


def elf(*sections: tuple[bytes, bytes]) -> bytes:
    """A 64-bit ELF file of nothing but these sections and their names."""
    names = b"\0" + b"".join(name + b"\0" for name, _ in sections) + b".shstrtab\0"
    body, headers = bytearray(64), [bytes(64)]
    for name, content in (*sections, (b".shstrtab", names)):
        at = names.index(b"\0" + name + b"\0") + 1
        headers.append(struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, len(body), len(content), 0, 0, 1, 0))
        body += content
    body[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", body, 0x28, len(body))
    struct.pack_into("<HHH", body, 0x3A, 64, len(headers), len(headers) - 1)
    return bytes(body) + b"".join(headers)


def test_machine_code_loses_debug_sections_and_keeps_its_layout():
    code = elf(
        (b".text.k", b"\x01\x02\x03\x04"),
        (b".debug_line", b"kernel.cu in a folder"),
        (b".nv_debug_ptx_txt", b"ld.global.f32"),
        (b".strtab", b"/home/ann/k\0k"),
    )
    done = machine_code(code)

    assert done is not None
    assert len(done) == len(code)
    assert b"\x01\x02\x03\x04" in done
    assert not any(word in done for word in (b"kernel.cu", b"ld.global", b"ann"))


@pytest.mark.parametrize(
    "code", [b"", b"\x50\xed\x55\xba" + bytes(60), b"\x7fELF\x01", b"\x7fELF\x02"]
)
def test_what_is_no_machine_code_in_the_open_is_not_kept(code: bytes):
    assert machine_code(code) is None
