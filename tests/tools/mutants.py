"""Change single lines of the package at random, and show which changes no test notices.

`python tests/tools/mutants.py --rooms metrics cpp --number 20 --seed 1` draws lines of each room
from the seed, changes one thing in each (a comparison, a number, an operator, a statement that is
left out), and runs the tests of the room, then those of the rooms that import it most, until one
fails. All of this happens in a copy of the tree. `cpp` is the core, which is built anew for every
change, for the baseline's instruction set alone. What the tests need must be installed, truerank
with it.

No library does this. mutmut 3.8 and cosmic-ray 8.7 change Python alone, and half of what is to be
shown here is about C++. Neither draws some of its changes by a seed: cosmic-ray lists every one of
a module and tries them all, in the checkout itself, by one command; mutmut changes what stands in
functions, no tables of a module, and tries a change in a fork of the process that has run the
tests, where the core counts without threads.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

SWAPS = ["< <=", "<= <", "> >=", ">= >", "== !=", "!= ==", "+ -", "- +", "* /", "/ *", "// /"]
SWAPS += ["** *", "% //", "& |", "| &", "and or", "or and", "is is_not", "is_not is"]
SWAPS += ["in not_in", "not_in in"]
OPERATORS = {old.replace("_", " "): new.replace("_", " ") for old, new in map(str.split, SWAPS)}
OPERATOR = re.compile("|".join(map(re.escape, sorted(OPERATORS, key=len, reverse=True))))
NAMES = {"min": "max", "any": "all", "minimum": "maximum", "zeros": "ones", "floor": "ceil"}
NAMES |= {new: old for old, new in NAMES.items()}
# What is replaced in lines of C++.
PATTERNS = {r" < ": " <= ", r" <= ": " < ", r" > ": " >= ", r" >= ": " > ", r" == ": " != "}
PATTERNS |= {r" != ": " == ", r" && ": " || ", r" \|\| ": " && ", r" \+ ": " - ", r" - ": " + "}
PATTERNS |= {r"\bmin\(": "max(", r"\bmax\(": "min(", r"\btrue\b": "false", r"\bfalse\b": "true"}
PATTERNS |= {r"(?<![\w.])0(?![\w.])": "1", r"(?<![\w.])1(?![\w.])": "2", r" \+= ": " = "}
# Changes that make no difference, as (line, changed line) without indentation: they are not drawn.
EQUIVALENT: set[tuple[str, str]] = set()


class Mutant(NamedTuple):
    """A change of one line: the file below the tree, the number of the line, before and after."""

    path: str
    line: int
    before: str
    after: str


class PythonMutants:
    """All changes of a Python file."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.source = source
        self.lines = source.split("\n")

    def __iter__(self) -> Iterator[Mutant]:
        return self.below(ast.parse(self.source))

    def below(self, node: ast.AST) -> Iterator[Mutant]:
        """Yield the changes of a node and of its parts that run: no annotations, no messages."""
        left_out = (ast.JoinedStr, ast.Import, ast.ImportFrom)
        if isinstance(node, left_out) or "TYPE_CHECKING" in ast.unparse(getattr(node, "test", [])):
            return
        yield from self.of(node)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                parts = value if isinstance(value, list) else [value]
                for part in parts:
                    if isinstance(part, ast.AST):
                        yield from self.below(part)

    def of(self, node: ast.AST) -> Iterator[Mutant]:
        """Yield the changes of one node."""
        match node:
            case ast.Compare(left=left, comparators=[right, *_]):
                yield from self.operator(left, right)
            case ast.BinOp(left=left, right=right) | ast.BoolOp(values=[left, right, *_]):
                yield from self.operator(left, right)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                yield from self.put(node, ast.unparse(operand))
            case ast.Constant(value=bool() as value):
                yield from self.put(node, str(not value))
            case ast.Constant(value=int() | float() as value):
                yield from self.put(node, str(value + 1))
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMES:
                yield from self.put(node, ast.unparse(node).removesuffix(name) + NAMES[name])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from self.put(node, ast.unparse(ast.IfExp(test, orelse, body)))
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue():
                yield from self.put(node, "pass")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield from self.put(value, "None")

    def put(self, node: ast.expr | ast.stmt, text: str) -> Iterator[Mutant]:
        """Replace the text of a node that stands on one line."""
        if node.lineno == node.end_lineno:
            yield from self.change(node.lineno, node.col_offset, node.end_col_offset or 0, text)

    def operator(self, left: ast.expr, right: ast.expr) -> Iterator[Mutant]:
        """Replace the operator between two operands on one line."""
        if left.end_lineno == right.lineno:
            start = left.end_col_offset or 0
            end = right.col_offset
            between = self.lines[right.lineno - 1].encode()[start:end].decode()
            text = OPERATOR.sub(lambda found: OPERATORS[found[0]], between, count=1)
            yield from self.change(right.lineno, start, end, text)

    def change(self, line: int, start: int, end: int, text: str) -> Iterator[Mutant]:
        before = self.lines[line - 1]
        code = before.encode()  # positions in a tree count bytes
        after = (code[:start] + text.encode() + code[end:]).decode()
        if after != before:
            yield Mutant(self.path, line, before, after)


