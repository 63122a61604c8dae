"""The time of metrics of queries with several right answers, beside ranx and pytrec_eval.

    python bench/studies/retrieval.py [--queries 1000000] [--peers 100000] [--output FOLDER]

Every query has ten right answers and a list of the best hundred of a million candidates, without
ties; six of the right answers are in the list. truerank takes arrays of ids and scores and counts
all queries; the other two take dicts of dicts of strings, whose memory allows some of them: making
these dicts is not counted. The same values must come out: right answers that a list misses count 0
in both, as beyond the cutoff of 100 in truerank. Needs ranx and pytrec-eval-terrier.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pages import format_page, markdown_table

import truerank as tr

HERE = Path(__file__).parent
CANDIDATES, WIDTH, LISTED, MISSED = 1_000_000, 100, 6, 4
# truerank's key, trec_eval's name, ranx's name
METRICS = [
    ("map", "map", "map"),
    ("ndcg", "ndcg", "ndcg"),
    ("mrr", "recip_rank", "mrr"),
    ("r_precision", "Rprec", "r-precision"),
    ("recall@10", "recall_10", "recall@10"),
    ("precision@10", "P_10", "precision@10"),
    ("success@10", "success_10", "hit_rate@10"),
    ("ndcg@10", "ndcg_cut_10", "ndcg@10"),
]


class Data(NamedTuple):
    """Lists of ids and scores, (queries, width), and right answers, (queries, 10)."""

    ids: NDArray[np.int64]
    scores: NDArray[np.float32]
    right: NDArray[np.int64]


def make_data(queries: int) -> Data:
    """Draw lists of distinct candidates with falling scores, and right answers in them or not."""
    rng = np.random.default_rng(0)
    steps = rng.integers(1, CANDIDATES // (2 * WIDTH), (queries, WIDTH))
    ids = (rng.integers(0, CANDIDATES, (queries, 1)) + np.cumsum(steps, axis=1)) % CANDIDATES
    scores = np.cumsum(0.5 + rng.random((queries, WIDTH), np.float32), axis=1)[:, ::-1]
    places = rng.random((queries, WIDTH), np.float32).argpartition(LISTED, axis=1)[:, :LISTED]
    # between the last of a list and its first there is half of all candidates
    others = (ids[:, -1:] + 1 + np.arange(MISSED) * 7) % CANDIDATES
    right = np.concatenate([np.take_along_axis(ids, places, 1), others], axis=1)
    return Data(ids, np.ascontiguousarray(scores), right)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def time_truerank(data: Data) -> tuple[dict[str, float], tr.retrieval.RetrievalReport]:
    """Time the steps from arrays to metrics."""
    queries = np.repeat(np.arange(len(data.right)), data.right.shape[1])
    seconds = {}
    seconds["task"], task = timed(
        lambda: tr.retrieval.Task((queries, data.right.ravel()), entities=CANDIDATES)
    )
    seconds["lists"], report = timed(lambda: task.evaluate_lists(data.ids, data.scores))
    seconds["metrics"], _ = timed(lambda: report.to_dict([key for key, *_ in METRICS]))
    seconds["all"], _ = timed(report.to_dict)
    return seconds, report


def as_dicts(data: Data) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return qrels and run as pytrec_eval and ranx take them."""
    run, qrels = {}, {}
    for i, (ids, scores, right) in enumerate(zip(*map(np.ndarray.tolist, data), strict=True)):
        run[str(i)] = dict(zip(map(str, ids), scores, strict=True))
        qrels[str(i)] = dict.fromkeys(map(str, right), 1)
    return qrels, run


def time_arrays(data: Data) -> tuple[float, dict[str, float]]:
    """Time ranx on arrays of pairs (id, score), whose lists must be sorted already."""
    import ranx

    names = [name for _, _, name in METRICS]
    qrels = np.stack([data.right, np.ones_like(data.right)], axis=2).astype(np.float64)
    run = np.stack([data.ids, data.scores], axis=2).astype(np.float64)
    ranx.evaluate(qrels[:2], run[:2], names)
    seconds, found = timed(lambda: ranx.evaluate(qrels, run, names))
    return seconds, {key: float(found[name]) for key, _, name in METRICS}


