"""What an area consists of: functions, and strategies that draw their arguments."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from hypothesis import Phase, Verbosity
from hypothesis import strategies as st

from fuzz import areas

Strategy = st.SearchStrategy[Any]
TESTS = Path(__file__).parents[1] / "tests"


@dataclass(frozen=True)
class Check:
    """A function that raises for a wrong result, the strategies, and the inputs in a round."""

    function: Callable[..., None]
    strategies: tuple[Strategy, ...]
    inputs: int = 100
    named: dict[str, Strategy] = field(default_factory=dict)

    def run_round(self, seed: int, on_input: Callable[[], None], *, verbose: bool = False) -> None:
        """Give the function the inputs of a seed; of those that fail, raise for the smallest."""

        @functools.wraps(self.function, updated=())  # a test may have settings of its own
        def counted(*arguments: Any, **keywords: Any) -> None:
            on_input()
            try:
                self.function(*arguments, **keywords)
            except pytest.skip.Exception:  # for want of a library
                hypothesis.reject()

        settings = hypothesis.settings(
            **{"max_examples": self.inputs, "database": None, "deadline": None},
            **{"derandomize": False, "print_blob": False, "report_multiple_bugs": False},
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=Verbosity.verbose if verbose else Verbosity.normal,
        )
        given = hypothesis.given(*self.strategies, **self.named)
        hypothesis.seed(seed)(settings(given(counted)))()


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

    What their parameters may be is drawn, too. Tests that ask for other fixtures are left out, and
    modules that skip themselves, for want of a library.
    """
    checks = {}
    for path in paths:
        files = sorted((TESTS / path).rglob("test_*.py")) or [TESTS / path]
        for file in files:
            name = ".".join(file.relative_to(TESTS).with_suffix("").parts)
            try:
                tests = vars(importlib.import_module(name))
            except pytest.skip.Exception:
                continue
            for word, test in tests.items():
                if hasattr(test, "hypothesis") and test.__module__ == name:
                    checks[f"{name}.{word}"] = _check_of(test)
    return {name: made for name, made in checks.items() if made is not None}


def _check_of(test: Any) -> Check | None:
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
    return Check(function, (), 25, {name: drawn[name] for name in names})


def area_names() -> list[str]:
    """Return the names of all areas."""
    return sorted(
        [*areas.OF_TESTS, *(module.name for module in pkgutil.iter_modules(areas.__path__))]
    )


def checks_of(area: str) -> dict[str, Check]:
    """Return the checks of an area by the names of their functions, and those of its tests."""
    if area in areas.OF_TESTS:
        return checks_in(*areas.OF_TESTS[area])
    module = vars(importlib.import_module(f"fuzz.areas.{area}"))
    checks = {name: value for name, value in module.items() if isinstance(value, Check)}
    return checks | checks_in(*module.get("TESTS", ()))
