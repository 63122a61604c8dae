"""Saved ranks: the format of their files, and what saved counters and checkpoints share with it.

A file is what `numpy.savez` writes: a zip archive of uncompressed `.npy` members, each with its
CRC-32, without pickles. The member `truerank` is its header: a JSON object as text in uint8, whose
`kind` and `format` say what the file holds. It is written whole or not at all.

The header of saved ranks (kind "truerank.ranks", format 2) has

- `protocol`: an object of the objects `comparable` and `provenance`, with the fields of `Protocol`;
- `labels`: for each name of labels its vocabulary, a list of str, or null where labels are ids;
- `origins`: for each task that the units are rows of, the fields of `Origin` as a list.

The members are

========================  =================  =====================================================
member                    dtype and shape    meaning
========================  =================  =====================================================
above, tied, candidates   int64, (n,)        the counts
weights                   float64, (n,)      optional
listed                    bool, (n,)         optional
audit                     int64, (5, n)      optional; the counts of `Audit`, in their order
gains                     float64, (n,)      optional, of retrieval, as `Ranks` has it
answers, without_answers  int64, (n,)        likewise
lengths                   int64, (n,)        optional, of lists, as `Ranks` has it
labels.<name>             int64, (n,)        the codes of each labels that the header names
========================  =================  =====================================================

Once a version is released, semantic versioning covers this format: every later version reads it.
Provenance fields that a reader does not know are ignored. A comparable field and a member that it
does not know are refused, because it could not tell ranks apart that differ in them, and so is a
member that is compressed: what is read takes no more memory than its file has bytes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import path_name, report_damage
from ..arrays.npy_files import read_npz
from ..errors import InputValueError
from ..inputs.checks import check_range
from .counts import COUNTS
from .protocol import COMPARABLE, PROVENANCE, Origin, Protocol

if TYPE_CHECKING:
    import numpy.typing as npt

    from .labels import Labels

    Members = dict[str, npt.NDArray[Any]]

KIND = "truerank.ranks"
# Ranks of retrieval and of lists may have these arrays.
FIELDS = ("gains", "answers", "without_answers", "lengths")
# Saved ranks have these members, and others whose names begin with one of these and a dot.
MEMBERS = {"weights", "listed", "audit", "labels"}.union(COUNTS, FIELDS)
HEADER = "truerank"  # Every archive of truerank has this member.
_FORMAT = 2  # This version knows one format of each kind.
_READABLE = "a file of truerank, as `save` writes it"


def write_archive(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], members: Members
) -> None:
    """Write a header and members to a file, exactly at `path`: whole or not at all.

    Equal content gives equal bytes. Raises as `replace_file` does.
    """
    import json

    from ..arrays.writing import replace_file

    whole_header = dict(header, kind=kind, format=_FORMAT)
    text = json.dumps(whole_header, sort_keys=True)
    all_members = {HEADER: np.frombuffer(text.encode(), np.uint8)}
    for name in sorted(members):
        all_members[name] = members[name]
    with replace_file(path) as file:
        np.savez(file, **all_members)  # type: ignore[arg-type]


@contextmanager
def open_archive(
    argument: str, path: str | os.PathLike[str], kind: str, known: Collection[str]
) -> Iterator[tuple[dict[str, Any], Members]]:
    """Read the header and the members of a file; errors of the block name the file.

    `known` are the names of members that a file of its kind may have, or what stands before the dot
    in these. Nothing but the header is read of a file that has others.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, compressed, of another kind or format, and for a
        ValueError, a TypeError and a missing member (KeyError) in the block.
    """
    import json

    name = path_name(argument, path)
    names, head = read_npz(argument, name, (HEADER,), what=_READABLE, compressed=False)
    try:
        if HEADER not in head:
            raise ValueError(f"not a file of truerank: it has no member {HEADER!r}")
        with report_damage("damaged header"):
            header = json.loads(head[HEADER].tobytes())
        checked_fields("header", header, {"kind": (str,), "format": (int,)})
        if header["kind"] != kind:
            raise ValueError(f"expected a file of kind {kind!r}, got {header['kind'][:80]!r}")
        if header["format"] != _FORMAT:
            raise ValueError(
                f"written by another truerank, format {header['format']}; this version reads "
                f"format {_FORMAT}"
            )
        names.remove(HEADER)
        unknown = [member for member in names if member.partition(".")[0] not in known]
        if unknown:
            raise ValueError(f"expected no member {unknown[0][:80]!r}")
        yield header, read_npz(argument, name, names, what=_READABLE, compressed=False)[1]
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
    truerank.errors.InputValueError: damaged: header.kind: expected str, got int
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


def read_protocol(saved: Any) -> Protocol:
    """Read the protocol of a header."""
    checked_fields("protocol", saved, {"comparable": (dict,), "provenance": (dict,)})
    unknown = saved["comparable"].keys() - set(COMPARABLE)
    if unknown:
        raise ValueError(f"written by a newer truerank, whose protocol has {', '.join(unknown)}")
    fields = dict(saved["comparable"])
    for name, value in saved["provenance"].items():
        if name in PROVENANCE:  # A later version may have others, which no reader needs.
            fields[name] = value
    return Protocol(**fields)


def read_origins(saved: list[Any], unit: Labels | None) -> tuple[Origin, ...]:
    """Read the tasks of a header, whose rows the units are."""
    origins = []
    types = dict.fromkeys(Origin._fields, (int,)) | {"fingerprint": (str,)}
    for values in saved:
        fields = dict(zip(Origin._fields, values, strict=True))
        origins.append(Origin(**checked_fields("origins", fields, types)))
    if not origins:
        return ()
    if unit is None:
        raise ValueError("damaged: header.origins without a member 'labels.unit'")
    check_range("labels.unit", unit.codes, sum(origin.rows for origin in origins), "units")
    return tuple(origins)
