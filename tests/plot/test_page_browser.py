"""The page in a real browser: Debian's chromium through playwright, where both are installed."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from roofline.analysis import analyze
from roofline.model import Bound, Stall
from roofline.plot import Options, page
from roofline.text import numbers
from tests.makers import analysis, unit
from tests.plot.test_page import EVIL, pairs
from tests.plot.values import crowd, kernel, mixed
from tests.shared import REPORTS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
    pytest.mark.skipif(
        importlib.util.find_spec("playwright") is None,
        reason="no playwright: pip install -e '.[browser]'",
    ),
]
Open = Callable[..., Any]
MIX = Path(__file__).parents[2] / "sample_reports" / "h100_mix.ncu-rep"
# Labels of the chart that overlap; boxes of those along a slope are larger than their letters.
OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll('#chart text.label')]
    .filter(t => !/rotate\\(-?[1-9]/.test(t.getAttribute('transform') || ''))
    .map(t => [t.textContent, t.getBoundingClientRect()]);
  return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => p.left < q.right - 1
    && q.left < p.right - 1 && p.top < q.bottom - 3
    && q.top < p.bottom - 3).map(([b]) => `${a} / ${b}`));
}"""
# The least contrast of a text with what is behind it (WCAG), and that text.
CONTRAST = """() => {
  const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = s => { c.clearRect(0, 0, 1, 1); c.fillStyle = s; c.fillRect(0, 0, 1, 1);
    return [...c.getImageData(0, 0, 1, 1).data]; };
  const light = v => [.2126, .7152, .0722].reduce((t, f, i) => { const x = v[i] / 255;
    return t + f * (x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4); }, 0);
  let least = [99, ''];
  for (const e of document.querySelectorAll('main *')) {
    if (!e.checkVisibility()) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e), front = e.closest('svg') ? style.fill : style.color;
    let at = e;
    while (at && rgb(getComputedStyle(at).backgroundColor)[3] === 0) at = at.parentElement;
    const [a, b] = [light(rgb(front)), light(rgb(getComputedStyle(at).backgroundColor))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < least[0]) least = [ratio, e.textContent];
  }
  return least;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        from playwright.sync_api import Error

        try:
            started = play.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
        except Error as error:
            pytest.skip(f"chromium does not start here: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Open a page; fail where it asks for something, says something, or breaks."""
    said: list[str] = []
    contexts = []

    def open_(text: str, *, address: str = "", width: int = 1360, **context: Any) -> Any:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 1000}, **context))
        contexts[-1].set_default_timeout(120_000)  # machines that run tests may be busy
        shown = contexts[-1].new_page()
        shown.on("console", lambda message: said.append(message.text))
        shown.on("pageerror", lambda error: said.append(str(error)))
        shown.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else said.append(r.url),
        )
        shown.goto(f"file://{path}{address}")
        if context.get("java_script_enabled", True):
            shown.wait_for_selector("html[data-ready]")
        return shown

    yield open_
    for context in contexts:
        context.close()
    assert said == []


def modes(shown: Any) -> list[str]:
    """The tables of a page."""
    return shown.evaluate("[...document.getElementById('mode').options].map(o => o.value)")


def many() -> Any:
    """A kernel of each bound with stalls, several of them near each other."""
    return analysis(
        *(
            kernel(
                f"dense_{i}",
                Bound.COMPUTE,
                duration_s=1e-3 / (i + 1),
                operations={"fp32": 6e9 / (i + 1)},
                dram_bytes=1e8 / (i + 1.1),
                units=(unit("fma", 60.0 + i), unit("dram", 10.0)),
            )
            for i in range(6)
        ),
        kernel("stream"),
        kernel(
            "waiting", Bound.LATENCY, units=(unit("dram", 9.0), unit("issue", 4.0)),
            stalls=(Stall(reason="long_scoreboard", share=0.6),), dram_bytes=9e7,
        ),
    )  # fmt: skip


