"""Candidate sets: the entities (or relations) among which the answer of a task is ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.selection import as_selection, csr_from_padded, indptr_of, selection_arrays
from ..tasks.row_keys import distinct, distinct_rows
from ..tasks.sampling import check_sample, draw_candidates, join_ranges
from ..tasks.side_tasks import Sampled
from ..tasks.vocabularies import Vocabulary, digest, read_ids, selection_name
from .triple_audit import TRAIN
from .triples import QUALIFIER, SIDES

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..tasks.side_tasks import SideQueries
    from .triples import TripleSplits

    Lists = tuple[IntArray, IntArray]  # indptr and indices, a list for each triple

ALL, TYPED = "all", "typed"  # any other str is the name of a known split
# side -> the column of its answers in facts whose relation is column 1; values are like tails
_ANSWERS = {side: column for side, (_, column) in SIDES.items()} | {QUALIFIER: 2}
_EXPECTED = (
    'one of all, train, typed, another known split, by its name in known={"train": ...}, an array '
    "of entities, Sampled or Negatives"
)


@public("truerank.link_prediction")
class Negatives(NamedTuple):
    """Negatives of every test triple: the only candidates beside its answer.

    Attributes
    ----------
    tail, head, relation : array of int, (indptr, indices), or list of lists
        For each predicted side, the ids of the negatives of every test triple as it was given: an
        array of shape (n, k), in which -1 fills short rows, or lists of any lengths in a form that
        `rank` takes. They are sets: a repeated negative counts once, and so does the answer, in the
        list or not.

    Notes
    -----
    The protocol names them as sampled, by their number for each triple and a digest, as in
    "given 20 negatives (3f2a91c0)". Known answers among them are filtered, unless `Task` has
    ``known=None`` or ``filters=("none",)``.

    Examples
    --------
    >>> from truerank.link_prediction import Task
    >>> negatives = Negatives(tail=[[2, 3], [0, 3]])
    >>> task = Task([[0, 0, 1], [1, 0, 2]], entities=4, candidates=negatives, sides=("tail",))
    >>> task.tail.candidates
    (array([0, 3, 6]), array([1, 2, 3, 0, 2, 3]))
    >>> task.protocol.candidates
    'given 2 negatives (6bd2be96)'
    """

    tail: Any = None
    head: Any = None
    relation: Any = None


class CandidateSet(NamedTuple):
    """A checked candidate set, with its name in the protocol.

    Attributes
    ----------
    name : str
    split : str or None
        The known split whose entities or relations are the candidates, or are drawn from.
    is_typed : bool
        Whether they are those that occur in that position of that relation, or are drawn from them.
    chosen : ndarray of int64, or None
        The only candidates.
    sampled : Sampled or None
        How candidates are drawn.
    negatives : dict of str to (indptr, indices), or None
        Those of every test triple by side, beside its answer.
    """

    name: str
    split: str | None = None
    is_typed: bool = False
    chosen: IntArray | None = None
    sampled: Sampled | None = None
    negatives: dict[str, Lists] | None = None

    @property
    def is_sampled(self) -> bool:
        """Whether they are a part of all candidates, drawn by chance."""
        return self.sampled is not None or self.negatives is not None


def as_candidates(value: Any, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Check the argument `candidates`.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, a sample without
        negatives, or both typed and among a split, "typed" or a list of entities for the side
        "relation", and negatives that are not those of the sides and triples of the task.
    """
    if isinstance(value, Negatives):
        return _read_negatives(value, sides, splits)
    if isinstance(value, (int, np.integer, type)):
        got = f"the class {value.__name__}" if isinstance(value, type) else str(value)
        number = 100 if isinstance(value, (bool, type)) else value
        got += f"; for sampled ones give Sampled({number})"
        raise InputTypeError("candidates", expected=_EXPECTED, got=got)
    if value is None or isinstance(value, (str, Sampled)):
        return _read_name(value, sides, splits)
    if "relation" in sides and len(sides) > 1:
        problem = "a list is of entities or of relations; expected a task of its own for relations"
        raise InputValueError("candidates", problem)
    vocabulary = splits.relations if "relation" in sides else splits.entities
    return choose(value, vocabulary, "the triples hold no labels")


def choose(value: Any, vocabulary: Vocabulary, unnamed: str) -> CandidateSet:
    """Read ids or labels of the only candidates; `unnamed` says why there are no labels."""
    chosen = read_ids("candidates", value, vocabulary, unnamed)
    return CandidateSet(selection_name(chosen), chosen=chosen)


def check_among(
    chosen: IntArray | None,
    answers: IntArray,
    what: str,
    label_of: Callable[[int], str],
    hint: str = "",
) -> None:
    """Check that answers are among the chosen candidates (None: all), or name the first other.

    Parameters
    ----------
    chosen, answers : ndarray of int64
    what : str
        The noun for the answers.
    label_of : callable
        Returns what the message calls an answer, by its position.
    hint : str
        The end of the message.
    """
    missing = np.zeros(0, dtype=bool) if chosen is None else ~np.isin(answers, chosen)
    if missing.any():
        first = label_of(int(missing.argmax()))
        problem = f"{what} are not among the candidates, first {first}{hint}"
        raise InputValueError("candidates", f"{np.count_nonzero(missing)} {problem}")


