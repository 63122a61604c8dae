"""Saved ranks: the format of their files, which saved counters and checkpoints share.

A file is what `numpy.savez` writes: a zip archive of uncompressed `.npy` members, each with its
CRC-32, without pickles. The member `truerank` is its header: a JSON object as text in uint8, whose
`kind` and `format` say what the file holds. It is written whole or not at all.

The header of saved ranks (kind "truerank.ranks", format 2) has

- `protocol`: an object of the objects `comparable` and `provenance`, with the fields of `Protocol`;
- `labels`: for each name of labels its vocabulary, a list of str, or null where labels are ids;
- `members`: the names of the other members, of which none may be missing;
- `origins`: for each task that the units are rows of, the fields of `Origin` as a list.

The members are

========================  =================  =====================================================
member                    dtype and shape    meaning
========================  =================  =====================================================
above, tied, candidates   int64, (n,)        the counts; 0 candidates: nobody said how many
weights                   float64, (n,)      optional
listed, masked            bool, (n,)         optional
audit                     int64, (5, n)      optional; the counts of `Audit`, in their order
gains                     float64, (n,)      optional, of retrieval, as `Ranks` has it
answers, as_good,         int64, (n,)        likewise
origin, without_answers,
without_answers_by_group
lengths                   int64, (n,)        optional, of lists, as `Ranks` has it: from -1 on
labels.<name>             int64, (n,)        the codes of each labels that the header names
========================  =================  =====================================================

Once a version is released, semantic versioning covers this format: every later version reads it.
Provenance fields that a reader does not know are ignored. A comparable field and a member that it
does not know are refused, because it could not tell ranks apart that differ in them, and so is a
member that is compressed: what is read takes no more memory than its file has bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..arrays.saved_files import checked_fields, open_archive
from ..errors import InputValueError
from ..inputs.array_likes import check_range, checked_weights
from ..naming import public
from .container import COUNTS, KIND, Ranks, checked_flags, count_array
from .protocol import COMPARABLE, PROVENANCE, Origin, Protocol

if TYPE_CHECKING:
    import numpy.typing as npt

# Ranks may have these arrays, most of them those of retrieval and of lists.
FIELDS: tuple[str, ...] = ("gains", "answers", "as_good", "origin", "lengths", "masked")
FIELDS += ("without_answers", "without_answers_by_group")
# The least of those that are integers, where it is not 0.
_LEAST = {"answers": 1, "as_good": 1, "origin": -(2**63), "lengths": -1}
# Saved ranks have these members, and others whose names begin with one of these and a dot.
MEMBERS = {"weights", "listed", "audit", "labels"}.union(COUNTS, FIELDS)


@public("truerank")
def load(path: str | os.PathLike[str]) -> Ranks:
    """Read ranks that `Ranks.save` wrote.

    Nothing in the file is executed, and no size that it declares is trusted. A CRC of each array
    protects against damage, not against deception.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Ranks

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is truncated, damaged, of another kind, or of a newer format. The error names
        the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Ranks([0], [1], 10).save(f"{folder}/ranks.npz")
    ...     load(f"{folder}/ranks.npz")
    Ranks(1 task, 0 tied, 10 candidates; unfiltered, all candidates, nan raise)
    """
    named: Any = path
    if isinstance(named, (str, os.PathLike)) and str(path).lower().endswith(".json"):
        problem = "JSON has the numbers of a report, and no ranks"
        raise InputValueError("path", problem, place=str(path))
    with open_archive("path", path, KIND, MEMBERS) as (header, members):
        types = {"labels": (dict,), "protocol": (dict,), "origins": (list,)}
        checked_fields("header", header, types)
        protocol = _protocol(header["protocol"])
        arguments: dict[str, Any] = {"labels": {}}
        for name, vocabulary in header["labels"].items():
            arguments["labels"][name] = (members.pop(f"labels.{name}"), vocabulary)
        for name in COUNTS:
            arguments[name] = members.pop(name)
        for name in ("listed", "audit"):
            arguments[name] = members.pop(name, None)
        weights = members.pop("weights", None)
        fields = {name: members.pop(name) for name in FIELDS if name in members}
        if members:
            raise ValueError(f"expected no member {min(members)[:80]!r}")
        ranks = Ranks(**arguments)
        arrays = _check_arrays(fields, len(ranks))
        if weights is not None:
            # A slice of weighted ranks may have only weights of 0, and is saved as it is.
            arrays["weights"] = checked_weights(weights, length=len(ranks))
        if protocol.highest_grade is None and len(fields.get("gains", ())):  # In older files.
            protocol = replace(protocol, highest_grade=arrays["gains"].max())
        origins = _origins(header["origins"], ranks)
        return ranks._with(arrays, protocol=protocol, origins=origins)


def _protocol(saved: Any) -> Protocol:
    """Read the protocol of a header."""
    checked_fields("protocol", saved, {"comparable": (dict,), "provenance": (dict,)})
    unknown = saved["comparable"].keys() - set(COMPARABLE)
    if unknown:
        raise ValueError(f"written by a newer truerank, whose protocol has {', '.join(unknown)}")
    # A later version may have other provenance, which no reader needs.
    provenance = {name: x for name, x in saved["provenance"].items() if name in PROVENANCE}
    return Protocol(**saved["comparable"], **provenance)


def _origins(saved: list[Any], ranks: Ranks) -> tuple[Origin, ...]:
    """Read the origins of a header; the units of the ranks have to be rows of these tasks."""
    origins = []
    names = Origin.__annotations__
    types = dict.fromkeys(names, (int,)) | {"fingerprint": (str,), "digests": (list,)}
    types["names"] = (str,)
    last = [0, 0, ""]  # Older files have not all of the last fields.
    for values in saved:
        values = (
            [*values, *last[len(values) - len(names) :]] if len(values) < len(names) else values
        )
        fields = checked_fields("origins", dict(zip(names, values, strict=True)), types)
        entities, known = fields["digests"]
        checked_fields("digests", {"0": entities, "1": known}, {"0": (str,), "1": (str,)})
        origins.append(Origin(**{**fields, "digests": (entities, known)}))
    if not origins:
        return ()
    if ranks.unit is None:
        raise ValueError("damaged: header.origins without a member 'labels.unit'")
    check_range("labels.unit", ranks.unit.codes, sum(origin.rows for origin in origins), "units")
    return tuple(origins)


def _check_arrays(arrays: Mapping[str, Any], length: int) -> dict[str, npt.NDArray[Any]]:
    """Check the saved arrays of `FIELDS`, which have a number or flag for each task."""
    checked: dict[str, npt.NDArray[Any]] = {}
    for name, values in arrays.items():
        if name == "gains":
            checked[name] = checked_weights(values, length=length, name=name)
        elif name == "masked":
            checked[name] = checked_flags(name, values, length)
        else:
            checked[name] = count_array(name, values, length, _LEAST.get(name, 0))
    return checked
