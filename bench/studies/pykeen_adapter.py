"""truerank.adapters.pykeen instead of PyKEEN's evaluator: whole evaluations, and ranking alone.

    python bench/studies/pykeen_adapter.py DATA_FOLDER [--sets ...] [--models ...] [--dim 64]
        [--batch-sizes 32 256] [--limit SECONDS] [--rounds 5] [--quick] [--output FOLDER]

DATA_FOLDER holds WN18RR: train.txt, valid.txt and test.txt. The second set has the size of
FB15k-237, and is drawn at random. Models are PyKEEN's own, untrained: what an evaluation costs does
not depend on training. PyKEEN's faster batch size is found on some test triples first; a run that
would take longer than the limit has fewer test triples, and its time is scaled. Needs torch and
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
BATCH = 256  # test triples ranked at once


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


class WholeTimes(NamedTuple):
    """WholeTimes evaluations of a case, in seconds for all test triples."""

    fused: float
    own: float
    theirs: float
    batch: int
    tests: int  # test triples that PyKEEN evaluated, and truerank by the model's own scores
    differing: int  # realistic ranks of the fused path that differ from PyKEEN's
    largest: float  # difference of them


def time_whole(case: Case, batches: Sequence[int], limit: float, rounds: int) -> WholeTimes:
    total = len(case.graph.triples["test"])
    fused = [time_evaluation(RankEvaluator(fused=True), case, total, 32) for _ in range(rounds)]
    pilots = {
        b: time_evaluation(RankBasedEvaluator(), case, min(PILOT, total), b)[0] for b in batches
    }
    batch = min(pilots, key=lambda b: pilots[b])
    tests = min(total, max(PILOT, round(limit / pilots[batch] * PILOT)))
    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    theirs, _ = time_evaluation(evaluator, case, tests, batch)
    own, _ = time_evaluation(RankEvaluator(fused=False), case, tests, batch)
    ranks = fused[0][1].ranks
    differences = np.concatenate(
        [
            np.abs(
                ranks[ranks.side.values == side][:tests].realistic
                - np.concatenate(evaluator.ranks[side, "realistic"])
            )
            for side in SIDES
        ]
    )
    return WholeTimes(
        fused=min(seconds for seconds, _ in fused),
        own=own * total / tests,
        theirs=theirs * total / tests,
        batch=batch,
        tests=tests,
        differing=int((differences > 0).sum()),
        largest=float(differences.max()),
    )


class RankingTimes(NamedTuple):
    """Seconds to rank computed scores, of some test triples on one side."""

    ours: float
    task: float  # included: making the task with queries, filter and labels
    theirs: float
    filtering: float  # included: finding the filter and writing NaN


def time_ranking(case: Case, side: str, rounds: int) -> RankingTimes:
    """Rank each batch of the same scores by both; PyKEEN overwrites a copy, made untimed."""
    column = SIDES[side]
    triples = case.triples("test")[:RANKED]
    known = {split: case.triples(split) for split in ("train", "valid")}
    batches = list(triples.split(BATCH))
    fastest: dict[str, float] = {}

    def record(name: str, seconds: float) -> None:
        fastest[name] = min(fastest.get(name, np.inf), seconds)

    with torch.inference_mode():
        scores = [case.model.predict(batch, target=side).clone() for batch in batches]
        for _ in range(rounds):
            start = time.perf_counter()
            task = tr.link_prediction.Task(
                triples.numpy(),
                {split: rows.numpy() for split, rows in known.items()},
                entities=case.graph.entities,
                relations=case.graph.relations,
                sides=(side,),
            )
            record("task", time.perf_counter() - start)
            tasks = task.sides[side]
            task_batches = np.split(np.arange(len(triples)), range(BATCH, len(triples), BATCH))
            ranks = []
            for block, ids in zip(scores, task_batches, strict=True):
                selection, _ = tasks.selections(ids)
                ranks.append(tr.rank(block, tasks.targets[ids], filter=selection))
            tr.report(tr.concatenate(ranks).with_labels(side=side)).to_dict()
            record("ours", time.perf_counter() - start)

            evaluator, filtering, seconds = RankBasedEvaluator(), 0.0, 0.0
            start = time.perf_counter()
            known_triples = prepare_filter_triples(triples, list(known.values()))
            filtering += time.perf_counter() - start
            for batch, original in zip(batches, scores, strict=True):
                block = original.clone()
                start = time.perf_counter()
                rows = torch.arange(len(batch))
                filtered, _ = create_sparse_positive_filter_(
                    batch, known_triples, filter_col=column
                )
                true_scores = block[rows, batch[:, column]]
                block = filter_scores_(block, filtered)
                block[rows, batch[:, column]] = true_scores
                filtering += time.perf_counter() - start
                start = time.perf_counter()
                evaluator.process_scores_(batch, side, block, true_scores[:, None])
                seconds += time.perf_counter() - start
            start = time.perf_counter()
            evaluator.finalize().to_flat_dict()
            seconds += time.perf_counter() - start
            record("theirs", seconds + filtering)
            record("filtering", filtering)
    return RankingTimes(fastest["ours"], fastest["task"], fastest["theirs"], fastest["filtering"])


def format_seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def format_ratio(ratio: float, goal: float) -> str:
    return f"{ratio:.0f}" if ratio >= goal else f"{ratio:.0f} (missed)"


def whole_table(measured: Iterable[tuple[Case, WholeTimes]]) -> str:
    rows = []
    for case, run in measured:
        total = len(case.graph.triples["test"])
        scaled = "all" if run.tests == total else f"{run.tests:,}, scaled"
        differ = f"{run.differing} of {2 * run.tests:,}" if run.differing else "none"
        rows.append(
            (
                *(
                    case.graph.name,
                    case.name,
                    format_seconds(run.fused),
                    format_seconds(run.own),
                    format_seconds(run.theirs),
                ),
                *(str(run.batch), scaled, format_ratio(run.theirs / run.fused, FUSED_GOAL)),
                *(f"{run.theirs / run.own:.1f}", differ, f"{run.largest:g}"),
            )
        )
    ours = "fused | own scores | PyKEEN | batch size | test triples"
    return markdown_table(
        f"set | model | {ours} | fused: times | own: times | differing ranks | by at most",
        rows,
        text_columns=2,
    )


def ranking_table(measured: Iterable[tuple[Case, str, RankingTimes]]) -> str:
    rows = [
        (
            *(
                case.graph.name,
                f"{case.name}, {side}s",
                format_seconds(run.ours),
                format_seconds(run.task),
            ),
            *(format_seconds(run.theirs), format_seconds(run.filtering)),
            format_ratio(run.theirs / run.ours, RANKING_GOAL),
            f"{(run.theirs - run.filtering) / (run.ours - run.task):.0f}",
        )
        for case, side, run in measured
    ]
    ours = "truerank | task alone | PyKEEN | filter alone"
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
    """Measure and write the page."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(int(_core.default_threads()))
    if quick:
        sets, models, limit, rounds = sets[:1], models[:2], 10.0, 2
    graphs = [SETS[name](data) for name in sets]
    cases = [make_case(graph, name, dim) for graph in graphs for name in models]
    measured = []
    for case in cases:
        measured.append((case, time_whole(case, batch_sizes, limit, rounds)))
        print(case.graph.name, case.name, measured[-1][1], flush=True)
    rankings = [
        (case, side, time_ranking(case, side, rounds))
        for case in cases
        if case.name == models[0]
        for side in SIDES
    ]
    descriptions = [
        f"- **{graph.name}**: "
        + " / ".join(f"{len(graph.triples[split]):,}" for split in SPLITS)
        + f" triples, {graph.entities:,} entities, {graph.relations} relations."
        for graph in graphs
    ]
    page = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        torch=version("torch"),
        pykeen=version("pykeen"),
        isa=_core.isa(),
        threads=_core.default_threads(),
        cores=len(os.sched_getaffinity(0)),
        quick=QUICK if quick else "",
        descriptions="\n".join(descriptions),
        wholes=whole_table(measured),
        rankings=ranking_table(rankings),
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
    (output / "pykeen_adapter.md").write_text(page, encoding="utf-8")
    print(page)


