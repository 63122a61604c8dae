"""The programs of the pages on devices and on a cluster: each gives the ranks of one process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support.environment import ROOT

torch = pytest.importorskip("torch", reason="tensors of torch")

PAGES = [ROOT / "docs/how-to" / name for name in ("devices.md", "cluster.md")]


def program(name: str, folder: Path) -> Path:
    """Write a program of a page to a file."""
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    found = re.search(rf"^```py\n(# {name}\.py.*?)^```", text, re.M | re.S)
    assert found is not None
    path = folder / f"{name}.py"
    path.write_text(found[1], encoding="utf-8")
    return path


def run_by_torch(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tr.Ranks:
    """Run a program in two processes, which meet by gloo."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command.append(str(program(name, folder)))
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=folder)
    assert done.returncode == 0, done.stderr
    return tr.load(folder / "ranks.npz")


def test_candidates_of_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = run_by_torch("candidates", tmp_path, monkeypatch)
    generator = torch.Generator().manual_seed(0)
    queries = torch.randint(-4, 5, (50, 16), generator=generator).float()
    entities = torch.randint(-4, 5, (3000, 16), generator=generator).float()
    targets = torch.randint(0, 3000, (50,), generator=generator)
    assert_same(ranks, tr.rank(queries @ entities.T, targets))


def test_parts_of_a_task_in_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = run_by_torch("parts", tmp_path, monkeypatch)
    rng = np.random.default_rng(0)
    triples = np.unique(rng.integers(0, (50, 4, 50), (500, 3)), axis=0)
    test = triples[::5]
    train = np.delete(triples, np.s_[::5], axis=0)
    scores = rng.random((50, 4, 50), np.float32)
    task = tr.link_prediction.Task(test, {"train": train}, entities=50, relations=4)
    whole = task.evaluate(
        tail=lambda q: scores[q[:, 0], q[:, 1]], head=lambda q: scores[:, q[:, 0], q[:, 1]].T
    )
    assert ranks == whole.ranks
    assert len(ranks) == 2 * len(test)


def test_workers_of_dask(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    program("chunks", tmp_path)
    script = "import chunks\nif __name__ == '__main__':\n    chunks.main().save('ranks.npz')\n"
    (tmp_path / "start.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "start.py"], capture_output=True, text=True, timeout=200, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    rows = np.arange(40)[:, None]
    columns = np.arange(3000)
    scores = ((rows * 7919 + columns * 104729) % 1009 / 8).astype(np.float32)
    assert_same(tr.load(tmp_path / "ranks.npz"), tr.rank(scores, np.arange(40)))


def assert_same(ranks: tr.Ranks, expected: tr.Ranks) -> None:
    assert ranks == expected
    assert len(np.unique(expected.optimistic)) > 5
    assert (expected.tied > 1).any()
