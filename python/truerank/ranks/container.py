"""Ranks: the integers per task from which everything else follows.

What semantic versioning covers in truerank: the public names and what they mean, the keys of a
report, and the file format of saved ranks (every later version reads format 1).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import EllipsisType, MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..inputs.arrays import read_only
from ..inputs.checks import integer_at_least
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import import_extra, printable, public
from .counts import (
    COUNTS,
    Audit,
    checked_audit,
    checked_counts,
    checked_index,
    checked_listed,
    complete_audit,
    nonzero_weights,
)
from .labels import LABELS, Labels, as_labels, other_labels
from .protocol import Protocol

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from .labels import LabelsLike

_NO_LABELS: Mapping[str, Labels] = MappingProxyType({})

_set_slot = object.__setattr__

RANK_KINDS = ("optimistic", "realistic", "pessimistic")  # attributes of Ranks

_OPTIONAL = frozenset(
    {"weights", *LABELS, "audit", "listed"}
)  # slots that are unset where they are None


@public("truerank")
class Ranks:
    """The ranks of n tasks, as counts of the candidates above the true one and tied with it.

    Ranks are immutable. They are sliced like an array, joined over tasks by `concatenate`, saved by
    `save` and read by `load`.

    Parameters
    ----------
    above : array_like of int, shape (n,)
        The number of candidates whose score is better than the true one's; >= 0.
    tied : array_like of int, shape (n,)
        The number of candidates with the true one's score, the true one included; >= 1.
    candidates : array_like of int, shape (n,), or int
        The number of candidates, the true one included; >= above + tied. An int is for all tasks.
    weights : array_like of float, shape (n,), optional
        The weights of the tasks in every mean: finite, >= 0, not all 0. Only their ratios matter.
    side, relation, queries, targets, unit : optional
        Labels per task: a sequence or array of str or of int ids, one str for all tasks, Labels, or
        a (codes, vocabulary) pair. The unit is what was drawn when the test set was made: tasks of
        one triple, aligned pair or query of retrieval share it. Every `Task` writes the row of the
        test set as an integer, so that its sides share units.
    labels : mapping of str to labels, optional
        Labels of any other names, such as {"category": [...], "head_degree": [...]}. A name must be
        an identifier without another meaning in reports, intervals and weights.
    audit : Audit or three arrays of int, optional
        Per task, the number of NaN, of inf, and of candidates at the best score.
    listed : array_like of bool, shape (n,), optional
        Whether the target was in its list, where ranks are from lists (`rank_lists`). One that was
        not is a miss: its tie holds all candidates that were neither listed nor filtered.
    protocol : Protocol, optional
        How the ranks were counted.

    Attributes
    ----------
    above, tied, candidates : ndarray of int64, shape (n,), read-only
    weights : ndarray of float64, shape (n,), read-only, or None
    side, relation, queries, targets, unit : Labels or None
    audit : Audit or None
    listed : ndarray of bool, shape (n,), read-only, or None
    protocol : Protocol

    Raises
    ------
    TypeError
        If counts are not integers (floats with integral values included).
    ValueError
        If a shape or length differs, if a count is impossible (the error names the first position),
        and if `labels` has a name that is not allowed.

    Examples
    --------
    >>> ranks = Ranks([0, 3], [1, 2], 10, side=["head", "tail"])
    >>> ranks
    Ranks(2 tasks, 1 tied, 10 candidates, sides head 1 + tail 1; unfiltered, all candidates, nan raise)
    >>> ranks.realistic
    array([1. , 4.5])
    """  # noqa: E501

    # _memo holds what reports derive from the ranks and would compute again; _more is unset where
    # there are no other labels, and those in _OPTIONAL where there are none
    __slots__ = (
        *(*COUNTS, "weights", *LABELS, "_more", "audit", "listed", "protocol"),
        *("_memo", "__weakref__"),
    )

    above: IntArray
    tied: IntArray
    candidates: IntArray
    weights: FloatArray | None
    side: Labels | None
    relation: Labels | None
    queries: Labels | None
    targets: Labels | None
    unit: Labels | None
    _other_labels: Mapping[str, Labels]
    audit: Audit | None
    listed: npt.NDArray[np.bool_] | None
    protocol: Protocol
    _memo: dict[Any, Any]

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        above: Sequence[int] | npt.NDArray[Any],
        tied: Sequence[int] | npt.NDArray[Any],
        candidates: int | Sequence[int] | npt.NDArray[Any],
        *,
        weights: Sequence[float] | npt.NDArray[Any] | None = None,
        side: LabelsLike | None = None,
        relation: LabelsLike | None = None,
        queries: LabelsLike | None = None,
        targets: LabelsLike | None = None,
        unit: LabelsLike | None = None,
        labels: Mapping[str, LabelsLike] | None = None,
        audit: Audit | Sequence[Any] | None = None,
        listed: Sequence[bool] | npt.NDArray[Any] | None = None,
        protocol: Protocol | None = None,
    ) -> None:
        if protocol is not None and not isinstance(protocol, Protocol):
            raise InputTypeError("protocol", expected="a Protocol", got=type(protocol).__name__)
        counts = checked_counts(above, tied, candidates)
        n = len(counts[0])
        given = dict(zip(LABELS, (side, relation, queries, targets, unit), strict=True))
        named: dict[str, Any] = {k: as_labels(k, v, n) for k, v in given.items() if v is not None}
        more = {} if labels is None else other_labels(labels, n)
        _fill_slots(
            self,
            *counts,
            weights=None if weights is None else nonzero_weights(weights, n),
            audit=None if audit is None else checked_audit(audit, n),
            listed=None if listed is None else checked_listed(listed, n),
            protocol=protocol or Protocol(),
            labels={k: v for k, v in more.items() if v is not None},
            **named,
        )

    @classmethod
    def _trusted(
        cls,
        above: IntArray,
        tied: IntArray,
        candidates: IntArray,
        *,
        audit: Audit | None = None,
        protocol: Protocol,
    ) -> Ranks:
        """Take over fresh int64 arrays without a check or a copy; they become read-only."""
        # by position, which its types do not have: by name it takes three times as long
        above.setflags(False)  # type: ignore[call-arg]
        tied.setflags(False)  # type: ignore[call-arg]
        candidates.setflags(False)  # type: ignore[call-arg]
        if audit is not None:
            audit = complete_audit(audit)
            return _fill_slots(
                cls.__new__(cls), above, tied, candidates, protocol=protocol, audit=audit
            )
        return _fill_slots(cls.__new__(cls), above, tied, candidates, protocol=protocol)

    @classmethod
    def _of_fields(cls, fields: dict[str, Any]) -> Ranks:
        """Take over checked fields; all arrays become read-only, which pickles forget."""
        for name in COUNTS:
            read_only(fields[name])
        for name in ("weights", "listed"):
            if fields[name] is not None:
                read_only(fields[name])
        if fields["audit"] is not None:
            fields["audit"] = complete_audit(fields["audit"])
        return _fill_slots(cls.__new__(cls), **fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Ranks are immutable: cannot set {name!r}")

    if not TYPE_CHECKING:  # a checker would take any name for one that is there

        def __getattr__(self, name: str) -> None:
            """Return None for what the ranks do not have: setting it would take time."""
            if name in _OPTIONAL:
                return None
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Ranks are immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Ranks._of_fields, (self._fields(),)

    @property
    def labels(self) -> Mapping[str, Labels]:
        """The labels of other names, a read-only mapping that may be empty.

        Examples
        --------
        >>> Ranks([0, 3], [1, 1], 10, labels={"category": ["1-1", "1-n"]}).labels["category"]
        Labels(2 labels: 1-1 1, 1-n 1)
        """
        return getattr(self, "_more", _NO_LABELS)

    # -- the kinds of rank -----------------------------------------------------------------------

    @property
    def optimistic(self) -> IntArray:
        """The best rank of the tie, above + 1: int64, shape (n,).

        Examples
        --------
        >>> Ranks([3], [2], 10).optimistic
        array([4])
        """
        return self.above + 1

    @property
    def pessimistic(self) -> IntArray:
        """The worst rank of the tie, above + tied: int64, shape (n,).

        Examples
        --------
        >>> Ranks([3], [2], 10).pessimistic
        array([5])
        """
        return self.above + self.tied

    @property
    def realistic(self) -> FloatArray:
        """The middle of the tie, (optimistic + pessimistic) / 2: float64, shape (n,).

        Exact for ranks below 2**52. No sum overflows, whatever the counts.

        Examples
        --------
        >>> Ranks([2**31], [2], 2**33).realistic
        array([2.14748365e+09])
        """
        middle = self.tied.astype(np.float64)
        middle += 1
        middle *= 0.5
        middle += self.above
        return middle

    def random(self, seed: int | None) -> IntArray:
        """Draw one position of each tie, uniformly: int64, shape (n,).

        Parameters
        ----------
        seed : int
            The seed of `numpy.random.default_rng`. With one version of NumPy a seed always gives
            the same draw; None gives a new one. Only tasks with a tie take a number from the
            generator, in order, so the draw of a slice differs from that of the whole.

        Examples
        --------
        >>> ranks = Ranks([0, 3], [1, 2], 10)
        >>> bool((ranks.random(7) == ranks.random(7)).all())
        True
        """
        if seed is not None:
            seed = integer_at_least("seed", seed)
        ranks = self.above + 1
        (ties,) = np.nonzero(self.tied > 1)
        ranks[ties] += np.random.default_rng(seed).integers(0, self.tied[ties], dtype=np.int64)
        return ranks

    # -- a sequence of tasks ---------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.above)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        """Refuse to be an array, as there are several kinds of rank.

        Raises
        ------
        TypeError
            Always; it names the kinds.

        Examples
        --------
        >>> np.mean(Ranks([0, 3], [1, 1], 10).realistic)
        np.float64(2.5)
        """
        raise InputTypeError(
            "ranks",
            "Ranks are no array, as a tie has several ranks: take ranks.realistic, .optimistic or "
            ".pessimistic, or the counts ranks.above and ranks.tied",
        )

    def _refuse_number(self, _other: object) -> NoReturn:
        self.__array__()

    # the lines (1 / ranks).mean() and (ranks <= 10).mean() of many scripts
    __rtruediv__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_number

    def __getitem__(
        self, index: int | slice | Sequence[int] | Sequence[bool] | npt.NDArray[Any]
    ) -> Ranks:
        """Return the ranks of some tasks, with their labels, weights, audit and protocol.

        Parameters
        ----------
        index : slice, boolean mask of shape (n,), integer array, or int
            An int gives Ranks of length 1. A slice shares memory, the others copy.

        Raises
        ------
        TypeError
            For an index of another type.
        IndexError
            For a position out of range, and for a mask of another length.

        Examples
        --------
        >>> ranks = Ranks([0, 3, 4], [1, 1, 1], 10)
        >>> ranks[ranks.above > 2].above
        array([3, 4])
        """
        where = index if isinstance(index, slice) else checked_index(index, len(self))
        values = {
            name: None if (value := getattr(self, name)) is None else value[where]
            for name in _PER_TASK
        }
        more = {name: labels[where] for name, labels in self.labels.items()}
        audit = None if self.audit is None else Audit(*(array[where] for array in self.audit))
        fields = {**values, "labels": more, "audit": audit, "protocol": self.protocol}
        return Ranks._of_fields(fields)

    def __eq__(self, other: object) -> bool:
        """Whether all but the provenance of both is equal: counts, labels, weights, protocol."""
        if not isinstance(other, Ranks):
            return NotImplemented
        return all(_are_equal(getattr(self, k), v) for k, v in other._fields().items())

    def __repr__(self) -> str:
        n, parts = len(self), []
        if n:
            low, high = int(self.candidates.min()), int(self.candidates.max())
            parts.append(f"{np.count_nonzero(self.tied > 1):,} tied")
            parts.append(f"{low:,}{f' to {high:,}' if high > low else ''} candidates")
        if self.side is not None and self.side.vocabulary is not None:
            sides = [f"{name} {count:,}" for name, count in self.side.counts().items() if count]
            parts += [f"sides {' + '.join(sides)}"] if sides else []
        optional = ("weights", *LABELS[1:])
        parts += [name for name in optional if getattr(self, name) is not None]
        parts += [*self.labels, *["audit"] * (self.audit is not None)]
        if self.listed is not None:
            parts.append(f"{n - np.count_nonzero(self.listed):,} misses")
        return printable(f"Ranks({', '.join([f'{n:,} tasks', *parts])}; {self.protocol})")

    # -- other Ranks of the same tasks -------------------------------------------------------------

    def with_labels(
        self,
        *,
        side: LabelsLike | EllipsisType | None = ...,
        relation: LabelsLike | EllipsisType | None = ...,
        queries: LabelsLike | EllipsisType | None = ...,
        targets: LabelsLike | EllipsisType | None = ...,
        unit: LabelsLike | EllipsisType | None = ...,
        labels: Mapping[str, LabelsLike | None] | EllipsisType | None = ...,
        **others: LabelsLike | None,
    ) -> Ranks:
        """Return the same ranks with some labels replaced; None removes a label.

        Parameters
        ----------
        side, relation, queries, targets, unit : optional
            Labels per task, as `Ranks` takes them.
        labels : mapping of str to labels, or None
            Labels of other names, each of which is set, or removed by None. None removes all.
        **others : labels
            The same by keyword.

        Returns
        -------
        Ranks
            Labels that are not mentioned stay.

        Raises
        ------
        TypeError, ValueError
            As `Ranks` does, and for a name that is given twice.

        Examples
        --------
        >>> ranks = Ranks([0, 3], [1, 1], 10).with_labels(side="tail", degree=[7, 1])
        >>> ranks.side, ranks.labels["degree"]
        (Labels(2 labels: tail 2), Labels(2 ids))
        >>> dict(ranks.with_labels(labels={"degree": None}).labels)
        {}
        """
        given = dict(zip(LABELS, (side, relation, queries, targets, unit), strict=True))
        new = {
            k: None if v is None else as_labels(k, v, len(self))
            for k, v in given.items()
            if not isinstance(v, EllipsisType)
        }
        fields = {**self._fields(), **new}
        present = {} if labels is None else self.labels
        named = {} if labels is None or isinstance(labels, EllipsisType) else labels
        new_labels = other_labels(named, len(self))
        if twice := new_labels.keys() & others.keys():
            name = min(twice)
            raise InputValueError("labels", f"{name!r} is given twice: here and as {name}=...")
        more = {**present, **new_labels, **other_labels(others, len(self))}
        fields["labels"] = {k: v for k, v in more.items() if v is not None}
        return Ranks._of_fields(fields)

    def with_weights(self, weights: Sequence[float] | npt.NDArray[Any] | None) -> Ranks:
        """Return the same ranks with other weights; None removes them.

        Examples
        --------
        >>> Ranks([0, 3], [1, 1], 10).with_weights([1, 3]).weights
        array([1., 3.])
        """
        new = None if weights is None else nonzero_weights(weights, len(self))
        return Ranks._of_fields({**self._fields(), "weights": new})

    def with_protocol(self, **fields: Any) -> Ranks:
        """Return the same ranks with some fields of the protocol changed.

        Examples
        --------
        >>> Ranks([0], [1], 10).with_protocol(filter=("train",)).protocol.filter
        ('train',)
        """
        protocol = dataclasses.replace(self.protocol, **fields)
        return Ranks._of_fields({**self._fields(), "protocol": protocol})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranks to a file, exactly at `path`, in the format of `truerank.ranks.storage`.

        The file appears whole or not at all: it is written under a temporary name in the same
        folder, synced and moved to its place. A link is followed, and a file that is replaced
        leaves its permissions to the new one (see `truerank.tables.writing`). Equal ranks give
        equal bytes.

        Raises
        ------
        OSError
            If the file cannot be written; it names the file.
        ValueError
            If `path` exists and is not a regular file.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Ranks([0], [1], 10).save(f"{folder}/ranks.npz")
        """
        from .storage import write

        write(path, self._fields())

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each task.

        Returns
        -------
        pandas.DataFrame
            The columns above, tied, candidates, optimistic, realistic and pessimistic; weights,
            side, relation, queries, targets, unit and labels of other names, and listed, where the
            ranks have them. Labels are decoded.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> frame = Ranks([0, 3], [1, 2], 10, side=["head", "tail"]).to_pandas()
        >>> frame[["side", "above", "tied", "realistic"]]
           side  above  tied  realistic
        0  head      0     1        1.0
        1  tail      3     2        4.5
        """
        frame = import_extra("pandas", "Ranks.to_pandas").DataFrame
        kinds = {name: getattr(self, name) for name in RANK_KINDS}
        optional = {name: getattr(self, name) for name in ("weights", *LABELS)}
        given = {**optional, **self.labels, "listed": self.listed}
        columns = {name: getattr(self, name) for name in COUNTS} | kinds
        columns |= {name: value for name, value in given.items() if value is not None}
        return frame({name: np.array(value) for name, value in columns.items()})

    def _fields(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in (*_PER_TASK, "audit", "protocol")}
        fields["labels"] = dict(self.labels)  # a read-only view cannot be pickled
        return fields


_PER_TASK = (*COUNTS, "weights", *LABELS, "listed")


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
    Ranks(1 tasks, 0 tied, 10 candidates; unfiltered, all candidates, nan raise)
    """
    from .storage import read

    return Ranks._of_fields(read(path))


def _fill_slots(
    ranks: Ranks,
    above: IntArray,
    tied: IntArray,
    candidates: IntArray,
    *,
    protocol: Protocol,
    labels: dict[str, Labels] | None = None,
    **optional: Any,
) -> Ranks:
    """Set the slots, one by one, because a loop over names would slow down small counts."""
    _set_slot(ranks, "above", above)
    _set_slot(ranks, "tied", tied)
    _set_slot(ranks, "candidates", candidates)
    _set_slot(ranks, "protocol", protocol)
    _set_slot(ranks, "_memo", {})
    for name, value in optional.items():
        if value is not None:
            _set_slot(ranks, name, value)
    if labels:
        _set_slot(ranks, "_more", MappingProxyType(labels))
    return ranks


def _are_equal(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, Audit):
        return all(map(np.array_equal, a, b))
    if isinstance(a, Protocol):
        return not a.differences(b)
    if isinstance(a, Labels):
        return isinstance(b, Labels) and a.same_as(b)
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(a[name].same_as(b[name]) for name in a)
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)
