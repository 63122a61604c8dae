"""Print how long each matching of `truerank.alignment.infer` takes, in seconds of processors.

python bench/studies/matching.py 5000 15000
"""

from __future__ import annotations

import sys
import time

import numpy as np

from truerank.alignment import Task, infer
from truerank.alignment.matching import METHODS

DIMENSIONS = 200
SIGNAL = 0.22  # So much of the left vector is in the right one, beside noise.
K = 10


def main() -> None:
    """Match random entities, as many on either side as each argument says."""
    for size in map(int, sys.argv[1:]):
        rng = np.random.default_rng(0)
        left = rng.standard_normal((size, DIMENSIONS), dtype=np.float32)
        right = rng.standard_normal((size, DIMENSIONS), dtype=np.float32) + SIGNAL * left
        pairs = np.arange(size)[:, None].repeat(2, axis=1)
        report = Task(pairs, left=size, right=size).evaluate_embeddings(left, right, csls=K)
        print(f"{size:,} a side, hits@1 {report['hits@1']:.2f}")
        for method in METHODS:
            start = time.process_time()
            inferred, _ = infer(left, right, method=method, csls=K)
            seconds = time.process_time() - start
            correct = (inferred[:, 0] == inferred[:, 1]).sum()
            print(f"{method:8} {seconds:5.1f}  F1 {2 * correct / (len(inferred) + size):.3f}")


if __name__ == "__main__":
    main()
