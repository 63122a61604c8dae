"""Presets: one row for each toolkit, with the places in its code that define it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ..inputs.errors import InputTypeError
from ..inputs.naming import public
from .conventions import LAST_UNITS, Convention, steps_to


@public("truerank.compat")
class Metric(NamedTuple):
    """A number that a toolkit shows.

    Attributes
    ----------
    name : str
        Its name in the toolkit. "{filtered}" becomes the suffix of the preset if there is a filter.
    key : str
        Its key in a report of truerank: "mr", "mrr", "hits@k" or "amri".
    form : str
        How it is printed: a format of `format`, or "repr" for all digits.
    scale : float
        The factor of the printed number: 100 for percentages.
    """

    name: str
    key: str
    form: str = "repr"
    scale: float = 1.0


@public("truerank.compat")
@dataclass(frozen=True, kw_only=True)
class Preset:
    """The evaluation of one toolkit.

    Attributes
    ----------
    name, toolkit, version : str
        Its name here, the name of the toolkit, and the version or commit that was read.
    source : tuple of str
        Repository, file and functions that define the convention.
    convention : Convention
        How the true candidate is ranked.
    metrics : tuple of Metric
        The numbers that the toolkit shows.
    splits : str
        The splits whose true answers it filters.
    candidates : str
        The candidates that it ranks.
    suffix : str
        The replacement of "{filtered}" in the name of a metric if there is a filter.
    averaged : bool
        Whether a number is the mean of the numbers of both sides.
    notes : tuple of str
        Further facts that help to read its numbers.

    Examples
    --------
    >>> PRESETS["openke"].convention.rank
    'optimistic'
    """

    name: str
    toolkit: str
    version: str
    source: tuple[str, ...]
    convention: Convention
    metrics: tuple[Metric, ...]
    splits: str
    candidates: str
    suffix: str = ""
    averaged: bool = False
    notes: tuple[str, ...] = ()

    def departures(self) -> dict[str, str]:
        """Describe the differences from the exact definition in words, by step.

        Examples
        --------
        >>> PRESETS["openke"].departures()["rank"]
        'the best place of the tie'
        """
        return {step: changed.says(step) for step, changed in steps_to(self.convention)}


def _hits_metrics(
    name: str, ks: tuple[int, ...], form: str = "repr", scale: float = 1.0
) -> list[Metric]:
    return [Metric(name.format(k=k), f"hits@{k}", form, scale) for k in ks]


_ALL = "train, valid, test"
_ENTITIES = "all entities"
_PAIRS = "the other entities of the test pairs"

_ROTATE = (
    Metric("MRR", "mrr", ".6f"),
    Metric("MR", "mr", ".6f"),
    *_hits_metrics("HITS@{k}", (1, 3, 10), ".6f"),
)
_OGB = (*_hits_metrics("hits@{k}_list", (1, 3, 10), ".6f"), Metric("mrr_list", "mrr", ".6f"))
_OGB_NOTES = ("The example of ogbl-wikikg2 puts both sides into one mean and prints six decimals.",)

_DGL_KE = tuple(metric._replace(form="repr") for metric in _ROTATE)
_DGL_KE_SOURCE = (
    "awslabs/dgl-ke: python/dglke/models/general_models.py, KEModel.forward_test",
    "awslabs/dgl-ke: python/dglke/dataloader/sampler.py, EvalSampler, EvalDataset",
    "awslabs/dgl-ke: python/dglke/eval.py, main",
)
_DGL_KE_CANDIDATES = f"{_ENTITIES}, or sampled ones (neg_sample_size_eval)"
_NO_RANK_1 = "Without a filter (no_eval_filter) no rank is better than 2."

_ROWS = (
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
        candidates=_ENTITIES,
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
            *_hits_metrics("hit@{k}", (10, 3, 1), ".6f"),
        ),
        splits=_ALL,
        candidates=f"{_ENTITIES}; with type_constrain also those of the relation's types",
        averaged=True,
        notes=("Lower scores are better: pass OpenKE's own scores with order='ascending'.",),
    ),
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
        metrics=tuple(_hits_metrics("hits@{k}", (20, 50, 100))),
        splits="none",
        candidates="one list of negatives for all tasks; a hit is above its k-th highest",
        notes=("20 for ddi, 50 for collab, 100 for ppa.",),
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
        splits=_ALL,
        candidates=_ENTITIES,
    ),
    Preset(
        name="dgl-ke",
        toolkit="DGL-KE, its repository since October 2020",
        version="6dbdbb3 (ranking), e00bccf (all)",
        source=_DGL_KE_SOURCE,
        convention=Convention(nan="compared", itself="as filtered", rank="pessimistic"),
        metrics=_DGL_KE,
        splits=_ALL,
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
        splits=_ALL,
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
            *_hits_metrics("r{k}", (1, 10, 50), ".6g"),
        ),
        splits="those of the given paths with FilteredRankingEvaluator, otherwise none",
        candidates=f"{_ENTITIES} (all_negs), or sampled ones",
        notes=("It sums float32 reciprocals batch by batch: the last digits depend on the batch.",),
    ),
    Preset(
        name="openea",
        toolkit="OpenEA",
        version="ad11dc3",
        source=(
            "nju-websoft/OpenEA: src/openea/modules/finding/alignment.py, "
            "greedy_alignment, calculate_rank",
            "nju-websoft/OpenEA: src/openea/modules/finding/evaluation.py, test",
        ),
        convention=Convention(nan="last", rank="any"),
        metrics=(
            *_hits_metrics("hits@{k}", (1, 5, 10, 50), ".3f", 100.0),
            Metric("mr", "mr", ".3f"),
            Metric("mrr", "mrr", ".6f"),
        ),
        splits="none",
        candidates=_PAIRS,
        notes=(
            "Only the direction from the first graph to the second is evaluated.",
            "With accurate=False (validation) only hits at k are meaningful.",
        ),
    ),
    Preset(
        name="gcn-align",
        toolkit="GCN-Align, RDGCN",
        version="873d0c3 (GCN-Align), adb2ec0 (RDGCN)",
        source=(
            "1049451037/GCN-Align: metrics.py, get_hits",
            "StephanieWyt/RDGCN: include/Test.py, get_hits",
        ),
        convention=Convention(nan="last", rank="any"),
        metrics=tuple(_hits_metrics("Hits@{k}", (1, 10, 50, 100), ".2f", 100.0)),
        splits="none",
        candidates=_PAIRS,
        notes=(
            "Each direction is printed separately.",
            "Lower scores (L1 distances) are better: pass them with order='ascending'.",
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
            *_hits_metrics("hits_at_{k}", (1, 3, 5, 10)),
            Metric("adjusted_arithmetic_mean_rank_index", "amri"),
        ),
        splits="train, the evaluated split, and any others that are given",
        candidates=_ENTITIES,
        notes=("Its names begin with the side and kind: both.realistic.arithmetic_mean_rank.",),
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({row.name: row for row in _ROWS})


@public("truerank.compat")
def preset(name: str | Preset) -> Preset:
    """Return a row of `PRESETS` by its name; a `Preset` is returned as it is.

    Parameters
    ----------
    name : str or Preset
        "libkge", "openke", "ogb", "ogb-1.3.3", "ogb-1.3.3-numpy", "ogb-hits", "rotate", "dgl-ke",
        "dgl-ke-0.1", "pytorch-biggraph", "openea", "gcn-align" or "pykeen".

    Raises
    ------
    KeyError
        For an unknown name.
    TypeError
        For anything but a str or a Preset.

    Examples
    --------
    >>> preset("libkge").convention.says("tolerance")
    'scores within 1e-05 + 0.0001 * |true score| tie'
    >>> from dataclasses import replace  # the same toolkit with another setting
    >>> row = preset("libkge")
    >>> old = replace(row, name="old", convention=replace(row.convention, rtol=0.0, atol=0.0))
    >>> preset(old).convention.tolerant
    False
    """
    if isinstance(name, Preset):
        return name
    if not isinstance(name, str):
        raise InputTypeError("preset", expected="a name or a Preset", got=type(name).__name__)
    if name not in PRESETS:
        raise KeyError(f"preset: expected one of {', '.join(PRESETS)}, got {name!r}")
    return PRESETS[name]


@public("truerank.compat")
def describe() -> str:
    """Write the table of presets as Markdown, with a row for each.

    Examples
    --------
    >>> print(describe().splitlines()[0])
    | preset | toolkit | place in a tie | what else differs | splits filtered | candidates |
    """
    from ..comparison.table_writer import markdown_cell

    heading = "preset", "toolkit", "place in a tie", "what else differs"
    rows = [[*heading, "splits filtered", "candidates"], [":---"] * (len(heading) + 2)]
    for row in PRESETS.values():
        others = "; ".join(says for step, says in row.departures().items() if step != "rank")
        cells = [row.toolkit, row.convention.says("rank"), others, row.splits, row.candidates]
        rows.append([f"`{row.name}`", *map(markdown_cell, cells)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"
