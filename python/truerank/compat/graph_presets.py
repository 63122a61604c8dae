"""Presets of toolkits for knowledge graphs that rank all entities."""

from __future__ import annotations

from dataclasses import replace

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

_TORCHKGE = Convention(
    nan="compared, itself too", filter="-inf", rank="pessimistic", mean="float32"
)
_TORCHKGE_METRICS = (
    Metric("{filtered}Mean Rank", "mr"),
    Metric("{filtered}MRR", "mrr"),
    *hits_metrics("{{filtered}}Hit@{k}", (1, 3, 10)),
)
_TORCHKGE_PRINTS = (
    "It prints hits at k for the k that it is given (10), rounds to three decimals, and cuts the "
    "mean rank to a whole number."
)
_TORCHDRUG = Convention(nan="compared", itself="as filtered", rank="pessimistic", mean="float32")
_TORCHDRUG_METRICS = (
    Metric("mr", "mr", "g"),
    Metric("mrr", "mrr", "g"),
    *hits_metrics("hits@{k}", (1, 3, 10), "g"),
)
_ALL_OF_GRAPH = f"{ALL_SPLITS}: the whole graph"

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
        name="pytorch-geometric",
        toolkit="PyTorch Geometric, KGEModel.test",
        version="5c6461b (August 2026), 2.8.1 of PyPI",
        source=("pyg-team/pytorch_geometric: torch_geometric/nn/kge/base.py, KGEModel.test",),
        convention=Convention(nan="first", rank="any", mean="float32, from 0"),
        metrics=(Metric("mean_rank", "mr"), Metric("mrr", "mrr"), Metric("hits_at_k", "hits@10")),
        splits="none",
        candidates=f"{ALL_ENTITIES}, as tails alone",
        notes=(
            "The mean rank is counted from 0; the reciprocal rank and hits at k from 1.",
            "k is an argument of test, 10 by default. Before 2.5 (commit fd7ff50 of November "
            "2023) there is no mrr.",
            "On a processor torch's sort has so far been stable: of a tie, the lower id is first.",
        ),
    ),
    Preset(
        name="torchkge",
        toolkit="TorchKGE, since 0.16.17 of November 2020",
        version="3adb934, 0.17.7 of PyPI; e780d02 (the change)",
        source=(
            "torchkge-team/torchkge: torchkge/utils/operations.py, get_rank",
            "torchkge-team/torchkge: torchkge/utils/modeling.py, filter_scores",
            "torchkge-team/torchkge: torchkge/evaluation.py, LinkPredictionEvaluator",
        ),
        convention=_TORCHKGE,
        metrics=_TORCHKGE_METRICS,
        suffix="Filt. ",
        splits="those of the knowledge graph that is evaluated; its split function gives all parts "
        "the facts of the whole",
        candidates=ALL_ENTITIES,
        averaged=True,
        notes=(
            "A true score of NaN has rank 0, so that the mrr is infinite.",
            "Releases before 0.15.1 of April 2020 (commit 8b3fdd4) ranked alike.",
            _TORCHKGE_PRINTS,
        ),
    ),
    Preset(
        name="torchkge-0.16.16",
        toolkit="TorchKGE, 0.15.1 of April 2020 to 0.16.16",
        version="a81b9ff (0.16.16)",
        source=(
            "torchkge-team/torchkge: torchkge/utils/operations.py, get_rank",
            "torchkge-team/torchkge: torchkge/models/interfaces.py, Model.lp_compute_ranks",
        ),
        convention=replace(_TORCHKGE, nan="compared", rank="optimistic"),
        metrics=_TORCHKGE_METRICS,
        suffix="Filt. ",
        splits="those of the knowledge graph that is evaluated",
        candidates=ALL_ENTITIES,
        averaged=True,
        notes=(_TORCHKGE_PRINTS,),
    ),
    Preset(
        name="torchdrug",
        toolkit="TorchDrug",
        version="6066fbd (0.2.1)",
        source=(
            "DeepGraphLearning/torchdrug: torchdrug/tasks/reasoning.py, "
            "KnowledgeGraphCompletion.target, KnowledgeGraphCompletion.evaluate",
        ),
        convention=_TORCHDRUG,
        metrics=_TORCHDRUG_METRICS,
        splits=_ALL_OF_GRAPH,
        candidates=ALL_ENTITIES,
        notes=(_NO_RANK_1.replace("no_eval_filter", "filtered_ranking=False"),),
    ),
    Preset(
        name="nbfnet",
        toolkit="NBFNet, on TorchDrug and on PyTorch Geometric",
        version="eb49ff2 (on TorchDrug), 0c2d262 (on PyTorch Geometric)",
        source=(
            "DeepGraphLearning/NBFNet: nbfnet/task.py, KnowledgeGraphCompletionExt.evaluate",
            "KiddoZhu/NBFNet-PyG: nbfnet/tasks.py, compute_ranking, strict_negative_mask",
            "KiddoZhu/NBFNet-PyG: script/run.py, test",
        ),
        convention=_TORCHDRUG,
        metrics=_TORCHDRUG_METRICS,
        splits=f"{_ALL_OF_GRAPH}; of an inductive split, those of the inference graph alone",
        candidates=f"{ALL_ENTITIES}; of an inductive split, those of the inference graph",
        notes=(
            "hits@10_50 of inductive splits is an estimate for 50 sampled negatives, made from the "
            "full rank; there is no such metric here.",
        ),
    ),
    Preset(
        name="compgcn",
        toolkit="CompGCN",
        version="3b06f5f",
        source=(
            "malllabiisc/CompGCN: run.py, Runner.predict",
            "malllabiisc/CompGCN: helper.py, get_combined_results",
        ),
        convention=Convention(nan="first", filter="-1e7", rank="any", mean="float32 reciprocals"),
        metrics=(
            Metric("mr", "mr"),
            Metric("mrr", "mrr"),
            *hits_metrics("hits@{k}", tuple(range(1, 11))),
        ),
        splits=ALL_SPLITS,
        candidates=ALL_ENTITIES,
        notes=(
            "Its scores are sigmoids: from about 17 on they are 1 in float32, and tie. Give these.",
            "Numbers are rounded to five decimals, per side and in all.",
        ),
    ),
    Preset(
        name="simkgc",
        toolkit="SimKGC",
        version="97cc43e",
        source=(
            "intfloat/SimKGC: evaluate.py, compute_metrics",
            "intfloat/SimKGC: rerank.py, rerank_by_graph",
        ),
        convention=Convention(nan="first", filter="-1", rank="any"),
        metrics=(
            Metric("mean_rank", "mr"),
            Metric("mrr", "mrr"),
            *hits_metrics("hit@{k}", (1, 3, 10)),
        ),
        splits=ALL_SPLITS,
        candidates=ALL_ENTITIES,
        notes=(
            "Its scores are cosines; -1 for filtered candidates is the least cosine.",
            "Its script adds 0.05 (neighbor_weight) to the scores of entities within 2 hops of the "
            "head in the training graph (5 for WN18RR), before it filters: give the sums. The "
            "default of the program itself, and that of inductive Wikidata5M, is 0.",
            "Numbers of a side, and their means, are rounded to four decimals.",
        ),
    ),
    Preset(
        name="ampligraph",
        toolkit="AmpliGraph 2",
        version="260a732 (2.2.0 ranks alike)",
        source=(
            "Accenture/AmpliGraph: ampligraph/latent_features/layers/scoring/"
            "AbstractScoringLayer.py, AbstractScoringLayer.get_ranks",
            "Accenture/AmpliGraph: ampligraph/evaluation/metrics.py, "
            "mr_score, mrr_score, hits_at_n_score",
        ),
        convention=Convention(
            nan="a number", transform="thousandths", itself="as filtered", rank="pessimistic"
        ),
        metrics=(
            Metric("mr_score", "mr"),
            Metric("mrr_score", "mrr"),
            *hits_metrics("hits_at_n_score, n={k}", (1, 3, 10)),
        ),
        splits="those that are given as use_filter",
        candidates=f"{ALL_ENTITIES}, or those given as entities_subset",
        notes=(
            "Scores are cut towards 0, so that all within 0.001 of 0 on either side tie.",
            "Past 2.1e6 of either sign, and for NaN, TensorFlow on a processor makes the least "
            "integer of a score: as a true score it is last, as a candidate never above the true "
            "one, but tied with others like it. Compiled by XLA it is the nearest integer, and 0 "
            "for NaN. The bounds hold for both.",
            "ranking_strategy can be worst (the default), middle or best.",
            "Without a filter (use_filter=False, the default), and where the filter lacks the "
            "evaluated triples, no rank is better than 2.",
        ),
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