def test_values_of_any_size_are_shown_in_short(opened: Open):
    sizes = (1e300, 1e-280)
    view = analysis(*(kernel(f"k_{v:g}", operations={"fp32": v}) for v in sizes))
    at = opened(page(view))
    rates = at.locator("#rows tr td:nth-child(8)").all_inner_texts()

    told = {numbers.rate(r.measurement.operations_per_s) for r in view.results}
    assert set(rates) == told
    assert max(map(len, rates)) < 20


def test_the_table_says_what_the_values_are(opened: Open):
    view = mixed()
    shown = opened(page(view))
    rows = {row[1]: row for row in shown.evaluate(
        "[...document.querySelectorAll('#rows tr')].map(r => [...r.cells].map(c => c.textContent))"
    )}  # fmt: skip

    assert len(rows) == len(view.groups)
    for group in view.groups:
        m = group.result.measurement
        row = rows[m.name]
        assert row[2].split(" in ")[0] == numbers.duration(group.total_s)
        assert row[3] == numbers.share(group.share)
        assert row[6] == numbers.plain(m.arithmetic_intensity)
        assert row[7] == numbers.rate(m.operations_per_s)


def test_the_own_ceiling_of_a_dram_bound_kernel_lies_on_the_dram_roof(opened: Open):
    shown = opened(page(analysis(kernel("stream"))))
    off = shown.evaluate("""() => {
      const cap = document.querySelector('[data-own=dram]');
      const roof = document.querySelector('[data-roof="dram report"]');
      const n = (e, a) => +e.getAttribute(a), x = (n(cap, 'x1') + n(cap, 'x2')) / 2;
      const t = (x - n(roof, 'x1')) / (n(roof, 'x2') - n(roof, 'x1'));
      return Math.abs(n(roof, 'y1') + t * (n(roof, 'y2') - n(roof, 'y1')) - n(cap, 'y1'));
    }""")  # fmt: skip

    assert off <= 2


@pytest.mark.parametrize("made", [many, mixed, pairs, lambda: crowd(2, 30), lambda: crowd(5, 300)])
@pytest.mark.parametrize("view", ["roofline", "time"])
def test_no_two_labels_overlap(opened: Open, made: Any, view: str):
    for width in (1360, 600):
        shown = opened(page(made()), width=width)
        shown.select_option("#view", view)

        assert shown.evaluate(OVERLAPS) == []


def test_no_line_to_a_name_leads_through_another_mark(opened: Open):
    shown = opened(page(analyze(MIX)))
    led, crossed = shown.evaluate("""() => {
      const n = (e, a) => +e.getAttribute(a), leads = [...document.querySelectorAll('line.lead')];
      const ends = e => [[n(e, 'x1'), n(e, 'y1')], [n(e, 'x2'), n(e, 'y2')]];
      const marks = [...document.querySelectorAll('#chart g[data-k] > path')]
        .map(m => m.getBBox()).map(b => [b.x + b.width / 2, b.y + b.height / 2, b.width / 2]);
      const on = ([[x1, y1], [x2, y2]], [x, y, r]) => Math.hypot(x - x1, y - y1) > 2 * r
        && [...Array(101).keys()].some(i => Math.hypot(
          x1 + i / 100 * (x2 - x1) - x, y1 + i / 100 * (y2 - y1) - y) < r);
      return [leads.length, leads.map(ends).filter(e => marks.some(m => on(e, m))).length];
    }""")  # fmt: skip

    assert led > 0
    assert crossed == 0


def test_no_label_hides_an_own_ceiling_near_a_ridge(opened: Open):
    found = [path for path in REPORTS if path.stem.endswith("HandsOnNsight__ncu__MW_Baseline")]
    if not found:
        pytest.skip("no shared reports here")
    made = page(analyze(found[0]))
    for width in (1360, 700):
        shown = opened(made, width=width)
        caps, hidden = shown.evaluate("""() => {
          const caps = [...document.querySelectorAll('#chart .cap')].map(c => c.getBBox());
          const texts = [...document.querySelectorAll('#chart text.label')]
            .filter(t => !/rotate\\(-?[1-9]/.test(t.getAttribute('transform') || ''))
            .map(t => [t.textContent, t.getBBox(), t.transform.baseVal.consolidate()?.matrix]);
          return [caps.length, texts.filter(([, b, m]) => caps.some(c => {
            const x = b.x + (m ? m.e : 0), y = b.y + (m ? m.f : 0), mid = c.x + c.width / 2;
            return x < mid && mid < x + b.width && y + 3 < c.y && c.y < y + b.height - 3;
          })).map(([text]) => text)];
        }""")  # fmt: skip

        assert caps == 3
        assert width < 1360 or shown.locator("#chart .own").count() == caps
        assert hidden == []


