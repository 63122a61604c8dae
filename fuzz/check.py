"""What an area consists of: functions, strategies that draw their arguments, planted faults."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import hypothesis
from hypothesis import strategies as st

Strategy = st.SearchStrategy[Any]


@dataclass(frozen=True)
class Check:
    """A function that raises for a wrong result, the strategies, and the inputs in a round."""

    function: Callable[..., None]
    strategies: tuple[Strategy, ...]
    inputs: int

    def run_round(self, seed: int, on_input: Callable[[], None], *, verbose: bool = False) -> None:
        """Give the function the inputs of a seed; of those that fail, raise for the smallest."""

        @functools.wraps(self.function)
        def counted(*arguments: Any, **keywords: Any) -> None:
            on_input()
            self.function(*arguments, **keywords)

        verbosity = hypothesis.Verbosity.verbose if verbose else hypothesis.Verbosity.normal
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
        hypothesis.seed(seed)(settings(hypothesis.given(*self.strategies)(counted)))()


class Fault(NamedTuple):
    """A fault that the checks of the area must find when it is planted in the package.

    In the file at `path`, from the top folder, the text `right` is replaced by `wrong`.
    """

    kind: str
    path: str
    right: str
    wrong: str


def check(*strategies: Strategy, inputs: int = 100) -> Callable[[Callable[..., None]], Check]:
    """Make a check of a function, which is given what the strategies draw."""
    return lambda function: Check(function, strategies, inputs)


def area_names() -> list[str]:
    """Return the names of all areas."""
    folder = importlib.import_module("fuzz.areas").__path__
    return sorted(module.name for module in pkgutil.iter_modules(folder))


def import_area(name: str) -> ModuleType:
    return importlib.import_module(f"fuzz.areas.{name}")


def checks_of(area: ModuleType) -> dict[str, Check]:
    """Return the checks of an area by the names of their functions."""
    return {name: value for name, value in vars(area).items() if isinstance(value, Check)}
