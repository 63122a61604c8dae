"""truerank.adapters.pykeen instead of PyKEEN's evaluator: whole evaluations of WN18RR.

    python bench/studies/pykeen_adapter.py DATA_FOLDER [--limit 6] [--rounds 5] [--output FOLDER]

DATA_FOLDER/wn18rr has train.txt, valid.txt and test.txt. Models are PyKEEN's own, untrained: what
an evaluation costs does not depend on training. PyKEEN's faster batch size is found on some test
triples first; a run that would take longer than the limit has fewer test triples, and its time is
scaled. Needs torch and pykeen. Makes the table of pykeen_adapter.md.
"""

from __future__ import annotations

import logging
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from data_sets import SPLITS, read_files
from pages import arguments, fill_page, machine, markdown_table
from pykeen.evaluation import RankBasedEvaluator
from pykeen.models import model_resolver
from pykeen.triples import CoreTriplesFactory

from truerank import _core
from truerank.adapters.pykeen import RankEvaluator

HERE = Path(__file__).parent
MODELS: dict[str, dict[str, Any]] = {
    "DistMult": {},
    "ComplEx": {},
    "TransE": {"scoring_fct_norm": 1},
    "RotatE": {},
    "TuckER": {},
}
BATCHES = (32, 256)
PILOT = 64  # test triples on which PyKEEN's batch size is chosen
GOAL = 100

Triples = dict[str, Any]  # tensors of ids, by split


def read_ids(folder: Path) -> Triples:
    """Read triples; ids are in the order of the labels."""
    labels = {split: np.array(rows) for split, rows in read_files(folder).items()}
    every = np.concatenate(list(labels.values()))
    entities = np.unique(every[:, [0, 2]])
    names = (entities, np.unique(every[:, 1]), entities)
    return {
        split: torch.from_numpy(
            np.stack([np.searchsorted(n, c) for n, c in zip(names, rows.T, strict=True)], axis=1)
        )
        for split, rows in labels.items()
    }


def time_evaluation(
    evaluator: Any, model: Any, triples: Triples, tests: int, batch: int
) -> tuple[float, Any]:
    """Return the seconds of `evaluator.evaluate`, metrics included, and its result."""
    test = triples["test"]
    known = [triples["train"], triples["valid"]]
    if tests < len(test):  # the filter is that of all test triples
        known.append(test[tests:])
    options = {"additional_filter_triples": known, "batch_size": batch, "use_tqdm": False}
    start = time.perf_counter()
    result = evaluator.evaluate(model, test[:tests], **options)
    result.to_flat_dict()
    return time.perf_counter() - start, result


def differing(ranks: Any, evaluator: Any, tests: int) -> str:
    """Count the realistic ranks that differ from PyKEEN's, and say by how much at most."""
    sides = [
        ranks[ranks.side.values == side][:tests].realistic
        - np.concatenate(evaluator.ranks[side, "realistic"])
        for side in ("head", "tail")
    ]
    differences = np.concatenate(sides)
    count = np.count_nonzero(differences)
    return f"{count} of {2 * tests:,} (by {np.abs(differences).max():g})" if count else "none"


def measure(name: str, triples: Triples, limit: float, rounds: int) -> tuple[object, ...]:
    """Return a line of the table."""
    factory = CoreTriplesFactory(
        triples["train"],
        1 + max(int(triples[split][:, [0, 2]].max()) for split in SPLITS),
        1 + max(int(triples[split][:, 1].max()) for split in SPLITS),
    )
    options = {"embedding_dim": 64, "random_seed": 0, **MODELS[name]}
    model = model_resolver.make(name, triples_factory=factory, **options).eval()
    total = len(triples["test"])
    runs = [
        time_evaluation(RankEvaluator(fused=True), model, triples, total, 32) for _ in range(rounds)
    ]
    fused, result = min(runs, key=lambda run: run[0])
    seconds, batch = min(
        (time_evaluation(RankBasedEvaluator(), model, triples, PILOT, b)[0], b) for b in BATCHES
    )
    tests = min(total, max(PILOT, round(limit / seconds * PILOT)))
    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    seconds = time_evaluation(evaluator, model, triples, tests, batch)[0] * total / tests
    scored = time_evaluation(RankEvaluator(fused=False), model, triples, tests, batch)[0]
    scored *= total / tests
    ratio = seconds / fused
    missed = "" if ratio >= GOAL else " (missed)"
    counted = "all" if tests == total else f"{tests:,}, scaled"
    line = (name, f"{fused * 1000:.0f} ms", f"{seconds:.1f} s", batch, counted)
    line += (f"{ratio:.0f}{missed}", f"{seconds / scored:.1f}")
    line += (differing(result.ranks, evaluator, tests),)
    print(*line, flush=True)
    return line


def main(data: Path, limit: float, rounds: int, output: Path) -> None:
    """Measure and write the page."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(int(_core.default_threads()))
    triples = read_ids(data / "wn18rr")
    lines = [measure(name, triples, limit, rounds) for name in MODELS]
    heading = "model | fused | PyKEEN | batch size | test triples | times | not fused"
    heading += " | differing ranks"
    facts = f"{machine()}, {_core.isa()}, torch {version('torch')}, PyKEEN {version('pykeen')}."
    table = markdown_table(heading, lines)
    fill_page(HERE / "pykeen_adapter.md", output, [table], facts)


if __name__ == "__main__":
    main(**arguments(__doc__, "data", limit=6.0, rounds=5, output=HERE))
