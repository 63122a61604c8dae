"""Libraries of retrieval metrics, which take files, sorted arrays, or matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers import Peer, Peers

__all__ = ["ARRAYS", "FILES", "METRICS", "NDCG", "TIES", "TIE_METRICS", "Judged"]

# Our names, and those of trec_eval, of ranx and of ir_measures.
METRICS = {
    "map": ("map", "map", "AP"),
    "mrr": ("recip_rank", "mrr", "RR"),
    "ndcg@10": ("ndcg_cut_10", "ndcg@10", "nDCG@10"),
    "recall@100": ("recall_100", "recall@100", "R@100"),
    "precision@10": ("P_10", "precision@10", "P@10"),
    "r_precision": ("Rprec", "r-precision", "Rprec"),
}
OF_TREC, OF_RANX, OF_IR_MEASURES = (
    dict(zip(names, METRICS, strict=True)) for names in zip(*METRICS.values(), strict=True)
)
# What tie-aware-retrieval-metrics has, but F1 and hits.
TIE_METRICS = ("ndcg", "mrr", "map", "recall", "precision")

Values = Mapping[str, float]


class Judged(NamedTuple):
    """Documents of queries: a row for each query, as many right answers in each."""

    scores: NDArray[np.float32]
    grades: NDArray[np.int64]  # 0 where a document is wrong
    folder: Path  # of run.txt and qrels.txt, in the forms of TREC

    def sorted_arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the positions of documents, the best first, and their scores."""
        order = np.argsort(-self.scores, axis=1)
        return order, np.take_along_axis(self.scores, order, axis=1)


def _mean(rows: Iterable[Values], names: Mapping[str, str]) -> Values:
    rows = list(rows)
    return {ours: float(np.mean([row[name] for row in rows])) for name, ours in names.items()}


def _pytrec_eval(problem: Judged) -> Callable[[], Values]:
    import pytrec_eval

    def values() -> Values:
        with (problem.folder / "run.txt").open() as run, (problem.folder / "qrels.txt").open() as q:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(q), OF_TREC.keys())
            return _mean(evaluator.evaluate(pytrec_eval.parse_run(run)).values(), OF_TREC)

    return values


def _ranx_files(problem: Judged) -> Callable[[], Values]:
    import ranx

    def values() -> Values:
        qrels = ranx.Qrels.from_file(str(problem.folder / "qrels.txt"), kind="trec")
        run = ranx.Run.from_file(str(problem.folder / "run.txt"), kind="trec")
        return _mean([ranx.evaluate(qrels, run, list(OF_RANX))], OF_RANX)

    return values


def _ranx_arrays(problem: Judged) -> Callable[[], Values]:
    import ranx

    run = np.stack(problem.sorted_arrays(), axis=-1).astype(np.float64)
    right = np.argsort(-problem.grades, axis=1)[:, : np.count_nonzero(problem.grades[0])]
    qrels = np.stack([right, np.take_along_axis(problem.grades, right, axis=1)], axis=-1)
    qrels = qrels.astype(np.float64)
    return lambda: _mean([ranx.evaluate(qrels, run, list(OF_RANX))], OF_RANX)


def _ir_measures(problem: Judged) -> Callable[[], Values]:
    import ir_measures

    measures = {ir_measures.parse_measure(name): ours for name, ours in OF_IR_MEASURES.items()}

    def values() -> Values:
        qrels = ir_measures.read_trec_qrels(str(problem.folder / "qrels.txt"))
        run = ir_measures.read_trec_run(str(problem.folder / "run.txt"))
        found = ir_measures.calc_aggregate(list(measures), qrels, run)
        return {ours: found[measure] for measure, ours in measures.items()}

    return values


def _trm(problem: Judged) -> Callable[[], Values]:
    """Of lists, as its page says; its loops over arrays would take longer."""
    import trm

    scores = problem.scores.tolist()
    right = (problem.grades > 0).tolist()

    def values() -> Values:
        found = trm.evaluate(scores, right, list(TIE_METRICS), k_list=[10]).metrics
        return {
            f"{kind}.{name}@10": getattr(found[name][10], field)
            for name in TIE_METRICS
            for kind, field in (
                ("expected", "expected"),
                ("optimistic", "maximum"),
                ("pessimistic", "minimum"),
            )
        }

    return values


def _ndcg(**options: bool) -> Callable[[Judged], Callable[[], Values]]:
    def prepare(problem: Judged) -> Callable[[], Values]:
        from sklearn.metrics import ndcg_score

        pair = problem.grades, problem.scores
        return lambda: {"ndcg@10": ndcg_score(*pair, k=10, **options)}

    return prepare


FILES: Peers = {
    "pytrec_eval": Peer(("pytrec_eval",), _pytrec_eval),
    "ranx": Peer(("ranx",), _ranx_files),
    "ir_measures": Peer(("ir_measures",), _ir_measures),
}
ARRAYS: Peers = {"ranx, sorted arrays": Peer(("ranx",), _ranx_arrays)}
TIES: Peers = {"tie-aware-retrieval-metrics": Peer(("trm",), _trm)}
NDCG: Peers = {
    "scikit-learn, ndcg_score": Peer(("sklearn",), _ndcg()),
    "scikit-learn, ignore_ties": Peer(("sklearn",), _ndcg(ignore_ties=True)),
}