def time_peers(data: Data) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Time pytrec_eval and ranx on the same queries; what numba compiles is compiled before."""
    import pytrec_eval
    import ranx

    seconds, values = {}, {}
    names = [name for _, _, name in METRICS]
    small = as_dicts(Data(*(array[:2] for array in data)))
    ranx.evaluate(ranx.Qrels(small[0]), ranx.Run(small[1]), names)
    qrels, run = as_dicts(data)
    measures = {name.replace("_10", ".10") for _, name, _ in METRICS}
    seconds["pytrec_eval"], found = timed(
        lambda: pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    )
    values["pytrec_eval"] = {
        key: float(np.mean([each[name] for each in found.values()])) for key, name, _ in METRICS
    }
    del found
    seconds["ranx, made"], made = timed(lambda: (ranx.Qrels(qrels), ranx.Run(run)))
    seconds["ranx"], found = timed(lambda: ranx.evaluate(*made, names))
    values["ranx"] = {key: float(found[name]) for key, _, name in METRICS}
    return seconds, values


def check(report: tr.retrieval.RetrievalReport, library: str, values: dict[str, float]) -> None:
    """Check that a library's values are those of the report."""
    for key, value in values.items():
        np.testing.assert_allclose(report[key], value, rtol=1e-6, err_msg=f"{library} {key}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--peers", type=int, default=100_000)
    parser.add_argument("--output", type=Path, default=HERE)
    arguments = parser.parse_args()
    data = make_data(arguments.queries)
    whole, report = time_truerank(data)
    print(whole)
    whole["arrays"], values = time_arrays(data)
    print(whole["arrays"])
    check(report, "ranx", values)
    some = Data(*(array[: arguments.peers] for array in data))
    del data
    part, report = time_truerank(some)
    print(part)
    part["arrays"], values = time_arrays(some)
    check(report, "ranx", values)
    peers, found = time_peers(some)
    print(peers)
    for name, values in found.items():
        check(report, name, values)
    page = format_page(write_page(arguments, whole, part, peers))
    (arguments.output / "retrieval.md").write_text(page, encoding="utf-8")


def write_page(
    arguments: argparse.Namespace,
    whole: dict[str, float],
    part: dict[str, float],
    peers: dict[str, float],
) -> str:
    """Write the figures as a page."""
    counted = [name for name in ("task", "lists", "metrics")]
    ours = sum(part[name] for name in counted)
    rows = [
        ["truerank: the task from arrays", f"{whole['task']:.1f}", f"{part['task']:.2f}"],
        ["truerank: counts from lists", f"{whole['lists']:.1f}", f"{part['lists']:.2f}"],
        ["truerank: eight metrics", f"{whole['metrics']:.1f}", f"{part['metrics']:.2f}"],
        ["**truerank: these three**", f"{sum(whole[n] for n in counted):.1f}", f"{ours:.2f}"],
        [
            "all default keys (three kinds, chance, index)",
            f"{whole['all']:.1f}",
            f"{part['all']:.2f}",
        ],
        ["pytrec_eval: eight metrics of dicts", "", f"{peers['pytrec_eval']:.1f}"],
        ["ranx: Qrels and Run of dicts", "", f"{peers['ranx, made']:.1f}"],
        ["ranx: eight metrics of these", "", f"{peers['ranx']:.1f}"],
        [
            "ranx: eight metrics of arrays that are sorted",
            f"{whole['arrays']:.1f}",
            f"{part['arrays']:.2f}",
        ],
    ]
    heading = ["seconds", f"{arguments.queries:,} queries", f"{arguments.peers:,} queries"]
    version = importlib.metadata.version
    ranx_total = peers["ranx, made"] + peers["ranx"]
    return f"""
# Several right answers per query: the time beside ranx and pytrec_eval

Made by `python bench/studies/retrieval.py`, with Python {platform.python_version()}, numpy
{np.__version__}, ranx {version("ranx")} and pytrec-eval-terrier {version("pytrec-eval-terrier")},
on {os.cpu_count()} threads beside other work. Ten right answers per query, lists of {WIDTH} of
{CANDIDATES:,} candidates, no ties; all values are the same to six digits.

{markdown_table(heading, rows)}

From arrays to metrics, pytrec_eval takes {peers["pytrec_eval"] / ours:.0f} times as long as
truerank, and ranx {ranx_total / ours:.0f} times; the metrics of prepared objects alone take ranx
{peers["ranx"] / part["metrics"]:.0f} times as long. Both take strings and sort the lists; making
the dicts is not counted, nor what numba compiles at first (about a minute). ranx also takes arrays
of pairs (id, score) with as many right answers for every query, whose lists are sorted already: it
believes the order, and takes {whole["arrays"] / sum(whole[n] for n in counted):.2f} times as long
as truerank for all queries. The default keys of truerank hold what the others do not compute: the
best and the worst order of ties, and the level of chance.
"""


if __name__ == "__main__":
    main()
