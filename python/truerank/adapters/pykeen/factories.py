"""Triples of PyKEEN, in factories or as ids: converts them, and checks that ids agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pykeen.triples import CoreTriplesFactory, TriplesFactory

from ...inputs.errors import InputValueError
from ...tasks.split_columns import name_known_splits


def triple_ids(triples: Any) -> Any:
    """Return the ids of triples, which may be a factory or ids; tensors are moved off the GPU."""
    found = triples.mapped_triples if isinstance(triples, CoreTriplesFactory) else triples
    return found.cpu().numpy() if hasattr(found, "cpu") else found


def split_ids(known: Any) -> Any:
    """Return the ids of known splits, for every form that they can have."""
    if isinstance(known, Mapping):
        return {name: triple_ids(split) for name, split in known.items()}
    if isinstance(known, (list, tuple)):
        return [triple_ids(split) for split in known]
    return triple_ids(known)


def vocabularies(triples: Any, **sizes: int) -> list[Any]:
    """Return the labels of entities and relations if the triples have them, or else their numbers.

    Raises
    ------
    ValueError
        For a factory whose labels are those of other ids.
    """
    if not isinstance(triples, TriplesFactory):
        return list(sizes.values())
    found: list[Any] = []
    for (what, size), labels in zip(sizes.items(), _labels(triples).values(), strict=True):
        if labels.keys() != set(range(size)):
            raise InputValueError(
                "triples", expected=f"a factory with the model's {size} {what}", got=len(labels)
            )
        found.append([labels[i] for i in range(size)])
    return found


def check_same_ids(triples: Any, known: Any) -> None:
    """Raise an error if a known factory has other ids: a factory makes its own if it is given none.

    Raises
    ------
    ValueError
        It names the first id that has two labels.
    """
    if not isinstance(triples, TriplesFactory):
        return
    for name, split in name_known_splits(known).values():
        if not isinstance(split, TriplesFactory):
            continue
        theirs = _labels(split)
        for what, ours in _labels(triples).items():
            unlike = dict(ours.items() - theirs[what].items())
            for i in sorted(unlike.keys() & theirs[what].keys())[:1]:
                raise InputValueError(
                    name,
                    expected=f"the ids of triples, whose {what} {i} is {ours[i]!r}",
                    got=repr(theirs[what][i]),
                )


def _labels(triples: Any) -> dict[str, Mapping[int, str]]:
    """Return the labels of entities and relations of a factory, by id."""
    return {"entity": triples.entity_id_to_label, "relation": triples.relation_id_to_label}
