"""truerank.adapters.pykeen in PyKEEN's place: whole evaluations, and the ranking part.

    python bench/studies/pykeen_adapter.py DATA_FOLDER [--sets ...] [--models ...] [--dim 64]
        [--batch-sizes 32 256] [--limit SECONDS] [--rounds 5] [--quick] [--output FOLDER]

DATA_FOLDER holds WN18RR: train.txt, valid.txt and test.txt. The second set has the size of
FB15k-237, and is drawn. Models are PyKEEN's own, as they are initialised: what an evaluation costs
does not depend on what was learned. PyKEEN's better batch size is found on some test triples first;
a run that would take longer than the limit is one of fewer test triples, scaled. Needs torch and
pykeen. Writes pykeen_adapter.md.
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import time
import warnings
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from graphs import SETS, SPLITS, Graph
from pages import markdown_table
from pykeen.evaluation import RankBasedEvaluator
from pykeen.evaluation.evaluator import create_sparse_positive_filter_, filter_scores_
from pykeen.models import model_resolver
from pykeen.triples import CoreTriplesFactory
from pykeen.utils import prepare_filter_triples

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
SIDES = {"head": 0, "tail": 2}
FUSED_GOAL, RANKING_GOAL = 100, 5
PILOT = 256  # test triples on which PyKEEN's batch size is chosen
RANKED = 2048  # test triples whose scores are ranked
BATCH = 256  # of them at once


class Case(NamedTuple):
    """A set and a model."""

    graph: Graph
    name: str
    model: Any

    def triples(self, split: str) -> Any:
        return torch.from_numpy(self.graph.triples[split])


def case_of(graph: Graph, name: str, dim: int) -> Case:
    factory = CoreTriplesFactory(
        torch.from_numpy(graph.triples["train"]), graph.entities, graph.relations
    )
    options = {"embedding_dim": dim, "random_seed": 0, **MODELS[name]}
    return Case(graph, name, model_resolver.make(name, triples_factory=factory, **options).eval())


def evaluated(evaluator: Any, case: Case, tests: int, batch: int) -> tuple[float, Any]:
    """Seconds of `evaluator.evaluate`, metrics included, and its result."""
    triples = case.triples("test")
    known = [case.triples("train"), case.triples("valid")]
    if tests < len(triples):  # they are filtered as among all
        known.append(triples[tests:])
    start = time.perf_counter()
    result = evaluator.evaluate(
        case.model,
        triples[:tests],
        additional_filter_triples=known,
        batch_size=batch,
        use_tqdm=False,
    )
    result.to_flat_dict()
    return time.perf_counter() - start, result


class Whole(NamedTuple):
    """Whole evaluations of a case, in seconds for all test triples."""

    fused: float
    own: float
    theirs: float
    batch: int
    tests: int  # that PyKEEN evaluated, and truerank by the model's own scores
    differ: int  # realistic ranks of the fused path that are not PyKEEN's
    most: float


def whole(case: Case, batches: Sequence[int], limit: float, rounds: int) -> Whole:
    total = len(case.graph.triples["test"])
    fused = [evaluated(RankEvaluator(fused=True), case, total, 32) for _ in range(rounds)]
    pilots = {b: evaluated(RankBasedEvaluator(), case, min(PILOT, total), b)[0] for b in batches}
    batch = min(pilots, key=lambda b: pilots[b])
    tests = min(total, max(PILOT, round(limit / pilots[batch] * PILOT)))
    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    theirs, _ = evaluated(evaluator, case, tests, batch)
    own, _ = evaluated(RankEvaluator(fused=False), case, tests, batch)
    ranks = fused[0][1].ranks
    apart = np.concatenate(
        [
            np.abs(
                ranks[ranks.side.values == side][:tests].realistic
                - np.concatenate(evaluator.ranks[side, "realistic"])
            )
            for side in SIDES
        ]
    )
    return Whole(
        fused=min(seconds for seconds, _ in fused),
        own=own * total / tests,
        theirs=theirs * total / tests,
        batch=batch,
        tests=tests,
        differ=int((apart > 0).sum()),
        most=float(apart.max()),
    )


class Ranking(NamedTuple):
    """Scores that are there already, ranked; seconds for some test triples on one side."""

    ours: float
    task: float  # of which to make the task: queries, filter, labels
    theirs: float
    filtering: float  # of which to find and write the filter


def ranking(case: Case, side: str, rounds: int) -> Ranking:
    """Both rank each batch of the same scores; those PyKEEN writes to are copied, untimed."""
    column = SIDES[side]
    triples = case.triples("test")[:RANKED]
    known = {split: case.triples(split) for split in ("train", "valid")}
    parts = list(triples.split(BATCH))
    best: dict[str, float] = {}

    def took(name: str, seconds: float) -> None:
        best[name] = min(best.get(name, np.inf), seconds)

    with torch.inference_mode():
        scores = [case.model.predict(part, target=side).clone() for part in parts]
        for _ in range(rounds):
            start = time.perf_counter()
            task = tr.link_prediction.Task(
                triples.numpy(),
                {split: rows.numpy() for split, rows in known.items()},
                entities=case.graph.entities,
                relations=case.graph.relations,
                sides=(side,),
            )
            took("task", time.perf_counter() - start)
            asked = task.sides[side]
            places = np.split(np.arange(len(triples)), range(BATCH, len(triples), BATCH))
            ranks = []
            for part, where in zip(scores, places, strict=True):
                without, _ = asked.selections(where)
                ranks.append(tr.rank(part, asked.targets[where], filter=without))
            tr.report(tr.concatenate(ranks).with_labels(side=side)).to_dict()
            took("ours", time.perf_counter() - start)

            evaluator, filtering, seconds = RankBasedEvaluator(), 0.0, 0.0
            start = time.perf_counter()
            every = prepare_filter_triples(triples, list(known.values()))
            filtering += time.perf_counter() - start
            for part, original in zip(parts, scores, strict=True):
                copied = original.clone()
                start = time.perf_counter()
                rows = torch.arange(len(part))
                listed, _ = create_sparse_positive_filter_(part, every, filter_col=column)
                true = copied[rows, part[:, column]]
                copied = filter_scores_(copied, listed)
                copied[rows, part[:, column]] = true
                filtering += time.perf_counter() - start
                start = time.perf_counter()
                evaluator.process_scores_(part, side, copied, true[:, None])
                seconds += time.perf_counter() - start
            start = time.perf_counter()
            evaluator.finalize().to_flat_dict()
            seconds += time.perf_counter() - start
            took("theirs", seconds + filtering)
            took("filtering", filtering)
    return Ranking(best["ours"], best["task"], best["theirs"], best["filtering"])


def shown(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def goal(ratio: float, wanted: float) -> str:
    return f"{ratio:.0f}" if ratio >= wanted else f"{ratio:.0f} (missed)"


def wholes(measured: Iterable[tuple[Case, Whole]]) -> str:
    rows = []
    for case, run in measured:
        total = len(case.graph.triples["test"])
        scaled = "all" if run.tests == total else f"{run.tests:,}, scaled"
        differ = f"{run.differ} of {2 * run.tests:,}" if run.differ else "none"
        rows.append(
            (
                *(case.graph.name, case.name, shown(run.fused), shown(run.own), shown(run.theirs)),
                *(str(run.batch), scaled, goal(run.theirs / run.fused, FUSED_GOAL)),
                *(f"{run.theirs / run.own:.1f}", differ, f"{run.most:g}"),
            )
        )
    ours = "fused | own scores | PyKEEN | in batches of | test triples"
    return markdown_table(
        f"set | model | {ours} | fused: times | own: times | ranks apart | by at most",
        rows,
        text_columns=2,
    )


def rankings(measured: Iterable[tuple[Case, str, Ranking]]) -> str:
    rows = [
        (
            *(case.graph.name, f"{case.name}, {side}s", shown(run.ours), shown(run.task)),
            *(shown(run.theirs), shown(run.filtering)),
            goal(run.theirs / run.ours, RANKING_GOAL),
            f"{(run.theirs - run.filtering) / (run.ours - run.task):.0f}",
        )
        for case, side, run in measured
    ]
    ours = "truerank | of which the task | PyKEEN | of which the filter"
    return markdown_table(
        f"set | scores of | {ours} | times | without both: times", rows, text_columns=2
    )


def main(
    data: Path,
    sets: list[str],
    models: list[str],
    dim: int,
    batch_sizes: list[int],
    limit: float,
    rounds: int,
    quick: bool,
    output: Path,
) -> None:
    """Measure and write."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(int(_core.default_threads()))
    if quick:
        sets, models, limit, rounds = sets[:1], models[:2], 10.0, 2
    graphs = [SETS[name](data) for name in sets]
    cases = [case_of(graph, name, dim) for graph in graphs for name in models]
    measured = []
    for case in cases:
        measured.append((case, whole(case, batch_sizes, limit, rounds)))
        print(case.graph.name, case.name, measured[-1][1], flush=True)
    ranked = [
        (case, side, ranking(case, side, rounds))
        for case in cases
        if case.name == models[0]
        for side in SIDES
    ]
    described = [
        f"- **{graph.name}**: "
        + " / ".join(f"{len(graph.triples[split]):,}" for split in SPLITS)
        + f" triples, {graph.entities:,} entities, {graph.relations} relations."
        for graph in graphs
    ]
    told = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        torch=version("torch"),
        pykeen=version("pykeen"),
        isa=_core.isa(),
        threads=_core.default_threads(),
        cores=len(os.sched_getaffinity(0)),
        quick=QUICK if quick else "",
        described="\n".join(described),
        wholes=wholes(measured),
        rankings=rankings(ranked),
        dim=dim,
        batches=" or ".join(map(str, batch_sizes)),
        limit=f"{limit:.0f}",
        pilot=PILOT,
        ranked=f"{RANKED:,}",
        batch=BATCH,
        rounds=rounds,
        fused_goal=FUSED_GOAL,
        ranking_goal=RANKING_GOAL,
    )
    (output / "pykeen_adapter.md").write_text(told, encoding="utf-8")
    print(told)


