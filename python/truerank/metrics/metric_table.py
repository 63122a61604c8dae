"""The tables of metrics and of adjustments: a new row of `METRICS` is all that a metric needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import metrics
from . import averages, ties

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from .averages import Sample
    from .ties import Parameter, RankFunction

    SingleModel: TypeAlias = Callable[[IntArray, Parameter], tuple[FloatArray, FloatArray]]
    Mean: TypeAlias = Callable[[Sample, Parameter], float]
    # The arguments are the value, the expectation and variance under chance, and the optimum. The
    # first three are floats, or arrays of them, which are divided without a word about nan.
    Adjustment: TypeAlias = Callable[[Any, Any, Any, float], Any]

HOYT = 'Hoyt et al., "A Unified Framework for Rank-based Evaluation Metrics" (2022)'
BORDES = 'Bordes et al., "Translating Embeddings for Modeling Multi-relational Data" (2013)'


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A row of the tables of metrics: of ranks, or of queries with several right answers.

    Of ranks it is g(mean(f(r))) over the tasks; where all ranks are r it is g(f(r)). Of queries it
    is the mean of their values.

    Attributes
    ----------
    name : str
        The word of keys.
    title : str
        What tables print, the literature's name, which is the name but for case and "-"; empty
        where it has none, and the key is printed.
    description : str
        The name in words.
    parameter : str
        "@k" for a cutoff, "[@k]" for one that may be left out, ":p" for a power, "@k:n" for a
        cutoff among n drawn negatives, else "".
    examples : tuple of str
        What documents and tests put for the parameter, with its mark.
    increasing : bool or None
        Whether higher is better; None where neither higher nor lower is better.
    transform : RankFunction
        f of the rank, the number of candidates and the parameter, and its mean over a tie.
    mean : callable, optional
        For what is no mean of f(r), the mean of a sample of ranks with its weights. Without it,
        that of f is arithmetic, sum(w f(r)) / sum(w).
    inverse : callable
        g, of the mean.
    listed : tuple of str or None
        With which parameters reports list it, and tables show it for "all"; those of the examples
        where it is None.
    moments : callable, optional
        For a mean of f(r) with a closed form, or an f that depends on the number of candidates,
        returns the mean and the variance of f(r) under chance; without it f is added up over all
        ranks.
    has_variance : bool
        For a mean of f(r), whether its variance under chance is known; without it there is no z.
    exponent : int
        For a product of r^(exponent w) over the tasks, the exponent; 0 for what is none.
    optimum : float
        The value where every rank is 1.
    source : str
        Where the metric comes from.
    of_queries : str
        For a metric of queries, the name of the function of `answer_metrics` that computes the
        value of each from its ties; empty for one of ranks.
    by_candidates : bool
        Whether a mean weights each query with its number of candidates.
    of_gains : bool
        Whether it is about all answers with a gain, whatever the level from which on one is right.
    """

    name: str
    title: str = ""
    description: str
    parameter: str = ""
    examples: tuple[str, ...] = ("",)
    increasing: bool | None = None
    transform: RankFunction = ties.IDENTITY
    mean: Mean | None = None
    inverse: Callable[[float], float] = float  # By default it changes nothing.
    listed: tuple[str, ...] | None = None
    moments: SingleModel | None = None
    has_variance: bool = True
    exponent: int = 0
    optimum: float = 1.0
    source: str = HOYT
    of_queries: str = ""
    by_candidates: bool = False
    of_gains: bool = False

    @property
    def mark(self) -> str:
        """What stands before the parameter: "@", ":", or nothing where there is none."""
        return self.parameter.strip("[]")[:1]

    @property
    def needed(self) -> str:
        """What a key must have after the name: empty where the parameter may be left out."""
        return "" if self.parameter.startswith("[") else self.parameter

    @property
    def is_of_pairs(self) -> bool:
        """Whether it is of pairs of a right answer and a wrong one, which a query may lack."""
        return self.of_queries == "pairs_in_order"

    @property
    def is_mean(self) -> bool:
        """Whether the metric is itself a mean of f(r)."""
        return not self.of_queries and self.mean is None and self.inverse is float

    @property
    def has_expectation(self) -> bool:
        """Whether it has the kind "expected": means have, and count, which no tie moves."""
        return self.is_mean or self.mean is averages.count

    @cached_property
    def single(self) -> SingleModel | None:
        """For a mean of f(r), returns mean and variance of f(r) under chance; None for others.

        It takes numbers of candidates and the parameter, and returns arrays of their shape, which
        add up over tasks.
        """
        if not self.is_mean:
            return None
        return self.moments or metrics.chance_model.summed_moments(self.transform)

    @property
    def adjustments(self) -> tuple[str, ...]:
        """The adjustments for chance that it has; all of them, none, or those without a variance.

        Examples
        --------
        >>> [METRICS[name].adjustments for name in ("gmr", "hmr", "sampled_hits")]
        [('ratio', 'index', 'z'), (), ('ratio', 'index')]
        """
        if not (self.is_mean or self.exponent):
            return ()
        if not self.has_variance:
            return ("ratio", "index")
        return ("ratio", "index", "z")

    @property
    def why_unadjusted(self) -> str:
        """Why it lacks an adjustment, and what to do instead."""
        if self.is_mean:
            return (
                f"the variance of {self.name} under chance is not computed, so that it has a ratio "
                "and an index, but no z: docs/chance.md draws it in five lines"
            )
        return (
            f"{self.name} is no mean over tasks, and its chance is not computed, so that it has no "
            "ratio, index and z: docs/chance.md draws them in five lines"
        )


