"""The shape of a task: what a protocol asks on each side, and how scores of any kind answer it.

A protocol (link prediction, alignment) makes `SideTasks`: for each side the distinct queries, which
of them each task asks, the right answers, and what is left out. `Task` evaluates them: by callables
that score batches of queries, by vectors that are scored and counted at once, or by score matrices
in memory and in files. Protocols name the arguments of these three ways and pass them on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..counting.ranking import rank
from ..inputs.errors import InputTypeError, renamed
from ..ranks.container import Ranks, concatenate
from ..ranks.labels import LABELS
from ..reporting.reports import Report, report
from .arguments import Argument, biases_of, opened, progress_of_each, vectors_of
from .batches import rank_batches
from .query_rows import merged_rows, unlike_rows_of

if TYPE_CHECKING:
    from ..counting.tiles import Progress
    from ..inputs.arrays import IntArray
    from ..ranks.labels import Labels
    from ..ranks.protocol import Protocol
    from .query_rows import Flags

__all__ = ["Argument", "Arguments", "SideTasks", "Task"]

Arguments = Mapping[str, Argument]  # by side


@dataclass(frozen=True, eq=False)
class SideTasks:
    """One side of a protocol: a ranking for each of its test triples (or pairs).

    Task i asks query ``rows[i]``, whose right answer is column ``targets[i]`` of the scores. All
    arrays are read-only.

    Attributes
    ----------
    side : str
        What the side is called: "head", "tail", "relation", or a name of another protocol.
    queries : ndarray of int64, shape (m, c)
        The distinct queries, each a row of ids (the key columns).
    rows : ndarray of int64, shape (n,)
        The query of each task.
    targets : ndarray of int64, shape (n,)
        The column of each task's right answer.
    columns : int
        How many columns scores have: one for each entity (or relation).
    filter : (indptr, indices), or None
        The known answers of each of the m queries, sorted and distinct; None: unfiltered.
    candidates : None, array of int, (indptr, indices), or (indptr, indices, lists)
        The only columns let in: all, one list for all tasks, or a list per task, as in `rank`.
    labels : dict of str to Labels
        "group", "queries", "targets" and any further ones, n labels each.
    given : ndarray of int64, shape (n,)
        Where each task's triple stands in the test split as it was given.
    height : int
        How many test triples were given. Without it, all of them are asked, in order.
    names : tuple of str, or None
        The labels of the columns.
    """

    side: str
    queries: IntArray
    rows: IntArray
    targets: IntArray
    columns: int
    filter: tuple[IntArray, IntArray] | None = None
    candidates: Any | None = None
    labels: dict[str, Labels] = field(default_factory=dict)
    given: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    height: int = -1
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.height < 0:
            object.__setattr__(self, "height", len(self.targets))
            object.__setattr__(self, "given", np.arange(len(self.targets)))
        for name in ("queries", "rows", "targets", "filter", "candidates", "given"):
            object.__setattr__(self, name, _read_only(getattr(self, name)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a pickle does not keep what is read-only

    def __len__(self) -> int:
        """The number of tasks."""
        return len(self.targets)

    def selections(self, tasks: IntArray | None = None) -> tuple[Any, Any]:
        """Give the filter and the candidates of some tasks, or of all, as `rank` takes them.

        Examples
        --------
        >>> known = np.array([0, 1, 3]), np.array([4, 0, 2])
        >>> rows, targets = np.array([0, 1, 1]), np.array([4, 0, 2])
        >>> side = SideTasks("tail", np.array([[7], [8]]), rows, targets, 5, known)
        >>> side.selections(np.array([2]))
        ((array([0, 2]), array([0, 2]), array([0])), None)
        """
        without = None if self.filter is None else (*self.filter, self.rows)
        if tasks is None:
            return without, self.candidates
        return _of_tasks(without, tasks), _of_tasks(self.candidates, tasks)

    def labelled(self, ranks: Ranks, mismatched: Flags | None = None) -> Ranks:
        """Give ranks of all tasks with their labels, and their audit with the unlike rows."""
        if ranks.audit is not None and mismatched is not None:
            audit = ranks.audit._replace(mismatched=mismatched.astype(np.int64))
            ranks = Ranks._of_fields({**ranks._fields(), "audit": audit})
        named: dict[str, Any] = {k: v for k, v in self.labels.items() if k in LABELS}
        more = {k: v for k, v in self.labels.items() if k not in LABELS}
        return ranks.with_labels(**{"side": self.side, **named}, labels=more)


def _read_only(value: Any) -> Any:
    """View an array, or those of a tuple, so that nobody writes to it."""
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _of_tasks(selection: Any, tasks: IntArray) -> Any:
    """The lists of some tasks alone, as (indptr, indices, lists); one list for all stays as it is.

    Else every batch of tasks would have the lists of all the others looked through.
    """
    if not isinstance(selection, tuple):
        return selection
    indptr, indices, *lists = selection
    wanted = lists[0][tasks] if lists else tasks
    distinct, places = np.unique(wanted, return_inverse=True)
    lengths = np.diff(indptr)[distinct]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    shifts = np.repeat(indptr[distinct] - ends[:-1], lengths)
    return ends, indices[np.arange(ends[-1]) + shifts], places


class Task:
    """What a protocol asks: its sides, and the protocol that its ranks carry.

    A subclass makes the sides and gives `evaluate`, `evaluate_embeddings` and `evaluate_scores`
    with arguments of its own names, which it passes on: for every side that the protocol knows an
    `Argument` (its name and its value), as in
    ``self._evaluate_scores({"tail": Argument("tail_scores", tail_scores), ...}, unique=unique)``.
    What belongs to the sides of the task is needed, anything else is refused.

    Parameters
    ----------
    sides : mapping of str to SideTasks
        By name, in the order in which their tasks stand in Ranks.
    protocol : Protocol
        The filter's splits, the candidates by name, whether they are sampled, and the split.
    """

    sides: dict[str, SideTasks]
    protocol: Protocol

    def __init__(self, sides: Mapping[str, SideTasks], protocol: Protocol) -> None:
        self.sides = dict(sides)
        self.protocol = protocol

    def _evaluate(
        self, scorers: Arguments, *, batch_size: int | None = None, **rules: Any
    ) -> Report:
        """Evaluate callables f(queries (b, c)) -> scores (b, columns), one for each side.

        `rules` are order, nan, dtype, threads and audit of `rank`.
        """
        asked = self._needed(scorers, "a callable")
        for name, scorer in asked.values():
            if not callable(scorer):
                raise InputTypeError(name, expected="a callable", got=type(scorer).__name__)
        parts = []
        for key, (name, scorer) in asked.items():
            with renamed(scores=name, blocks=name):
                ranks = rank_batches(scorer, self.sides[key], batch_size=batch_size, **rules)
            parts.append(self.sides[key].labelled(ranks))
        return self._reported(parts)

    def _evaluate_embeddings(
        self,
        queries: Arguments,
        entities: Arguments,
        *,
        bias: Any = None,
        unique: bool = False,
        dtype: Any = None,
        **rules: Any,
    ) -> Report:
        """Evaluate vectors of queries beside those of the candidates, for each side.

        `bias` is one array for all sides, or a mapping of sides to arrays (those left out have
        none); `rules` are similarity, nan, block, threads and audit of `rank_embeddings`.
        """
        from ..embeddings.scoring import rank_embeddings

        asked, among = self._needed(queries, "vectors"), self._needed(entities, "vectors")
        biases = biases_of(bias, self.sides)
        reads = {}
        for key, side in self.sides.items():
            height = len(side.queries) if unique else side.height
            with vectors_of(asked[key], "queries", dtype, height, _of_what(unique)) as vectors:
                reads[key] = (
                    (side.rows, None) if unique else merged_rows(vectors, side.rows, side.given)
                )
            with vectors_of(among[key], "entities", dtype, side.columns, "candidate"):
                pass  # all are checked before the first is ranked
        parts = []
        for key, (rows, mismatched) in reads.items():
            side = self.sides[key]
            without, candidates = side.selections()
            added, name = biases[key], asked[key].name
            # a score that is NaN is one of a query
            with renamed(queries=name, entities=among[key].name, bias=added.name, scores=name):
                ranks = rank_embeddings(
                    *(asked[key].value, among[key].value, side.targets),
                    bias=added.value,
                    rows=rows,
                    filter=without,
                    candidates=candidates,
                    dtype=dtype,
                    **rules,
                )
            parts.append(side.labelled(ranks, mismatched))
        return self._reported(parts)

    def _evaluate_scores(
        self,
        scores: Arguments,
        *,
        unique: bool = False,
        dtype: Any = None,
        audit: bool = False,
        io: str | None = None,
        progress: Callable[[Progress], object] | None = None,
        **rules: Any,
    ) -> Report:
        """Evaluate score matrices, in memory or in files, for each side.

        `rules` are order, nan and threads of `rank`. `progress` is told of the bytes of all sides.
        """
        if progress is not None and not callable(progress):
            raise InputTypeError("progress", expected="a callable", got=type(progress).__name__)
        parts = []
        with ExitStack() as stack:
            # all of them first: nobody waits for one side to hear that the other is missing
            matrices = {}
            for key, argument in self._needed(scores, "scores").items():
                side = self.sides[key]
                shape = len(side.queries) if unique else side.height, side.columns
                found = opened(argument, dtype, io, progress is not None, shape, _of_what(unique))
                matrices[key] = stack.enter_context(found)
            shown = progress_of_each(progress, [matrix.scores for matrix in matrices.values()])
            for (key, matrix), show in zip(matrices.items(), shown, strict=True):
                side, mismatched = self.sides[key], None
                rows = side.rows if unique else side.given
                without, candidates = side.selections()
                with renamed(scores=scores[key].name):
                    ranks = rank(
                        *(matrix.scores, side.targets),
                        rows=rows,
                        filter=without,
                        candidates=candidates,
                        dtype=matrix.dtype,
                        audit=audit,
                        io=io,
                        progress=show,
                        **rules,
                    )
                    if audit and not unique:
                        mismatched = unlike_rows_of(matrix.scores, side.rows, side.given, io)
                parts.append(side.labelled(ranks, mismatched))
        return self._reported(parts)

    def _needed(self, arguments: Arguments, what: str) -> dict[str, Argument]:
        """The arguments of the sides that there are; all of them, and no others."""
        names = {arguments[side].name for side in self.sides}
        for side, (name, value) in arguments.items():
            if side in self.sides and value is None:
                raise InputTypeError(name, expected=f"{what} for the side {side!r}", got="None")
            if name not in names and value is not None:
                raise InputTypeError(
                    name,
                    expected=(
                        f"None, for the task has no side {side!r}, but "
                        f"{' and '.join(map(repr, self.sides))}"
                    ),
                )
        return {side: arguments[side] for side in self.sides}

    def _reported(self, parts: Iterable[Ranks]) -> Report:
        """The report of the sides, in their order, under the protocol of the task."""
        fields = ("filter", "candidates", "sampled", "split")
        common = {name: getattr(self.protocol, name) for name in fields}
        return report(concatenate([part.with_protocol(**common) for part in parts]))


def _of_what(unique: bool) -> str:
    return "distinct query" if unique else "query of the test as given"
