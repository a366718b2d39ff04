"""Who may import what: the walls of docs/architecture.md, held by a test."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "roofline"
MODULES = sorted(PACKAGE.rglob("*.py"))
# Foreign package -> the only places that may import it.
OWNERS = {
    "subprocess": ("process.py",),
    "ncu_report": ("reports/nvidia.py",),
    "google": ("reports/fields.py",),
    "multiprocessing": ("reports/pool.py",),
    "matplotlib": ("plot/",),
    "pandas": ("render/",),
    "click": ("cli/",),
    "rich": ("text/", "render/", "cli/"),
    "sqlite3": ("timeline/",),
    "torch": ("specs/",),
}
# Of ours: module -> what it must never import.
_COUNTERS = ("roofline.reports", "roofline.counters.measure", "roofline.model", "roofline.counters")
FORBIDDEN = {
    "model.py": ("roofline",),
    "errors.py": ("roofline",),
    "verdict/": _COUNTERS,
    "fold.py": _COUNTERS,
    "render/": _COUNTERS,
    "plot/": _COUNTERS,
    "compare/": (*_COUNTERS, "roofline.render", "roofline.plot"),
    "reports/": ("roofline.counters", "roofline.verdict", "roofline.analysis"),
}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_owner_imports(path):
    name, tops = name_of(path), {module.partition(".")[0] for module in imported(path)}
    strays = {
        package
        for package, owners in OWNERS.items()
        if package in tops and not name.startswith(owners)
    }
    assert not strays


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_walls_within_the_package(path):
    name, modules = name_of(path), imported(path)
    broken = {
        (module, forbidden)
        for place, walls in FORBIDDEN.items()
        if name.startswith(place)
        for forbidden in walls
        for module in modules
        if module == forbidden or module.startswith(forbidden + ".")
        if not module.startswith(("roofline.model", "roofline.errors"))
    }
    assert not broken


def test_only_the_command_line_prints():
    strays = [
        name_of(path)
        for path in MODULES
        if not name_of(path).startswith("cli/")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"print", "exit", "input"}
    ]
    assert not strays


HEAVY = ("pandas", "matplotlib", "numpy", "ncu_report", "rich", "pyarrow", "msgspec", "google")


def test_help_of_every_command_imports_nothing_heavy():
    code = (
        "import sys, roofline.cli\n"
        "from roofline.cli import COMMANDS, cli\n"
        "inner = [['specs', name] for name in ('list', 'show', 'check', 'measure')]\n"
        "for words in [[], *([name] for name in COMMANDS), *inner]:\n"
        "    try: cli([*words, '--help'], prog_name='roofline')\n"
        "    except SystemExit: pass\n"
        f"    print(words, [m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    lines = done.stderr.splitlines()
    assert len(lines) > 10
    assert not [line for line in lines if not line.endswith(" []")]


def test_importing_the_package_is_light():
    code = f"import sys, roofline; print([m for m in {(*HEAVY, 'click')!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
