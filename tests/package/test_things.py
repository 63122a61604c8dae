"""The number of things to be learnt is held: a new thing needs another to go."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import truerank
from support.environment import ROOT
from support.sources import read

PACKAGE = ROOT / "python" / "truerank"
pytestmark = [
    pytest.mark.python_only,
    pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside these tests"),
]

MOST = {
    "public names": 66,  # of functions and classes, which @public decorates
    "options": 91,  # names of parameters with a default, of what public modules offer
    "options of the command line": 64,
    "classes": 132,
    "named tuples": 25,
    "modules": 124,
}
PUBLIC_MODULES = (
    "link_prediction",
    "alignment",
    "retrieval",
    "metrics",
    "inference",
    "plot",
    "page",
    "compat",
)


def classes_and_public_names() -> tuple[list[str], list[str], list[str]]:
    """Return the names of classes, of named tuples, and of what is decorated with @public."""
    classes, named_tuples, public_names = [], [], []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(read(path).tree):
            if isinstance(node, ast.ClassDef):
                classes.append(node.name)
                if "NamedTuple" in map(ast.unparse, node.bases):
                    named_tuples.append(node.name)
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                decorators = map(ast.unparse, node.decorator_list)
                if any(text.startswith("public(") for text in decorators):
                    public_names.append(node.name)
    return classes, named_tuples, public_names


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

    context = click.Context(commands)
    names = commands.list_commands(context)
    groups = [commands, *(commands.get_command(context, name) for name in names)]
    options = [each for group in groups for each in group.params if isinstance(each, click.Option)]
    return {max(each.opts, key=len) for each in options}


def test_there_are_no_more_things_than_there_were() -> None:
    pytest.importorskip("click")
    classes, named_tuples, public_names = classes_and_public_names()
    things = {
        "public names": public_names,
        "options": options(),
        "options of the command line": options_of_commands(),
        "classes": classes,
        "named tuples": named_tuples,
        "modules": list(PACKAGE.rglob("*.py")),
    }
    numbers = {name: len(each) for name, each in things.items()}
    assert {name: number for name, number in numbers.items() if number > MOST[name]} == {}
