"""Saved ranks: the file format, its writer and its reader.

A file is an archive of uncompressed `.npy` members (see `archives`). Members of format 1:

========================================  =======================  ===============================
member                                    dtype and shape          meaning
========================================  =======================  ===============================
kind                                      str, ()                  "truerank.ranks"
format                                    int64, ()                1
above, tied, candidates                   int64, (n,)              the counts
weights                                   float64, (n,)            optional
<label>.codes                             int64, (n,)              optional; side, group, queries,
<label>.vocabulary                        uint8 JSON list of str   targets; no vocabulary: ids
labels.<name>.codes                       int64, (n,)              optional; labels of other names,
labels.<name>.vocabulary                  uint8 JSON list of str   likewise
audit.nan, audit.inf, audit.at_best       int64, (n,)              optional, all or none
audit.differing, audit.mismatched         int64, (n,)              optional; where any is above 0
protocol                                  uint8 JSON               {"comparable", "provenance"}
checksum                                  str, ()                  SHA-256, hexadecimal
========================================  =======================  ===============================

Semantic versioning covers this format: every later version reads format 1. Within format 1 a later
version may add members and provenance fields that a reader can do without; this version checks
their checksum and ignores them. It refuses a comparable field that it does not know, since it could
not keep unlike ranks apart. Anything else makes a new format.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import weights
from ..inputs.errors import InputValueError
from .archives import Kind, from_json_array, json_array, read_archive, write_archive
from .container import Ranks
from .counts import COUNTS, Audit, checked_audit, checked_counts
from .labels import LABELS, Labels, as_labels, more_labels
from .protocol import COMPARABLE, PROVENANCE, Protocol

if TYPE_CHECKING:
    from .archives import Members

KIND = Kind("truerank.ranks", 1)

_MORE, _CODES, _VOCABULARY = "labels.", ".codes", ".vocabulary"  # parts of the names of members


def save(ranks: Ranks, path: str | os.PathLike[str]) -> None:
    """Write ranks to a file, exactly at `path`: whole or not at all.

    The file is written beside its place under a temporary name, synced, and moved; a link is
    followed. Equal ranks give equal bytes.

    Parameters
    ----------
    ranks : Ranks
    path : str or path-like
        The file; no suffix is added. What is there is replaced.

    Raises
    ------
    OSError
        If the folder is absent or cannot be written, or the disk is full.
    ValueError
        If `path` is there and is no regular file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Ranks([0], [1], 10), f"{folder}/ranks.npz")
    ...     load(f"{folder}/ranks.npz")
    Ranks(1 tasks, 0 tied, 10 candidates; unfiltered, all candidates, nan raise)
    """
    write_archive(path, KIND, _members(ranks))


def load(path: str | os.PathLike[str]) -> Ranks:
    """Read ranks that `Ranks.save` wrote.

    Nothing in the file is executed, and no size that it declares is trusted. The checksum guards
    against damage, not against somebody who means to deceive.

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
        If there is no such file.
    ValueError
        If the file is truncated, damaged, something else, or of a newer format; it names the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Ranks([0], [1], 10), f"{folder}/ranks.npz")
    ...     load(f"{folder}/ranks.npz")
    Ranks(1 tasks, 0 tied, 10 candidates; unfiltered, all candidates, nan raise)
    """
    name = os.fsdecode(path)
    with open(name, "rb") as file:
        try:
            return _ranks(read_archive(file, KIND))
        except (ValueError, TypeError) as error:
            raise InputValueError(name, f"{error}") from error


def _members(ranks: Ranks) -> Members:
    protocol = {
        part: {name: getattr(ranks.protocol, name) for name in names}
        for part, names in (("comparable", COMPARABLE), ("provenance", PROVENANCE))
    }
    members: Members = {name: getattr(ranks, name) for name in COUNTS}
    if ranks.weights is not None:
        members["weights"] = ranks.weights
    named: dict[str, Labels | None] = {name: getattr(ranks, name) for name in LABELS}
    named |= {f"{_MORE}{name}": labels for name, labels in ranks.labels.items()}
    for name, labels in named.items():
        if labels is not None:
            members[f"{name}{_CODES}"] = labels.codes
            if labels.vocabulary is not None:
                members[f"{name}{_VOCABULARY}"] = json_array(labels.vocabulary)
    if ranks.audit is not None:
        for name, counts in ranks.audit._asdict().items():
            # zeros as good as always, which older versions did not write
            if name not in Audit._field_defaults or np.any(counts):
                members[f"audit.{name}"] = counts
    members["protocol"] = json_array(protocol)
    return members


def _ranks(members: Members) -> Ranks:
    missing = [name for name in (*COUNTS, "protocol") if name not in members]
    if missing:
        raise InputValueError("damaged", f"no member {', '.join(missing)}")
    counts = checked_counts(*(members[name] for name in COUNTS), copy=False)
    n = len(counts[0])
    audit = [members.get(f"audit.{name}") for name in Audit._fields]
    has_audit = any(array is not None for array in audit)
    return Ranks._of_fields(
        dict(zip(COUNTS, counts, strict=True))
        | {name: _labels(name, members, n) for name in LABELS}
        | {
            # a slice of weighted ranks may have no weight above 0, and is saved as it is
            "weights": weights(members["weights"], length=n, copy=False)
            if "weights" in members
            else None,
            "labels": _more_labels(members, n),
            "audit": checked_audit(audit, n, copy=False) if has_audit else None,
            "protocol": _protocol(from_json_array(members["protocol"])),
        }
    )


def _labels(name: str, members: Members, length: int) -> Labels | None:
    codes, words = members.get(f"{name}{_CODES}"), members.get(f"{name}{_VOCABULARY}")
    if codes is None:
        return None
    vocabulary = None if words is None else from_json_array(words)
    if not isinstance(vocabulary, list | None):
        raise InputValueError("damaged", f"{name}{_VOCABULARY}: expected a list of str")
    return as_labels(name, (codes, vocabulary), length)


def _more_labels(members: Members, length: int) -> dict[str, Labels]:
    """The labels of other names, by name."""
    names = sorted(
        name[len(_MORE) : -len(_CODES)]
        for name in members
        if name.startswith(_MORE) and name.endswith(_CODES)
    )
    read = more_labels({name: _labels(f"{_MORE}{name}", members, length) for name in names}, length)
    return {name: labels for name, labels in read.items() if labels is not None}


def _protocol(value: Any) -> Protocol:
    parts = [value.get(part) for part in ("comparable", "provenance")] if _is_dict(value) else []
    if not parts or not all(map(_is_dict, parts)):
        raise InputValueError("damaged", "protocol: expected comparable and provenance fields")
    comparable, provenance = parts
    unknown = sorted(set(comparable) - set(COMPARABLE))
    if unknown:
        raise ValueError(
            f"written by a newer truerank, whose protocol has {', '.join(unknown)}: this version "
            "could not tell such ranks from unlike ones"
        )
    return Protocol(**comparable, **{k: v for k, v in provenance.items() if k in PROVENANCE})


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)
