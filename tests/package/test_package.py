"""The installed package: its version, its types, its public names and its light import."""

from __future__ import annotations

import ast
import inspect
import pickle
import pkgutil
import sys
from importlib import import_module, metadata, resources
from types import ModuleType
from typing import Any

import pytest

import truerank
from truerank import _core

pytestmark = pytest.mark.smoke


def declared(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements of a stub declare."""
    names = set()
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def public(names: set[str]) -> set[str]:
    return {name for name in names if not name.startswith("_") or name == "__version__"}


def stub() -> ast.Module:
    return ast.parse((resources.files("truerank") / "_core.pyi").read_text(encoding="utf-8"))


def test_versions_agree() -> None:
    assert truerank.__version__ == metadata.version("truerank") == _core.__version__


def test_types_are_shipped_and_those_of_the_core() -> None:
    assert (resources.files("truerank") / "py.typed").is_file()
    body = stub().body
    assert public(declared(body)) == public(set(dir(_core)))
    for statement in body:
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
            members = set(vars(getattr(_core, statement.name)))
            assert public(declared(statement.body)) == public(members), statement.name


def test_public_names_exist() -> None:
    assert len(set(truerank.__all__)) == len(truerank.__all__)
    assert [name for name in truerank.__all__ if not hasattr(truerank, name)] == []
    for module in (truerank, truerank.metrics, truerank.plot, truerank.page):
        assert set(module.__all__) == set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'ranks_of'"):
        truerank.ranks_of  # noqa: B018


def imported_for_types(package: ModuleType) -> dict[str, str]:
    """Return the module of each name that a package offers type checkers, as `name as name`."""
    modules = {}
    for statement in ast.parse(inspect.getsource(package)).body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            for each in statement.body:
                if isinstance(each, ast.ImportFrom):
                    module = "." * each.level + (each.module or "")
                    offered = [alias.asname for alias in each.names if alias.asname]
                    modules.update(dict.fromkeys(offered, module))
    return modules


def late_packages() -> list[ModuleType]:
    """Return the packages that import names when they are first used."""
    modules = pkgutil.walk_packages(truerank.__path__, "truerank.")
    packages = [truerank, *(import_module(each.name) for each in modules if each.ispkg)]
    late = [package for package in packages if "names_when_used" in inspect.getsource(package)]
    assert len(late) > 6
    return late


def test_names_that_are_imported_when_used_are_those_that_type_checkers_see() -> None:
    """None is that of a module: importing it puts it into its package, in the place of the name."""
    for package in late_packages():
        modules = imported_for_types(package)
        assert set(dir(package)) <= modules.keys(), package
        names = {name for name, module in modules.items() if module != "."}
        assert not names & {each.name for each in pkgutil.iter_modules(package.__path__)}, package
        for name, module in modules.items():
            here = getattr(package, name)
            if module == ".":  # It is a module of the package.
                assert here is import_module(f".{name}", package.__name__)
            else:
                assert here is getattr(import_module(module, package.__name__), name), name


MODULES = list(pkgutil.walk_packages(truerank.__path__, "truerank."))
PUBLIC = [m.name for m in MODULES if m.ispkg or m.name.startswith("truerank.adapters.")]


@pytest.mark.parametrize("package", ["truerank", *PUBLIC])
def test_the_source_of_all_public_names_is_found_and_they_are_pickled(package: str) -> None:
    """As IPython's `truerank.Report??` finds it: a class by its module, a function by its code."""
    try:
        module = import_module(package)
    except ImportError as error:
        pytest.skip(str(error))
    for name in getattr(module, "__all__", ()):
        shown: Any = getattr(module, name)
        if not inspect.isclass(shown) and not inspect.isroutine(shown):
            continue
        home: Any = sys.modules[shown.__module__]
        if inspect.isclass(shown):
            assert inspect.getsourcefile(shown) == home.__file__
            word = "class"
        else:
            assert getattr(home, shown.__name__) is shown
            word = "def"
        lines = inspect.getsource(shown).splitlines()
        assert any(line.startswith(f"{word} {shown.__name__}") for line in lines), name
        assert pickle.loads(pickle.dumps(shown)) is shown
