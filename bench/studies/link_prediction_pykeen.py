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
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from graphs import MODELS, SETS, Array, Graph, Model, make_embeddings
from pages import bullet_list, format_page, markdown_table
from pykeen.models import ERModel
from pykeen.nn.init import PretrainedInitializer
from pykeen.triples import CoreTriplesFactory
from pykeen_adapter import PILOT, SIDES, Case, by_pykeen, versions

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
KINDS = ("optimistic", "realistic", "pessimistic")
GOAL = 100
COMPARED = 32  # test triples whose scores are compared


def by_truerank(
    graph: Graph, model: Model, entities: Array, relations: Array
) -> tuple[float, float, tr.Ranks]:
    """Make the task with filter and labels, rank, and compute the metrics to compare."""
    start = time.perf_counter()
    known = {split: graph.triples[split] for split in ("train", "valid")}
    sizes = {"entities": graph.entities, "relations": graph.relations}
    task = tr.link_prediction.Task(graph.triples["test"], known, **sizes)
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
    report.to_dict([f"{kind}.{key}" for kind in KINDS for key in KEYS])
    return built - start, time.perf_counter() - built, report.ranks


def in_pykeen(graph: Graph, model: Model, entities: Array, relations: Array) -> Case:
    """Return PyKEEN's model with these embeddings."""

    def representation(vectors: Array) -> dict[str, Any]:
        initializer = PretrainedInitializer(torch.from_numpy(vectors))
        return {"shape": (vectors.shape[1],), "initializer": initializer}

    train = torch.from_numpy(graph.triples["train"])
    network = ERModel(
        triples_factory=CoreTriplesFactory(train, graph.entities, graph.relations),
        interaction=model.interaction,
        interaction_kwargs=model.options,
        entity_representations_kwargs=representation(entities),
        relation_representations_kwargs=representation(relations),
    )
    return Case(graph, model.name, network.eval())


def equal_scores(case: Case, model: Model, entities: Array, relations: Array) -> float:
    """Return the share of PyKEEN's scores, of all tails of some test triples, that equal ours."""
    pairs = case.triples("test")[:COMPARED, :2]
    theirs = case.model.predict_t(pairs).detach().numpy()
    queries = model.tail(entities[pairs[:, 0]], relations[pairs[:, 1]])
    ours = tr.score_embeddings(queries, entities, similarity=model.similarity)
    return float((ours == theirs).mean())


Lines = tuple[float, tuple[object, ...], tuple[object, ...]]  # a ratio, and a line of each table


def measure(
    graph: Graph, model: Model, dim: int, batches: Sequence[int], limit: float, rounds: int
) -> Lines:
    """Run truerank before and after PyKEEN, which is close to taking turns."""
    vectors = make_embeddings(graph, model, dim)
    case = in_pykeen(graph, model, *vectors)
    runs = [by_truerank(graph, model, *vectors) for _ in range(rounds)]
    theirs = by_pykeen(case, batches, limit)
    runs += [by_truerank(graph, model, *vectors) for _ in range(rounds)]
    building, evaluating, ranks = min(runs, key=lambda run: run[0] + run[1])
    name, ratio = (graph.name, model.name, dim), theirs.seconds / (building + evaluating)
    times = (
        *(f"{seconds * 1000:.0f} ms" for seconds in (building, evaluating)),
        *(f"{theirs.seconds:.1f} s", theirs.batch, theirs.tests_of(case)),
        *(f"{ratio:.0f}", "met" if ratio >= GOAL else "missed"),
    )
    print(*name, *times, flush=True)
    report = tr.report(
        tr.concatenate([ranks[ranks.side.values == side][: theirs.tests] for side in SIDES])
    )
    values, cells = theirs.result.to_flat_dict(), []
    for key, long in KEYS.items():
        difference = values[f"both.realistic.{long}"] - report[key]
        cells.append(f"{report[key]:.6g}" + (f" ({difference:+.1g})" if difference else ""))
    ties = int((report.ranks.tied > 1).sum())
    equal = f"{100 * equal_scores(case, model, *vectors):.0f} %"
    cells = [f"{2 * theirs.tests:,}", *cells, str(ties), equal, theirs.differing(ranks)]
    return ratio, (*name, *times), (*name, *cells)


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
    torch.set_num_threads(int(_core.default_threads()))
    graphs = [SETS[name](data) for name in sets]
    found = [
        measure(graph, MODELS[name], dim, batch_sizes, limit, rounds)
        for graph in graphs
        for name in models
        for dim in dims
    ]
    ratios, times, metrics = zip(*found, strict=True)
    page = TEXT.format(
        **versions(),
        descriptions=bullet_list([graph.description for graph in graphs]),
        times=markdown_table(
            "set | model | d | task | evaluation | PyKEEN | batch size | test triples | times as "
            f"fast | goal: {GOAL}",
            times,
            text_columns=2,
        ),
        metrics=markdown_table(
            f"set | model | d | tasks | {' | '.join(KEYS)} | ties | equal scores | differing ranks",
            metrics,
            text_columns=2,
        ),
        lowest=f"{min(ratios):.0f}",
        highest=f"{max(ratios):.0f}",
        batches=" or ".join(map(str, batch_sizes)),
        limit=f"{limit:.0f}",
        pilot=PILOT,
        compared=COMPARED,
        rounds=2 * rounds,
    )
    (output / "link_prediction_pykeen.md").write_text(format_page(page), encoding="utf-8")


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
