"""One task for every protocol: its sides, evaluated by callables, vectors, scores or lists.

A protocol (link prediction, alignment, retrieval) makes sides from its facts: for each the distinct
queries, the query of each task, the right answers, and what is left out. What comes after that is
here, once for all of them. A protocol of several sides names an argument for each of them, and
hands them over by side; those of one side have the methods of `OneSidedTask`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack, cast

import numpy as np

from ..counting.driver import count_source
from ..counting.job import SCORES, prepare_job
from ..counting.lists import rank_open_lists
from ..counting.ranking import rank
from ..counting.sources import StoreSource
from ..embeddings.scoring import TopK, rank_open_embeddings
from ..embeddings.vectors import QUERIES, Embeddings
from ..embeddings.watching import watch_of_part, watching
from ..inputs.candidate_lists import as_lists
from ..inputs.checks import flag
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.frames import check_columns, frame_array, is_frame
from ..inputs.naming import public
from ..inputs.progress_listeners import as_listener, reporter
from ..inputs.rules import (
    BatchOptions,
    EmbeddingOptions,
    ListOptions,
    RuleOptions,
    read_rules,
    with_options,
)
from ..inputs.words import LISTED
from ..ranks.container import Ranks, join_ranks
from ..reporting import Report, report
from ..splits.vocabularies import Vocabulary
from ..stores import Store, owned, read_scores, shape_of
from .batches import check_score_shape, rank_batches
from .listed_candidates import candidates_of_lists
from .pair_batches import rank_pairs
from .parts import chosen_positions, part_of_side, units_of
from .query_rows import first_tasks, mismatched_rows, mismatched_stored_rows, with_mismatched
from .side_tasks import SideTasks

if TYPE_CHECKING:
    import os

    from ..inputs.arrays import IntArray
    from ..inputs.words import IoMode, Similarity
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol

AnyReport = TypeVar("AnyReport")  # what a protocol makes of its ranks
BySide = Mapping[str, Any]


class ScoreOptions(RuleOptions, total=False):
    """Options of evaluating scores: those, and how files are read."""

    io: IoMode | None


class VectorOptions(EmbeddingOptions, total=False):
    """Options of evaluating vectors: those, and how vectors make scores."""

    similarity: Similarity
    bias: Any
    block: int | None


# What the task knows of the protocol of its ranks; counting knows the rest.
_FIELDS = ("filter", "filter_rule", "candidates", "sampled", "split")


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
    protocols : mapping of str to Protocol, optional
        By the name of the filter if the sides have several: the first one is `protocol`.
    """

    sides: dict[str, SideTasks]
    protocol: Protocol
    protocols: dict[str, Protocol]

    def __init__(
        self,
        sides: Mapping[str, SideTasks],
        protocol: Protocol,
        protocols: Mapping[str, Protocol] | None = None,
    ) -> None:
        self.sides = dict(sides)
        self.protocol = protocol
        self.protocols = dict(protocols or {})
        vars(self).update(self.sides)

    def _report(self, ranks: Ranks) -> AnyReport:
        """Report the ranks of all sides; a protocol may weight or group them."""
        return cast("AnyReport", report(ranks))

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
        whatever the order of the parts. Units, labels, protocol and sampled negatives are those of
        the whole; nothing is drawn or warned of again.

        Parameters
        ----------
        index : slice, or array_like of int, shape (k,)
            The units by position. The part has them in this order. None at all make an empty part.

        Returns
        -------
        Task
            Of the same class. Callables are asked for the queries of the part only. Matrices, lists
            and vectors of queries have the rows of its units, in their order: a row for each unit
            (in link prediction, a row for each value of a qualifier on that side), or with
            ``unique=True`` for each of its distinct queries, as in ``part.tail.queries``. In
            alignment, matrices and vectors are those of both graphs as a whole. Lists by name may
            have those of other parts, too. `audit` is that of the whole.

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
        part = copy.copy(self)  # and no reference to the whole, so that a part is cheap to send
        part._units = self._units[positions]
        part.sides = {}
        numbers = {name: self._count_joined(side) for name, side in self.sides.items()}
        first, of_all = 0, sum(numbers.values())
        for name, side in self.sides.items():
            part.sides[name] = part_of_side(
                side, part._units, numbers[name], first=first, of_all=of_all
            )
            first += numbers[name]
        vars(part).update(part.sides)
        part._become_part(self, positions)
        return part

    @cached_property
    def _units(self) -> IntArray:
        """The units in the order of the test set; those of a part in its own order."""
        return units_of(self.sides.values())

    def _count_joined(self, side: SideTasks) -> int:
        """Return how many tasks of a side are in the ranks of a report, from the first one on."""
        return len(side)

    def _become_part(self, source: Self, positions: IntArray) -> None:
        """Make what a protocol keeps beside its sides that of some units of the source.

        `self` is a copy of the source, whose sides are those of the part already.
        """

    # -- four ways to evaluate ---------------------------------------------------------------------

    def _evaluate(
        self, scorers: BySide, name: str = "", **options: Unpack[BatchOptions]
    ) -> AnyReport:
        """Evaluate callables f(queries (b, c)) -> scores (b, columns), or of pairs.

        With `pairs` they are f(queries (p, c), candidates (p,)) -> scores (p,).

        `progress` counts the queries of all sides.
        """
        progress = read_rules(options, BatchOptions).progress
        rank_sides = rank_pairs if flag("pairs", options.pop("pairs", False)) else rank_batches
        of_sides = self._by_side(scorers, "a callable", name)
        for key, scorer in of_sides.items():
            if not callable(scorer):
                got = type(scorer).__name__
                raise InputTypeError(name or key, expected="a callable", got=got)
        sizes = [len(side.queries) for side in self.sides.values()]
        reports = split_report(reporter(progress, sum(sizes), "queries"), sizes)
        counted = []
        for (key, scorer), tell in zip(of_sides.items(), reports, strict=True):
            side = self.sides[key].under_all_filters()
            counted.append(rank_sides(scorer, side, name or key, tell, **options))
        self._check_columns()  # now, for a callable may read the order
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
        of_queries = self._by_side(queries, "vectors", name)
        of_candidates = self._by_side(candidates, "vectors", by_kind=True)
        bias = options.get("bias")
        biases = bias if isinstance(bias, Mapping) else dict.fromkeys(self.sides, bias)
        if unknown := [key for key in biases if key not in self.sides]:
            expected = f"sides of the task ({', '.join(self.sides)})"
            raise InputValueError("bias", expected=expected, got=repr(unknown[0]))
        self._check_rows(name)
        self._check_columns()
        opened = {}  # all arguments are checked before the first side is ranked
        for key, side in self.sides.items():
            title, (_, height, noun) = name or key, side.rows_of(unique)
            score_names = QUERIES.score_names._replace(argument=title)
            names = QUERIES._replace(
                queries=title, entities=side.candidate_kind, score_names=score_names
            )
            how = options.get("similarity", "dot"), biases.get(key), rules.dtype
            opened[key] = Embeddings(
                of_queries[key], of_candidates[key], *how, names=names, layout=rules.layout
            )
            opened[key].check_shape((height, side.columns), (noun, "candidate"))
        counted, sizes = [], [pairs.nbytes for pairs in opened.values()]
        with watching(rules.progress, sum(sizes)) as watch:
            for i, (key, pairs) in enumerate(opened.items()):
                side = self.sides[key].under_all_filters()
                own_rows, *_ = side.rows_of(unique)
                firsts, (without, among) = own_rows[first_tasks(side.rows)], side.selections()
                mismatched = mismatched_rows(pairs.query_array, own_rows, firsts)
                ranks = rank_open_embeddings(
                    pairs,
                    side.targets,
                    rules,
                    rows=np.where(mismatched, own_rows, firsts),
                    filter=without,
                    candidates=among,
                    block=options.get("block"),
                    watch=watch_of_part(watch, sizes, i),
                )
                counted.append(with_mismatched(ranks, mismatched) if rules.audit else ranks)
        return self._make_report(counted)

    def _evaluate_scores(
        self, scores: BySide, name: str = "", unique: bool = False, **options: Unpack[ScoreOptions]
    ) -> AnyReport:
        """Evaluate score matrices, in memory or in files; `progress` counts the bytes of all."""
        rules, io = read_rules(options, ScoreOptions), options.get("io")
        listener = as_listener(rules.progress)
        of_sides = self._by_side(scores, "scores", name)
        self._check_rows(name)
        self._check_columns()
        counted, opened = [], dict[str, Store]()
        with ExitStack() as stack:
            # open all sides first, so that a missing one is reported before the others are counted
            for key, value in of_sides.items():
                side, title = self.sides[key], name or key
                check_columns(title, value, side.names)
                table = frame_array(title, value) if is_frame(value) else value
                matrix = read_scores(table, rules.dtype, title, tiled=True)
                store = cast("Store", stack.enter_context(owned(matrix, table)))
                opened[key] = store
                _, height, noun = side.rows_of(unique)
                check_score_shape(title, shape_of(store), (height, side.columns), noun)
            sizes = [store.nbytes for store in opened.values()]
            reports = split_report(reporter(listener, sum(sizes)), sizes)
            for (key, store), tell in zip(opened.items(), reports, strict=True):
                side = self.sides[key].under_all_filters()
                rows, *_ = side.rows_of(unique)
                tasks = side.targets, rows, *side.selections()
                score_names = SCORES._replace(argument=name or key)
                job = prepare_job(store.shape, *tasks, rules, score_names=score_names)
                counts, device = count_source(StoreSource(store, io), job, report_progress=tell)
                ranks = job.ranks(counts, store.dtype, store.files, device)
                if rules.audit:
                    firsts = rows[first_tasks(side.rows)]
                    mismatched = mismatched_stored_rows(store, rows, firsts, io or store.io)
                    ranks = with_mismatched(ranks, mismatched)
                counted.append(ranks)
        return self._make_report(counted)

    def _evaluate_lists(
        self, lists: BySide, name: str = "", unique: bool = False, **options: Unpack[ListOptions]
    ) -> AnyReport:
        """Evaluate lists of the best candidates: `TopK`, or ids in order alone."""
        rules = read_rules(options, ListOptions)
        counted = []
        for key, value in self._by_side(lists, "lists", name).items():
            side, title = self.sides[key].under_all_filters(), name or key
            of_columns = Vocabulary(side.columns, side.names, side.candidate_kind)
            if isinstance(value, TopK):
                listed, scores = value
            else:
                listed, scores = of_columns.lists_of(title, value), None
            ids = as_lists(listed, scores, rules.dtype, title)
            rows, height, noun = side.rows_of(unique)
            if len(ids.indptr) != height + 1:
                expected = f"{height} lists, one for each {noun}"
                raise InputValueError(title, expected=expected, got=len(ids.indptr) - 1)
            without, among = side.selections()
            sizes: Any = None
            if self.protocol.candidates == LISTED:
                sizes = LISTED
            elif among is not None:
                without, sizes = candidates_of_lists(ids, rows, side)
            tasks: dict[str, Any] = {"rows": rows, "filter": without, "sizes": sizes}
            counted.append(rank_open_lists(ids, side.targets, side.columns, rules, **tasks))
        return self._make_report(counted)

    # -- arguments by side -------------------------------------------------------------------------

    def _by_side(
        self, values: BySide, what: str, name: str = "", *, by_kind: bool = False
    ) -> dict[str, Any]:
        """Return what was handed over for the sides: all are required, no others allowed.

        It was handed over by side, or `by_kind` of the candidates of the sides.
        """
        sides = self.sides.items()
        arguments = {key: side.candidate_kind if by_kind else key for key, side in sides}
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

    def _make_report(self, counted: Iterable[Ranks]) -> AnyReport:
        """Report the ranks of the sides under each filter; return the first report."""
        protocols = self.protocols or {"": self.protocol}
        labelled = map(SideTasks.labelled_by_filter, self.sides.values(), counted)
        reports: dict[str, Any] = {}
        of_filters = zip(*labelled, strict=True)
        for (name, protocol), ranks in zip(protocols.items(), of_filters, strict=True):
            fields = {field: getattr(protocol, field) for field in _FIELDS}
            joined = join_ranks([each.with_protocol(**fields) for each in ranks])
            reports[name] = self._report(joined)
        first = next(iter(reports.values()))
        return cast("AnyReport", first._beside(reports) if self.protocols else first)


