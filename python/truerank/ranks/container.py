"""Ranks: the integers per task from which everything else follows.

What semantic versioning covers in truerank: the public names and what they mean, the keys of a
report, and the file format of saved ranks: once a version is released, all later ones read it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..errors import InputTypeError, InputValueError, warn_user
from ..inputs.array_likes import checked_weights
from ..inputs.checks import distinct_names, integer, optional_mapping
from ..naming import import_extra, printable, public
from .counts import (
    COUNTS,
    Audit,
    check_level,
    checked_answers,
    checked_audit,
    checked_counts,
    checked_index,
    checked_listed,
    nonzero_weights,
    ties_of,
)
from .labels import LABELS, Immutable, Labels, named_labels
from .protocol import COMPARABLE, PROVENANCE, Origin, Protocol
from .storage import (
    FIELDS,
    KIND,
    MEMBERS,
    checked_fields,
    open_archive,
    read_origins,
    read_protocol,
    write_archive,
)

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from .labels import LabelsLike

# Each is an attribute of Ranks.
RANK_KINDS = ("optimistic", "realistic", "pessimistic")


@public("truerank")
class Ranks(Immutable):
    """The ranks of n tasks, as counts of the candidates above the true one and tied with it.

    Ranks are immutable. They are sliced like an array, joined over tasks by `concatenate`, saved by
    `save` and read by `load`. They are equal (``==``) if all but the provenance in their protocols
    is: what was counted, not which files, dtype or version it came from.

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
        an identifier, and no other word for one of those above, as "query" is.
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
    labels : mapping of str to Labels
        These, and labels of other names.
    audit : Audit or None
    listed : ndarray of bool, shape (n,), read-only, or None
    gains : ndarray of float64, shape (n,), read-only, or None
        In retrieval, the grade of each right answer, from the judgements that a
        `truerank.retrieval.Task` was given; None: all are 1.
    answers : ndarray of int64, shape (n,), read-only, or None
        In ranks of a report of retrieval, how many right answers the query has.
    without_answers : ndarray of int64, shape (n,), read-only, or None
        In retrieval, how many queries without a right answer are counted with a task: all with the
        first one, so that parts add up.
    lengths : ndarray of int64, shape (n,), read-only, or None
        Of lists, how many candidates the list of each task has.
    origins : tuple of Origin
        The tasks whose rows the units are; none where units are the user's.
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

    above: IntArray
    tied: IntArray
    candidates: IntArray
    weights: FloatArray | None = None
    side: Labels | None = None
    relation: Labels | None = None
    queries: Labels | None = None
    targets: Labels | None = None
    unit: Labels | None = None
    audit: Audit | None = None
    listed: npt.NDArray[np.bool_] | None = None
    gains: FloatArray | None = None
    answers: IntArray | None = None
    without_answers: IntArray | None = None
    lengths: IntArray | None = None
    origins: tuple[Origin, ...]
    protocol: Protocol = Protocol()
    # All arrays are here by name, with tasks along the last axis.
    _arrays: dict[str, npt.NDArray[Any]]
    _labels: dict[str, Labels]
    # Reports keep here what they derive from the ranks and would compute again.
    _memo: dict[Any, Any]

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
        arrays: dict[str, Any] = {**checked_counts(above, tied, candidates)}
        n = len(arrays["above"])
        if weights is not None:
            arrays["weights"] = nonzero_weights(weights, n)
        if audit is not None:
            arrays["audit"] = checked_audit(audit, n)
        if listed is not None:
            arrays["listed"] = checked_listed(listed, n)
        by_name = dict(zip(LABELS, (side, relation, queries, targets, unit), strict=True))
        others = optional_mapping("labels", labels, "a mapping of names to labels")
        distinct_names("labels", others)
        for name, value in by_name.items():
            if value is not None and name in others:
                raise InputValueError("labels", f"{name!r} is given twice")
        all_labels = named_labels({**by_name, **others}, n)
        self.__dict__.update(vars(Ranks._of(arrays, all_labels, protocol or Protocol())))

    @classmethod
    def _of(
        cls,
        arrays: dict[str, Any],
        labels: dict[str, Labels],
        protocol: Protocol,
        origins: tuple[Origin, ...] = (),
    ) -> Ranks:
        """Take over fresh arrays and labels without a check or a copy; arrays become read-only."""
        for array in arrays.values():
            array.setflags(False)  # By name the argument takes three times as long.
        ranks = cls.__new__(cls)
        attributes = ranks.__dict__
        attributes.update(arrays, _arrays=arrays, _labels=labels, protocol=protocol, _memo={})
        attributes["origins"] = origins
        if labels:
            attributes.update((name, labels[name]) for name in LABELS if name in labels)
        if "audit" in arrays:
            attributes["audit"] = Audit(*arrays["audit"])
        return ranks

    def _with(
        self,
        arrays: Mapping[str, npt.NDArray[Any]] = MappingProxyType({}),
        *,
        labels: Mapping[str, Labels] | None = None,
        protocol: Protocol | None = None,
        origins: tuple[Origin, ...] | None = None,
    ) -> Ranks:
        """Return the same ranks with arrays of our own, or with something else replaced.

        Labels are those of a task of ours: nothing is checked, and all others are left out.
        """
        if origins is None:
            origins = self.origins
        if labels is None:
            labels = self._labels
        all_arrays = {**self._arrays, **arrays}
        protocol = protocol or self.protocol
        return Ranks._of(all_arrays, dict(labels), protocol, origins)

    def __reduce__(self) -> tuple[Any, ...]:
        return Ranks._of, (self._arrays, self._labels, self.protocol, self.origins)

    @property
    def labels(self) -> Mapping[str, Labels]:
        """All labels of the tasks by name, a read-only mapping that may be empty.

        Examples
        --------
        >>> Ranks([0, 3], [1, 1], 10, labels={"category": ["1-1", "1-n"]}).labels["category"]
        Labels(2 labels: 1-1 1, 1-n 1)
        """
        return MappingProxyType(self._labels)

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
            seed = integer("seed", seed, least=0)
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
        kinds = "ranks.realistic, .optimistic or .pessimistic"
        raise InputTypeError("ranks", f"Ranks are no array, as a tie has several: take {kinds}")

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
        where = checked_index(index)
        arrays = {name: array[..., where] for name, array in self._arrays.items()}
        labels = {name: each[where] for name, each in self._labels.items()}
        return Ranks._of(arrays, labels, self.protocol, self.origins)

    def __eq__(self, other: object) -> bool:
        """Whether all but the provenance of both is equal: counts, labels, weights, protocol."""
        if not isinstance(other, Ranks):
            return NotImplemented
        return (
            self._arrays.keys() == other._arrays.keys()
            and self._labels.keys() == other._labels.keys()
            and all(np.array_equal(v, other._arrays[k]) for k, v in self._arrays.items())
            and all(v.same_as(other._labels[k]) for k, v in self._labels.items())
            and not self.protocol.differences(other.protocol)
        )

    def __repr__(self) -> str:
        parts = [f"{len(self):,} tasks"]
        if len(self):
            ties = ties_of(self.tied, self.listed)
            parts.append(f"{np.count_nonzero(ties > 1):,} tied")
            fewest = int(self.candidates.min())
            most = int(self.candidates.max())
            if most > fewest:
                parts.append(f"{fewest:,} to {most:,} candidates")
            else:
                parts.append(f"{fewest:,} candidates")
        if self.side is not None and self.side.vocabulary is not None:
            sides = [f"{name} {count:,}" for name, count in self.side.counts().items() if count]
            if sides:
                parts.append(f"sides {' + '.join(sides)}")
        if self.weights is not None:
            parts.append("weights")
        parts.extend(name for name in self._labels if name != "side")
        if self.audit is not None:
            parts.append("audit")
        if self.listed is not None:
            parts.append(f"{np.count_nonzero(~self.listed):,} misses")
        return printable(f"Ranks({', '.join(parts)}; {self.protocol})")

    # -- other Ranks of the same tasks -------------------------------------------------------------

    def with_labels(self, **labels: LabelsLike | None) -> Ranks:
        """Return the same ranks with some labels replaced; None removes a label.

        Parameters
        ----------
        **labels : labels or None
            Labels per task, as `Ranks` takes them: side, relation, queries, targets, unit, and
            labels of other names.

        Returns
        -------
        Ranks
            Labels that are not mentioned stay.

        Raises
        ------
        TypeError, ValueError
            As `Ranks` does.

        Examples
        --------
        >>> ranks = Ranks([0, 3], [1, 1], 10).with_labels(side="tail", degree=[7, 1])
        >>> ranks.side, ranks.labels["degree"]
        (Labels(2 labels: tail 2), Labels(2 ids))
        >>> list(ranks.with_labels(degree=None).labels)
        ['side']
        """
        # Those that are attributes come first.
        values: dict[str, Any] = {**dict.fromkeys(LABELS), **self._labels, **labels}
        values |= named_labels(labels, len(self))
        all_labels = {name: value for name, value in values.items() if value is not None}
        origins = self.origins
        if "unit" in labels:  # Units are the user's, whatever task ranks come from.
            origins = ()
        elif "queries" in labels:
            origins = tuple(origin._replace(queries=0) for origin in origins)
        return Ranks._of(self._arrays, all_labels, self.protocol, origins)

    def with_weights(self, weights: Sequence[float] | npt.NDArray[Any] | None) -> Ranks:
        """Return the same ranks with other weights; None removes them.

        Examples
        --------
        >>> Ranks([0, 3], [1, 1], 10).with_weights([1, 3]).weights
        array([1., 3.])
        """
        if weights is not None:
            return self._with({"weights": nonzero_weights(weights, len(self))})
        arrays = {name: array for name, array in self._arrays.items() if name != "weights"}
        return Ranks._of(arrays, self._labels, self.protocol, self.origins)

    def with_protocol(self, **fields: Any) -> Ranks:
        """Return the same ranks with some fields of the protocol changed.

        This names the filter that was given to `rank`. To name one for ranks that truerank counted
        without any, among all candidates, is a warning: nothing was left out of them.

        Raises
        ------
        TypeError, ValueError
            As `Protocol` does, and for a relevance level that no gain of these ranks reaches.

        Examples
        --------
        >>> Ranks([0], [1], 10).with_protocol(filter=("train",)).protocol.filter
        ('train',)
        """
        before = self.protocol
        protocol = dataclasses.replace(before, **fields)
        if fields.get("relevance_level") is not None:
            check_level(fields["relevance_level"], self.gains)
        # Lists, samples and NaN that is omitted may lack known answers without a filter.
        whole = (before.filter, before.lists, before.nan, protocol.candidates, protocol.sampled)
        is_bare = whole == ((), None, "raise", "all", False) and len(self) > 0
        if is_bare and protocol.filter and before.version:
            text = "these ranks were counted without one, with known answers among the candidates"
            warn_user(f"filter: {text}: pass filter= to rank")
        return self._with(protocol=protocol)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranks to a file, exactly at `path`, in the format of `truerank.ranks.storage`.

        The file appears whole or not at all: it is written under a temporary name in the same
        folder, synced and moved to its place. A link is followed, and a file that is replaced
        leaves its mode to the new one (see `truerank.arrays.writing`). Equal ranks give
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
        protocol = self.protocol
        header = {
            "protocol": {
                "comparable": {name: getattr(protocol, name) for name in COMPARABLE},
                "provenance": {name: getattr(protocol, name) for name in PROVENANCE},
            },
            "labels": {name: labels.vocabulary for name, labels in self._labels.items()},
            "origins": self.origins,
        }
        codes = {f"labels.{name}": labels.codes for name, labels in self._labels.items()}
        write_archive(path, KIND, header, self._arrays | codes)

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each task.

        Returns
        -------
        pandas.DataFrame
            The columns above, tied, candidates, optimistic, realistic and pessimistic; weights,
            listed, gains, answers and labels, where the ranks have them. Labels are decoded; one
            with the name of another column is called as in "labels.above".

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
        columns = {name: self._arrays[name] for name in COUNTS} | kinds
        for name in ("weights", "listed", "gains", "answers"):
            if name in self._arrays:
                columns[name] = self._arrays[name]
        for name, labels in self._labels.items():
            title = f"labels.{name}" if name in columns else name
            columns[title] = labels.values
        return frame({name: np.array(value) for name, value in columns.items()})


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
    with open_archive("path", path, KIND, MEMBERS) as (header, members):
        types = {"labels": (dict,), "protocol": (dict,), "origins": (list,)}
        checked_fields("header", header, types)
        arguments: dict[str, Any] = {"protocol": read_protocol(header["protocol"]), "labels": {}}
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
        arrays = checked_answers(fields, len(ranks))
        if weights is not None:
            # A slice of weighted ranks may have only weights of 0, and is saved as it is.
            arrays["weights"] = checked_weights(weights, length=len(ranks))
        return ranks._with(arrays, origins=read_origins(header["origins"], ranks.unit))
