"""One task for every protocol: its sides, evaluated by callables, vectors, scores or lists.

A protocol (link prediction, alignment, retrieval) makes sides from its facts: for each the distinct
queries, the query of each task, the right answers, and what is left out. What comes after that is
here, once for all of them. A protocol of several sides names an argument for each of them, and
hands them over by side; those of one side have the methods of `OneSidedTask`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, cast

from ..counting.lists import rank_lists
from ..counting.ranking import rank
from ..embeddings.device_embeddings import open_in_place
from ..embeddings.scoring import TopK, rank_open_embeddings
from ..embeddings.watching import watch_of_part, watching
from ..inputs.arrays import ReadOnlyArrays
from ..inputs.errors import InputTypeError, InputValueError, renamed
from ..inputs.frames import check_columns, frame_array, is_frame
from ..inputs.naming import public
from ..inputs.progress_listeners import as_listener
from ..inputs.rules import (
    BatchOptions,
    EmbeddingOptions,
    ListOptions,
    RuleOptions,
    read_rules,
    with_options,
)
from ..ranks.container import Ranks, concatenate
from ..reporting import Report, report
from ..stores import Store, owned, read_scores, shape_of
from .batches import check_score_shape, rank_batches
from .query_rows import merge_rows, mismatched_score_rows

if TYPE_CHECKING:
    import os

    from ..inputs.progress_listeners import Listener, Progress
    from ..inputs.words import IoMode, Similarity
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from .side_tasks import SideTasks

AnyReport = TypeVar("AnyReport")  # what a protocol makes of its ranks
BySide = Mapping[str, Any]


class VectorOptions(EmbeddingOptions, total=False):
    """Options of evaluating vectors: those, and how vectors make scores."""

    similarity: Similarity
    bias: Any
    block: int | None


# What the task knows of the protocol of its ranks; counting knows the rest.
_FIELDS = ("filter", "filter_rule", "candidates", "sampled", "split")


class Task(ReadOnlyArrays, Generic[AnyReport]):
    """The tasks of a protocol by side, and the protocol that their ranks carry.

    The four ways to evaluate take what a user handed over by side: what a side of the task needs is
    required, and what belongs to another side is refused. Messages have the side's name, or `name`,
    where an argument is not named after its side.

    Parameters
    ----------
    sides : mapping of str to SideTasks
        By name, in the order of their tasks in Ranks.
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

    def _report(self, ranks: Ranks) -> AnyReport:
        """Report the ranks of all sides; a protocol may weight or group them."""
        return cast("AnyReport", report(ranks))

    def _check_columns(self) -> None:
        """Say what a user should know before columns are taken for candidates."""

    def _check_rows(self, name: str) -> None:
        """Refuse rows that nobody can tell the queries of."""

    # -- four ways to evaluate ---------------------------------------------------------------------

    def _evaluate(
        self, scorers: BySide, *, name: str = "", **options: Unpack[BatchOptions]
    ) -> AnyReport:
        """Evaluate callables f(queries (b, c)) -> scores (b, columns).

        `progress` counts the queries of all sides.
        """
        progress = as_listener(read_rules(options, BatchOptions).progress)
        of_sides = self._by_side(scorers, "a callable", name)
        for key, scorer in of_sides.items():
            if not callable(scorer):
                got = type(scorer).__name__
                raise InputTypeError(name or key, expected="a callable", got=got)
        listeners = split_progress(progress, [len(side.queries) for side in self.sides.values()])
        counted = []
        for (key, scorer), listener in zip(of_sides.items(), listeners, strict=True):
            options["progress"] = listener
            side = self.sides[key].under_all_filters()
            with renamed(scores=name or key, blocks=name or key):
                ranks = rank_batches(scorer, side, **options)
            counted.append(self.sides[key].labelled_by_filter(ranks))
        self._check_columns()  # now, for a callable may read the order
        return self._make_report(counted)

    def _evaluate_embeddings(
        self,
        queries: BySide,
        candidates: BySide,
        *,
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
        biases = self._biases(options.get("bias"))
        if not unique:
            self._check_rows(name)
        self._check_columns()
        similarity, dtype = options.get("similarity", "dot"), rules.dtype
        opened = {}  # all arguments are checked before the first side is ranked
        for key, side in self.sides.items():
            title, kind, (height, noun) = name or key, side.candidate_kind, side.rows_of(unique)
            bias_title, bias = biases[key]
            vectors = of_queries[key], of_candidates[key]
            with renamed(queries=title, entities=kind, bias=bias_title):
                opened[key] = open_in_place(*vectors, similarity, bias, dtype)
                opened[key].check_shape((height, side.columns), (noun, "candidate"))
        counted, sizes = [], [pairs.nbytes for pairs in opened.values()]
        with watching(rules.progress, sum(sizes)) as watch:
            for i, (key, pairs) in enumerate(opened.items()):
                side, mismatched = self.sides[key].under_all_filters(), None
                rows = side.rows
                if not unique:
                    rows, mismatched = merge_rows(pairs.query_array, side.rows, side.test_rows)
                without, among = side.selections()
                # an error about a NaN score names the argument of the queries
                with renamed(scores=name or key):
                    ranks = rank_open_embeddings(
                        pairs,
                        side.targets,
                        rules,
                        rows=rows,
                        filter=without,
                        candidates=among,
                        block=options.get("block"),
                        watch=watch_of_part(watch, sizes, i),
                    )
                counted.append(self.sides[key].labelled_by_filter(ranks, mismatched))
        return self._make_report(counted)

    def _evaluate_scores(
        self,
        scores: BySide,
        *,
        name: str = "",
        unique: bool = False,
        io: IoMode | None = None,
        **options: Unpack[RuleOptions],
    ) -> AnyReport:
        """Evaluate score matrices, in memory or in files; `progress` counts the bytes of all."""
        rules = read_rules(options)
        progress = as_listener(rules.progress)
        of_sides = self._by_side(scores, "scores", name)
        if not unique:
            self._check_rows(name)
        self._check_columns()
        counted = []
        with ExitStack() as stack:
            # open all sides first, so that a missing one is reported before the others are counted
            matrices = {}
            for key, value in of_sides.items():
                side, title = self.sides[key], name or key
                check_columns(title, value, side.names)
                table = frame_array(title, value) if is_frame(value) else value
                matrix = read_scores(table, rules.dtype, title, io=io, tiled=progress is not None)
                matrices[key] = stack.enter_context(owned(matrix, table))
                height, noun = side.rows_of(unique)
                check_score_shape(title, shape_of(matrices[key]), (height, side.columns), noun)
            sizes = [each.nbytes if isinstance(each, Store) else 0 for each in matrices.values()]
            listeners = split_progress(progress, sizes)
            for (key, matrix), listener in zip(matrices.items(), listeners, strict=True):
                options["progress"] = listener
                side, mismatched = self.sides[key].under_all_filters(), None
                without, among = side.selections()
                with renamed(scores=name or key):
                    ranks = rank(
                        matrix,
                        side.targets,
                        rows=side.rows if unique else side.test_rows,
                        filter=without,
                        candidates=among,
                        io=io,
                        **options,
                    )
                    if rules.audit and not unique:
                        mismatched = mismatched_score_rows(matrix, side.rows, side.test_rows, io)
                counted.append(self.sides[key].labelled_by_filter(ranks, mismatched))
        return self._make_report(counted)

    def _evaluate_lists(
        self,
        lists: BySide,
        *,
        name: str = "",
        unique: bool = False,
        **options: Unpack[ListOptions],
    ) -> AnyReport:
        """Evaluate lists of the best candidates: `TopK`, or ids in order alone."""
        of_sides = self._by_side(lists, "lists", name)
        counted = []
        for key, value in of_sides.items():
            side, title = self.sides[key].under_all_filters(), name or key
            if side.candidates is not None:
                has = f"the candidates here are {self.protocol.candidates}"
                raise InputValueError(title, f"lists are of all candidates, {has}; evaluate scores")
            ids, scores = value if isinstance(value, TopK) else (value, None)
            in_two_arrays = isinstance(ids, tuple) and len(ids) == 2
            count = len(ids[1]) - 1 if in_two_arrays else len(ids)
            height, noun = side.rows_of(unique)
            if count != height:
                expected = f"{height} lists, one for each {noun}"
                raise InputValueError(title, expected=expected, got=count)
            with renamed(ids=title):
                ranks = rank_lists(
                    ids,
                    scores,
                    side.targets,
                    candidates=side.columns,
                    rows=side.rows if unique else side.test_rows,
                    filter=side.selections()[0],
                    **options,
                )
            counted.append(self.sides[key].labelled_by_filter(ranks))
        return self._make_report(counted)

    # -- arguments by side -------------------------------------------------------------------------

    def _by_side(
        self, values: BySide, what: str, name: str = "", *, by_kind: bool = False
    ) -> dict[str, Any]:
        """Return what was handed over for the sides: all are required, no others allowed.

        It was handed over by side, or `by_kind` of the candidates of the sides.
        """
        arguments = {side: side for side in self.sides}
        if by_kind:
            arguments = {key: side.candidate_kind for key, side in self.sides.items()}
        for side, argument in arguments.items():
            if values.get(argument) is None:
                expected = f"{what} for the side {side!r}"
                raise InputTypeError(name or argument, expected=expected, got="None")
        for argument, value in values.items():
            if argument not in arguments.values() and value is not None:
                known = " and ".join(map(repr, self.sides))
                no_side = f"the task has no side {argument.removesuffix('s')!r}, but {known}"
                raise InputTypeError(argument, expected=f"None, for {no_side}")
        return {side: values[argument] for side, argument in arguments.items()}

    def _biases(self, bias: Any) -> dict[str, tuple[str, Any]]:
        """Return what messages call the bias of each side, and its values."""
        if not isinstance(bias, Mapping):
            return dict.fromkeys(self.sides, ("bias", bias))
        for key in bias:
            if key not in self.sides:
                expected = f"sides of the task ({', '.join(self.sides)})"
                raise InputValueError("bias", expected=expected, got=repr(key))
        return {side: (f'bias["{side}"]', bias.get(side)) for side in self.sides}

    # -- from ranks to a report --------------------------------------------------------------------

    def _make_report(self, counted: Iterable[Sequence[Ranks]]) -> AnyReport:
        """Report the labelled ranks of the sides under each filter; return the first report."""
        protocols = self.protocols or {"": self.protocol}
        reports: dict[str, Any] = {}
        for (name, protocol), ranks in zip(
            protocols.items(), zip(*counted, strict=True), strict=True
        ):
            fields = {field: getattr(protocol, field) for field in _FIELDS}
            reports[name] = self._report(
                concatenate([each.with_protocol(**fields) for each in ranks])
            )
        first = next(iter(reports.values()))
        return cast("AnyReport", first._beside(reports) if self.protocols else first)


class OneSidedTask(Task[AnyReport]):
    """A task with one side, whose scores, vectors and callables need no name of it."""

    @property
    def answers(self) -> SideTasks:
        """The tasks, one for each right answer, in the order of queries and entities."""
        (side,) = self.sides.values()
        return side

    @with_options(BatchOptions)
    def evaluate(self, scorer: Callable[[Any], Any], **options: Unpack[BatchOptions]) -> AnyReport:
        """Evaluate a model by a callable that scores batches of queries.

        Parameters
        ----------
        scorer : callable
            f(queries) -> scores: queries (b, ...) int64, rows of ``answers.queries``, each once and
            in order; scores (b, entities), numpy or a torch CPU tensor.
        batch_size : int, optional
            The number of queries per batch. Default: as many as have about 64 MB of scores.
        device : str or torch.device, optional
            Where the callable wants its queries as a tensor of torch. Default: a numpy array.
        order, nan, dtype, threads, audit : optional
            As in `truerank.rank`.
        progress : callable or bool, optional
            Called with a `Progress` after each batch, in queries. True: a bar of tqdm or rich.

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
        return self._evaluate({self.answers.side: scorer}, name="scorer", **options)

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
        similarity, bias, block, nan, dtype, threads, audit, progress : optional
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
        0.5833333333333333
        """
        side = self.answers
        named, candidates = {side.side: queries}, {side.candidate_kind: entities}
        return self._evaluate_embeddings(named, candidates, name="queries", **options)

    @with_options(RuleOptions)
    def evaluate_scores(
        self, scores: Any, *, io: IoMode | None = None, **options: Unpack[RuleOptions]
    ) -> AnyReport:
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
        return self._evaluate_scores({self.answers.side: scores}, name="scores", io=io, **options)

    @with_options(ListOptions)
    def evaluate_lists(
        self, ids: Any, scores: Any = None, **options: Unpack[ListOptions]
    ) -> AnyReport:
        """Evaluate lists of the best candidates, which may miss right answers.

        A right answer that its list misses is tied with all candidates that the list does not have
        and that are not left out: the optimistic and the pessimistic rank are its bounds.

        Parameters
        ----------
        ids : TopK, or lists as `truerank.rank_lists` takes them
            A list for each query, in the order of their ids or positions.
        scores : array_like, (values, indptr), list of lists, or None
            Their scores, of the same form; None: a `TopK` has them, or the order says all.
        order, nan, dtype, threads, progress : optional
            As in `truerank.rank_lists`.

        Returns
        -------
        Report, or RetrievalReport in retrieval

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank_lists` does, for another number of lists, and for candidates that are
            not all.

        Examples
        --------
        >>> from truerank.link_prediction import ComplexQueries
        >>> task = ComplexQueries([("a", ("r",))], None, [[1]], structures="1p", entities=3)
        >>> task.evaluate_lists([[2, 1]])["mr"]
        2.0
        """
        lists = ids if isinstance(ids, TopK) else TopK(ids, scores)
        return self._evaluate_lists({self.answers.side: lists}, name="ids", **options)


def split_progress(progress: Listener | None, sizes: Sequence[int]) -> list[Listener | None]:
    """Make a callback for each of several counts, so that `progress` sees one count of them all.

    Parameters
    ----------
    progress : callable, optional
        Called with a `Progress` over all counts.
    sizes : sequence of int
        The sizes of the counts, in their order: bytes, or what the unit of `Progress` says.

    Examples
    --------
    >>> from truerank import Progress
    >>> first, second = split_progress(lambda p: print(p.done, "of", p.total), [100, 300])
    >>> second(Progress(60, 300, 0.5))
    160 of 400
    """
    if progress is None:
        return [None] * len(sizes)
    start = time.monotonic()

    def show(before: int, part: Progress) -> object:
        done, seconds = before + part.done, time.monotonic() - start
        return progress(part._replace(done=done, total=sum(sizes), seconds=seconds))

    return [partial(show, sum(sizes[:i])) for i in range(len(sizes))]


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
