"""Predictions of rules: for every triple the best heads and tails, in files of AnyBURL's form."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..arrays.input_files import path_name
from ..counting.lists import rank_lists
from ..errors import InputValueError
from ..inputs.array_likes import read_only
from ..inputs.checks import flag, integer
from ..inputs.rules import ListOptions, with_options
from ..inputs.selection import indptr_of
from ..naming import public
from ..records.columns import FACTS
from ..records.id_tables import read_table
from ..records.lists import refuse_repeats
from ..records.text import read_blocks
from ..records.vocabularies import Vocabulary
from ..reporting import Report
from ..tasks.evaluation import join_sides
from .task import Task

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from ..inputs.progress_listeners import Progress

_SIDES = ("head", "tail")
_LINES = 3  # A triple has a line of its own, one of its heads and one of its tails.


@public("truerank.link_prediction")
@dataclass(eq=False, repr=False)
class Predictions:
    """Triples, and for each of them lists of heads and of tails that a model predicts.

    Attributes
    ----------
    triples : ndarray of int64, shape (n, 3)
        Head, relation and tail, by their positions in `entities` and `relations`.
    entities, relations : tuple of str
        The names, in the order in which they first occur.
    lists : ndarray of int64, shape (n, 2)
        The list of heads and the list of tails of each triple.
    indptr : ndarray of int64, shape (2 n + 1,)
        List i has the entries ``indptr[i]:indptr[i + 1]``.
    ids : ndarray of int32, shape (entries,)
        The entities that are listed.
    scores : ndarray of float64, shape (entries,), or None
        Their scores; None: the order of the lists says all.
    """

    triples: IntArray
    entities: tuple[str, ...]
    relations: tuple[str, ...]
    lists: IntArray
    indptr: IntArray
    ids: Any
    scores: FloatArray | None

    def __post_init__(self) -> None:
        for name in ("triples", "lists", "indptr", "ids"):
            setattr(self, name, read_only(getattr(self, name)))
        if self.scores is not None:
            self.scores = read_only(self.scores)

    def __len__(self) -> int:
        return len(self.triples)

    def __repr__(self) -> str:
        return f"Predictions({len(self):,} triples, {len(self.ids):,} entries)"

    def _names_of_triples(self) -> tuple[list[str], list[str], list[str]]:
        """Return the names of heads, relations and tails."""
        heads, between, tails = self.triples.T.tolist()
        return (
            [self.entities[code] for code in heads],
            [self.relations[code] for code in between],
            [self.entities[code] for code in tails],
        )

    @with_options(ListOptions)
    def evaluate(
        self,
        known: Any = None,
        *,
        entities: Any = None,
        relations: Any = None,
        candidates: int | None = None,
        sides: Sequence[str] = _SIDES,
        split: str = "test",
        **options: Unpack[ListOptions],
    ) -> Report:
        """Rank the head and the tail of every triple among all entities, as `rank_lists` does.

        Parameters
        ----------
        known : dict of str to split, list of splits, one split, or None
            Known triples, as `Task` takes them: all known answers of a query, those of the triples
            themselves included, are left out of its candidates. None: unfiltered.
        entities, relations : optional
            As `Task` takes them. Default: the names of all triples, and of the lists.
        candidates : int, optional
            The number of entities in all, if triples and lists do not name all of them.
        sides : sequence of {"head", "tail"}
            The sides to predict.
        split : str
            The name of the evaluated split.
        order, nan, dtype, threads, progress
            As in `rank_lists`.

        Returns
        -------
        Report

        Raises
        ------
        TypeError, ValueError
            For an entity that `entities` does not have, and for fewer candidates than entities. As
            `Task` and `rank_lists` do.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "predictions")
        ...     _ = file.write_text("a likes b\\nHeads: a\\t0.9\\tc\\t0.2\\nTails: c\\t0.5\\n")
        ...     predictions = read_predictions(file)
        >>> report = predictions.evaluate(candidates=10)
        >>> report["head.mr"], report["tail.optimistic.mr"], report["tail.pessimistic.mr"]
        (1.0, 2.0, 10.0)
        """
        test = read_table("triples", self._names_of_triples(), FACTS)
        task = Task(
            replace(test, kind="text"),
            known,
            entities=entities,
            relations=relations,
            sides=sides,
            split=split,
        )
        columns = next(iter(task.sides.values())).n_candidates
        vocabulary = Vocabulary(columns, task.entities)
        if entities is not None:
            ids = vocabulary.ids_of("entities", self.entities, is_text=True)
        else:  # Names that only lists have come after all others.
            ids = vocabulary.find("entities", self.entities, is_text=True)
            ids[ids < 0] = columns + np.arange(np.count_nonzero(ids < 0))
        number = max(columns, int(ids.max(initial=-1)) + 1)
        if candidates is not None:
            number = integer("candidates", candidates, least=number)
        listed = (self.indptr, ids[self.ids])
        scores = None if self.scores is None else (self.indptr, self.scores)
        ranks_of_sides = []
        for name, side in task.sides.items():
            ranks = rank_lists(
                listed,
                scores,
                side.targets,
                candidates=number,
                rows=self.lists[side.units, _SIDES.index(name)],
                filter=side.filter,
                **options,
            )
            ranks_of_sides.append(ranks)
        return Report(join_sides(task, ranks_of_sides))


@public("truerank.link_prediction")
def read_predictions(
    path: str | os.PathLike[str],
    *,
    scored: bool = True,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Predictions:
    """Read predictions as AnyBURL and PyClause write them, three lines for every triple.

    These are ``head relation tail``, ``Heads: name score name score ...`` and ``Tails: ...``, or
    the two lists the other way round. Tabs stand between the names and scores of a list, and tabs
    or blanks between those of a triple; an empty list is right.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Empty lines are skipped.
    scored : bool
        Whether lists have scores; without them, tabs stand between names.
    progress : callable or bool, optional
        As in `truerank.read_run`.

    Returns
    -------
    Predictions

    Raises
    ------
    ValueError
        For a line that is not of this form, an entity that a list has twice, and a file that ends
        within the lines of a triple; the error names the line.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "predictions")
    ...     _ = file.write_text("a likes b\\nHeads: a\\t0.9\\tc\\t0.2\\t\\nTails: c\\t0.5\\t\\n")
    ...     read_predictions(file)
    Predictions(1 triples, 3 entries)
    """
    path_of_file = path_name("path", path)
    has_scores = flag("scored", scored)
    names = _core.Names()
    names_of_relations = _core.Names()
    reader = _core.PredictionReader(names, names_of_relations)

    def read_lines(text: str, _: int) -> tuple[Any, Sequence[Any]]:
        fault, *columns = reader.rows(text, has_scores)
        return fault, columns

    triples, sides, lengths, ids, scores = read_blocks("path", path_of_file, progress, read_lines)
    if reader.pending:
        problem = f"it ends after {reader.pending} of the {_LINES} lines of a triple"
        raise InputValueError("path", problem, place=path_of_file)
    indptr = indptr_of(lengths)
    lists = np.arange(len(lengths)).reshape(-1, 2)
    are_heads_first = sides.reshape(-1, 2)[:, :1] == 0
    lists = np.where(are_heads_first, lists, lists[:, ::-1])
    entities = names.listed()
    refuse_repeats("path", lambda i: f"triple {i // 2}", entities, indptr, ids, path_of_file)
    listed_scores: FloatArray | None = scores if has_scores else None
    return Predictions(
        triples=triples.astype(np.int64).reshape(-1, 3),
        entities=entities,
        relations=names_of_relations.listed(),
        lists=lists,
        indptr=indptr,
        ids=ids,
        scores=listed_scores,
    )
