"""Statistics of a data set: the sizes of its graphs, degrees of entities, and kinds of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.errors import InputTypeError
from ...inputs.naming import printable, public
from ...tables.table_writer import Records
from ...tables.tabular import PlainTable
from ...tasks.row_keys import distinct_rows
from ..analyses.buckets import EDGES, bucket_labels
from .graphs import AlignmentData, Graph, degrees

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray


_QUANTILES = {"lowest": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "highest": 1.0}


@dataclass(frozen=True)
class GraphStatistics:
    """The statistics of one graph of a data set.

    Attributes
    ----------
    entities : int
    relations : int
        The relations that occur in triples.
    triples, repeated, loops : int
        The triples as given; those that repeat an earlier one; and the distinct triples of an
        entity with itself.
    aligned, exclusive : int
        Entities in a pair, and entities in no pair, which have no known counterpart.
    isolated : int
        Entities without triples.
    one, several : int
        Entities with one counterpart, and with several.
    degree : dict of str to float
        Statistics over all entities, isolated ones included: "mean", "lowest", "q25", "median",
        "q75" and "highest"; nan without entities. `degrees` defines the degree; quantiles are
        interpolated linearly.
    buckets : dict of str to int
        The number of entities by degree: "0", "1-5", "6-10", "11-15", "16+", or by other edges.
    """

    entities: int
    relations: int
    triples: int
    repeated: int
    loops: int
    aligned: int
    exclusive: int
    isolated: int
    one: int
    several: int
    degree: dict[str, float]
    buckets: dict[str, int]


@public("truerank.alignment")
@dataclass(frozen=True, repr=False)
class DataStatistics(PlainTable):
    """The statistics of a data set; made by `describe`.

    Attributes
    ----------
    left, right : GraphStatistics
    pairs : int
        The number of distinct aligned pairs.
    kinds : dict of str to int
        How many of these are "1:1" (neither entity has another counterpart), "1:n" (the left entity
        has one), "n:1" (the right entity has one) and "m:n" (both have).
    splits : dict of str to int
        The number of pairs of each split.
    """

    left: GraphStatistics
    right: GraphStatistics
    pairs: int
    kinds: dict[str, int]
    splits: dict[str, int]

    @property
    def one_to_one(self) -> bool:
        """Whether every entity has at most one counterpart."""
        return self.kinds["1:1"] == self.pairs

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts and numbers."""
        return {**asdict(self), "one_to_one": self.one_to_one}

    def records(self) -> Records:
        """Return the table of both graphs: a row for each number, a column for each graph."""
        words = {
            "entities": "entities",
            "relations": "relations",
            "triples": "triples",
            "aligned": "aligned entities",
            "exclusive": "exclusive entities",
            "several": "of several counterparts",
            "isolated": "isolated entities",
        }
        both = (self.left, self.right)
        rows: list[list[object]] = [
            [said, *(getattr(graph, name) for graph in both)] for name, said in words.items()
        ]
        rows += [
            [f"degree, {name}", *(graph.degree[name] for graph in both)]
            for name in self.left.degree
        ]
        rows += [
            [f"entities of degree {name}", *(graph.buckets[name] for graph in both)]
            for name in self.left.buckets
        ]
        return Records(("", "left", "right"), rows)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.items() if count)
        splits = ", ".join(f"{name} {count:,}" for name, count in self.splits.items())
        pairs = f"{self.pairs:,} pairs" + f" ({kinds})" * bool(kinds)
        heading = printable(f"{pairs}{'; ' * bool(splits)}{splits}")
        return f"{heading}\n{super().__str__()}"

    def __repr__(self) -> str:
        sizes = f"{self.left.entities:,} and {self.right.entities:,} entities"
        return f"DataStatistics({sizes}, {self.pairs:,} pairs)"


@public("truerank.alignment")
def describe(data: AlignmentData, *, edges: Sequence[int] = EDGES) -> DataStatistics:
    """Compute the statistics of a data set.

    Parameters
    ----------
    data : AlignmentData
    edges : sequence of int
        The first degrees of buckets, ascending, from 1 on. Degree 0 has its own bucket.

    Returns
    -------
    DataStatistics
        To be printed, or converted by ``to_dict()``, ``to_markdown()``, ``to_latex()``,
        ``to_csv()``.

    Raises
    ------
    TypeError
        For anything but AlignmentData.
    ValueError
        For edges that do not ascend from 1 on.

    Examples
    --------
    >>> left = Graph([(0, 0, 1), (1, 0, 1)], 3)
    >>> right = Graph([(0, 0, 1)], 2)
    >>> found = describe(AlignmentData(left, right, [(0, 0), (1, 0)]), edges=[1, 2])
    >>> print(found)
    2 pairs (2 n:1)
                             left  right
    entities                  3        2
    relations                 1        1
    triples                   2        1
    aligned entities          2        1
    exclusive entities        1        1
    of several counterparts   0        1
    isolated entities         1        0
    degree, mean              1        1
    degree, lowest            0        1
    degree, q25               0.5      1
    degree, median            1        1
    degree, q75               1.5      1
    degree, highest           2        1
    entities of degree 0      1        0
    entities of degree 1      1        2
    entities of degree 2+     1        0
    >>> found.left.exclusive, found.one_to_one
    (1, False)
    """
    if not isinstance(data, AlignmentData):
        raise InputTypeError("data", expected="AlignmentData", got=type(data).__name__)
    pairs = distinct_rows(list(data.pairs.T))
    sides = list(zip((data.left, data.right), pairs, strict=True))
    counts = [np.bincount(ids, minlength=graph.size) for graph, ids in sides]
    left, right = (
        _count_graph(graph, count, edges) for (graph, _), count in zip(sides, counts, strict=True)
    )
    # whether the left and the right entity of each pair have other counterparts
    several = [count[ids] > 1 for count, (_, ids) in zip(counts, sides, strict=True)]
    counts_of_kinds = np.bincount(several[0] * 1 + several[1] * 2, minlength=4)
    kinds = dict(zip(("1:1", "1:n", "n:1", "m:n"), counts_of_kinds.tolist(), strict=True))
    splits = {name: len(some) for name, some in data.splits.items()}
    return DataStatistics(left, right, len(pairs[0]), kinds, splits)


def _count_graph(graph: Graph, counterparts: IntArray, edges: Sequence[int]) -> GraphStatistics:
    """Compute the statistics of a graph from the number of counterparts of each entity."""
    heads, relations, tails = distinct_rows(list(graph.triples.T))
    entity_degrees = degrees(graph.triples, graph.size)
    degree = {name: float("nan") for name in ("mean", *_QUANTILES)}
    if graph.size:
        points = np.quantile(entity_degrees, list(_QUANTILES.values()))
        degree = {
            "mean": float(entity_degrees.mean()),
            **dict(zip(_QUANTILES, points.tolist(), strict=True)),
        }
    labels = bucket_labels(entity_degrees, edges)
    names = labels.vocabulary or ()
    buckets = np.bincount(labels.codes, minlength=len(names)).tolist()
    aligned = int(np.count_nonzero(counterparts))
    several = int(np.count_nonzero(counterparts > 1))
    return GraphStatistics(
        entities=graph.size,
        relations=len(np.unique(relations)),
        triples=len(graph.triples),
        repeated=len(graph.triples) - len(heads),
        loops=int(np.count_nonzero(heads == tails)),
        aligned=aligned,
        exclusive=graph.size - aligned,
        isolated=int(np.count_nonzero(entity_degrees == 0)),
        one=aligned - several,
        several=several,
        degree=degree,
        buckets=dict(zip(names, buckets, strict=True)),
    )