class OneSidedTask(Task[AnyReport]):
    """A task with one side, "answers", whose scores, vectors and callables need no name of it.

    Its tasks are one for each right answer, in the order of queries and entities.
    """

    answers: SideTasks

    @with_options(BatchOptions, pairs=False)
    def evaluate(self, scorer: Callable[[Any], Any], **options: Unpack[BatchOptions]) -> AnyReport:
        """Evaluate a model by a callable that scores batches of queries.

        Parameters
        ----------
        scorer : callable
            f(queries) -> scores: queries (b, ...) int64, rows of ``answers.queries``, each once and
            in order; scores (b, entities), numpy or a torch CPU tensor.
        batch_size : int, optional
            The number of queries per batch. Default: as many as have about 64 MB of scores. Of
            pairs: their number; default: 65,536.
        device : str or torch.device, optional
            Where the callable wants its queries as a tensor of torch. Default: a numpy array.
        pairs : bool
            Whether the callable scores pairs: f(queries, candidates) -> scores, with queries
            (p, ...) and candidates (p,) int64, and scores (p,). It is asked for each pair of a
            query and one of its candidates once, and for nothing else.
        order, nan, dtype, threads, audit : optional
            As in `truerank.rank`.
        progress : callable or bool, optional
            Called with a `Progress` after each batch, in queries. True: a bar of tqdm.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank` does.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.retrieval import Task
        >>> scores = np.array([[3.0, 2.0, 9.0], [1.0, 0.5, 0.7]])
        >>> Task({0: [0, 1], 1: [2]}, entities=3).evaluate(lambda q: scores[q[:, 0]])["recall@2"]
        0.75
        """
        return self._evaluate({"answers": scorer}, "scorer", **options)

    @with_options(VectorOptions, similarity="dot")
    def evaluate_embeddings(
        self, queries: Any, entities: Any, **options: Unpack[VectorOptions]
    ) -> AnyReport:
        """Evaluate embeddings of queries against those of entities; scores are never stored.

        Parameters
        ----------
        queries : array_like, shape (queries, d), or path
            A vector for each query, in the order of their ids or positions.
        entities : array_like, shape (entities, d), or path
            A vector for each entity.
        similarity, layout, bias, block, nan, dtype, threads, audit, progress : optional
            As in `truerank.rank_embeddings`.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank_embeddings` does, and for another number of vectors.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.retrieval import Task
        >>> vectors = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
        >>> Task({0: [0, 1]}, entities=3).evaluate_embeddings(vectors[2:], vectors)["map"]
        0.5833333333333334
        """
        candidates = {"entities": entities}
        return self._evaluate_embeddings({"answers": queries}, candidates, "queries", **options)

    @with_options(ScoreOptions)
    def evaluate_scores(self, scores: Any, **options: Unpack[ScoreOptions]) -> AnyReport:
        """Evaluate a matrix of scores, in memory or in files.

        Parameters
        ----------
        scores : array_like, shape (queries, entities), or files
            A row for each query, in the order of their ids or positions, as `truerank.rank` takes
            them.
        order, nan, dtype, threads, audit, io, progress : optional
            As in `truerank.rank`.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank` does, and for scores of another shape.

        Examples
        --------
        >>> from truerank.retrieval import Task
        >>> task = Task({0: {0: 3, 1: 1}}, entities=3)
        >>> task.evaluate_scores([[0.2, 0.9, 0.5]]).to_dict(["mrr", "recall@1"])
        {'mrr': 1.0, 'recall@1': 0.5}
        """
        return self._evaluate_scores({"answers": scores}, "scores", **options)

    @with_options(ListOptions)
    def evaluate_lists(
        self, ids: Any, scores: Any = None, **options: Unpack[ListOptions]
    ) -> AnyReport:
        """Evaluate lists of the best candidates, which may miss right answers.

        A right answer that its list misses is tied with all candidates of the task that the list
        does not have and that are not left out: the optimistic and the pessimistic rank are its
        bounds.

        Parameters
        ----------
        ids : TopK, or lists as `truerank.rank_lists` takes them
            A list for each query, in the order of their ids or positions.
        scores : array_like, (indptr, values), list of lists, or None
            Their scores, of the same form; None: a `TopK` has them, or the order says all.
        order, nan, dtype, threads, progress : optional
            As in `truerank.rank_lists`.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank_lists` does, for another number of lists, and for what is listed and
            no candidate of its query, unless it is filtered or a right answer.

        Examples
        --------
        >>> from truerank.link_prediction import ComplexQueries
        >>> task = ComplexQueries([("a", ("r",))], None, [[1]], structures="1p", entities=3)
        >>> task.evaluate_lists([[2, 1]])["mr"]
        2.0
        """
        lists = ids if isinstance(ids, TopK) else TopK(ids, scores)
        return self._evaluate_lists({"answers": lists}, "ids", **options)


