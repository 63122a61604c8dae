"""Why an alignment errs: the most similar entities, hubs among them, and metrics by degree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from .. import _core
from ..inputs.arithmetic import default_arithmetic
from ..inputs.arrays import index_array
from ..inputs.checks import check_shape, choice, is_integer, positive_integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.rules import CountOptions, read_rules, with_options
from ..ranks.container import Ranks
from ..ranks.labels import Labels, join_labels
from ..reporting.reports import Report
from .inference.similarity_sources import open_source
from .two_graphs import DIRECTIONS, GRAPHS, as_ids, check_two

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..inputs.words import Similarity

    Flags = npt.NDArray[np.bool_]


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
@with_options(CountOptions)
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
    **options: Unpack[CountOptions],
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
    dtype, threads
        As in `rank_embeddings`.
    progress : callable or bool, optional
        As in `infer`, in bytes of scores. True: a bar of tqdm or rich.

    Returns
    -------
    MostSimilar

    Raises
    ------
    TypeError, ValueError, OSError
        As `infer` does; for no query, no candidate, and, if `csls` is a number, queries that are
        not candidates and so have no mean.

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
    rules = read_rules(options, CountOptions)
    ids_of_graphs = check_two("candidates", candidates)
    source = open_source(left, right, similarity, rules, 1 + is_integer(csls))
    source = source.restrict(*ids_of_graphs, csls)
    for graph, ids in zip(GRAPHS, (source.left_ids, source.right_ids), strict=True):
        if not len(ids):
            raise InputValueError("candidates", expected=f"at least one {graph} entity", got="none")
    source = source if direction == DIRECTIONS[0] else source.swapped()
    query_ids = source.left_ids if queries is None else as_ids("queries", queries, source.shape[0])
    if not len(query_ids):
        raise InputValueError("queries", expected="at least one entity that asks", got="none")
    unscaled = np.setdiff1d(query_ids, source.left_ids)
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


EDGES = (1, 6, 11, 16)

# The degree of a task, from the degrees of the left and the right entity of its pair.
_DEGREES: dict[str, Callable[[IntArray, IntArray, Flags], Any]] = {
    "sum": lambda left, right, forward: left + right,
    "mean": lambda left, right, forward: (left + right) / 2,
    "left": lambda left, right, forward: left,
    "right": lambda left, right, forward: right,
    "query": lambda left, right, forward: np.where(forward, left, right),
    "target": lambda left, right, forward: np.where(forward, right, left),
}


@public("truerank.alignment")
def by_degree(
    ranks: Ranks | Report,
    left_degrees: Any = None,
    right_degrees: Any = None,
    *,
    of: str | None = None,
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
        entities)`` counts it; by name if the tasks have names. One of the two may be left out if
        `of` does not need it.
    of : {"sum", "mean", "left", "right", "query", "target"}, optional
        The degree of a task: the sum or the mean over both entities of the pair, that of the left
        or of the right entity, that of the query or of the right answer. Default: "sum", or the
        graph whose degrees are given if there is only one.
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
    entities", hence the default. The script with their code that made the figure
    (run/statistics/degree_interval.py) takes half of that sum, and a bucket reaches up to the next
    edge, so that 5.5 is in the first one. ``of="mean"`` does the same; 0.5 is in the first bucket.

    Examples
    --------
    >>> side = ["left_to_right"] * 3 + ["right_to_left"] * 3
    >>> left, right = [0, 1, 2], [2, 1, 0]
    >>> ranks = Ranks([0, 3, 0, 1, 5, 0], [1] * 6, 9, side=side, queries=left + right,
    ...               targets=right + left)
    >>> by_degree(ranks, [1, 4, 20], [2, 0, 3]).group_values("hits@1")
    {'1-5': 0.25, '16+': 1.0}
    """
    plain_ranks = getattr(ranks, "ranks", None) if isinstance(ranks, Report) else ranks
    if not isinstance(plain_ranks, Ranks):
        got = "a Report without" if isinstance(ranks, Report) else type(ranks).__name__
        raise InputTypeError("ranks", expected="a Report with ranks, or Ranks", got=got)
    seed, weights = (ranks.seed, ranks.weights) if isinstance(ranks, Report) else (0, None)
    task_values = task_degrees(plain_ranks, left_degrees, right_degrees, of)
    labelled = plain_ranks.with_labels(degree=bucket_labels(task_values, edges))
    return Report(labelled, by="degree", seed=seed, weights=weights)


def task_degrees(
    ranks: Ranks, left_degrees: Any, right_degrees: Any, of: str | None
) -> IntArray | FloatArray:
    """Return the degree of each task; see `by_degree`.

    Examples
    --------
    >>> ranks = Ranks([0, 3], [1, 1], 9, side="left_to_right", queries=[0, 1], targets=[1, 0])
    >>> task_degrees(ranks, [1, 4], [2, 0], "mean")
    array([0.5, 3. ])
    """
    values = {"left": left_degrees, "right": right_degrees}
    there = [graph for graph, value in values.items() if value is not None]
    of = (there[0] if len(there) == 1 else "sum") if of is None else of
    choice("of", of, tuple(_DEGREES))
    columns = {graph: np.zeros(len(ranks), dtype=np.int64) for graph in GRAPHS}
    forward, *entities = pair_entities(ranks)
    for graph, labels in zip(GRAPHS, entities, strict=True):
        name = f"{graph}_degrees"
        if of in GRAPHS and of != graph:
            continue
        if values[graph] is None:
            raise InputValueError(name, expected=f'degrees, which of="{of}" needs', got="none")
        columns[graph] = _degrees_of(name, values[graph], labels)
    return np.asarray(_DEGREES[of](columns["left"], columns["right"], forward))


