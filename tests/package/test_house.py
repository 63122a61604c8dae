"""What keeps the house readable: short functions, few things to learn, and light calls."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import truerank
from support.environment import ROOT, Run

PACKAGE = ROOT / "python" / "truerank"
pytestmark = [
    pytest.mark.python_only,
    pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside these tests"),
]

FOLDERS = ("python/truerank", "tests", "fuzz", "bench")
MOST_LINES = 60  # of code in a function: no docstrings, comments and blank lines
LONG_LINES = 5  # of more than 100 characters, in the package
MOST_WORDS = 1200  # of a docstring: what more there is to say is on a page
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)


def files_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def documented_in(path: Path) -> list[Any]:
    """Return the module of a file, and its classes and functions, however deep: statements all."""
    found: list[Any] = []
    open_nodes: list[Any] = [tree_of(path)]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, DOCUMENTED):
            found.append(node)
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, ())
            open_nodes += inner if isinstance(inner, list) else ()
    return found


def code_of(path: Path) -> set[int]:
    """Return the numbers of the lines that are no docstrings, comments or blank ones."""
    lines = path.read_text(encoding="utf-8").splitlines()
    code = {i for i, line in enumerate(lines, 1) if line.strip()[:1] not in ("", "#")}
    for node in documented_in(path):
        if ast.get_docstring(node, clean=False) is not None:
            code.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return code


@pytest.mark.parametrize("folder", FOLDERS)
def test_functions_of_at_most_60_lines_of_code(folder: str) -> None:
    longer = {}
    for path in files_of(folder):
        code = code_of(path)
        for node in documented_in(path):
            if isinstance(node, FUNCTIONS):
                number = len(code.intersection(range(node.lineno, (node.end_lineno or 0) + 1)))
                if number > MOST_LINES:
                    longer[f"{name_of(path)}:{node.name}"] = number
    assert longer == {}


def test_docstrings_of_at_most_1200_words() -> None:
    longer = {}
    for path in files_of("python/truerank"):
        for node in documented_in(path):
            number = len((ast.get_docstring(node) or "").split())
            if number > MOST_WORDS:
                longer[f"{name_of(path)}:{getattr(node, 'name', '')}"] = number
    assert longer == {}


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
    lines = {name_of(path): list(dense_expressions(tree_of(path))) for path in files_of(folder)}
    assert {name: numbers for name, numbers in lines.items() if numbers} == {}


def test_no_line_is_longer_than_the_formatter_makes_it() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in files_of("python/truerank")}
    unformatted = [name_of(path) for path, text in texts.items() if "fmt: " in text]
    kernels = "python/truerank/devices/"  # of Triton, whose long lists of parameters stay
    assert [name for name in unformatted if not name.startswith(kernels)] == []
    long = [line for text in texts.values() for line in text.splitlines() if len(line) > 100]
    assert len(long) <= LONG_LINES


# Rooms whose arrays have no element for each fact, answer, label or task of a large data set.
SMALL_ROOMS = {"embeddings", "inference", "metrics", "page", "plot", "reporting", "stores"}
SMALL_ROOMS |= {"tables"}
SETS = re.compile(r"\bnp\.(unique(_\w+)?|isin|in1d|intersect1d|setdiff1d|setxor1d|union1d)\(")
MARKER = re.compile(r"# by numpy: (floats|words|few values)$")


def test_integers_are_told_apart_by_one_module() -> None:
    """numpy hashes integers, which takes ten times as long as to sort them: see arrays/row_keys.py.

    Floats, words and few values may go by numpy, if a comment at the end of the line says so.
    """
    paths = [path for path in files_of("python/truerank") if path.parent.name not in SMALL_ROOMS]
    uses = []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            if SETS.search(line) and not MARKER.search(line):
                uses.append(f"{name_of(path)}: {line}")
    assert uses == []


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


def test_only_the_command_line_knows_that_there_is_one() -> None:
    """A message has its ways out as data, and no words that depend on who calls."""
    words = {}
    for path in files_of("python/truerank"):
        if path.parent.name == "cli":
            continue
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"ContextVar|(?<![-\w(])--[a-z][a-z-]+", text)
        if found:
            words[name_of(path)] = found
    assert words == {}


# -- the number of things to be learnt: a new thing needs another to go ----------------------------

THINGS = {
    "public names": 72,  # of functions and classes, which @public decorates
    "options": 95,  # names of parameters with a default, of what public modules offer
    "options of the command line": 71,
    "classes": 110,
    "named tuples": 16,
    "modules": 115,
}
WHAT_TO_DO = "a new thing needs another to go (CONTRIBUTING's rules); if one went, lower THINGS"
PUBLIC_MODULES = ("link_prediction", "alignment", "retrieval", "metrics", "inference")
PUBLIC_MODULES += ("plot", "page", "compat")


def definitions() -> list[ast.ClassDef | ast.FunctionDef]:
    nodes = [node for path in files_of("python/truerank") for node in documented_in(path)]
    return [node for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef))]


def options_of(function: Any) -> set[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return set()
    return {each.name for each in parameters if each.default is not each.empty}


def public_methods(cls: type) -> Iterator[Any]:
    """Yield the methods that truerank defines, with the constructor where it is no record's."""
    is_record = hasattr(cls, "_fields") or hasattr(cls, "__dataclass_fields__")
    for base in cls.__mro__:
        if not base.__module__.startswith("truerank"):
            continue
        for name, value in vars(base).items():
            function = getattr(value, "__func__", value)
            is_shown = not name.startswith("_") or (name == "__init__" and not is_record)
            if inspect.isfunction(function) and is_shown:
                yield function


