"""The audit of triples: duplicates, leaks, and entities and relations unseen in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..arrays.row_keys import are_among, distinct, without
from ..errors import InputValueError
from ..naming import public
from ..records.split_audit import Audited, SplitAudit, SplitFinding, audit_split

if TYPE_CHECKING:
    from ..records.split_audit import Mask
    from .triples import TripleSplits

TRAIN = "train"  # A model was trained on the known split of this name.


@public("truerank.link_prediction")
@dataclass(frozen=True)
class TaskAudit(SplitAudit):
    """What is worth knowing about the triples of a task before its numbers are believed.

    Attributes
    ----------
    split : str
        The name of the evaluated split.
    given, kept : int
        The number of its triples that were given, and of those that are ranked.
    known : dict of str to int
        The number of triples of each known split.
    duplicates : SplitFinding
        Triples of the evaluated split that repeat an earlier one.
    leaks : dict of str to SplitFinding
        Triples of the evaluated split that a known split also has, by split.
    leaked : int
        The number of triples that leak; a triple may leak from several splits.
    unseen : SplitFinding, or None
        Triples with an entity or a relation that is not in the known split named "train", or, if
        none has that name, in no known split. None without known splits.
    unseen_entities, unseen_relations : SplitFinding, or None
        Those entities and relations.
    rules : dict of str to {"keep", "drop"}
        What was done with "duplicates", "leaks" and "unseen".
    meeting : dict of str to int
        How many triples of each known split share a query of the task, with all its `keys`: others
        are known answers of none.
    headers : tuple of str
        A line about each file whose header was left out.
    left_out : tuple of str
        The columns of each split that were not read.
    entities, relations : int
        How many of them the triples of all splits have.
    heads, tails : int
        How many distinct entities are heads, and how many are tails.
    unfiltered : bool
        Whether no known answers are left out, since the task was given none (``known=None``).

    Notes
    -----
    Two triples are equal if head, relation, tail and the columns that are part of the queries are
    equal. As many relations as heads, or as tails, are a sign of columns in another order, and ids
    that go far beyond the entities that occur are a sign of labels that were read as ids.
    """

    unseen: SplitFinding | None = None
    unseen_entities: SplitFinding | None = None
    unseen_relations: SplitFinding | None = None
    unfiltered: bool = False
    entities: int = 0
    relations: int = 0
    heads: int = 0
    tails: int = 0

    rows: ClassVar[str] = "triples"

    def __str__(self) -> str:
        lines = [super().__str__()]
        names = f"{self.entities:,} entities, {self.relations:,} relations"
        lines.append(f"found: {names}, {self.heads:,} heads, {self.tails:,} tails")
        if self.unseen is not None:
            heading = f"unseen in {TRAIN}" if TRAIN in self.known else "unseen"
            rule = self._format_rule("unseen", self.unseen.count)
            lines.append(f"{heading}: {self.unseen}{rule}")
            lines.append(f"unseen entities: {self.unseen_entities}")
            lines.append(f"unseen relations: {self.unseen_relations}")
        if self.unfiltered:
            reason = "known= names no splits: known answers stay among the candidates"
            lines.append(f"unfiltered: {reason}")
        return "\n".join(lines)


def audit_triples(
    splits: TripleSplits, keys: Sequence[int], rules: Mapping[str, str], unfiltered: bool
) -> Audited[TaskAudit]:
    """Find duplicates, leaks and unseen triples, and keep, drop or refuse them.

    Parameters
    ----------
    splits : TripleSplits
        The evaluated split, which comes first, and the known ones.
    keys : sequence of int
        The further columns that are part of the queries.
    rules : mapping of str to {"keep", "drop", "raise"}
        For "duplicates", "leaks" and "unseen".
    unfiltered : bool
        Whether no known answers are left out.

    Raises
    ------
    ValueError
        If a rule is "raise" and there are such triples, if no triple is left, and for a rule about
        unseen triples without known splits.
    """
    cases = {}
    unseen: dict[str, SplitFinding] = {}
    if splits.known:
        unseen, has_unseen = _find_unseen(splits)
        lacking = f"{TRAIN} has not" if TRAIN in splits.known else "no known split has"
        problem = f"have an entity or a relation that {lacking}"
        cases["unseen"] = (has_unseen, problem)
    elif rules["unseen"] != "keep":
        got = f'"{rules["unseen"]}"'
        raise InputValueError("unseen", expected='"keep" without known splits', got=got)
    heads = distinct(splits.triples[:, 0])
    tails = distinct(splits.triples[:, 2])
    return audit_split(
        TaskAudit,
        [splits.triples[:, column] for column in (0, 1, 2, *keys)],
        splits.sizes,
        rules,
        splits.labels_of,
        cases,
        unfiltered=unfiltered,
        headers=splits.notes,
        left_out=splits.left_out,
        entities=len(distinct(np.append(heads, tails))),
        relations=len(distinct(splits.triples[:, 1])),
        heads=len(heads),
        tails=len(tails),
        **unseen,
    )


def _find_unseen(splits: TripleSplits) -> tuple[dict[str, SplitFinding], Mask]:
    """Find entities and relations that "train" lacks, or all known splits, and triples with one.

    The findings have the names of their fields in `TaskAudit`.
    """
    test = splits.triples[: splits.tested]
    trained = splits.triples[splits.rows_of(TRAIN)]
    findings = {}
    has_unseen = np.zeros(splits.tested, dtype=bool)
    for name, vocabulary, columns in (
        ("unseen_entities", splits.entities, (0, 2)),
        ("unseen_relations", splits.relations, (1,)),
    ):
        unseen = distinct(np.concatenate([test[:, column] for column in columns]))
        for column in columns:
            unseen = without(unseen, trained[:, column])
        findings[name] = SplitFinding.of(unseen.tolist(), vocabulary.label_of)
        for column in columns:
            has_unseen |= are_among(test[:, column], unseen)
    return findings, has_unseen
