"""Link prediction end to end: truerank against PyKEEN's evaluator, same triples and embeddings.

    python bench/studies/link_prediction_pykeen.py DATA_FOLDER [--sets ...] [--models ...]
        [--dims 64 256] [--batch-sizes 32 256] [--limit SECONDS] [--rounds 5] [--output FOLDER]

DATA_FOLDER holds WN18RR: train.txt, valid.txt and test.txt. The second set has the size of
FB15k-237, whose triples are not available, and is drawn at random. PyKEEN's DistMult and TransE
get embeddings, and its RankBasedEvaluator ranks the test split, filtered; truerank builds its task
from the same arrays and evaluates the same embeddings. PyKEEN's faster batch size is found on some
test triples first; a run that would take longer than the limit has fewer test triples, and its time
is scaled. Needs torch and pykeen. Writes link_prediction_pykeen.md.
"""

from __future__ import annotations

import argparse
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
from graphs import MODELS, SETS, SPLITS, Array, Arrays, Graph, Model, make_embeddings
from pages import markdown_table

import truerank as tr
from truerank import _core

HERE = Path(__file__).parent

KEYS = {  # ours and PyKEEN's
    "mrr": "inverse_harmonic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@10": "hits_at_10",
    "mr": "arithmetic_mean_rank",
    "amri": "adjusted_arithmetic_mean_rank_index",
}
SIDES = ("head", "tail")
KINDS = ("optimistic", "realistic", "pessimistic")
GOAL = 100
PILOT = 256  # test triples on which PyKEEN's batch size is chosen
COMPARED = 32  # test triples whose scores are compared


# -- the contestants -------------------------------------------------------------------------------


class OurRun(NamedTuple):
    """The seconds of a run of truerank, and its results."""

    building: float
    evaluating: float
    report: tr.Report
    values: dict[str, Any]

    @property
    def seconds(self) -> float:
        return self.building + self.evaluating


def by_truerank(graph: Graph, model: Model, entities: Array, relations: Array) -> OurRun:
    """Make the task with filter and labels, rank, and compute the metrics to compare."""
    start = time.perf_counter()
    known = {split: graph.triples[split] for split in ("train", "valid")}
    task = tr.link_prediction.Task(
        graph.triples["test"], known, entities=graph.entities, relations=graph.relations
    )
    built = time.perf_counter()
    # The queries are those of the distinct pairs; both are (m, 2), in the order of a triple.
    heads, tails = (task.sides[side].queries for side in SIDES)
    report = task.evaluate_embeddings(
        model.tail(entities[tails[:, 0]], relations[tails[:, 1]]),
        model.head(relations[heads[:, 0]], entities[heads[:, 1]]),
        entities,
        similarity=model.similarity,
        unique=True,
    )
    values = report.to_dict([f"{kind}.{key}" for kind in KINDS for key in KEYS])
    return OurRun(built - start, time.perf_counter() - built, report, values)


class TheirRun(NamedTuple):
    """The seconds of a run of PyKEEN, its metrics, and its ranks by side and kind."""

    seconds: float
    batch: int
    tests: int  # how many test triples it evaluated, from the first on
    values: dict[str, float]
    ranks: dict[tuple[str, str], Array]
    scores: Array  # all tails of some test triples


def by_pykeen(
    graph: Graph, model: Model, entities: Array, relations: Array, batch: int, tests: int
) -> TheirRun:
    """Run PyKEEN's own evaluation; making its model with the embeddings is not timed."""
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import ERModel
    from pykeen.nn.init import PretrainedInitializer
    from pykeen.triples import CoreTriplesFactory

    torch.set_num_threads(int(_core.default_threads()))
    known = [torch.from_numpy(graph.triples[split]) for split in SPLITS]

    def representation(vectors: Array) -> dict[str, Any]:
        initializer = PretrainedInitializer(torch.from_numpy(vectors))
        return {"shape": (vectors.shape[1],), "initializer": initializer}

    network = ERModel(
        triples_factory=CoreTriplesFactory(known[0], graph.entities, graph.relations),
        interaction=model.interaction,
        interaction_kwargs=model.options,
        entity_representations_kwargs=representation(entities),
        relation_representations_kwargs=representation(relations),
    )
    evaluator = RankBasedEvaluator(clear_on_finalize=False)  # keep the ranks
    start = time.perf_counter()
    result = evaluator.evaluate(
        network,
        mapped_triples=known[-1][:tests],
        additional_filter_triples=known,
        batch_size=batch,
        use_tqdm=False,
    )
    values = dict(result.to_flat_dict())
    seconds = time.perf_counter() - start
    ranks = {key: np.concatenate(batches) for key, batches in evaluator.ranks.items()}
    scores = network.predict_t(known[-1][:COMPARED, :2]).detach().numpy()
    return TheirRun(seconds, batch, tests, values, ranks, scores)