QUICK = "\nThis is a quick run (`--quick`): a part of the sets and models, and rough times.\n"

TEXT = """# The adapter instead of PyKEEN's evaluator

Made by `python bench/studies/pykeen_adapter.py DATA_FOLDER`, with Python {python}, numpy {numpy},
torch {torch}, PyKEEN {pykeen} and {cores} cores; {threads} threads each, truerank's instruction set
{isa}.
{quick}
{descriptions}

The triples of the set of FB15k-237's size are drawn at random, with degrees about as skewed. Models
are PyKEEN's own, d = {dim}, untrained.

## WholeTimes evaluations

`evaluator.evaluate(model, ...)`, both sides, filtered, to the flat dictionary of all metrics:
`RankEvaluator()` of truerank.adapters.pykeen against PyKEEN's `RankBasedEvaluator()`. "Fused": the
model's embeddings are scored and counted at once; the best of {rounds} runs. "Own scores":
`fused=False`, where the model computes its scores in PyKEEN's batches, once for each distinct
query. PyKEEN has batches of {batches} (its default on a processor is 32), whichever is faster on
{pilot} test triples; runs of more than {limit} s have as many test triples as fit, and are scaled.
Goal: {fused_goal} times, fused.

{wholes}

"Differing ranks" counts realistic ranks of the fused path that differ from PyKEEN's, among the test
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
