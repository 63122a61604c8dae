"""The examples of the docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import truerank

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(truerank.__path__, "truerank.")
    if not module.name.endswith(("__main__", "_core"))
)


@pytest.mark.skipif(np.__version__ < "2", reason="NumPy 1 writes its scalars otherwise")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:  # an adapter says in this way what is not installed
        if not name.startswith("truerank.adapters."):
            raise
        pytest.skip(str(error))
    found = doctest.testmod(module)
    assert found.failed == 0


def test_there_are_examples() -> None:
    examples = doctest.DocTestFinder().find(importlib.import_module("truerank.ranks.container"))
    assert sum(len(test.examples) for test in examples) > 10
