"""Change single lines of the package at random, and show which changes no test notices.

`python tests/tools/mutants.py --rooms metrics cpp --number 20 --seed 1` draws lines of each room
from the seed, changes one thing in each (a comparison, a number, an operator, a statement that is
left out), and runs the tests of the room, then those of the rooms that import it most, until one
fails. All of this happens in a copy of the tree. `cpp` is the core, which is built anew for every
change, for the baseline's instruction set alone. What the tests need must be installed, truerank
with it. (mutmut and cosmic-ray change Python alone, and draw nothing by a seed.)
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LIMIT = 1200.0  # seconds for the tests of the tree as it is
TIMED_OUT = 124  # the exit status of `timeout`

# Tokens of Python, and what they become; numbers become the next one.
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+"}
SWAPS |= {"*": "/", "/": "*", "//": "/", "%": "//", "+=": "=", "and": "or", "or": "and", "not": ""}
SWAPS |= {"in": "not in", "is": "==", "if": "if not", "True": "False", "False": "True"}
SWAPS |= {"min": "max", "max": "min", "any": "all", "all": "any", "zeros": "ones", "floor": "ceil"}
STATEMENT = re.compile(r"^( +)(raise .*|continue|[\w.]+\(.*\)|[\w.]+ [+*|&-]= .*)$")
# What is replaced in lines of C++.
PATTERNS = {rf" {re.escape(old)} ": f" {new} " for old, new in SWAPS.items() if len(old) < 3}
PATTERNS |= {" && ": " || ", r" \|\| ": " && ", r"\btrue\b": "false", r"\bfalse\b": "true"}
PATTERNS |= {r"\bmin\(": "max(", r"\bmax\(": "min("}
PATTERNS |= {r"(?<![\w.])0(?![\w.])": "1", r"(?<![\w.])1(?![\w.])": "2"}


class Mutant(NamedTuple):
    """A change of one line: the file below the tree, the number of the line, before and after."""

    path: str
    line: int
    before: str
    after: str


def python_mutants(path: str, source: str) -> Iterator[Mutant]:
    """Yield all changes of a Python file that can be compiled: of no text, of no import."""
    lines = source.split("\n")
    whole = ast.dump(ast.parse(source))
    changes = []
    for token in tokenize.generate_tokens(StringIO(source).readline):
        (line, start), end = token.start, token.end[1]
        new = SWAPS.get(token.string)
        if token.type == tokenize.NUMBER and token.string.isdecimal():
            new = str(int(token.string) + 1)
        if new is not None:
            text = lines[line - 1]
            changes.append((line, text[:start] + new + text[end:]))
    for line, text in enumerate(lines, 1):
        changes.append((line, STATEMENT.sub(r"\1pass", text)))
    for line, text in changes:
        changed = "\n".join([*lines[: line - 1], text, *lines[line:]])
        with suppress(SyntaxError):
            if "import" not in text and ast.dump(ast.parse(changed)) != whole:
                yield Mutant(path, line, lines[line - 1], text)


def cpp_mutants(path: str, source: str) -> Iterator[Mutant]:
    """Yield all changes of a C++ file; comments, directives and templates stay as they are."""
    for number, line in enumerate(source.split("\n"), 1):
        code = line.partition("//")[0]
        if not re.match(r"\s*(#|template|static_assert|using)", code):
            for pattern, new in PATTERNS.items():
                for match in re.finditer(pattern, code):
                    after = line[: match.start()] + new + line[match.end() :]
                    yield Mutant(path, number, line, after)


def draw(tree: Path, room: str, number: int, seed: int) -> Iterator[Mutant]:
    """Draw lines of a room, and one change of each."""
    folder = tree / "python" / "truerank" / room
    mutants, ending = python_mutants, "py"
    if room == "cpp":
        folder = tree / "cpp"
        mutants, ending = cpp_mutants, "[ch]pp"
    if not folder.is_dir():
        raise SystemExit(f"--rooms: expected a folder of the package or cpp, got {room}")
    generator = random.Random(f"{room} {seed}")
    files = [file for file in sorted(folder.rglob(f"*.{ending}")) if file.parent.name != "tests"]
    sizes = [file.stat().st_size for file in files]
    chosen = Counter(generator.choices(files, sizes, k=number))
    for file, times in chosen.items():
        changes: dict[int, list[Mutant]] = {}
        for mutant in mutants(str(file.relative_to(tree)), file.read_text("utf-8")):
            changes.setdefault(mutant.line, []).append(mutant)
        for line in generator.sample(sorted(changes), min(times, len(changes))):
            yield generator.choice(changes[line])


class Tests:
    """The tests of a room, in a copy of the tree, with a limit of time."""

    def __init__(self, tree: Path, room: str, options: list[str]) -> None:
        self.tree = tree
        self.pytest = [sys.executable, "-m", "pytest", "-x", "-q", *options]
        path = f"{tree}/python{os.pathsep}{tree}/tests"
        self.environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self.builds: list[Path] = []
        if room == "cpp":
            # What runs no line of the core notices no change of it, but would notice that the core
            # was built for one instruction set.
            self.pytest += ["-m", "not python_only"]
            self.stages = [["tests/core"], ["tests/counting", "tests/embeddings"]]
            self.builds = [self.configure("module", "OFF"), self.configure("tests", "ON")]
        else:
            users = [f"tests/{name}" for name in self.users(room)]
            self.stages = [[f"tests/{room}"], [*users, "tests/package/test_doctests.py"]]
        # The import hook of an editable install comes before PYTHONPATH: no change would count.
        script = f"import truerank as tr; raise SystemExit(not tr.__file__.startswith('{tree}'))"
        if self.status([sys.executable, "-c", script], time.monotonic() + 60):
            raise SystemExit("expected truerank as a wheel installs it, got an editable install")
        started = time.monotonic()
        self.limit = LIMIT
        outcome = self.run()
        if outcome != "survived":
            raise SystemExit(f"{room}: expected tests that pass, but the tree is {outcome}")
        self.limit = 60 + 3 * (time.monotonic() - started)

    def configure(self, name: str, tests: str) -> Path:
        """Configure a build of the core: of the extension, or of the tests in C++."""
        build = self.tree.parent / name
        query = [sys.executable, "-m", "pybind11", "--cmakedir"]
        pybind11 = subprocess.check_output(query, text=True).strip()
        command = ["cmake", "--no-warn-unused-cli", "-GNinja", f"-S{self.tree}", f"-B{build}"]
        command += [f"-DTRUERANK_TESTS={tests}", "-DTRUERANK_BASELINE_ONLY=ON"]
        command += [f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return build

    def users(self, room: str) -> list[str]:
        """Return the two rooms with tests that import a room most often."""
        package = self.tree / "python" / "truerank"
        times = Counter[str]()
        for file in package.rglob("*.py"):
            user = file.relative_to(package).parts[0]
            if user != room and (self.tree / "tests" / user).is_dir():
                times[user] += len(re.findall(rf"from \.+{room}\b", file.read_text("utf-8")))
        return [user for user, number in times.most_common(2) if number]

    def run(self) -> str:
        """Return "survived", "timed out", or what killed the change."""
        end = time.monotonic() + self.limit
        steps = []
        if self.builds:
            steps = [(["cmake", "--build", str(build)], "the compiler") for build in self.builds]
            steps.append(([str(self.builds[1] / "truerank_tests")], "the tests in C++"))
        steps += [(self.pytest + stage, " ".join(stage)) for stage in self.stages]
        for command, name in steps:
            status = self.status(command, end)
            if status == TIMED_OUT:
                return "timed out"
            if status:
                return f"killed by {name}"
            if command[0] == "cmake":
                for library in Path(command[2]).glob("_core*.so"):
                    shutil.copy(library, self.tree / "python" / "truerank")
        return "survived"

    def status(self, command: list[str], end: float) -> int:
        """Return the exit status of a command, which is ended with all that it has started."""
        limited = ["timeout", "-k", "9", f"{max(1, end - time.monotonic()):.0f}", *command]
        options = {"cwd": self.tree, "env": self.environment, "stdout": subprocess.DEVNULL}
        return subprocess.run(limited, stderr=subprocess.STDOUT, check=False, **options).returncode


def try_room(source: Path, room: str, options: argparse.Namespace) -> None:
    """Try the changes of a room; print each, and how many of them survived."""
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
            text = file.read_text("utf-8")
            lines = text.split("\n")
            lines[mutant.line - 1] = mutant.after
            file.write_text("\n".join(lines), "utf-8")
            outcome = tests.run()
            file.write_text(text, "utf-8")
            outcomes[outcome.split(" by ")[0]] += 1
            print(f"{mutant.path}:{mutant.line}: {outcome}", flush=True)
            if outcome == "survived":
                print(f"- {mutant.before}\n+ {mutant.after}", flush=True)
    print(f"{room}: {', '.join(f'{number} {word}' for word, number in outcomes.items())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", nargs="+", default=["metrics", "inference", "tables"])
    parser.add_argument("--number", type=int, default=8, help="changes of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout to change")
    parser.add_argument("--pytest", default="-n auto", help="options for pytest")
    options = parser.parse_args()
    for room in options.rooms:
        try_room(options.tree, room, options)


if __name__ == "__main__":
    main()