def cpp_mutants(path: str, source: str) -> Iterator[Mutant]:
    """Yield all changes of a C++ file; comments, directives and templates stay as they are."""
    for number, line in enumerate(source.split("\n"), 1):
        code = line.partition("//")[0]
        if not re.match(r"\s*(#|template|static_assert|using)", code):
            for pattern, new in PATTERNS.items():
                for found in re.finditer(pattern, code):
                    after = line[: found.start()] + new + line[found.end() :]
                    yield Mutant(path, number, line, after)


def draw(tree: Path, room: str, number: int, seed: int) -> list[Mutant]:
    """Draw lines of a room, and one change of each."""
    folder = tree / "python" / "truerank" / room
    mutants = PythonMutants
    ending = "py"
    if room == "cpp":
        folder = tree / "cpp"
        mutants = cpp_mutants
        ending = "[ch]pp"
    if not folder.is_dir():
        raise SystemExit(f"--rooms: expected a folder of the package or cpp, got {room}")
    changes: dict[tuple[str, int], list[Mutant]] = {}
    for file in sorted(folder.rglob(f"*.{ending}")):
        if file.parent.name == "tests":
            continue
        path = str(file.relative_to(tree))
        for mutant in mutants(path, file.read_text("utf-8")):
            if (mutant.before.strip(), mutant.after.strip()) not in EQUIVALENT:
                changes.setdefault((path, mutant.line), []).append(mutant)
    generator = random.Random(f"{room} {seed}")
    lines = generator.sample(sorted(changes), min(number, len(changes)))
    return [generator.choice(changes[line]) for line in lines]


