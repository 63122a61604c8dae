"""The audit of triples: repeats, leaks, and what no known split has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .rows import look_up, row_keys

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from .triples import Splits

    Mask = npt.NDArray[np.bool_]

RULES = ("keep", "drop", "raise")
TRAIN = "train"  # the known split of this name is what a model was trained on
_SHOWN = 3  # examples


@dataclass(frozen=True)
class Finding:
    """How many there are of something, and the first few: labels, or ids where there are none.

    Attributes
    ----------
    count : int
    examples : tuple
        The first ones, each once: triples as tuples of labels (ids where there are none), of
        entities and relations the labels.
    """

    count: int
    examples: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if not self.count:
            return "none"
        shown = ", ".join(map(_said, self.examples))
        return f"{self.count:,} ({shown}{', ...' if self.count > len(self.examples) else ''})"


@dataclass(frozen=True)
class TaskAudit:
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

    split: str
    given: int
    kept: int
    known: dict[str, int]
    duplicates: Finding
    leaks: dict[str, Finding]
    leaked: int
    unseen: Finding | None
    unseen_entities: Finding | None
    unseen_relations: Finding | None
    rules: dict[str, str]

    def __str__(self) -> str:
        known = ", ".join(f"{name} {count:,}" for name, count in self.known.items())
        lines = [
            f"{self.split}: {self.given:,} triples, {self.kept:,} ranked; known: {known or 'none'}",
            f"duplicates: {self.duplicates}{self._done('duplicates', self.duplicates.count)}",
        ]
        leaks = "; ".join(f"in {name} {found}" for name, found in self.leaks.items() if found.count)
        lines.append(f"leaks: {leaks or 'none'}{self._done('leaks', self.leaked)}")
        if self.unseen is not None:
            where = f" in {TRAIN}" if TRAIN in self.known else ""
            lines += [
                f"unseen{where}: {self.unseen}{self._done('unseen', self.unseen.count)}",
                f"unseen entities: {self.unseen_entities}",
                f"unseen relations: {self.unseen_relations}",
            ]
        return "\n".join(lines)

    def _done(self, what: str, count: int) -> str:
        return f", {'dropped' if self.rules[what] == 'drop' else 'kept'}" if count else ""

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain dicts, lists, numbers and str."""
        findings = ("duplicates", "unseen", "unseen_entities", "unseen_relations")
        return {
            **{name: getattr(self, name) for name in ("split", "given", "kept", "leaked")},
            "known": dict(self.known),
            "rules": dict(self.rules),
            "leaks": {name: _plain(found) for name, found in self.leaks.items()},
            **{name: _plain(getattr(self, name)) for name in findings},
        }


class Examined(NamedTuple):
    """What an examination found: which triples stay, and the audit."""

    kept: IntArray
    audit: TaskAudit


def examine(
    splits: Splits,
    split: str,
    keys: Sequence[int],
    rules: Mapping[str, str],
    warn: Callable[[str], None],
) -> Examined:
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
    warn : callable
        Called with what a reader should know of.

    Raises
    ------
    ValueError
        Where a rule says so, where nothing is left, and for a rule about what is unseen without
        known splits.
    """
    known = {name: size for name, size in splits.sizes.items() if name != split}
    triples, given = splits.triples, splits.sizes[split]
    every = row_keys([triples[:, column] for column in (0, 1, 2, *keys)])
    ordered, first, which = np.unique(every[:given], return_index=True, return_inverse=True)
    repeats = first[which.reshape(-1)] != np.arange(given)
    in_split = {}
    start = given
    for name, size in known.items():
        _, hit = look_up(ordered, every[start : start + size])
        there = np.zeros(len(ordered), dtype=bool)
        there[hit] = True
        in_split[name] = there[which.reshape(-1)]
        start += size
    leaks = np.logical_or.reduce([*in_split.values(), np.zeros(given, dtype=bool)])
    masks: dict[str, Mask] = {"duplicates": repeats, "leaks": leaks}
    which = which.reshape(-1)
    new_entities, new_relations = _unseen(splits, given) if known else (None, None)
    if new_entities is not None and new_relations is not None:
        test = triples[:given]
        masks["unseen"] = (
            new_entities[test[:, 0]] | new_relations[test[:, 1]] | new_entities[test[:, 2]]
        )
    elif rules["unseen"] != "keep":
        raise ValueError(f'unseen: expected "keep" without known splits, got "{rules["unseen"]}"')

    def find(mask: Mask) -> Finding:
        where = np.flatnonzero(mask)
        some = where[np.sort(np.unique(which[where], return_index=True)[1])[:_SHOWN]]  # each once
        return Finding(
            int(np.count_nonzero(mask)), tuple(splits.show(triples[i].tolist()) for i in some)
        )

    dropped = np.zeros(given, dtype=bool)
    for what, mask in masks.items():
        if mask.any():
            seen_in = f"{TRAIN} has not" if TRAIN in known else "no known split has"
            _apply(what, rules[what], f"{split}: {find(mask)} triples", seen_in, warn)
            if rules[what] == "drop":
                dropped |= mask
    kept = np.flatnonzero(~dropped)
    if not len(kept):
        raise ValueError(f"{split}: nothing is left, all {given} triples were dropped")
    audit = TaskAudit(
        split,
        given,
        len(kept),
        known,
        find(repeats),
        {name: find(mask) for name, mask in in_split.items()},
        int(np.count_nonzero(leaks)),
        find(masks["unseen"]) if known else None,
        _find_ids(new_entities, splits.entities.show),
        _find_ids(new_relations, splits.relations.show),
        dict(rules),
    )
    return Examined(kept, audit)


_WORDS = {
    "duplicates": "repeat an earlier one",
    "leaks": "are in a known split, too",
    "unseen": "have an entity or a relation that {seen_in}",
}


def _apply(what: str, rule: str, found: str, seen_in: str, warn: Callable[[str], None]) -> None:
    said = f"{found} {_WORDS[what].format(seen_in=seen_in)}"
    if rule == "raise":
        raise ValueError(said)
    if rule == "keep" and what != "unseen":
        warn(f'{said}; they are ranked like the others ({what}="drop" leaves them out)')


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
    return Finding(len(ids), tuple(show(i) for i in ids[:_SHOWN].tolist()))


def _said(example: Any) -> str:
    return " ".join(map(str, example)) if isinstance(example, tuple) else str(example)


def _plain(found: Finding | None) -> dict[str, Any] | None:
    if found is None:
        return None
    listed = [list(each) if isinstance(each, tuple) else each for each in found.examples]
    return {"count": found.count, "examples": listed}