def _read_name(
    value: str | Sampled | None, sides: Sequence[str], splits: TripleSplits
) -> CandidateSet:
    """Read the name of a set or of a known split, or a sample of either."""
    if isinstance(value, Sampled):
        check_sample(value)
        name, sampled, split, is_typed = value.name, value, value.among, value.typed
    else:
        name, sampled, is_typed = ALL if value is None else value, None, value == TYPED
        split = None if name in (ALL, TYPED) else name
    if is_typed and "relation" in sides:
        raise InputValueError("candidates", "types are those of entities; relations have none")
    if split is not None and split not in splits.known:
        known = ", ".join(splits.known) or "none"
        got = f"{split!r}; the known splits: {known}"
        raise InputValueError("candidates", expected=_EXPECTED, got=got)
    return CandidateSet(name, split, is_typed, sampled=sampled)


def _read_negatives(value: Negatives, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    triples = splits.tested
    lists: dict[str, Lists] = {}
    if QUALIFIER in sides:
        expected = f"other candidates for the side {QUALIFIER}"
        raise InputValueError("candidates", expected=expected, got="negatives of triples")
    for side, rows in value._asdict().items():
        name = f"candidates: {side}"
        if (rows is None) == (side in sides):
            expected = "negatives" if side in sides else "none, as the task has no such side"
            raise InputValueError(name, expected=expected, got="None" if rows is None else "some")
        if rows is None:
            continue
        if not isinstance(rows, tuple) and not hasattr(rows, "tocsr") and _is_matrix(rows):
            rows = csr_from_padded(rows, name=name)
        size = splits.relations.size if side == "relation" else splits.entities.size
        selection = as_selection(name, rows, triples, size, 0)
        assert selection is not None
        indptr, indices, which, _ = selection_arrays(selection)
        lists[side] = _lists_of(indptr, indices, np.arange(triples) if which is None else which)
    lengths = np.concatenate([np.diff(indptr) for indptr, _ in lists.values()])
    least, most = int(lengths.min()), int(lengths.max())
    number = str(most) if least == most else f"{least} to {most}"
    code = digest(*(array for indptr, indices in lists.values() for array in (indptr, indices)))
    return CandidateSet(f"given {number} negatives ({code})", negatives=lists)


def _is_matrix(value: Any) -> bool:
    """Return whether lists have one length; those of unlike lengths make no matrix."""
    try:
        return np.ndim(value) == 2
    except ValueError:
        return False


def _lists_of(indptr: IntArray, indices: IntArray, which: IntArray) -> Lists:
    """Return some lists, one after the other."""
    lengths = np.diff(indptr)[which]
    return indptr_of(lengths), indices[join_ranges(indptr[which], lengths)].astype(np.int64)


def candidates_of(
    side: str,
    candidates: CandidateSet,
    queries: SideQueries,
    kept: IntArray,
    splits: TripleSplits,
) -> Any:
    """Make the candidates of one side, in the form that `SideTasks` takes.

    Parameters
    ----------
    side : str
        The side, whose answers are ranked.
    candidates : CandidateSet
        The candidate set.
    queries : SideQueries
        The side's queries.
    kept : ndarray of int64, shape (n,)
        The triple of each task.
    splits : TripleSplits
        The evaluated split and the known ones.

    Returns
    -------
    None, ndarray, or (indptr, indices[, lists])

    Raises
    ------
    ValueError
        If an answer is not among its candidates.
    """
    vocabulary = splits.relations if side == "relation" else splits.entities
    tasks, sampled, chosen = np.arange(len(kept)), candidates.sampled, candidates.chosen
    if candidates.name == ALL:
        return None
    if candidates.negatives is not None:
        indptr, negatives = _lists_of(*candidates.negatives[side], kept)
        of_negatives = np.repeat(tasks, np.diff(indptr))
        of_task, both = distinct_rows(
            [
                np.concatenate([of_negatives, tasks]),
                np.concatenate([negatives, queries.targets]),
            ]
        )
        return indptr_of(np.bincount(of_task, minlength=len(kept))), both
    if chosen is None and candidates.split is not None:
        known = splits.triples[splits.rows_of(candidates.split)]
        chosen = distinct(known[:, 1] if side == "relation" else known[:, [0, 2]].reshape(-1))
    hint = '; unseen="drop" leaves such triples out' * (candidates.split == TRAIN)
    answers, what = queries.targets, f"answers of the side {side}"
    check_among(chosen, answers, what, lambda i: repr(vocabulary.label_of(int(answers[i]))), hint)
    if sampled is None and not candidates.is_typed:
        return chosen
    pool = np.arange(vocabulary.size) if chosen is None else chosen
    pools = np.array([0, len(pool)]), pool, np.zeros(len(kept), dtype=np.int64)
    if candidates.is_typed:
        pairs = [splits.triples[:, 1], splits.triples[:, _ANSWERS[side]]]
        relation, entities = distinct_rows(pairs)
        indptr = indptr_of(np.bincount(relation, minlength=splits.relations.size))
        pools = indptr, entities, splits.triples[kept, 1]
    if sampled is None:
        return pools
    # the sample of a side does not depend on the other sides of the task
    rng = np.random.default_rng([sampled.seed, list(_ANSWERS).index(side)])
    right = tasks, queries.targets
    return draw_candidates(queries.answers, queries.rows, pools, right, sampled.negatives, rng)
