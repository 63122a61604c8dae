"""Inference: find pairs of left and right entities, and compare them with reference pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np

from ...arrays.arithmetic import default_arithmetic
from ...arrays.row_keys import are_among, codes_of, distinct, distinct_rows, search_sorted, without
from ...errors import InputValueError
from ...inference.comparing import compare
from ...inputs.array_likes import read_only
from ...inputs.checks import choice, instance, is_integer, number, positive_integer
from ...inputs.rules import SimilarityOptions, read_rules, with_options
from ...naming import public
from ...ranks.container import Ranks
from ...tables import AsTable, Column, Table
from ..aligned_pairs import DIRECTIONS, as_ids, as_pairs
from .one_to_one import StableMatching, dense_pairs, sparse_pairs
from .similarities import open_similarities

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...arrays.types import IntArray
    from ...inference.comparisons import Comparison
    from ...inputs.words import Similarity
    from .one_to_one import ScoredPairs
    from .similarities import Similarities


MatchingMethod = Literal["greedy", "mutual", "stable", "optimal"]
METHODS: tuple[MatchingMethod, ...] = get_args(MatchingMethod)
# The dense solver takes no more scores than these: they take 1 GiB in float64, and it works in
# place. The 10,500 test pairs of a data set of 15,000 fit; all of 15,000 entities do not.
MAX_DENSE_CELLS = 1 << 27
DEFAULT_CANDIDATES = 32


@public("truerank.alignment")
@with_options(SimilarityOptions)
@default_arithmetic()
def infer(
    left: Any,
    right: Any,
    *,
    method: MatchingMethod = "greedy",
    similarity: Similarity = "cosine",
    csls: Any = None,
    left_ids: Any = None,
    right_ids: Any = None,
    threshold: float | None = None,
    direction: str = "left_to_right",
    k: int = 32,
    candidates_per_entity: int | None = None,
    **options: Unpack[SimilarityOptions],
) -> Alignment:
    """Align entities: find pairs of left and right entities by their similarities.

    Parameters
    ----------
    left : array_like, shape (n1, d), or path
        The embeddings of the left entities, as `rank_embeddings` takes them. Or, if `right` is
        None, a matrix (n1, n2) of scores, in memory or as the path of one .npy file, which is
        mapped: floats, bfloat16, or integers up to 2**53. Scores are similarities, and higher ones
        are better; pass the negative of distances.
    right : array_like, shape (n2, d), path, or None
        The embeddings of the right entities.
    method : {"greedy", "mutual", "stable", "optimal"}
        The method; see Notes.
    similarity : str
        As in `rank_embeddings`; only for embeddings.
    csls : int or CSLS, optional
        Use cross-domain similarity local scaling, 2 s(x, y) - (r(x) + r(y)). A number k makes r the
        mean over the k most similar entities of the other side that take part; or pass the means of
        `truerank.alignment.csls_means`. Both work for a matrix too.
    left_ids, right_ids : array_like of int, optional
        The only entities to take part, as sets. Default: all.
    threshold : float, optional
        Leave out pairs with lower scores after the matching; no entity is matched again.
    direction : {"left_to_right", "right_to_left"}
        For "greedy", the side that chooses; other methods have no direction.
    k : int
        For "stable", and for sparse "optimal": the number of preferences per entity that are in
        memory at a time. It changes memory and the number of passes, but not the result.
    candidates_per_entity : int, optional
        For "optimal": consider this number of most similar entities for every entity of both sides,
        and the stable pairs. Default: all pairs, whose scores are held in memory, in float64, if
        they take at most 1 GiB, else 32.
    nan : {"raise", "omit"}
        The rule for scores that are NaN: an error, or the pair is left out.
    dtype, layout, threads
        As in `rank_embeddings`; for a matrix `dtype` says what raw 16-bit numbers are.
    progress : callable or bool, optional
        True: a bar of tqdm. A callable is called with a `Progress` while scores are made;
        how many passes "stable" and "optimal" make over them is not known before, so that its
        `total` may grow. The solver of "optimal" reports nothing.

    Returns
    -------
    Alignment
        ``pairs`` with their ``scores``, ordered by left id, and ``solved``, the direction or the
        problem that was solved; ``evaluate`` compares the pairs with reference pairs.

    Raises
    ------
    TypeError
        For embeddings and scores that are no numbers, options of another type, and a matrix in
        shards or in chunks.
    ValueError
        For shapes that do not fit, ids out of range, an unknown name, a NaN if the rule is "raise"
        (with its entities), infinite scores for "optimal", options of another method, a similarity
        with a matrix, and damaged files.
    OSError
        For files that are missing or cannot be read.

    Notes
    -----
    ========  ======================================================================================
    greedy    each left entity with its most similar right one, which several may share; equal
              scores go by the lower id. "Greedy search is used by all current approaches" (Sun et
              al.: A benchmarking study of embedding-based entity alignment, 2020)
    mutual    the pairs in which each entity is the most similar one of the other, by the same rule
    stable    a matching in which no two entities both prefer each other to their partners (or to
              having none); equal scores go by the lower id on both sides. There is exactly one,
              whichever side proposes
    optimal   a matching with the highest sum of scores
    ========  ======================================================================================

    "stable" and "optimal" match the whole smaller side, except for NaN and the threshold.
    "optimal" guarantees its total up to the rounding of float64 sums in the solver: the highest of
    all matchings if ``solved`` is "dense", or of the matchings of the considered pairs if it is
    "sparse". If several matchings have that total, the choice may change with the version of scipy.
    With NaN omitted, only the matchings with the most pairs are compared.

    Infinite scores are ordinary ones, except for "optimal": a -inf is a pair if there is nothing
    better, and a threshold leaves it out.

    Only "optimal" makes a matrix of scores, and only if it is dense.

    Examples
    --------
    >>> left = np.array([[1, 0], [0.8, 0.6]], np.float32)
    >>> right = np.array([[1, 0.2], [0, 1], [-1, 0]], np.float32)
    >>> infer(left, right).pairs.tolist()
    [[0, 0], [1, 0]]
    >>> infer(left, right, method="mutual").pairs.tolist()
    [[0, 0]]
    >>> found = infer(left, right, method="stable")
    >>> found.pairs.tolist(), found.scores.round(2).tolist()
    ([[0, 0], [1, 1]], [0.9800000190734863, 0.6000000238418579])
    >>> infer([[3, 2], [3, 1]], None, method="optimal").pairs.tolist()  # a matrix; 2 + 3
    [[0, 1], [1, 0]]
    """
    choice("method", method, METHODS)
    choice("direction", direction, DIRECTIONS)
    got = f'"{method}"'
    if direction != DIRECTIONS[0] and method != "greedy":
        raise InputValueError("direction", expected='with method="greedy" alone', got=got)
    if candidates_per_entity is not None and method != "optimal":
        expected = 'with method="optimal" alone'
        raise InputValueError("candidates_per_entity", expected=expected, got=got)
    k = positive_integer("k", k)
    least = None
    if threshold is not None:
        least = number("threshold", threshold)
        if np.isnan(least):
            raise InputValueError("threshold", expected="a number", got="nan")
    rules = read_rules(options, SimilarityOptions)
    expected_passes = (method != "greedy") + 1 + is_integer(csls)
    source = open_similarities(left, right, similarity, rules, expected_passes)
    ids_of_left = as_ids("left_ids", left_ids, source.shape[0])
    ids_of_right = as_ids("right_ids", right_ids, source.shape[1])
    source = source.restrict(ids_of_left, ids_of_right, csls)
    solved = ""
    # Only the sparse solver limits the candidates of an entity.
    most = None
    if method == "greedy":
        solved = direction
    elif method == "optimal":
        most = _count_candidates(source, candidates_per_entity)
        solved = "dense" if most is None else f"sparse, {most} candidates per entity"
    pairs, scores = _find_pairs(source, method, direction, most, k)
    source.progress.finish()
    if least is not None:
        reaches = scores.astype(np.float64) >= least
        pairs = pairs[reaches]
        scores = scores[reaches]
    return Alignment(
        pairs=read_only(pairs),
        scores=read_only(scores),
        method=method,
        solved=solved,
        threshold=least,
        left_ids=read_only(source.left_ids),
        right_ids=read_only(source.right_ids),
        shape=source.shape,
    )


def _count_candidates(source: Similarities, given: int | None) -> int | None:
    """Return how many candidates of an entity "optimal" considers; None: all of them."""
    if given is not None:
        return positive_integer("candidates_per_entity", given)
    if len(source.left_ids) * len(source.right_ids) > MAX_DENSE_CELLS:
        return DEFAULT_CANDIDATES
    return None


def _find_pairs(
    source: Similarities, method: MatchingMethod, direction: str, candidates: int | None, k: int
) -> tuple[IntArray, npt.NDArray[Any]]:
    """Return pairs, ordered by left id, then by right id, and their scores."""
    sizes = len(source.left_ids), len(source.right_ids)
    if not min(sizes):
        return np.zeros((0, 2), np.int64), np.zeros(0, source.dtype)
    if method in ("stable", "optimal"):
        # One-to-one matchings are made from the smaller side.
        right_asks = sizes[0] > sizes[1]
    else:
        right_asks = direction != DIRECTIONS[0]
    if right_asks:
        right, left, scores = _match(source.swapped(), method, candidates, k)
    else:
        left, right, scores = _match(source, method, candidates, k)
    pairs = np.stack([left, right], axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return pairs[order], scores[order]


def _match(
    source: Similarities, method: MatchingMethod, candidates: int | None, k: int
) -> ScoredPairs:
    """Return pairs in any order, as the left entities find them."""
    if method == "stable":
        return StableMatching(source, k).match()
    if method == "optimal":
        if candidates is None:
            return dense_pairs(source)
        return sparse_pairs(source, candidates, k)
    return _most_similar_pairs(source, method == "mutual")


def _most_similar_pairs(source: Similarities, mutual: bool) -> ScoredPairs:
    """Return each left entity that has a candidate, with its most similar one."""
    best = source.top_k(1)
    kept = best.ids[:, 0] >= 0
    left = source.left_ids[kept]
    right = best.ids[kept, 0]
    scores = best.scores[kept, 0]
    if not mutual:
        return left, right, scores
    chosen = distinct(right)  # No other right entity can be in a pair.
    partners = source.swapped().top_k(1, chosen).ids[:, 0]
    kept = partners[search_sorted(chosen, right)] == left
    return left[kept], right[kept], scores[kept]


@public("truerank.alignment")
@dataclass(frozen=True, repr=False)
class Agreement(AsTable):
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

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return the numbers as a Table of one row; the options are those of `Table.table`.

        Examples
        --------
        >>> found = infer([[0.9, 0.8], [0.7, 0.6]], None).evaluate([[0, 0], [1, 1]])
        >>> print(found.table(["precision", "recall", "f1", "hits_at_1"]))
        direction      precision  recall     F1  Hits@1
        left_to_right      0.500   0.500  0.500   0.500
        """
        headings = {"f1": "F1", "hits_at_1": "Hits@1", "left_out": "left out"}
        numbers = asdict(self)
        direction = numbers.pop("direction")
        columns = [Column("direction")]
        columns += [Column(name, headings.get(name, name), 3) for name in numbers]
        row = [direction]
        row += numbers.values()
        return Table(columns, [row]).table(metrics, **options)

    def __repr__(self) -> str:
        names = ("precision", "recall", "f1", "hits_at_1")
        shares = ", ".join(f"{name}={getattr(self, name):.3f}" for name in names)
        return f"Agreement({shares})"


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class Alignment(AsTable):
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
        return without(self.left_ids, self.pairs[:, 0])

    @property
    def unmatched_right(self) -> IntArray:
        """The right entities that took part and are in no pair."""
        return without(self.right_ids, self.pairs[:, 1])

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the alignment, in the form that loggers take.

        Examples
        --------
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

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return the numbers as a Table of one row; the options are those of `Table.table`.

        Examples
        --------
        >>> print(infer([[0.5, 0.25], [0.75, 1.0], [0.5, 0.0]], None, method="stable"))
        method  pairs  total  unmatched left  unmatched right
        stable      2  1.500               1                0
        """
        numbers = {name: value for name, value in self.to_dict().items() if value not in ("", None)}
        columns = [Column(name, name.replace("_", " "), 3) for name in numbers]
        texts = sum(isinstance(value, str) for value in numbers.values())
        table = Table(columns, [list(numbers.values())], names=texts)
        return table.table(metrics, **options)

    def evaluate(
        self,
        reference: Any,
        *,
        direction: str | None = None,
        columns: Mapping[str, str | int] | None = None,
    ) -> Agreement:
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
        columns : dict of str to (str or int), optional
            The name or the number of the column of "left" and "right" of the reference.

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
        query_column = DIRECTIONS.index(choice("direction", direction, DIRECTIONS))
        wanted, left_out = self._reference_pairs(reference, columns)
        correct = are_among(self._keys_of(self.pairs), self._keys_of(wanted))
        # Of several partners, the best one counts; equal scores go by the lower id.
        order = np.lexsort(
            (self.pairs[:, 1 - query_column], -self.scores, self.pairs[:, query_column])
        )
        queries = codes_of(self.pairs[order, query_column])
        entities = distinct(wanted[:, query_column])
        right = int(correct.sum())
        return Agreement(
            precision=_ratio(right, len(self.pairs)),
            recall=_ratio(right, len(wanted)),
            f1=_ratio(2 * right, len(self.pairs) + len(wanted)),
            hits_at_1=_ratio(int(correct[order[queries.first()]].sum()), len(entities)),
            correct=right,
            predicted=len(self.pairs),
            reference=len(wanted),
            asked=len(entities),
            unmatched=len(without(entities, queries.distinct)),
            left_out=left_out,
            direction=direction,
        )

    def compare(
        self,
        other: Alignment,
        reference: Any,
        *,
        level: float = 0.95,
        columns: Mapping[str, str | int] | None = None,
    ) -> Comparison:
        """Test whether this alignment and another one find different shares of reference pairs.

        Parameters
        ----------
        other : Alignment
            Of the same entities.
        reference : array_like of int, shape (m, 2)
            As `evaluate` takes it.
        level : float
            The level of the interval.
        columns : dict of str to (str or int), optional
            As in `evaluate`.

        Returns
        -------
        Comparison
            Its metric is "recall", the share of the reference pairs that an alignment has, and its
            units are these pairs. ``wins`` are pairs that this one alone has, ``losses`` those that
            the other alone has.

        Raises
        ------
        TypeError
            For anything but an Alignment, and a reference that does not hold integers.
        ValueError
            For alignments of other entities, no reference pairs of theirs, another shape, ids out
            of range, and a level outside of 0 to 1.

        Notes
        -----
        Pairs that both have or both lack say nothing. Of the n others each is a win with the
        probability 1/2 if the alignments are alike: the p-value is that of McNemar's exact test,
        ``scipy.stats.binomtest(wins, wins + losses).pvalue`` (McNemar: Note on the sampling error
        of the difference between correlated proportions, 1947), and the interval the shifts that
        the test of `truerank.compare` does not reject, which it is for shares.

        Examples
        --------
        >>> scores = [[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.1, 0.3, 0.2]]
        >>> greedy, optimal = infer(scores, None), infer(scores, None, method="optimal")
        >>> found = optimal.compare(greedy, [[0, 0], [1, 1], [2, 2]])
        >>> found.wins, found.losses, round(found.estimate, 3), found.p_value
        (2, 0, 0.667, 0.5)
        """
        instance("other", other, Alignment)
        is_same = self.shape == other.shape
        is_same = is_same and np.array_equal(self.left_ids, other.left_ids)
        if not is_same or not np.array_equal(self.right_ids, other.right_ids):
            expected = "an alignment of the same entities"
            raise InputValueError("other", expected=expected, got="one of others")
        wanted, _ = self._reference_pairs(reference, columns)
        if not len(wanted):
            expected = "at least one pair of entities that took part"
            raise InputValueError("reference", expected=expected, got="none")
        models = []
        for alignment in (self, other):
            is_found = are_among(self._keys_of(wanted), self._keys_of(alignment.pairs))
            # A pair that is found has the first of two places.
            ranks = Ranks(1 - is_found.astype(np.int64), np.ones(len(wanted), np.int64), 2)
            models.append(ranks.with_labels(unit=np.arange(len(wanted))))
        tested = compare(models[0], models[1], metric="hits@1", level=level)
        return tested._replace(metric="recall", title="recall", by="pair", pairing="pair")

    def _reference_pairs(self, reference: Any, columns: Any) -> tuple[IntArray, int]:
        """Read reference pairs, each once, of entities that took part; count those of others."""
        array = as_pairs("reference", reference, self.shape, columns=columns)
        array = np.stack(distinct_rows(list(array.T)), axis=1)
        takes_part = are_among(array[:, 0], self.left_ids)
        takes_part &= are_among(array[:, 1], self.right_ids)
        wanted = array[takes_part]
        return wanted, len(array) - len(wanted)

    def _keys_of(self, pairs: IntArray) -> IntArray:
        """Return one integer for each pair."""
        keys: IntArray = pairs[:, 0] * self.shape[1] + pairs[:, 1]
        return keys


def _ratio(part: int, whole: int) -> float:
    if not whole:
        return float("nan")
    return part / whole
