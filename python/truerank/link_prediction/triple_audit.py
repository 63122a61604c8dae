"""The audit of triples: duplicates, leaks, and entities and relations unseen in training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.naming import public
from ..tasks.split_audit import (
    MAX_EXAMPLES,
    AuditResult,
    RowCase,
    SplitAudit,
    SplitFinding,
    audit_split,
    finding_to_dict,
)

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .triples import TripleSplits

TRAIN = "train"  # the name of the known split on which a model was trained


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

    Notes
    -----
    Two triples are equal if head, relation, tail and the qualifiers that are part of the queries
    are equal.
    """

    unseen: SplitFinding | None = None
    unseen_entities: SplitFinding | None = None
    unseen_relations: SplitFinding | None = None

    rows: ClassVar[str] = "triples"

    def __str__(self) -> str:
        if self.unseen is None:
            return super().__str__()
        where = f" in {TRAIN}" if TRAIN in self.known else ""
        lines = [
            super().__str__(),
            f"unseen{where}: {self.unseen}{self._format_rule('unseen', self.unseen.count)}",
            f"unseen entities: {self.unseen_entities}",
            f"unseen relations: {self.unseen_relations}",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and str."""
        findings = ("unseen", "unseen_entities", "unseen_relations")
        return super().to_dict() | {name: finding_to_dict(getattr(self, name)) for name in findings}


def audit_triples(
    splits: TripleSplits, keys: Sequence[int], rules: Mapping[str, str]
) -> AuditResult[TaskAudit]:
    """Find duplicates, leaks and unseen triples, and keep, drop or refuse them.

    Parameters
    ----------
    splits : TripleSplits
        The evaluated split, which comes first, and the known ones.
    keys : sequence of int
        The columns of qualifiers that are part of the queries.
    rules : mapping of str to {"keep", "drop", "raise"}
        For "duplicates", "leaks" and "unseen".

    Raises
    ------
    ValueError
        If a rule is "raise" and there are such triples, if no triple is left, and for a rule about
        unseen triples without known splits.
    """
    given, *known = splits.sizes.values()
    cases = {}
    new_entities = new_relations = None
    if known:
        new_entities, new_relations = _find_unseen(splits, given)
        test = splits.triples[:given]
        mask = np.isin(test[:, (0, 2)], new_entities).any(axis=1)
        mask |= np.isin(test[:, 1], new_relations)
        lacking_split = f"{TRAIN} has not" if TRAIN in splits.known else "no known split has"
        description = f"have an entity or a relation that {lacking_split}"
        cases["unseen"] = RowCase(mask, description, makes_note=False)
    elif rules["unseen"] != "keep":
        raise InputValueError(
            "unseen", expected='"keep" without known splits', got=f'"{rules["unseen"]}"'
        )
    return audit_split(
        TaskAudit,
        [splits.triples[:, column] for column in (0, 1, 2, *keys)],
        splits.sizes,
        rules,
        lambda i: splits.labels_of(splits.triples[i].tolist()),
        cases,
        unseen_entities=_id_finding(new_entities, splits.entities.label_of),
        unseen_relations=_id_finding(new_relations, splits.relations.label_of),
    )


def _find_unseen(splits: TripleSplits, given: int) -> tuple[IntArray, IntArray]:
    """Return the entities and relations that only the evaluated split has, against "train"."""
    known = known_triples(splits, TRAIN)
    found = []
    for columns in ([0, 2], [1]):
        ids = np.unique(splits.triples[:given, columns])
        found.append(ids[~np.isin(ids, known[:, columns])])
    return found[0], found[1]


def known_triples(splits: TripleSplits, name: str) -> IntArray:
    """Return the triples of one known split, or of all of them if none has that name."""
    ends = np.cumsum(list(splits.sizes.values()))
    place = splits.known.index(name) + 1 if name in splits.known else 0
    return splits.triples[ends[place - 1] : ends[place]] if place else splits.triples[ends[0] :]


def _id_finding(ids: IntArray | None, label_of: Callable[[int], str | int]) -> SplitFinding | None:
    if ids is None:
        return None
    return SplitFinding(len(ids), tuple(label_of(i) for i in ids[:MAX_EXAMPLES].tolist()))
