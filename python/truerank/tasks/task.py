"""The shape of a task: what a protocol asks on each side, and how scores of any kind answer it.

A protocol (link prediction, alignment) makes `SideTasks`: for each side the distinct queries, which
of them each task asks, the right answers, and what is left out. `ProtocolTask` evaluates them: by
callables that score batches of queries, by vectors that are scored and counted at once, or by score
matrices in memory and in files. Protocols name the arguments of these three ways and pass them on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ..counting.ranking import rank
from ..inputs.arrays import ReadOnlyArrays
from ..inputs.errors import InputTypeError, renamed
from ..ranks.container import Ranks, concatenate
from ..reporting import Report, report
from .arguments import Argument, biases_of, open_side_scores, read_side_vectors, split_progress
from .batches import rank_batches
from .query_rows import merge_rows, mismatched_score_rows

if TYPE_CHECKING:
    from ..counting.tiles import Progress
    from ..ranks.protocol import Protocol
    from .side_tasks import SideTasks

Arguments = Mapping[str, Argument]  # by side


class ProtocolTask(ReadOnlyArrays):
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
        asked = self._check_arguments(scorers, "a callable")
        for name, scorer in asked.values():
            if not callable(scorer):
                raise InputTypeError(name, expected="a callable", got=type(scorer).__name__)
        parts = []
        for key, (name, scorer) in asked.items():
            with renamed(scores=name, blocks=name):
                ranks = rank_batches(scorer, self.sides[key], batch_size=batch_size, **rules)
            parts.append(self.sides[key].labelled(ranks))
        return self._make_report(parts)

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

        asked, among = (
            self._check_arguments(queries, "vectors"),
            self._check_arguments(entities, "vectors"),
        )
        biases = biases_of(bias, self.sides)
        reads = {}
        for key, side in self.sides.items():
            height = len(side.queries) if unique else side.height
            asking = read_side_vectors(asked[key], "queries", dtype, height, _row_noun(unique))
            rows, mismatched = side.rows, None
            if not unique:
                rows, mismatched = merge_rows(asking.array, side.rows, side.given)
            # all are checked before the first is ranked
            others = read_side_vectors(among[key], "entities", dtype, side.columns, "candidate")
            reads[key] = asking, others, rows, mismatched
        parts = []
        for key, (asking, others, rows, mismatched) in reads.items():
            side = self.sides[key]
            without, candidates = side.selections()
            added, name = biases[key], asked[key].name
            # a score that is NaN is one of a query
            with renamed(queries=name, entities=among[key].name, bias=added.name, scores=name):
                ranks = rank_embeddings(
                    *(asking, others, side.targets),
                    bias=added.value,
                    rows=rows,
                    filter=without,
                    candidates=candidates,
                    dtype=dtype,
                    **rules,
                )
            parts.append(side.labelled(ranks, mismatched))
        return self._make_report(parts)

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
            for key, argument in self._check_arguments(scores, "scores").items():
                side = self.sides[key]
                shape = len(side.queries) if unique else side.height, side.columns
                found = open_side_scores(
                    argument, dtype, io, progress is not None, shape, _row_noun(unique)
                )
                matrices[key] = stack.enter_context(found)
            shown = split_progress(progress, list(matrices.values()))
            for (key, matrix), show in zip(matrices.items(), shown, strict=True):
                side, mismatched = self.sides[key], None
                rows = side.rows if unique else side.given
                without, candidates = side.selections()
                with renamed(scores=scores[key].name):
                    ranks = rank(
                        *(matrix, side.targets),
                        rows=rows,
                        filter=without,
                        candidates=candidates,
                        audit=audit,
                        io=io,
                        progress=show,
                        **rules,
                    )
                    if audit and not unique:
                        mismatched = mismatched_score_rows(matrix, side.rows, side.given, io)
                parts.append(side.labelled(ranks, mismatched))
        return self._make_report(parts)

    def _check_arguments(self, arguments: Arguments, what: str) -> dict[str, Argument]:
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

    def _make_report(self, parts: Iterable[Ranks]) -> Report:
        """The report of the sides, in their order, under the protocol of the task."""
        fields = ("filter", "candidates", "sampled", "split")
        common = {name: getattr(self.protocol, name) for name in fields}
        return report(concatenate([part.with_protocol(**common) for part in parts]))


def _row_noun(unique: bool) -> str:
    return "distinct query" if unique else "query of the test as given"
