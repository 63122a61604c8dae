"""Presets of toolkits for knowledge graphs that rank all entities."""

from __future__ import annotations

from .conventions import LAST_UNITS, Convention
from .toolkit_rows import ALL_ENTITIES, ALL_SPLITS, Metric, Preset, hits_metrics

_ROTATE = (
    Metric("MRR", "mrr", ".6f"),
    Metric("MR", "mr", ".6f"),
    *hits_metrics("HITS@{k}", (1, 3, 10), ".6f"),
)
_DGL_KE = tuple(metric._replace(form="repr") for metric in _ROTATE)
_DGL_KE_SOURCE = (
    "awslabs/dgl-ke: python/dglke/models/general_models.py, KEModel.forward_test",
    "awslabs/dgl-ke: python/dglke/dataloader/sampler.py, EvalSampler, EvalDataset",
    "awslabs/dgl-ke: python/dglke/eval.py, main",
)
_DGL_KE_CANDIDATES = f"{ALL_ENTITIES}, or sampled ones (neg_sample_size_eval)"
_NO_RANK_1 = "Without a filter (no_eval_filter) no rank is better than 2."

GRAPH_PRESETS = (
    Preset(
        name="libkge",
        toolkit="LibKGE",
        version="04d0fba (ranking), ef895f3 (defaults)",
        source=(
            "uma-pi1/kge: kge/job/eval_entity_ranking.py, EntityRankingJob._get_ranks_and_num_ties,"
            " _get_ranks, _filter_and_rank, _compute_metrics",
            "uma-pi1/kge: kge/config-default.yaml, entity_ranking",
        ),
        convention=Convention(
            nan="-inf",
            rtol=1e-4,
            atol=1e-5,
            filter="-inf",
            rank="rounded",
            mean="float32 histogram",
        ),
        metrics=(
            Metric("mean_rank{filtered}", "mr"),
            Metric("mean_reciprocal_rank{filtered}", "mrr"),
            *(
                Metric(f"hits_at_{k}{{filtered}}", f"hits@{k}")
                for k in (1, 3, 10, 50, 100, 200, 300, 400, 500, 1000)
            ),
        ),
        suffix="_filtered",
        splits="train, valid and the evaluated split; on valid also with test",
        candidates=ALL_ENTITIES,
        notes=(
            "Before September 2021 (pull request 224) ties were equal scores: rtol=0, atol=0.",
            "Hits at k are left out where k exceeds the number of entities.",
        ),
    ),
    Preset(
        name="openke",
        toolkit="OpenKE",
        version="3b7f0b1 (OpenKE-PyTorch)",
        source=(
            "thunlp/OpenKE: openke/base/Test.h, testHead, testTail, test_link_prediction",
            "thunlp/OpenKE: openke/base/Setting.h, REAL",
        ),
        convention=Convention(nan="compared", rank="optimistic", mean="float32 sums"),
        metrics=(
            Metric("MRR", "mrr", ".6f"),
            Metric("MR", "mr", ".6f"),
            *hits_metrics("hit@{k}", (10, 3, 1), ".6f"),
        ),
        splits=ALL_SPLITS,
        candidates=f"{ALL_ENTITIES}; with type_constrain also those of the relation's types",
        averaged=True,
        notes=("Lower scores are better: pass OpenKE's own scores with order='ascending'.",),
    ),
    Preset(
        name="rotate",
        toolkit="KnowledgeGraphEmbedding (the code of RotatE)",
        version="617062a (model), 2e440e0 (data loader)",
        source=(
            "DeepGraphLearning/KnowledgeGraphEmbedding: codes/model.py, KGEModel.test_step",
            "DeepGraphLearning/KnowledgeGraphEmbedding: codes/dataloader.py, TestDataset",
            "DeepGraphLearning/KnowledgeGraphEmbedding: codes/run.py, log_metrics",
        ),
        convention=Convention(nan="first", filter="truth - 1", rank="any"),
        metrics=_ROTATE,
        splits=ALL_SPLITS,
        candidates=ALL_ENTITIES,
    ),
    Preset(
        name="dgl-ke",
        toolkit="DGL-KE, its repository since October 2020",
        version="6dbdbb3 (ranking), e00bccf (all)",
        source=_DGL_KE_SOURCE,
        convention=Convention(nan="compared", itself="as filtered", rank="pessimistic"),
        metrics=_DGL_KE,
        splits=ALL_SPLITS,
        candidates=_DGL_KE_CANDIDATES,
        notes=(
            "pip installs release 0.1.2 of January 2021, which still ranks as dgl-ke-0.1.",
            _NO_RANK_1,
        ),
    ),
    Preset(
        name="dgl-ke-0.1",
        toolkit="DGL-KE, releases 0.1.0 to 0.1.2",
        version="02923bd (ranking), 1507bc0 (sampler); dglke 0.1.2 of PyPI",
        source=_DGL_KE_SOURCE,
        convention=Convention(
            nan="compared",
            transform="logsigmoid",
            filter="score - 1",
            itself="as filtered",
            rank="pessimistic",
        ),
        metrics=_DGL_KE,
        splits=ALL_SPLITS,
        candidates=_DGL_KE_CANDIDATES,
        notes=(
            "A filtered candidate still counts if its log-sigmoid is at least that of the true "
            "candidate plus 1, so pass DGL-KE's own scores, including the margin gamma.",
            "The last bits of a log-sigmoid depend on the library and the processor, so the order "
            f"of two that are within {LAST_UNITS} units in the last place is open (bounds).",
            _NO_RANK_1,
        ),
    ),
    Preset(
        name="pytorch-biggraph",
        toolkit="PyTorch-BigGraph",
        version="f4a819b (ranking), 03b72c3 (filter), 2e7c663 (print)",
        source=(
            "facebookresearch/PyTorch-BigGraph: torchbiggraph/eval.py, RankingEvaluator.eval",
            "facebookresearch/PyTorch-BigGraph: torchbiggraph/filtered_eval.py, "
            "FilteredRankingEvaluator._adjust_scores",
            "facebookresearch/PyTorch-BigGraph: torchbiggraph/model.py, "
            "MultiRelationEmbedder.forward_direction_agnostic",
            "facebookresearch/PyTorch-BigGraph: torchbiggraph/stats.py, Stats.__str__",
        ),
        convention=Convention(
            nan="compared",
            filter="-1e9",
            itself="always",
            rank="pessimistic",
            mean="float32 reciprocals",
        ),
        metrics=(
            Metric("pos_rank", "mr", ".6g"),
            Metric("mrr", "mrr", ".6g"),
            *hits_metrics("r{k}", (1, 10, 50), ".6g"),
        ),
        splits="those of the given paths with FilteredRankingEvaluator, otherwise none",
        candidates=f"{ALL_ENTITIES} (all_negs), or sampled ones",
        notes=("It sums float32 reciprocals batch by batch: the last digits depend on the batch.",),
    ),
    Preset(
        name="pykeen",
        toolkit="PyKEEN",
        version="1.11.1",
        source=(
            "pykeen/pykeen: src/pykeen/evaluation/ranks.py, Ranks.from_scores",
            "pykeen/pykeen: src/pykeen/evaluation/evaluator.py, filter_scores_",
        ),
        convention=Convention(nan="compared, itself too", candidates="finite", mean="float32"),
        metrics=(
            Metric("arithmetic_mean_rank", "mr"),
            Metric("inverse_harmonic_mean_rank", "mrr"),
            *hits_metrics("hits_at_{k}", (1, 3, 5, 10)),
            Metric("adjusted_arithmetic_mean_rank_index", "amri"),
        ),
        splits="train, the evaluated split, and any others that are given",
        candidates=ALL_ENTITIES,
        notes=("Its names begin with the side and kind: both.realistic.arithmetic_mean_rank.",),
    ),
)