class Tests:
    """The tests of a room, in a copy of the tree, with a limit of time."""

    def __init__(self, tree: Path, room: str, options: list[str]) -> None:
        self.tree = tree
        self.limit = 1200.0
        self.pytest = [sys.executable, "-m", "pytest", "-x", "-q", *options]
        path = f"{tree}/python{os.pathsep}{tree}/tests"
        self.environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self.refuse_another_tree()
        self.builds: list[Path] = []
        started = time.monotonic()
        if room == "cpp":
            # What runs no line of the core notices no change of it, but would notice that the core
            # was built for one instruction set.
            self.pytest += ["-m", "not python_only"]
            self.stages = [["tests/core"], ["tests/counting", "tests/embeddings"]]
            self.builds = [self.configure("module", "OFF"), self.configure("tests", "ON")]
            outcome = self.build(started + self.limit)
            if outcome:
                raise SystemExit(f"cpp: expected a core that passes its tests: {outcome}")
        else:
            self.stages = []
            if (tree / "tests" / room).is_dir():
                self.stages.append([f"tests/{room}"])
            users = [f"tests/{name}" for name in self.users(room)]
            users.append("tests/package/test_doctests.py")
            self.stages.append(users)
        for stage in self.stages:
            self.leave_out_failing(stage)
        self.limit = 60 + 3 * (time.monotonic() - started)

    def configure(self, name: str, tests: str) -> Path:
        """Configure a build of the core: of the extension, or of the tests in C++."""
        build = self.tree.parent / name
        choices = [f"TRUERANK_TESTS={tests}", "TRUERANK_BASELINE_ONLY=ON"]
        choices.append(f"Python_EXECUTABLE={sys.executable}")
        found = [sys.executable, "-m", "pybind11", "--cmakedir"]
        choices.append(f"pybind11_DIR={subprocess.check_output(found, text=True).strip()}")
        command = ["cmake", "--no-warn-unused-cli", "-GNinja", f"-S{self.tree}", f"-B{build}"]
        command += [f"-D{choice}" for choice in choices]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return build

    def refuse_another_tree(self) -> None:
        """The import hook of an editable install comes before PYTHONPATH: no change would count."""
        command = [sys.executable, "-c", "import truerank; print(truerank.__file__)"]
        options = {"cwd": self.tree, "env": self.environment, "text": True, "check": True}
        found = subprocess.run(command, stdout=subprocess.PIPE, **options).stdout
        if not Path(found).is_relative_to(self.tree):
            raise SystemExit(f"expected truerank as a wheel installs it, got {found.strip()}")

    def users(self, room: str) -> list[str]:
        """Return the two rooms with tests that import a room most often."""
        package = self.tree / "python" / "truerank"
        times = Counter[str]()
        for file in package.rglob("*.py"):
            user = file.relative_to(package).parts[0]
            if user != room and (self.tree / "tests" / user).is_dir():
                times[user] += len(re.findall(rf"from \.+{room}\b", file.read_text("utf-8")))
        return [user for user, number in times.most_common(2) if number]

    def leave_out_failing(self, stage: list[str]) -> None:
        """Run tests on the tree as it is; those that fail here can tell nothing of a change."""
        command = [word for word in self.pytest if word != "-x"]
        done = subprocess.run(
            command + stage, cwd=self.tree, env=self.environment, capture_output=True, text=True
        )
        if not re.search(r"\b\d+ passed\b", done.stdout):
            raise SystemExit(f"{' '.join(stage)}: expected tests that pass\n{done.stdout[-2000:]}")
        failing = set(re.findall(r"^(?:FAILED|ERROR) ([^\s\[]+)", done.stdout, re.MULTILINE))
        if failing:
            print("left out, for they fail as it is:", *sorted(failing), flush=True)
        self.pytest += [f"--deselect={name}" for name in sorted(failing)]

    def run(self) -> str:
        """Return "survived", "timed out", or what killed the change."""
        end = time.monotonic() + self.limit
        try:
            outcome = self.build(end)
            if outcome:
                return outcome
            for stage in self.stages:
                if self.status(self.pytest + stage, end):
                    return f"killed by {' '.join(stage)}"
        except subprocess.TimeoutExpired:
            return "timed out"
        return "survived"

    def build(self, end: float) -> str:
        """Build the core and run its tests in C++; return what killed a change, or nothing."""
        for build in self.builds:
            if self.status(["cmake", "--build", str(build)], end):
                return "killed by the compiler"
            for library in build.glob("_core*.so"):
                shutil.copy(library, self.tree / "python" / "truerank")
        for build in self.builds[1:]:
            if self.status([str(build / "truerank_tests")], end):
                return "killed by the tests in C++"
        return ""

    def status(self, command: list[str], end: float) -> int:
        """Return the exit status of a command that must end in time, or is ended."""
        options = {"cwd": self.tree, "env": self.environment, "stdout": subprocess.DEVNULL}
        process = subprocess.Popen(
            command, stderr=subprocess.STDOUT, start_new_session=True, **options
        )
        try:
            return process.wait(max(1, end - time.monotonic()))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def survivors_of(source: Path, room: str, options: argparse.Namespace) -> dict[str, int]:
    """Try the changes of a room; print each survivor, return the numbers for the table."""
    outcomes = Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name, "tree")
        shutil.copytree(source, tree, ignore=shutil.ignore_patterns(".*", "build", "__pycache__"))
        package = tree / "python" / "truerank"
        if not any(package.glob("_core*.so")):  # in a checkout without a build: the installed one
            shutil.copy(str(getattr(find_spec("truerank._core"), "origin", "")), package)
        tests = Tests(tree, room, options.pytest.split())
        for mutant in draw(tree, room, options.number, options.seed):
            file = tree / mutant.path
            source_text = file.read_text("utf-8")
            lines = source_text.split("\n")
            lines[mutant.line - 1] = mutant.after
            file.write_text("\n".join(lines), "utf-8")
            outcome = tests.run()
            file.write_text(source_text, "utf-8")
            outcomes[outcome.split(" by ")[0]] += 1
            print(f"{mutant.path}:{mutant.line}: {outcome}", flush=True)
            if outcome == "survived":
                print(*difflib.ndiff([mutant.before], [mutant.after]), sep="\n", flush=True)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", nargs="+", default=["metrics", "inference", "tables"])
    parser.add_argument("--number", type=int, default=8, help="changes of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout to change")
    parser.add_argument("--pytest", default="-n auto", help="options for pytest")
    options = parser.parse_args()
    rows = {room: survivors_of(options.tree, room, options) for room in options.rooms}
    columns = ["killed", "survived", "timed out"]
    print("\nroom".ljust(17) + "".join(name.rjust(10) for name in columns))
    for room, counts in rows.items():
        print(room.ljust(16) + "".join(str(counts[name]).rjust(10) for name in columns))


if __name__ == "__main__":
    main()
