"""Saved ranks: the file format, its writer and its reader.

A file is an archive of uncompressed `.npy` members (see `archives`). Members of format 1:

========================================  =======================  ===============================
member                                    dtype and shape          meaning
========================================  =======================  ===============================
kind                                      str, ()                  "truerank.ranks"
format                                    int64, ()                1
above, tied, candidates                   int64, (n,)              the counts
weights                                   float64, (n,)            optional
<label>.codes                             int64, (n,)              optional; side, group (that is
<label>.vocabulary                        uint8 JSON list of str   `relation`), queries, targets,
                                                                   unit; no vocabulary: ids
labels.<name>.codes                       int64, (n,)              optional; labels of other names,
labels.<name>.vocabulary                  uint8 JSON list of str   likewise
audit.nan, audit.inf, audit.at_best       int64, (n,)              optional, all or none
audit.differing, audit.mismatched         int64, (n,)              optional; where any is above 0
protocol                                  uint8 JSON               {"comparable", "provenance"}
========================================  =======================  ===============================

Semantic versioning covers this format: every later version reads format 1. Within format 1 a later
version may add members and provenance fields that a reader does not need, and this version ignores
them. It refuses a comparable field that it does not
know, because it could not tell ranks apart that differ in it. Any other change makes a new format.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import checked_weights
from ..inputs.errors import InputValueError
from ..inputs.input_files import open_input
from .archives import ArchiveKind, from_json_array, json_array, read_archive, write_archive
from .counts import COUNTS, Audit, checked_audit, checked_counts, checked_listed
from .labels import LABELS, Labels, as_labels, other_labels
from .protocol import COMPARABLE, PROVENANCE, Protocol

if TYPE_CHECKING:
    from .archives import Members

KIND = ArchiveKind("truerank.ranks", 1)

_PROTOCOL_FIELDS = {"comparable": COMPARABLE, "provenance": PROVENANCE}  # of the member "protocol"
_MEMBERS = {"relation": "group"}  # of labels whose members have another name in format 1
_OTHER, _CODES, _VOCABULARY = "labels.", ".codes", ".vocabulary"  # parts of the names of members


def write(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> None:
    """Write the fields of Ranks to a file, exactly at `path`, as `write_archive` does."""
    write_archive(path, KIND, _to_members(fields))


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of Ranks from a file, checked; an error names the file."""
    name = os.fsdecode(path)
    with open_input("path", name) as file:
        try:
            return _from_members(read_archive(file, KIND))
        except (ValueError, TypeError) as error:
            raise InputValueError(name, str(error)) from error


def _to_members(fields: Mapping[str, Any]) -> Members:
    protocol = {
        group: {name: getattr(fields["protocol"], name) for name in names}
        for group, names in _PROTOCOL_FIELDS.items()
    }
    members: Members = {name: fields[name] for name in COUNTS}
    if fields["weights"] is not None:
        members["weights"] = fields["weights"]
    named: dict[str, Labels | None] = {_MEMBERS.get(name, name): fields[name] for name in LABELS}
    named |= {f"{_OTHER}{name}": labels for name, labels in fields["labels"].items()}
    for name, labels in named.items():
        if labels is not None:
            members[f"{name}{_CODES}"] = labels.codes
            if labels.vocabulary is not None:
                members[f"{name}{_VOCABULARY}"] = json_array(labels.vocabulary)
    if fields["audit"] is not None:
        for name, counts in fields["audit"]._asdict().items():
            # these are nearly always zeros, and older versions did not write them
            if name not in Audit._field_defaults or np.any(counts):
                members[f"audit.{name}"] = counts
    if fields["listed"] is not None:
        members["listed"] = fields["listed"]
    members["protocol"] = json_array(protocol)
    return members


def _from_members(members: Members) -> dict[str, Any]:
    missing = [name for name in (*COUNTS, "protocol") if name not in members]
    if missing:
        raise ValueError(f"damaged: no member {', '.join(missing)}")
    counts = checked_counts(*(members[name] for name in COUNTS), copy=False)
    n = len(counts[0])
    audit = [members.get(f"audit.{name}") for name in Audit._fields]
    has_audit = any(array is not None for array in audit)
    # a slice of weighted ranks may have only weights of 0, and is saved as it is
    weights, listed = members.get("weights"), members.get("listed")
    return dict(zip(COUNTS, counts, strict=True)) | {
        **{name: _read_labels(_MEMBERS.get(name, name), members, n) for name in LABELS},
        "weights": None if weights is None else checked_weights(weights, length=n, copy=False),
        "labels": _read_other_labels(members, n),
        "listed": None if listed is None else checked_listed(listed, n, copy=False),
        "audit": checked_audit(audit, n, copy=False) if has_audit else None,
        "protocol": _read_protocol(from_json_array(members["protocol"])),
    }


def _read_labels(name: str, members: Members, length: int) -> Labels | None:
    codes, words = members.get(f"{name}{_CODES}"), members.get(f"{name}{_VOCABULARY}")
    if codes is None:
        return None
    if codes.ndim != 1:
        raise InputValueError("damaged", expected="a 1-D array", place=f"{name}{_CODES}")
    vocabulary = None if words is None else from_json_array(words)
    if not isinstance(vocabulary, list | None):
        raise ValueError(f"damaged: {name}{_VOCABULARY}: expected a list of str")
    return as_labels(name, (codes, vocabulary), length)


def _read_other_labels(members: Members, length: int) -> dict[str, Labels]:
    """Read the labels of other names, by name."""
    names = sorted(
        name[len(_OTHER) : -len(_CODES)]
        for name in members
        if name.startswith(_OTHER) and name.endswith(_CODES)
    )
    read = other_labels(
        {name: _read_labels(f"{_OTHER}{name}", members, length) for name in names}, length
    )
    return {name: labels for name, labels in read.items() if labels is not None}


def _read_protocol(value: Any) -> Protocol:
    fields = value if isinstance(value, dict) else {}
    comparable, provenance = (fields.get(part) for part in _PROTOCOL_FIELDS)
    if not (isinstance(comparable, dict) and isinstance(provenance, dict)):
        raise ValueError("damaged: protocol: expected comparable and provenance fields")
    unknown = sorted(set(comparable) - set(COMPARABLE))
    if unknown:
        raise ValueError(
            f"written by a newer truerank, whose protocol has {', '.join(unknown)}: this version "
            "could not tell such ranks from unlike ones"
        )
    return Protocol(**comparable, **{k: v for k, v in provenance.items() if k in PROVENANCE})
