"""Pairs that were found, and how many of them are right."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.arrays import ReadOnlyArrays
from ...inputs.checks import choice, first_outside
from ...inputs.errors import InputValueError
from ...inputs.naming import public
from ..two_graphs import DIRECTIONS, as_pairs

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import IntArray


@public("truerank.alignment")
@dataclass(frozen=True)
class Agreement:
    """How far pairs agree with reference pairs.

    Attributes
    ----------
    precision, recall, f1 : float
        correct / predicted, correct / reference, and 2 correct / (predicted + reference), their
        harmonic mean. NaN where they divide by zero.
    hits_at_1 : float
        The share of the entities asked whose partner is one of their right answers: an entity
        without a partner is wrong.
    correct, predicted, reference : int
        Pairs: found and right, found, and to be found.
    asked, unmatched : int
        Entities of the asking side that have a right answer, and those of them without a partner.
    left_out : int
        Reference pairs of entities that did not take part; they count nowhere else.
    direction : str
        Which side asks: "left_to_right" or "right_to_left".
    """

    precision: float
    recall: float
    f1: float
    hits_at_1: float
    correct: int
    predicted: int
    reference: int
    asked: int
    unmatched: int
    left_out: int
    direction: str

    def to_dict(self) -> dict[str, Any]:
        """Give a plain dict of all of them."""
        return asdict(self)


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class Alignment(ReadOnlyArrays):
    """Pairs of left and right entities.

    Attributes
    ----------
    pairs : ndarray of int64, shape (n, 2)
        Left and right ids, by left id, then by right id; read-only.
    scores : ndarray of float32 or float64, shape (n,)
        Their scores; read-only.
    method : str
        "greedy", "mutual", "stable" or "optimal".
    solved : str
        What was done: of "greedy" the direction, of "optimal" the problem that was solved, as
        "dense" or "sparse, 32 candidates per entity"; else "".
    threshold : float or None
        Pairs with lower scores were left out.
    left_ids, right_ids : ndarray of int64
        The entities that took part, ascending; read-only.
    shape : tuple of int
        How many entities the sides have, also those that took no part.
    """

    pairs: IntArray
    scores: npt.NDArray[Any]
    method: str
    solved: str
    threshold: float | None
    left_ids: IntArray = field(repr=False)
    right_ids: IntArray = field(repr=False)
    shape: tuple[int, int]

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.pairs)

    @property
    def total(self) -> float:
        """The sum of the scores, in float64."""
        return float(self.scores.sum(dtype=np.float64))

    @property
    def unmatched_left(self) -> IntArray:
        """The left entities that took part and are in no pair."""
        return np.setdiff1d(self.left_ids, self.pairs[:, 0])

    @property
    def unmatched_right(self) -> IntArray:
        """The right entities that took part and are in no pair."""
        return np.setdiff1d(self.right_ids, self.pairs[:, 1])

    def to_dict(self) -> dict[str, Any]:
        """Give what there is to say in numbers, as a logger wants them.

        Examples
        --------
        >>> from truerank.alignment.inference.matching import infer
        >>> found = infer([[0.5, 0.25], [0.75, 1.0], [0.5, 0.0]], None, method="stable").to_dict()
        >>> found["pairs"], found["total"], found["unmatched_left"], found["unmatched_right"]
        (2, 1.5, 1, 0)
        """
        return {
            "method": self.method,
            "solved": self.solved,
            "threshold": self.threshold,
            "pairs": len(self),
            "total": self.total,
            "unmatched_left": len(self.unmatched_left),
            "unmatched_right": len(self.unmatched_right),
        }

    def evaluate(self, reference: Any, *, direction: str | None = None) -> Agreement:
        """Compare the pairs with reference pairs.

        Parameters
        ----------
        reference : array_like of int, shape (m, 2)
            Left and right ids. Repeats change nothing; an entity may have several right answers.
            Pairs of entities that took no part are left out, and counted in ``left_out``.
        direction : {"left_to_right", "right_to_left"}, optional
            Whose partners `hits_at_1` looks at: those of left, or of right entities. Default: the
            direction of a greedy alignment, else "left_to_right". Pairs, and so precision, recall
            and F1, have no direction.

        Returns
        -------
        Agreement

        Raises
        ------
        TypeError
            For a reference that is no integers.
        ValueError
            For another shape, ids out of range, and an unknown direction.

        Notes
        -----
        H@1 is "the relative frequency of the correct entity being ranked at the first position"
        (Berrendorf, Wacker, Faerman: A critical assessment of state-of-the-art in entity alignment,
        2021), with the partner in the place of the first. Where every entity asked has one right
        answer, a partner, and nobody else asks, it equals precision, as Sun et al. say of Hits@1 (A
        benchmarking study of embedding-based entity alignment, 2020). With exclusive entities it
        does not: a pair of an entity that has no right answer is a wrong pair.

        An entity of several partners, as greedy search from the other side gives them, is taken to
        say the one of the highest score, of equal ones the lowest id.

        With several right answers, one partner each reaches H@1 of 1, but not recall of 1.

        Examples
        --------
        >>> from truerank.alignment.inference.matching import infer
        >>> scores = [[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.1, 0.3, 0.2]]
        >>> found = infer(scores, None, method="greedy")
        >>> found.pairs.tolist()
        [[0, 0], [1, 0], [2, 1]]
        >>> agreed = found.evaluate([[0, 0], [1, 1]])
        >>> agreed.precision, agreed.recall, agreed.hits_at_1
        (0.3333333333333333, 0.5, 0.5)
        """
        if direction is None:
            direction = self.solved if self.solved in DIRECTIONS else DIRECTIONS[0]
        choice("direction", direction, DIRECTIONS)
        asked, given = (0, 1) if direction == DIRECTIONS[0] else (1, 0)
        right_pairs, left_out = self._check_reference(reference)
        wanted = self._keys(right_pairs)
        correct = np.isin(self._keys(self.pairs), wanted)
        # Of several partners the best, of equal ones the lowest id.
        order = np.lexsort((self.pairs[:, given], -self.scores, self.pairs[:, asked]))
        who, first = np.unique(self.pairs[order, asked], return_index=True)
        entities = np.unique(right_pairs[:, asked])
        hits = int(correct[order[first]].sum())
        hit = int(correct.sum())
        return Agreement(
            precision=_ratio(hit, len(self.pairs)),
            recall=_ratio(hit, len(wanted)),
            f1=_ratio(2 * hit, len(self.pairs) + len(wanted)),
            hits_at_1=_ratio(hits, len(entities)),
            correct=hit,
            predicted=len(self.pairs),
            reference=len(wanted),
            asked=len(entities),
            unmatched=int((~np.isin(entities, who)).sum()),
            left_out=left_out,
            direction=direction,
        )

    def _check_reference(self, reference: Any) -> tuple[IntArray, int]:
        """Reference pairs of entities that took part, each once, and how many others there are."""
        array = as_pairs("reference", reference, "pairs of shape (m, 2)")
        for side, (name, size) in enumerate(zip(("left", "right"), self.shape, strict=True)):
            column = np.ascontiguousarray(array[:, side])
            wrong = first_outside(column, size)
            if wrong >= 0:
                raise InputValueError(
                    "reference",
                    expected=f"{name} ids from 0 to {size - 1}",
                    got=f"{column[wrong]} in pair {wrong}",
                )
        array = np.unique(array, axis=0)
        kept = np.isin(array[:, 0], self.left_ids) & np.isin(array[:, 1], self.right_ids)
        return array[kept], int((~kept).sum())

    def _keys(self, pairs: IntArray) -> IntArray:
        keys: IntArray = pairs[:, 0] * self.shape[1] + pairs[:, 1]
        return keys


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
