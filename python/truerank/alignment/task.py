"""The task of entity alignment, made from pairs, and four ways to evaluate both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from .. import _core
from ..arrays.row_keys import are_among, digest_rows, distinct, without
from ..counting.driver import Counts, TileCount, open_in_turn
from ..embeddings.vectors import CSLS, VECTOR_SIMILARITIES, Embeddings, listener_of, watching
from ..errors import InputTypeError, InputValueError, warn_user
from ..inputs.array_likes import Axis, read_only
from ..inputs.checks import choice, is_integer
from ..inputs.progress_listeners import watch_part
from ..inputs.rules import (
    BatchOptions,
    EmbeddingOptions,
    ListOptions,
    RuleOptions,
    Rules,
    read_rules,
)
from ..naming import public
from ..ranks.labels import labels_of_codes
from ..ranks.protocol import Protocol
from ..records.columns import PAIRS
from ..records.splits import (
    audit_split,
    check_rules,
    count_shared_queries,
    name_splits,
    read_tables,
)
from ..records.vocabularies import align_set
from ..reporting import Report
from ..stores.store import Store, Tile
from ..tasks import described_by
from ..tasks.candidates import CandidateSet, name_sets
from ..tasks.side import Side, make_job, make_side, read_sides
from ..tasks.task import RowOrder
from ..tasks.task import Task as SidedTask
from .found_pairs import PairScores, score_found
from .matching import COPIES, copy_offset, with_means

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from ..counting.job import Job
    from ..inputs.progress_listeners import Watch
    from ..inputs.rules import IoMode, VectorSimilarity
    from ..ranks.container import Ranks
    from ..records.splits import SplitTables
    from ..records.vocabularies import Names, Vocabulary

    Candidates = tuple[IntArray, IntArray]


GRAPHS = ("left", "right")  # They are also the columns of a pair.
# The roles of the query and of the answer of each side, in the order of the tasks.
SIDES = {"left_to_right": ("left", "right"), "right_to_left": ("right", "left")}
CANDIDATE_NAMES = ("all", "test", "unaligned")
# Up to this many pairs of one entity are counted jointly, and up to this many known answers per
# task are taken out again; if there are more, it is faster to count each direction by itself.
_MAX_PAIRS_PER_ENTITY = 8
_MAX_KNOWN_PER_TASK = 32


@public("truerank.alignment")
class Task(SidedTask):
    r"""Entity alignment: rank the counterpart of every test entity, in both directions.

    Parameters
    ----------
    pairs : path, table, rows, or tuple of columns
        The pairs to rank: an entity of the left graph and its counterpart in the right one. A table
        (of pandas, polars or Arrow, or a structured array) has the columns left and right. Rows are
        an array of ints or of labels, of shape (m, 2), or a list of tuples. A path ending in .npy
        is such an array, one ending in .csv has commas and csv's quoting, any other file is
        tab-separated text; perhaps gzipped. `left` and `right` decide what an element names: a str
        is a label; an int is a label where labels are int, else a position, and refused where a str
        label looks like an int. Text holds integers where `left` (or `right`) is an int or has
        labels that are int, else labels.
    left, right : int, sequence of str or of int, mapping of these to int, or path
        The number of entities of each graph, including those without a counterpart: the
        number of vectors, or of rows and columns of scores. Or their labels in that order, or a
        mapping to ids, or a file of labels, or of labels and ids, as ``entity2id.txt``.
    candidates : {"all", "test", "unaligned"}, or mapping
        The entities of the other graph among which a counterpart is ranked. "all": every entity,
        including exclusive ones. "test": those of the test pairs; the fewer they are, the easier
        the task. "unaligned": all except those in a known pair (an entity of a test pair stays,
        even if a known pair has it). Or ids or labels for each side, as ``{"left_to_right":
        right_ids, "right_to_left": left_ids}``; the protocol names them by their numbers and a
        digest, as "selection of 40 x 52 (3f2a91c0)". For a side that the task lacks, all entities
        take part.
    sides : sequence of {"left_to_right", "right_to_left"}
        The sides to predict, in this order in Ranks.
    known : dict of str to split, list of splits, one split, or None
        The other splits of known pairs, as training pairs; those of a list are named known_0,
        known_1, ... An entity may have several counterparts: the other right answers of a query,
        the test's included, are left out of its candidates in both directions. The audit counts
        the test pairs that occur in these splits.
    exclusive : sequence of labels or ids, optional
        The left entities of the split that have no counterpart, in DBP2.0's words dangling ones;
        `score_pairs` says whether they are told from the others. They change no rank.
    split : str
        The name of the evaluated split.
    duplicates, leaks : {"keep", "drop", "raise"}
        What to do with test pairs that repeat an earlier one, and that a known split has, too.
        Those that are kept cause a warning.
    columns : dict of str to (str or int), optional
        The name or the number of the column of "left" and "right", in all splits; others are left
        out. Default: by names, and in this order where columns have none.
    header : bool, optional
        Whether the first line of a text file names its columns. Default: it does not, and one that
        has the names of both is refused.

    Attributes
    ----------
    sides : dict of str to Side
        Also as `left_to_right` and `right_to_left`. Their queries are entities, (m, 1).
    protocol : Protocol
    audit : Findings
        What is worth knowing about the pairs before numbers are believed: ``print(task.audit)``.
        Each finding has a `name`, a `count` and a `message`: how many pairs are ranked;
        "duplicates" and "leaks", with what was done about them; a known split whose pairs share an
        entity where others do not; and what is "left out" of files.
    pairs : ndarray of int64, shape (n, 2), read-only
        The test pairs that are ranked, as ids.
    left, right : tuple of str, tuple of int, or None
        The labels of the ids.
    candidates : (left ids, right ids), or None
        The candidates of both graphs, ascending and read-only; None for all.
    exclusive : ndarray of int64, or None
        The left entities without a counterpart, ascending and read-only; None where none are named.

    Raises
    ------
    TypeError, ValueError
        For anything but pairs, ids out of range, unknown labels, lists of candidates that lack an
        entity of the test, "unaligned" without known splits, exclusive entities that are in a pair,
        and no pairs at all; messages name the split.
    OSError
        For files that are missing or damaged.

    Warns
    -----
    UserWarning
        For duplicates and leaks that are kept.

    Notes
    -----
    Every task has the labels "queries" (the query entity) and "targets" (its counterpart), by name
    if both graphs have names, else by id; and "unit" (the row of `pairs`), which both directions
    share: the two ranks of a pair come from one score, and are one unit of intervals and tests.

    In practice, all entities of the other graph are candidates. Most published numbers use only
    those of the test pairs, and rise as the test shrinks (Berrendorf, Faerman, Vermue, Tresp: On
    the ambiguity of rank-based evaluation of entity alignment or link prediction methods, 2020).

    Examples
    --------
    >>> task = Task([(0, 0), (1, 2)], left=3, right=4, known={"train": [(0, 3)]})
    >>> task.left_to_right.queries.tolist(), task.left_to_right.filter[:2]
    ([[0], [1]], (array([0, 2, 3]), array([0, 3, 2])))
    >>> print(task.protocol)
    split test, filtered by train + test, all candidates, nan raise
    """

    left_to_right: Side
    right_to_left: Side
    pairs: IntArray
    left: Names
    right: Names
    candidates: tuple[IntArray, IntArray] | None
    exclusive: IntArray | None

    def __init__(
        self,
        pairs: Any,
        *,
        left: Any,
        right: Any,
        candidates: Any = "all",
        sides: Sequence[str] = ("left_to_right", "right_to_left"),
        known: Any = None,
        exclusive: Any = None,
        split: str = "test",
        duplicates: str = "keep",
        leaks: str = "keep",
        columns: Mapping[str, str | int] | None = None,
        header: bool | None = None,
    ) -> None:
        rules = check_rules(duplicates=duplicates, leaks=leaks)
        sides = read_sides(sides, SIDES)
        named_splits = name_splits(split, pairs, known)
        entities = dict(zip(GRAPHS, (left, right), strict=True))
        for name, labels in entities.items():
            if labels is None:
                expected = "the number of entities, or their labels"
                raise InputTypeError(name, expected=expected, got="None")
        splits = read_tables(named_splits, PAIRS, entities, columns=columns, header=header)
        if not splits.sizes[split]:
            raise InputValueError(split, expected="at least one pair", got="none")
        columns_of_pairs = list(splits.columns.values())
        ranked, findings = audit_split(splits, columns_of_pairs, rules, "pairs")
        self.left, self.right = (graph.names for graph in splits.vocabularies.values())
        self.pairs = read_only(np.ascontiguousarray(splits.rows[ranked]))
        name_of_candidates, self.candidates = as_candidates(candidates, splits, self.pairs, sides)
        self._known_pairs = splits.known_rows()
        self.exclusive = _as_exclusive(exclusive, splits)
        # The evaluated split comes first, and the known ones follow.
        filtered_by = list(named_splits)[1:]
        filtered_by.append(split)
        sides_of_task, is_asked = make_sides(splits, ranked, self.candidates, sides)
        findings += [*count_shared_queries(splits, "pairs", is_asked), *splits.findings]
        # Without names, queries of the two directions are told apart by the side.
        self._numbers_queries = not _have_names(*splits.vocabularies.values())
        super().__init__(
            sides_of_task,
            roles=SIDES,
            splits=splits,
            protocol=Protocol(
                filter=tuple(filtered_by), candidates=name_of_candidates, split=split
            ),
            facts=zip(self.pairs.T, (self.left, self.right), strict=True),
            known=digest_rows(list(splits.rows.T)),
            test_rows=ranked,
            height=splits.sizes[split],
            findings=findings,
        )

    _chooses_sides = True

    def _order_by_place(self, side: str, argument: str) -> RowOrder:
        role = self.roles[side][0]  # There is a row for each entity of its graph.
        axis = Axis(self.names[role].names, f"task.{role}")
        queries = self.pairs[:, GRAPHS.index(role)]
        return RowOrder(queries, self.names[role].size, f"{role} entity", axis)

    def _part(self, positions: IntArray) -> Self:
        part = super()._part(positions)
        part.pairs = read_only(self.pairs[positions])
        # Those of other parts are right, and not asked for.
        others = np.delete(self.pairs, positions, axis=0)
        part._known_pairs = np.concatenate([self._known_pairs, others])
        return part

    def _are_candidates(self, ids: IntArray) -> bool:
        """Whether any of right ids, in the first column, and left ids are candidates."""
        if self.candidates is None:
            return True
        left, right = self.candidates
        return bool(are_among(ids[:, 0], right).any() or are_among(ids[:, 1], left).any())

    @described_by(SidedTask._rank_vectors, EmbeddingOptions)
    def evaluate_embeddings(
        self,
        left: Any,
        right: Any,
        *,
        similarity: VectorSimilarity = "cosine",
        csls: int | CSLS | None = None,
        **options: Unpack[EmbeddingOptions],
    ) -> Report:
        """Evaluate embeddings of both graphs, in both directions; scores are never stored.

        Parameters
        ----------
        left, right : array_like, shape (entities, d), or path
            A vector for each entity of the graph: arrays, memory maps or paths of files, as
            `truerank.rank_embeddings` takes them. The index of a frame must be the labels in order.
        similarity : str
            As in `truerank.rank_embeddings`, but for "maxsim".
        csls : int or CSLS, optional
            The number of neighbours for cross-domain similarity local scaling, from 1 on, which
            takes one pass more; or means from `csls_means`. See Notes.

        Warns
        -----
        UserWarning
            If all vectors of one side stand, in order, in the other, and are candidates of
            themselves, as where one matrix has both graphs.

        Notes
        -----
        With CSLS (see `csls_means`) the score of x and y is 2 s(x, y) - (r_left(x) + r_right(y)).
        r_left(x) is the mean of the k highest similarities of x to the right candidates of the
        protocol, and r_right(y) that of y to the left candidates; if there are fewer, of all.
        Similarities are added best first in float64, and means are rounded to the dtype of the
        scores; the sum of the two means is rounded once, and so is the difference, so both
        directions count the same bits. With ``nan="raise"``, a NaN similarity of two candidates is
        an error; else it is left out.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.alignment import Task
        >>> left = np.array([[1, 0], [0, 1]], np.float32)
        >>> right = np.array([[0, 1], [1, 1], [1, 0]], np.float32)
        >>> report = Task([(0, 2), (1, 1)], left=2, right=3).evaluate_embeddings(left, right)
        >>> report["left_to_right.mr"], report["right_to_left.mr"]
        (1.5, 1.25)
        """
        rules = read_rules(options, EmbeddingOptions, Task.evaluate_embeddings)
        choice("similarity", similarity, VECTOR_SIMILARITIES)
        side = "left_to_right"
        order = self._order_by_place(side, "left")
        given = {"queries": left, "entities": right, "similarity": similarity}
        vectors, _ = self._open_vectors(side, "left", order, rules, **given)
        offset = copy_offset(vectors)
        # Of a pair (i, j) right i + offset has the vector of left i, and left j - offset that of j.
        if offset is not None and self._are_candidates(self.pairs + np.array([offset, -offset])):
            words = f"{COPIES}, which is not a candidate if candidates are only of the other graph"
            warn_user("left, right", words)
        n_passes = 2 if is_integer(csls) else 1  # The means of neighbours are found before.
        sizes = [vectors.nbytes] * n_passes
        with watching(rules.progress, sum(sizes)) as watch:
            if watch is not None:
                watch(0, sum(sizes))
            first_pass = watch_part(watch, sizes, 0)
            scaled = with_means(vectors, csls, self.candidates, rules, first_pass)
            last_pass = watch_part(watch, sizes, len(sizes) - 1)
            ranks = rank_vectors(scaled, self.sides, rules, watch=last_pass)
        return self._report(ranks)

    @described_by(SidedTask._rank_scores, RuleOptions)
    def evaluate_scores(
        self, scores: Any, *, io: IoMode | None = None, **options: Unpack[RuleOptions]
    ) -> Report:
        """Evaluate a matrix of similarities, in memory or in files, in both directions.

        Rows are counted from left to right and columns from right to left, tile by tile: files are
        read once, except for the scores of the pairs themselves. Memory does not grow with the
        matrix.

        Parameters
        ----------
        scores : array_like, shape (left entities, right entities), or files
            The scores, as `truerank.rank` takes them: arrays of any layout, paths or stores. The
            index and the columns of a frame must be the labels of both graphs in their order.

        Examples
        --------
        >>> from truerank.alignment import Task
        >>> task = Task([(0, 0), (1, 1)], left=2, right=3)
        >>> report = task.evaluate_scores([[0.9, 0.2, 0.3], [0.8, 0.5, 0.6]])
        >>> report["left_to_right.mr"], report["right_to_left.mr"]
        (2.0, 1.0)
        """
        rules = read_rules(options, RuleOptions, Task.evaluate_scores)
        side = "left_to_right"
        order = self._order_by_place(side, "scores")
        store, _ = self._open_scores(side, scores, order, rules, argument="scores")
        with watching(rules.progress, store.nbytes) as watch:
            if watch is not None:
                watch(0, store.nbytes)
            ranks = rank_matrix(store, self.sides, rules, io=io, watch=watch)
        return self._report(ranks)

    @described_by(SidedTask._rank_callables, BatchOptions)
    def evaluate(
        self,
        left_to_right: Callable[[IntArray], Any] | None = None,
        right_to_left: Callable[[IntArray], Any] | None = None,
        **options: Unpack[BatchOptions],
    ) -> Report:
        """Evaluate a model by callables that score batches of entities.

        Parameters
        ----------
        left_to_right, right_to_left : callable
            f(queries) -> scores: queries (b, 1) int64 are distinct ids of entities; scores
            (b, entities of the other graph) are numpy arrays or torch CPU tensors.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.alignment import Task
        >>> scores = np.array([[0.9, 0.2, 0.3], [0.8, 0.5, 0.6]])
        >>> task = Task([(0, 0), (1, 1)], left=2, right=3)
        >>> report = task.evaluate(lambda x: scores[x[:, 0]], lambda x: scores.T[x[:, 0]])
        >>> report["left_to_right.mr"], report["right_to_left.mr"]
        (2.0, 1.0)
        """
        rules = read_rules(options, BatchOptions, Task.evaluate)
        scorers = {"left_to_right": left_to_right, "right_to_left": right_to_left}
        return self._rank_callables(scorers, rules, options)

    @described_by(SidedTask._rank_lists, ListOptions)
    def evaluate_lists(
        self,
        left_to_right: Any = None,
        right_to_left: Any = None,
        *,
        columns: Mapping[str, str | int] | None = None,
        duplicates: str = "raise",
        **options: Unpack[ListOptions],
    ) -> Report:
        """Evaluate lists of the top candidates of both directions, which may miss the right ones.

        A right answer that its list misses is tied with all candidates that the list does not have
        and that are not known: the optimistic and the pessimistic rank are its bounds.

        Parameters
        ----------
        left_to_right, right_to_left : mapping, table, path, or TopK
            By key: ``{left: {right: score}}``, or ``{left: [right, ...]}``, the best first; for
            `right_to_left` the other way round. Or a table or a text file with the columns left,
            right and, perhaps, score. A query without a list has an empty one. Or what
            `truerank.topk_embeddings` returns, a row for each entity of the graph.

        Examples
        --------
        >>> from truerank.alignment import Task
        >>> task = Task([("a", "x"), ("b", "y")], left=["a", "b"], right=["x", "y", "z"])
        >>> backwards = {"x": ["a"], "y": ["b"]}
        >>> task.evaluate_lists({"b": ["z", "y"], "a": ["x"]}, backwards)["left_to_right.mr"]
        1.5
        """
        rules = read_rules(options, ListOptions, Task.evaluate_lists)
        lists = {"left_to_right": left_to_right, "right_to_left": right_to_left}
        reading = {"columns": columns, "duplicates": duplicates}
        return self._rank_lists(lists, rules, reading)

    def score_pairs(self, found: Any, *, scores: Any = None) -> PairScores:
        """Hold found pairs against the test: precision, recall and F1.

        Parameters
        ----------
        found : what `infer` returns, or pairs
            Pairs have the forms and the labels of those of the task. What `infer` returns, as it
            is, has positions and scores: its pairs alone are read as labels where these are int.
        scores : array_like of float, shape (n,), optional
            A score for each pair, of which higher ones are better. Then there are the threshold
            with the best F1 and the curve of all thresholds; choose it on validation pairs.

        Returns
        -------
        PairScores

        Raises
        ------
        TypeError, ValueError, OSError
            For anything but pairs, unknown labels, scores that are NaN or of another number, and
            OpenEA's ``alignment_results_12``, whose numbers are of two kinds.

        Notes
        -----
        A repeated pair counts once, at its best score. Pairs of known splits count neither as found
        nor as right, and no pair counts as found whose left or right entity stands in known pairs
        alone: nobody asked for it. If an entity has several counterparts, each is a right pair. Of
        a part, the pairs of other parts are known.

        With `exclusive`, the left entities of the test and these are asked, as in DBP2.0's
        evaluation: one in no found pair is said to have no counterpart, of which there are
        precision, recall and F1. In a second step, left entities in a right pair are divided by
        those in any pair, and by those with a counterpart. DBP2.0's candidates are those of
        ``candidates="unaligned"``.

        References
        ----------
        - Sun, Chen, Hu: Knowing the No-match: Entity Alignment with Dangling Cases. ACL 2021.

        Examples
        --------
        >>> from truerank.alignment import Task
        >>> task = Task([(0, 0), (1, 1)], left=4, right=3, exclusive=[2, 3])
        >>> found = task.score_pairs([(0, 0), (1, 2), (2, 1)], scores=[0.9, 0.8, 0.4])
        >>> found.precision, found.recall, found.f1
        (0.3333333333333333, 0.5, 0.4)
        >>> found.threshold, found.best.f1, found.exclusive.recall
        (0.9, 0.6666666666666666, 0.5)
        """
        return score_found(self, found, scores)

    def __repr__(self) -> str:
        left_count = self.names["left"].size
        right_count = self.names["right"].size
        pairs = "1 pair" if len(self.pairs) == 1 else f"{len(self.pairs):,} pairs"
        entities = f"{left_count:,} left and {right_count:,} right entities"
        return f"Task({pairs} of {entities}; {self.protocol})"


def as_candidates(
    value: Any, splits: SplitTables, test: IntArray, sides: Sequence[str]
) -> tuple[str, Candidates | None]:
    """Check the argument `candidates` of some sides; return its name in the protocol, and the ids.

    The left ids and the right ids ascend, and have those of all ranked pairs; None: all entities.
    """
    tested = read_only(distinct(test[:, 0])), read_only(distinct(test[:, 1]))
    if isinstance(value, str):
        choice("candidates", value, CANDIDATE_NAMES)
        if value == "all":
            return value, None
        if value == "test":
            return value, tested
        # All entities of each graph but those that known pairs align and the test does not.
        if not splits.known:
            problem = '"unaligned" leaves out what known pairs align, but there are no known splits'
            raise InputValueError("candidates", problem)
        known_pairs = splits.rows[splits.tested :]
        left, right = (
            read_only(without(np.arange(graph.size), without(known_ids, tested_ids)))
            for graph, known_ids, tested_ids in zip(
                splits.vocabularies.values(), known_pairs.T, tested, strict=True
            )
        )
        return value, (left, right)
    expected = f"one of {', '.join(CANDIDATE_NAMES)}, or those of {' and '.join(sides)} by side"
    if not isinstance(value, Mapping):
        raise InputTypeError("candidates", expected=expected, got=type(value).__name__)
    if set(value) != set(sides):
        got = ", ".join(map(repr, value))
        raise InputValueError("candidates", expected=expected, got=got)
    side_of_answer = {answer: side for side, (_, answer) in SIDES.items()}
    lists = []
    for graph, tested_ids in zip(GRAPHS, tested, strict=True):
        side = side_of_answer[graph]
        vocabulary = splits.vocabularies[graph]
        all_entities = vocabulary.names or range(vocabulary.size)
        entities = value.get(side, all_entities)  # A side that is not evaluated is not named.
        ids = align_set(f"candidates: {side}", entities, vocabulary)
        missing = without(tested_ids, ids)
        if len(missing):
            share = f"{len(missing):,} of {len(tested_ids):,}"
            first = vocabulary.label_of(int(missing[0]))
            problem = f"{share} {graph} entities of the test are missing, first {first!r}"
            raise InputValueError(f"candidates: {side}", problem)
        lists.append(read_only(ids))
    return name_sets(list(map(CandidateSet, lists))), (lists[0], lists[1])


def _as_exclusive(value: Any, splits: SplitTables) -> IntArray | None:
    """Check the argument `exclusive`; return the ids, which are in no pair of any split."""
    if value is None:
        return None
    ids = align_set("exclusive", value, splits.vocabularies["left"])
    n_paired = int(np.count_nonzero(are_among(ids, splits.columns["left"])))
    if n_paired:
        got = f"{n_paired:,} of {len(ids):,} that have one"
        raise InputValueError("exclusive", expected="entities without a counterpart", got=got)
    return read_only(ids)


def _have_names(left: Vocabulary, right: Vocabulary) -> bool:
    """Whether labels have names: those of both directions are joined, and are of one kind."""
    both = left.names is not None and right.names is not None
    return both and left.holds_ints == right.holds_ints


def make_sides(
    splits: SplitTables,
    ranked: IntArray,
    candidates: Candidates | None,
    chosen_sides: Sequence[str],
) -> tuple[dict[str, Side], npt.NDArray[np.bool_]]:
    """Make the tasks of the chosen directions; say which pairs are of their queries."""
    is_asked = np.zeros(len(splits.rows), dtype=bool)
    left, right = splits.vocabularies.values()
    labels = {}
    for graph, ids in splits.columns.items():
        if _have_names(left, right):
            labels[graph] = splits.vocabularies[graph].labels(ids[ranked])
        else:
            labels[graph] = labels_of_codes(ids[ranked])
    sides: dict[str, Side] = {}
    for code, name in enumerate(chosen_sides):
        query, answer = SIDES[name]
        size = splits.vocabularies[answer].size
        side, shares_query = make_side(
            name, splits.columns, ranked, query=[query], answer=answer, n_candidates=size
        )
        is_asked |= shares_query
        labels_of_side = {
            "side": labels_of_codes(np.full(len(side), code), tuple(chosen_sides)),
            "queries": labels[query],
            "targets": labels[answer],
            "unit": labels_of_codes(ranked),
        }
        among = None if candidates is None else candidates[GRAPHS.index(answer)]
        sides[name] = replace(side, candidates=among, labels=labels_of_side)
    return sides, is_asked


def rank_vectors(
    vectors: Embeddings, sides: Mapping[str, Side], rules: Rules, *, watch: Watch | None
) -> list[Ranks]:
    """Rank left against right, right against left, or both: each score once if that is cheaper.

    Both sides have the same pairs in the same order. The candidates of each side are one array or
    None, and include the queries of the other side. The result equals that of each side by itself,
    bit for bit, as a score is the same in both directions. An audit is counted for each direction
    by itself.
    """
    if not rules.audit and len(sides) == len(SIDES) and joint_count_is_cheaper(sides):
        return _rank_jointly(vectors, sides, rules, watch)
    sizes = [vectors.nbytes] * len(sides)
    ranks = []
    for i, job in enumerate(_jobs_of(sides, rules)):
        some = vectors.turned() if job.is_turned else vectors
        counts = some.counts(job, watch=watch_part(watch, sizes, i))
        ranks.append(counts.ranks(job, some))
    return ranks


def joint_count_is_cheaper(sides: Mapping[str, Side]) -> bool:
    """Whether scoring all candidates of both graphs once is cheaper than each direction."""
    forward, backward = sides.values()
    right_candidates = len(_candidate_ids(forward))
    left_candidates = len(_candidate_ids(backward))
    scores_apart = len(forward.query_ids) * right_candidates
    scores_apart += len(backward.query_ids) * left_candidates
    if scores_apart < left_candidates * right_candidates:
        return False
    pairs_of_left = np.bincount(backward.targets)
    pairs_of_right = np.bincount(forward.targets)
    most_pairs = max(pairs_of_left.max(initial=0), pairs_of_right.max(initial=0))
    if most_pairs > _MAX_PAIRS_PER_ENTITY:
        return False
    if backward.filter is None:
        return True
    indptr, _, list_of_task = backward.filter
    known = int(np.diff(indptr)[list_of_task].sum())
    return known <= _MAX_KNOWN_PER_TASK * len(backward)


def _candidate_ids(side: Side) -> Any:
    """Return the ids of the candidates of a side, which are all where it names none."""
    if side.candidates is None:
        return np.arange(side.n_candidates)
    return side.candidates


def _rank_jointly(
    vectors: Embeddings, sides: Mapping[str, Side], rules: Rules, watch: Watch | None
) -> list[Ranks]:
    """Score all candidates of both graphs once, and count each score in both directions."""
    forward, backward = sides.values()
    forward_job, backward_job = _jobs_of(sides, rules)
    grid = _core.Grid(vectors.core(), _candidate_ids(backward), _candidate_ids(forward))
    # The side that is predicted has the targets: from right to left these are left entities.
    left_entities = backward_job.targets
    right_entities = forward_job.targets
    counts = _core.rank_grid(
        grid,
        _core.Tasks(left_entities, right_entities, forward_job.filter),
        backward_job.filter,
        rules.nan,
        vectors.entities_at_a_time,
        rules.num_threads,
        listener_of(watch),
    )
    ranks = []
    for job, counted in zip((forward_job, backward_job), counts, strict=True):
        if counted.fault is not None:
            raise job.make_error(counted.fault)
        words = {"device": vectors.host_place, "similarity": vectors.measure}
        ranks.append(job.ranks(counted.arrays, vectors.dtype, vectors.files, **words))
    return ranks


def _jobs_of(sides: Mapping[str, Side], rules: Rules) -> list[Job]:
    """Return the job of each side: a row of scores is a left entity, or a right one if turned."""
    jobs: list[Job] = []
    for name, side in sides.items():
        job = make_job(side, side.query_ids[side.rows, 0], rules)
        jobs.append(replace(job, is_turned=SIDES[name][0] == "right"))
    return jobs


def rank_matrix(
    store: Store, sides: Mapping[str, Side], rules: Rules, *, io: str | None, watch: Watch | None
) -> list[Ranks]:
    """Rank as `rank_vectors` does, and read each score once: tiles are counted and transposed."""
    io = store.io if io is None else io
    counts = []
    for job in _jobs_of(sides, rules):
        counts.append(TileCount(TransposedStore(store) if job.is_turned else store, job, io))
    done = 0
    open_tile = partial(store.core_block, io=io)
    any_count = counts[0]  # All have the tiles of the store, as it is or transposed.
    tiles = any_count.tiles
    if any_count.job.is_turned:
        tiles = [tile.T for tile in tiles]
    for tile, scores in open_in_turn(open_tile, tiles, one_ahead=not store.in_place):
        for count in counts:
            if count.job.is_turned:
                fault = count.add_tile(tile.T, scores.T)
            else:
                fault = count.add_tile(tile, scores)
            if fault is not None:
                raise count.job.make_error(fault)
        del scores  # Now the file can be unmapped.
        done += tile.height * tile.width * store.itemsize
        if watch is not None:
            watch(done, store.nbytes)
    return [Counts(count.final_counts()).ranks(count.job, count.store) for count in counts]


class TransposedStore(Store):
    """A transposed view of a store, which its owner closes: its rows are the store's columns."""

    def __init__(self, store: Store) -> None:
        height, width = store.shape
        super().__init__((width, height), store.dtype, store.carrier, store.files)
        self.source = store
        self.in_place = store.in_place
        self.io = store.io

    def tiles(self, most: int) -> list[Tile]:
        return [tile.T for tile in self.source.tiles(most)]

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Any]:
        with self.source.block(tile.T, io) as block:
            yield block.T

    @contextmanager
    def core_block(self, tile: Tile, io: str) -> Iterator[Any]:
        with self.source.core_block(tile.T, io) as scores:
            yield scores.T

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        return self.source.take(columns, rows)
