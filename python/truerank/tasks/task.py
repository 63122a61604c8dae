"""One task for every protocol: its sides, evaluated by callables, vectors, scores or lists.

A protocol (link prediction, alignment, retrieval) makes sides from its facts: for each the distinct
queries, the query of each task, the right answers, and what is left out. What comes after that is
here, once for all of them. A protocol names an argument for each side, and hands them over by
side.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack, cast

import numpy as np

from .. import counting
from ..arrays.row_keys import distinct, first_equals
from ..counting.driver import count_source
from ..counting.job import prepare_job
from ..counting.sources import StoreSource
from ..embeddings.scoring import TopK, rank_open_embeddings
from ..embeddings.vectors import Embeddings
from ..embeddings.watching import watch_of_part, watching
from ..errors import InputTypeError, InputValueError, argument_names
from ..inputs.candidate_lists import CandidateLists, as_lists
from ..inputs.frames import by_position
from ..inputs.progress_listeners import as_listener, reporter
from ..inputs.rules import (
    BatchOptions,
    EmbeddingOptions,
    ListOptions,
    RuleOptions,
    read_rules,
)
from ..inputs.words import LISTED
from ..ranks.container import Ranks
from ..ranks.joining import join_ranks
from ..ranks.origins import Origin
from ..reporting import Report
from ..stores import Store, read_scores, shape_of
from .batches import check_score_shape, rank_batches
from .listed_candidates import candidates_of_lists
from .query_rows import (
    look_at_stored_rows,
    mismatched_stored_rows,
    mismatched_vectors,
    with_mismatched,
)
from .side_tasks import SideTasks, chosen_positions

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..inputs.rules import Rules
    from ..inputs.words import IoMode, Similarity
    from ..ranks.protocol import Protocol

AnyReport = TypeVar("AnyReport")  # A protocol makes such a report of its ranks.
BySide = Mapping[str, Any]


class ScoreOptions(RuleOptions, total=False):
    """Options of evaluating scores: those, and how files are read.

    Parameters
    ----------
    order, nan, dtype, threads, audit, io, progress : optional
        As in `truerank.rank`; `progress` counts the bytes of all scores.
    """

    io: IoMode | None


class VectorOptions(EmbeddingOptions, total=False):
    """Options of evaluating vectors: those, and how vectors make scores."""

    similarity: Similarity
    bias: Any
    block: int | None


# What the task knows of the protocol of its ranks; counting knows the rest.
_FIELDS = ("filter", "filter_rule", "candidates", "sampled", "split", "gain", "relevance_level")


class Task(Generic[AnyReport]):
    """The tasks of a protocol by side, and the protocol that their ranks carry.

    The four ways to evaluate take what a user handed over by side: what a side of the task needs is
    required, and what belongs to another side is refused. Messages have the side's name, or `name`,
    where an argument is not named after its side.

    Parameters
    ----------
    sides : mapping of str to SideTasks
        By name, in the order of their tasks in Ranks; they are attributes, too.
    protocol : Protocol
        The filter's splits, the candidates by name, whether they are sampled, and the split.
    facts : iterable of (ndarray of int64, names), optional
        The columns of the facts that are ranked, whatever the sides are, as `fingerprint_of` takes
        them. Default: the tasks of all sides.
    """

    sides: dict[str, SideTasks]
    protocol: Protocol
    # It says whether labels of queries are their numbers in this task alone.
    _numbers_queries = False

    def __init__(
        self,
        sides: Mapping[str, SideTasks],
        protocol: Protocol,
        facts: Iterable[tuple[IntArray, Any]] | None = None,
    ) -> None:
        self.sides = dict(sides)
        self.protocol = protocol
        vars(self).update(self.sides)
        if facts is None:
            facts = [(each, None) for side in sides.values() for each in (side.rows, side.targets)]
        self._facts = tuple(facts)

    @cached_property
    def _origin(self) -> Origin:
        """What ranks say of this task, by which their units are told from others."""
        numbers = []
        if self._numbers_queries:
            numbers = [side.labels["queries"].codes for side in self.sides.values()]
        return Origin.of(self._units, self._facts, numbers)

    def _report(self, ranks: Ranks) -> AnyReport:
        """Report the ranks of all sides; a protocol may weight or group them."""
        return cast("AnyReport", Report(ranks))

    def _check_columns(self) -> None:
        """Say what a user should know before columns are taken for candidates."""

    def _check_rows(self, name: str) -> None:
        """Refuse rows that nobody can tell the queries of."""

    # -- parts -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of units: test triples, pairs, or queries with right answers."""
        return len(self._units)

    def __getitem__(self, index: Any) -> Self:
        """Return a part of the task: some of its units, each with the tasks of all its sides.

        What the parts give joins exactly to what the whole gives: ``task[p::n]`` is evaluated by
        process p of n, and `truerank.concatenate` joins the ranks in the order of the whole,
        whatever the order of the parts. An empty part asks nobody. Units, labels, protocol and
        sampled negatives are those of the whole; nothing is drawn or warned of again.

        Parameters
        ----------
        index : slice, or array_like of int, shape (k,)
            The units by position. The part has them in this order. None at all make an empty part.

        Returns
        -------
        Task
            Of the same class. Callables are asked for the queries of the part only. Matrices, lists
            and vectors of queries have the rows of its units, in their order: a row for each unit,
            or with ``unique=True`` for each of its distinct queries, as in ``part.tail.queries``.
            In alignment, matrices and vectors are those of both graphs as a whole. Lists by name
            may have those of other parts, too. `audit` is that of the whole.

        Raises
        ------
        TypeError
            For another index, such as a mask of booleans or a single position.
        ValueError
            For a unit that comes twice.
        IndexError
            For a position out of range.

        Examples
        --------
        >>> import numpy as np, truerank
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3, sides=["tail"])
        >>> def model(queries):
        ...     return np.random.default_rng(0).random((3, 3))[queries[:, 0]]
        >>> ranks = [task[p::2].evaluate(model).ranks for p in (1, 0)]
        >>> truerank.concatenate(ranks) == task.evaluate(model).ranks
        True
        """
        positions = chosen_positions(len(self), index)
        origin = self._origin
        part = copy.copy(self)  # It has no reference to the whole, so that a part is cheap to send.
        part._facts = ()
        part._origin = origin
        part._units = self._units[positions]
        part.sides = {}
        for name, side in self.sides.items():
            part.sides[name] = side.part(part._units)
        vars(part).update(part.sides)
        part._become_part(self, positions)
        return part

    @cached_property
    def _units(self) -> IntArray:
        """The units in the order of the test set; those of a part in its own order."""
        return distinct(np.concatenate([side.labels["unit"].codes for side in self.sides.values()]))

    def _become_part(self, source: Self, positions: IntArray) -> None:
        """Make what a protocol keeps beside its sides that of some units of the source.

        `self` is a copy of the source, whose sides are those of the part already.
        """

    # -- four ways to evaluate ---------------------------------------------------------------------

    def _evaluate(
        self, scorers: BySide, name: str = "", **options: Unpack[BatchOptions]
    ) -> AnyReport:
        """Evaluate callables f(queries (b, c)) -> scores (b, columns).

        `progress` counts the queries of all sides.
        """
        progress = read_rules(options, BatchOptions).progress
        scorer_of_side = self._by_side(scorers, "a callable", name)
        for key, scorer in scorer_of_side.items():
            if not callable(scorer):
                got = type(scorer).__name__
                raise InputTypeError(name or key, expected="a callable", got=got)
        sizes = [len(side.queries) for side in self.sides.values()]
        tellers = split_progress(reporter(progress, sum(sizes), "queries"), sizes)
        counted = []
        for (key, scorer), tell in zip(scorer_of_side.items(), tellers, strict=True):
            with argument_names(scores=name or key):
                counted.append(rank_batches(scorer, self.sides[key], tell, **options))
        self._check_columns()  # This comes after the loop, because a callable may read the order.
        return self._make_report(counted)

    def _evaluate_embeddings(
        self,
        queries: BySide,
        candidates: BySide,
        name: str = "",
        unique: bool = False,
        **options: Unpack[VectorOptions],
    ) -> AnyReport:
        """Evaluate vectors of queries against those of their candidates, by `candidate_kind`.

        `bias` is one array for all sides, or a mapping of sides to arrays (those left out have
        none). `progress` counts the bytes of all sides.
        """
        rules = read_rules(options, VectorOptions)
        queries_of_side = self._by_side(queries, "vectors", name)
        kinds = {key: side.candidate_kind for key, side in self.sides.items()}
        candidates_of_side = self._by_side(candidates, "vectors", arguments=kinds)
        biases = self._bias_by_side(options.get("bias"))
        self._check_rows(name)
        self._check_columns()
        opened: dict[str, Embeddings] = {}  # All arguments are checked before a side is ranked.
        for key, side in self.sides.items():
            given = side.rows_of(unique)
            with argument_names(queries=name or key, entities=side.candidate_kind):
                embeddings = Embeddings(
                    queries_of_side[key],
                    candidates_of_side[key],
                    options.get("similarity", "dot"),
                    biases.get(key),
                    rules.dtype,
                    query_rows=given.axis,
                    entity_rows=side.column_axis,
                    layout=rules.layout,
                )
                embeddings.check_shape((given.height, side.columns), (given.each, "candidate"))
            opened[key] = embeddings
        sizes = [embeddings.nbytes for embeddings in opened.values()]
        counted = []
        with watching(rules.progress, sum(sizes)) as watch:
            for i, (key, embeddings) in enumerate(opened.items()):
                side = self.sides[key]
                rows = side.rows_of(unique).rows
                first_rows = rows[first_equals(side.rows)]
                title = name or key
                mismatched = mismatched_vectors(title, embeddings, rows, first_rows, side.targets)
                filter_lists, candidate_lists = side.selections()
                with argument_names(scores=title):
                    ranks = rank_open_embeddings(
                        embeddings,
                        side.targets,
                        rules,
                        rows=np.where(mismatched, rows, first_rows),  # Equal rows are read once.
                        filter=filter_lists,
                        candidates=candidate_lists,
                        block=options.get("block"),
                        watch=watch_of_part(watch, sizes, i),
                    )
                if rules.audit:
                    ranks = with_mismatched(ranks, mismatched)
                counted.append(ranks)
        return self._make_report(counted)

    def _bias_by_side(self, bias: Any) -> Mapping[str, Any]:
        """Return the bias of each side that has one: the same for all, or one by side."""
        if not isinstance(bias, Mapping):
            return dict.fromkeys(self.sides, bias)
        for key in bias:
            if key not in self.sides:
                expected = f"sides of the task ({', '.join(self.sides)})"
                raise InputValueError("bias", expected=expected, got=repr(key))
        return bias

    def _evaluate_scores(
        self, scores: BySide, name: str = "", unique: bool = False, **options: Unpack[ScoreOptions]
    ) -> AnyReport:
        """Evaluate score matrices, in memory or in files; `progress` counts the bytes of all."""
        rules = read_rules(options, ScoreOptions)
        io = options.get("io")
        listener = as_listener(rules.progress)
        scores_of_side = self._by_side(scores, "scores", name)
        self._check_rows(name)
        self._check_columns()
        counted = []
        opened: dict[str, Store] = {}
        # All sides are opened first, so that a missing one is reported before the others are
        # counted.
        for key, value in scores_of_side.items():
            side = self.sides[key]
            given = side.rows_of(unique)
            with argument_names(scores=name or key):
                table = by_position("scores", value, given.axis, side.column_axis)
                store = cast("Store", read_scores(table, rules.dtype, tiled=True))
                check_score_shape(shape_of(store), (given.height, side.columns), given.each)
            opened[key] = store
        sizes = [store.nbytes for store in opened.values()]
        tellers = split_progress(reporter(listener, sum(sizes)), sizes)
        for (key, store), tell in zip(opened.items(), tellers, strict=True):
            side = self.sides[key]
            ranks = _rank_stored(store, side, name or key, rules, unique=unique, io=io, tell=tell)
            counted.append(ranks)
        return self._make_report(counted)

    def _rank_lists(
        self, lists: BySide, name: str = "", unique: bool = False, **options: Unpack[ListOptions]
    ) -> list[Ranks]:
        """Rank the tasks of each side by lists of the top candidates."""
        rules = read_rules(options, ListOptions)
        counted = []
        for key, value in self._by_side(lists, "lists", name).items():
            side = self.sides[key]
            title = name or key
            lists_of_ids = value
            if isinstance(value, TopK):  # The ids of a TopK are positions.
                lists_of_ids = as_lists(value.ids, value.scores, rules.dtype, title)
            elif not isinstance(value, CandidateLists):
                lists_of_ids = side.vocabulary.lists_of(title, value)
            given = side.rows_of(unique)
            number = len(lists_of_ids.indptr) - 1
            if number != given.height:
                expected = f"{given.height} lists, one for each {given.each}"
                raise InputValueError(title, expected=expected, got=number)
            filter_lists, candidates = side.selections()
            sizes: Any = None
            if self.protocol.candidates == LISTED:
                sizes = LISTED
            elif candidates is not None:
                filter_lists, sizes = candidates_of_lists(lists_of_ids, given.rows, side)
            ranks = counting.lists.rank_open_lists(
                lists_of_ids,
                side.targets,
                side.columns,
                rules,
                rows=given.rows,
                filter=filter_lists,
                sizes=sizes,
            )
            counted.append(ranks)
        return counted

    # -- arguments by side -------------------------------------------------------------------------

    def _by_side(
        self,
        values: BySide,
        what: str,
        name: str = "",
        arguments: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return what was handed over for the sides: all are required, no others allowed.

        `arguments` says by side under which name it was handed over. Default: that of the side.
        """
        if arguments is None:
            arguments = {key: key for key in self.sides}
        for key, argument in arguments.items():
            if values.get(argument) is None:
                expected = f"{what} for the side {key!r}"
                raise InputTypeError(name or argument, expected=expected, got="None")
        for argument, value in values.items():
            if argument not in arguments.values() and value is not None:
                expected = f"None, as the sides of the task are {', '.join(self.sides)}"
                raise InputTypeError(argument, expected=expected)
        return {key: values[argument] for key, argument in arguments.items()}

    # -- from ranks to a report --------------------------------------------------------------------

    def _make_report(
        self, counted: Iterable[Ranks], report_of: Callable[[Ranks], AnyReport] | None = None
    ) -> AnyReport:
        """Report the ranks of the sides.

        `report_of` makes it of the ranks of all sides. Default: as all of the task's reports.
        """
        if report_of is None:
            report_of = self._report
        protocol = self.protocol
        fields = {field: getattr(protocol, field) for field in _FIELDS}
        labelled = map(SideTasks.labelled, self.sides.values(), counted)
        joined = join_ranks([each.with_protocol(**fields) for each in labelled])
        joined = joined._with(origins=(self._origin,))
        if protocol.files:  # Files of the task come before those of its scores.
            joined = joined.with_protocol(files=protocol.files + joined.protocol.files)
        return report_of(joined)


def _rank_stored(
    store: Store,
    side: SideTasks,
    argument: str,
    rules: Rules,
    *,
    unique: bool,
    io: IoMode | None,
    tell: Callable[[int], None],
) -> Ranks:
    """Rank the tasks of a side by scores in a store, which tells how many bytes are done."""
    rows = side.rows_of(unique).rows
    filter_lists, candidates = side.selections()
    tasks = (side.targets, rows, filter_lists, candidates)
    with argument_names(scores=argument):
        job = prepare_job(store.shape, *tasks, rules)
        counts, device = count_source(StoreSource(store, io), job, report_progress=tell)
    ranks = job.ranks(counts, store.dtype, store.files, device)
    first_rows = rows[first_equals(side.rows)]
    look_at_stored_rows(argument, store, rows, first_rows, side.targets)
    if rules.audit:
        mismatched = mismatched_stored_rows(store, rows, first_rows, io or store.io)
        ranks = with_mismatched(ranks, mismatched)
    return ranks


def split_progress(
    report_progress: Callable[..., None], sizes: Sequence[int]
) -> list[Callable[[int], None]]:
    """Make what each of several counts of some sizes calls with how much of it is done.

    Examples
    --------
    >>> first, second = split_progress(print, [100, 300])
    >>> second(60)
    160
    """
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [lambda done, *_, start=start: report_progress(start + done) for start in starts]
