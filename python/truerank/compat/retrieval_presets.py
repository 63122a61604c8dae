"""Presets of toolkits for retrieval and recommendation, as far as they rank one true candidate."""

from __future__ import annotations

from .conventions import Convention
from .toolkit_rows import Metric, Preset, hits_metrics

_ONE_ANSWER = "The numbers are those of queries with one right answer; for several, see retrieval."
_BY_NAME = (
    "Columns stand for documents in the order of their ids as strings, in which 'd10' comes "
    "before 'd9'."
)
_DOCUMENTS = "the documents of the run; what it lacks counts as a miss"


def _at(name: str, key: str, ks: tuple[int, ...], form: str = "repr") -> list[Metric]:
    """Make a metric for each k; "{k}" becomes it in the name and in the key."""
    return [Metric(name.format(k=k), key.format(k=k), form) for k in ks]


def _precision(name: str, ks: tuple[int, ...], form: str = "repr") -> list[Metric]:
    """Make the share of the first k that are right: for one right answer, hits@k / k."""
    return [Metric(name.format(k=k), f"hits@{k}", form, 1 / k) for k in ks]


def _trec_metrics(form: str) -> tuple[Metric, ...]:
    return (
        Metric("recip_rank", "mrr", form),
        Metric("map", "mrr", form),
        *hits_metrics("success_{k}", (1, 5, 10), form),
        *hits_metrics("recall_{k}", (5, 10, 100, 1000), form),
        *_precision("P_{k}", (5, 10, 100, 1000), form),
        *_at("ndcg_cut_{k}", "ndcg@{k}", (5, 10, 100, 1000), form),
    )


_MTEB_KS = (1, 3, 5, 10, 20, 100, 1000)
_SENTENCE_KS = (1, 3, 5, 10)
_SENTENCE_METRICS = (
    *hits_metrics("accuracy@{k}", _SENTENCE_KS),
    *_precision("precision@{k}", _SENTENCE_KS),
    *hits_metrics("recall@{k}", _SENTENCE_KS),
    Metric("ndcg@10", "ndcg@10"),
    Metric("mrr@10", "mrr@10"),
    Metric("map@100", "mrr@100"),
)
_SENTENCE_PLACES = (
    "Its names begin with those of the evaluator and of the similarity: cosine_mrr@10.",
    _ONE_ANSWER,
)
_RERANKING = (
    "A sample has its positives first. Its ndcg is scikit-learn's, the mean over the orders of a "
    "tie; its map takes the precision at the end of a tie.",
    "scikit-learn's ndcg_score stops at a score that is NaN or infinite.",
)
_GIVEN = "the positives and negatives of each sample"

