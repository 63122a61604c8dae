"""What an area consists of: functions, strategies that draw their arguments, planted faults."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import hypothesis
import pytest
from hypothesis import strategies as st

Strategy = st.SearchStrategy[Any]
TESTS = Path(__file__).parents[1] / "tests"


@dataclass(frozen=True)
class Check:
    """A function that raises for a wrong result, the strategies, and the inputs in a round."""

    function: Callable[..., None]
    strategies: tuple[Strategy, ...]
    inputs: int = 100
    named: dict[str, Strategy] | None = None

    def run_round(self, seed: int, on_input: Callable[[], None], *, verbose: bool = False) -> None:
        """Give the function the inputs of a seed; of those that fail, raise for the smallest."""

        @functools.wraps(self.function, updated=())  # a test may have settings of its own
        def counted(*arguments: Any, **keywords: Any) -> None:
            on_input()
            try:
                self.function(*arguments, **keywords)
            except pytest.skip.Exception:  # for want of a library
                hypothesis.reject()

        verbosity = hypothesis.Verbosity.normal
        if verbose:
            verbosity = hypothesis.Verbosity.verbose
        settings = hypothesis.settings(
            max_examples=self.inputs,
            database=None,
            deadline=None,
            derandomize=False,
            phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=verbosity,
        )
        given = hypothesis.given(*self.strategies, **(self.named or {}))
        hypothesis.seed(seed)(settings(given(counted)))()


class Fault(NamedTuple):
    """A fault that the checks of the area must find when it is planted in the package.

    In the file at `path`, from the top folder, the text `right` is replaced by `wrong`. With `isa`,
    only this instruction set comes there.
    """

    kind: str
    path: str
    right: str
    wrong: str
    isa: str = ""


def check(*strategies: Strategy, inputs: int = 100) -> Callable[[Callable[..., None]], Check]:
    """Make a check of a function, which is given what the strategies draw."""
    return lambda function: Check(function, strategies, inputs)


# Fixtures that tests may ask for; a round runs in an empty folder.
FIXTURES = {
    "folder": st.builds(lambda: Path(tempfile.mkdtemp(dir="."))),
    "tmp_path_factory": st.just(
        SimpleNamespace(mktemp=lambda name: Path(tempfile.mkdtemp(name, dir=".")), getbasetemp=Path)
    ),
}


def checks_in(*paths: str) -> dict[str, Check]:
    """Return the tests of files and folders below `tests` that Hypothesis draws for, as checks.

    What their parameters may be is drawn, too. Tests that ask for other fixtures are left out.
    """
    found = {}
    for path in paths:
        files = [TESTS / path]
        if not files[0].is_file():
            files = sorted(files[0].rglob("test_*.py"))
        for module in map(_import, files):
            for name, test in vars(module).items():
                is_own = getattr(test, "__module__", "") == module.__name__
                if not is_own or not hasattr(test, "hypothesis"):
                    continue
                made = _check_of(test)
                if made:
                    found[f"{module.__name__}.{name}"] = made
    return found


def _import(file: Path) -> ModuleType:
    """Import a module of tests; one that skips itself, for want of a library, has no tests."""
    name = file.relative_to(TESTS).with_suffix("").as_posix().replace("/", ".")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    with contextlib.suppress(pytest.skip.Exception):
        spec.loader.exec_module(module)
    return module


def _check_of(test: Any) -> Check | None:
    function = test.hypothesis.inner_test
    drawn = dict(FIXTURES)
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            name, values = mark.args
            drawn[name] = st.sampled_from(
                [getattr(value, "values", (value,))[0] for value in values]
            )
    drawn |= test.hypothesis._given_kwargs
    names = inspect.signature(function).parameters
    if not drawn.keys() >= names.keys():
        return None
    return Check(function, (), 25, {name: drawn[name] for name in names})


def area_names() -> list[str]:
    """Return the names of all areas."""
    folder = importlib.import_module("fuzz.areas").__path__
    return sorted(module.name for module in pkgutil.iter_modules(folder))


def import_area(name: str) -> ModuleType:
    return importlib.import_module(f"fuzz.areas.{name}")


def checks_of(area: ModuleType) -> dict[str, Check]:
    """Return the checks of an area by the names of their functions, and those of its tests."""
    checks = {name: value for name, value in vars(area).items() if isinstance(value, Check)}
    return checks | checks_in(*getattr(area, "TESTS", ()))
