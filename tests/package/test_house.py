"""The house stays small: its rooms, files, functions and lines have ceilings."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from support.environment import ROOT

PACKAGE = ROOT / "python" / "truerank"
pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside these tests")

# Lines of code (docstrings, comments and blank lines not counted): at most, and the goal.
# Whoever makes a room smaller lowers its ceiling; a commit that raises one says why.
ROOMS = {
    "inputs": (1000, 1000),
    "tables": (600, 600),
    "ranks": (700, 700),
    "stores": (725, 700),
    "devices": (900, 900),
    "counting": (1300, 1300),
    "embeddings": (600, 600),
    "metrics": (2080, 1700),
    "inference": (1600, 1600),
    "reporting": (1049, 1000),
    "plot": (700, 700),
    "html": (200, 200),
    "tasks": (1433, 1000),
    "link_prediction": (1400, 1400),
    "alignment": (1800, 1800),
    "retrieval": (1300, 1300),
    "compat": (650, 650),
    "adapters": (1700, 1700),
    "cli": (1300, 1300),
}
FOLDERS = {
    "python/truerank": (21000, 21000),
    "tests": (24820, 24000),
    "fuzz": (1500, 1500),
    "bench": (6000, 6000),
}
FILES = (174, 180)  # of the package
LONG_LINES = 20  # of more than 100 characters, in the package
# Functions of more than 60 lines of code, and files of more than 600 lines, with their length.
LONG_FUNCTIONS: dict[str, int] = {}
LONG_FILES: dict[str, int] = {}


class Source(NamedTuple):
    """A file: its lines, its tree, the numbers of the lines that are code."""

    lines: list[str]
    tree: ast.Module
    code: frozenset[int]


@cache
def read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    lines, tree = text.splitlines(), ast.parse(text)
    told: set[int] = set()
    for node in ast.walk(tree):
        kinds = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            told.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    written = {i for i, line in enumerate(lines, 1) if line.strip()[:1] not in ("", "#")}
    return Source(lines, tree, frozenset(written - told))


def files_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def size_of(folder: str) -> int:
    return sum(len(read(path).code) for path in files_of(folder))


def long_functions(folder: str) -> Iterator[tuple[str, int]]:
    for path in files_of(folder):
        source = read(path)
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = range(node.lineno, (node.end_lineno or 0) + 1)
                yield f"{name_of(path)}:{node.name}", len(source.code & {*lines})


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_keep_below_their_ceilings(room: str) -> None:
    assert size_of(f"python/truerank/{room}") <= ROOMS[room][0]


def test_every_room_has_a_ceiling() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == {*ROOMS}


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_keep_below_their_ceilings(folder: str) -> None:
    assert size_of(folder) <= FOLDERS[folder][0]


@pytest.mark.parametrize("folder", FOLDERS)
def test_ceilings_follow_what_became_smaller(folder: str) -> None:
    assert FOLDERS[folder][0] <= max(FOLDERS[folder][1], 1.05 * size_of(folder))


def test_the_number_of_files_falls() -> None:
    assert len(files_of("python/truerank")) <= FILES[0]


@pytest.mark.parametrize("folder", FOLDERS)
def test_functions_of_at_most_60_lines_of_code(folder: str) -> None:
    longer = {name: n for name, n in long_functions(folder) if n > LONG_FUNCTIONS.get(name, 60)}
    assert longer == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_of_at_most_600_lines(folder: str) -> None:
    lines = {name_of(path): len(read(path).lines) for path in files_of(folder)}
    assert {name: n for name, n in lines.items() if n > LONG_FILES.get(name, 600)} == {}


def test_no_line_is_longer_than_the_formatter_makes_it() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in files_of("python/truerank")}
    unformatted = [name_of(path) for path, text in texts.items() if "fmt: " in text]
    kernels = "python/truerank/devices/"  # of Triton, whose long lists of parameters stay
    assert [name for name in unformatted if not name.startswith(kernels)] == []
    long = [line for text in texts.values() for line in text.splitlines() if len(line) > 100]
    assert len(long) <= LONG_LINES


def test_at_most_twenty_three_entries() -> None:
    products = ("__pycache__", ".so", ".pyd")
    names = [path.name for path in PACKAGE.iterdir() if not path.name.endswith(products)]
    assert len(names) <= 23


def test_no_two_modules_share_a_name() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert [name for name, times in names.items() if times > 1] == []
