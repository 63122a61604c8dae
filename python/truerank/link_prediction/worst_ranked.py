"""Error cases: the worst ranked triples, with the candidates that were ranked above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from ..embeddings.vectors import SIMILARITIES
from ..inputs.arithmetic import default_arithmetic
from ..inputs.checks import choice, integer
from ..inputs.errors import InputValueError
from ..inputs.naming import printable, public
from ..tasks.arguments import Argument, biases_of, ranks_of
from .top_candidates import Label, TaskCounts, TopCandidates, TopCandidateSearch
from .triples import SIDES

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..inputs.words import Similarity
    from ..ranks.container import Ranks
    from ..ranks.protocol import Protocol
    from ..reporting import Report
    from .triple_task import Task


@public("truerank.link_prediction")
class ErrorCase(NamedTuple):
    """A triple whose answer was ranked badly.

    Attributes
    ----------
    side : str
        The predicted side: "head", "tail" or "relation".
    triple : tuple of str or int
        Head, relation, tail and all qualifiers, also those that are in no query: labels, or ids if
        there are no labels.
    rank : float
        The realistic rank of the right answer.
    candidates : int
        The number of candidates.
    best : list of (label, score)
        The best candidates, best first; equal scores go by the lower id.
    score : float
        The score of the right answer.
    """

    side: str
    triple: tuple[Label, ...]
    rank: float
    candidates: int
    best: TopCandidates
    score: float


@public("truerank.link_prediction")
class ErrorCases(Sequence[ErrorCase]):
    """Error cases, worst first; `print` shows them as a table.

    Parameters
    ----------
    cases : sequence of ErrorCase
        The cases.

    Examples
    --------
    >>> best = [("stockholm", 0.75), ("oslo", 0.5)]
    >>> print(ErrorCases([ErrorCase("tail", ("norway", "capital", "oslo"), 2.0, 9, best, 0.5)]))
    side  rank    head    relation  tail  score  best       score
    tail  2 of 9  norway  capital   oslo    0.5  stockholm   0.75
                                                 oslo         0.5
    """

    def __init__(self, cases: Sequence[ErrorCase]) -> None:
        self._cases = tuple(cases)

    @overload
    def __getitem__(self, index: int) -> ErrorCase: ...
    @overload
    def __getitem__(self, index: slice) -> ErrorCases: ...
    def __getitem__(self, index: int | slice) -> ErrorCase | ErrorCases:
        return ErrorCases(self._cases[index]) if isinstance(index, slice) else self._cases[index]

    def __len__(self) -> int:
        return len(self._cases)

    def __eq__(self, other: object) -> bool:
        return self._cases == other._cases if isinstance(other, ErrorCases) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ErrorCases({len(self)} cases)"

    def __str__(self) -> str:
        heading = ["side", "rank", *self._member_names(), "score", "best", "score"]
        lines = [heading]
        for case in self:
            rank = f"{case.rank:,g}" if case.rank < 1e6 else f"{case.rank:,.1f}"
            names = [printable(str(name)) for name in case.triple]
            cells_of_case = [case.side, f"{rank} of {case.candidates:,}", *names]
            cells_of_case += [""] * (len(heading) - 3 - len(cells_of_case)) + [f"{case.score:.6g}"]
            for label, score in case.best or [("", np.nan)]:
                lines.append([*cells_of_case, printable(str(label)), f"{score:.6g}"])
                cells_of_case = [""] * len(cells_of_case)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        right_aligned = {len(heading) - 3, len(heading) - 1}  # numbers

        def format_line(line: list[str]) -> str:
            cells = (
                text.rjust(width) if i in right_aligned else text.ljust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            return "  ".join(cells).rstrip()

        return "\n".join(map(format_line, lines))

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return all cases in the form of JSON.

        Examples
        --------
        >>> case = ErrorCase("tail", (0, 1, 2), 2.0, 9, [(5, 0.75)], 0.5)
        >>> ErrorCases([case]).to_dict()["cases"][0]["best"]
        [{'label': 5, 'score': 0.75}]
        """
        return {
            "cases": [
                {
                    **case._asdict(),
                    "triple": list(case.triple),
                    "best": [{"label": label, "score": score} for label, score in case.best],
                }
                for case in self
            ]
        }

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each case; its last columns are best_1, score_1, ...

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> case = ErrorCase("tail", (0, 1, 2), 2.0, 9, [(5, 0.75)], 0.5)
        >>> list(ErrorCases([case]).to_pandas().columns)[-4:]
        ['candidates', 'score', 'best_1', 'score_1']
        """
        from ..tables import Table

        positions = self._member_names()
        most = max((len(case.best) for case in self), default=0)
        scores = [f"score_{i + 1}" for i in range(most)]
        best = [name for i, score in enumerate(scores) for name in (f"best_{i + 1}", score)]
        records = []
        for case in self:
            triple = [*case.triple, *[None] * (len(positions) - len(case.triple))]
            pairs = [*case.best, *[(None, np.nan)] * (most - len(case.best))]
            cells = [cell for pair in pairs for cell in pair]
            records.append([case.side, *triple, case.rank, case.candidates, case.score, *cells])
        columns = ["side", *positions, "rank", "candidates", "score", *best]
        floats = dict.fromkeys(["rank", "score", *scores], float)
        return Table(columns, records).to_pandas().astype(floats)

    def _member_names(self) -> list[str]:
        """Return names for the members of the longest triple; qualifiers are numbered."""
        longest = max((len(case.triple) for case in self), default=3)
        return ["head", "relation", "tail", *(f"column_{i}" for i in range(3, longest))]


@public("truerank.link_prediction")
@default_arithmetic()
def error_cases(
    task: Task,
    report: Report | Ranks,
    *,
    tail: Any = None,
    head: Any = None,
    relation: Any = None,
    entities: Any = None,
    relations: Any = None,
    similarity: Similarity | None = None,
    bias: Any = None,
    unique: bool = False,
    dtype: Any = None,
    worst: int = 10,
    top: int = 5,
) -> ErrorCases:
    """Return the worst ranked triples of a task, each with its best candidates.

    Parameters
    ----------
    task : Task
        The task that was evaluated.
    report : Report or Ranks
        The result, for all sides of the task.
    tail, head, relation : array_like or path
        The input of the evaluation for each side: embeddings of the queries if `entities` (for the
        side "relation": `relations`) is given, else score matrices or files.
    entities, relations : array_like or path, optional
        The embeddings of the candidates.
    similarity : str, optional
        As in the evaluation. Default: that of the ranks, ``ranks.protocol.similarity``.
    bias, unique, dtype
        As in the evaluation: a bias for all sides, or a mapping of sides to theirs.
    worst : int
        The number of triples, by largest realistic rank; equal ranks go by the order of the tasks.
    top : int
        The number of best candidates of each triple. They may include the right answer, but no
        other known answer.

    Returns
    -------
    ErrorCases

    Raises
    ------
    TypeError, ValueError, OSError
        As the evaluation does; for ranks of other tasks, for another similarity, and if the best
        candidates contradict the counts, so that the input is not the one that was ranked.

    Examples
    --------
    >>> from truerank.link_prediction import Task
    >>> task = Task([(0, 0, 1), (1, 0, 2)], entities=3, relations=1, sides=("tail",))
    >>> scores = [[0.5, 0.1, 0.9], [0.2, 0.3, 0.1]]
    >>> report = task.evaluate_scores(scores)
    >>> print(error_cases(task, report, tail=scores, worst=1, top=2))
    side  rank    head  relation  tail  score  best  score
    tail  3 of 3  0     0         1       0.1  2       0.9
                                               0       0.5
    """
    worst, top = integer("worst", worst, least=1), integer("top", top, least=1)
    ranks = ranks_of("report", report)
    _check_tasks(task, ranks)
    inputs = {"tail": tail, "head": head, "relation": relation}
    if not task.sides.keys() <= inputs.keys():
        got = " and ".join(sorted(task.sides.keys() - inputs.keys()))
        raise InputValueError("task", expected=f"sides among {', '.join(inputs)}", got=got)
    arguments = task._check_arguments(
        {k: Argument(k, v) for k, v in inputs.items()}, "what was evaluated"
    )
    biases = biases_of(bias, task.sides)
    similarity = _check_similarity(similarity, ranks.protocol)
    realistic = ranks.realistic
    worst_tasks = np.argsort(-realistic, kind="stable")[:worst]
    cases: dict[int, ErrorCase] = {}
    start = 0
    for key, side in task.sides.items():
        own_tasks = worst_tasks[(worst_tasks >= start) & (worst_tasks < start + len(side))]
        search = TopCandidateSearch(side, own_tasks - start, unique, ranks.protocol, top)
        start += len(side)
        vectors = ("relations", relations) if key == "relation" else ("entities", entities)
        if not len(own_tasks):
            continue
        if vectors[1] is None:
            results = search.by_scores(arguments[key], dtype)
        else:
            if similarity is None:
                raise InputValueError(
                    "similarity", expected="one, as the ranks do not say which it was"
                )
            pairing = biases[key], dtype
            results = search.by_embeddings(
                arguments[key], Argument(*vectors), *pairing, similarity=similarity
            )
        triples = _label_triples(task, search.tasks)
        for i, triple, (best, score) in zip(own_tasks.tolist(), triples, results, strict=True):
            rank, candidates = float(realistic[i]), int(ranks.candidates[i])
            above, tied = int(ranks.above[i]), int(ranks.tied[i])
            ascending = ranks.protocol.order == "ascending"
            if not TaskCounts(above, tied, top, ascending).fits(triple[SIDES[key][1]], best, score):
                what = "scores" if vectors[1] is None else "vectors"
                raise InputValueError(
                    arguments[key].name,
                    f"expected the {what} that were ranked; by these the best candidates of "
                    f"{triple} contradict its counts, {above} above and {tied} tied",
                )
            cases[i] = ErrorCase(key, triple, rank, candidates, best, score)
    return ErrorCases([cases[i] for i in worst_tasks.tolist()])


def _check_tasks(task: Task, ranks: Ranks) -> None:
    """Check that ranks belong to a task, as far as their labels tell."""
    sizes = {key: len(side) for key, side in task.sides.items()}
    if len(ranks) != sum(sizes.values()):
        raise InputValueError(
            "report", expected=f"the ranks of all {sum(sizes.values())} tasks", got=len(ranks)
        )
    start = 0
    for key, size in sizes.items():
        part = ranks[start : start + size]
        start += size
        targets = task.sides[key].labels.get("targets")
        if targets is not None and part.targets is not None and not part.targets.same_as(targets):
            raise InputValueError(
                "report", f"the targets of the side {key!r} are not those of the task"
            )


def _check_similarity(given: Any, protocol: Protocol) -> Similarity | None:
    """Return the similarity of the ranks, or the given one if the ranks do not name it."""
    named = next((word for word in SIMILARITIES if word == protocol.similarity), None)
    if given is None:
        return named
    chosen = choice("similarity", given, SIMILARITIES)
    if named not in (None, chosen):
        expected = f"{named!r}, as the ranks say"
        raise InputValueError("similarity", expected=expected, got=repr(given))
    return chosen


def _label_triples(task: Task, tasks: IntArray) -> list[tuple[Label, ...]]:
    """Return the triples of some tasks by their labels; each side has one task per triple."""
    vocabularies = task.entities, task.relations, task.entities, *task.qualifiers
    columns = task.test[tasks].T.tolist()
    labelled = [
        codes if names is None else [names[code] for code in codes]
        for codes, names in zip(columns, vocabularies, strict=True)
    ]
    return list(zip(*labelled, strict=True))
