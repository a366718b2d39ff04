from __future__ import annotations

import base64
import io
import os
import re
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.ttLib import TTFont
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.lines import Line2D

from roofline.errors import UsageError
from roofline.plot import Options, check_path, draw, picture, save, words
from roofline.plot.save import _subset, html, svg
from roofline.plot.style import FONT, THEMES
from tests.makers import analysis
from tests.plot.values import crowd, kernel, mixed, texts

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_the_same_report_gives_the_same_bytes(tmp_path, ending):
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    save(picture(mixed()), first)
    save(picture(mixed()), second)

    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf", ".html"])
def test_files_hold_no_date_and_nothing_of_the_machine(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    save(picture(mixed()), path)
    content = path.read_bytes()

    assert str(Path.home()).encode() not in content
    assert str(tmp_path).encode() not in content
    assert not re.search(rb"CreationDate|dc:date|tIME|matplotlib v\d", content)


def test_a_png_has_the_pixels_asked_for(tmp_path):
    path = tmp_path / "a.png"
    save(picture(mixed(), Options(width_px=700)), path, dpi=144)

    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    assert width == 1400
    assert height > 1000


@pytest.mark.parametrize("height", [900, 1100])
def test_the_chart_takes_up_the_height_asked_for(height):
    figure = draw(analysis(kernel("a")), Options(height_px=height))

    assert figure.get_size_inches()[1] * 72 == pytest.approx(height)


def test_svg_text_is_text_and_the_size_is_in_pixels():
    root = ET.fromstring(svg(picture(mixed())))
    words = [t.text for t in root.iter(f"{SVG}text")]

    assert root.get("width") == "900"
    assert any((w or "").startswith("What limits 7 kernels") for w in words)
    assert any("gemm" in (w or "") for w in words)


def test_svg_and_pdf_bring_their_letters(tmp_path):
    name = "k\u00e9rnel<>&"
    drawn = picture(analysis(kernel(name, demangled=name)))
    faces = re.findall(r"font-weight: (\w+); src: url\(data:font/woff;base64,([^)]+)\)", svg(drawn))
    save(drawn, tmp_path / "a.pdf")

    assert [weight for weight, _ in faces] == ["normal", "bold"]
    for _, data in faces:
        letters = TTFont(io.BytesIO(base64.b64decode(data))).getBestCmap()
        assert {ord(letter) for letter in "kérnel"} <= set(letters)
        assert len(letters) < 120
    assert b"/FontFile2" in (tmp_path / "a.pdf").read_bytes()


def test_every_kernel_has_a_tooltip():
    root = ET.fromstring(svg(picture(mixed())))
    tips = {
        g.get("id"): g.findtext(f"{SVG}title")
        for g in root.iter(f"{SVG}g")
        if (g.get("id") or "").startswith("row-kernel-")
    }

    assert len(tips) == 7
    assert all(tips.values())
    gemm = tips["row-kernel-1"]
    assert gemm is not None
    # 201 GFLOP in 4 ms is 50.25 TFLOP/s; 0.8 GB in 4 ms is 200 GB/s; 201e9 / 0.8e9 = 251.25.
    for part in ("gemm", "4.00 ms", "200 GB/s DRAM", "50.2 TFLOP/s", "251 operations per DRAM"):
        assert part in gemm


def test_names_are_data_and_not_markup():
    evil = "k<'</title><script>alert(1)</script>&\x07\">"
    shown = picture(analysis(kernel(evil, demangled=evil)))

    ET.fromstring(svg(shown))
    assert "<script" not in svg(shown)


def test_dollars_and_unknown_signs_in_names_do_no_harm(tmp_path):
    name = "price$kernel$_\u4e2d"
    save(picture(analysis(kernel(name, demangled=name))), tmp_path / "a.png")

    assert any("price$kernel$" in t for t in texts(draw(analysis(kernel(name, demangled=name)))))


def test_a_picture_with_a_table_becomes_a_page_without_script():
    drawn = replace(picture(mixed()), table=(("what", "time"), ("<b>&", "1 s")))
    text = html(drawn, both_themes=True)

    assert "<script" not in text
    assert not re.search(r"url\((?!#)|(?:src|href)=\"(?!#)", text)
    assert "<td>&lt;b&gt;&amp;</td><td>1 s</td>" in text
    assert "fill: var(--compute)" in text
    assert 'data-theme="light"' in html(drawn, both_themes=False)


def test_nothing_is_written_over_unasked(tmp_path):
    path = tmp_path / "a.svg"
    path.write_text("mine")

    with pytest.raises(UsageError, match="exists already"):
        save(picture(mixed()), path)
    assert path.read_text() == "mine"
    save(picture(mixed()), path, force=True)
    assert path.read_text() != "mine"


def test_an_unknown_ending_is_refused_with_those_known(tmp_path):
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf, \.html"):
        save(picture(mixed()), tmp_path / "a.bmp")


@pytest.mark.parametrize(
    ("name", "option", "text"),
    [
        ("p.gif", "", "cannot draw p.gif: a picture is a file that ends in .png, .svg,"),
        ("p.gif", "--plot", "  try: --plot p.png"),
        ("p.gif", "", "  try: p.png"),
        ("out", "-o", "  try: -o out.png"),
        ("-", "-o", "  try: -o roofline.png"),
        ("-", "-o", "cannot draw to standard output"),
        ("", "-o", "  try: -o roofline.png"),
    ],
)
def test_a_refusal_says_what_to_type(name, option, text):
    with pytest.raises(UsageError) as refused:
        check_path(Path(name), force=False, option=option)

    assert any(line.startswith(text) for line in str(refused.value).splitlines())


@pytest.mark.parametrize("dpi", [0.0, -1.0, float("nan"), float("inf"), 601.0])
def test_a_density_that_is_none_is_refused(tmp_path, dpi):
    with pytest.raises(UsageError, match="dots an inch"):
        save(picture(analysis(kernel("a"))), tmp_path / "a.png", dpi=dpi)
    assert not list(tmp_path.iterdir())


def test_matplotlib_is_quiet_without_a_home(tmp_path):
    home = tmp_path / "file"
    home.write_text("a file cannot be a home, not even for root")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MPL", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", "from roofline.plot import need_matplotlib as need; need()"],
        env=kept | {"HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr == ""


def test_what_matplotlib_refuses_is_told():
    code = "from roofline.plot import need_matplotlib as need; need()"
    words, env = [sys.executable, "-c", code], os.environ | {"MPLBACKEND": "nonsense"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)

    assert "UsageError: cannot draw: Key backend: 'nonsense' is not a valid" in done.stderr
    assert done.stderr.endswith("try: unset MPLBACKEND\n")


def test_thousands_of_kernels_are_drawn_and_what_has_no_row_is_counted():
    figure = draw(crowd(4, 1500))
    drawn = figure.findobj(
        lambda a: isinstance(a, Line2D) and (a.get_gid() or "").startswith(("kernel-", "rest-"))
    )

    assert sum(len(a.get_xdata()) for a in drawn) == 1500
    assert any(re.match(r"1,480 more with .* of the time: ", t) for t in texts(figure))


def test_a_small_share_is_not_none():
    assert [words.share(s) for s in (None, 0.0, 0.0004, 0.0005, 0.123)] == [
        "",
        "0.0 %",
        "<0.1 %",
        "0.1 %",
        "12.3 %",
    ]


@pytest.mark.parametrize("theme", THEMES)
def test_a_crowd_is_drawn_with_a_key(theme):
    words = texts(draw(crowd(2), Options(theme=theme)))

    # what limits each is beside its name: 90 % is the makers' own
    verdicts = {"bandwidth: DRAM 90 %", "compute: FMA pipe 90 %", "latency: grid too small"}
    assert verdicts <= set(words)

    assert {str(n) for n in range(1, 31)} <= set(words)
    assert sum(w.startswith("very_long") for w in words) == 30


@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_letters_of_an_svg_are_those_of_the_font(weight):
    letters = "A\u00e9\u00bd\u2026\u2192\u00b5\u221e 019%()\u6f22"
    path = findfont(FontProperties(family=FONT, weight=weight))
    whole, subset = TTFont(path), TTFont(io.BytesIO(_subset(path, set(map(ord, letters)))))
    known, kept = whole.getBestCmap(), subset.getBestCmap()

    assert kept.keys() == known.keys() & set(map(ord, letters))
    assert subset["maxp"].numGlyphs < 30
    for code in kept:
        assert subset["hmtx"][kept[code]] == whole["hmtx"][known[code]]
        drawn = []
        for font, name in ((subset, kept[code]), (whole, known[code])):
            pen = DecomposingRecordingPen(font.getGlyphSet())
            font.getGlyphSet()[name].draw(pen)
            drawn.append(pen.value)
        assert drawn[0] == drawn[1]