def _reciprocal(x: float) -> float:
    return 1.0 / x


_ROWS = (
    Metric(
        name="mr",
        title="MR",
        description="mean rank",
        increasing=False,
        moments=lambda sizes, k: metrics.chance_model.rank_moments(sizes, k),
        source=BORDES,
    ),
    Metric(
        name="mrr",
        title="MRR",
        description="mean reciprocal rank",
        parameter="[@k]",
        examples=("", "@7"),
        listed=("",),
        transform=ties.up_to_cutoff(ties.RECIPROCAL),
        increasing=True,
        moments=lambda sizes, k: metrics.chance_model.reciprocal_moments_within(sizes, k),
        source="Voorhees, The TREC-8 Question Answering Track Report (1999)",
    ),
    Metric(
        name="hits",
        title="Hits",
        description="hits at k",
        parameter="@k",
        examples=("@1", "@3"),
        listed=("@1", "@3", "@5", "@10"),
        transform=ties.HIT,
        increasing=True,
        moments=lambda sizes, k: metrics.chance_model.hit_moments(sizes, k),
        source=BORDES,
    ),
    Metric(
        name="sampled_hits",
        title="Sampled-Hits",
        description="hits at k among n drawn negatives",
        parameter="@k:n",
        examples=("@1:3", "@3:20"),
        listed=(),
        transform=ties.SAMPLED_HIT,
        increasing=True,
        moments=lambda sizes, k: metrics.chance_model.sampled_hit_moments(sizes, k),
        has_variance=False,
        source='Zhu et al., "Neural Bellman-Ford Networks" (2021)',
    ),
    Metric(
        name="ndcg",
        title="nDCG",
        description="discounted gain of one right answer",
        parameter="@k",
        examples=("@3", "@10"),
        listed=(),
        transform=ties.up_to_cutoff(ties.DISCOUNT),
        increasing=True,
        moments=lambda sizes, k: metrics.chance_model.discount_moments_within(sizes, k),
        source="Järvelin, Kekäläinen, Cumulated gain-based evaluation of IR techniques (2002)",
    ),
    Metric(
        name="hmr",
        title="HMR",
        description="harmonic mean rank",
        transform=ties.RECIPROCAL,
        inverse=_reciprocal,
        increasing=False,
    ),
    Metric(
        name="imr",
        title="IMR",
        description="inverse mean rank",
        inverse=_reciprocal,
        increasing=True,
        listed=(),
    ),
    Metric(
        name="gmr",
        title="GMR",
        description="geometric mean rank",
        transform=ties.LOG,
        inverse=math.exp,
        increasing=False,
        exponent=1,
    ),
    Metric(
        name="igmr",
        title="IGMR",
        description="inverse geometric mean rank",
        transform=ties.LOG,
        inverse=lambda mean: math.exp(-mean),
        increasing=True,
        exponent=-1,
        listed=(),
    ),
    Metric(
        name="median",
        description="median rank",
        mean=averages.median,
        increasing=False,
    ),
    Metric(
        name="imedian",
        description="inverse median rank",
        mean=averages.median,
        inverse=_reciprocal,
        increasing=True,
        listed=(),
    ),
    Metric(
        name="power_mean",
        description="power mean rank",
        parameter=":p",
        examples=(":2", ":-0.5"),
        transform=ties.POWER,
        mean=averages.power,
        increasing=False,
        listed=(),
    ),
    Metric(
        name="std",
        description="standard deviation",
        mean=averages.variance,
        inverse=math.sqrt,
        optimum=0.0,
        listed=(),
    ),
    Metric(
        name="variance",
        description="variance of ranks",
        mean=averages.variance,
        optimum=0.0,
        listed=(),
    ),
    Metric(
        name="mad",
        description="median absolute deviation",
        mean=averages.deviation,
        optimum=0.0,
        listed=(),
    ),
    Metric(
        name="count",
        description="number of tasks",
        mean=averages.count,
        listed=(),
    ),
)
METRICS: dict[str, Metric] = {row.name: row for row in _ROWS}

