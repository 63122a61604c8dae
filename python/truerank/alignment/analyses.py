"""Why an alignment errs: most similar entities and hubs, dangling ones, and metrics by degree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from .. import _core
from ..arrays.arithmetic import default_arithmetic
from ..arrays.row_keys import are_among, distinct, without
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import index_array, read_only
from ..inputs.checks import check_shape, choice, is_integer, positive_integer
from ..inputs.rules import SimilarityOptions, read_rules, with_options
from ..naming import public
from ..ranks.container import Ranks
from ..ranks.labels import Labels, labels_of_codes
from ..reporting.reports import Report
from ..tables import AsTable, Column, Table
from .aligned_pairs import DIRECTIONS, GRAPHS, as_ids, as_ids_of_both
from .matching.similarities import open_similarities

THRESHOLDS_SHOWN = 10

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..embeddings.scoring import TopK
    from ..inputs.words import Similarity


@public("truerank.alignment")
class MostSimilar(NamedTuple):
    """The most similar entities of each query, made by `most_similar`.

    Attributes
    ----------
    queries : ndarray of int64, shape (n,)
        The query entities, ascending.
    candidates : ndarray of int64, shape (m,)
        The candidates, ascending.
    ids : ndarray of int64, shape (n, k)
        The most similar candidates of each query, best first; of equal similarities the lower id
        is first. -1 if there are no more.
    similarities : ndarray of float32 or float64, shape (n, k)
        Their similarities; NaN if there are no more.
    """

    queries: IntArray
    candidates: IntArray
    ids: IntArray
    similarities: npt.NDArray[Any]


@public("truerank.alignment")
@with_options(SimilarityOptions)
@default_arithmetic()
def most_similar(
    left: Any,
    right: Any,
    *,
    k: int = 5,
    direction: str = "left_to_right",
    queries: Any = None,
    candidates: Any = None,
    similarity: Similarity = "cosine",
    csls: Any = None,
    **options: Unpack[SimilarityOptions],
) -> MostSimilar:
    """Find the k most similar entities of the other graph, without a matrix of all similarities.

    Parameters
    ----------
    left, right : array_like, shapes (n1, d) and (n2, d), or paths
        The embeddings of both graphs, as `rank_embeddings` takes them. Or `left` is a matrix of
        similarities, (n1, n2), in memory or as the path of one .npy file, and `right` is None.
    k : int
        How many to find, at least 1; all candidates if there are fewer.
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
    dtype, layout, threads
        As in `rank_embeddings`.
    progress : callable or bool, optional
        As in `infer`, in bytes of scores. True: a bar of tqdm.

    Returns
    -------
    MostSimilar

    Raises
    ------
    TypeError, ValueError, OSError
        As `infer` does; for no candidate, and, if `csls` is a number, for queries that are not
        candidates and so have no mean.

    Examples
    --------
    >>> left, right = np.eye(2), np.array([[1.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> found = most_similar(left, right, k=2)
    >>> found.ids
    array([[0, 1],
           [1, 2]])
    >>> found.similarities.mean(axis=0)
    array([0.9, 0.7])
    """
    choice("direction", direction, DIRECTIONS)
    most = positive_integer("k", k)
    rules = read_rules(options, SimilarityOptions)
    source = open_similarities(left, right, similarity, rules, 1 + is_integer(csls))
    among = as_ids_of_both(candidates, source.shape)
    for graph, ids in zip(GRAPHS, among, strict=True):
        if not len(ids):
            raise InputValueError("candidates", expected=f"at least one {graph} entity", got="none")
    source = source.restrict(*among, csls)
    if direction != DIRECTIONS[0]:
        source = source.swapped()
    query_ids = source.left_ids if queries is None else as_ids("queries", queries, source.shape[0])
    unscaled = without(query_ids, source.left_ids)
    if is_integer(csls) and len(unscaled):
        expected = f"entities of candidates, for csls={csls} has means of these alone"
        raise InputValueError("queries", expected=expected, got=unscaled[0])
    top = source.top_k(min(most, len(source.right_ids)), query_ids)
    source.progress.finish()
    return MostSimilar(query_ids, source.right_ids, *top)


@public("truerank.alignment")
def hubness(similar: MostSimilar, k: int | None = None) -> IntArray:
    """Count how often each candidate is among the k most similar of the queries.

    Parameters
    ----------
    similar : MostSimilar
        What `most_similar` found.
    k : int, optional
        How many of each query's most similar entities count. Default: all that were found.

    Returns
    -------
    ndarray of int64, shape (m,)
        The count of each of ``similar.candidates``, N_k.

    Raises
    ------
    TypeError, ValueError
        For anything else, and for k below 1 or more than were found.

    Notes
    -----
    Hubs are those with large counts, isolated entities ("anti-hubs") those with 0 (Radovanovic,
    Nanopoulos, Ivanovic: Hubs in space, 2010). With fewer queries than candidates, many counts are
    0 by necessity.

    Examples
    --------
    >>> times = hubness(most_similar([[0.0], [1.0], [2.0]], [[0.0], [2.1], [9.0]], similarity="l1"))
    >>> times
    array([3, 3, 3])
    >>> times = hubness(most_similar([[5.0, 1.0], [4.0, 3.0]], None), k=1)
    >>> times, float((times == 0).mean())
    (array([2, 0]), 0.5)
    """
    if not isinstance(similar, MostSimilar):
        raise InputTypeError("similar", expected="a MostSimilar", got=type(similar).__name__)
    width = similar.ids.shape[1]
    size = width if k is None else positive_integer("k", k)
    if size > width:
        raise InputValueError("k", expected=f"at most {width}, as many as were found", got=size)
    ids = similar.ids[:, :size]
    places = np.searchsorted(similar.candidates, ids[ids >= 0])
    return np.bincount(places, minlength=len(similar.candidates)).astype(np.int64)


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class DanglingCurve(AsTable):
    """How well each threshold predicts the entities without a counterpart.

    Arrays are read-only. All but the last two have one length, in ascending order of thresholds.

    Attributes
    ----------
    thresholds : ndarray of float32 or float64
        Entities with a value below a threshold are predicted to have no counterpart. Each threshold
        predicts a different set: they are the distinct values except the lowest, and the next
        number above the highest (none if that is +inf: entities at +inf are never predicted).
    precision, recall, f1 : ndarray of float64
        correct / said, correct / exclusive, and 2 correct / (said + exclusive).
    said, correct : ndarray of int64
        The number of entities that are predicted to have no counterpart, and of those among them
        that have none.
    exclusive, entities : int
        The number of entities without a counterpart, and of all entities considered.
    by, direction : str
        As passed to `dangling`.
    ids, values : ndarray, shape (entities,)
        The entities that were considered, ascending, and the value of each.
    """

    thresholds: npt.NDArray[Any]
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    said: IntArray
    correct: IntArray
    exclusive: int
    entities: int
    by: str
    direction: str
    ids: IntArray = field(repr=False)
    values: npt.NDArray[Any] = field(repr=False)

    def __len__(self) -> int:
        """The number of thresholds."""
        return len(self.thresholds)

    @property
    def best_f1(self) -> float:
        """The highest F1; 0 if there is no threshold."""
        return float(self.f1.max(initial=0.0))

    @property
    def best_threshold(self) -> float:
        """The lowest threshold with the highest F1; NaN if there is no threshold."""
        if not len(self):
            return float("nan")
        return float(self.thresholds[np.argmax(self.f1)])

    @property
    def average_precision(self) -> float:
        """The stepwise area under precision and recall: sum of (R_i - R_(i-1)) P_i, R_0 = 0."""
        return float((np.diff(self.recall, prepend=0.0) * self.precision).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the curve, in the form that loggers take.

        Examples
        --------
        >>> dangling([[0.9, 0.2], [0.3, 0.8], [0.4, 0.5]], None, [2]).to_dict()["best_threshold"]
        0.8
        """
        names = ["by", "direction", "exclusive", "entities"]
        names += ["best_f1", "best_threshold", "average_precision"]
        return {name: getattr(self, name) for name in names}

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return the curve as a Table, a row for each threshold.

        Its columns are threshold, precision, recall, f1, said and correct; the options are those of
        `Table.table`. Of many thresholds people read the ten around the best.

        Examples
        --------
        >>> print(dangling([[0.9, 0.2], [0.3, 0.8], [0.4, 0.5]], None, [2]))
        1 of 3 entities has no counterpart; best F1 1.000 at 0.800, average precision 1.000.
        <BLANKLINE>
        threshold  precision  recall     F1  said  correct
            0.800      1.000   1.000  1.000     1        1
            0.900      0.500   1.000  0.667     2        1
            0.900      0.333   1.000  0.500     3        1
        """
        columns = [Column(name, decimals=3) for name in ("threshold", "precision", "recall")]
        columns += [Column("f1", "F1", 3), Column("said"), Column("correct")]
        arrays = [self.thresholds, self.precision, self.recall, self.f1, self.said, self.correct]
        rows = zip(*(array.tolist() for array in arrays), strict=True)
        have = "has" if self.exclusive == 1 else "have"
        sentence = (
            f"{self.exclusive:,} of {self.entities:,} entities {have} no counterpart; "
            f"best F1 {self.best_f1:.3f} at {self.best_threshold:.3f}, "
            f"average precision {self.average_precision:.3f}."
        )
        best = int(np.argmax(self.f1)) if len(self) else 0
        first = max(0, min(best - THRESHOLDS_SHOWN // 2, len(self) - THRESHOLDS_SHOWN))
        shown = range(first, first + THRESHOLDS_SHOWN)
        table = Table(columns, rows, names=0, before=[sentence], shown=shown)
        return table.table(metrics, **options)


@public("truerank.alignment")
@with_options(SimilarityOptions)
@default_arithmetic()
def dangling(
    left: Any,
    right: Any,
    exclusive: Any,
    *,
    matched: Any = None,
    candidates: Any = None,
    by: str = "similarity",
    direction: str = "left_to_right",
    similarity: Similarity = "cosine",
    csls: Any = None,
    **options: Unpack[SimilarityOptions],
) -> DanglingCurve:
    """Predict entities without a counterpart by a threshold, and count how often that is right.

    Parameters
    ----------
    left, right, similarity, layout, csls, dtype, threads
        As in `truerank.alignment.infer`, which also takes a matrix, or its file, in place of
        embeddings. The means of csls are over the considered entities and the candidates.
    exclusive : array_like of int
        The query entities that have no counterpart; at least one.
    matched : array_like of int, optional
        The query entities that have one. Default: all others. Entities in neither are ignored.
    candidates : array_like of int, optional
        The entities of the other side among which counterparts are sought. Default: all.
    by : {"similarity", "margin"}
        The value that is compared with the threshold: the score of the most similar candidate, or
        its difference to the second, in the dtype of the scores (0 if both are equal, also if
        infinite).
    direction : {"left_to_right", "right_to_left"}
        The side of the queries comes first; `exclusive` and `matched` belong to it.
    nan : {"raise", "omit"}
        The rule for scores that are NaN: an error, or the candidate is left out. An entity without
        candidates has the value -inf, one with a single candidate the margin +inf.
    progress : callable or bool, optional
        As in `infer`, in bytes of scores. True: a bar of tqdm.

    Returns
    -------
    DanglingCurve

    Raises
    ------
    TypeError, ValueError, OSError
        As `infer`; for no exclusive entity, and for ids that are both exclusive and matched.

    Notes
    -----
    Exclusive entities are those that only one of the graphs has: "exclusive entities complicate the
    matching process and in real-life application, they are not easy to identify" (Berrendorf,
    Wacker, Faerman: A critical assessment of state-of-the-art in entity alignment, 2021). The
    positive class is "no counterpart". Entities of equal value are predicted together.

    ``infer(..., threshold=curve.best_threshold)`` leaves out the pairs of entities that are
    below it, where `by` is "similarity" and the method is "greedy".

    Examples
    --------
    >>> scores = [[0.9, 0.2], [0.3, 0.8], [0.4, 0.5], [0.6, 0.1]]
    >>> curve = dangling(scores, None, [2, 3])
    >>> curve.thresholds.tolist(), curve.precision.tolist(), curve.recall.tolist()
    ([0.6, 0.8, 0.9, 0.9000000000000001], [1.0, 1.0, 0.6666666666666666, 0.5], [0.5, 1.0, 1.0, 1.0])
    >>> curve.best_f1, curve.best_threshold, curve.average_precision
    (1.0, 0.8, 1.0)
    """
    choice("by", by, ("similarity", "margin"))
    choice("direction", direction, DIRECTIONS)
    rules = read_rules(options, SimilarityOptions)
    source = open_similarities(left, right, similarity, rules, 1 + is_integer(csls))
    queries_are_left = direction == DIRECTIONS[0]
    query_count, candidate_count = source.shape
    if not queries_are_left:
        candidate_count, query_count = source.shape
    exclusive_ids = as_ids("exclusive", exclusive, query_count)
    if exclusive is None or not len(exclusive_ids):
        raise InputValueError("exclusive", expected="at least one entity", got="none")
    matched_ids = without(np.arange(query_count), exclusive_ids)
    if matched is not None:
        matched_ids = as_ids("matched", matched, query_count)
        both = exclusive_ids[are_among(exclusive_ids, matched_ids)]
        if len(both):
            raise InputValueError("matched", expected="none that are exclusive", got=both[0])
    ids = distinct(np.append(exclusive_ids, matched_ids))
    candidate_ids = as_ids("candidates", candidates, candidate_count)
    if queries_are_left:
        source = source.restrict(ids, candidate_ids, csls)
    else:
        source = source.restrict(candidate_ids, ids, csls).swapped()
    best = source.top_k(2)
    source.progress.finish()
    values = _values_of(best, by)
    return DanglingCurve(
        **_count_curve(values, are_among(ids, exclusive_ids)),
        exclusive=len(exclusive_ids),
        entities=len(ids),
        by=by,
        direction=direction,
        ids=read_only(ids),
        values=read_only(values),
    )


def _values_of(best: TopK, by: str) -> npt.NDArray[Any]:
    """Return the best score of each query, or its difference to the second."""
    first, second = best.scores.T
    lacks_first, lacks_second = (best.ids < 0).T
    values: npt.NDArray[Any] = first.copy()
    if by == "margin":
        with np.errstate(invalid="ignore", over="ignore"):
            values -= second
        # Equal infinities have a difference of nan.
        values[first == second] = 0
        values[lacks_second] = np.inf
    values[lacks_first] = -np.inf
    return values


def _count_curve(values: npt.NDArray[Any], is_exclusive: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Count the predictions for every threshold with a different set."""
    distinct_values, place = np.unique(values, return_inverse=True)  # by numpy: floats
    next_number = np.nextafter(distinct_values[-1:], values.dtype.type(np.inf))
    thresholds = np.append(distinct_values[1:], next_number[next_number > distinct_values[-1:]])
    # If the last distinct value is +inf, no number is above it to be a threshold.
    said = _count_up_to(place, len(distinct_values))[: len(thresholds)]
    correct = _count_up_to(place[is_exclusive], len(distinct_values))[: len(thresholds)]
    exclusive = is_exclusive.sum()
    return {
        "thresholds": read_only(thresholds),
        "said": read_only(said),
        "correct": read_only(correct),
        "precision": read_only(correct / said),
        "recall": read_only(correct / exclusive),
        "f1": read_only(2 * correct / (said + exclusive)),
    }


def _count_up_to(places: IntArray, size: int) -> IntArray:
    """Count how many places are 0, how many up to 1, and so on, below a size."""
    return np.cumsum(np.bincount(places, minlength=size)).astype(np.int64)


EDGES = (1, 6, 11, 16)


@public("truerank.alignment")
def by_degree(
    ranks: Ranks | Report,
    left_degrees: Any = None,
    right_degrees: Any = None,
    *,
    edges: Sequence[int] = EDGES,
) -> Report:
    """Report metrics by buckets of degrees: ``by_degree(report, left, right).groups["1-5"]``.

    Parameters
    ----------
    ranks : Ranks or Report
        The ranks of an alignment, in one direction or both. A Report passes on its seed and
        weights.
    left_degrees, right_degrees : array_like of int, or mapping of name to int
        The degree of each entity of the left and of the right graph, as ``degrees(triples,
        entities)`` counts it; by name if the tasks have names. The degree of a task is the sum over
        both entities of its pair, or that of one entity if only its graph's degrees are passed.
    edges : sequence of int
        The first degrees of buckets, ascending, from 1 on. Degree 0 has its own bucket, and so do
        the degrees below the first edge.

    Returns
    -------
    Report
        With a group for each bucket with tasks, in order: "0", "1-5", "6-10", "11-15", "16+". Its
        ranks have the bucket as the label "degree".

    Raises
    ------
    TypeError
        For degrees and edges that are no integers, and for degrees by id if tasks have names, or by
        name if they have ids.
    ValueError
        For ranks without labels of sides, queries and targets, an entity without a degree, negative
        degrees, and edges that do not ascend.

    Notes
    -----
    OpenEA (Sun et al., "A Benchmarking Study of Embedding-based Entity Alignment", section 5.2):
    "The degree of an alignment is defined as the sum of relation triples for the two involved
    entities". The script with their code that made the figure (run/statistics/degree_interval.py)
    takes half of that sum; ``edges=(12, 22, 32)`` makes the same buckets of the whole sum.

    Examples
    --------
    >>> side = ["left_to_right"] * 3 + ["right_to_left"] * 3
    >>> left, right = [0, 1, 2], [2, 1, 0]
    >>> ranks = Ranks([0, 3, 0, 1, 5, 0], [1] * 6, 9, side=side, queries=left + right,
    ...               targets=right + left)
    >>> by_degree(ranks, [1, 4, 20], [2, 0, 3]).group_values("hits@1")
    {'1-5': 0.25, '16+': 1.0}
    """
    plain_ranks: Any = ranks
    seed = 0
    weights = None
    got = type(ranks).__name__
    if isinstance(ranks, Report):
        got = "a Report without"
        if hasattr(ranks, "ranks"):  # A Report from JSON has none.
            plain_ranks = ranks.ranks
            seed = ranks.seed
            weights = ranks.weights
    if not isinstance(plain_ranks, Ranks):
        raise InputTypeError("ranks", expected="a Report with ranks, or Ranks", got=got)
    if left_degrees is None and right_degrees is None:
        raise InputTypeError("left_degrees", expected="degrees of a graph", got="None")
    left_entities, right_entities = _pair_entities(plain_ranks)
    task_degrees = np.zeros(len(plain_ranks), np.int64)
    if left_degrees is not None:
        task_degrees += _degrees_of("left_degrees", left_degrees, left_entities)
    if right_degrees is not None:
        task_degrees += _degrees_of("right_degrees", right_degrees, right_entities)
    labelled = plain_ranks.with_labels(degree=bucket_labels(task_degrees, edges))
    return Report(labelled, by="degree", seed=seed, weights=weights)


def bucket_labels(degrees: IntArray, edges: Sequence[int] = EDGES) -> Labels:
    """Label degrees, none of them negative, by buckets with these first degrees; see `by_degree`.

    Examples
    --------
    >>> bucket_labels(np.array([0, 5, 6, 40]))
    Labels(4 labels: 0 1, 1-5 1, 6-10 1, 16+ 1)
    >>> bucket_labels(np.array([0, 1, 3, 9]), [2, 3])
    Labels(4 labels: 0 1, 1 1, 3+ 2)
    """
    checked = index_array("edges", edges)
    starts: Any = checked.tolist()
    if checked.ndim != 1 or not starts or starts[0] < 1 or (np.diff(checked) <= 0).any():
        raise InputValueError("edges", expected="ascending integers from 1 on", got=starts)
    if starts[0] > 1:
        starts.insert(0, 1)
    names = ["0"]
    for first, following in pairwise(starts):
        name = f"{first}-{following - 1}" if following - first > 1 else str(first)
        names.append(name)
    names.append(f"{starts[-1]}+")
    codes = np.searchsorted(starts, degrees, side="right").astype(np.int64)
    return labels_of_codes(codes, tuple(names))


def _degrees_of(name: str, value: Any, entities: npt.NDArray[Any]) -> IntArray:
    """Return the degree of the entity of each task."""
    has_names = entities.dtype.kind != "i"
    if isinstance(value, Mapping) != has_names:
        expected = "one degree for each id, as the tasks have ids"
        if has_names:
            expected = "a mapping of names to degrees, as the tasks have names"
        raise InputTypeError(name, expected=expected, got=type(value).__name__)
    if has_names:
        names, entities = np.unique(entities, return_inverse=True)  # by numpy: words
        missing = next((word for word in names.tolist() if word not in value), None)
        if missing is not None:
            got = f"none for {missing!r}"
            raise InputValueError(name, expected="a degree for every entity", got=got)
        value = [value[word] for word in names.tolist()]
    table = index_array(name, value)
    check_shape(name, table.shape, 1, "a 1-D array")
    if table.min(initial=0) < 0:
        raise InputValueError(name, expected="degrees from 0 on", got=table.min())
    wrong = _core.first_outside(entities, len(table))
    if wrong >= 0:
        got = f"{len(table)} and none for entity {entities[wrong]}"
        raise InputValueError(name, expected="a degree for every entity", got=got)
    degrees: IntArray = table[entities]
    return degrees


def _pair_entities(ranks: Ranks) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the left and the right entity of each task: names, or ids if there are none."""
    side = Labels([]) if ranks.side is None else ranks.side
    used = [name for name, tasks in side.counts().items() if tasks]
    if len(side) != len(ranks) or not set(used) <= set(DIRECTIONS):
        got = ", ".join(map(str, used)) or "none"
        raise InputValueError("ranks", expected=f"the sides {' and '.join(DIRECTIONS)}", got=got)
    if ranks.queries is None or ranks.targets is None:
        missing = "queries" if ranks.queries is None else "targets"
        got = f"none for {missing}; give them with ranks.with_labels({missing}=...)"
        raise InputValueError("ranks", expected="labels that name both entities of a task", got=got)
    queries_are_left = side == DIRECTIONS[0]
    queries = ranks.queries.values
    targets = ranks.targets.values
    left = np.where(queries_are_left, queries, targets)
    return left, np.where(queries_are_left, targets, queries)
