"""RankEvaluator: retrieval by sentence-transformers from exact ranks, with intervals and a report.

It needs sentence-transformers 6: ``pip install 'truerank[sentence-transformers]'``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputValueError
from ..inputs.rules import read_rules
from ..naming import import_extra
from ..reporting import Report
from ..retrieval import Task

if TYPE_CHECKING:
    from ..arrays.types import FloatArray
    from ..inputs.rules import NanRule, Similarity

USER = "truerank.adapters.sentence_transformers"
EXTRA = "sentence-transformers"
library: Any = import_extra("sentence_transformers", USER, EXTRA)
evaluation: Any = import_extra("sentence_transformers.sentence_transformer.evaluation", USER, EXTRA)

__all__ = ["RankEvaluator"]

# Each metric has the attribute with its cutoffs, and the key of a report.
METRICS = {
    "accuracy": ("accuracy_at_k", "success"),
    "precision": ("precision_recall_at_k", "precision"),
    "recall": ("precision_recall_at_k", "recall"),
    "ndcg": ("ndcg_at_k", "ndcg"),
    "mrr": ("mrr_at_k", "mrr"),
    "map": ("map_at_k", "map_min"),
}
# The values are our similarities, by the functions of sentence-transformers.
SIMILARITIES: dict[Any, Similarity] = {
    library.util.cos_sim: "cosine",
    library.util.dot_score: "dot",
}
SIMILARITIES |= {library.util.euclidean_sim: "l2", library.util.manhattan_sim: "l1"}


class RankEvaluator(evaluation.InformationRetrievalEvaluator):
    """An `InformationRetrievalEvaluator` that counts ranks, and has a report of each query.

    Relevant documents are ranked among all documents, of which no list is made; the cutoffs need
    not be known before. It can be called, and given to a trainer.

    Parameters
    ----------
    queries, corpus : dict of str to str
        The texts by their names.
    relevant_docs : dict of str to set of str
        The names of the relevant documents of each query.
    *args, **options
        As `InformationRetrievalEvaluator` takes them.
    nan, threads
        As in `truerank.rank`.

    Attributes
    ----------
    reports : dict of str to Report
        Those of the last call, by the names of score functions.

    Raises
    ------
    TypeError, ValueError
        For relevant documents that `corpus` does not have, and ``write_predictions=True``.

    Notes
    -----
    Names and values are those of `InformationRetrievalEvaluator`, where documents do not tie: a
    value here is the mean over all orders of a tie, and theirs that of the order of names. Also the
    mean and the median over queries of the rank of the first relevant document are returned
    (``first_rank_mean``, ``first_rank_median``), and the bounds of the 95 % confidence interval of
    nDCG at the largest cutoff (``ndcg@10_low``, ``ndcg@10_high``).

    The similarities of sentence-transformers (cosine, dot, euclidean, manhattan) are counted
    on the processor without storing scores; other score functions are called with some queries and
    all documents, and their scores are counted on the device of the embeddings. The embeddings of
    all documents are kept while they are ranked, so that `corpus_chunk_size` has no use.

    Examples
    --------
    >>> from sentence_transformers.sentence_transformer.modules import BoW
    >>> model = library.SentenceTransformer(modules=[BoW(["red", "green", "blue"])])
    >>> corpus = {"d1": "blue", "d2": "red", "d3": "green"}
    >>> evaluator = RankEvaluator({"q": "red green"}, corpus, {"q": {"d3"}})
    >>> evaluator(model)["cosine_mrr@10"]  # d2 and d3 have the same score
    0.75
    >>> evaluator.report["pessimistic.mrr@10"], evaluator.first_ranks()
    (0.5, array([1.5]))
    """

    description = "Information Retrieval"  # The card of a model shows it.

    def __init__(
        self,
        queries: Mapping[Any, Any],
        corpus: Mapping[Any, Any],
        relevant_docs: Mapping[Any, Any],
        *args: Any,
        nan: NanRule = "raise",
        threads: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(queries, corpus, relevant_docs, *args, **options)
        if self.write_predictions:
            expected = "False: no lists are made, as `truerank.topk_embeddings` makes them"
            raise InputValueError("write_predictions", expected=expected, got="True")
        self.rules: Any = {"nan": nan, "threads": threads}
        read_rules(self.rules)
        qrels = {name: list(relevant_docs[name]) for name in self.queries_ids}
        entities = list(self.corpus_ids)
        split = self.name or "test"
        self.task = Task(qrels, entities=entities, queries=list(qrels), split=split)
        self.reports: dict[str, Report] = {}

    @property
    def report(self) -> Report:
        """The report of the last call, of the main score function or the one with the best nDCG."""
        if self.main_score_function is not None:
            return self.reports[self.main_score_function.value]
        return max(self.reports.values(), key=lambda report: report[f"ndcg@{max(self.ndcg_at_k)}"])

    def first_ranks(self, report: Report | None = None) -> FloatArray:
        """Return the rank of the first relevant document of each query, in the order of a report.

        Parameters
        ----------
        report : Report, optional
            Default: that of the last call.

        Returns
        -------
        ndarray of float64, shape (queries,)
            Realistic: the mean of the best and the worst rank in a tie.
        """
        if report is None:
            report = self.report
        best = report.per_query("optimistic.mr")
        worst = report.per_query("pessimistic.mr")
        return (best + worst) / 2

    def compute_all_metrics(
        self,
        model: Any,
        corpus_model: Any = None,
        corpus_embeddings: Any = None,
        output_path: str | None = None,
    ) -> dict[str, dict[str, dict[Any, float]]]:
        """Return the values of each score function by metric and cutoff; `reports` has the rest.

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank_embeddings` does, for a NaN among others.
        """
        prompts = {"prompt_name": self.query_prompt_name, "prompt": self.query_prompt}
        queries = self.embed_inputs(model, self.queries, encode_fn_name="query", **prompts)
        documents = corpus_embeddings
        if documents is None:
            prompts = {"prompt_name": self.corpus_prompt_name, "prompt": self.corpus_prompt}
            if corpus_model is None:
                corpus_model = model
            documents = self.embed_inputs(
                corpus_model, self.corpus, encode_fn_name="document", **prompts
            )
        self.reports = {}
        for name, function in self.score_functions.items():
            self.reports[name] = self._rank(function, queries, documents)
        values = {name: self._values(report) for name, report in self.reports.items()}
        for name in self.score_function_names:
            evaluation.information_retrieval.logger.info(f"Score-Function: {name}")
            self.output_scores(values[name])
        return values

    def _rank(self, function: Any, queries: Any, documents: Any) -> Report:
        # A model's own score function stands for one of the library's, which it names.
        similarity_of_models = library.SentenceTransformer.similarity
        if getattr(function, "__func__", None) is similarity_of_models:
            name = function.__self__.similarity_fn_name
            function = library.SimilarityFunction.to_similarity_fn(name)
        similarity = SIMILARITIES.get(function)
        if similarity is not None:
            return self.task.evaluate_embeddings(
                queries, documents, similarity=similarity, **self.rules
            )
        return self.task.evaluate(
            lambda rows: function(queries[rows[:, 0]], documents),
            device=queries.device,
            **self.rules,
        )

    def _values(self, report: Report) -> dict[str, dict[Any, float]]:
        values: dict[str, dict[Any, float]] = {}
        for name, (cutoffs, key) in METRICS.items():
            values[f"{name}@k"] = {k: report[f"{key}@{k}"] for k in getattr(self, cutoffs)}
        k = max(self.ndcg_at_k)
        interval = report.interval(f"ndcg@{k}")
        values["ndcg@k_low"] = {k: interval.low}
        values["ndcg@k_high"] = {k: interval.high}
        ranks = self.first_ranks(report)
        values["first_rank_mean"] = {"": float(ranks.mean())}
        values["first_rank_median"] = {"": float(np.median(ranks))}
        return values
