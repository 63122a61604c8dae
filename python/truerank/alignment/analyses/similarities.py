"""How similar entities are to the most similar ones of the other graph, and how these differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.arithmetic import default_arithmetic
from ...inputs.arrays import ReadOnlyArrays, read_only
from ...inputs.errors import InputValueError
from ...inputs.naming import public
from ...tables.table_writer import Records, percent
from ...tables.tabular import PlainTable
from ..inference.similarity_sources import ScoringOptions
from .most_similar import SearchScope, find_most_similar

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray
    from ...inputs.progress_listeners import Progress
    from ...inputs.words import NanRule, Similarity

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@public("truerank.alignment")
@dataclass(frozen=True, eq=False, repr=False)
class SimilarityProfile(ReadOnlyArrays, PlainTable):
    """The similarities of entities to their k most similar ones; made by `similarity_profile`.

    A task with fewer than k candidates (or similarities that are not NaN) does not count for the
    neighbours that it lacks. All statistics are in float64, and nan if there are no values.

    Attributes
    ----------
    queries : ndarray of int64, shape (tasks,)
        The query entities, ascending.
    ids : ndarray of int64, shape (tasks, k)
        The most similar candidates, best first; -1 if there are no more.
    similarities : ndarray of float32 or float64, shape (tasks, k)
        Their similarities; NaN if there are no more.
    direction : {"left_to_right", "right_to_left"}
        From the graph of the queries to that of the candidates.
    measure : str
        The similarity: "cosine", or "cosine, csls 10"; "scores" for a matrix.

    Examples
    --------
    >>> left, right = np.eye(2), np.array([[1.0, 0.0], [3.0, 4.0]])
    >>> profile = similarity_profile(left, right, k=2)
    >>> print(profile)
    neighbour  tasks  mean  std    5%   25%  50%   75%   95%
    1              2   0.9  0.1  0.81  0.85  0.9  0.95  0.99
    2              2   0.3  0.3  0.03  0.15  0.3  0.45  0.57
    gap 1-2        2   0.6  0.2  0.42  0.5   0.6  0.7   0.78
    """

    queries: IntArray
    ids: IntArray
    similarities: npt.NDArray[Any]
    direction: str
    measure: str

    def __post_init__(self) -> None:
        for array in (self.queries, self.ids, self.similarities):
            read_only(array)

    def __repr__(self) -> str:
        return (
            f"SimilarityProfile({self.tasks:,} tasks, {self.direction}, {self.measure}, "
            f"mean of the nearest {self.mean[0]:.4g})"
        )

    @property
    def tasks(self) -> int:
        """The number of queries."""
        return len(self.ids)

    @property
    def k(self) -> int:
        """The number of neighbours of each query, at most the number of candidates."""
        return int(self.ids.shape[1])

    @property
    def counts(self) -> IntArray:
        """The number of tasks with a first, second, ... k-th neighbour: int64, shape (k,)."""
        found: IntArray = (self.ids >= 0).sum(axis=0, dtype=np.int64)
        return found

    @property
    def mean(self) -> FloatArray:
        """The mean similarity to the first, second, ... k-th neighbour: float64, shape (k,).

        These are the rows of OpenEA's figure 8 ("the average similarities between entities of the
        source KG and their top-5 nearest neighbors of the target KG").
        """
        return np.array([_mean(column) for column in self._neighbour_columns()])

    @property
    def std(self) -> FloatArray:
        """The standard deviation over tasks, ddof 0, for each neighbour: float64, shape (k,)."""
        return np.array([_std(column) for column in self._neighbour_columns()])

    def quantiles(self, levels: Sequence[float] = LEVELS) -> FloatArray:
        """Return quantiles over tasks for each neighbour, with linear interpolation.

        Parameters
        ----------
        levels : sequence of float
            From 0 to 1.

        Returns
        -------
        ndarray of float64, shape (levels, k)

        Raises
        ------
        ValueError
            For a level out of range.

        Examples
        --------
        >>> left, right = np.eye(2), np.array([[1.0, 0.0], [3.0, 4.0]])
        >>> similarity_profile(left, right, k=1).quantiles([0, 0.5, 1])
        array([[0.8],
               [0.9],
               [1. ]])
        """
        given = np.asarray(levels, dtype=np.float64)
        if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
            raise InputValueError("levels", expected="numbers from 0 to 1", got=levels)
        return np.array([_quantiles(column, given) for column in self._neighbour_columns()]).T

    @property
    @default_arithmetic()
    def gaps(self) -> FloatArray:
        """The similarity of the first neighbour minus that of the second: float64, shape (tasks,).

        It is nan if a task has no second neighbour.
        """
        if self.k < 2:
            return np.full(self.tasks, np.nan)
        with np.errstate(invalid="ignore"):  # infinite similarities
            return np.asarray(np.subtract(*self.similarities[:, :2].T, dtype=np.float64))

    @property
    @default_arithmetic()
    def variances(self) -> FloatArray:
        """The variance over the neighbours of each task, ddof 0: float64, shape (tasks,).

        It is nan if a task has fewer than two neighbours.
        """
        exists = self.ids >= 0
        sizes = exists.sum(axis=1)
        sizes = np.where(sizes < 2, np.nan, sizes)
        with np.errstate(invalid="ignore", over="ignore"):
            wide = np.where(exists, self.similarities, 0).astype(np.float64)
            deviations = np.where(exists, wide - (wide.sum(axis=1) / sizes)[:, None], 0)
            return np.asarray((deviations * deviations).sum(axis=1) / sizes)

    @property
    def variance(self) -> float:
        """The mean of `variances`: how much the similarities of one entity differ.

        "A small similarity variance means that the five nearest neighbors are not discriminative
        enough to enable the source entity to identify its counterpart correctly" (OpenEA, section
        6.1.1, which has no formula; this one is ours).
        """
        return _mean(_without_nan(self.variances))

    @property
    def variance_of_means(self) -> float:
        """The variance of `mean`, ddof 0, which the colours of OpenEA's figure 8 show.

        By the law of total variance it is at most `variance` if all tasks have k neighbours.
        """
        means = _without_nan(self.mean)
        return _std(means) ** 2 if len(means) > 1 else float("nan")

    def records(self) -> Records:
        """Return the table: a row for each neighbour, and one for the gap between the first two."""
        rows = [
            [str(i + 1), len(column), *_summary(column)]
            for i, column in enumerate(self._neighbour_columns())
        ]
        gaps = self._existing_gaps()
        if self.k > 1:
            rows.append(["gap 1-2", len(gaps), *_summary(gaps)])
        return Records(["neighbour", "tasks", "mean", "std", *map(format_level, LEVELS)], rows)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, in the form that loggers take.

        Examples
        --------
        >>> profile = similarity_profile(np.eye(2), [[1.0, 0.0], [3.0, 4.0]], k=1)
        >>> profile.to_dict()["neighbours"][0]["mean"]
        0.9
        """
        columns, rows, _ = self.records()
        names = ["neighbour", *columns[1:4], *(f"quantile {level:g}" for level in LEVELS)]
        statistics = [dict(zip(names[1:], row[1:], strict=True)) for row in rows]
        result: dict[str, Any] = {
            "direction": self.direction,
            "similarity": self.measure,
            "tasks": self.tasks,
            "neighbours": statistics[: self.k],
            "variance": self.variance,
            "variance_of_means": self.variance_of_means,
        }
        return {**result, "gap": statistics[-1]} if self.k > 1 else result

    @default_arithmetic()
    def _neighbour_columns(self) -> list[FloatArray]:
        """Return for each neighbour the similarities of the tasks that have it."""
        return [
            column[ids >= 0].astype(np.float64)
            for column, ids in zip(self.similarities.T, self.ids.T, strict=True)
        ]

    def _existing_gaps(self) -> FloatArray:
        """Return the gaps of the tasks that have a second neighbour."""
        return self.gaps[self.ids[:, 1] >= 0] if self.k > 1 else np.zeros(0)