def options() -> set[str]:
    names: set[str] = set()
    modules = [import_module(f"truerank.{name}") for name in PUBLIC_MODULES]
    for module in [truerank, *modules]:
        for offered in getattr(module, "__all__", dir(module)):
            value = getattr(module, offered)
            if inspect.isclass(value):
                names.update(*map(options_of, public_methods(value)))
            elif callable(value):
                names |= options_of(value)
    return names


def options_of_commands() -> set[str]:
    import click

    from truerank.cli.commands import commands

    context = click.Context(commands)  # the group loads a command when it is asked for it
    loaded = [commands.get_command(context, name) for name in commands.list_commands(context)]
    parameters = [each for command in [commands, *loaded] for each in command.params]
    options = [each for each in parameters if isinstance(each, click.Option)]
    return {max(each.opts, key=len) for each in options}


def test_there_are_as_many_things_as_are_written_down() -> None:
    pytest.importorskip("click")
    nodes = definitions()
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    decorators = [list(map(ast.unparse, node.decorator_list)) for node in nodes]
    numbers = {
        "public names": sum(any(x.startswith("public(") for x in each) for each in decorators),
        "options": len(options()),
        "options of the command line": len(options_of_commands()),
        "classes": len(classes),
        "named tuples": sum("NamedTuple" in map(ast.unparse, node.bases) for node in classes),
        "modules": len(files_of("python/truerank")),
    }
    assert numbers == THINGS, WHAT_TO_DO


# -- applications: what stands on the public interface, as what users write does -------------------

# So many names of other rooms, of each file, may an application import that users cannot.
PRIVATE_NAMES = {"adapters": 15, "compat": 10, "cli": 30}
# Whose members with a "_" may be read: `measures` and `model` are of ir_measures and of PyKEEN.
OWNERS = ("self", "cls", "super()", "measures", "model")
PUBLIC_MEMBERS = ("_asdict", "_fields", "_replace")  # of named tuples


