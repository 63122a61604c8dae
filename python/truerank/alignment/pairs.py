"""Pairs: splits of an alignment in any of their forms, read into ids of the two graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..inputs.errors import InputTypeError
from ..tasks.forms import Form
from ..tasks.split_audit import SplitAudit, doubts_of, sift, usual_cases
from ..tasks.split_columns import read_columns, stacked
from ..tasks.vocabularies import Vocabulary, settle
from .ids import GRAPHS

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

PAIRS = Form("pair", ("left", "right"), (0, 1))


class PairSplits(NamedTuple):
    """Some splits of an alignment as ids.

    Attributes
    ----------
    pairs : ndarray of int64, shape (n, 2)
        Of all splits, one after the other; column by column in memory, as they are read.
    sizes : dict of str to int
        How many pairs each split has.
    graphs : (Vocabulary, Vocabulary)
        The entities of the left graph, and of the right one.
    """

    pairs: IntArray
    sizes: dict[str, int]
    graphs: tuple[Vocabulary, Vocabulary]

    def show(self, row: int) -> tuple[str | int, ...]:
        """Give a pair by its labels, where there are any."""
        ids = self.pairs[row].tolist()
        return tuple(graph.show(code) for graph, code in zip(self.graphs, ids, strict=True))


def read_pair_splits(splits: Mapping[str, tuple[str, Any]], entities: Sequence[Any]) -> PairSplits:
    """Read splits of an alignment.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: what to call it in messages, and its pairs: an array of int or str of shape (m, 2),
        a list of tuples, or the path of a .npy file or of tab-separated text.
    entities : (left, right)
        How many entities each graph has, or their labels, in their order or as a mapping to ids.

    Returns
    -------
    PairSplits

    Raises
    ------
    TypeError, ValueError, OSError
        For pairs that are none, ids out of range, unknown labels, and entities that are neither.
    """
    for name, given in zip(GRAPHS, entities, strict=True):
        if given is None:
            raise InputTypeError(
                name, expected="the number of entities, or their labels", got="None"
            )
    read = read_columns(splits, PAIRS)
    columns, graphs = [], []
    for j, (name, given) in enumerate(zip(GRAPHS, entities, strict=True)):
        of_graph = [split[j] for split in read.values()]
        vocabulary, ids = settle(name, f"{name} entity", given, of_graph)
        graphs.append(vocabulary)
        columns.append(ids)
    sizes = {name: len(split[0].values) for name, split in read.items()}
    return PairSplits(stacked(columns), sizes, (graphs[0], graphs[1]))


@dataclass(frozen=True)
class PairAudit(SplitAudit):
    """What is worth knowing about the pairs of a task before its numbers are believed.

    Attributes
    ----------
    split : str
        The name of the evaluated split.
    given, kept : int
        How many of its pairs were given, and are ranked.
    known : dict of str to int
        How many pairs each known split has.
    duplicates : Finding
        Pairs of the evaluated split that repeat an earlier one.
    leaks : dict of str to Finding
        Pairs of the evaluated split that a known split has too, by split.
    leaked : int
        How many pairs leak at all; one may be in several splits.
    rules : dict of str to {"keep", "drop"}
        What was done with "duplicates" and "leaks".
    """

    rows: ClassVar[str] = "pairs"


class Examined(NamedTuple):
    """What an examination found: which pairs stay, what must be said of them, and the audit."""

    kept: IntArray
    notes: tuple[str, ...]
    audit: PairAudit


def examine(splits: PairSplits, rules: Mapping[str, str]) -> Examined:
    """Look for repeats and leaks, and keep, drop or refuse them.

    Parameters
    ----------
    splits : PairSplits
        The evaluated split, which comes first, and the known ones.
    rules : mapping of str to {"keep", "drop", "raise"}
        For "duplicates" and "leaks".

    Raises
    ------
    ValueError
        Where a rule says so, and where nothing is left.
    """
    (split, given), *known = splits.sizes.items()
    doubts = doubts_of([splits.pairs[:, 0], splits.pairs[:, 1]], splits.sizes)
    sifted = sift(
        *(split, PairAudit.rows, usual_cases(doubts), rules),
        lambda mask: doubts.find(mask, splits.show),
    )
    audit = PairAudit(
        split=split,
        given=given,
        kept=len(sifted.kept),
        known=dict(known),
        rules=dict(rules),
        **doubts.findings(splits.show),
    )
    return Examined(sifted.kept, sifted.notes, audit)