QUICK = "\nThis is a quick run (`--quick`): a part of the sets and models, and rough times.\n"

TEXT = """# The adapter instead of PyKEEN's evaluator

Made by `python bench/studies/pykeen_adapter.py DATA_FOLDER`, with Python {python}, numpy {numpy},
torch {torch}, PyKEEN {pykeen} and {cores} cores; {threads} threads each, truerank's instruction set
{isa}.
{quick}
{described}

The triples of the set of FB15k-237's size are drawn at random, with degrees about as skewed. Models
are PyKEEN's own, d = {dim}, untrained.

## Whole evaluations

`evaluator.evaluate(model, ...)`, both sides, filtered, to the flat dictionary of all metrics:
`RankEvaluator()` of truerank.adapters.pykeen against PyKEEN's `RankBasedEvaluator()`. "Fused": the
model's embeddings are scored and counted at once; the best of {rounds} runs. "Own scores":
`fused=False`, where the model computes its scores in PyKEEN's batches, once for each distinct
query. PyKEEN has batches of {batches} (its default on a processor is 32), whichever is faster on
{pilot} test triples; runs of more than {limit} s have as many test triples as fit, and are scaled.
Goal: {fused_goal} times, fused.

{wholes}

"Ranks apart" counts realistic ranks of the fused path that differ from PyKEEN's, among the test
triples that PyKEEN evaluated. Both sum in float32, in different orders: where a candidate's score
is close to the true score, the last bits decide. torch adds up TransE's L1 norm in the same order
as truerank, and no rank differs. The model's own scores take most of PyKEEN's time, and nearly all
of that of truerank's `fused=False`: computing them costs the same in both.

## The ranking part

{ranked} test triples whose scores are already computed, in batches of {batch} rows, one side.
PyKEEN finds the filter, writes NaN to its scores, counts (`process_scores_`) and computes metrics.
truerank makes the task from the triples (queries, filter, labels), counts, and computes metrics.
The best of {rounds} runs. Goal: {ranking_goal} times.

{rankings}
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 256])
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
