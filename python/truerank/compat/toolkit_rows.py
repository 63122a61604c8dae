"""Rows of presets: what is said of one toolkit, and the words that many rows share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..inputs.naming import public
from .conventions import Convention, steps_to

ALL_SPLITS = "train, valid, test"
ALL_ENTITIES = "all entities"


@public("truerank.compat")
class Metric(NamedTuple):
    """A number that a toolkit shows.

    Attributes
    ----------
    name : str
        Its name in the toolkit. "{filtered}" becomes the suffix of the preset if there is a filter.
    key : str
        Its key in a report of truerank: "mr", "mrr", "hits@k" or "amri"; also "mrr@k" and "ndcg@k",
        which are those of one true candidate.
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
    >>> from truerank import compat
    >>> compat.PRESETS["openke"].convention.rank
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
        >>> from truerank import compat
        >>> compat.PRESETS["openke"].departures()["rank"]
        'the best place of the tie'
        """
        return {step: changed.says(step) for step, changed in steps_to(self.convention)}


def hits_metrics(
    name: str, ks: tuple[int, ...], form: str = "repr", scale: float = 1.0
) -> list[Metric]:
    """Make a metric for each k; "{k}" in the name becomes it.

    Examples
    --------
    >>> [metric.key for metric in hits_metrics("HITS@{k}", (1, 10))]
    ['hits@1', 'hits@10']
    """
    return [Metric(name.format(k=k), f"hits@{k}", form, scale) for k in ks]
