"""Code that needs a missing library says so in one line, with the command to install it."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import truerank
from support.environment import ROOT
from support.skips import what_would_run
from truerank import adapters

pytestmark = pytest.mark.python_only

PACKAGE = Path(truerank.__file__).parent
MAKE_REPORT = "tr.report(tr.Ranks([0, 3], [1, 1], 10, relation=['a', 'b']), by='relation')"


class Case(NamedTuple):
    """Code to run without a library."""

    needs: str
    extra: str
    user: str
    code: str


CASES = [
    Case("pandas", "pandas", "to_pandas", f"{MAKE_REPORT}.to_pandas()"),
    Case("pandas", "pandas", "to_pandas", f"tr.table({{'a': {MAKE_REPORT}}}).to_pandas()"),
    Case("zarr", "files", "scores: store.zarr", "tr.open_scores('store.zarr')"),
    Case("h5py", "files", "scores: store.h5", "tr.open_scores('store.h5')"),
    Case("tqdm", "progress", "progress=True", "tr.rank(numpy.eye(3), 0, progress=True)"),
    Case("matplotlib", "plot", "an HTML page", f"tr.html.save('x.html', {MAKE_REPORT})"),
]
CASES += [
    Case("matplotlib", "plot", f"truerank.plot.{name}", f"plot.{name}({what})")
    for name, what in {
        **dict.fromkeys(("rank_distribution", "hits_curve", "groups", "values"), MAKE_REPORT),
        "comparison": f"{MAKE_REPORT}, {MAKE_REPORT}",
        "metric_against_index": f"{{'a': {MAKE_REPORT}}}",
    }.items()
]
BEFORE = """
import sys
sys.modules[{library!r}] = None
import numpy
import truerank as tr
from truerank import plot
"""
# Adapters, with the library that each needs: that of its name, but for one.
ADAPTERS = {name: name for _, name, _ in pkgutil.iter_modules(adapters.__path__)}
ADAPTERS["pyg"] = "torch_geometric"


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a zarr folder and an HDF5 file that can be recognised without their libraries."""
    (tmp_path / "store.zarr").mkdir()
    (tmp_path / "store.zarr" / "zarr.json").write_text("{}")
    (tmp_path / "store.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    np.save(tmp_path / "scores.npy", np.eye(3))
    np.save(tmp_path / "targets.npy", np.arange(3))
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.user} without {case.needs}")
def test_the_last_line_says_what_to_install(case: Case, folder: Path) -> None:
    lines = [BEFORE.format(library=case.needs), case.code]
    done = run("\n".join(lines), folder)
    last = done.stderr.strip().splitlines()[-1]
    message = f"{case.user} needs {case.needs}: pip install 'truerank[{case.extra}]'"
    assert (done.returncode, last) == (1, f"ImportError: {message}")


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_adapters(name: str, tmp_path: Path) -> None:
    library = ADAPTERS[name]
    code = f"import sys; sys.modules[{library!r}] = None; import truerank.adapters.{name}"
    last = run(code, tmp_path).stderr.strip().splitlines()[-1]
    message = f"needs {library}: pip install 'truerank[{name.replace('_', '-')}]'"
    assert last == f"ImportError: truerank.adapters.{name} {message}"


@pytest.mark.parametrize(
    ("library", "words", "message"),
    [
        ("zarr", "evaluate store.zarr targets.npy", "scores: store.zarr needs zarr"),
        ("matplotlib", "evaluate scores.npy 0 --html x.html", "an HTML page needs matplotlib"),
        ("click", "evaluate scores.npy targets.npy", "the command line needs click"),
    ],
)
def test_the_command_line_says_it_in_one_line(
    folder: Path, library: str, words: str, message: str
) -> None:
    if "command line" not in message:
        pytest.importorskip("click", reason="the command line needs click")
    code = (
        f"import sys; sys.modules[{library!r}] = None; sys.argv[1:] = {words.split()!r}\n"
        "from truerank.__main__ import main; main()"
    )
    done = run(code, folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {message}: pip install 'truerank[")
    assert done.stderr.count("\n") == 1


def test_an_import_error_within_a_library_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "zarr.py").write_text("import no_such_library")
    (tmp_path / ".zarray").write_text("{}")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        patch.delitem(sys.modules, "zarr", raising=False)
        with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_library'"):
            truerank.open_scores(tmp_path)


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
    for case in CASES:
        assert any(line.startswith(case.needs) for line in extras[case.extra])
    for name, library in ADAPTERS.items():
        lines = extras[name.replace("_", "-")]
        assert any(line.replace("-", "_").startswith(library) for line in lines)


def test_skipped_tests_name_the_extra_that_would_run_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.skips.find_spec", lambda name: None)
    reasons = ["could not import 'h5py': No module", "bars of tqdm", "a limit of Linux"]
    reasons += ["no data; TRUERANK_DATA names", "could not import 'zarr'"]
    assert what_would_run(reasons) == (
        "skipped tests would run: 2 with .[files], 1 with .[cli], 1 with another system, "
        "1 with TRUERANK_DATA"
    )
    assert what_would_run([]) == ""


FREE = {"numpy", "scipy", "truerank", *sys.stdlib_module_names}
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


def test_importing_the_package_imports_no_optional_library(extras: dict[str, list[str]]) -> None:
    libraries = {re.split(r"\W", line)[0] for lines in extras.values() for line in lines}
    libraries = {*libraries, "torch", "triton", "jax"} - {"truerank"}
    assert len(libraries) > 15
    code = f"import sys, truerank; print(sorted({libraries!r} & set(sys.modules)))"
    assert find_spec("truerank") is not None
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
