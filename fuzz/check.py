"""What an area consists of: tests that Hypothesis draws for, of `tests` and of `fuzz/areas`."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from hypothesis import Phase, Verbosity
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from fuzz import areas

TESTS = Path(__file__).parents[1] / "tests"
INPUTS = 25  # of a test in a round
MOST_BYTES = 8192  # of an input
# Fixtures that tests may ask for; a round runs in an empty folder.
FIXTURES: dict[str, Any] = {
    "folder": st.builds(lambda: Path(tempfile.mkdtemp(dir="."))),
    "tmp_path_factory": st.just(
        SimpleNamespace(mktemp=lambda name: Path(tempfile.mkdtemp(name, dir=".")), getbasetemp=Path)
    ),
}


@dataclass(frozen=True)
class Check:
    """A function that raises for a wrong result, the strategies, and the inputs in a round."""

    function: Callable[..., None]
    strategies: dict[str, Any]
    inputs: int = INPUTS

    def run_round(self, seed: int, on_input: Callable[[], None], *, verbose: bool = False) -> None:
        """Give the function the inputs of a seed; of those that fail, raise for the smallest."""

        @functools.wraps(self.function, updated=())  # a test may have settings of its own
        def counted(**arguments: Any) -> None:
            on_input()
            try:
                self.function(**arguments)
            except pytest.skip.Exception:  # for want of a library
                hypothesis.reject()

        settings = hypothesis.settings(
            **{"deadline": None, "print_blob": False, "report_multiple_bugs": False},
            database=InMemoryExampleDatabase(),
            phases=[Phase.reuse, Phase.shrink],
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=Verbosity.verbose if verbose else Verbosity.normal,
        )
        test: Any = settings(hypothesis.given(**self.strategies)(counted))
        random = Random(seed)
        failure: BaseException | None = None
        try:
            for _ in range(self.inputs):
                test.hypothesis.fuzz_one_input(random.randbytes(MOST_BYTES))
        except (Exception, pytest.fail.Exception) as error:  # the latter is no Exception
            failure = error
        if failure is not None:
            test()  # makes the input that failed small, and raises for it
            raise failure


def check_of(test: Any) -> Check | None:
    """Return a test as a check: what its parameters may be is drawn, too.

    One that asks for other fixtures is left out.
    """
    function = test.hypothesis.inner_test
    drawn = dict(FIXTURES)
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            name, values = mark.args
            values = [getattr(value, "values", (value,))[0] for value in values]
            drawn[name] = st.sampled_from(values)
    drawn |= test.hypothesis._given_kwargs
    names = inspect.signature(function).parameters
    if not drawn.keys() >= names.keys():
        return None
    inputs = INPUTS
    if "fuzz" in function.__module__:
        inputs = test._hypothesis_internal_use_settings.max_examples
    return Check(function, {name: drawn[name] for name in names}, inputs)


def checks_in(module_name: str) -> dict[str, Check]:
    """Return the checks of a module by name; of one that lacks a library, none."""
    try:
        members = vars(importlib.import_module(module_name))
    except pytest.skip.Exception:
        return {}
    tests = {
        f"{module_name}.{name}": check_of(value)
        for name, value in members.items()
        if hasattr(value, "hypothesis") and value.__module__ == module_name
    }
    return {name: check for name, check in tests.items() if check is not None}


def area_names() -> list[str]:
    """Return the names of all areas."""
    own = {module.name for module in pkgutil.iter_modules(areas.__path__)}
    return sorted(own | areas.TESTS.keys())


def checks_of(area: str) -> dict[str, Check]:
    """Return the checks of an area, of its tests and of its own module."""
    modules = []
    for path in areas.TESTS.get(area, ()):
        for file in sorted((TESTS / path).rglob("test_*.py")) or [TESTS / path]:
            modules.append(".".join(file.relative_to(TESTS).with_suffix("").parts))
    if area in {module.name for module in pkgutil.iter_modules(areas.__path__)}:
        modules.append(f"fuzz.areas.{area}")
    return {name: check for module in modules for name, check in checks_in(module).items()}
