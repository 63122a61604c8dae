"""Make the model and the figures that `truerank demo` ships, from the published arrays.

    python bench/studies/make_demo_data.py PUBLISHED_FOLDER [OUTPUT_FOLDER]

The published TransE model of Kinships comes as query vectors, one for each side of each test
triple. Those are sums in float32: h + r for tails, t + r_inverse for heads. This script solves
them for the relation vectors, which are far smaller, and checks that every sum is the published
query, bit for bit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

SOURCE = (
    "trained and published under CC0 by the authors of "
    '"A Unified Framework for Rank-based Evaluation Metrics for Link Prediction in Knowledge '
    'Graphs" (2022)'
)
NAMES = {  # ours, theirs
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@5": "hits_at_5",
    "hits@10": "hits_at_10",
    "median": "median_rank",
    "amr": "adjusted_arithmetic_mean_rank",
    "amri": "adjusted_arithmetic_mean_rank_index",
}


def solve_sum(known: Floats, sums: Floats) -> Floats:
    """Return the vector r for which float32(known[i] + r) equals sums[i] in every row i.

    A float32 sum determines r to within half a unit in its last place. Every row gives such an
    interval, and r lies in their intersection. A sum halfway between two floats may be rounded
    either way, so that the neighbours of the middle are tried too.
    """
    wide, infinity = sums.astype(np.float64), np.float32(np.inf)
    low = ((wide + np.nextafter(sums, -infinity)) / 2 - known).max(axis=0)
    high = ((wide + np.nextafter(sums, infinity)) / 2 - known).min(axis=0)
    middle: Floats = ((low + high) / 2).astype(np.float32)
    for guess in (np.nextafter(middle, -infinity), np.nextafter(middle, infinity), middle.copy()):
        good = (known + guess == sums).all(axis=0)
        middle[good] = guess[good]
    if not np.array_equal(known + middle, sums):
        raise ValueError("the published queries are not float32 sums with one relation vector")
    return middle


def relation_vectors(model: Any, test: NDArray[np.int32], relations: int) -> Floats:
    """Return forward vectors for tail queries, then inverse ones for heads; zeros if untested."""
    entities = model["entities"]
    vectors = np.zeros((2 * relations, entities.shape[1]), dtype=np.float32)
    for offset, column, queries in ((0, 0, "queries_tail"), (relations, 2, "queries_head")):
        for relation in np.unique(test[:, 1]):
            chosen = test[:, 1] == relation
            known = entities[test[chosen, column]]
            vectors[offset + relation] = solve_sum(known, model[queries][chosen])
    return vectors


def main(published: Path, output: Path) -> None:
    """Write kinships_transe.npz and kinships_transe.json."""
    with np.load(published / "transe.npz") as model, np.load(published / "triples.npz") as triples:
        splits = {name: triples[name].astype(np.uint8) for name in ("train", "valid", "test")}
        for name, rows in splits.items():
            if not np.array_equal(rows, triples[name]):
                raise ValueError(f"{name}: expected ids below 256")
        np.savez_compressed(
            output / "kinships_transe.npz",
            entities=model["entities"],
            relations=relation_vectors(model, triples["test"], len(triples["relations"])),
            entity_labels=triples["entities"],
            relation_labels=triples["relations"],
            **splits,
        )
    figures = json.loads((published / "published.json").read_text(encoding="utf-8"))["transe"]
    record = {
        "dataset": "Kinships",
        "model": "TransE",
        "source": SOURCE,
        "figures": {
            f"{cell}.{ours}": values[theirs]
            for cell, values in figures.items()
            for ours, theirs in NAMES.items()
        },
    }
    text = json.dumps(record, indent=1) + "\n"
    (output / "kinships_transe.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    package = Path(__file__).parents[2] / "python" / "truerank" / "cli" / "data"
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else package)