def by_pykeen_within(arrays: Arrays, batches: Sequence[int], limit: float) -> TheirRun:
    """Run PyKEEN with the faster batch size, on as many test triples as fit within the limit."""
    tests = len(arrays[0].triples["test"])
    pilots = [by_pykeen(*arrays, batch, min(PILOT, tests)) for batch in batches]
    fastest = min(pilots, key=lambda run: run.seconds)
    share = limit / (fastest.seconds / fastest.tests * tests)
    return by_pykeen(*arrays, fastest.batch, tests if share >= 1 else round(share * tests))


# -- comparisons -----------------------------------------------------------------------------------


class Case(NamedTuple):
    """One data set, model and dimension."""

    graph: Graph
    model: Model
    dim: int
    ours: OurRun
    theirs: TheirRun
    equal: float  # the share of scores whose bits are the same

    @property
    def name(self) -> tuple[str, str, str]:
        return self.graph.name, self.model.name, str(self.dim)

    @property
    def tests(self) -> int:
        return len(self.graph.triples["test"])

    @property
    def pykeen_seconds(self) -> float:
        """Seconds of PyKEEN for all test triples, scaled where it had fewer."""
        return self.theirs.seconds * self.tests / self.theirs.tests

    @property
    def ratio(self) -> float:
        return self.pykeen_seconds / self.ours.seconds

    def our_ranks(self, side: str) -> tr.Ranks:
        """Return our ranks of a side, of the test triples that PyKEEN evaluated."""
        ranks = self.ours.report.ranks
        return ranks[ranks.side.values == side][: self.theirs.tests]


def equal_scores(
    graph: Graph, model: Model, entities: Array, relations: Array, theirs: TheirRun
) -> float:
    """Return the share of PyKEEN's scores, of all tails of some test triples, that equal ours."""
    head, relation, _ = graph.triples["test"][:COMPARED].T
    queries = model.tail(entities[head], relations[relation])
    ours = tr.score_embeddings(queries, entities, similarity=model.similarity)
    return float((ours == theirs.scores).mean())


def differing_ranks(case: Case) -> tuple[int, float, int]:
    """Count the tasks whose realistic ranks differ; return the largest difference, and the ties."""
    count, largest, tied = 0, 0.0, 0
    for side in SIDES:
        ours, ranks = case.our_ranks(side), case.theirs.ranks
        differences = np.abs(ours.realistic - ranks[side, "realistic"])
        count += int((differences > 0).sum())
        largest = max(largest, float(differences.max()))
        spread = ranks[side, "pessimistic"] - ranks[side, "optimistic"]
        tied += int(((ours.tied > 1) | (spread > 0)).sum())
    return count, largest, tied


def evaluate(
    graph: Graph, model: Model, dim: int, batches: Sequence[int], limit: float, rounds: int
) -> Case:
    """Run truerank before and after PyKEEN, which is close to taking turns."""
    arrays = graph, model, *make_embeddings(graph, model, dim)
    ours = [by_truerank(*arrays) for _ in range(rounds)]
    theirs = by_pykeen_within(arrays, batches, limit)
    ours += [by_truerank(*arrays) for _ in range(rounds)]
    fastest = min(ours, key=lambda run: run.seconds)
    case = Case(graph, model, dim, fastest, theirs, equal_scores(*arrays, theirs))
    print(
        *case.name,
        f"{fastest.seconds:.3f} s, PyKEEN {case.pykeen_seconds:.1f} s",
        sep=", ",
        flush=True,
    )
    return case


