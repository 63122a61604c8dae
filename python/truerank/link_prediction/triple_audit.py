"""The audit of triples: repeats, leaks, and what no known split has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..tasks.split_audit import (
    SHOWN,
    Case,
    Finding,
    SplitAudit,
    doubts_of,
    found_as_dict,
    sift,
    usual_cases,
)

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..tasks.split_audit import Mask
    from .triples import Splits

TRAIN = "train"  # the known split of this name is what a model was trained on


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
    duplicates : Finding
        Triples of the evaluated split that repeat an earlier one.
    leaks : dict of str to Finding
        Triples of the evaluated split that a known split has too, by split.
    leaked : int
        How many triples leak at all; one may be in several splits.
    unseen : Finding, or None
        Triples with an entity or a relation that is not in the known split named "train"; where
        none has that name, in no known split. None without known splits.
    unseen_entities, unseen_relations : Finding, or None
        Those entities and relations.
    rules : dict of str to {"keep", "drop"}
        What was done with "duplicates", "leaks" and "unseen".

    Notes
    -----
    Two triples are the same where head, relation, tail and the qualifiers that are part of the
    queries are.
    """

    unseen: Finding | None = None
    unseen_entities: Finding | None = None
    unseen_relations: Finding | None = None

    rows: ClassVar[str] = "triples"

    def __str__(self) -> str:
        if self.unseen is None:
            return super().__str__()
        where = f" in {TRAIN}" if TRAIN in self.known else ""
        lines = [
            super().__str__(),
            f"unseen{where}: {self.unseen}{self._done('unseen', self.unseen.count)}",
            f"unseen entities: {self.unseen_entities}",
            f"unseen relations: {self.unseen_relations}",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain dicts, lists, numbers and str."""
        findings = ("unseen", "unseen_entities", "unseen_relations")
        return super().to_dict() | {name: found_as_dict(getattr(self, name)) for name in findings}


class Examined(NamedTuple):
    """What an examination found: which triples stay, what must be said of them, and the audit."""

    kept: IntArray
    notes: tuple[str, ...]
    audit: TaskAudit


def examine(splits: Splits, split: str, keys: Sequence[int], rules: Mapping[str, str]) -> Examined:
    """Look for repeats, leaks and what is unseen, and keep, drop or refuse it.

    Parameters
    ----------
    splits : Splits
        The evaluated split, which comes first, and the known ones.
    split : str
        The name of the evaluated one.
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
    known = {name: size for name, size in splits.sizes.items() if name != split}
    triples, given = splits.triples, splits.sizes[split]
    doubts = doubts_of([triples[:, column] for column in (0, 1, 2, *keys)], splits.sizes)
    cases = usual_cases(doubts)
    new_entities, new_relations = _unseen(splits, given) if known else (None, None)
    if new_entities is not None and new_relations is not None:
        test = triples[:given]
        mask = new_entities[test[:, 0]] | new_relations[test[:, 1]] | new_entities[test[:, 2]]
        seen_in = f"{TRAIN} has not" if TRAIN in known else "no known split has"
        said = f"have an entity or a relation that {seen_in}"
        cases["unseen"] = Case(mask, said, noted=False)
    elif rules["unseen"] != "keep":
        raise InputValueError(
            "unseen", expected='"keep" without known splits', got='"' + rules["unseen"] + '"'
        )

    def find(mask: Mask) -> Finding:
        return doubts.find(mask, show)

    def show(i: int) -> tuple[str | int, ...]:
        return splits.show(triples[i].tolist())

    sifted = sift(split, TaskAudit.rows, cases, rules, find)
    audit = TaskAudit(
        split=split,
        given=given,
        kept=len(sifted.kept),
        known=known,
        rules=dict(rules),
        unseen=find(cases["unseen"].mask) if known else None,
        unseen_entities=_find_ids(new_entities, splits.entities.show),
        unseen_relations=_find_ids(new_relations, splits.relations.show),
        **doubts.findings(show),
    )
    return Examined(sifted.kept, sifted.notes, audit)


def _unseen(splits: Splits, given: int) -> tuple[Mask, Mask]:
    """Which entities and relations of the evaluated split "train", or any known one, has not."""
    seen = known_part(splits, TRAIN if TRAIN in splits.sizes else None)
    made = []
    for size, columns in ((splits.entities.size, (0, 2)), (splits.relations.size, (1,))):
        new = np.zeros(size, dtype=bool)
        for column in columns:
            new[splits.triples[:given, column]] = True
        for column in columns:
            new[seen[:, column]] = False
        made.append(new)
    return made[0], made[1]


def known_part(splits: Splits, name: str | None) -> IntArray:
    """Give the triples of one known split, or of all: those after the first, which is evaluated."""
    names, sizes = list(splits.sizes), list(splits.sizes.values())
    if name is None or name not in names[1:]:
        return splits.triples[sizes[0] :]
    place = names.index(name)
    start = sum(sizes[:place])
    return splits.triples[start : start + sizes[place]]


def _find_ids(mask: Mask | None, show: Callable[[int], str | int]) -> Finding | None:
    if mask is None:
        return None
    ids = np.flatnonzero(mask)
    return Finding(len(ids), tuple(show(i) for i in ids[:SHOWN].tolist()))
