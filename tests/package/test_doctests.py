"""The examples of docstrings run, and print the shown output."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import truerank

SUBMODULES = [
    module
    for module in pkgutil.walk_packages(truerank.__path__, "truerank.")
    if not module.name.endswith(("__main__", "_core"))
]
MODULES = sorted(module.name for module in SUBMODULES)
# The modules that public functions can show as their own.
PACKAGES = {"truerank"} | {module.name for module in SUBMODULES if module.ispkg}


class Examples(doctest.DocTestFinder):
    """A finder that also finds the examples of public functions, whose module is their package."""

    def _from_module(self, module, object):  # type: ignore[no-untyped-def]
        object = inspect.unwrap(object)  # a decorated function is of the module that defines it
        if inspect.isfunction(object) and object.__module__ in PACKAGES:
            return object.__globals__ is module.__dict__
        return super()._from_module(module, object)  # type: ignore[misc]


@pytest.mark.skipif(np.__version__ < "2", reason="NumPy 1 prints scalars differently")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:  # an adapter or kernels whose library is not installed
        if error.name != "triton" and not name.startswith("truerank.adapters."):
            raise
        pytest.skip(str(error))
    runner = doctest.DocTestRunner()
    for test in Examples().find(module):
        runner.run(test)
    assert runner.failures == 0


def test_examples_of_functions_and_public_classes_are_found() -> None:
    found = Examples().find(importlib.import_module("truerank.counting.counter"))
    assert any(test.name.endswith(".RankCounter") and test.examples for test in found)
    assert sum(len(test.examples) for test in found) > 10
