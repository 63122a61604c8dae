"""The shape of a task: its sides, and three ways to evaluate them.

A protocol (link prediction, alignment) makes `SideTasks`: for each side the distinct queries, the
query of each task, the right answers, and what is left out. `ProtocolTask` evaluates them by
callables that score batches of queries, by embeddings that are scored and counted at once, or by
score matrices in memory and in files. Protocols name the arguments of these three ways and pass
them on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Unpack

from ..counting.ranking import rank
from ..inputs.arrays import ReadOnlyArrays
from ..inputs.errors import InputTypeError, renamed, warn_user
from ..inputs.frames import check_columns, frame_array, is_frame
from ..inputs.progress_listeners import as_listener, reporter
from ..inputs.rules import BatchOptions, EmbeddingOptions, RuleOptions, read_rules
from ..ranks.container import Ranks, concatenate
from ..reporting import Report, report
from ..stores import Store
from .arguments import (
    Argument,
    biases_of,
    open_side_scores,
    read_side_vectors,
    size_of_scores,
    split_progress,
)
from .batches import rank_batches
from .query_rows import merge_rows, mismatched_score_rows

if TYPE_CHECKING:
    from ..inputs.words import IoMode, Similarity
    from ..ranks.protocol import Protocol
    from .side_tasks import SideTasks

Arguments = Mapping[str, Argument]  # by side
# What the task knows of the protocol of its ranks; counting knows the rest.
_FIELDS = ("filter", "filter_rule", "candidates", "sampled", "split")


class ProtocolTask(ReadOnlyArrays):
    """The tasks of a protocol by side, and the protocol that their ranks carry.

    A subclass makes the sides and has `evaluate`, `evaluate_embeddings` and `evaluate_scores` with
    its own names of arguments, which are those of its sides where there are several. It passes on
    an `Argument` (name and value) for every side that the protocol knows, as in
    ``self._evaluate_scores({"tail": Argument("tail", tail), ...}, unique=unique)``.
    Arguments for the sides of the task are required, those for other sides are refused.

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

    def _evaluate(
        self,
        scorers: Arguments,
        **options: Unpack[BatchOptions],
    ) -> Report:
        """Evaluate callables f(queries (b, c)) -> scores (b, columns), one for each side.

        `progress` counts the queries of all sides.
        """
        rules = read_rules(options, BatchOptions)
        total = sum(len(side.queries) for side in self.sides.values())
        tell, before = reporter(rules.progress, total, "queries"), 0
        arguments = self._check_arguments(scorers, "a callable")
        for name, scorer in arguments.values():
            if not callable(scorer):
                raise InputTypeError(name, expected="a callable", got=type(scorer).__name__)

        def report_queries(done: int) -> None:
            if total:
                tell(before + done)

        report_queries(0)
        ranks_of_sides = []
        for key, (name, scorer) in arguments.items():
            side = self.sides[key]
            with renamed(scores=name, blocks=name):
                ranks = rank_batches(
                    scorer,
                    side.under_all_filters(),
                    watch=report_queries,
                    **options,
                )
            before += len(side.queries)
            ranks_of_sides.append(side.labelled_by_filter(ranks))
        self._warn_of_columns()  # now, for a callable may read the order
        return self._report_filters(ranks_of_sides)

    def _evaluate_embeddings(
        self,
        queries: Arguments,
        entities: Arguments,
        *,
        bias: Any = None,
        unique: bool = False,
        similarity: Similarity = "dot",
        block: int | None = None,
        **options: Unpack[EmbeddingOptions],
    ) -> Report:
        """Evaluate embeddings of queries against those of the candidates, for each side.

        `bias` is one array for all sides, or a mapping of sides to arrays (those left out have
        none). `progress` counts the bytes of all sides.
        """
        from ..embeddings.scoring import rank_embeddings

        rules = read_rules(options, EmbeddingOptions)
        dtype, progress = rules.dtype, as_listener(rules.progress)
        query_arguments = self._check_arguments(queries, "vectors")
        entity_arguments = self._check_arguments(entities, "vectors")
        biases = biases_of(bias, self.sides)
        self._warn_of_columns()
        opened = {}
        for key, side in self._counted_sides().items():
            height = len(side.queries) if unique else side.height
            query_vectors = read_side_vectors(
                query_arguments[key], "queries", dtype, height, _row_noun(unique)
            )
            rows, mismatched = side.rows, None
            if not unique:
                rows, mismatched = merge_rows(query_vectors.on_host().array, side.rows, side.given)
            # all arguments are checked before the first side is ranked
            entity_vectors = read_side_vectors(
                entity_arguments[key], "entities", dtype, side.columns, "candidate"
            )
            opened[key] = side, query_vectors, entity_vectors, rows, mismatched
        ranks_of_sides = []
        sizes = [size_of_scores(queries, entities) for _, queries, entities, *_ in opened.values()]
        callbacks = split_progress(progress, sizes)
        for (key, given), options["progress"] in zip(opened.items(), callbacks, strict=True):
            side, query_vectors, entity_vectors, rows, mismatched = given
            without, candidates = side.selections()
            side_bias, name = biases[key], query_arguments[key].name
            # an error about a NaN score names the argument of the queries
            with renamed(
                queries=name, entities=entity_arguments[key].name, bias=side_bias.name, scores=name
            ):
                ranks = rank_embeddings(
                    *(query_vectors, entity_vectors, side.targets),
                    bias=side_bias.value,
                    similarity=similarity,
                    rows=rows,
                    filter=without,
                    candidates=candidates,
                    block=block,
                    **options,
                )
            ranks_of_sides.append(self.sides[key].labelled_by_filter(ranks, mismatched))
        return self._report_filters(ranks_of_sides)

    def _evaluate_scores(
        self,
        scores: Arguments,
        *,
        unique: bool = False,
        io: IoMode | None = None,
        **options: Unpack[RuleOptions],
    ) -> Report:
        """Evaluate score matrices, in memory or in files, for each side.

        `progress` counts the bytes of all sides.
        """
        rules = read_rules(options)
        progress = as_listener(rules.progress)
        arguments = self._check_arguments(scores, "scores")
        self._warn_of_columns()
        ranks_of_sides = []
        with ExitStack() as stack:
            # open all sides first, so that a missing one is reported before the others are counted
            matrices = {}
            sides = self._counted_sides()
            for key, argument in arguments.items():
                side = sides[key]
                check_columns(*argument, side.names)
                if is_frame(argument.value):
                    argument = argument._replace(value=frame_array(*argument))
                shape = len(side.queries) if unique else side.height, side.columns
                context = open_side_scores(
                    argument, rules.dtype, io, progress is not None, shape, _row_noun(unique)
                )
                matrices[key] = stack.enter_context(context)
            sizes = [each.nbytes if isinstance(each, Store) else 0 for each in matrices.values()]
            callbacks = split_progress(progress, sizes)
            for (key, matrix), options["progress"] in zip(matrices.items(), callbacks, strict=True):
                side, mismatched = sides[key], None
                rows = side.rows if unique else side.given
                without, candidates = side.selections()
                with renamed(scores=scores[key].name):
                    ranks = rank(
                        *(matrix, side.targets),
                        rows=rows,
                        filter=without,
                        candidates=candidates,
                        io=io,
                        **options,
                    )
                    if rules.audit and not unique:
                        mismatched = mismatched_score_rows(matrix, side.rows, side.given, io)
                ranks_of_sides.append(self.sides[key].labelled_by_filter(ranks, mismatched))
        return self._report_filters(ranks_of_sides)

    def _warn_of_columns(self) -> None:
        for note in self._notes_on_columns():
            warn_user(note)

    def _notes_on_columns(self) -> list[str]:
        """What a user should know before columns of scores are taken for candidates."""
        return []

    def _check_arguments(self, arguments: Arguments, what: str) -> dict[str, Argument]:
        """Return the arguments of the sides of the task: all are required, no others allowed."""
        names = {arguments[side].name for side in self.sides}
        for side, (name, value) in arguments.items():
            if side in self.sides and value is None:
                raise InputTypeError(name, expected=f"{what} for the side {side!r}", got="None")
            if name not in names and value is not None:
                known = " and ".join(map(repr, self.sides))
                expected = f"None, for the task has no side {side!r}, but {known}"
                raise InputTypeError(name, expected=expected)
        return {side: arguments[side] for side in self.sides}

    def _counted_sides(self) -> dict[str, SideTasks]:
        """Return the sides with their tasks under every filter, as they are counted."""
        return {key: side.under_all_filters() for key, side in self.sides.items()}

    def _make_report(
        self, ranks_of_sides: Iterable[Ranks], protocol: Protocol | None = None
    ) -> Report:
        """Report the ranks of the sides, in their order, under the protocol of the task."""
        fields = {name: getattr(protocol or self.protocol, name) for name in _FIELDS}
        return report(concatenate([ranks.with_protocol(**fields) for ranks in ranks_of_sides]))

    def _report_filters(self, ranks_of_sides: Iterable[Sequence[Ranks]]) -> Report:
        """Report the sides under each filter, of which each side has Ranks; return the first."""
        ranks_of_filters = zip(*ranks_of_sides, strict=True)
        if not self.protocols:
            (ranks,) = ranks_of_filters
            return self._make_report(ranks)
        reports = {
            name: self._make_report(ranks, protocol)
            for (name, protocol), ranks in zip(
                self.protocols.items(), ranks_of_filters, strict=True
            )
        }
        return next(iter(reports.values()))._beside(reports)


def _row_noun(unique: bool) -> str:
    return "distinct query" if unique else "query of the test as given"