@pytest.mark.parametrize("made", [many, mixed, lambda: crowd(2, 9), lambda: crowd(5, 300)])
def test_a_name_is_nearest_to_its_own_mark_or_has_a_line_to_it(opened: Open, made: Any):
    for width in (1360, 600):
        shown = opened(page(made()), width=width)
        named, astray = shown.evaluate("""() => {
          const marks = [...document.querySelectorAll('#chart g[data-k] > path')].map(m => {
            const b = m.getBoundingClientRect();
            return [m.parentNode.dataset.k, b.x + b.width / 2, b.y + b.height / 2, b.width / 2];
          });
          const leads = [...document.querySelectorAll('line.lead')].map(line => {
            const to = line.getScreenCTM(), at = n => +line.getAttribute(n);
            return ['1', '2'].map(i => new DOMPoint(at('x' + i), at('y' + i)).matrixTransform(to));
          });
          const gap = (b, x, y) => Math.hypot(x - Math.min(Math.max(x, b.left), b.right),
            y - Math.min(Math.max(y, b.top), b.bottom));
          const names = [...document.querySelectorAll('#chart text.name[data-of]')];
          return [names.length, names.filter(name => {
            const b = name.getBoundingClientRect(), own = marks.find(m => m[0] === name.dataset.of);
            if (leads.some(([from, to]) => gap(b, to.x, to.y) < 5
              && Math.hypot(from.x - own[1], from.y - own[2]) < 5)) return false;
            return marks.some(m => m !== own && gap(b, m[1], m[2]) - m[3]
              < gap(b, own[1], own[2]) - own[3] - 1);
          }).map(name => name.textContent)];
        }""")  # fmt: skip

        assert named > 0
        assert astray == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("made", [many, pairs])
def test_every_text_can_be_read(opened: Open, made: Any, scheme: str):
    shown = opened(page(made()), color_scheme=scheme)
    for mode in modes(shown):
        shown.select_option("#mode", mode)
        ratio, text = shown.evaluate(CONTRAST)

        assert ratio >= 4.5, text


@pytest.mark.skipif(
    importlib.util.find_spec("axe_playwright_python") is None,
    reason="no axe-core: pip install -e '.[browser]'",
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("made", [many, pairs])
def test_axe_finds_nothing(opened: Open, made: Any, scheme: str):
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    shown = opened(page(made()), color_scheme=scheme, bypass_csp=True)
    shown.evaluate(axe)
    for mode in modes(shown):
        shown.select_option("#mode", mode)
        found = shown.evaluate("axe.run({ resultTypes: ['violations'] })")

        assert [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]] == []


@pytest.mark.parametrize("made", [many, pairs, lambda: crowd(5, 300)])
def test_on_paper_nothing_is_cut(opened: Open, made: Any):
    shown = opened(page(made()))
    shown.emulate_media(media="print")
    shown.set_viewport_size({"width": 760, "height": 1000})
    for mode in modes(shown):
        shown.evaluate("dispatchEvent(new Event('afterprint'))")
        shown.evaluate(
            "m => { const e = document.getElementById('mode'); e.value = m;"
            "e.dispatchEvent(new Event('change')); }",
            mode,
        )
        shown.evaluate("dispatchEvent(new Event('beforeprint'))")

        assert shown.evaluate("document.documentElement.scrollWidth") <= 760
        assert shown.locator("#table").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    rows = shown.locator("#rows tr[data-k]").count()
    assert rows == int(shown.locator("#count").text_content().split()[0])


def test_paper_says_how_many_kernels_it_leaves_out(opened: Open):
    shown = opened(page(crowd(4, 450)))
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")

    assert shown.locator("#rows tr[data-k]").count() == 400
    assert shown.locator("#rows tr").last.inner_text() == "and 50 more"


