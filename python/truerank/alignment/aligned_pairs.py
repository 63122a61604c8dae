"""Aligned pairs: splits in any form, read as ids and audited; and the sets of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..tasks.row_keys import distinct
from ..tasks.split_audit import Audited, SplitAudit, audit_split
from ..tasks.split_columns import SplitReader, stack_splits
from ..tasks.text import RowForm
from ..tasks.vocabularies import Vocabulary, encode_columns, read_ids, selection_name
from .two_graphs import GRAPHS

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


PAIR_FORM = RowForm("pair", ("left", "right"), (0, 1))
CANDIDATE_NAMES = ("all", "test", "unaligned")  # sets of candidates
_EXPECTED = f"one of {', '.join(CANDIDATE_NAMES)}, or (left_ids, right_ids)"


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
    for name, order in zip(GRAPHS, entities, strict=True):
        if order is None:
            raise InputTypeError(
                name, expected="the number of entities, or their labels", got="None"
            )
    columns_of_split = SplitReader(PAIR_FORM).read_all(splits)
    columns, graphs = [], []
    for j, (name, order) in enumerate(zip(GRAPHS, entities, strict=True)):
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


def audit_pairs(splits: PairSplits, rules: Mapping[str, str]) -> Audited[PairAudit]:
    """Find duplicates and leaks, and keep, drop or refuse them, as `audit_split` does."""
    columns = [splits.pairs[:, 0], splits.pairs[:, 1]]
    return audit_split(PairAudit, columns, splits.sizes, rules, splits.labels_of)


class GraphCandidates(NamedTuple):
    """A candidate set of both graphs, with its name in the protocol.

    Attributes
    ----------
    name : str
        "all", "test", "unaligned", or "selection of N x M (digest)".
    ids : (left ids, right ids), or None
        The candidates, ascending; None for all entities.
    """

    name: str
    ids: tuple[IntArray, IntArray] | None = None


def as_candidates(value: Any, splits: PairSplits, test: IntArray) -> GraphCandidates:
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
    Candidates

    Raises
    ------
    TypeError, ValueError
        For an unknown name, ids out of range, unknown labels, "unaligned" without known splits, and
        lists that lack an entity of the test.
    """
    if not isinstance(value, str):
        return _read_candidate_lists(value, splits, test)
    if value not in CANDIDATE_NAMES:
        raise InputValueError("candidates", expected=_EXPECTED, got=repr(value))
    if value == "unaligned" and len(splits.sizes) < 2:
        problem = '"unaligned" leaves out what known pairs align, but there are no known splits'
        raise InputValueError("candidates", f"{problem}; give known=")
    if value == "all":
        return GraphCandidates(value)
    left, right = distinct(test[:, 0]), distinct(test[:, 1])
    if value == "test":
        return GraphCandidates(value, (left, right))
    known = splits.pairs[next(iter(splits.sizes.values())) :]
    parts = []
    for j, (graph, in_test) in enumerate(zip(splits.graphs, (left, right), strict=True)):
        is_free = np.ones(graph.size, dtype=bool)
        is_free[known[:, j]] = False
        is_free[in_test] = True  # entities of the test always stay
        parts.append(np.flatnonzero(is_free))
    return GraphCandidates(value, (parts[0], parts[1]))


def _read_candidate_lists(value: Any, splits: PairSplits, test: IntArray) -> GraphCandidates:
    """Read the lists of both graphs, which must have all entities of the test."""
    if not isinstance(value, (tuple, list)):
        raise InputTypeError("candidates", expected=_EXPECTED, got=type(value).__name__)
    if len(value) != len(GRAPHS):
        raise InputValueError("candidates", expected=_EXPECTED, got=f"{len(value)} members")
    lists = []
    for j, (name, graph) in enumerate(zip(GRAPHS, splits.graphs, strict=True)):
        title, in_test = f"candidates[{j}]", distinct(test[:, j])
        ids = read_ids(title, value[j], graph, f"no labels of {name} are given")
        missing = np.setdiff1d(in_test, ids, assume_unique=True)
        if len(missing):
            problem = (
                f"{len(missing):,} of {len(in_test):,} {name} entities of the test are not among "
                f"the candidates, first {graph.label_of(int(missing[0]))!r}"
            )
            raise InputValueError(title, problem)
        lists.append(ids)
    return GraphCandidates(selection_name(*lists), (lists[0], lists[1]))
