"""The tasks of one side, made of triples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ranks.labels import Labels
from ..tasks.answers import ask
from ..tasks.task import SideTasks
from .candidate_sets import Candidates, candidates_of
from .traits import CATEGORIES, Traits, buckets
from .triples import SIDES

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .triples import Splits


def make_side(
    side: str,
    splits: Splits,
    kept: IntArray,
    keys: Sequence[int],
    filtered: bool,
    candidates: Candidates,
    traits: Traits,
) -> SideTasks:
    """Make the tasks of one side.

    Parameters
    ----------
    side : {"head", "tail", "relation"}
        What is asked for.
    splits : Splits
        The evaluated split, which comes first, and the known ones.
    kept : ndarray of int64, shape (n,)
        Which triples of the evaluated split are ranked.
    keys : sequence of int
        The further columns that are part of a query.
    filtered : bool
        Whether known answers are left out.
    candidates : Candidates
        The candidate set.
    traits : Traits
        What the labels are made of.

    Returns
    -------
    SideTasks
    """
    given = next(iter(splits.sizes.values()))
    vocabulary = splits.relations if side == "relation" else splits.entities
    columns, asked_for = SIDES[side]
    asked = ask(splits.triples, kept, (*columns, *keys), asked_for)
    heads, relations, tails = (splits.triples[kept, column] for column in range(3))
    number = traits.frequency if side == "relation" else traits.degree
    largest = int(max(traits.frequency.max(initial=0), traits.degree.max(initial=0)))
    return SideTasks(
        side=side,
        queries=asked.queries,
        rows=asked.rows,
        targets=asked.targets,
        columns=vocabulary.size,
        filter=asked.answers if filtered else None,
        candidates=candidates_of(side, candidates, asked, relations, splits),
        labels={
            "group": Labels(relations, splits.relations.names),
            "queries": Labels(asked.rows),
            "targets": Labels(asked.targets),
            "category": Labels(traits.category[relations], CATEGORIES),
            "head_degree": Labels(traits.degree[heads]),
            "tail_degree": Labels(traits.degree[tails]),
            "degree": buckets(number[asked.targets], largest),
        },
        given=kept,
        height=given,
        names=vocabulary.names,
    )