# -- queries with several right answers ------------------------------------------------------------

_EXAMPLES = {"": ("",), "@k": ("@1", "@7"), "[@k]": ("", "@7"), ":p": (":0.8", ":.25")}
_EXAMPLES["@k:n"] = ("@1:3", "@3:20")
_TREC = "trec_eval"
_RECBOLE = "RecBole, sentence-transformers, PyTorch Geometric"
_MUSGRAVE = "Musgrave, Belongie, Lim, A Metric Learning Reality Check (2020)"
_CHAPELLE = "Chapelle et al., Expected reciprocal rank for graded relevance (2009)"
_MOFFAT = "Moffat, Zobel, Rank-biased precision for measurement of retrieval effectiveness (2008)"
_HANLEY = "Hanley, McNeil, The meaning and use of the area under a ROC curve (1982)"
_ZHOU = "Zhou et al., Deep Interest Network for Click-Through Rate Prediction (2018)"
_HODOSH = "Hodosh, Young, Hockenmaier, Framing image description as a ranking task (2013)"
_ZHU = METRICS["sampled_hits"].source
# The title, the parameter, the description, the function of `answer_metrics`, and the source.
_ROWS_OF_QUERIES = (
    ("MRR", "[@k]", "mean reciprocal rank", "reciprocal_rank", _TREC),
    ("MAP", "[@k]", "mean average precision", "average_precision", _TREC),
    ("MAP-min", "@k", "mean average precision over min(k, R)", "capped_precision", _RECBOLE),
    ("MAP-at-R", "", "mean average precision at R", "precision_at_r", _MUSGRAVE),
    ("R-Precision", "", "precision at R", "r_precision", _TREC),
    ("nDCG", "[@k]", "normalised discounted cumulative gain", "discounted_gain", _TREC),
    ("DCG", "[@k]", "discounted cumulative gain", "discounted_gain", _TREC),
    ("ERR", "@k", "expected reciprocal rank", "expected_reciprocal_rank", _CHAPELLE),
    ("RBP", ":p", "rank-biased precision", "rank_biased_precision", _MOFFAT),
    ("Recall", "@k", "recall at k", "recall", _TREC),
    ("Precision", "@k", "precision at k", "precision", _TREC),
    ("F1", "@k", "harmonic mean of precision and recall at k", "f1", "PyTorch Geometric"),
    ("Success", "@k", "success at k", "success", _TREC),
    ("Sampled-Hits", "@k:n", "hits at k among n drawn negatives", "sampled_success", _ZHU),
    ("AUC", "", "area under the ROC curve", "pairs_in_order", _HANLEY),
    ("GAUC", "", "area under the ROC curve, by candidates", "pairs_in_order", _ZHOU),
    ("MR", "", "mean rank of the first right answer", "first_rank", _HODOSH),
    ("Median", "", "median rank of the first right answer", "first_rank", _HODOSH),
)


