"""Triples, the task of link prediction that is made from them, and the ways to evaluate it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import numpy as np

from ..arrays.row_keys import digest_rows
from ..errors import InputValueError, Option, warn_user
from ..inputs.array_likes import several
from ..inputs.checks import choice, flag, is_integer
from ..inputs.rules import BatchOptions, EmbeddingOptions, ListOptions, RuleOptions, read_rules
from ..naming import format_count, public
from ..ranks.protocol import Protocol
from ..records.columns import FACTS
from ..records.splits import SELF, check_rules, name_splits, read_tables
from ..tasks import described_by
from ..tasks.candidates import Sampled
from ..tasks.side import read_sides
from ..tasks.task import Task as SidedTask
from .sides import (
    FACT,
    FILTERS,
    NONE,
    QUERY,
    SIDES,
    TRIPLE,
    audit_triples,
    list_findings,
    make_sides,
    read_side_candidates,
)

if TYPE_CHECKING:
    from ..arrays import IntArray
    from ..inputs.rules import IoMode, Similarity
    from ..records.splits import SplitTables
    from ..records.vocabularies import Names
    from ..reporting import Report
    from ..tasks.side import Side


@public("truerank.link_prediction")
class Triples(NamedTuple):
    """Triples as ids, and the labels of the ids.

    Attributes
    ----------
    ids : ndarray of int64, shape (n, 3 + qualifiers)
        Head, relation and tail, then further columns.
    entities, relations : tuple of str, tuple of int, or None
        The labels in the order of the ids; None if the triples held ids.
    qualifiers : tuple
        The labels of each further column, or None.
    """

    ids: IntArray
    entities: Names
    relations: Names
    qualifiers: tuple[tuple[str, ...] | None, ...] = ()


@public("truerank.link_prediction")
def read_triples(
    triples: Any,
    *,
    entities: Any = None,
    relations: Any = None,
    columns: Mapping[str, str | int] | None = None,
    header: bool | None = None,
    ids: bool = False,
) -> Triples:
    """Read triples of any form into ids.

    Parameters
    ----------
    triples : path, table, rows, or tuple of columns
        Head, relation, tail, then any further columns, in a form that `Task` takes; or a file of
        OpenKE (``train2id.txt``), whose first line is the number of the others, and whose columns
        are head, tail and relation. `entities` and `relations` decide what an element names, as in
        `Task`. Text holds labels, unless `entities` is an int or has labels that are int: then it
        holds integers, and integers of relations too unless `relations` names them.
    entities, relations : None, int, sequence of str or of int, mapping of these to int, or path
        None: the labels that occur, in ascending order (by code point), or ids from 0 to the
        largest; an error if all labels are numbers written like ids. An int: the number of ids.
        Labels in the order of their ids, a mapping to ids, or a file of them, as in `Task`.
    columns : dict of str to (str or int), optional
        The name or the number of the column of "head", "relation" and "tail"; no others are read.
    header : bool, optional
        Whether the first line of a file names its columns, as in `Task`.
    ids : bool
        Whether text has ids of `entities` and `relations`, as in `Task`.

    Returns
    -------
    Triples
        ``ids`` (int64), and the labels of ``entities`` and ``relations``.

    Raises
    ------
    TypeError
        For anything else, and for floats.
    ValueError
        For fewer than three columns, lines of another width (with file and line), ids out of
        range, unknown labels, and labels that are all numbers if neither their number nor their
        order is given.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> triples = read_triples([("b", "likes", "a"), ("a", "knows", "b")])
    >>> triples.ids
    array([[1, 1, 0],
           [0, 0, 1]])
    >>> triples.entities, triples.relations
    (('a', 'b'), ('knows', 'likes'))
    """
    orders = {"entities": entities, "relations": relations}
    tables = read_tables(
        {"triples": ("triples", triples)},
        FACTS,
        orders,
        columns=columns,
        header=header,
        has_ids=flag("ids", ids),
    )
    _, _, _, *further = tables.vocabularies.values()
    return Triples(
        ids=np.ascontiguousarray(tables.rows),
        entities=tables.vocabularies["head"].names,
        relations=tables.vocabularies["relation"].names,
        qualifiers=tuple(vocabulary.words for vocabulary in further),
    )


@public("truerank.link_prediction")
class Task(SidedTask):
    r"""Link prediction: rank head, tail or relation of every test triple among candidates.

    Parameters
    ----------
    test : path, table, rows, or tuple of columns
        The triples to rank: head, relation, tail, and behind them what `keys` says. A table (of
        pandas, polars or Arrow, or a structured array) has the columns head, relation and tail, or
        h, r and t. Rows are an array of ints or of labels, of shape (n, 3+), or a list of tuples. A
        path ending in .npy is such an array, one ending in .csv has commas and csv's quoting, any
        other file is tab-separated text; perhaps gzipped. `entities` and `relations` decide what an
        element names: a str is a label; an int is a label where labels are int, else a position,
        and refused where a str label looks like an int. Text holds integers where `entities` is an
        int or has labels that are int (those of relations too, unless `relations` names them), else
        labels; all numbers ("0", "17") are an error if `entities` is None.
    known : dict of str to split, list of splits, one split, or None
        The other splits of known triples; those of a list are named known_0, known_1, ... All known
        answers of a query, the test's included, are left out of its candidates, never the right
        answer of the task. None or {}: only the test's own answers are left out. If `test` is a
        sample, give the whole test as the known split of its name: the ranks are then those of
        ``Task(whole, ...)[positions]``.
    entities, relations : None, int, sequence of str or of int, mapping of these to int, or path
        None: the labels of all splits in ascending order, or ids from 0 to the largest. An int: the
        number of ids. Labels in the order of the columns of scores, a mapping to ids, or a file of
        labels, or of labels and ids, such as ``entity2id.txt``.
    sides : sequence of {"head", "tail", "relation"}
        The sides to predict; in Ranks, head comes before tail, and tail before relation.
    candidates : None, "all", "typed", name of a split, entities, mapping, lists, Sampled
        None or "all": all entities. A known split, such as "train": its entities. "typed": those
        that occur in that position of that relation, in any split. An array of ids or labels:
        these, under a name like "selection of 40 (3f2a91c0)" in the protocol. A mapping: such
        arrays by relation; or any of these by side, as ``{"tail": ["a", "b"], "head": {"likes":
        ["c"]}}``. A tuple ``(indptr, indices)``, for one side: a list for each test triple as it
        was given. `Sampled`: negatives that are drawn for each task, never known answers. A right
        answer that is not among its candidates is an error, unless candidates are "train" and
        ``unseen="drop"``. The page "Candidates: all, some, sampled, listed" has more.
    split : str
        The name of the evaluated split.
    keys : sequence of int, optional
        The further columns, from 3 on, that are part of every query, such as a time; (): none, but
        all are part of the facts. Named columns are numbered in their order behind head, relation
        and tail. Default: a further column is left out if it has one value in all splits, else
        refused.
    filter : {"query", "triple", "fact", "none"}
        Which known answers are left out. "query" (default): those of the same query, with its
        `keys`. "triple": those, whatever further columns hold. "fact": those of facts that agree in
        all further columns, and triples are then equal only if all columns are. "none": nothing.
    exclude : {None, "self"}
        "self": the query's own entity is no candidate, unless it is the right answer. Queries of
        relations have none.
    duplicates, leaks, unseen : {"keep", "drop", "raise"}
        What to do with test triples that repeat an earlier one; that a known split has, too; and
        that have an entity or relation that the split named "train" lacks (all known splits, if
        none has that name). "drop" also leaves out facts, but of "train", with names that
        `entities` or `relations` lack.
    columns : dict of str to (str or int), optional
        The name or the number of the column of "head", "relation" and "tail", in all splits. Others
        are left out, or with `keys` follow in their order. Default: by names, or in this order.
    header : bool, optional
        Whether the first line of each text file names its columns. Default: it does not, and a
        first line that looks like names is refused.
    ids : bool
        Whether integers in files, arrays and tables are ids of `entities` and `relations`, whatever
        the labels are, as in OpenKE's ``test2id.txt`` beside ``entity2id.txt``. Results have the
        labels.

    Attributes
    ----------
    sides : dict of str to Side
        Each is an attribute, too: `head`, `tail`, `relation`. Queries are rows: for a tail (head,
        relation, ...), for a head (relation, tail, ...), for a relation (head, tail, ...).
    protocol : Protocol
    audit : Findings
        What is worth knowing about triples: ``print(task.audit)``.
        Each finding has a `name`, a `count` and a `message`: "duplicates", "leaks" and "unseen",
        with what was done about them; what was "found" in all splits, and "left out" of files;
        entities "in no fact"; relations of the test that a known split lacks; "more relations than
        entities"; "inverse relations", ranked twice; edges in "both directions"; "exchanged pairs";
        "one direction" where train has both.
    test : ndarray of int64, shape (n, 3+)
        The test triples that are ranked, as ids.
    entities, relations : tuple of str, tuple of int, or None
        The labels of the ids.
    qualifiers : tuple
        The labels of each further column, or None.

    Raises
    ------
    TypeError, ValueError
        For anything but triples, and for arguments that do not fit.
    OSError
        For files that are missing or damaged.

    Warns
    -----
    UserWarning
        For duplicates and leaks that are kept, and for a known split of 100 triples and more that
        has no query of the test (unless it has the candidates): it filters nothing. Where
        `entities` was None, the methods that evaluate warn unless the attribute `entities`, which
        tells the order of labels, was read; `evaluate` does the same for `relations` and
        `qualifiers`, unless the side's `queries` were read.

    Notes
    -----
    Every task has the labels "head", "relation" and "tail" (those of its triple, by name),
    "queries" and "targets" (ids: a query of heads or tails is relation * entities + entity),
    "category" (of the relation: 1-1, 1-n, n-1 or n-n), "head_degree" and "tail_degree" (the number
    of distinct known triples of the entity), "degree" (that of the predicted entity or relation, as
    "0", "1", "2-3", "4-7", ...), "fact" (a number of the triple by names, whatever their order),
    and "unit" (the row of `test` as it was given, which all sides share). They group reports, and
    are columns of ``ranks.to_pandas()``.

    Examples
    --------
    >>> task = Task([("a", "likes", "c")], {"train": [("a", "likes", "b"), ("b", "likes", "c")]})
    >>> task.entities, task.tail.queries, task.tail.filter[:2]
    (('a', 'b', 'c'), array([[0, 0]]), (array([0, 2]), array([1, 2])))
    >>> print(task.protocol)
    split test, filtered by train + test, all candidates, nan raise
    >>> print(Task(task.test, entities=3).protocol)
    split test, filtered by test, all candidates, nan raise
    >>> print(Task(task.test, entities=3, filter="none").protocol)
    split test, unfiltered, all candidates, nan raise
    """

    head: Side
    tail: Side
    relation: Side
    test: IntArray

    def __init__(
        self,
        test: Any,
        known: Any = None,
        *,
        entities: Any = None,
        relations: Any = None,
        sides: Sequence[str] = ("head", "tail"),
        candidates: Any = None,
        split: str = "test",
        keys: Sequence[int] | None = None,
        filter: str = QUERY,
        exclude: str | None = None,
        duplicates: str = "keep",
        leaks: str = "keep",
        unseen: str = "keep",
        columns: Mapping[str, str | int] | None = None,
        header: bool | None = None,
        ids: bool = False,
    ) -> None:
        rules = check_rules(duplicates=duplicates, leaks=leaks, unseen=unseen)
        chosen_sides = read_sides(sides, SIDES)
        orders = {"entities": entities, "relations": relations}
        self._known_orders = {name for name, order in orders.items() if order is not None}
        splits = read_tables(
            name_splits(split, test, known, allows_whole=True),
            FACTS,
            orders,
            columns=columns,
            header=header,
            has_further=keys is not None,
            refuses_further=keys is None,
            has_ids=flag("ids", ids),
            unseen=unseen,
        )
        key_columns = _read_keys(keys, splits.rows.shape[1])
        # A query has the further columns that are keys behind its own.
        roles = {side: (*SIDES[side], *map(str, key_columns), side) for side in chosen_sides}
        filter_names = _read_filter(filter, exclude, splits)
        name_of_candidates, pools = read_side_candidates(candidates, chosen_sides, splits)
        test_rows, audit, lacking = audit_triples(splits, key_columns, filter, rules)
        sides_of_task, is_asked = make_sides(roles, splits, test_rows, filter, pools, exclude)
        self.test = np.ascontiguousarray(splits.rows[test_rows])
        protocol = Protocol(
            filter=filter_names,
            filter_rule=_protocol_rule(filter, key_columns, self.test.shape[1]),
            candidates=name_of_candidates,
            sampled=isinstance(candidates, Sampled),
            split=split,
        )
        super().__init__(
            sides_of_task,
            roles=roles,
            splits=splits,
            protocol=protocol,
            facts=[(sides_of_task[chosen_sides[0]].labels["fact"].codes, None)],
            known=digest_rows(list(splits.rows.T)),
            test_rows=splits.places[test_rows],
            height=splits.height,
            findings=list_findings(splits, test_rows, audit, lacking, is_asked),
        )

    _numbers_queries = True
    _chooses_sides = True

    @property
    def entities(self) -> Names:
        """The labels of entities in the order of their ids, which is that of columns of scores."""
        self._known_orders.add("entities")
        return self.names["head"].names

    @property
    def relations(self) -> Names:
        """The labels of relations in the order of their ids."""
        self._known_orders.add("relations")
        return self.names["relation"].names

    @property
    def qualifiers(self) -> tuple[Names, ...]:
        """The labels of each further column, or None."""
        further = list(self.names.values())[3:]
        self._known_orders.update(vocabulary.of for vocabulary in further)
        return tuple(vocabulary.names for vocabulary in further)

    def _warn_about_orders(self, *, are_asked: bool = False) -> None:
        """Warn, once, that labels are in ascending order, unless the user knows the order.

        It is the order of columns; if callables are asked, or somebody has read the queries, also
        of the ids in queries.
        """
        nouns_of_columns = {self._vocabulary(name).of for name in self.sides}  # as "entities"
        nouns_of_queries: set[str] = set()
        for name, side in self.sides.items():
            if are_asked or "queries" in side.reads:
                nouns_of_queries.update(self.names[role].of for role in self.roles[name][:-1])
        vocabularies = {vocabulary.of: vocabulary for vocabulary in self.names.values()}
        for noun in sorted((nouns_of_columns | nouns_of_queries) - self._known_orders):
            labels = vocabularies[noun].words or ()
            if len(labels) < 2 or labels == tuple(map(str, range(len(labels)))):
                continue  # Each label is its own number, or there is no order.
            argument = noun
            ways = [Option(noun, ..., "gives it", call=f"Task(..., {noun}=names)")]
            if noun not in ("entities", "relations"):
                argument = f"keys: {noun}"
                ways = []
            what = "columns are taken" if noun in nouns_of_columns else "ids in queries are"
            order = "in ascending order of the labels, since no list gives their order"
            warn_user(argument, f"{what} {order}", ways)
        self._known_orders |= nouns_of_columns | nouns_of_queries

    def _part(self, positions: IntArray) -> Self:
        part = super()._part(positions)
        part.test = self.test[positions]
        return part

    def __repr__(self) -> str:
        sides = ", ".join(
            f"{name} {len(side):,} of {format_count(len(side.query_ids), 'query')} among "
            f"{side.n_candidates:,} {self._vocabulary(name).of}"
            for name, side in self.sides.items()
        )
        return f"{type(self).__name__}({sides}; {self.protocol})"

    @described_by(SidedTask._rank_callables, BatchOptions)
    def evaluate(
        self,
        tail: Callable[[IntArray], Any] | None = None,
        *,
        head: Callable[[IntArray], Any] | None = None,
        relation: Callable[[IntArray], Any] | None = None,
        **options: Unpack[BatchOptions],
    ) -> Report:
        """Evaluate a model by callables that score batches of queries.

        Parameters
        ----------
        tail, head, relation : callable
            f(queries) -> scores, for each side of the task: queries (b, c) int64, distinct, as the
            side's `queries` has them; scores (b, columns), numpy or a torch CPU tensor.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1)], {"train": [(0, 0, 2)]})
        >>> report = task.evaluate(
        ...     tail=lambda queries: np.array([[3.0, 2.0, 9.0]]),
        ...     head=lambda queries: np.array([[1.0, 0.5, 0.5]]),
        ... )
        >>> report["tail.mr"], report["head.mr"], report["mr"]
        (2.0, 1.0, 1.5)
        """
        rules = read_rules(options, BatchOptions, Task.evaluate)
        scorers = {"tail": tail, "head": head, "relation": relation}
        report = self._rank_callables(scorers, rules, options)
        self._warn_about_orders(are_asked=True)  # A callable may have read the order.
        return report

    @described_by(SidedTask._rank_vectors, EmbeddingOptions)
    def evaluate_embeddings(
        self,
        tail: Any = None,
        *,
        head: Any = None,
        entities: Any = None,
        relation: Any = None,
        relations: Any = None,
        row_queries: Mapping[str, Any] | None = None,
        similarity: Similarity = "dot",
        bias: Any = None,
        **options: Unpack[EmbeddingOptions],
    ) -> Report:
        """Evaluate embeddings of queries against those of entities; scores are never stored.

        Parameters
        ----------
        tail, head, relation : array_like, shape (q, d)
            The vectors of each side's queries, in rows as in `evaluate_scores`. With the similarity
            "maxsim" all vectors are lists of them, ``(vectors, indptr)``, as
            `truerank.rank_embeddings` takes them.
        entities, relations : array_like, shape (columns, d), or path
            The vectors of entities, and of relations for the side "relation". The index of a frame
            must be the labels in their order.
        bias : array_like, or mapping of str to array_like, optional
            As in `truerank.rank_embeddings`: one for all sides, or one by side, as in
            ``{"tail": bias}``; a side that the mapping lacks has none.
        row_queries, similarity : optional
            As in `evaluate_scores` and `truerank.rank_embeddings`.

        Warns
        -----
        UserWarning
            If rows of one query differ in their scores by more than rounding: they may be of
            another side, or in another order than the test.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1)], {"train": [(0, 0, 2)]}, sides=("tail",))
        >>> vectors = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
        >>> task.evaluate_embeddings(vectors[:1], entities=vectors)["tail.mr"]
        2.0
        """
        rules = read_rules(options, EmbeddingOptions, Task.evaluate_embeddings)
        self._warn_about_orders()
        return self._rank_vectors(
            {"tail": tail, "head": head, "relation": relation},
            {"entities": entities, "relations": relations},
            rules,
            similarity=similarity,
            bias=bias,
            row_queries=row_queries,
        )

    @described_by(SidedTask._rank_scores, RuleOptions)
    def evaluate_scores(
        self,
        tail: Any = None,
        *,
        head: Any = None,
        relation: Any = None,
        row_queries: Mapping[str, Any] | None = None,
        io: IoMode | None = None,
        **options: Unpack[RuleOptions],
    ) -> Report:
        """Evaluate score matrices, in memory or in files.

        Parameters
        ----------
        tail, head, relation : array_like, or files
            The scores of each side, of shape (rows, columns). Row i belongs to ``test[i]`` as it
            was given, where rows of one query may differ, or to the query
            ``row_queries["tail"][i]``. The columns of a frame must be the labels in their order.
        row_queries : dict of str to keys, optional
            By side: the query of each row. ``{"tail": task.tail}``: rows are in the order of
            ``task.tail.queries``; a part takes the sides of the whole, too. Or keys, in any order:
            the columns of a triple without the one that is asked, with `keys` behind: (head,
            relation), (relation, tail) or (head, tail), as tuples, an array, or a table.
            Then each query of the side has one row; rows of others are counted in the audit.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1)], {"train": [(0, 0, 2)]}, sides=("tail",))
        >>> task.evaluate_scores(np.array([[3.0, 2.0, 9.0]]))["tail.mr"]
        2.0
        >>> both = Task([(1, 0, 0), (0, 0, 1)], {}, entities=2, sides=("tail",))
        >>> rows = {"tail": [(0, 0), (1, 0)]}
        >>> both.evaluate_scores(np.array([[1.0, 9.0], [9.0, 1.0]]), row_queries=rows)["mrr"]
        1.0
        """
        rules = read_rules(options, RuleOptions, Task.evaluate_scores)
        scores = {"tail": tail, "head": head, "relation": relation}
        self._warn_about_orders()
        return self._rank_scores(scores, rules, io, row_queries=row_queries)

    @described_by(SidedTask._rank_lists, ListOptions)
    def evaluate_lists(
        self,
        tail: Any = None,
        *,
        head: Any = None,
        relation: Any = None,
        row_queries: Mapping[str, Any] | None = None,
        columns: Mapping[str, str | int] | None = None,
        duplicates: str = "raise",
        **options: Unpack[ListOptions],
    ) -> Report:
        """Evaluate lists of the top candidates, which may miss the right ones.

        A right answer that its list misses is tied with all candidates of the task that the list
        does not have and that are not known: the optimistic and the pessimistic rank are its
        bounds.

        Parameters
        ----------
        tail, head, relation : mapping, table, path, or TopK
            The lists of each side. By key: ``{(head, relation): {tail: score}}``, or ``{(head,
            relation): [tails]}``, the best first; keys are as for `row_queries`, (relation, tail)
            for heads. A table or a text file with the columns head, relation, tail, those of `keys`
            and score, in any order where they have names: keys have the names that the test gives
            them, or their numbers; a single key may have any. Without scores, the order of rows
            decides. A query without a list has an empty one, and lists of other queries are not
            used. Or what `truerank.topk_embeddings` returns: ids are positions, and rows are those
            of `evaluate_embeddings`. Such a `TopK` can also hold a list for each triple of a query.
        row_queries : dict of str to keys, optional
            The query of each row of a `TopK`, as in `evaluate_scores`.

        Examples
        --------
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1)], {"train": [(0, 0, 2)]}, entities=9, sides=("tail",))
        >>> task.evaluate_lists({(0, 0): [2, 5, 1]})["tail.mr"]
        2.0
        >>> task.evaluate_lists({(0, 0): {1: 0.5, 5: 0.25}})["tail.mr"]
        1.0
        """
        rules = read_rules(options, ListOptions, Task.evaluate_lists)
        lists = {"tail": tail, "head": head, "relation": relation}
        reading = {"columns": columns, "duplicates": duplicates}
        return self._rank_lists(lists, rules, reading, row_queries=row_queries)


def _read_keys(keys: Any, width: int) -> tuple[int, ...]:
    """Return the further columns that are part of every query, ascending; by default all."""
    columns: Sequence[Any] = range(3, width) if keys is None else several("keys", keys, "columns")
    are_right = all(map(is_integer, columns)) and set(columns) <= set(range(3, width))
    if not are_right or len(set(columns)) < len(columns):
        expected = f"distinct columns from 3 on, of {width} in all"
        raise InputValueError("keys", expected=expected, got=", ".join(map(repr, columns)))
    return tuple(sorted(map(int, columns)))


def _read_filter(filter: str, exclude: str | None, splits: SplitTables) -> tuple[str, ...]:
    """Check the arguments `filter` and `exclude`, and name what they leave out, as protocols do."""
    choice("filter", filter, FILTERS)
    names = [] if filter == NONE else [*splits.known, splits.evaluated]
    if exclude is not None:
        names.append(choice("exclude", exclude, (SELF,)))
    return tuple(names)


def _protocol_rule(name: str, keys: Sequence[int], width: int) -> str | None:
    """Return the rule as a protocol says it: equal if and only if the same facts are filtered.

    Examples
    --------
    >>> _protocol_rule("query", (), 3), _protocol_rule("query", (3,), 4)
    (None, 'fact')
    >>> _protocol_rule("query", (4,), 5), _protocol_rule("query", (), 5)
    ('columns 4', 'triple')
    """
    if width == 3 or name == NONE:
        return None
    if name != QUERY:
        return name
    if not keys:
        return TRIPLE
    if len(keys) == width - 3:
        return FACT
    return f"columns {', '.join(map(str, keys))}"
