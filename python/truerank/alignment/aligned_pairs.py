"""Aligned pairs: splits in any form, read as ids and audited; and the sets of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..inputs.checks import choice
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..tasks.row_keys import distinct
from ..tasks.split_audit import SplitAudit
from ..tasks.split_columns import SplitReader, stack_splits
from ..tasks.text import RowForm
from ..tasks.vocabularies import Vocabulary, encode_columns, read_ids, selection_name
from .two_graphs import GRAPHS

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

    Candidates = tuple[IntArray, IntArray]

PAIR_FORM = RowForm("pair", ("left", "right"), (0, 1))
CANDIDATE_NAMES = ("all", "test", "unaligned")  # sets of candidates


class PairSplits(NamedTuple):
    """Some splits of an alignment as ids.

    Attributes
    ----------
    pairs : ndarray of int64, shape (n, 2)
        The pairs of all splits, one after the other; column by column in memory.
    sizes : dict of str to int
        The number of pairs of each split.
    graphs : (Vocabulary, Vocabulary)
        The entities of the left graph, and of the right one.
    """

    pairs: IntArray
    sizes: dict[str, int]
    graphs: tuple[Vocabulary, Vocabulary]

    def labels_of(self, row: int) -> tuple[str | int, ...]:
        """Return a pair by its labels, or ids if there are no labels."""
        ids = self.pairs[row].tolist()
        return tuple(graph.label_of(code) for graph, code in zip(self.graphs, ids, strict=True))


def read_pair_splits(splits: Mapping[str, tuple[str, Any]], entities: Sequence[Any]) -> PairSplits:
    """Read splits of an alignment.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: the title of the split in messages, and its pairs: an array of int or str of
        shape (m, 2), a list of tuples, or the path of a .npy file or of tab-separated text.
    entities : (left, right)
        The number of entities of each graph, or their labels in order or as a mapping to ids.

    Returns
    -------
    PairSplits

    Raises
    ------
    TypeError, ValueError, OSError
        For anything but pairs, ids out of range, unknown labels, and entities of another type.
    """
    columns_of_split = SplitReader(PAIR_FORM).read_all(splits)
    columns, graphs = [], []
    for j, (name, order) in enumerate(zip(GRAPHS, entities, strict=True)):
        if order is None:
            expected = "the number of entities, or their labels"
            raise InputTypeError(name, expected=expected, got="None")
        graph_columns = [split[j] for split in columns_of_split.values()]
        vocabulary, ids = encode_columns(name, f"{name} entity", order, graph_columns)
        graphs.append(vocabulary)
        columns.append(ids)
    sizes = {name: len(split[0].values) for name, split in columns_of_split.items()}
    return PairSplits(stack_splits(columns), sizes, (graphs[0], graphs[1]))


@public("truerank.alignment")
@dataclass(frozen=True)
class PairAudit(SplitAudit):
    """What is worth knowing about the pairs of a task before its numbers are believed.

    Attributes
    ----------
    split : str
        The name of the evaluated split.
    given, kept : int
        The number of its pairs that were given, and of those that are ranked.
    known : dict of str to int
        The number of pairs of each known split.
    duplicates : SplitFinding
        Pairs of the evaluated split that repeat an earlier one.
    leaks : dict of str to SplitFinding
        Pairs of the evaluated split that a known split also has, by split.
    leaked : int
        The number of pairs that leak; a pair may leak from several splits.
    rules : dict of str to {"keep", "drop"}
        What was done with "duplicates" and "leaks".
    """

    rows: ClassVar[str] = "pairs"


def as_candidates(value: Any, splits: PairSplits, test: IntArray) -> tuple[str, Candidates | None]:
    """Check the argument `candidates`, and list the candidates.

    Parameters
    ----------
    value : {"all", "test", "unaligned"} or (left_ids, right_ids)
        The candidates.
    splits : PairSplits
        The evaluated split, which comes first, and the known ones.
    test : ndarray of int64, shape (n, 2)
        The pairs that are ranked.

    Returns
    -------
    name : str
        "all", "test", "unaligned", or "selection of N x M (digest)".
    ids : (left ids, right ids), or None
        The candidates, ascending; None for all entities.

    Raises
    ------
    TypeError, ValueError
        For an unknown name, ids out of range, unknown labels, "unaligned" without known splits, and
        lists that lack an entity of the test.
    """
    in_test = distinct(test[:, 0]), distinct(test[:, 1])
    if isinstance(value, str):
        choice("candidates", value, CANDIDATE_NAMES)
        if value != "unaligned":
            return value, in_test if value == "test" else None
        if len(splits.sizes) < 2:
            problem = f'"{value}" leaves out what known pairs align, but there are no known splits'
            raise InputValueError("candidates", f"{problem}; give known=")
    elif not isinstance(value, (tuple, list)) or len(value) != len(GRAPHS):
        expected = f"one of {', '.join(CANDIDATE_NAMES)}, or (left_ids, right_ids)"
        raise InputTypeError("candidates", expected=expected, got=type(value).__name__)
    known, lists = splits.pairs[next(iter(splits.sizes.values())) :], []
    for j, (name, graph) in enumerate(zip(GRAPHS, splits.graphs, strict=True)):
        if isinstance(value, str):
            is_free = np.ones(graph.size, dtype=bool)
            is_free[known[:, j]] = False
            is_free[in_test[j]] = True  # entities of the test always stay
            lists.append(np.flatnonzero(is_free))
            continue
        title = f"candidates[{j}]"
        lists.append(read_ids(title, value[j], graph, f"no labels of {name} are given"))
        missing = np.setdiff1d(in_test[j], lists[j], assume_unique=True)
        if len(missing):
            counts, first = (
                f"{len(missing):,} of {len(in_test[j]):,}",
                graph.label_of(int(missing[0])),
            )
            problem = f"{counts} {name} entities of the test are missing, first {first!r}"
            raise InputValueError(title, problem)
    name = value if isinstance(value, str) else selection_name(*lists)
    return name, (lists[0], lists[1])
