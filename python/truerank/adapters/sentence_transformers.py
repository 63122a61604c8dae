"""RankEvaluator: retrieval by sentence-transformers from exact ranks, with intervals and a report.

It needs sentence-transformers 6: ``pip install '.[sentence-transformers]'`` in the checkout.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import InputValueError, Report, rank, score_embeddings
from ..retrieval import Task
from . import import_extra

USER = "truerank.adapters.sentence_transformers"
EXTRA = "sentence-transformers"
library: Any = import_extra("sentence_transformers", USER, EXTRA)
torch: Any = import_extra("torch", USER, EXTRA)
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
SIMILARITIES: dict[Any, Any] = {library.util.cos_sim: "cosine", library.util.dot_score: "dot"}
SIMILARITIES |= {library.util.euclidean_sim: "l2", library.util.manhattan_sim: "l1"}
# The mean over the tokens of a query orders documents as their sum does.
SIMILARITIES |= {library.util.maxsim: "maxsim", library.util.mean_maxsim: "maxsim"}


class RankEvaluator(evaluation.InformationRetrievalEvaluator):
    """An `InformationRetrievalEvaluator` that counts ranks, and has a report of each query.

    Relevant documents are ranked among all documents, without a list of these; the cutoffs need not
    be known before. It can be called with a `SentenceTransformer` or a `MultiVectorEncoder`, and
    given to a trainer.

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

    Warns
    -----
    UserWarning
        For a `MultiVectorEncoder`'s documents without tokens, which score -inf.

    Notes
    -----
    Names and values are those of `InformationRetrievalEvaluator`, where documents do not tie: in a
    tie, a value here is the mean over all orders, there it is that of the order of names. Further
    values are the mean and the median over queries of the rank of the first relevant document
    (``first_rank_mean``, ``first_rank_median``), and the bounds of the 95 % confidence interval of
    nDCG at the largest cutoff (``ndcg@10_low``, ``ndcg@10_high``).

    The similarities of sentence-transformers (cosine, dot, euclidean, manhattan; for a
    `MultiVectorEncoder` maxsim and meanmaxsim) are counted on the processor without storing scores;
    other score functions are called with some queries and all documents, and their scores are
    counted on the device of the embeddings. The embeddings of all documents are kept while they are
    ranked, those of tokens end to end: `corpus_chunk_size` is not used.

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
        nan: str = "raise",
        threads: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(queries, corpus, relevant_docs, *args, **options)
        if self.write_predictions:
            expected = "False: no lists are made; `truerank.topk_embeddings` makes some"
            raise InputValueError("write_predictions", expected=expected, got="True")
        self.rules: Any = {"nan": nan, "threads": threads}
        rank(np.zeros((0, 1)), [], **self.rules)  # Wrong rules are refused at once.
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

    def first_ranks(self, report: Report | None = None) -> npt.NDArray[np.float64]:
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
            As `truerank.rank_embeddings` does, for a NaN among others; for a `MultiVectorEncoder`
            with another score function than maxsim and meanmaxsim, or with a `truncate_dim`.
        """
        similarities = {
            name: find_similarity(function) for name, function in self.score_functions.items()
        }
        has_tokens = isinstance(model, library.MultiVectorEncoder)
        if has_tokens and set(similarities.values()) != {"maxsim"}:
            names = "maxsim or mean_maxsim of sentence_transformers.util"
            expected = f"{names} for a MultiVectorEncoder"
            raise InputValueError("score_functions", expected=expected, got=list(similarities))
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
        elif has_tokens and isinstance(documents, list):
            documents = join_tokens(documents)
        self.reports = {}
        for name, similarity in similarities.items():
            self.reports[name] = self._evaluate(name, similarity, queries, documents)
        values = {name: self._values(report) for name, report in self.reports.items()}
        for name in self.score_function_names:
            evaluation.information_retrieval.logger.info(f"Score-Function: {name}")
            self.output_scores(values[name])
        return values

    def embed_inputs(
        self,
        model: Any,
        sentences: Any,
        encode_fn_name: str | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        **options: Any,
    ) -> Any:
        """Return the vectors of texts, or what "maxsim" takes of a model with a vector a token."""
        options |= {"prompt_name": prompt_name, "prompt": prompt}
        if not isinstance(model, library.MultiVectorEncoder):
            return super().embed_inputs(model, sentences, encode_fn_name, **options)
        if self.truncate_dim is not None:
            expected = "None for a MultiVectorEncoder, whose vectors are not truncated"
            raise InputValueError("truncate_dim", expected=expected, got=self.truncate_dim)
        encode = getattr(model, f"encode_{encode_fn_name}" if encode_fn_name else "encode")
        options |= {"batch_size": self.batch_size, "show_progress_bar": self.show_progress_bar}
        return join_tokens(encode(sentences, convert_to_numpy=True, **options))

    def _evaluate(self, name: str, similarity: Any, queries: Any, documents: Any) -> Report:
        has_tokens = isinstance(documents, tuple)  # (tokens, indptr), as `join_tokens` returns it
        if has_tokens and not np.diff(documents[1]).all():
            return self._evaluate_with_empty_documents(queries, *documents)
        if similarity is not None:
            return self.task.evaluate_embeddings(
                queries, documents, similarity=similarity, **self.rules
            )
        function = self.score_functions[name]
        return self.task.evaluate(
            lambda rows: function(queries[rows[:, 0]], documents),
            device=queries.device,
            **self.rules,
        )

    def _evaluate_with_empty_documents(
        self, queries: Any, tokens: Any, indptr: npt.NDArray[np.int64]
    ) -> Report:
        """Rank documents of which some have no tokens; warn of these, which score -inf."""
        has_tokens = np.diff(indptr) > 0
        names = [self.corpus_ids[i] for i in np.flatnonzero(~has_tokens)]
        which = f"{len(names):,} of {len(has_tokens):,} documents, first {names[0]!r}"
        warnings.warn(f"corpus: {which}, have no tokens, and score -inf", stacklevel=4)
        ends = indptr[1:][has_tokens]  # An empty document ends where the one before it does.
        documents = tokens, np.append(0, ends)
        options: Any = {"similarity": "maxsim", "threads": self.rules["threads"]}

        def score(rows: Any) -> Any:
            scores_of_tokens = score_embeddings(queries, documents, rows=rows[:, 0], **options)
            scores = np.full((len(rows), len(has_tokens)), -np.inf, scores_of_tokens.dtype)
            scores[:, has_tokens] = scores_of_tokens
            return scores

        return self.task.evaluate(score, **self.rules)

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


def find_similarity(function: Any) -> Any:
    """Return the similarity that a score function stands for, if it does for one."""
    # A model's own score function stands for one of the library's, which it names.
    functions_of_models = (library.SentenceTransformer, library.MultiVectorEncoder)
    if getattr(function, "__func__", None) in [model.similarity for model in functions_of_models]:
        name = function.__self__.similarity_fn_name
        function = library.SimilarityFunction.to_similarity_fn(name)
    return SIMILARITIES.get(function)


def join_tokens(lists: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return the vectors of lists of tokens end to end, and where those of each list begin."""
    vectors = torch.cat([torch.as_tensor(tokens) for tokens in lists])
    return vectors, np.cumsum([0, *map(len, lists)])
