"""torch has its own OpenMP runtime: both work in one process, in any order of import."""

from __future__ import annotations

import os

import pytest

from support.environment import SANITIZED, Run

pytest.importorskip("torch", reason="the other runtime is torch's")
pytestmark = pytest.mark.skipif(SANITIZED, reason="torch is not built with the sanitizer")

THREADS = {"OMP_NUM_THREADS": "2"}

# Work for each runtime on two threads, too large to stay serial, and checks of its results.
WORK = """
import numpy as np

torch.set_num_threads(2)
rng = np.random.default_rng(7)
scores = rng.integers(0, 1000, (20, 200_000)).astype(np.float32)
targets = rng.integers(0, 200_000, 20)
true_scores = scores[np.arange(20), targets][:, None]
above = (scores > true_scores).sum(1)
matrix = torch.from_numpy(rng.integers(0, 5, (700, 700)).astype(np.float32))
product = (matrix.double() @ matrix.double()).long()  # of small integers: exact

def count():
    ranks = tr.rank(scores, targets, threads=2)
    assert np.array_equal(ranks.above, above)

def multiply():
    assert torch.equal((matrix @ matrix).long(), product)  # small integers: exact in float32
    assert torch.equal(torch.clamp(matrix, 0, 9).sum(), matrix.double().sum().float())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("imports", ["torch, truerank as tr", "truerank as tr, torch"])
def test_in_turn_at_once_and_in_workers_of_a_data_loader(run_python: Run, imports: str) -> None:
    """Workers are forked from a process in which both runtimes already have threads."""
    script = """
from concurrent.futures import ThreadPoolExecutor

class Counted(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, item):
        multiply()
        count()
        return int(tr.rank(scores[item], targets[item], threads=2).above.sum())

if __name__ == "__main__":
    for _ in range(3):
        count()
        multiply()
    loader = torch.utils.data.DataLoader(
        Counted(), batch_size=2, num_workers=2, multiprocessing_context="fork", timeout=50
    )
    assert torch.cat(list(loader)).tolist() == above[:8].tolist()
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(6) for work in (count, multiply)]:
            done.result()
"""
    run_python(f"import {imports}\n{WORK}{script}", env=THREADS)
