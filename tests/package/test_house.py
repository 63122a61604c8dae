"""What keeps the house readable at any size: short functions and lines."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.environment import ROOT
from support.sources import read

PACKAGE = ROOT / "python" / "truerank"
pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside these tests")

FOLDERS = ("python/truerank", "tests", "fuzz", "bench")
LONG_LINES = 20  # of more than 100 characters, in the package
# Rooms whose arrays have an element for each fact, answer, label or task of a large data set.
ROOMS_OF_MILLIONS = (
    "arrays",
    "inputs",
    "ranks",
    "counting",
    "devices",
    "records",
    "tasks",
    "link_prediction",
    "alignment",
    "retrieval",
    "compat",
    "adapters",
    "cli",
)
SETS = r"unique(_\w+)?|isin|in1d|intersect1d|setdiff1d|setxor1d|union1d"
MARKER = r"# by numpy: (floats|words|few values)$"
MOST_LINES = 60  # of code in a function: no docstrings, comments and blank lines


def files_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lengths_of_functions(folder: str) -> Iterator[tuple[str, int]]:
    for path in files_of(folder):
        source = read(path)
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = range(node.lineno, (node.end_lineno or 0) + 1)
                yield f"{name_of(path)}:{node.name}", len(source.code.intersection(lines))


@pytest.mark.parametrize("folder", FOLDERS)
def test_functions_of_at_most_60_lines_of_code(folder: str) -> None:
    assert {name: n for name, n in lengths_of_functions(folder) if n > MOST_LINES} == {}


def dense_expressions(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of nested conditional expressions, and of `[*a, *(b if c else d)]`."""
    for node in ast.walk(tree):
        match node:
            case ast.IfExp():
                parts = [inner for part in ast.iter_child_nodes(node) for inner in ast.walk(part)]
                if any(isinstance(inner, ast.IfExp) for inner in parts):
                    yield node.lineno
            case ast.Starred(value=ast.IfExp()):
                yield node.lineno


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_conditions_in_conditions(folder: str) -> None:
    found = {name_of(path): list(dense_expressions(read(path).tree)) for path in files_of(folder)}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_no_line_is_longer_than_the_formatter_makes_it() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in files_of("python/truerank")}
    unformatted = [name_of(path) for path, text in texts.items() if "fmt: " in text]
    kernels = "python/truerank/devices/"  # of Triton, whose long lists of parameters stay
    assert [name for name in unformatted if not name.startswith(kernels)] == []
    long = [line for text in texts.values() for line in text.splitlines() if len(line) > 100]
    assert len(long) <= LONG_LINES


def uses_of_sets(path: Path) -> Iterator[str]:
    """Yield numpy's functions of sets that a file calls without a marker in the line."""
    source = read(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        is_of_sets = node.value.id == "np" and re.fullmatch(SETS, node.attr)
        if is_of_sets and not re.search(MARKER, lines[node.lineno - 1]):
            yield f"{name_of(path)}:{node.lineno} np.{node.attr}"


def test_integers_are_told_apart_by_one_module() -> None:
    """numpy hashes integers, which takes ten times as long as to sort them: see arrays/row_keys.py.

    Floats, words and few values may go by numpy, if a comment at the end of the line says so.
    """
    paths = [path for room in ROOMS_OF_MILLIONS for path in (PACKAGE / room).rglob("*.py")]
    assert len(paths) > len(ROOMS_OF_MILLIONS)
    assert [use for path in paths for use in uses_of_sets(path)] == []


def test_no_folder_or_module_hides_one_of_the_standard_library() -> None:
    """As a folder `html` would for who works in the package's own folder."""
    names = {path.stem for path in PACKAGE.iterdir()} - {"__init__", "__main__"}
    assert names & sys.stdlib_module_names == set()


def test_commits_are_formatted_by_the_versions_of_the_lint_session() -> None:
    hooks = ROOT / ".pre-commit-config.yaml"
    if not hooks.is_file():
        pytest.skip("no hooks beside these tests")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pinned = re.findall(r"[\w-]+==[\d.]+", hooks.read_text(encoding="utf-8"))
    assert sorted(set(pinned)) == sorted(project["dependency-groups"]["format"])