def times(cases: Sequence[Case]) -> str:
    """Return the table of times and ratios."""
    rows = []
    for case in cases:
        run = case.theirs
        scaled = "all" if run.tests == case.tests else f"{run.tests:,}, scaled"
        rows.append(
            (
                *case.name,
                f"{case.ours.building * 1000:.0f} ms",
                f"{case.ours.evaluating * 1000:.0f} ms",
                f"{case.pykeen_seconds:.1f} s",
                str(run.batch),
                scaled,
                f"{case.ratio:.0f}",
                "met" if case.ratio >= GOAL else "missed",
            )
        )
    theirs = "PyKEEN | batch size | test triples"
    return markdown_table(
        f"set | model | d | task | evaluation | {theirs} | times as fast | goal: {GOAL}",
        rows,
        text_columns=2,
    )


def metrics(cases: Sequence[Case]) -> str:
    """Return the table of metrics and of differing ranks."""
    rows = []
    for case in cases:
        count, largest, tied = differing_ranks(case)
        report = tr.report(tr.concatenate([case.our_ranks(side) for side in SIDES]))
        cells = []
        for key, theirs in KEYS.items():
            ours, value = report[key], case.theirs.values[f"both.realistic.{theirs}"]
            difference = f" ({value - ours:+.1g})" if value != ours else ""
            cells.append(f"{ours:.6g}{difference}")
        tasks = f"{2 * case.theirs.tests:,}"
        differ = f"{count} (by {largest:g})" if count else "none"
        rows.append((*case.name, tasks, *cells, str(tied), f"{100 * case.equal:.0f} %", differ))
    keys = " | ".join(KEYS)
    ends = "ties | equal scores | differing ranks"
    return markdown_table(f"set | model | d | tasks | {keys} | {ends}", rows, text_columns=2)


def main(
    data: Path,
    sets: list[str],
    models: list[str],
    dims: list[int],
    batch_sizes: list[int],
    limit: float,
    rounds: int,
    output: Path,
) -> None:
    """Measure and write the page."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    graphs = [SETS[name](data) for name in sets]
    cases = [
        evaluate(graph, MODELS[name], dim, batch_sizes, limit, rounds)
        for graph in graphs
        for name in models
        for dim in dims
    ]
    ratios = [case.ratio for case in cases]
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
        descriptions="\n".join(descriptions),
        times=times(cases),
        metrics=metrics(cases),
        lowest=f"{min(ratios):.0f}",
        highest=f"{max(ratios):.0f}",
        batches=" or ".join(map(str, batch_sizes)),
        limit=f"{limit:.0f}",
        pilot=PILOT,
        compared=COMPARED,
        rounds=2 * rounds,
    )
    (output / "link_prediction_pykeen.md").write_text(page, encoding="utf-8")
    print(page)


TEXT = """# Link prediction end to end, beside PyKEEN

Made by `python bench/studies/link_prediction_pykeen.py DATA_FOLDER`, with Python {python}, numpy
{numpy}, torch {torch}, PyKEEN {pykeen} and {cores} cores; {threads} threads each, truerank's
instruction set {isa}.

{descriptions}

The triples of the second set are drawn at random, with degrees about as skewed as those of
FB15k-237: nothing can be learned from them, and few tasks share a query, which is more work for
truerank. The embeddings are random vectors, moved towards what the training triples require, so
that the ranks on WN18RR are not those of chance. PyKEEN's model has its own interaction and these
embeddings; truerank gets the entities, and h * r and r * t (DistMult) or h + r and t - r (TransE)
as queries.

## Time

From arrays of triples and embeddings to metrics of both sides, filtered. truerank: the task
(queries, filter, labels, audit) and the evaluation (embeddings of the queries, ranks, metrics), the
best of {rounds} runs. PyKEEN: `RankBasedEvaluator().evaluate`, without the time to make the model,
in batches of {batches} (its default on a processor is 32), whichever is faster on {pilot} test
triples; one run of all test triples or, where that would take more than {limit} s, of as many as
fit, scaled.

{times}

truerank is {lowest} to {highest} times as fast.

## Metrics

truerank's metrics of both sides, of the realistic ranks of the test triples that PyKEEN evaluated;
in brackets, the difference of PyKEEN's.

{metrics}

"Equal scores" counts, among all tails of {compared} test triples, the scores with the same bits.
Both sum in float32. torch adds up the L1 norm coordinate by coordinate, as truerank does, and
TransE's coordinates are rounded in the same way (h + r and r - t first): where all scores are
equal, so are all ranks. For DistMult torch rounds each product and sums in another order, while
truerank uses fused multiply-adds in order; where a candidate's score is close to the true score,
the last bits decide. The remaining differences come from PyKEEN's realistic ranks and their means,
which are float32.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 256])
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