def test_filters_leave_what_fits_and_count_it(opened: Open):
    shown = opened(page(many()))
    count = shown.locator("#count")

    assert count.inner_text().startswith("8 of 8 kernels, 100.0 %")
    shown.fill("#query", "dense_[0-2]")
    assert count.inner_text().startswith("3 of 8 kernels")
    shown.fill("#query", "[")  # no regular expression: the letter itself
    assert count.inner_text().startswith("0 of 8")
    assert shown.locator("#chart text.name").text_content() == "No kernel fits these filters."
    shown.fill("#query", "")
    shown.uncheck("#bounds input[value=compute]")
    assert count.inner_text().startswith("2 of 8 kernels")
    assert [t.split()[-1] for t in shown.locator("#bounds label").all_inner_texts()] == [
        "1", "6", "1", "0",
    ]  # fmt: skip
    shown.check("#bounds input[value=compute]")
    shown.evaluate(
        "e => { e.value = 70; e.dispatchEvent(new Event('input')); }",
        shown.locator("#share").element_handle(),
    )
    assert 0 < int(count.inner_text().split()[0]) < 8


def test_one_kernel_can_stand_alone(opened: Open):
    shown = opened(page(many()), address="#k=3")
    shown.click("#only")

    assert shown.locator("#count").inner_text().startswith("1 of 8 kernels")
    assert shown.locator("#chart path.mark").count() == 1
    assert shown.locator("#only").get_attribute("aria-pressed") == "true"
    shown.click("#only")
    assert shown.locator("#count").inner_text().startswith("8 of 8 kernels")
    assert shown.locator("#evidence h2").inner_text().startswith("3 ")


def test_heads_sort_and_keep_saying_so(opened: Open):
    shown = opened(page(many()))
    head = shown.locator("#table th", has_text="Kernel")
    head.locator("button").click()

    assert head.get_attribute("aria-sort") == "ascending"
    assert shown.locator("#rows td:nth-child(2)").first.inner_text() == "dense_0"
    shown.locator("#table th", has_text="Kernel").locator("button").click()
    assert shown.locator("#table th", has_text="Kernel").get_attribute("aria-sort") == "descending"
    assert shown.locator("#rows td:nth-child(2)").first.inner_text() == "waiting"
    shown.fill("#query", "dense")
    assert shown.locator("#table th", has_text="Kernel").get_attribute("aria-sort") == "descending"


def test_keys_and_rows_choose_a_kernel_and_the_address_says_which(opened: Open):
    shown = opened(page(many()))
    shown.focus("#chart")
    shown.keyboard.press("ArrowRight")
    first = shown.evaluate("location.hash")
    shown.keyboard.press("ArrowRight")

    assert re.fullmatch(r"#k=\d+", first)
    assert shown.evaluate("location.hash") != first
    row = shown.locator("#rows tr", has_text="waiting")
    row.focus()
    shown.keyboard.press("Enter")
    assert "waiting" in shown.locator("#evidence h2").inner_text()
    assert row.get_attribute("aria-selected") == "true"
    assert "long scoreboard" in shown.locator("#evidence").inner_text()


def test_a_link_opens_its_kernel(opened: Open):
    shown = opened(page(many()), address="#k=3")

    assert shown.locator("#evidence h2").inner_text().startswith("3 ")


def test_zoom_and_fit(opened: Open):
    shown = opened(page(many()))

    before = shown.locator("#chart path.mark").first.get_attribute("d")

    def moves(*, back: bool) -> None:  # it is drawn again with the next frame
        there = "document.querySelector('#chart path.mark').getAttribute('d')"
        shown.wait_for_function(f"d => ({there} === d) === {str(back).lower()}", arg=before)

    shown.focus("#chart")
    shown.keyboard.press("+")
    moves(back=False)
    shown.keyboard.press("0")
    moves(back=True)
    shown.mouse.move(400, 400)
    shown.mouse.wheel(0, -300)
    moves(back=False)
    shown.click("#fit")
    moves(back=True)


