"""Hubs and isolated entities: how often each entity is among the nearest of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...embeddings.vectors import CSLS
from ...inputs.arrays import ReadOnlyArrays, read_only
from ...inputs.checks import choice, positive_integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import printable, public
from ...inputs.progress_listeners import Progress, reporter
from ...tables.table_writer import Records
from ...tables.tabular import NamedRows, PlainTable
from ..inference.similarity_sources import ScoringOptions
from ..two_graphs import DIRECTIONS, check_two
from .most_similar import SearchScope, find_most_similar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...inputs.arrays import IntArray
    from ...inputs.words import NanRule, Similarity


# How often an entity is the nearest of another: the buckets of OpenEA's figure 9, by their starts.
COUNT_BUCKETS = {"0": 0, "1": 1, "2-4": 2, "5+": 5}


class KOccurrence(NamedTuple):
    """How unevenly entities occur among the k nearest.

    Attributes
    ----------
    k : int
        The number of nearest entities that are counted.
    mean : float
        How often an entity occurs on average.
    largest : int
        How often the greatest hub occurs.
    hub : int
        The id of the greatest hub; the lowest of several.
    isolated : float
        The share of entities that never occur.
    skewness : float
        The skewness of the k-occurrence; nan if all entities occur equally often.
    robin_hood : float
        The share of occurrences that would have to be redistributed for all entities to occur
        equally often; nan if none occurs.
    """

    k: int
    mean: float
    largest: int
    hub: int
    isolated: float
    skewness: float
    robin_hood: float


@public("truerank.alignment")
@dataclass(frozen=True, eq=False, repr=False)
class Hubness(ReadOnlyArrays, PlainTable):
    """How often entities are among the nearest; made by `hubness`.

    Attributes
    ----------
    targets : ndarray of int64, shape (m,)
        The candidates, ascending.
    tasks : int
        The number of queries.
    nearest : ndarray of int64, shape (m,)
        How often each candidate is the nearest of a query.
    occurrences : mapping of int to ndarray of int64, shape (m,)
        For each k, how often each candidate is among the k nearest of a query: N_k.
    direction : {"left_to_right", "right_to_left"}
        From the graph of the queries to that of the candidates.
    measure : str
        The similarity: "cosine", or "cosine, csls 10"; "scores" for a matrix.

    Examples
    --------
    >>> found = hubness([[0.0], [1.0], [2.0]], [[0.0], [2.1], [9.0]], similarity="l1", k=2)
    >>> found.shares
    {'0': 0.3333333333333333, '1': 0.3333333333333333, '2-4': 0.3333333333333333, '5+': 0.0}
    >>> found[2].robin_hood
    0.3333333333333333
    """

    targets: IntArray
    tasks: int
    nearest: IntArray
    occurrences: Mapping[int, IntArray]
    direction: str
    measure: str

    def __post_init__(self) -> None:
        for array in (self.targets, self.nearest, *self.occurrences.values()):
            read_only(array)

    def __repr__(self) -> str:
        return (
            f"Hubness({self.tasks:,} tasks, {len(self.targets):,} candidates, {self.direction}, "
            f"{self.measure}, {self.shares['0']:.4g} nobody's nearest)"
        )

    @property
    def counts(self) -> dict[str, int]:
        """The number of candidates that are the nearest of 0, 1, 2 to 4, and 5 or more queries.

        Examples
        --------
        >>> hubness(np.eye(3), np.eye(3)[:2]).counts
        {'0': 0, '1': 1, '2-4': 1, '5+': 0}
        """
        buckets = np.searchsorted(list(COUNT_BUCKETS.values()), self.nearest, side="right") - 1
        counts = np.bincount(buckets, minlength=len(COUNT_BUCKETS)).tolist()
        return dict(zip(COUNT_BUCKETS, counts, strict=True))

    @property
    def shares(self) -> dict[str, float]:
        """The same counts as shares of all candidates: OpenEA's figure 9."""
        return {name: count / len(self.targets) for name, count in self.counts.items()}

    def __getitem__(self, k: int) -> KOccurrence:
        """How unevenly candidates occur among the k nearest, for one of the k that were asked for.

        Raises
        ------
        KeyError
            For another k.
        """
        times = self.occurrences[k]
        return KOccurrence(
            k,
            float(times.sum() / len(times)),
            int(times.max()),
            int(self.targets[times.argmax()]),
            float(np.count_nonzero(times == 0) / len(times)),
            skewness_of(times),
            robin_hood_of(times),
        )

    def records(self) -> Records:
        """Return the table: a row for each k."""
        columns = ["k", *KOccurrence._fields[1:]]
        return Records(columns, [[str(k), *self[k][1:]] for k in self.occurrences])

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, in the form that loggers take.

        Examples
        --------
        >>> hubness(np.eye(3), np.eye(3)[:2]).to_dict()["nearest"]["0"]
        0.0
        """
        return {
            "direction": self.direction,
            "similarity": self.measure,
            "tasks": self.tasks,
            "candidates": len(self.targets),
            "nearest": self.shares,
            "occurrence": [self[k]._asdict() for k in self.occurrences],
        }


@public("truerank.alignment")
def hubness(
    left: Any,
    right: Any,
    *,
    k: int | Sequence[int] = (1, 10),
    direction: str = "left_to_right",
    queries: Any = None,
    candidates: Any = None,
    similarity: Similarity = "cosine",
    csls: Any = None,
    nan: NanRule = "raise",
    dtype: Any = None,
    threads: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Hubness:
    """Count how often each candidate is among the k nearest of the queries.

    Parameters
    ----------
    left, right : array_like, shapes (n1, d) and (n2, d), or paths
        The embeddings of both graphs, as `rank_embeddings` takes them. Or `left` is a matrix of
        similarities, (n1, n2), in memory or as the path of one .npy file, and `right` is None.
    k : int or sequence of int
        The numbers of nearest entities to count, at least 1 each. The nearest one is always
        counted.
    direction, queries, candidates, similarity, csls, nan, dtype, threads
        As in `similarity_profile`. Candidates that are no right answer count as well; use
        `candidates` to restrict them.
    progress : callable or bool, optional
        As in `infer`, in bytes of scores. True: a bar of tqdm or rich.

    Returns
    -------
    Hubness

    Raises
    ------
    TypeError, ValueError, OSError
        As `similarity_profile` does.

    Notes
    -----
    N_k(y) is the number of queries that have y among their k nearest; of equal similarities the
    lowest id is nearer. With m candidates, mean mu and standard deviation sigma of N_k over them
    (ddof 0), and T the sum of N_k:

    ===========  ===================================================================================
    shares       candidates that are the nearest of 0, 1, 2 to 4, 5 or more entities (OpenEA)
    isolated     candidates with N_k = 0; "anti-hubs" (Radovanovic et al.)
    skewness     the mean of (N_k - mu)^3, divided by sigma^3 (Radovanovic et al.)
    robin_hood   sum of |N_k - mu| / (2 T), the Hoover index (Feldbauer et al.)
    ===========  ===================================================================================

    OpenEA's proportions are over all target entities. With fewer queries than candidates, many
    counts are 0 by necessity.

    References
    ----------
    - Sun, Zhang, Hu, Wang, Chen, Akrami, Li: A benchmarking study of embedding-based entity
      alignment for knowledge graphs. PVLDB 2020. Section 6.1.2.
    - Radovanovic, Nanopoulos, Ivanovic: Hubs in space: popular nearest neighbors in
      high-dimensional data. JMLR 2010.
    - Feldbauer, Leodolter, Plant, Flexer: Fast approximate hubness reduction for large
      high-dimensional data. IEEE ICBK 2018.

    Examples
    --------
    >>> print(hubness([[0.0], [1.0], [2.0]], [[0.0], [2.1], [9.0]], similarity="l1"))
    k   mean  largest  hub  isolated  skewness  robin_hood
    1      1        2    0    0.3333         0      0.3333
    10     3        3    0    0            nan      0
    """
    sizes = check_k(k)
    scoring = ScoringOptions(similarity, csls, nan, dtype, threads)
    most_similar = find_most_similar(
        left, right, max(sizes), SearchScope(direction, queries, candidates), scoring, progress
    )

    def occurrences_within(size: int) -> IntArray:
        ids = most_similar.ids[:, :size]
        counts = np.bincount(ids[ids >= 0], minlength=int(most_similar.targets[-1]) + 1)
        return counts.astype(np.int64)[most_similar.targets]

    occurrences = {size: occurrences_within(size) for size in sizes}
    tasks = len(most_similar.queries)
    return Hubness(
        most_similar.targets,
        tasks,
        occurrences_within(1),
        occurrences,
        direction,
        most_similar.measure,
    )


def check_k(k: Any) -> tuple[int, ...]:
    """Check the numbers of nearest entities, and return them ascending and distinct.

    Examples
    --------
    >>> check_k([10, 1, 10])
    (1, 10)
    """
    several = isinstance(k, (list, tuple)) or (isinstance(k, np.ndarray) and k.ndim == 1)
    sizes = sorted({positive_integer("k", value) for value in (k if several else [k])})
    if not sizes:
        raise InputValueError("k", expected="at least one", got="none")
    return tuple(sizes)


def skewness_of(times: IntArray) -> float:
    """Return the population skewness of counts: the mean cube over the cubed deviation.

    Examples
    --------
    >>> skewness_of(np.array([0, 0, 0, 4]))
    1.1547005383792515
    >>> skewness_of(np.array([2, 2]))
    nan
    """
    if times.min() == times.max():
        return float("nan")
    deviations = times - times.mean()
    return float((deviations**3).mean() / (deviations**2).mean() ** 1.5)


def robin_hood_of(times: IntArray) -> float:
    """Return the Hoover index of counts: half of the sum of |x - mean|, over the sum of x.

    The result is exact up to one rounding.

    Examples
    --------
    >>> robin_hood_of(np.array([0, 0, 0, 4]))
    0.75
    """
    total, size = int(times.sum()), len(times)
    if not total:
        return float("nan")
    return int(np.abs(size * times - total).sum()) / (2 * size * total)


@public("truerank.alignment")
class HubnessTable(NamedRows[Hubness], PlainTable):
    """Several `Hubness` by name, side by side: directions, similarities or models.

    Parameters
    ----------
    rows : mapping of str to Hubness
        The rows, all with the same k.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        For no rows, and for different k.

    Examples
    --------
    >>> import numpy as np
    >>> two, three = (hubness(np.eye(3), np.eye(3)[:m], k=1) for m in (2, 3))
    >>> print(HubnessTable({"two": two, "three": three}))
           0    1  2-4  5+  isolated@1  skewness@1  robin_hood@1
    two    0  0.5  0.5   0           0           0        0.1667
    three  0  1    0     0           0         nan        0
    """

    def __init__(self, rows: Mapping[str, Hubness]) -> None:
        if not isinstance(rows, Mapping):
            raise InputTypeError("rows", expected="a mapping of names", got=type(rows).__name__)
        for name, row in rows.items():
            if not isinstance(row, Hubness):
                raise InputTypeError(
                    "rows", expected="Hubness", got=f"{type(row).__name__} for {name!r}"
                )
        if not rows:
            raise InputValueError("rows", expected="at least one Hubness", got="none")
        sizes = {tuple(row.occurrences) for row in rows.values()}
        if len(sizes) > 1:
            raise InputValueError(
                "rows", expected="one k for all", got=" and ".join(map(str, sizes))
            )
        super().__init__(rows)
        (self.k,) = sizes

    def __repr__(self) -> str:
        return printable(f"HubnessTable({', '.join(self)})")

    def records(self) -> Records:
        """Return the table: how often candidates are nearest, then three numbers for each k."""
        columns_of_k = ("isolated", "skewness", "robin_hood")
        columns = ["", *COUNT_BUCKETS, *(f"{name}@{k}" for k in self.k for name in columns_of_k)]
        rows: list[list[object]] = []
        for name, row in self._rows.items():
            numbers = (getattr(row[k], word) for k in self.k for word in columns_of_k)
            rows.append([name, *row.shares.values(), *numbers])
        return Records(columns, rows)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return all numbers by name."""
        return {name: row.to_dict() for name, row in self._rows.items()}


