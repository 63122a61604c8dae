"""`truerank compat`: the numbers that other toolkits get from the same scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from support import cli_files
from support.cli_files import INDICES, INDPTR, SCORES, TARGETS, Run
from truerank import compat

pytestmark = pytest.mark.python_only

run = cli_files.run


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, Path]:
    """Write scores, targets, a filter and sides to files."""
    paths = {name: tmp_path / f"{name}.npy" for name in ("scores", "targets", "side")}
    np.save(paths["scores"], SCORES)
    np.save(paths["targets"], TARGETS)
    np.save(paths["side"], np.array(["head", "tail", "head", "tail"]))
    paths["filter"] = tmp_path / "filter.npz"
    np.savez(paths["filter"], indptr=INDPTR, indices=INDICES)
    return paths


def test_all_toolkits(run: Run, stored: dict[str, Path]) -> None:
    line = ["compat", stored["scores"], stored["targets"], "--filter", stored["filter"]]
    found = compat.table(SCORES, TARGETS, filter=(INDPTR, INDICES))
    assert run(*line).out == found.to_markdown() + "\n"
    assert json.loads(run(*line, "--format", "json").out) == json.loads(found.to_json())


@pytest.mark.parametrize("name", compat.PRESETS)
def test_one_toolkit(run: Run, stored: dict[str, Path], name: str) -> None:
    line = ["compat", stored["scores"], stored["targets"], "--side", stored["side"]]
    line += ["--order", "ascending", "--preset", name]
    sides = np.load(stored["side"])
    found = compat.report(SCORES, TARGETS, preset=name, order="ascending", side=sides)
    assert run(*line).out == found.to_markdown() + "\n"
    assert json.loads(run(*line, "--format", "json").out) == json.loads(found.to_json())


def test_wrong_lines_and_bad_data(run: Run, stored: dict[str, Path], tmp_path: Path) -> None:
    assert run("compat", stored["scores"], stored["targets"], "--preset", "none").code == 2
    code, out, err = run("compat", stored["scores"])
    assert (code, out) == (2, "")
    assert "Missing argument 'TARGETS'" in err
    code, out, err = run("compat", tmp_path / "absent.npy", "1")
    assert (code, out) == (1, "")
    assert "absent.npy" in err
    code, _, err = run("compat", stored["scores"], "7")
    assert code == 1
    assert err.startswith("Error: targets: expected integers from 0 to 4")
