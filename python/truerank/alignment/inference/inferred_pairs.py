"""Inferred pairs, and how far they agree with reference pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.arrays import ReadOnlyArrays
from ...inputs.checks import choice
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
        harmonic mean. NaN for a division by zero.
    hits_at_1 : float
        The share of query entities whose partner is one of their right answers; an entity without a
        partner counts as wrong.
    correct, predicted, reference : int
        The number of right inferred pairs, of all inferred pairs, and of reference pairs.
    asked, unmatched : int
        The number of query entities that have a right answer, and of those without a partner.
    left_out : int
        The number of reference pairs with entities that did not take part; no other number has
        them.
    direction : str
        From the side of the queries: "left_to_right" or "right_to_left".
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
        """Return all numbers as a plain dict."""
        return asdict(self)


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class Alignment(ReadOnlyArrays):
    """Pairs of left and right entities.

    Attributes
    ----------
    pairs : ndarray of int64, shape (n, 2)
        Left and right ids, ordered by left id, then by right id; read-only.
    scores : ndarray of float32 or float64, shape (n,)
        Their scores; read-only.
    method : str
        "greedy", "mutual", "stable" or "optimal".
    solved : str
        The direction for "greedy"; the problem that was solved for "optimal", as "dense" or
        "sparse, 32 candidates per entity"; else "".
    threshold : float or None
        Pairs with lower scores were left out.
    left_ids, right_ids : ndarray of int64
        The entities that took part, ascending; read-only.
    shape : tuple of int
        The number of entities of each side, including those that took no part.
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
        """The number of pairs."""
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
        """Return the numbers of the alignment, in the form that loggers take.

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
            Pairs with entities that took no part are left out, and counted in ``left_out``.
        direction : {"left_to_right", "right_to_left"}, optional
            Whether `hits_at_1` takes the partners of left or of right entities. Default: the
            direction of a greedy alignment, else "left_to_right". Pairs have no direction, and so
            neither have precision, recall and F1.

        Returns
        -------
        Agreement

        Raises
        ------
        TypeError
            For a reference that does not hold integers.
        ValueError
            For another shape, ids out of range, and an unknown direction.

        Notes
        -----
        H@1 is "the relative frequency of the correct entity being ranked at the first position"
        (Berrendorf, Wacker, Faerman: A critical assessment of state-of-the-art in entity alignment,
        2021), where the partner counts as the first. If every query has one right answer and a
        partner, and there are no other queries, it equals precision, as Sun et al. say of Hits@1 (A
        benchmarking study of embedding-based entity alignment, 2020). With exclusive entities it
        does not: a pair of an entity without a right answer is a wrong pair.

        If an entity has several partners, as greedy search from the other side may find, the one
        with the highest score counts; equal scores go by the lower id.

        With several right answers, one partner each gives H@1 of 1, but recall below 1.

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
        query_side, answer_side = (0, 1) if direction == DIRECTIONS[0] else (1, 0)
        right_pairs, left_out = self._check_reference(reference)
        reference_keys = self._keys(right_pairs)
        correct = np.isin(self._keys(self.pairs), reference_keys)
        # of several partners, the best one counts; equal scores go by the lower id
        order = np.lexsort((self.pairs[:, answer_side], -self.scores, self.pairs[:, query_side]))
        queries, first = np.unique(self.pairs[order, query_side], return_index=True)
        entities = np.unique(right_pairs[:, query_side])
        hits = int(correct[order[first]].sum())
        right = int(correct.sum())
        return Agreement(
            precision=_ratio(right, len(self.pairs)),
            recall=_ratio(right, len(reference_keys)),
            f1=_ratio(2 * right, len(self.pairs) + len(reference_keys)),
            hits_at_1=_ratio(hits, len(entities)),
            correct=right,
            predicted=len(self.pairs),
            reference=len(reference_keys),
            asked=len(entities),
            unmatched=int((~np.isin(entities, queries)).sum()),
            left_out=left_out,
            direction=direction,
        )

    def _check_reference(self, reference: Any) -> tuple[IntArray, int]:
        """Return the distinct reference pairs that took part, and the number of others."""
        array = as_pairs("reference", reference, self.shape, "pairs of shape (m, 2)")
        array = np.unique(array, axis=0)
        takes_part = np.isin(array[:, 0], self.left_ids) & np.isin(array[:, 1], self.right_ids)
        return array[takes_part], int((~takes_part).sum())

    def _keys(self, pairs: IntArray) -> IntArray:
        keys: IntArray = pairs[:, 0] * self.shape[1] + pairs[:, 1]
        return keys


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