@public("truerank.alignment")
def compare_hubness(
    left: Any,
    right: Any,
    *,
    csls: int | CSLS = 10,
    k: int | Sequence[int] = (1, 10),
    directions: str | Sequence[str] = DIRECTIONS,
    queries: Any = None,
    candidates: Any = None,
    similarity: Similarity = "cosine",
    nan: NanRule = "raise",
    dtype: Any = None,
    threads: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> HubnessTable:
    """Compare hubness before and after CSLS, in both directions.

    Parameters
    ----------
    left, right, k, candidates, similarity, nan, dtype, threads
        As in `hubness`.
    csls : int or CSLS
        The number of neighbours in the means, or means from `csls_means`.
    directions : str or sequence of str
        "left_to_right", "right_to_left", or both.
    queries : (left_ids, right_ids), optional
        The queries from either graph.
    progress : callable or bool, optional
        Called with a `Progress` after each row of the table. True: a bar of tqdm or rich.

    Returns
    -------
    HubnessTable
        A row for each direction and similarity, as "left_to_right, cosine, csls 10".

    Raises
    ------
    TypeError, ValueError, OSError
        As `hubness` does.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> vectors = 0.3 + rng.standard_normal((2, 200, 40))
    >>> table = compare_hubness(*vectors)
    >>> list(table)[:2]
    ['left_to_right, cosine', 'left_to_right, cosine, csls 10']
    >>> [round(row[1].isolated, 2) for row in table.values()]
    [0.4, 0.3, 0.4, 0.34]
    """
    if isinstance(directions, str):
        directions = (directions,)
    checked = [choice("directions", direction, DIRECTIONS) for direction in directions]
    if not checked:
        raise InputValueError("directions", expected="at least one", got="none")
    queries_by_direction = dict(zip(DIRECTIONS, check_two("queries", queries), strict=True))
    options: dict[str, Any] = {"candidates": candidates, "similarity": similarity, "nan": nan}
    options |= {"dtype": dtype, "threads": threads, "k": k}
    report, rows = reporter(progress, 2 * len(checked), "rows"), dict[str, Hubness]()
    report(0)
    for direction in checked:
        for scaled in (None, csls):
            row = hubness(
                *(left, right),
                direction=direction,
                queries=queries_by_direction[direction],
                csls=scaled,
                **options,
            )
            rows[f"{direction}, {row.measure}"] = row
            report(len(rows))
    return HubnessTable(rows)
