"""Presets of toolkits that rank all entities for one query: kbc, tkbc (time), KGReasoning."""

from __future__ import annotations

from .conventions import Convention
from .toolkit_rows import ALL_ENTITIES, ALL_SPLITS, Metric, Preset, hits_metrics

_KBC = Convention(
    nan="compared", filter="-1e6", itself="always", rank="pessimistic", mean="float32"
)
_KBC_METRICS = (Metric("MRR", "mrr"), *hits_metrics("hits@{k}", (1, 3, 10), ".4f"))
_KBC_HITS = "It prints the hits of one side as one tensor, hits@[1,3,10]."

QUERY_PRESETS = (
    Preset(
        name="kbc",
        toolkit="kbc (the code of ComplEx-N3)",
        version="248e931",
        source=(
            "facebookresearch/kbc: kbc/models.py, KBCModel.get_ranking",
            "facebookresearch/kbc: kbc/datasets.py, Dataset.eval",
            "facebookresearch/kbc: kbc/learn.py, avg_both",
            "facebookresearch/kbc: kbc/process_datasets.py, prepare_dataset",
        ),
        convention=_KBC,
        metrics=_KBC_METRICS,
        splits=ALL_SPLITS,
        candidates=ALL_ENTITIES,
        averaged=True,
        notes=(
            _KBC_HITS,
            "The score of the true candidate is computed apart from all others, by another kernel.",
        ),
    ),
    Preset(
        name="tkbc",
        toolkit="tkbc (the code of TNTComplEx)",
        version="8cf1934",
        source=(
            "facebookresearch/tkbc: tkbc/models.py, TKBCModel.get_ranking, get_time_ranking",
            "facebookresearch/tkbc: tkbc/datasets.py, TemporalDataset.eval, time_eval",
            "facebookresearch/tkbc: tkbc/process_icews.py, prepare_dataset",
        ),
        convention=_KBC,
        metrics=_KBC_METRICS,
        splits=f"{ALL_SPLITS}, at the same time point",
        candidates=ALL_ENTITIES,
        averaged=True,
        notes=(
            _KBC_HITS,
            "It stops at a score that is NaN or infinite; get_time_ranking does not.",
            "Facts with intervals (time_eval): only tails, at one time of each interval. Its "
            "numbers are MRR_all, hits@_all, and those of the facts with both ends, one or none.",
            "There it follows the events up to the time that has the id of the tail as its number "
            "(eval_events[i][3]; the time is [0]), so that other facts are filtered than those "
            "which are true at the time of the query.",
        ),
    ),
    Preset(
        name="kgreasoning",
        toolkit="KGReasoning (BetaE, Query2box and GQE for complex queries)",
        version="ec72849",
        source=("snap-stanford/KGReasoning: models.py, KGReasoning.test_step",),
        convention=Convention(nan="first", rank="any", mean="float32 reciprocals"),
        metrics=(Metric("MRR", "mrr", ".6f"), *hits_metrics("HITS{k}", (1, 3, 10), ".6f")),
        splits="all other answers of the query, easy and hard",
        candidates=ALL_ENTITIES,
        notes=(
            "A task is a hard answer. It averages the hard answers of a query, the queries of a "
            "structure, and then the structures; the numbers here are means over tasks, the same "
            "where each query has one hard answer.",
        ),
    ),
)