def _metric_of_queries(row: tuple[str, str, str, str, str]) -> Metric:
    """Return the metric of a row; its name is its title in small letters."""
    title, parameter, description, function, source = row
    return Metric(
        name=title.lower().replace("-", "_"),
        title=title,
        description=description,
        parameter=parameter,
        examples=_EXAMPLES[parameter],
        increasing=function != "first_rank",
        mean=averages.median if title == "Median" else None,
        source=source,
        of_queries=function,
        by_candidates=title == "GAUC",
        of_gains=title in ("nDCG", "DCG", "ERR"),
    )


ANSWER_METRICS = {row.name: row for row in map(_metric_of_queries, _ROWS_OF_QUERIES)}


def listed_metrics() -> list[str]:
    """List the metrics that reports list, in the order of the table, with their parameters.

    Examples
    --------
    >>> listed_metrics()[:4]
    ['mr', 'mrr', 'hits@1', 'hits@3']
    """
    names = []
    for row in METRICS.values():
        parameters = row.examples if row.listed is None else row.listed
        names += [row.name + parameter for parameter in parameters]
    return names


# -- adjustments -----------------------------------------------------------------------------------


def none(value: Any, expectation: Any, variance: Any, optimum: float) -> Any:
    """Return the value itself."""
    return value


def ratio(value: Any, expectation: Any, variance: Any, optimum: float) -> Any:
    """Compute value / expectation: 1 is chance; nan without tasks.

    For the mean rank it is 2 sum w r / sum w (N + 1), the AMR of Berrendorf et al., "On the
    Ambiguity of Rank-Based Evaluation of Entity Alignment or Link Prediction Methods" (2020).

    Examples
    --------
    >>> ratio(1.5, 2.0, 0.1, 1.0)
    0.75
    """
    return _quotient(value, expectation)


def index(value: Any, expectation: Any, variance: Any, optimum: float) -> Any:
    """Compute (value - expectation) / (optimum - expectation): 1 is perfect, 0 is chance.

    For the mean rank it is 1 - 2 sum w (r - 1) / sum w (N - 1), the AMRI of Berrendorf et al.
    (2020), whose equation 8 loses the "1 -" in one printing. It is nan where chance is perfect: no
    task has a second candidate, or k of hits@k reaches all of them.

    Examples
    --------
    >>> index(1.5, 2.0, 0.1, 1.0)
    0.5
    """
    return _quotient(value - expectation, optimum - expectation)


def z(value: Any, expectation: Any, variance: Any, optimum: float) -> Any:
    """Compute (value - expectation) / sqrt(variance): standard deviations from chance.

    The sign is that of the formula (Hoyt et al., 2022): below 0 is better where less is better. It
    is nan where the variance is 0.

    Examples
    --------
    >>> z(1.5, 2.0, 0.0625, 1.0)
    -2.0
    """
    if isinstance(variance, np.ndarray):
        return _quotient(value - expectation, np.sqrt(variance))
    if not variance >= 0:  # This is so for nan, too.
        return math.nan
    return _quotient(value - expectation, math.sqrt(variance))


def _quotient(numerator: Any, denominator: Any) -> Any:
    if isinstance(denominator, np.ndarray):
        return np.where(denominator != 0, numerator / denominator + 0.0, np.nan)
    if not denominator:
        return math.nan
    return numerator / denominator + 0.0  # Adding 0 makes a minus zero a plain one.


ADJUSTMENTS: dict[str, Adjustment] = {"none": none, "ratio": ratio, "index": index, "z": z}