def bucket_labels(degrees: IntArray | FloatArray, edges: Sequence[int] = EDGES) -> Labels:
    """Label degrees by buckets.

    Parameters
    ----------
    degrees : ndarray of int64 or float64, shape (n,)
        The degrees, which are not negative.
    edges : sequence of int
        The first degrees of buckets; see `by_degree`.

    Examples
    --------
    >>> bucket_labels(np.array([0, 5, 6, 40]))
    Labels(4 labels: 0 1, 1-5 1, 6-10 1, 16+ 1)
    >>> bucket_labels(np.array([0, 1, 3, 9]), [2, 3])
    Labels(4 labels: 0 1, 1 1, 3+ 2)
    """
    checked = index_array("edges", edges)
    check_shape("edges", checked.shape, 1, "a 1-D array")
    starts: list[int] = checked.tolist()
    if not starts or starts[0] < 1 or (np.diff(checked) <= 0).any():
        raise InputValueError("edges", expected="ascending integers from 1 on", got=starts)
    starts = starts if starts[0] == 1 else [1, *starts]
    closed = [f"{a}-{b - 1}" if b - a > 1 else str(a) for a, b in pairwise(starts)]
    # only 0 means no triple: a mean of 0.5 belongs to the next bucket
    codes = np.searchsorted(starts, degrees, side="right")
    codes = np.where((codes == 0) & (degrees > 0), 1, codes)
    return Labels(codes.astype(np.int64), ("0", *closed, f"{starts[-1]}+"))


def _degrees_of(name: str, value: Any, labels: Labels) -> IntArray:
    """Return the degree of the entity of each task."""
    codes, names = labels.codes, labels.vocabulary
    if isinstance(value, Mapping) != (names is not None):
        form, what = "a mapping of names to degrees", "names"
        if names is None:
            form, what = "one degree for each id", "ids"
        expected = f"{form}, as the tasks have {what}"
        raise InputTypeError(name, expected=expected, got=type(value).__name__)
    if names is not None:
        present, codes = np.unique(codes, return_inverse=True)
        words = [names[code] for code in present.tolist()]
        missing = next((word for word in words if word not in value), None)
        if missing is not None:
            got = f"none for {missing!r}"
            raise InputValueError(name, expected="a degree for every entity", got=got)
        value = [value[word] for word in words]
    table = index_array(name, value)
    check_shape(name, table.shape, 1, "a 1-D array")
    if table.min(initial=0) < 0:
        raise InputValueError(name, expected="degrees from 0 on", got=table.min())
    wrong = _core.first_outside(codes, len(table))
    if wrong >= 0:
        got = f"{len(table)} and none for entity {codes[wrong]}"
        raise InputValueError(name, expected="a degree for every entity", got=got)
    return table[codes]


def pair_entities(ranks: Ranks) -> tuple[Flags, Labels, Labels]:
    """Return for each task whether its query is a left entity, and both entities of its pair.

    Parameters
    ----------
    ranks : Ranks
        The ranks, with labels for side, queries and targets, as an alignment's `Task` makes them.

    Returns
    -------
    forward : ndarray of bool
    left, right : Labels
        Names, or ids if there are no names.

    Raises
    ------
    ValueError
        For ranks without these labels, and sides that are not those of an alignment.

    Examples
    --------
    >>> side = ["left_to_right", "right_to_left"]
    >>> ranks = Ranks([0, 1], [1, 1], 10, side=side, queries=[3, 5], targets=[5, 3])
    >>> forward, left, right = pair_entities(ranks)
    >>> forward, left.codes, right.codes
    (array([ True, False]), array([3, 3]), array([5, 5]))
    """
    side = Labels([]) if ranks.side is None else ranks.side
    used = [name for name, tasks in side.counts().items() if tasks]
    if len(side) != len(ranks) or not set(used) <= set(DIRECTIONS):
        got = ", ".join(map(str, used)) or "none"
        raise InputValueError("ranks", expected=f"the sides {' and '.join(DIRECTIONS)}", got=got)
    if ranks.queries is None or ranks.targets is None:
        missing = "queries" if ranks.queries is None else "targets"
        got = f"none for {missing}; give them with ranks.with_labels({missing}=...)"
        raise InputValueError("ranks", expected="labels that name both entities of a task", got=got)
    forward = np.asarray(side.values == DIRECTIONS[0], dtype=bool)
    joined = join_labels("ranks: queries and targets", [ranks.queries, ranks.targets])
    queries, answers = joined.codes.reshape(2, -1)
    left, right = np.where(forward, (queries, answers), (answers, queries))
    names = joined.vocabulary
    return forward, Labels._trusted(left, names), Labels._trusted(right, names)
