"""Saved ranks: the format of their files, and what saved counters and checkpoints share with it.

A file is what `numpy.savez` writes: a zip archive of uncompressed `.npy` members, each with its
CRC-32, without pickles. The member `truerank` is its header: a JSON object as text in uint8, whose
`kind` and `format` say what the file holds. It is written whole or not at all.

The header of saved ranks (kind "truerank.ranks", format 1) has

- `protocol`: an object of the objects `comparable` and `provenance`, with the fields of `Protocol`;
- `labels`: for each name of labels its vocabulary, a list of str, or null where labels are ids.

The members are

========================  =================  =====================================================
member                    dtype and shape    meaning
========================  =================  =====================================================
above, tied, candidates   int64, (n,)        the counts
weights                   float64, (n,)      optional
listed                    bool, (n,)         optional
audit                     int64, (5, n)      optional; the counts of `Audit`, in their order
labels.<name>             int64, (n,)        the codes of each labels that the header names
========================  =================  =====================================================

Ranks of retrieval are saved alike. Labels say that they are: `retrieval_answers`, how many right
answers the query of a task has, and, where there are such, its gain and what becomes of it (`gain`,
`gain_rule`), what misses count for (`misses_rule`), where judged documents are (`judged_above`,
`judged_tied`, `judged`) and how many queries have no right answer (`without_answers`).

Semantic versioning covers this format: every later version reads format 1. Within format 1 a later
version may add members and provenance fields that a reader does not need, and this version ignores
them. It refuses a comparable field that it does not know, because it could not tell ranks apart
that differ in it. Any other change makes a new format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.input_files import path_name, report_damage
from ..inputs.npy_files import read_npz
from .counts import COUNTS
from .labels import Labels
from .protocol import COMPARABLE, PROVENANCE, Protocol

if TYPE_CHECKING:
    import numpy.typing as npt

    Members = dict[str, npt.NDArray[Any]]

KIND = "truerank.ranks"
HEADER = "truerank"  # the member that every archive of truerank has
_FORMAT = 1  # of each kind: the newest that this version knows
_READABLE = "a file of truerank (Report.from_json reads reports)"


def write_archive(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], members: Members
) -> None:
    """Write a header and members to a file, exactly at `path`: whole or not at all.

    Equal content gives equal bytes. Raises as `replace_file` does.
    """
    import json

    from ..tables.writing import replace_file

    whole_header = dict(header, kind=kind, format=_FORMAT)
    text = json.dumps(whole_header, sort_keys=True)
    all_members = {HEADER: np.frombuffer(text.encode(), np.uint8)}
    for name in sorted(members):
        all_members[name] = members[name]
    with replace_file(path) as file:
        np.savez(file, **all_members)  # type: ignore[arg-type]


@contextmanager
def open_archive(
    argument: str, path: str | os.PathLike[str], kind: str
) -> Iterator[tuple[dict[str, Any], Members]]:
    """Read the header and the members of a file; errors of the block name the file.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, of another kind or format, and for a ValueError, a
        TypeError and a missing member (KeyError) in the block.
    """
    import json

    name = path_name(argument, path)
    _, members = read_npz(argument, name, what=_READABLE)
    try:
        if HEADER not in members:
            raise ValueError(f"not a file of truerank: it has no member {HEADER!r}")
        with report_damage("damaged header"):
            header = json.loads(members.pop(HEADER).tobytes())
        checked_fields("header", header, {"kind": (str,), "format": (int,)})
        if header["kind"] != kind:
            raise ValueError(f"expected a file of kind {kind!r}, got {header['kind'][:80]!r}")
        if header["format"] != _FORMAT:
            raise ValueError(
                f"written by another truerank, format {header['format']}; this version reads "
                f"format {_FORMAT}"
            )
        yield header, members
    except KeyError as error:
        raise InputValueError(argument, f"damaged: no member {error}", place=name) from error
    except (ValueError, TypeError) as error:
        raise InputValueError(argument, str(error), place=name) from error


def checked_fields(place: str, value: Any, types: Mapping[str, tuple[type, ...]]) -> Any:
    """Check that a value of JSON is an object with fields of these types; it may have others.

    Examples
    --------
    >>> checked_fields("header", {"kind": 3}, {"kind": (str,)})
    Traceback (most recent call last):
    ...
    truerank.inputs.errors.InputValueError: damaged: header.kind: expected str, got int
    """
    if not isinstance(value, dict) or not types.keys() <= value.keys():
        expected = f"an object of {', '.join(types)}"
        raise InputValueError("damaged", expected=expected, place=place)
    for name, allowed in types.items():
        if type(value[name]) not in allowed:
            expected = " or ".join(kind.__name__ for kind in allowed)
            got = type(value[name]).__name__
            place = f"{place}.{name}"
            raise InputValueError("damaged", expected=expected, got=got, place=place)
    return value


def archived(
    arrays: Members, labels: Mapping[str, Labels], protocol: Protocol
) -> tuple[dict[str, Any], Members]:
    """Return the header and the members of a file of ranks."""
    header = {
        "protocol": {
            "comparable": {name: getattr(protocol, name) for name in COMPARABLE},
            "provenance": {name: getattr(protocol, name) for name in PROVENANCE},
        },
        "labels": {name: each.vocabulary for name, each in labels.items()},
    }
    members = dict(arrays)
    for name, each in labels.items():
        members[f"labels.{name}"] = each.codes
    return header, members


def unarchived(header: dict[str, Any], members: Members) -> dict[str, Any]:
    """Return the arguments of `Ranks` that a file has, which checks them."""
    checked_fields("header", header, {"labels": (dict,), "protocol": (dict,)})
    labels = {}
    for name, vocabulary in header["labels"].items():
        labels[name] = (members[f"labels.{name}"], vocabulary)
    parts = {"comparable": (dict,), "provenance": (dict,)}
    saved = checked_fields("protocol", header["protocol"], parts)
    unknown = saved["comparable"].keys() - set(COMPARABLE)
    if unknown:
        raise ValueError(f"written by a newer truerank, whose protocol has {', '.join(unknown)}")
    fields = dict(saved["comparable"])
    for name, value in saved["provenance"].items():
        if name in PROVENANCE:  # a later version may have others, which no reader needs
            fields[name] = value
    arguments: dict[str, Any] = {"labels": labels, "protocol": Protocol(**fields)}
    for name in COUNTS:
        arguments[name] = members[name]
    for name in ("weights", "listed", "audit"):
        if name in members:
            arguments[name] = members[name]
    return arguments