RETRIEVAL_PRESETS: tuple[Preset, ...] = (
    Preset(
        name="recbole",
        toolkit="RecBole",
        version="7b02be5; recbole 1.2.1 of PyPI",
        source=(
            "RUCAIBox/RecBole: recbole/trainer/trainer.py, Trainer._full_sort_batch_eval, "
            "_neg_sample_batch_eval",
            "RUCAIBox/RecBole: recbole/evaluator/collector.py, Collector.eval_batch_collect",
            "RUCAIBox/RecBole: recbole/evaluator/metrics.py, Hit, MRR, NDCG, Precision, Recall",
            "RUCAIBox/RecBole: recbole/data/dataloader/general_dataloader.py, "
            "FullSortEvalDataLoader, NegSampleEvalDataLoader",
        ),
        convention=Convention(nan="first", filter="-inf", rank="any"),
        metrics=(
            Metric("recall@10", "hits@10", ".4f"),
            Metric("mrr@10", "mrr@10", ".4f"),
            Metric("ndcg@10", "ndcg@10", ".4f"),
            Metric("hit@10", "hits@10", ".4f"),
            Metric("precision@10", "hits@10", ".4f", 0.1),
        ),
        splits="the user's items of the earlier splits; none for sequential models",
        candidates="all items, or sampled ones (mode uni100, pop100)",
        notes=(
            "A list of the first k comes from torch.topk, which promises no order of a tie.",
            "Column 0 is padding and scores -inf: put it into the filter.",
            "Sampled negatives are columns of a row of -inf: one drawn twice counts once, and a "
            "true score of -inf ties with all items that were not drawn.",
            _ONE_ANSWER,
            "GAUC takes the middle of a tie.",
        ),
    ),
    Preset(
        name="trec_eval",
        toolkit="trec_eval, since September 2023",
        version="f425365 (release 10.0)",
        source=(
            "usnistgov/trec_eval: form_res_rels.c, te_form_res_rels, comp_sim_docno",
            "usnistgov/trec_eval: trec_format.h, TEXT_RESULTS",
        ),
        convention=Convention(nan="any", rank="highest column"),
        metrics=_trec_metrics(".4f"),
        splits="none",
        candidates=_DOCUMENTS,
        notes=(_BY_NAME, _ONE_ANSWER),
    ),
    Preset(
        name="pytrec_eval",
        toolkit="pytrec_eval, and trec_eval before September 2023",
        version="0d8571e; pytrec_eval-terrier 0.5.11 of PyPI",
        source=(
            "cvangysel/pytrec_eval: src/pytrec_eval.cpp, RelevanceEvaluator_evaluate",
            "usnistgov/trec_eval: form_res_rels.c, te_form_res_rels, comp_sim_docno",
        ),
        convention=Convention(nan="any", transform="float32", rank="highest column"),
        metrics=_trec_metrics("repr"),
        splits="none",
        candidates=_DOCUMENTS,
        notes=(_BY_NAME, _ONE_ANSWER, "ranx and ir_measures have orders of their own."),
    ),
    Preset(
        name="mteb",
        toolkit="MTEB, since 2.18.19 of August 2026",
        version="2.26.24",
        source=(
            "embeddings-benchmark/mteb: mteb/_evaluators/retrieval_metrics.py, mrr, "
            "calculate_retrieval_scores, parse_metrics_from_scores, make_score_dict",
        ),
        convention=Convention(nan="any", rank="highest column"),
        metrics=(
            *_at("mrr_at_{k}", "mrr@{k}", _MTEB_KS),
            *_at("ndcg_at_{k}", "ndcg@{k}", _MTEB_KS, ".5f"),
            *_at("map_at_{k}", "mrr@{k}", _MTEB_KS, ".5f"),
            *hits_metrics("recall_at_{k}", _MTEB_KS, ".5f"),
            *hits_metrics("hit_rate_at_{k}", _MTEB_KS, ".5f"),
            *_precision("precision_at_{k}", _MTEB_KS, ".5f"),
        ),
        splits="none",
        candidates="the best 1,000 documents of the corpus, or those to rerank",
        notes=(
            _BY_NAME,
            _ONE_ANSWER,
            "Only mrr compares scores in float64; the others come from pytrec_eval in float32.",
            "Its search keeps the best 1,000 by torch.topk: ties at that border are open.",
        ),
    ),
    Preset(
        name="mteb-2.18.18",
        toolkit="MTEB up to 2.18.18 (mrr alone), and BEIR's custom mrr",
        version="d23207f (MTEB), ef83d29 (BEIR)",
        source=(
            "embeddings-benchmark/mteb: mteb/_evaluators/retrieval_metrics.py, mrr",
            "beir-cellar/beir: beir/retrieval/custom_metrics.py, mrr",
        ),
        convention=Convention(nan="any", rank="lowest column"),
        metrics=tuple(_at("mrr_at_{k}", "mrr@{k}", _MTEB_KS)),
        splits="none",
        candidates="the best 1,000 documents of the corpus, or those to rerank",
        notes=(
            "Columns stand for documents in the order in which the dict of a query has them: where "
            "the right one comes first, a constant scorer has an mrr of 1 (mteb 5092).",
            "All but mrr came from pytrec_eval then, too, so that one run had two orders.",
            "BEIR names it MRR@k and rounds it to five decimals.",
            _ONE_ANSWER,
        ),
    ),
    Preset(
        name="sentence-transformers",
        toolkit="sentence-transformers, InformationRetrievalEvaluator, since 6.0",
        version="110bb37; 6.2.0 of PyPI",
        source=(
            "huggingface/sentence-transformers: "
            "sentence_transformers/sentence_transformer/evaluation/information_retrieval.py, "
            "InformationRetrievalEvaluator.compute_all_metrics, compute_metrics",
        ),
        convention=Convention(nan="any", rank="lowest column"),
        metrics=_SENTENCE_METRICS,
        splits="none",
        candidates="the whole corpus, of which it keeps the best 100",
        notes=(
            "Columns stand for documents in the ascending order of their ids, the reverse of "
            "trec_eval's and MTEB's order.",
            *_SENTENCE_PLACES,
        ),
    ),
    Preset(
        name="sentence-transformers-5",
        toolkit="sentence-transformers, InformationRetrievalEvaluator, up to 5.7",
        version="85ec645 (5.1.2)",
        source=(
            "UKPLab/sentence-transformers: "
            "sentence_transformers/evaluation/InformationRetrievalEvaluator.py, "
            "InformationRetrievalEvaluator.compute_metrices, compute_metrics",
        ),
        convention=Convention(nan="any", rank="any"),
        metrics=_SENTENCE_METRICS,
        splits="none",
        candidates="the whole corpus, of which it keeps the best 100",
        notes=(
            "Ties are in the order of a heap of what torch.topk left of each chunk of the corpus.",
            *_SENTENCE_PLACES,
        ),
    ),
    Preset(
        name="sentence-transformers-reranking",
        toolkit="sentence-transformers, RerankingEvaluator",
        version="6.2.0 of PyPI",
        source=(
            "huggingface/sentence-transformers: "
            "sentence_transformers/sentence_transformer/evaluation/reranking.py, "
            "RerankingEvaluator.compute_metrics_batched, compute_metrics_individual",
        ),
        convention=Convention(nan="last", rank="any"),
        metrics=(Metric("mrr@10", "mrr@10"),),
        splits="none",
        candidates=_GIVEN,
        notes=_RERANKING,
    ),
    Preset(
        name="sentence-transformers-cross-encoder",
        toolkit="sentence-transformers, CrossEncoderRerankingEvaluator",
        version="6.2.0 of PyPI",
        source=(
            "huggingface/sentence-transformers: "
            "sentence_transformers/cross_encoder/evaluation/reranking.py, "
            "CrossEncoderRerankingEvaluator.compute_metrics",
        ),
        convention=Convention(nan="first", rank="any"),
        metrics=(Metric("mrr@10", "mrr@10"),),
        splits="none",
        candidates=_GIVEN,
        notes=(
            *_RERANKING,
            "It reverses an ascending np.argsort: of up to 16 documents that tie, the first "
            "positive comes last.",
        ),
    ),
)