def split_report(report: Callable[..., None], sizes: Sequence[int]) -> list[Callable[[int], None]]:
    """Make a report for each of several counts, which tells `report` of how much they are done.

    Examples
    --------
    >>> first, second = split_report(print, [100, 300])
    >>> second(60)
    160
    """
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [lambda done, *_, start=start: report(start + done) for start in starts]


@public("truerank")
@with_options(RuleOptions)
def evaluate(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    io: IoMode | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    side: LabelsLike | None = None,
    by: LabelsLike | None = None,
    **options: Unpack[RuleOptions],
) -> Report:
    """Rank the true candidates and report the metrics: `report(rank(...))`.

    The parameters and errors are those of `rank`. The report keeps the ranks as `.ranks`;
    `report(result.ranks, seed=...)` draws the kind "random" with another seed.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,), or files
        The scores of the candidates, in memory or in files.
    targets : array_like of int, shape (n,), or int
        The column of the true candidate, per task.
    rows : array_like of int, shape (n,), optional
        The row of each task. Default: row i for task i.
    filter : selection, optional
        The candidates to leave out, per task; the true one always stays.
    candidates : selection or array_like of int, optional
        The only candidates to let in, per task or for all tasks.
    order : {"descending", "ascending"}
        Whether higher or lower scores are better.
    nan : {"raise", "worst", "omit"}
        The rule for NaN.
    dtype : optional
        The dtype of raw bytes, as "bfloat16".
    threads : int, optional
        The number of threads.
    audit : bool
        Whether to count NaN, infinities and ties with the best score as well.
    io : {"map", "read"}, optional
        How to read files.
    progress : callable or bool, optional
        As in `rank`: True shows a bar. A callable is
        called with a `Progress` after every block of scores.
    checkpoint : path-like, optional
        A file that stores the counts so far, from which a stopped call resumes.
    side : str or labels, optional
        The side of all tasks, as "tail", or of each; a report has the metrics of every side.
    by : str or labels, optional
        The group of each task, or "side"; see `report`.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank` and `report` do.

    Examples
    --------
    >>> import numpy as np
    >>> evaluate(np.array([[0.1, 0.9, 0.5]]), [2])["mrr"]
    0.5
    >>> scores = np.array([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]])
    >>> evaluate(scores, [2, 0], side=["head", "tail"], by=["likes", "knows"])["tail.mrr"]
    1.0
    """
    tasks: dict[str, Any] = {"rows": rows, "filter": filter, "candidates": candidates}
    ranks = rank(scores, targets, **tasks, io=io, checkpoint=checkpoint, **options)
    return report(ranks if side is None else ranks.with_labels(side=side), by=by)