def module_of(path: Path) -> str:
    names = ["truerank", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(names).removesuffix(".__init__")


def public_objects() -> list[Any]:
    """Return what users can import, and what @public decorates: some of it comes out of calls."""
    offered: list[Any] = [truerank]
    for module in [truerank, *(getattr(truerank, name) for name in PUBLIC_MODULES)]:
        offered += [module, *(getattr(module, name) for name in module.__all__)]
    for path in files_of("python/truerank"):
        for node in tree_of(path).body:
            decorators = map(ast.unparse, getattr(node, "decorator_list", []))
            if any(each.startswith("public(") for each in decorators):
                offered.append(getattr(import_module(module_of(path)), node.name))
    return offered


def imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the absolute module of each name that a file imports from truerank, and the name."""
    package = ["truerank", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                module, _, name = alias.name.rpartition(".")
                yield module, name
        elif isinstance(node, ast.ImportFrom):
            begin = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*begin, *filter(None, [node.module])])
            for alias in node.names:
                yield module, alias.name


def names_through_modules(path: Path) -> Iterator[tuple[str, str]]:
    """Yield what a file reads as an attribute of a public module: the module, and the name."""
    try:
        own = import_module(module_of(path))
    except ImportError:  # The library of an adapter is missing.
        return
    public = {truerank, *(getattr(truerank, name) for name in PUBLIC_MODULES)}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute):
            first, *names = ast.unparse(node).split(".")
            value = vars(own).get(first)
            for name in names:
                if not (inspect.ismodule(value) and value in public and hasattr(value, name)):
                    break
                yield value.__name__, name
                value = getattr(value, name)


def found_name(module: str, name: str) -> Any:
    """Return what is imported; None for a name that only type checkers see."""
    try:
        return getattr(import_module(module), name)
    except AttributeError:
        return sys.modules.get(f"{module}.{name}")


@pytest.mark.parametrize("room", PRIVATE_NAMES)
def test_applications_import_few_private_names(room: str) -> None:
    offered = set(map(id, public_objects()))
    private = []
    for path in files_of(f"python/truerank/{room}"):
        for module, name in {*imported_names(path), *names_through_modules(path)}:
            is_other = module.partition(".")[0] == "truerank"
            if f"{module}.".startswith(f"truerank.{room}.") or not is_other:
                continue
            if name != "__version__" and id(found_name(module, name)) not in offered:
                private.append(f"{path.name}: {module}.{name}")
    assert len(private) <= PRIVATE_NAMES[room], private


@pytest.mark.parametrize("room", PRIVATE_NAMES)
def test_applications_read_no_private_members_of_others(room: str) -> None:
    """Those of self and cls are their own, and some libraries ask for theirs."""
    reads = []
    for path in files_of(f"python/truerank/{room}"):
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
                continue
            owner = ast.unparse(node.value)
            is_allowed = owner in OWNERS or node.attr in PUBLIC_MEMBERS
            if not (is_allowed or node.attr.endswith("__")):
                reads.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert reads == []


# -- what a call loads: a layer without the ones above it ------------------------------------------

SCORES = """
import numpy as np
import truerank as tr
scores = np.random.default_rng(0).random((4, 10))
"""
TRIPLES = """
import sys
import numpy as np
import truerank as tr
from pathlib import Path
triples = np.array([[0, 0, 1], [1, 0, 2], [2, 1, 0], [1, 1, 2]])
path = Path(sys.argv[1]) / "test.txt"
path.write_text("".join(f"e{head}\\tr{relation}\\te{tail}\\n" for head, relation, tail in triples))
def evaluate(test, entities, relations=None):
    def score(queries):
        return np.random.default_rng(0).random((len(queries), 3))
    task = tr.link_prediction.Task(test, entities=entities, relations=relations)
    task.evaluate(head=score, tail=score)['mrr']
"""
COMMAND = """
import os
import sys
os.chdir(sys.argv[1])
np.save("s.npy", scores)
np.save("t.npy", np.arange(4))
from truerank.__main__ import main
sys.argv[1:] = ["evaluate", "s.npy", "t.npy", "--output", "report.txt"]
try:
    main()
except SystemExit as ended:
    assert ended.code == 0
"""
# Lines of Python, and the rooms of whose modules some are loaded after them.
RANKED = {"arrays", "counting", "inputs", "ranks", "stores"}
REPORTED = RANKED | {"inference", "metrics", "reporting", "tables"}
EVALUATED = REPORTED | {"devices", "embeddings", "link_prediction", "records", "tasks"}
CALLS = {
    "rank": (SCORES + "tr.rank(scores, np.arange(4))", RANKED),
    "evaluate": (SCORES + "tr.evaluate(scores, np.arange(4))['mrr']", REPORTED | {"tasks"}),
    "task of arrays": (TRIPLES + "evaluate(triples, 3)", EVALUATED),
    "task of files": (TRIPLES + "evaluate(path, ['e0', 'e1', 'e2'], ['r0', 'r1'])", EVALUATED),
    "command evaluate": (SCORES + COMMAND, REPORTED | {"cli", "devices"}),
}
SAY_FILES = """
import sys
for name, module in sys.modules.items():
    if name.partition(".")[0] == "truerank":
        print(module.__file__)
"""


@pytest.mark.parametrize("name", CALLS)
def test_a_call_loads_the_rooms_that_it_needs(name: str, tmp_path: Path, run_python: Run) -> None:
    """How many lines are loaded is no limit: architecture.md shows it, to a tenth."""
    if name == "command evaluate":
        pytest.importorskip("click")
    code, rooms = CALLS[name]
    files = [Path(x) for x in run_python(f"{code}\n{SAY_FILES}", tmp_path).splitlines()]
    files = [path for path in files if path.suffix == ".py"]
    assert len(files) > 20
    lines = sum(len(code_of(path)) for path in files)
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    shown = re.search(rf"^\| {name} \| ([\d,]+) \|", page, re.MULTILINE)
    assert shown is not None
    assert lines == pytest.approx(int(shown[1].replace(",", "")), rel=0.1), "renew the page"
    assert {path.parent.name for path in files} - {PACKAGE.name} == rooms
