"""Join ranks over tasks: counts, labels, weights, audits and protocols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import read_only
from ..inputs.checks import several
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from .container import Ranks
from .counts import COUNTS, Audit, joined_listed
from .labels import LABELS, join_labels

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from .protocol import Protocol


@public("truerank")
def concatenate(parts: Iterable[Ranks]) -> Ranks:
    """Join ranks over tasks, in the given order.

    Vocabularies of labels are merged, weights stay as they are. A provenance field in which the
    parts differ becomes "mixed".

    Equal units are one unit, in whichever part they stand: those of a `Task` are rows of the test
    set, so that head and tail ranks of one test set share them. Before ranks of two test sets are
    joined, add the number of rows of the first to the units of the second.

    Parameters
    ----------
    parts : iterable of Ranks
        At least one. Either all parts or none have weights, an audit, and labels of each name.
        Where only some are from lists, the others have no misses.

    Returns
    -------
    Ranks

    Raises
    ------
    ValueError
        If there are no parts, if parts were counted under different protocols (the error lists the
        differences), and if only some have weights, labels of a name, or an audit.
    TypeError
        If a part is not Ranks.

    Examples
    --------
    >>> concatenate([Ranks([0], [1], 10), Ranks([3], [2], 10)]).above
    array([0, 3])
    """
    if isinstance(parts, Ranks):
        raise InputTypeError("parts", expected="several Ranks", got="one")
    parts = several("parts", parts, "Ranks")
    if not parts:
        raise InputValueError("parts", expected="at least one Ranks", got="none")
    for i, part in enumerate(parts):
        if not isinstance(part, Ranks):
            raise InputTypeError(
                "parts", expected="Ranks", got=f"{type(part).__name__} at position {i}"
            )
    joined: dict[str, Any] = {
        name: read_only(np.concatenate([getattr(part, name) for part in parts])) for name in COUNTS
    }
    joined["protocol"] = _joined_protocol(parts)
    for name in ("weights", *LABELS, "audit"):
        values = _in_all_parts(name, [getattr(part, name) for part in parts])
        joined[name] = None if values is None else _JOINERS.get(name, join_labels)(name, values)
    joined["listed"] = joined_listed([(part.listed, len(part)) for part in parts])
    joined["labels"] = {}
    for name in dict.fromkeys(name for part in parts for name in part.labels):
        values = _in_all_parts(f"labels[{name!r}]", [part.labels.get(name) for part in parts])
        joined["labels"][name] = join_labels(f"labels[{name!r}]", values or [])
    return Ranks._of_fields(joined)


def _in_all_parts(name: str, values: list[Any]) -> list[Any] | None:
    """Return the values if every part has one, or None if no part has."""
    missing = [str(i) for i, value in enumerate(values) if value is None]
    if missing and len(missing) < len(values):
        problem = f"{name} missing in part {', '.join(missing)}, but not in all"
        raise InputValueError("parts", problem)
    return None if missing else values


def _joined_protocol(parts: list[Ranks]) -> Protocol:
    protocol = parts[0].protocol
    for i, part in enumerate(parts):
        differences = protocol.differences(part.protocol)
        if differences:
            problem = f"0 and {i} were counted under unlike protocols: {'; '.join(differences)}"
            raise InputValueError("parts", problem)
        protocol = protocol.joined(part.protocol)
    return protocol


def _join_weights(name: str, values: list[FloatArray]) -> FloatArray:
    return read_only(np.concatenate(values))


def _join_audits(name: str, values: list[Audit]) -> Audit:
    return Audit(*(read_only(np.concatenate(arrays)) for arrays in zip(*values, strict=True)))


_JOINERS: dict[str, Any] = {"weights": _join_weights, "audit": _join_audits}
