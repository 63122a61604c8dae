"""Presets of toolkits that rank among negatives which the data gives."""

from __future__ import annotations

from .conventions import Convention
from .toolkit_rows import Metric, Preset, hits_metrics

_OGB = (*hits_metrics("hits@{k}_list", (1, 3, 10), ".6f"), Metric("mrr_list", "mrr", ".6f"))
_OGB_NOTES = ("The example of ogbl-wikikg2 puts both sides into one mean and prints six decimals.",)

SAMPLED_PRESETS = (
    Preset(
        name="ogb",
        toolkit="OGB, datasets with mrr (wikikg2, biokg, citation2), since 1.3.4",
        version="1b89f1b",
        source=(
            "snap-stanford/ogb: ogb/linkproppred/evaluate.py, Evaluator._eval_mrr",
            "snap-stanford/ogb: examples/linkproppred/wikikg2/model.py, KGEModel.test_step",
        ),
        convention=Convention(nan="compared", rank="realistic", mean="float32"),
        metrics=_OGB,
        splits="none: the data has filtered negatives",
        candidates="given negatives, without the true candidate",
        notes=(
            *_OGB_NOTES,
            "This version calls sum(dim=...) on NumPy arrays, which fails: only tensors work.",
        ),
    ),
    Preset(
        name="ogb-1.3.3",
        toolkit="OGB, datasets with mrr, before 1.3.4, given tensors",
        version="before release 1.3.4 of October 2022",
        source=("snap-stanford/ogb: ogb/linkproppred/evaluate.py, Evaluator._eval_mrr",),
        convention=Convention(nan="first", rank="any", mean="float32"),
        metrics=_OGB,
        splits="none: the data has filtered negatives",
        candidates="given negatives, without the true candidate",
        notes=_OGB_NOTES,
    ),
    Preset(
        name="ogb-1.3.3-numpy",
        toolkit="OGB, datasets with mrr, before 1.3.4, given NumPy arrays",
        version="before release 1.3.4 of October 2022",
        source=("snap-stanford/ogb: ogb/linkproppred/evaluate.py, Evaluator._eval_mrr",),
        convention=Convention(nan="last", rank="any", mean="float32"),
        metrics=_OGB,
        splits="none: the data has filtered negatives",
        candidates="given negatives, without the true candidate",
        notes=("It sorts the negated scores, and NumPy sorts NaN last.",),
    ),
    Preset(
        name="ogb-hits",
        toolkit="OGB, datasets with hits@k (ppa, collab, ddi)",
        version="1b89f1b",
        source=("snap-stanford/ogb: ogb/linkproppred/evaluate.py, Evaluator._eval_hits",),
        convention=Convention(nan="above", rank="pessimistic"),
        metrics=tuple(hits_metrics("hits@{k}", (20, 50, 100))),
        splits="none",
        candidates="one list of negatives for all tasks; a hit is above its k-th highest",
        notes=("20 for ddi, 50 for collab, 100 for ppa.",),
    ),
    Preset(
        name="tgb",
        toolkit="TGB, datasets of edges, also TGB 2 (tkgl, thgl)",
        version="3b83e5c; py-tgb 2.3.0 of PyPI",
        source=(
            "shenyangHuang/TGB: tgb/linkproppred/evaluate.py, Evaluator._eval_hits_and_mrr",
            "shenyangHuang/TGB: tgb/linkproppred/tkg_negative_sampler.py, "
            "TKGNegativeEdgeSampler.query_batch",
            "shenyangHuang/TGB: tgb/linkproppred/tkg_negative_generator.py, "
            "TKGNegativeEdgeGenerator.generate_negative_samples",
            "shenyangHuang/TGB: tgb/linkproppred/thg_negative_generator.py, "
            "THGNegativeEdgeGenerator.generate_negative_samples_nt",
        ),
        convention=Convention(nan="compared", rank="realistic", mean="float32"),
        metrics=(Metric("mrr", "mrr"), Metric("hits@10", "hits@10")),
        splits="none: the negatives leave out the answers of the query at the same time",
        candidates="given negatives, without the true candidate",
        notes=(
            "tkgl: all entities but these answers, and 1,000 of the relation's tails for wikidata, "
            "where it has so many (else others, the answers too); thgl: 20 or more nodes of the "
            "type of the true one.",
            "Heads are predicted as the tails of inverse relations, in the same mean.",
            "Its examples evaluate one edge after the other and average these values.",
            "Before August 2023 it added up all rows of a NumPy array that had several.",
            "tkgl's sampler deletes answers by position: their ids must count from 0.",
        ),
    ),
)
