"""The page as a file: what it holds, how large it is, what it may do; no browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from roofline.compare.judge import compare
from roofline.model import Bound, Details, Instruction
from roofline.plot import Options, page
from roofline.plot.style import THEMES
from roofline.render import explain
from roofline.render.json import render
from tests.makers import analysis, unit
from tests.plot.test_style import contrast
from tests.plot.values import crowd, kernel, mixed

EVIL = "k<'</script><script>alert(1)</script><img src=x onerror=alert(1)>&\x07\">"
SHELL, HUNDREDS, THOUSANDS = 40_000, 150_000, 1_500_000


def pairs() -> Any:
    def side(taken: float, busy: float, rows: float):
        return analysis(
            kernel("gemm", duration_s=taken, units=(unit("l1", busy), unit("dram", 40.0))),
            kernel("copy", duration_s=rows),
        )

    return compare(side(4e-3, 92.0, 1e-3), side(1e-3, 24.0, 1.001e-3))


def unpacked(text: str, what: str) -> bytes:
    found = re.search(rf'id="{what}">([^<]*)<', text)
    assert found
    return gzip.decompress(base64.b64decode(found[1]))


def data(text: str) -> Any:
    return json.loads(unpacked(text, "data"))


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


@pytest.mark.parametrize("made", [mixed, pairs, lambda: analysis(kernel(EVIL, demangled=EVIL))])
def test_the_page_asks_for_nothing_and_runs_its_own_script_alone(made):
    text = page(made())
    tags = Tags(text).seen
    policy = next(at["content"] for _, at in tags if at.get("http-equiv")) or ""
    style, loader = (
        re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("style", "script")
    )
    script = unpacked(text, "script").decode()

    assert style
    assert loader

    def digest(code: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"

    assert f"style-src {digest(style[1])};" in policy
    assert f"script-src {digest(loader[1])} {digest(script)};" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert [at.get("type") for tag, at in tags if tag == "script"] == [
        *("application/octet-stream", "application/octet-stream"),
        None,
    ]
    for tag, at in tags:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form", "a"}
        assert not [key for key in at if key.startswith("on") or key in ("src", "href", "style")]
    assert not re.search(r"@import|url\((?!#)|eval\(|innerHTML|\bfetch\(", text + script)


def test_the_same_input_gives_the_same_bytes():
    assert page(mixed()) == page(mixed())
    assert page(pairs()) == page(pairs())


def test_its_numbers_are_those_of_the_json():
    view = mixed()
    shown = {k["name"]: k for k in data(page(view))["kernels"]}
    groups = {g["name"]: g for g in json.loads(render(view))["groups"]}

    assert set(shown) == set(groups)
    for name, group in groups.items():
        one = shown[name]
        for key, own in (
            ("duration_s", "t"),
            ("total_s", "total"),
            ("share", "share"),
            ("floor_s", "floor"),
            ("next_floor_s", "next"),
            ("operations_per_s", "r"),
        ):
            assert one.get(own) == (None if group[key] is None else pytest.approx(group[key], 1e-5))
        assert one.get("u", {}) == pytest.approx(group["utilization"], 1e-5)
        assert one["bound"] == group["bound"]
        assert one["conf"] == group["confidence"]
        assert one.get("ai", {}).get("dram") == (
            None
            if group["arithmetic_intensity"] is None
            else pytest.approx(group["arithmetic_intensity"], 1e-5)
        )
        told = {title: lines for title, _, lines in (data(page(view))["kept"][e] for e in one["e"])}
        assert group["claim"] in told["Claim"]
        assert list(group["try_first"] or [group["hint"]]) == told["Try first"]
        assert list(group["avoid"]) == told.get("Not worth the time", [])


def test_an_own_ceiling_is_the_rate_over_the_utilisation():
    shown = data(page(mixed()))["kernels"]
    saxpy = next(k for k in shown if k["name"] == "saxpy")

    # 75 MFLOP in 1 ms at 90 % DRAM: 75e9 / 0.9.
    assert saxpy["own"] == [["dram", 90.0, pytest.approx(75e9 / 0.9, 1e-5), "bandwidth"]]


def test_what_was_not_measured_is_not_there():
    failed = next(k for k in data(page(mixed()))["kernels"] if k["name"] == "failed")

    assert not {"t", "total", "r", "ai", "u", "own"} & set(failed)
    assert failed["bound"] == "unknown"


def test_pairs_have_both_sides_and_the_outcome():
    found = data(page(pairs()))
    shown = {k["name"]: k for k in found["kernels"]}

    assert found["pairs"]
    assert shown["gemm"]["out"] == "faster"
    assert shown["gemm"]["was"]["t"] == 4e-3
    assert shown["gemm"]["was"]["u"]["l1"] == 92.0
    assert shown["copy"]["out"] == "no_change"
    told = [found["kept"][e] for e in shown["gemm"]["e"]]
    assert told[0][0] == "What changed"
    assert told[0][2][0].startswith("4.00x faster")


def test_the_evidence_is_in_the_order_of_the_card():
    made = mixed()
    saxpy = next(g for g in made.groups if g.result.measurement.name == "saxpy")
    card = explain.render(saxpy)
    found = data(page(made))
    kernel_ = next(k for k in found["kernels"] if k["name"] == "saxpy")
    told = [found["kept"][e] for e in kernel_["e"]]
    order = ["Try first", "What that could buy", "What would refute this", "Not worth the time"]

    assert [title for title, _, _ in told if title in order] == order
    assert told[0][0] == "Claim"
    words = ["try ", "gain ", "wrong if ", "not "]
    places = [re.search(rf"^\s*{word}", card, re.MULTILINE) for word in words]
    starts = [place.start() for place in places if place]
    assert len(starts) == 4
    assert starts == sorted(starts)


def test_hot_instructions_are_in_the_evidence_with_their_lines():
    hot = Instruction(
        address=16, sass="LDG.E R2, [R4]", file="a.cu", line=41, samples=900, share=0.9,
        reason="long_scoreboard", source="x[i] = y[i];",
    )  # fmt: skip
    details = Details(index=0, samples=1000.0, sampled=(hot,), lines={"a.cu:41": 0.9})
    found = data(page(analysis(kernel("a")), details={0: details}))
    told = {t: lines for t, _, lines in (found["kept"][e] for e in found["kernels"][0]["e"])}

    assert told["Hot instructions"] == [
        ["90.0 %", "long scoreboard", "a.cu:41", "LDG.E R2, [R4]", "x[i] = y[i];"]
    ]
    assert any("a.cu:41" in line for line in told["Instructions"])


def test_names_are_data_and_not_markup():
    text = page(analysis(kernel(EVIL, demangled=EVIL)), Options(title=EVIL))

    assert "<script>alert" not in text
    assert "<img" not in text
    assert text.count("<script") == 3


def test_without_script_the_table_is_there():
    text = page(crowd(4, 60))

    assert text.count("<tr><td>") == 50
    assert "and 10 more" in text
    assert "very_long_kernel_name_number_" in text[text.index("<table") :]


def test_the_theme_asked_for_is_the_one_it_opens_in():
    assert '<html lang="en">' in page(mixed())
    assert '<html lang="en" data-theme="dark">' in page(mixed(), theme="dark")
    for theme in THEMES.values():
        assert all(f"--{role}:{color};" in page(mixed()) for role, color in theme.items())


def test_everything_that_takes_the_focus_has_a_name():
    inside: list[str] = []
    nameless, ids = [], []

    class Names(HTMLParser):
        def handle_starttag(self, tag, attrs):
            at = dict(attrs)
            ids.extend(filter(None, [at.get("id")]))
            unlabelled = tag in {"input", "select"} and "label" not in inside
            if unlabelled or ("tabindex" in at and not at.get("aria-label")):
                nameless.append(at)
            if tag not in {"input", "meta", "option", "br"}:
                inside.append(tag)

        def handle_endtag(self, tag):
            if tag in inside:
                del inside[len(inside) - 1 - inside[::-1].index(tag) :]

    Names().feed(page(mixed()))
    assert nameless == []
    assert len(ids) == len(set(ids))
    assert {"chart", "evidence", "table", "query"} <= set(ids)


@pytest.mark.parametrize("theme", THEMES)
def test_texts_stand_out_from_what_is_behind_them(theme):
    colors = {role: parts_of(color) for role, color in THEMES[theme].items()}
    style = re.search(r"<style>(.*?)</style>", page(mixed()), re.DOTALL)
    assert style
    mixes = re.findall(r"([^{}]+)\{[^}]*color-mix\(.*?\*([.\d]+)%", style[1])

    assert [rule.strip() for rule, _ in mixes] == ["td.heat"]  # no text is on any other mixture
    assert style[1].count("color-mix") == 1
    part = float(mixes[0][1])  # of the colour of a unit that is busy all the time
    for bound in ("bandwidth", "compute"):
        pairs_ = zip(colors[bound], colors["background"], strict=True)
        behind = tuple(round(part * a + (1 - part) * b) for a, b in pairs_)
        assert contrast(THEMES[theme]["ink"], "#{:02x}{:02x}{:02x}".format(*behind)) >= 4.5
    for role in ("ink", "muted", "faster", "slower", *Bound):
        assert contrast(THEMES[theme][role], THEMES[theme]["background"]) >= 4.5


def parts_of(color: str) -> tuple[int, ...]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "most"), [(300, HUNDREDS), (10_000, THOUSANDS)])
def test_the_page_keeps_to_its_size(count, most):
    assert len(page(crowd(4, count)).encode()) < most


def test_its_script_and_style_keep_to_their_size():
    text = re.sub(r'id="data">[^<]*<|<table>.*</table>', "", page(mixed()), flags=re.DOTALL)

    assert len(text.encode()) < SHELL


def test_a_page_needs_no_matplotlib():
    code = (
        "import sys, tests.makers as m, roofline.plot as p; p.page(m.analysis(m.result()));"
        "print({'matplotlib', 'rich', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"


def test_a_launch_without_an_operation_still_has_memory_roofs():
    copy = kernel("copy", operations={"fp32": 0.0}, counts={"instructions": 1e6})
    found = data(page(analysis(copy)))

    assert "dram" in {roof["key"] for roof in found["devices"][0]["roofs"]}
    assert found["kernels"][0]["c"] == {"instructions": 1e6}
    # 100 SMs, four schedulers each, at 1 GHz.
    clocked = replace(copy, measurement=replace(copy.measurement, sm_clock_hz=1e9))
    assert data(page(analysis(clocked)))["devices"][0]["issue"] == 4e11
