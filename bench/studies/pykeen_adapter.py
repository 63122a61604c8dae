"""truerank.adapters.pykeen instead of PyKEEN's evaluator: whole evaluations.

    python bench/studies/pykeen_adapter.py DATA_FOLDER [--sets ...] [--models ...] [--dim 64]
        [--batch-sizes 32 256] [--limit SECONDS] [--rounds 5] [--output FOLDER]

DATA_FOLDER holds WN18RR: train.txt, valid.txt and test.txt. The second set has the size of
FB15k-237, and is drawn at random. Models are PyKEEN's own, untrained: what an evaluation costs does
not depend on training. PyKEEN's faster batch size is found on some test triples first; a run that
would take longer than the limit has fewer test triples, and its time is scaled. Needs torch and
pykeen. Writes pykeen_adapter.md.
"""

from __future__ import annotations

import logging
import os
import platform
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from graphs import SETS, Graph
from pages import arguments, bullet_list, format_page, markdown_table
from pykeen.evaluation import RankBasedEvaluator
from pykeen.models import model_resolver
from pykeen.triples import CoreTriplesFactory

import truerank as tr
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
SIDES = ("head", "tail")
GOAL = 100
PILOT = 256  # test triples on which PyKEEN's batch size is chosen


class Case(NamedTuple):
    """A data set and a model."""

    graph: Graph
    name: str
    model: Any

    def triples(self, split: str) -> Any:
        return torch.from_numpy(self.graph.triples[split])


def make_case(graph: Graph, name: str, dim: int) -> Case:
    factory = CoreTriplesFactory(
        torch.from_numpy(graph.triples["train"]), graph.entities, graph.relations
    )
    options = {"embedding_dim": dim, "random_seed": 0, **MODELS[name]}
    return Case(graph, name, model_resolver.make(name, triples_factory=factory, **options).eval())


def time_evaluation(evaluator: Any, case: Case, tests: int, batch: int) -> tuple[float, Any]:
    """Return the seconds of `evaluator.evaluate`, metrics included, and its result."""
    triples = case.triples("test")
    known = [case.triples("train"), case.triples("valid")]
    if tests < len(triples):  # the filter is that of all test triples
        known.append(triples[tests:])
    options = {"additional_filter_triples": known, "batch_size": batch, "use_tqdm": False}
    start = time.perf_counter()
    result = evaluator.evaluate(case.model, triples[:tests], **options)
    result.to_flat_dict()
    return time.perf_counter() - start, result


class Theirs(NamedTuple):
    """A run of PyKEEN's evaluator: on how many test triples, and the seconds all would take."""

    evaluator: Any  # has the ranks
    seconds: float
    batch: int
    tests: int

    def tests_of(self, case: Case) -> str:
        total = len(case.graph.triples["test"])
        if self.tests == total:
            return "all"
        return f"{self.tests:,}, scaled"

    def differing(self, ranks: tr.Ranks) -> str:
        """Count the realistic ranks that differ from PyKEEN's, and say by how much at most."""
        differences = np.concatenate(
            [
                ranks[ranks.side.values == side][: self.tests].realistic
                - np.concatenate(self.evaluator.ranks[side, "realistic"])
                for side in SIDES
            ]
        )
        count = int((differences != 0).sum())
        if count == 0:
            return "none"
        return f"{count} (by {np.abs(differences).max():g})"


def by_pykeen(case: Case, batches: Sequence[int], limit: float) -> Theirs:
    """Run PyKEEN with the faster batch size, on as many test triples as fit within the limit."""
    total = len(case.graph.triples["test"])
    pilot = min(PILOT, total)
    seconds, batch = min(
        (time_evaluation(RankBasedEvaluator(), case, pilot, b)[0], b) for b in batches
    )
    tests = min(total, max(pilot, round(limit / seconds * pilot)))
    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    seconds, _ = time_evaluation(evaluator, case, tests, batch)
    return Theirs(evaluator, seconds * total / tests, batch, tests)


def seconds_of(number: float) -> str:
    if number >= 1:
        return f"{number:.1f} s"
    return f"{number * 1000:.0f} ms"