def test_thousands_are_drawn_on_a_canvas_and_their_rows_as_they_are_seen(opened: Open):
    shown = opened(page(crowd(4, 3000)))

    assert shown.locator("#chart canvas").is_visible()
    assert shown.locator("#chart path.mark").count() == 0
    assert shown.locator("#rows tr").count() < 100
    shown.evaluate("document.getElementById('table').scrollTop = 60000")
    shown.wait_for_function(
        "() => +document.querySelector('#rows tr[data-k] td').textContent > 1500"
    )


def test_pairs_are_coloured_by_outcome_and_noise_gets_no_arrow(opened: Open):
    shown = opened(page(pairs()))

    assert shown.locator("#chart .faster .arrow").count() == 1
    assert shown.locator("#chart .arrow").count() == 1
    assert "4.00x" in shown.locator("#rows").inner_text()
    assert "92 % → 24 %" in shown.locator("#evidence").inner_text()


def test_hostile_names_are_text(opened: Open):
    shown = opened(page(analysis(kernel(EVIL, demangled=EVIL)), Options(title=EVIL)))
    shown.evaluate("document.querySelector('#chart').focus()")
    shown.keyboard.press("ArrowRight")

    assert shown.locator("img").count() == 0
    assert "<script>alert(1)" in shown.locator("#rows td").nth(1).inner_text()


def test_without_script_the_table_is_there(opened: Open):
    shown = opened(page(mixed()), java_script_enabled=False)

    assert shown.locator("tbody tr").count() == 7
    assert not shown.locator("#bar").is_visible()


def test_print_from_dark_is_light(opened: Open):
    shown = opened(page(many()), color_scheme="dark")
    shown.emulate_media(media="print", color_scheme="dark")

    body = "getComputedStyle(document.body).backgroundColor"
    assert shown.evaluate(body) == "rgb(255, 255, 255)"
    assert not shown.locator("#bar").is_visible()
    assert shown.locator("#chart svg").is_visible()


def test_the_theme_can_be_changed(opened: Open):
    shown = opened(page(many()), color_scheme="light")
    body = "getComputedStyle(document.body).backgroundColor"

    assert shown.evaluate(body) == "rgb(255, 255, 255)"
    shown.click("#theme")
    assert shown.evaluate(body) == "rgb(13, 17, 23)"


def test_the_evidence_goes_along_as_markdown_and_the_chart_as_png(opened: Open):
    shown = opened(page(many()))
    shown.click("#copy")
    shown.wait_for_selector("#copy[data-text]")
    text = shown.locator("#copy").get_attribute("data-text")

    assert text.startswith("### dense\\_0")
    assert "#### Claim" in text
    with shown.expect_download() as download:
        shown.click("#png")
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


def test_states_without_a_place_say_why(opened: Open):
    shown = opened(page(analysis(kernel("copy", operations={}))))

    assert shown.locator("#view").input_value() == "time"
    shown.select_option("#view", "roofline")
    assert "operations not measured" in shown.locator("#chart text.name").text_content()
    shown.select_option("#view", "instructions")
    assert "warp instructions not counted" in shown.locator("#chart text.name").text_content()


def test_instructions_and_time_have_their_own_charts(opened: Open):
    counts = {"instructions": 1e6, "global_requests": 2e5, "global_sectors": 8e5}
    copy = kernel("copy", operations={"fp32": 0.0}, counts=counts, l1_bytes=1e9, sm_clock_hz=1e9)
    shown = opened(page(analysis(copy)))

    assert shown.locator("#view").input_value() == "instructions"
    assert shown.locator("#chart [data-roof='dram report']").count() == 1
    shown.select_option("#level", "l1")
    assert shown.locator("#chart .wall").count() > 0
    # Two sectors a byte row: 2e5 requests of 8e5 sectors are on the wall at a quarter.
    wall, mark = shown.evaluate("""() => {
      const walls = [...document.querySelectorAll('.wall')].map(w => w.getBoundingClientRect().x);
      const m = document.querySelector('[data-level=global]').getBoundingClientRect();
      return [walls, m.x + m.width / 2];
    }""")
    assert min(abs(w - mark) for w in wall) < 2
