"""Ranks: the integers per task from which everything else follows.

What semantic versioning covers in truerank: the public names and what they mean, the keys of a
report, and the file format of saved ranks: once a version is released, all later ones read it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from ..errors import InputTypeError, InputValueError, Option, argument_names, warn_user
from ..inputs import checks
from ..inputs.array_likes import as_array, check_shape, checked_weights, integers
from ..naming import import_extra, printable, public
from .labels import LABELS, Immutable, Labels, checked_index, named_labels
from .protocol import COMPARABLE, PROVENANCE, Origin, Protocol

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
    from .labels import LabelsLike

    # Those of a task are made when they are asked for.
    Origins: TypeAlias = tuple[Origin, ...] | Callable[[], tuple[Origin, ...]]

KIND = "truerank.ranks"  # of a file
COUNTS = ("above", "tied", "candidates")
MOST_CANDIDATES = 1 << 52  # Every rank, and half of one, is then a float64.
# Each is an attribute of Ranks.
RANK_KINDS = ("optimistic", "realistic", "pessimistic")
GIVES_NUMBER = (Option("entities", ..., "says how many there are", call="Task(..., entities=n)"),)


@public("truerank.ranks")
class Audit(NamedTuple):
    """What a count with `audit=True` found in each task: read-only int64 arrays of shape (n,).

    Attributes
    ----------
    nan, inf : ndarray
        The number of candidates whose score is NaN, or infinite.
    at_best : ndarray
        The number of candidates that share the best score of the task.
    differing : ndarray
        The number of blocks in which the true candidate had another score than its true score (see
        `RankCounter`); 0 if all scores were counted at once.
    mismatched : ndarray
        1 if this was checked and the task's row of scores or vectors differs in a bit from the
        first one of the same query; else 0.
    """

    nan: IntArray
    inf: IntArray
    at_best: IntArray
    differing: IntArray = None  # type: ignore[assignment]  # Ranks replace it by zeros, as the next
    mismatched: IntArray = None  # type: ignore[assignment]


@public("truerank")
class Ranks(Immutable):
    """The ranks of n tasks, as counts of the candidates above the true one and tied with it.

    Ranks are immutable. They are sliced like an array, joined over tasks by `concatenate`, saved by
    `save` and read by `load`. Two are equal (``==``) if all is equal but the provenance in their
    protocols, such as files, dtype and version.

    Parameters
    ----------
    above : array_like of int, shape (n,)
        The number of candidates whose score is better than the true one's; >= 0.
    tied : array_like of int, shape (n,)
        The number of candidates with the true one's score, the true one included; >= 1.
    candidates : array_like of int, shape (n,), or int
        The number of candidates, the true one included; >= above + tied. An int is for all tasks.
        Beside `listed`, 0 says that nobody gave it; what ties with a miss is not known then, and 0.
    weights : array_like of float, shape (n,), optional
        The weights of the tasks in every mean: finite, >= 0, not all 0. Only their ratios matter.
    side, relation, queries, targets, unit : optional
        Labels per task: a sequence or array of str or of int ids, one str for all tasks, Labels, or
        a (codes, vocabulary) pair. The unit is what was drawn when the test set was made: tasks of
        one triple, aligned pair or query of retrieval share it. Every `Task` writes the row of the
        test set as an integer, so that its sides share units.
    labels : mapping of str to labels, optional
        Labels of any other names, such as {"category": [...], "head_degree": [...]}. A name must be
        an identifier, and not another word for one of those above, such as "query".
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
    masked : ndarray of bool, shape (n,), read-only, or None
        Whether the true score is the worst that there is: -inf, or inf in ascending order. None
        where no such score was seen; it is not looked for among few tasks. Ranks that differ only
        in it are equal.
    gains : ndarray of float64, shape (n,), read-only, or None
        In retrieval, the grade of each right answer, from the judgements that a
        `truerank.retrieval.Task` was given; None: all are 1.
    answers : ndarray of int64, shape (n,), read-only, or None
        In ranks of a report of retrieval, the number of right answers that were ranked for the
        query.
    as_good : ndarray of int64, shape (n,), read-only, or None
        Likewise, how many of these have at least the gain of this one; None: there are no gains.
    origin : ndarray of int64, shape (n,), read-only, or None
        In retrieval, a number for the Task of each query, where ranks of several Tasks were joined,
        or where the user gave the units.
    without_answers : ndarray of int64, shape (n,), read-only, or None
        In retrieval, the number of queries without a right answer, at the first task; 0 at the
        others, so that parts add up.
    without_answers_by_group : ndarray of int64, shape (n,), read-only, or None
        Likewise, at the first task of each group that the Task has, the number of these in it.
    lengths : ndarray of int64, shape (n,), read-only, or None
        For lists, the number of candidates in the list of each task; -1 where there is none, or an
        empty one.
    protocol : Protocol

    Raises
    ------
    TypeError
        If counts are not integers; floats with integral values are not, either.
    ValueError
        If a shape or length differs, if a count is impossible (the error names the first position),
        if `labels` has a name that is not allowed, and if the protocol has a relevance level above
        1, which only gains could reach.

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
    masked: npt.NDArray[np.bool_] | None = None
    gains: FloatArray | None = None
    answers: IntArray | None = None
    as_good: IntArray | None = None
    origin: IntArray | None = None
    without_answers: IntArray | None = None
    without_answers_by_group: IntArray | None = None
    lengths: IntArray | None = None
    protocol: Protocol = Protocol()
    # All arrays are here by name, with tasks along the last axis.
    _arrays: dict[str, npt.NDArray[Any]]
    _labels: dict[str, Labels]
    # Reports keep here what they derive from the ranks and would compute again.
    _memo: dict[Any, Any]
    _origins: Origins

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
        if protocol is not None and protocol.relevance_level is not None:
            check_level(protocol.relevance_level, None)  # Without gains, all are 1.
        arrays: dict[str, Any] = {**checked_counts(above, tied, candidates, listed)}
        n = len(arrays["above"])
        if weights is not None:
            arrays["weights"] = nonzero_weights(weights, n)
        if audit is not None:
            arrays["audit"] = checked_audit(audit, n)
        attributes = side, relation, queries, targets, unit
        values: dict[str, Any] = dict(zip(LABELS, attributes, strict=True))
        others: Any = {} if labels is None else labels
        if not isinstance(others, Mapping):
            expected = "a mapping of names to labels"
            raise InputTypeError("labels", expected=expected, got=type(others).__name__)
        checks.distinct_names("labels", others)
        for name, value in values.items():
            if value is not None and name in others:
                raise InputValueError("labels", f"{name!r} is given twice")
        values |= others
        checked = Ranks._of(arrays, named_labels(values, n), protocol or Protocol())
        self.__dict__.update(vars(checked))

    @classmethod
    def from_ranks(
        cls,
        ranks: Sequence[int] | npt.NDArray[Any],
        pessimistic: Sequence[int] | npt.NDArray[Any] | None = None,
        *,
        candidates: int | Sequence[int] | npt.NDArray[Any],
        side: LabelsLike | None = None,
        query: LabelsLike | None = None,
        target: LabelsLike | None = None,
        unit: LabelsLike | None = None,
        relation: LabelsLike | None = None,
    ) -> Ranks:
        """Take the ranks that another tool computed: above = rank - 1.

        Where a task has two ranks, tied = pessimistic - ranks + 1. Where it has one, ties are
        unknown: tied is 1, all kinds of rank are equal, and the protocol says ``ties="unknown"``,
        as reports do. Say which answers were left out by ``with_protocol(filter="train",
        split="test")``.

        Parameters
        ----------
        ranks : array_like of int, shape (n,)
            The rank of each task, from 1 on; beside `pessimistic`, the optimistic rank.
        pessimistic : array_like of int, shape (n,), optional
            The last rank of the tie; >= ranks.
        candidates : array_like of int, shape (n,), or int
            The number of candidates of each task, the true one included; >= the last rank.
        side, query, target, unit, relation : labels, optional
            Labels per task, as `Ranks` takes them. `compare` pairs tasks by side, relation, query
            and target.

        Returns
        -------
        Ranks

        Raises
        ------
        TypeError
            If ranks are not integers. In place of the middle of a tie, such as 2.5, give the
            optimistic and the pessimistic rank.
        ValueError
            For a rank below 1, for a pessimistic one below the optimistic one, and for fewer
            candidates than ranks.

        Examples
        --------
        >>> Ranks.from_ranks([1, 4], candidates=10)
        Ranks(2 tasks, 10 candidates; unfiltered, all candidates, nan raise, ties unknown)
        >>> Ranks.from_ranks([1, 4], [1, 5], candidates=10).realistic
        array([1. , 4.5])
        """
        optimistic = _ranks_from_1("ranks", ranks, None)
        last_ranks = optimistic
        if pessimistic is not None:
            last_ranks = _ranks_from_1("pessimistic", pessimistic, len(optimistic))
        is_wrong = last_ranks < optimistic
        if is_wrong.any():
            i = int(is_wrong.argmax())
            expected = f"at least the optimistic rank, {optimistic[i]}"
            raise InputValueError("pessimistic", expected=expected, got=last_ranks[i], place=i)
        above = optimistic - 1
        tied = last_ranks - above
        ties = "unknown" if pessimistic is None else None
        labels: Any = {"side": side, "queries": query, "targets": target, "relation": relation}
        with argument_names(queries="query", targets="target"):
            return cls(above, tied, candidates, unit=unit, protocol=Protocol(ties=ties), **labels)

    @classmethod
    def _of(
        cls,
        arrays: dict[str, Any],
        labels: dict[str, Labels],
        protocol: Protocol,
        origins: Origins = (),
    ) -> Ranks:
        """Make Ranks of fresh arrays, which become read-only, without a check or a copy."""
        for array in arrays.values():
            array.setflags(False)  # By name the argument takes three times as long.
        ranks = cls.__new__(cls)
        attributes = ranks.__dict__
        attributes.update(arrays, _arrays=arrays, _labels=labels, protocol=protocol, _memo={})
        attributes["_origins"] = origins
        for name, label in labels.items():
            if name in LABELS:
                attributes[name] = label
        if "audit" in arrays:
            attributes["audit"] = Audit(*arrays["audit"])
        return ranks

    def _with(
        self,
        arrays: Mapping[str, npt.NDArray[Any] | None] = MappingProxyType({}),
        *,
        labels: Mapping[str, Labels] | None = None,
        protocol: Protocol | None = None,
        origins: Origins | None = None,
    ) -> Ranks:
        """Return these ranks with some arrays replaced, or all labels, the protocol, the origins.

        None removes an array. Nothing is checked.
        """
        arrays = {**self._arrays, **arrays}
        all_arrays = {name: array for name, array in arrays.items() if array is not None}
        if labels is None:
            labels = self._labels
        if origins is None:
            origins = self._origins
        return Ranks._of(all_arrays, dict(labels), protocol or self.protocol, origins)

    def __reduce__(self) -> tuple[Any, ...]:
        return Ranks._of, (self._arrays, self._labels, self.protocol, self.origins)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The Tasks whose rows are the units; empty where the user gave the units."""
        return self._origins() if callable(self._origins) else self._origins

    def _task_numbers(self) -> IntArray:
        """Return the number of the Task of each rank, as `Origin` has it; 0: it is of none."""
        if self.origin is not None:
            return self.origin
        if not self.origins:
            return np.zeros(len(self), np.int64)
        numbers = np.array([each.number for each in self.origins])
        return numbers[origin_index(self._labels["unit"].codes, self.origins)]

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

        As the realistic and the random one, it is refused where misses of lists have none: the Task
        was not given the number of entities.

        Examples
        --------
        >>> Ranks([3], [2], 10).pessimistic
        array([5])
        """
        self._check_ties()
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
        self._check_ties()
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
            seed = checks.integer("seed", seed, least=0)
        self._check_ties()
        ranks = self.above + 1
        (ties,) = np.nonzero(self.tied > 1)
        ranks[ties] += np.random.default_rng(seed).integers(0, self.tied[ties], dtype=np.int64)
        return ranks

    def _check_ties(self) -> None:
        """Refuse ranks of misses that may be any, as nobody said how many candidates there are."""
        if self.listed is not None:
            what = "the rank of a right answer that its list misses"
            check_number(self.tied.all(), "ranks", what)

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
        raise InputTypeError("ranks", f"Ranks are not an array, as ties have several: take {kinds}")

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
        return Ranks._of(arrays, labels, self.protocol, self._origins)

    def __eq__(self, other: object) -> bool:
        """Whether all but provenance and `masked` is equal: counts, labels, weights, protocol."""
        if not isinstance(other, Ranks):
            return NotImplemented
        names = self._arrays.keys() - {"masked"}
        return (
            names == other._arrays.keys() - {"masked"}
            and self._labels.keys() == other._labels.keys()
            and all(np.array_equal(self._arrays[x], other._arrays[x]) for x in names)
            and all(v.same_as(other._labels[k]) for k, v in self._labels.items())
            and not self.protocol.differences(other.protocol)
        )

    def __repr__(self) -> str:
        parts = []
        for name, words in self._in_words().items():
            noun = "task" if (name, words) == ("tasks", "1") else name
            parts.append({"sides": f"sides {words}", "with": words}.get(name, f"{words} {noun}"))
        return printable(f"Ranks({', '.join(parts)}; {self.protocol})")

    def _repr_html_(self) -> str:
        """Return what the repr says as a table, for notebooks."""
        from ..tables.table import Layout

        words = {**self._in_words(), "protocol": str(self.protocol)}
        table = Layout(names=2).make({"ranks": words, "value": words.values()})
        return table._repr_html_()

    def _in_words(self) -> dict[str, str]:
        """Say how many tasks of what kinds there are, by name."""
        words = {"tasks": f"{len(self):,}"}
        if len(self):
            ties = tie_sizes(self.tied, self.listed)
            if self.protocol.ties is None:
                words["tied"] = f"{np.count_nonzero(ties > 1):,}"
            fewest = int(self.candidates.min())
            most = int(self.candidates.max())
            if fewest:  # The protocol says that they were not given.
                words["candidates"] = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        if self.side is not None and self.side.vocabulary is not None:
            sides = [f"{name} {count:,}" for name, count in self.side.counts().items() if count]
            if sides:
                words["sides"] = " + ".join(sides)
        others = [name for name in self._labels if name != "side"]
        if self.weights is not None:
            others.insert(0, "weights")
        if self.audit is not None:
            others.append("audit")
        if others:
            words["with"] = ", ".join(others)
        if self.listed is not None:
            words["misses"] = f"{np.count_nonzero(~self.listed):,}"
        return words

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
            Labels that are not mentioned stay. Ranks of retrieval whose queries are renamed become
            those of another Task: `concatenate` joins them with ranks of the same answers.

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
        values: dict[str, Any] = dict.fromkeys(LABELS) | self._labels | dict.fromkeys(labels)
        values |= named_labels(labels, len(self))
        all_labels = {name: value for name, value in values.items() if value is not None}
        arrays: dict[str, Any] = {}
        if "group" in labels:  # Those of queries without a right answer are not known.
            arrays["without_answers_by_group"] = None
        if "unit" in labels:  # Units are the user's, whatever task ranks come from.
            if self.answers is not None and self.origins:  # Queries are still those of a task.
                arrays["origin"] = self._task_numbers()
            return self._with(arrays, labels=all_labels, origins=())
        origins = None
        if "queries" in labels:
            origins = tuple(dataclasses.replace(origin, queries=0) for origin in self.origins)
            queries = all_labels.get("queries")
            are_same = self.queries and queries and self.queries.same_as(queries)
            if self.answers is not None and not are_same:  # They are of other tasks then.
                origins = tuple(origin.renamed() for origin in origins)
        return self._with(arrays, labels=all_labels, origins=origins)

    def with_weights(self, weights: Sequence[float] | npt.NDArray[Any] | None) -> Ranks:
        """Return the same ranks with other weights; None removes them.

        Examples
        --------
        >>> Ranks([0, 3], [1, 1], 10).with_weights([1, 3]).weights
        array([1., 3.])
        """
        if weights is not None:
            weights = nonzero_weights(weights, len(self))
        return self._with({"weights": weights})

    def with_protocol(self, **fields: Any) -> Ranks:
        """Return the same ranks with some fields of the protocol changed.

        This names the filter that was given to `rank`. It warns where truerank counted the ranks
        among all candidates without a filter: nothing was left out of them.

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
        has_all_candidates = protocol.candidates == "all" and not protocol.sampled
        # Lists, and NaN that is omitted, may lack known answers without a filter.
        has_all_scores = before.lists is None and before.nan == "raise"
        is_filter_new = bool(protocol.filter) and not before.filter
        were_counted_here = bool(before.version)  # by truerank
        has_known_answers = has_all_candidates and has_all_scores and were_counted_here
        if is_filter_new and has_known_answers and len(self):
            text = "these ranks were counted without a filter, with known answers as candidates"
            way = Option("filter", ..., "leaves them out", call="rank(..., filter=known)")
            warn_user("filter", text, [way])
        return self._with(protocol=protocol)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranks to a file, exactly at `path`, in the format of `truerank.ranks.storage`.

        The file appears whole or not at all: it is written under a temporary name in the same
        folder, synced and moved to its place. A link is followed, and a file that is replaced
        leaves its mode to the new one (see `truerank.arrays.saved_files`). Equal ranks give
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
            "origins": [list(vars(origin).values()) for origin in self.origins],
        }
        codes = {f"labels.{name}": labels.codes for name, labels in self._labels.items()}
        from ..arrays.saved_files import write_archive

        write_archive(path, KIND, header, self._arrays | codes)

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each task.

        Returns
        -------
        pandas.DataFrame
            The columns above, tied, candidates and optimistic; realistic and pessimistic, unless
            misses have none; weights, listed, gains, answers and labels, where the ranks have them.
            Labels are decoded; one with the name of another column gets a prefix, as in
            "labels.above".

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
        frame = import_extra("pandas", "to_pandas").DataFrame
        names = RANK_KINDS if self.tied.all() else RANK_KINDS[:1]  # Misses have no others.
        kinds = {name: getattr(self, name) for name in names}
        columns = {name: self._arrays[name] for name in COUNTS} | kinds
        for name in ("weights", "listed", "gains", "answers"):
            if name in self._arrays:
                columns[name] = self._arrays[name]
        for name, labels in self._labels.items():
            title = f"labels.{name}" if name in columns else name
            columns[title] = labels.values
        return frame({name: np.array(value) for name, value in columns.items()})


# -- checks --------------------------------------------------------------------------------------


def check_number(
    is_given: object, argument: str, what: str, remedies: Sequence[Option] = GIVES_NUMBER
) -> None:
    """Refuse what depends on the number of candidates, unless that is given.

    Who has lists of names need not say how many there are, and is asked here alone.
    """
    if not is_given:
        problem = f"{what} depends on the number of candidates, which was not given"
        raise InputValueError(argument, problem, remedies=remedies)


def checked_counts(above: object, tied: object, candidates: Any, listed: object) -> dict[str, Any]:
    """Check the counts of every task against one another; return them as int64, by name.

    With `listed`, which is returned too, those that were not given are 0.
    """
    above = count_array("above", above, None, 0)
    n = len(above)
    flags = {} if listed is None else {"listed": checked_flags("listed", listed, n)}
    least = 0 if flags else 1
    tied = count_array("tied", tied, n, least)
    if not isinstance(candidates, list | tuple | range) and np.ndim(candidates) == 0:
        one = as_array(candidates, "candidates").reshape(1)
        candidates = np.repeat(integers("candidates", one), n)
    candidates = count_array("candidates", candidates, n, least)
    is_wrong = tied > candidates - above  # A sum could overflow.
    if flags:
        is_given = candidates > 0
        is_unlike = (tied > 0) != (is_given | flags["listed"])  # It ties with itself.
        _refuse_first(is_unlike, "tied", "integers >= 1, and 0 of misses among 0 candidates", tied)
        is_wrong &= is_given
    expected = "at most 2**52, up to which every rank is a float64"
    _refuse_first(candidates > MOST_CANDIDATES, "candidates", expected, candidates)
    if is_wrong.any():
        i = int(is_wrong.argmax())
        expected = f"at least the last rank, {int(above[i]) + int(tied[i])} (above + tied)"
        raise InputValueError("candidates", expected=expected, got=candidates[i], place=i)
    return {"above": above, "tied": tied, "candidates": candidates, **flags}


def checked_audit(value: object, length: int) -> IntArray:
    """Check the counts of an audit, three to five arrays; return them as one, a row for each."""
    checks.check_length("audit", value)
    parts: list[Any] = list(value) if checks.is_iterable(value) else []
    if not 3 <= len(parts) <= len(Audit._fields):
        raise InputTypeError("audit", expected="an Audit or three arrays", got=type(value).__name__)
    audit = np.zeros((len(Audit._fields), length), np.int64)
    for row, name, counts in zip(audit, Audit._fields, parts, strict=False):
        is_left_out = counts is None and name in Audit._field_defaults
        if not is_left_out:
            row[:] = count_array(f"audit.{name}", counts, length, 0)
        if row.sum(dtype=np.float64) >= 2**63:  # A report adds them up.
            raise InputValueError(f"audit.{name}", expected="integers whose sum is below 2**63")
    return audit


def checked_flags(name: str, value: object, length: int) -> npt.NDArray[np.bool_]:
    """Check an array that has a bool for each task."""
    array = as_array(value, name, "booleans")
    if array.dtype != np.bool_ and array.size:
        raise InputTypeError(name, expected="booleans", got=f"dtype {array.dtype}")
    check_shape(name, array.shape, (length,), f"{length} booleans, one for each task")
    return array.astype(bool)


def check_level(level: object, gains: FloatArray | None) -> float:
    """Check a relevance level: a finite number above 0, which one of the gains reaches."""
    value = checks.number("relevance_level", level)
    if not 0 < value < math.inf:
        expected = "a finite number above 0"
        raise InputValueError("relevance_level", expected=expected, got=f"{value:g}")
    if gains is not None and not len(gains):  # An empty part has none to compare with.
        return value
    highest = 1.0 if gains is None else gains.max()
    if highest < value:
        expected = f"a level that gains reach, at most {highest:g}"
        raise InputValueError("relevance_level", expected=expected, got=f"{value:g}")
    return value


def origin_index(unit: IntArray, origins: Sequence[Origin]) -> IntArray:
    """Return the task of each unit, as a position among those of its ranks."""
    return np.searchsorted(np.cumsum([origin.rows for origin in origins]), unit, side="right")


def tie_sizes(tied: IntArray, listed: npt.NDArray[np.bool_] | None) -> IntArray:
    """Return how many candidates tie with each true one, itself included: 1 for a miss.

    A target that its list misses is bounded by all that is not listed, which are no ties.
    """
    if listed is None:
        return tied
    return np.where(listed, tied, 1)


def nonzero_weights(value: object, length: int) -> FloatArray:
    """Check the weights of tasks, not all of which may be 0, as `checked_weights` does."""
    array = checked_weights(value, length=length)
    if length and not array.any():
        raise InputValueError("weights", expected="at least one above 0", got="only 0")
    return array


def _ranks_from_1(name: str, value: object, length: int | None) -> IntArray:
    """Check ranks of another tool, the best of which is 1; floats are refused."""
    array = as_array(value, name)
    if array.dtype.kind == "f" and array.ndim == 1 and array.size:
        array = array[:1_000_000]  # A view may declare more than memory holds.
        is_broken = array != np.trunc(array)
        if is_broken.any():
            i = int(is_broken.argmax())
            expected = "integers; for ties give both the optimistic and the pessimistic rank"
            raise InputTypeError(name, expected=expected, got=array[i], place=i)
        raise InputTypeError(name, expected="integers", got=f"dtype {array.dtype}")
    array = integers(name, value, length=length)
    _refuse_first(array == 0, name, "ranks from 1 on", array)
    return count_array(name, array, length, 1)


def count_array(name: str, value: object, length: int | None, least: int) -> IntArray:
    """Check one integer for each task, none of which is below the least."""
    array = integers(name, value, length=length)
    _refuse_first(array < least, name, f"integers >= {least}", array)
    return array


def _refuse_first(
    is_wrong: npt.NDArray[np.bool_], name: str, expected: str, values: IntArray
) -> None:
    """Refuse the first of the values that are wrong, if any is."""
    if is_wrong.any():
        i = int(is_wrong.argmax())
        raise InputValueError(name, expected=expected, got=values[i], place=i)