@public("truerank.alignment")
def similarity_profile(
    left: Any,
    right: Any,
    *,
    k: int = 5,
    direction: str = "left_to_right",
    queries: Any = None,
    candidates: Any = None,
    similarity: Similarity = "cosine",
    csls: Any = None,
    nan: NanRule = "raise",
    dtype: Any = None,
    threads: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> SimilarityProfile:
    """Compute how similar entities are to the k most similar ones of the other graph.

    "The ideal similarity distribution for entity alignment is to have a high top-1 similarity and a
    large similarity variance" (Sun et al., "A Benchmarking Study of Embedding-based Entity
    Alignment", section 6.1.1, with k = 5, cosine, and the source entities asking).

    Parameters
    ----------
    left, right : array_like, shapes (n1, d) and (n2, d), or paths
        The embeddings of both graphs, as `rank_embeddings` takes them. Or `left` is a matrix of
        similarities, (n1, n2), in memory or as the path of one .npy file, and `right` is None.
    k : int
        The number of neighbours, at least 1; all candidates if there are fewer.
    direction : {"left_to_right", "right_to_left"}
        From the graph of the queries to that of the candidates.
    queries : array_like of int, optional
        The query entities, as those of the test pairs; a set. Default: all entities of their graph
        that `candidates` lets in.
    candidates : (left_ids, right_ids), optional
        The entities that take part; None stands for all of a graph, or of both.
    similarity : str
        As in `rank_embeddings`; only for embeddings.
    csls : int or CSLS, optional
        The number of candidates in the means of CSLS, or means from `csls_means`.
    nan : {"raise", "omit"}
        "raise": a similarity that is NaN is an error. "omit": it is left out.
    dtype, threads
        As in `rank_embeddings`.
    progress : callable or bool, optional
        As in `infer`, in bytes of scores. True: a bar of tqdm or rich.

    Returns
    -------
    SimilarityProfile

    Raises
    ------
    TypeError, ValueError, OSError
        As `infer` does; for no query, no candidate, and, if `csls` is a number, queries that are
        not candidates.

    Notes
    -----
    Equal similarities go by the lower id. Memory grows with tasks times k.

    Examples
    --------
    >>> left, right = np.eye(2), np.array([[1.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> profile = similarity_profile(left, right, k=2)
    >>> profile.mean, profile.gaps
    (array([0.9, 0.7]), array([0.4, 0. ]))
    """
    scoring = ScoringOptions(similarity, csls, nan, dtype, threads)
    most_similar = find_most_similar(
        left, right, k, SearchScope(direction, queries, candidates), scoring, progress
    )
    return SimilarityProfile(
        most_similar.queries,
        most_similar.ids,
        most_similar.similarities,
        direction,
        most_similar.measure,
    )


def format_level(level: float) -> str:
    """Format the level of a quantile without a space, for a heading.

    Examples
    --------
    >>> format_level(0.05)
    '5%'
    """
    return percent(level).replace(" ", "")


def _without_nan(values: FloatArray) -> FloatArray:
    return values[~np.isnan(values)]


@default_arithmetic()
def _mean(values: FloatArray) -> float:
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values
        return float(values.mean()) if len(values) else float("nan")


@default_arithmetic()
def _std(values: FloatArray) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        return float(values.std()) if len(values) else float("nan")


@default_arithmetic()
def _quantiles(values: FloatArray, levels: FloatArray) -> FloatArray:
    if not len(values):
        return np.full(len(levels), np.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.quantile(values, levels))


def _summary(values: FloatArray) -> list[float]:
    return [_mean(values), _std(values), *_quantiles(values, np.array(LEVELS)).tolist()]
