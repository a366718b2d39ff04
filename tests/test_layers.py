"""Who may import what: docs/architecture.md's arrows, held by an allow-list."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "roofline"
MODULES = {
    path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
}
# Foreign package -> the only places that may import it.
OWNERS = {
    "subprocess": ("process.py",),
    "ncu_report": ("reports/nvidia.py",),
    "google": ("reports/fields.py",),
    "multiprocessing": ("reports/pool.py",),
    "matplotlib": ("plot/",),
    "pandas": ("render/",),
    "click": ("cli/",),
    "rich": ("text/", "render/", "cli/", "plot/terminal.py"),
    "sqlite3": ("timeline/",),
    "torch": ("specs/",),
    "pytest": ("pytest_plugin.py",),
}
# A part of the package -> the parts that it may import: what stands below it, and no more than it
# uses. The order is that of the arrows, so that no line can name a part above its own.
ARROWS = {
    "foreign": (),
    "errors": (),
    "arguments": ("errors",),
    "display": (),
    "model": ("arguments", "display", "errors"),
    "units": ("model",),
    "kernel_names": ("foreign",),
    "patterns": ("errors", "kernel_names"),
    "files": ("errors",),
    "process": (),
    "nvtx": (),
    "regions": ("errors", "nvtx"),
    "playbook": ("errors", "model", "units", "files"),
    "text": ("model", "units", "kernel_names", "playbook"),
    "reports": ("arguments", "foreign", "errors", "model", "files"),
    "counters": ("model", "units", "kernel_names"),
    "specs": ("foreign", "errors", "model", "files", "process"),
    "verdict": ("model", "units", "kernel_names", "playbook"),
    "fold": ("model", "units"),
    "figures": ("arguments", "errors", "model", "files", "specs", "text"),
    "analysis": (
        "arguments",
        "errors",
        "model",
        "files",
        "playbook",
        "reports",
        "counters",
        "specs",
        "verdict",
        "fold",
        "figures",
    ),
    "view": ("arguments", "errors", "model", "units", "kernel_names", "patterns", "fold"),
    "outlook": ("model", "kernel_names", "view"),
    "wall_time": ("foreign", "errors", "model", "patterns", "files", "process", "text"),
    "gpu_time": ("arguments", "display", "errors", "specs", "wall_time"),
    "timeline": (
        "arguments",
        "display",
        "errors",
        "model",
        "kernel_names",
        "patterns",
        "files",
        "process",
        "specs",
    ),
    "capture": (
        "errors",
        "model",
        "units",
        "kernel_names",
        "patterns",
        "files",
        "process",
        "regions",
        "reports",
        "counters",
        "timeline",
    ),
    "compare": (
        "display",
        "foreign",
        "errors",
        "model",
        "units",
        "kernel_names",
        "patterns",
        "files",
        "process",
        "playbook",
        "text",
        "fold",
        "wall_time",
    ),
    "render": (
        "arguments",
        "foreign",
        "errors",
        "model",
        "units",
        "playbook",
        "text",
        "specs",
        "view",
        "outlook",
        "timeline",
        "capture",
        "compare",
        "wall_time",
    ),
    "plot": (
        "arguments",
        "display",
        "errors",
        "model",
        "units",
        "kernel_names",
        "files",
        "text",
        "view",
        "timeline",
        "compare",
        "render",
    ),
    "trial": ("arguments", "errors", "model", "regions", "analysis", "capture"),
    "pytest_plugin": ("model", "text", "capture", "compare", "render", "trial"),
    "notebook": (
        "arguments",
        "display",
        "errors",
        "files",
        "model",
        "text",
        "view",
        "timeline",
        "compare",
        "render",
        "plot",
    ),
    "api": (
        "arguments",
        "display",
        "errors",
        "kernel_names",
        "model",
        "patterns",
        "files",
        "timeline",
        "view",
        "analysis",
        "compare",
        "plot",
        "notebook",
    ),
    "cli": (
        "foreign",
        "api",
        "errors",
        "model",
        "kernel_names",
        "patterns",
        "files",
        "process",
        "text",
        "reports",
        "counters",
        "specs",
        "figures",
        "analysis",
        "view",
        "wall_time",
        "timeline",
        "capture",
        "compare",
        "render",
        "plot",
    ),
    "__init__": (
        "display",
        "api",
        "errors",
        "model",
        "regions",
        "reports",
        "figures",
        "analysis",
        "gpu_time",
        "render",
        "trial",
    ),
    "__main__": ("cli",),
}


def part_of(module: str) -> str:
    """The folder of a module, or its own name at the top: "text", "model"."""
    return module.partition("/")[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "roofline":
            names |= {f"roofline.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def arrows() -> dict[str, set[str]]:
    """The imports between parts, as they are in the code."""
    found: dict[str, set[str]] = {}
    for module, tree in MODULES.items():
        part = part_of(module)
        ours = {name.split(".")[1] for name in imported(tree) if name.startswith("roofline.")}
        found.setdefault(part, set()).update(ours - {part, "__version__"})
    return found


def test_the_arrows_are_those_of_the_list():
    assert arrows() == {part: set(below) for part, below in ARROWS.items()}


def test_the_arrows_go_one_way():
    order = list(ARROWS)
    up = [(a, b) for a, below in ARROWS.items() for b in below if order.index(b) >= order.index(a)]
    assert not up


def test_the_page_has_every_part_in_the_order_of_the_arrows():
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("| part | holds |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    named = [part_of(word) for row in rows for word in re.findall(r"`([^`]+)`", row)]

    assert named == [part for part in ARROWS if not part.startswith("__")]


def test_only_the_owner_imports_a_foreign_package():
    strays = {
        (module, package)
        for module, tree in MODULES.items()
        for package in {name.partition(".")[0] for name in imported(tree)} & OWNERS.keys()
        if not module.startswith(OWNERS[package])
    }
    assert not strays


def test_only_the_command_line_prints():
    strays = [
        module
        for module, tree in MODULES.items()
        if not module.startswith("cli/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"print", "exit", "input"}
    ]
    assert not strays


def test_only_what_measures_knows_a_counter():
    """What comes after a measurement names no metric; capture names those that it asks ncu for."""
    knowing = ("units.py", "counters/", "capture/", "reports/", "specs/audit.py")
    beginnings = ("dram__", "lts__", "l1tex__", "sm__", "smsp__", "gpu__", "sass__", "launch__")
    strays = {
        (module, node.value)
        for module, tree in MODULES.items()
        if not module.startswith(knowing)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith(beginnings)
    }
    assert not strays


def test_a_class_name_means_one_thing():
    names = Counter(
        node.name
        for tree in MODULES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_every_module_says_what_it_is_for():
    assert [module for module, tree in MODULES.items() if not ast.get_docstring(tree)] == []


def test_every_error_says_what_to_try():
    """A gate alone has nothing to type: what it tells is the answer."""
    kinds = {"InputError", "UsageError", "CaptureError", "ProgramError"}
    without = [
        f"{module}, line {node.lineno}"
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in kinds
        if not {"hint", None} & {word.arg for word in node.keywords}
    ]
    assert not without


HEAVY = ("pandas", "matplotlib", "numpy", "ncu_report", "rich", "pyarrow", "msgspec", "google")


def loaded(code: str, packages: tuple[str, ...]) -> list[str]:
    """Of ``packages`` those that are imported after ``code``, said at each call of ``tell``."""
    told = f"import sys\ndef tell(): print(*(m for m in {packages!r} if m in sys.modules))\n"
    argv = [sys.executable, "-c", told + code]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def test_help_of_every_command_imports_nothing_heavy():
    code = """
import contextlib, io
from roofline.cli import COMMANDS, cli
inner = [["specs", name] for name in ("list", "show", "check", "measure")]
for words in [[], *([name] for name in COMMANDS), *inner]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli([*words, "--help"], prog_name="roofline")
    tell()
"""
    lines = loaded(code, HEAVY)

    assert len(lines) > 10
    assert not any(lines)


def test_importing_the_package_is_light():
    assert loaded("import roofline\ntell()", (*HEAVY, "click")) == [""]
