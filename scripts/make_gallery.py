"""Draw the pictures of docs/gallery.md and README.md from the sample reports, and write the page.

Two pictures of the README are of NVIDIA's examples, and drawn if ROOFLINE_TEST_EXAMPLES names their
folder.

tests/test_gallery.py holds that the page is this, and that what is written in the pictures is what
would be written in them now.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import roofline  # noqa: E402
from roofline.cli import cli  # noqa: E402
from roofline.plot.save import compact  # noqa: E402
from scripts.refresh_docs import nvidia  # noqa: E402

IMAGES = ROOT / "docs" / "images"
PAGE = ROOT / "docs" / "gallery.md"
_HEAD = """# Gallery

Each picture with the question that it answers and the command that draws it, from
[sample reports](../sample_reports/README.md). [plot.md](plot.md) says how to read them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A picture: its file, the question it answers, where to look, and the command without -o."""

    file: str
    question: str
    look: str
    command: str


OF_NVIDIA = {"transpose.svg": "light", "transpose-dark.svg": "dark"}
GALLERY = (
    Shown(
        file="step.svg",
        question="What limits the kernels of this step?",
        look="Above, a mark is what a kernel reached, and the bar over it its own ceiling. Below, "
        "the box is the busiest unit. `transpose_scores` has no operations, so it is below only.",
        command="plot sample_reports/h100_mix.ncu-rep",
    ),
    Shown(
        file="step-dark.svg",
        question="The same in dark",
        look="`--theme light`, `dark` and `paper` draw the same.",
        command="plot sample_reports/h100_mix.ncu-rep --theme dark",
    ),
    Shown(
        file="gain.svg",
        question="Where does the time go, and what would the nearest ceiling save?",
        look="Full is work of the busiest unit, pale is waiting, the tick is the next ceiling.",
        command="plot sample_reports/h100_mix.ncu-rep --view gain",
    ),
    Shown(
        file="tiny.svg",
        question="Why is this kernel slow although nothing is busy?",
        look="The dotted stem is what waiting costs; below are waves, occupancy and stalls.",
        command="plot sample_reports/a100_tiny.ncu-rep",
    ),
    Shown(
        file="fp64.svg",
        question="Is this kernel at the limit of its own unit?",
        look="The FP64 pipe is busy 90 % of the time; how far its bar is below the FP64 roof is "
        "what other instructions than FMA cost.",
        command="plot sample_reports/rtx4090_nbody_fp64.ncu-rep",
    ),
    Shown(
        file="basic.svg",
        question="What can be said of a report with percentages only?",
        look="`--set basic` counts no operations: there is no roofline, and all units.",
        command="plot sample_reports/h100_basic.ncu-rep",
    ),
    Shown(
        file="levels.svg",
        question="Do the caches help?",
        look="`--level` adds a hollow mark for each level; the gaps are what a cache saves.",
        command="plot sample_reports/a100_stencil_fp32.ncu-rep --view roofline --level l2",
    ),
    Shown(
        file="paper.svg",
        question="How does it look in print?",
        look="Colours differ in lightness; a PDF has the same with its font embedded.",
        command="plot sample_reports/h100_mix.ncu-rep --view units --theme paper --size 640",
    ),
    Shown(
        file="compare.svg",
        question="Did the change work, and why?",
        look="Before: shared memory was full. After: it is not, and DRAM is the next ceiling.",
        command="compare sample_reports/a100_transpose_before.ncu-rep "
        "sample_reports/a100_transpose_after.ncu-rep",
    ),
)


def draw(shown: Shown, folder: Path) -> Path:
    """Run the command of a picture into a folder; the SVG is kept in fewer letters."""
    here, target = Path.cwd(), (folder / shown.file).resolve()
    os.chdir(ROOT)
    try:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            words = [*shlex.split(shown.command), "-o", str(target), "--force"]
            code = cli(words, standalone_mode=False)
    finally:
        os.chdir(here)
    if code or not target.exists():
        raise SystemExit(f"{shown.command} failed: {said.getvalue()}")
    return _kept(target)


def draw_nvidia(examples: Path, folder: Path) -> list[Path]:
    """What happened between NVIDIA's two transposes."""
    before, after = (
        examples / f"transpose{name}.ncu-rep" for name in ("Coalesced", "NoBankConflicts")
    )
    comparison = roofline.compare(before, after)
    for name, theme in OF_NVIDIA.items():
        (folder / name).unlink(missing_ok=True)
        roofline.plot(comparison, folder / name, theme=theme)
    return [_kept(folder / name) for name in OF_NVIDIA]


def _kept(picture: Path) -> Path:
    picture.write_text(compact(picture.read_text(encoding="utf-8")) + "\n", encoding="utf-8")
    return picture


def page() -> str:
    """The gallery as Markdown."""
    entries = (
        f"## {shown.question}\n\n    roofline {shown.command} -o {shown.file}\n\n"
        f"![{shown.question}](images/{shown.file})\n\n{shown.look}\n"
        for shown in GALLERY
    )
    return "\n".join([_HEAD, *entries])


def main() -> None:
    """Draw everything."""
    IMAGES.mkdir(exist_ok=True)
    for shown in GALLERY:
        print(draw(shown, IMAGES).relative_to(ROOT))
    if (examples := nvidia()) is not None:
        for picture in draw_nvidia(examples, IMAGES):
            print(picture.relative_to(ROOT))
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
