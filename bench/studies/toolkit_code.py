"""Code of toolkits, loaded from where it lies: packages, or functions of a commit of a repository.

`TOOLKITS` in `toolkit_rows.py` says what is run: one function for each toolkit, which gives its
code the scores of a case and returns its ranks and numbers.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
KS = (1, 3, 10)


class Case(NamedTuple):
    """Scores of tasks: higher is better, and each task has a row.

    Attributes
    ----------
    name : str
    scores : ndarray of float32, shape (tasks, columns)
    targets : ndarray of int64, shape (tasks,)
    known : ndarray of bool, shape (tasks, columns), or None
        The true entities of each query, its target among them: what is filtered; None: no filter.
    sides : ndarray of str, shape (tasks,)
        The first half of the tasks predicts tails, the other half heads.
    """

    name: str
    scores: Array
    targets: Array
    known: Array | None
    sides: Array

    def lists(self) -> list[list[int]]:
        """Return the true entities of each query, the target too; an empty list if none is known.

        Toolkits keep them in dictionaries or matrices.
        """
        if self.known is None:
            return [[] for _ in self.targets]
        return [np.flatnonzero(row).tolist() for row in self.known]

    def halves(self) -> list[Case]:
        """Return the tasks that predict tails, and those that predict heads."""
        return [self.part(self.sides == side) for side in ("tail", "head")]

    def part(self, chosen: Any) -> Case:
        """Return the tasks that an index chooses."""
        known = self.known
        if known is not None:
            known = known[chosen]
        return Case(self.name, self.scores[chosen], self.targets[chosen], known, self.sides[chosen])


class Outcome(NamedTuple):
    """What a toolkit made of a case.

    Attributes
    ----------
    ranks : array_like, shape (tasks,), or None
        In the order of the tasks.
    numbers : mapping of str to float
        By the names of the preset.
    """

    ranks: Any
    numbers: Mapping[str, float]


class Toolkit(NamedTuple):
    """A toolkit whose code is run.

    Attributes
    ----------
    name : str
        The first column of the page.
    preset : str
        The preset that it is held against.
    run : callable
        Gets the `Code` and a `Case`; returns an `Outcome`.
    filters : str
        "both": with and without a filter; "never": without.
    """

    name: str
    preset: str
    run: Callable[[Code, Case], Outcome]
    filters: str = "both"


class NotFoundError(Exception):
    """A package or a repository is not there."""


class Code:
    """Code of toolkits: packages that can be imported, and clones in a folder.

    Attributes
    ----------
    used : list of str
        What was loaded, with versions or commits.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: list[str] = []
        self._loaded: dict[object, Any] = {}

    def package(self, name: str, module: str = "") -> Any:
        """Import a package, or a module of it; "NotFoundError" if it cannot be imported."""
        try:
            package = importlib.import_module(name)
            found = importlib.import_module(module or name)
        except ImportError as error:
            raise NotFoundError(f"{name}: {error}") from error
        self._note(name, getattr(package, "__version__", None) or _release(name))
        return found

    def source(self, clone: str, commit: str, path: str) -> str:
        """Return a file of a commit, from a clone in the folder (bare or not)."""
        where = self.folder / clone
        command = ["git", "-C", str(where), "show", f"{commit}:{path}"]
        if not where.exists():
            raise NotFoundError(f"{clone}: no such folder")
        found = subprocess.run(command, capture_output=True, check=False)
        if found.returncode:
            raise NotFoundError(f"{clone}: {found.stderr.decode(errors='replace').strip()}")
        self._note(clone, commit)
        return found.stdout.decode("utf-8")

    def _note(self, name: str, version: str) -> None:
        if f"{name} {version}" not in self.used:
            self.used.append(f"{name} {version}")

    def functions(
        self, clone: str, commit: str, path: str, names: str, namespace: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run the definitions of some functions of a file, and nothing else of it.

        Parameters
        ----------
        clone, commit, path
            As in `source`.
        names : str
            Functions, classes, constants and methods ("Class.method", then a plain function).
        namespace : mapping of str to Any
            What the functions use of their modules. Names do not leak from one call to another.
        """
        key = clone, commit, path, names
        if key not in self._loaded:
            tree = ast.parse(self.source(clone, commit, path))
            chosen = [_definition(tree.body, name.split(".")) for name in names.split()]
            body: list[ast.stmt] = chosen
            self._loaded[key] = compile(ast.Module(body, []), f"{clone}/{path}", "exec")
        found = dict(namespace)
        exec(self._loaded[key], found)
        return found


@cache
def _release(name: str) -> str:
    return metadata.version(metadata.packages_distributions().get(name, [name])[0])


def _definition(body: list[ast.stmt], path: list[str]) -> ast.stmt:
    for node in body:
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            names = [getattr(node, "name", "")]
        if path[0] in names:
            if len(path) == 1:
                return node
            assert isinstance(node, ast.ClassDef)
            return _definition(node.body, path[1:])
    raise NotFoundError(f"{'.'.join(path)} is not defined")


def task_by_task(case: Case, rank: Callable[[Case], float]) -> Array:
    """Run something that gives the mean rank on each task alone."""
    places = []
    for i in range(len(case.targets)):
        known = case.known
        if known is not None:
            known = known[i : i + 1]
        one = Case(
            case.name, case.scores[i : i + 1], case.targets[i : i + 1], known, case.sides[:1]
        )
        places.append(rank(one))
    return np.array(places)


def tensors(code: Code, case: Case) -> tuple[Any, Any, Any]:
    """Return torch, the scores and the targets; the scores are a copy, which toolkits write to."""
    torch = code.package("torch")
    return torch, torch.from_numpy(case.scores.copy()), torch.from_numpy(case.targets)
