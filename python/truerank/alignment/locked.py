"""Results whose arrays are read-only, and stay so in copies and pickles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..inputs.arrays import read_only


class Locked:
    """A base of results with read-only arrays: numpy's pickles do not keep that they are.

    Examples
    --------
    >>> import copy
    >>> class Found(Locked):
    ...     def __init__(self, ids):
    ...         self.ids = read_only(ids)
    >>> copy.deepcopy(Found(np.arange(3))).ids.flags.writeable
    False
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # dataclasses that are frozen let nothing else in
        _lock(state)


def _lock(value: object) -> None:
    """Lock an array, or those in a mapping."""
    if isinstance(value, np.ndarray):
        read_only(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            _lock(each)