def versions() -> dict[str, Any]:
    """Return what a page says about the machine."""
    names = {name: version(name) for name in ("numpy", "torch", "pykeen")}
    threads = {"threads": _core.default_threads(), "cores": len(os.sched_getaffinity(0))}
    return {"python": platform.python_version(), "isa": _core.isa(), **names, **threads}


def measure(case: Case, batches: Sequence[int], limit: float, rounds: int) -> tuple[object, ...]:
    """Return a line of the table."""
    total = len(case.graph.triples["test"])
    runs = [time_evaluation(RankEvaluator(fused=True), case, total, 32) for _ in range(rounds)]
    fused, result = min(runs, key=lambda run: run[0])
    theirs = by_pykeen(case, batches, limit)
    own, _ = time_evaluation(RankEvaluator(fused=False), case, theirs.tests, theirs.batch)
    own *= total / theirs.tests
    ratio = theirs.seconds / fused
    missed = "" if ratio >= GOAL else " (missed)"
    line = (
        case.graph.name,
        case.name,
        seconds_of(fused),
        seconds_of(own),
        seconds_of(theirs.seconds),
        theirs.batch,
        theirs.tests_of(case),
        f"{ratio:.0f}{missed}",
        f"{theirs.seconds / own:.1f}",
        theirs.differing(result.ranks),
    )
    print(*line, flush=True)
    return line


def main(
    data: Path,
    sets: list[str],
    models: list[str],
    dim: int,
    batch_sizes: list[int],
    limit: float,
    rounds: int,
    output: Path,
) -> None:
    """Measure and write the page."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(int(_core.default_threads()))
    graphs = [SETS[name](data) for name in sets]
    cases = [make_case(graph, name, dim) for graph in graphs for name in models]
    heading = "set | model | fused | own scores | PyKEEN | batch size | test triples | fused: times"
    lines = [measure(case, batch_sizes, limit, rounds) for case in cases]
    page = TEXT.format(
        **versions(),
        descriptions=bullet_list([graph.description for graph in graphs]),
        table=markdown_table(f"{heading} | own: times | differing ranks", lines, text_columns=2),
        dim=dim,
        batches=" or ".join(map(str, batch_sizes)),
        limit=f"{limit:.0f}",
        pilot=PILOT,
        rounds=rounds,
        goal=GOAL,
    )
    (output / "pykeen_adapter.md").write_text(format_page(page), encoding="utf-8")


TEXT = """# The adapter instead of PyKEEN's evaluator

Made by `python bench/studies/pykeen_adapter.py DATA_FOLDER`, with Python {python}, numpy {numpy},
torch {torch}, PyKEEN {pykeen} and {cores} cores; {threads} threads each, truerank's instruction set
{isa}.

{descriptions}

The triples of the set of FB15k-237's size are drawn at random, with degrees about as skewed. Models
are PyKEEN's own, d = {dim}, untrained.

## Whole evaluations

`evaluator.evaluate(model, ...)`, both sides, filtered, to the flat dictionary of all metrics:
`RankEvaluator()` of truerank.adapters.pykeen against PyKEEN's `RankBasedEvaluator()`. "Fused": the
model's embeddings are scored and counted at once; the best of {rounds} runs. "Own scores":
`fused=False`, where the model computes its scores in PyKEEN's batches, once for each distinct
query. PyKEEN has batches of {batches} (its default on a processor is 32), whichever is faster on
{pilot} test triples; runs of more than {limit} s have as many test triples as fit, and are scaled.
Goal: {goal} times, fused.

{table}

"Differing ranks" counts realistic ranks of the fused path that differ from PyKEEN's, among the test
triples that PyKEEN evaluated. Both sum in float32, in different orders: where a candidate's score
is close to the true score, the last bits decide. torch adds up TransE's L1 norm in the same order
as truerank, and no rank differs. The model's own scores take most of PyKEEN's time, and nearly all
of that of truerank's `fused=False`: computing them costs the same in both.
"""


if __name__ == "__main__":
    options = {"sets": list(SETS), "models": list(MODELS), "dim": 64, "batch_sizes": [32, 256]}
    main(**arguments(__doc__, "data", **options, limit=60.0, rounds=5, output=HERE))
