"""Code that needs a missing library says so in one line, with the command to install it."""

from __future__ import annotations

import ast
import pkgutil
import re
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support.environment import ROOT, Run
from support.refusals import refusal
from truerank import adapters
from truerank.__main__ import main

PACKAGE = Path(tr.__file__).parent


def report() -> tr.Report:
    return tr.report(tr.Ranks([0, 3], [1, 1], 10, relation=["a", "b"]), by="relation")


def read_hdf5() -> object:
    Path("e.hdf5").touch()
    return tr.topk_embeddings([[0.5]], "e.hdf5:train", 1)


# A library, the extra that brings it, what needs it, and a call that does.
CASES: list[tuple[str, str, str, Callable[[], object]]] = [
    ("pandas", "pandas", "to_pandas", lambda: report().to_pandas()),
    ("pandas", "pandas", "to_pandas", lambda: tr.table({"a": report()}).to_pandas()),
    ("tqdm", "progress", "progress=True", lambda: tr.rank(np.eye(3), 0, progress=True)),
    ("h5py", "hdf5", "e.hdf5:train", read_hdf5),
    ("matplotlib", "plot", "an HTML page", lambda: tr.page.save("x.html", report())),
]
CASES += [
    ("matplotlib", "plot", f"truerank.plot.{name}", partial(getattr(tr.plot, name), report()))
    for name in ("groups", "hits_curve", "rank_distribution")
]
# Adapters, each of which needs the library of its name.
ADAPTERS = [name for _, name, _ in pkgutil.iter_modules(adapters.__path__)]
for name in ADAPTERS:
    module = f"truerank.adapters.{name}"
    CASES.append((name, name.replace("_", "-"), module, partial(import_module, module)))


@pytest.fixture
def without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let a library be missing."""
    monkeypatch.chdir(tmp_path)

    def without(library: str) -> None:
        loaded = [name for name in sys.modules if name.startswith(f"{library}.")]
        loaded.append(library)
        for name in loaded:
            monkeypatch.setitem(sys.modules, name, None)
        for name in ADAPTERS:
            monkeypatch.delitem(sys.modules, f"truerank.adapters.{name}", raising=False)

    return without


@pytest.mark.parametrize(
    ("library", "extra", "user", "call"), CASES, ids=lambda x: x if isinstance(x, str) else ""
)
def test_what_is_missing_is_said(
    library: str, extra: str, user: str, call: Callable[[], object], without: Callable[[str], None]
) -> None:
    without(library)
    message = f"{user} needs {library}: pip install '.[{extra}]' in the checkout"
    refusal(ImportError, f"^{re.escape(message)}$", call)


def test_the_command_line_says_it_in_one_line(
    without: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    without("click")
    monkeypatch.setattr(sys, "argv", ["truerank", "info"])
    with pytest.raises(SystemExit, match=r"^2$"):
        main()
    expected = "Error: the command line needs click: pip install '.[cli]' in the checkout\n"
    assert capsys.readouterr() == ("", expected)


def test_an_import_error_within_a_library_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "tqdm.py").write_text("import no_such_library")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        for name in [name for name in sys.modules if name.partition(".")[0] == "tqdm"]:
            patch.delitem(sys.modules, name)
        with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_library'"):
            tr.rank(np.eye(3), 0, progress=True)


@pytest.fixture(scope="module")
def extras() -> dict[str, list[str]]:
    """Return the libraries of each extra in pyproject.toml."""
    project = ROOT / "pyproject.toml"
    if not project.is_file():
        pytest.skip("no pyproject.toml beside the tests")
    project = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    return {name: list(lines) for name, lines in project["optional-dependencies"].items()}


def test_every_extra_exists(extras: dict[str, list[str]]) -> None:
    """Every message names an extra of pyproject.toml that installs the library."""
    for library, extra, _, _ in CASES:
        assert any(line.replace("-", "_").startswith(library) for line in extras[extra])


FREE = {"numpy", "scipy", "truerank"} | sys.stdlib_module_names
# Folders that may import a library directly, because a check before reports that it is missing.
DIRECT_IMPORTERS = {
    "cli": {"click"},
    "adapters": {"dask", "distributed", "pykeen", "torch", "torch_max_mem", "torchmetrics"},
    "devices": {"torch", "triton"},  # to name the device, and for kernels when it is used
}


def test_optional_libraries_are_imported_in_one_way() -> None:
    """Only the command line, adapters and kernels import an optional library directly."""
    for path in PACKAGE.rglob("*.py"):
        allowed = FREE | DIRECT_IMPORTERS.get(path.relative_to(PACKAGE).parts[0], set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                assert name.partition(".")[0] in allowed, f"{path}: {name}"


def test_importing_the_package_imports_no_optional_library(
    extras: dict[str, list[str]], run_python: Run
) -> None:
    libraries = {re.split(r"\W", line)[0] for lines in extras.values() for line in lines}
    libraries |= {"torch", "triton", "jax", "rich", "scipy", "ml_dtypes"}
    libraries = libraries - {"truerank"} | {"truerank.link_prediction"}
    assert len(libraries) > 15
    code = f"import sys, truerank; print(sorted({libraries!r} & set(sys.modules)))"
    assert run_python(code).strip() == "[]"
