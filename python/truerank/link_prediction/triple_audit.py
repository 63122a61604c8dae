"""The audit of triples: repeats, leaks, and what no known split has."""

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
    from ..tasks.split_audit import Mask
    from .triples import TripleSplits

TRAIN = "train"  # the known split of this name is what a model was trained on


@public("truerank.link_prediction")
@dataclass(frozen=True)
class TaskAudit(SplitAudit):
    """What is worth knowing about the triples of a task before its numbers are believed.

    Attributes
    ----------
    split : str
        The name of the evaluated split.
    given, kept : int
        How many of its triples were given, and are ranked.
    known : dict of str to int
        How many triples each known split has.
    duplicates : SplitFinding
        Triples of the evaluated split that repeat an earlier one.
    leaks : dict of str to SplitFinding
        Triples of the evaluated split that a known split has too, by split.
    leaked : int
        How many triples leak at all; one may be in several splits.
    unseen : SplitFinding, or None
        Triples with an entity or a relation that is not in the known split named "train"; where
        none has that name, in no known split. None without known splits.
    unseen_entities, unseen_relations : SplitFinding, or None
        Those entities and relations.
    rules : dict of str to {"keep", "drop"}
        What was done with "duplicates", "leaks" and "unseen".

    Notes
    -----
    Two triples are the same where head, relation, tail and the qualifiers that are part of the
    queries are.
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
        """Give everything as plain dicts, lists, numbers and str."""
        findings = ("unseen", "unseen_entities", "unseen_relations")
        return super().to_dict() | {name: finding_to_dict(getattr(self, name)) for name in findings}


def audit_triples(
    splits: TripleSplits, keys: Sequence[int], rules: Mapping[str, str]
) -> AuditResult[TaskAudit]:
    """Look for repeats, leaks and what is unseen, and keep, drop or refuse it.

    Parameters
    ----------
    splits : TripleSplits
        The evaluated split, which comes first, and the known ones.
    keys : sequence of int
        The further columns that are part of the queries.
    rules : mapping of str to {"keep", "drop", "raise"}
        For "duplicates", "leaks" and "unseen".

    Raises
    ------
    ValueError
        Where a rule says so, where nothing is left, and for a rule about what is unseen without
        known splits.
    """
    given, *known = splits.sizes.values()
    cases = {}
    new_entities = new_relations = None
    if known:
        new_entities, new_relations = _find_unseen(splits, given)
        test = splits.triples[:given]
        mask = new_entities[test[:, 0]] | new_relations[test[:, 1]] | new_entities[test[:, 2]]
        seen_in = f"{TRAIN} has not" if TRAIN in splits.known else "no known split has"
        said = f"have an entity or a relation that {seen_in}"
        cases["unseen"] = RowCase(mask, said, makes_note=False)
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


def _find_unseen(splits: TripleSplits, given: int) -> tuple[Mask, Mask]:
    """Which entities and relations of the evaluated split "train", or else any known one, lacks."""
    seen = known_triples(splits, TRAIN)
    made = []
    for size, columns in ((splits.entities.size, (0, 2)), (splits.relations.size, (1,))):
        new = np.zeros(size, dtype=bool)
        for column in columns:
            new[splits.triples[:given, column]] = True
        for column in columns:
            new[seen[:, column]] = False
        made.append(new)
    return made[0], made[1]


def known_triples(splits: TripleSplits, name: str) -> IntArray:
    """Give the triples of one known split, or where none has that name, of all of them."""
    ends = np.cumsum(list(splits.sizes.values()))
    place = splits.known.index(name) + 1 if name in splits.known else 0
    return splits.triples[ends[place - 1] : ends[place]] if place else splits.triples[ends[0] :]


def _id_finding(mask: Mask | None, label_of: Callable[[int], str | int]) -> SplitFinding | None:
    if mask is None:
        return None
    ids = np.flatnonzero(mask)
    return SplitFinding(len(ids), tuple(label_of(i) for i in ids[:MAX_EXAMPLES].tolist()))
