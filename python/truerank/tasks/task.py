"""A task is data, and is evaluated by what a model gives for each of its sides.

A protocol (link prediction, alignment, retrieval) makes it from facts, and says what rows of scores
stand for, what keys name, and what is worth knowing of lists. Its methods hand over by side what a
model gives: a callable, vectors, scores or lists. How that is ranked is written here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import embeddings, reporting, tables, tasks
from ..arrays.row_keys import look_up, match_rows
from ..counting.job import refuse_places
from ..errors import InputTypeError, InputValueError, Option, argument_names
from ..inputs.array_likes import NUMBERED, Axis, by_position, check_shape, index_array
from ..inputs.checks import is_iterable
from ..inputs.progress_listeners import as_listener, reporter, watch_part
from ..inputs.rules import LISTED
from ..naming import format_count
from ..records.id_tables import read_keys
from ..records.vocabularies import align
from ..stores import PATHS, read_scores, shape_of
from .side import (
    Side,
    check_score_shape,
    find_origins,
    join_sides,
    rank_batches,
    rank_side_scores,
    rank_side_vectors,
)

if TYPE_CHECKING:
    from ..arrays import IntArray
    from ..counting.lists import CandidateLists
    from ..embeddings.vectors import Embeddings
    from ..inputs.rules import Rules
    from ..ranks.container import Ranks
    from ..ranks.protocol import Origin, Protocol
    from ..records.lists import Lists
    from ..records.splits import FindingParts, SplitTables
    from ..records.vocabularies import Vocabulary
    from ..stores import Store

    BySide = Mapping[str, Any]
    # What a model gives for a side, opened and checked: its size, and what ranks the side's tasks
    # by it, and is told how much is done.
    Source = tuple[int, Callable[[Any], Ranks]]

_TEXT_HAS_IDS = Option("ids", True, "says that text has ids", call="Task(..., {})")


@dataclass(frozen=True)
class RowOrder:
    """Whose the rows are that a user hands over for a side."""

    rows: IntArray  # of each task
    height: int  # the number of rows
    noun: str  # what a row is for, in messages
    axis: Axis  # the labels of the rows
    unused: int = 0  # how many rows are of queries without right answers

    def of_height(self, height: int) -> RowOrder:
        """Return the order where so many rows came: a part may be given all rows of the whole."""
        whole = self.axis.height
        if self.axis.some is None or whole is None or height == self.height:
            return self
        if height == whole:
            return replace(self, rows=self.axis.some[self.rows], height=whole)
        return replace(self, noun=f"{self.noun} (or all {whole:,} of the test)")


class Task:
    """The tasks of a protocol by side, and the protocol that their ranks carry.

    `splits` have the facts, `facts` are the columns of those that are ranked, whatever the sides
    are, as `number_facts` takes them, and `known` has digests of what is known, by
    `digest_rows`.
    """

    sides: dict[str, Side]  # in the order of their tasks in Ranks; they are attributes, too
    roles: dict[str, tuple[str, ...]]  # of the columns of a side's queries, and of its answers
    names: dict[str, Vocabulary]  # what elements name, by role
    protocol: Protocol
    test_rows: IntArray  # those that are ranked, which are units; of a part in its own order
    height: int  # how many rows the test has, as it was given
    # What a row is for that a user hands over, and the labels of rows.
    _row_noun = "query of the test as given"
    _row_axis = NUMBERED
    _report_options: Mapping[str, Any] = MappingProxyType({})
    # It says whether labels of queries are their numbers in this task alone.
    _numbers_queries = False
    _all_queries_known = False  # Whether lists of others are an error, so that none is left over.
    _chooses_sides = False  # Whether it has an argument `sides`.
    _is_part = False

    def __init__(
        self,
        sides: Mapping[str, Side],
        *,
        roles: Mapping[str, tuple[str, ...]],
        splits: SplitTables,
        protocol: Protocol,
        facts: Iterable[tuple[IntArray, Any]],
        known: str,
        test_rows: IntArray,
        height: int,
        findings: Iterable[FindingParts],
    ) -> None:
        self.roles = dict(roles)
        self.names = dict(splits.vocabularies)
        self.protocol = protocol
        self.test_rows = test_rows
        self.height = height
        self._findings = tuple(findings)
        self._answers = splits.answers
        self._take_sides(sides)
        n_queries = 0
        if self._numbers_queries:
            for side in self.sides.values():
                n_queries = max(n_queries, 1 + int(side.labels["queries"].codes.max(initial=-1)))
        # Ids mean others by other names, or of another number of entities; roles share them.
        vocabularies = {id(each): each for role, each in self.names.items() if role != "query"}
        # Ranks keep what tells the task from others, and not the task, which may be far larger.
        memory = {"rows": test_rows, "facts": tuple(facts), "n_queries": n_queries, "known": known}
        memory["vocabularies"] = tuple(vocabularies.values())
        self._origins = partial(find_origins, memory)

    def _take_sides(self, sides: Mapping[str, Side]) -> None:
        """Take sides over, each of which is an attribute, too."""
        self.sides = dict(sides)
        for name, side in self.sides.items():
            setattr(self, name, side)

    @property
    def origin(self) -> Origin:
        """What ranks say of this task, to tell their units from those of others."""
        return self._origins()[0]

    @property
    def audit(self) -> reporting.Findings:
        """What is worth knowing about the facts before numbers are believed, of the whole task."""
        return reporting.Findings(reporting.Finding(*parts) for parts in self._findings)

    def _repr_html_(self) -> str:
        """Return the sides and the findings as tables, for notebooks."""
        titles = ["side", "tasks", "queries", "columns of scores"]
        rows = []
        for name, side in self.sides.items():
            columns = side.n_candidates if self._vocabulary(name).has_size else None
            rows.append((name, len(side), len(side.query_ids), columns))
        table = tables.table.Layout(before=(str(self.protocol),)).make(titles, rows)
        shown = [table, self.audit] if self._findings else [table]
        return "\n".join(each._repr_html_() for each in shown)

    # -- what a protocol may say otherwise ---------------------------------------------------------

    def _order_by_place(self, side: str, argument: str) -> RowOrder:
        """Return which row each task reads where the user gave no keys: row i is that of test[i].

        A protocol that refuses such rows names the argument.
        """
        rows = self.sides[side].units
        if self._is_part:  # It is given the rows of its own units alone.
            _, rows = look_up(self.test_rows, rows)
        return RowOrder(rows, self.height, self._row_noun, self._row_axis)

    def _find_key_ids(
        self, side: str, argument: str, columns: Iterable[Any], *, is_text: bool, needs_all: bool
    ) -> IntArray:
        """Return the ids of keys of a side, which name nothing where the task has no such label.

        Where all are needed, such keys are refused.
        """
        ids = [
            align(argument, elements, self.names[role], is_text=is_text, needs_all=needs_all)
            for role, elements in zip(self.roles[side][:-1], columns, strict=True)
        ]
        return np.stack(ids, axis=1)

    def _find_listed_ids(self, side: str, named: Lists, argument: str, names: Any) -> IntArray:
        """Return the ids of some of the names that lists of a side have."""
        return align(argument, names, self._vocabulary(side), is_text=bool(named.path))

    def _list_findings(
        self, ranks: Ranks, lists: CandidateLists, rows: IntArray, given: Lists | CandidateLists
    ) -> list[reporting.Finding]:
        """Return what of lists does not count, or is short; `rows` are those of the ranks.

        The `given` lists may be by key, with names.
        """
        return []

    def _data_findings(self, data: Store, rows: IntArray, rules: Rules) -> list[reporting.Finding]:
        """Return what is worth knowing of scores, or vectors; `rows` are those of tasks."""
        return []

    # -- evaluation: what is handed over by side ---------------------------------------------------

    def _vocabulary(self, side: str) -> Vocabulary:
        """Return what elements name in the columns of a side."""
        return self.names[self.roles[side][-1]]

    def _key_of(self, side: str, query: int) -> Any:
        """Return the key of a query of a side by its labels; one alone is no tuple."""
        ids = self.sides[side].query_ids[query].tolist()
        roles = self.roles[side][:-1]
        key = tuple(self.names[role].label_of(i) for role, i in zip(roles, ids, strict=True))
        return key if len(key) > 1 else key[0]

    def _check_sides(
        self, values: BySide, what: str, title: str = "", keys: BySide | None = None
    ) -> None:
        """Check what was handed over by side: all sides are required, no others allowed.

        `keys` says which key of the values each side needs. Default: its name. Messages call a
        missing value by its key, unless all values have one title.
        """
        key_of_side = keys or {side: side for side in self.sides}
        given = [side for side, key in key_of_side.items() if values.get(key) is not None]
        for side, key in key_of_side.items():
            if side not in given:
                way = Option("sides", given, "leaves it out", call="Task(..., {})")
                ways = [way] if given and self._chooses_sides else []
                expected = f"{what} for the side {side!r}"
                raise InputTypeError(title or key, expected=expected, got="None", remedies=ways)
        for key, value in values.items():
            if value is not None and key not in key_of_side.values():
                expected = f"None, as the sides of the task are {', '.join(self.sides)}"
                raise InputTypeError(key, expected=expected)

    def _check_side_keys(self, row_queries: Any) -> BySide:
        """Check that keys of rows are by side of the task; those without have theirs by place."""
        keys_of_sides = {} if row_queries is None else row_queries
        if not isinstance(keys_of_sides, Mapping) or not keys_of_sides.keys() <= self.sides.keys():
            example = next(iter(self.sides))
            expected = f'{{"{example}": keys}}, by sides of the task ({", ".join(self.sides)})'
            raise InputTypeError("row_queries", expected=expected, got=f"{row_queries!r:.80}")
        return keys_of_sides

    def _row_orders(self, row_queries: Any, title: str) -> dict[str, RowOrder]:
        """Return whose the rows of each side are: those of the units, or of queries by keys."""
        keys_of_sides = self._check_side_keys(row_queries)
        return {name: self._row_order(name, keys_of_sides.get(name), title) for name in self.sides}

    def _row_order(self, name: str, keys: Any, title: str) -> RowOrder:
        """Return whose the rows of a side are: of its units, or of the queries that keys name.

        A key for each row, in any order, is read by the task's vocabularies, as rows of facts are;
        those of one column may be labels, too. A side of this task, or of the whole, is its own
        queries. Values that have a title have their keys in one argument.
        """
        if keys is None:
            return self._order_by_place(name, title or name)
        side = self.sides[name]
        argument = "row_queries" if title else f"row_queries: {name}"
        roles = self.roles[name][:-1]
        labels = None
        if isinstance(keys, Side):
            if keys.reads is not side.reads:  # A side of this task, or of the whole, shares them.
                got = f"the side {keys.name!r} of another task, or another side"
                raise InputValueError(argument, expected=f"task.{name} of this task", got=got)
            ids = keys.query_ids
        else:
            columns = read_keys(argument, keys, roles)
            are_query_ids = isinstance(keys, np.ndarray) and np.array_equal(keys, side.query_ids)
            are_ambiguous = any(self.names[role].expected_for_int for role in roles)
            if not (are_query_ids and are_ambiguous):
                ids = self._find_key_ids(name, argument, columns, is_text=False, needs_all=False)
            if are_query_ids and (are_ambiguous or not np.array_equal(ids, keys)):
                problem = (
                    f"these are positions, as in task.{name}.queries, but labels are asked for"
                )
                call = f"task.{name}" if title else f'{{"{name}": task.{name}}}'
                way = Option("row_queries", ..., "has these queries", call=f"row_queries={call}")
                raise InputValueError(argument, problem, remedies=[way])
            labels = tuple(columns[0]) if len(columns) == 1 else None
        row_of_query, is_used, repeated = match_rows(side.query_ids, ids)
        if repeated is not None:
            got = f"{self._key_of(name, repeated)!r} in several rows"
            raise InputValueError(argument, expected="each query once", got=got)
        missing = np.flatnonzero(row_of_query < 0)
        if len(missing):
            share = f"{len(missing):,} of {len(row_of_query):,} queries"
            first = self._key_of(name, int(missing[0]))
            raise InputValueError(argument, f"{share} of the task have no row, first {first!r}")
        n_unused = int(np.count_nonzero(~is_used))
        axis = Axis(labels, "row_queries")
        return RowOrder(row_of_query[side.rows], len(ids), f"key of {argument}", axis, n_unused)

    def _row_findings(
        self, orders: Mapping[str, RowOrder], values: BySide
    ) -> list[reporting.Finding]:
        """Return what is worth knowing of rows, which were handed over as values by side."""
        findings = []
        unused = sum(order.unused for order in orders.values())
        if unused and not self._is_part:  # A part may have the rows of other parts, too.
            words = f"{format_count(unused, 'row')} of queries without right answers"
            findings.append(reporting.Finding("unused rows", unused, words))
        first_sides: dict[Any, str] = {}
        for name in self.sides:
            value = values.get(name)
            key = value if isinstance(value, PATHS) else id(value)
            first = first_sides.setdefault(key, name)
            if first != name and value is not None:
                words = f"the sides {first} and {name} were given one array"
                findings.append(reporting.Finding("one array", len(self.sides[name]), words))
        return findings

    def _report(
        self, parts: Iterable[Ranks], findings: Iterable[reporting.Finding] = (), **fields: Any
    ) -> reporting.Report:
        """Report the ranks of all sides; `fields` are further ones of their protocol."""
        sides = self.sides.values()
        ranks = join_sides(sides, parts, self.protocol, self._origins, **fields)
        return reporting.reports.report_task(ranks, findings, **self._report_options)

    # -- evaluation: the ways, whose docstrings `described_by` puts into those of protocols --------

    def _rank_sides(self, sources: Mapping[str, Source], watch: Any, title: str) -> list[Ranks]:
        """Rank each side by its source, all of which were checked before one is counted.

        The watch is told how much is done of the size of all sources.
        """
        sizes = [size for size, _ in sources.values()]
        ranks_of_sides = []
        for i, (name, (_, rank)) in enumerate(sources.items()):
            argument = title or name
            with argument_names(ids=argument, scores=argument):
                ranks_of_sides.append(rank(watch_part(watch, sizes, i)))
        return ranks_of_sides

    def _rank_callables(
        self, scorers: BySide, rules: Rules, options: Mapping[str, Any], title: str = ""
    ) -> reporting.Report:
        """Rank by callables, with `BatchOptions`.

        Returns
        -------
        Report

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank` does, and for a side without its callable.
        """
        self._check_sides(scorers, "a callable", title)
        sources: dict[str, Source] = {}
        for name, side in self.sides.items():
            if not callable(scorers[name]):
                got = type(scorers[name]).__name__
                raise InputTypeError(title or name, expected="a callable", got=got)
            rank = partial(rank_batches, scorers[name], side, **options)
            sources[name] = len(side.query_ids), rank
        n_queries = sum(size for size, _ in sources.values())
        watch = reporter(rules.progress, n_queries, "queries")
        return self._report(self._rank_sides(sources, watch, title))

    def _rank_vectors(
        self,
        queries: BySide,
        candidates: BySide,
        rules: Rules,
        *,
        similarity: str,
        bias: Any,
        row_queries: Any = None,
        title: str = "",
    ) -> reporting.Report:
        """Rank by vectors of queries, by side, and of candidates, by their noun, as "entities".

        Parameters
        ----------
        layout, nan, dtype, threads, audit, progress : optional
            As in `truerank.rank_embeddings`; `progress` counts the bytes of all scores.

        Returns
        -------
        Report

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank_embeddings` does, for a side without its vectors, and for another
            number of vectors than rows or candidates.
        """
        self._check_sides(queries, "vectors", title)
        noun_of_side = {name: self._vocabulary(name).of for name in self.sides}
        self._check_sides(candidates, "vectors", keys=noun_of_side)
        orders = self._row_orders(row_queries, title)
        # One bias is for all sides, and a mapping has one by side, where others have none.
        biases = bias if isinstance(bias, Mapping) else dict.fromkeys(self.sides, bias)
        for name in biases:
            if name not in self.sides:
                expected = f"sides of the task ({', '.join(self.sides)})"
                raise InputValueError("bias", expected=expected, got=repr(name))
        sources: dict[str, Source] = {}
        findings = self._row_findings(orders, queries)
        opened: dict[str, Embeddings] = {}  # The first of each noun, whose candidates others share.
        for name, noun in noun_of_side.items():
            argument = title or name
            vectors, rows = self._open_vectors(
                name,
                argument,
                orders[name],
                rules,
                queries=queries[name],
                entities=candidates[noun],
                similarity=similarity,
                bias=biases.get(name),
                like=opened.get(noun),
            )
            opened.setdefault(noun, vectors)
            side = self.sides[name]
            rank = partial(rank_side_vectors, argument, vectors, rows, side, rules)
            sources[name] = vectors.nbytes, rank
            findings += self._data_findings(vectors, rows, rules)
        n_bytes = sum(size for size, _ in sources.values())
        with embeddings.vectors.watching(rules.progress, n_bytes) as watch:
            ranks_of_sides = self._rank_sides(sources, watch, title)
        return self._report(ranks_of_sides, findings)

    def _open_vectors(
        self, name: str, argument: str, order: RowOrder, rules: Rules, **vectors: Any
    ) -> tuple[Embeddings, IntArray]:
        """Check vectors of a side, as `Embeddings` takes them; return these, and tasks' rows."""
        vocabulary = self._vocabulary(name)
        with argument_names(queries=argument, entities=vocabulary.of):
            opened = embeddings.vectors.Embeddings(
                **vectors,
                dtype=rules.dtype,
                query_rows=order.axis,
                entity_rows=Axis(vocabulary.names, f"task.{vocabulary.of}"),
                layout=rules.layout,
            )
            order = order.of_height(opened.shape[0])
            opened.check_shape((order.height, vocabulary.size), (order.noun, "candidate"))
        return opened, order.rows

    def _rank_scores(
        self,
        scores: BySide,
        rules: Rules,
        io: str | None,
        *,
        row_queries: Any = None,
        title: str = "",
    ) -> reporting.Report:
        """Rank by score matrices, in memory or in files.

        Parameters
        ----------
        order, nan, dtype, threads, audit, io, progress : optional
            As in `truerank.rank`; `progress` counts the bytes of all scores. With
            ``order="ascending"`` lower scores are better, as for distances.

        Returns
        -------
        Report

        Raises
        ------
        TypeError, ValueError, OSError
            As `truerank.rank` does, for a side without its scores, and for scores of another shape.
        """
        self._check_sides(scores, "scores", title)
        orders = self._row_orders(row_queries, title)
        findings = self._row_findings(orders, scores)
        listener = as_listener(rules.progress)  # It is checked before files are read.
        sources: dict[str, Source] = {}
        for name, side in self.sides.items():
            argument = title or name
            order = orders[name]
            store, rows = self._open_scores(name, scores[name], order, rules, argument=argument)
            rank = partial(rank_side_scores, argument, store, rows, side, rules, io=io)
            sources[name] = store.nbytes, rank
            findings += self._data_findings(store, rows, rules)
        watch = reporter(listener, sum(size for size, _ in sources.values()))
        return self._report(self._rank_sides(sources, watch, title), findings)

    def _open_scores(
        self, name: str, scores: Any, order: RowOrder, rules: Rules, *, argument: str
    ) -> tuple[Any, IntArray]:
        """Check scores of a side; return their store and the row of each task."""
        vocabulary = self._vocabulary(name)
        columns = Axis(vocabulary.names, f"task.{vocabulary.of}")
        with argument_names(scores=argument):
            table = by_position("scores", scores, order.axis, columns)
            store: Any = read_scores(table, rules.dtype, tiled=True)
            order = order.of_height(store.shape[0])
            check_score_shape(shape_of(store), (order.height, vocabulary.size), order.noun)
            refuse_places(store, rules)
        return store, order.rows

    def _rank_lists(
        self,
        values: BySide,
        rules: Rules,
        reading: Mapping[str, Any],
        *,
        row_queries: Any = None,
        title: str = "",
        **fields: Any,
    ) -> reporting.Report:
        """Rank by lists of the top candidates, by key or in rows, which `read_lists` reads.

        Parameters
        ----------
        columns : mapping of str to (str or int), optional
            The name or the number of the column of each role, as ``{"score": 4}``, for what has
            columns. A column may be left out if it has another name and no fractions, or if another
            one is named for its role; see also Raises.
        duplicates : {"raise", "first"}
            Whether a candidate that a list has twice is an error, or counts once, at its best
            score, where numbers are better than NaN; without scores where it stands first, as in
            generated lists (beams). Later places move up: in ``["a", "a", "b"]`` b has rank 2; by
            raw places, as in Kaggle's apk, it has 3.
        order, nan, dtype, threads, progress : optional
            As in `truerank.rank_lists`.

        Returns
        -------
        Report

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank_lists` does, for a side without its lists, another number of lists
            than rows, unknown labels, lists that all belong to other queries, and listed entities
            that are no candidates of their query, unless they are known or right answers. Without
            `order`, for scores that rise at 95 % of the steps in lists of three entries and more (a
            mapping has the order of insertion), that rise with the ranks beside them in 95 % of the
            queries, or whose column is named "distance", and for places as scores. For a column
            that is left out and tells lists of a query apart, or by which its rows are in order.

        Warns
        -----
        UserWarning
            If queries have no list: it names the first three, and lists of other queries whose
            names differ from theirs only in blanks.
        """
        self._check_sides(values, "lists", title)
        keys_of_sides = self._check_side_keys(row_queries)
        reading = {**reading, "answers": self._answers}
        lists_of_sides: dict[str, Lists | CandidateLists] = {}
        orders = {}  # of lists in rows
        for name in self.sides:
            argument = title or name
            roles = {role: self.names[role].of for role in self.roles[name]}
            read = tasks.list_evaluation.open_lists(argument, values[name], roles, rules, reading)
            lists_of_sides[name] = read
            if not isinstance(read, Mapping):
                order = self._row_order(name, keys_of_sides.get(name), title)
                n_lists = len(read.indptr) - 1
                if n_lists != order.height:
                    expected = f"{order.height} lists, one for each {order.noun}"
                    raise InputValueError(argument, expected=expected, got=n_lists)
                orders[name] = order
            elif name in keys_of_sides:
                expected = f"keys of sides whose lists are a TopK, and none for {name!r}"
                raise InputTypeError("row_queries", expected=expected)
        # All were checked before one is ranked. Progress is told of each side by itself.
        findings = self._row_findings(orders, {})
        ranks_of_sides = []
        for name, read in lists_of_sides.items():
            rows = self.sides[name].rows if isinstance(read, Mapping) else orders[name].rows
            given = values[name]
            ranks, found = self._rank_side_lists(name, given, read, rows, rules, title or name)
            ranks_of_sides.append(ranks)
            findings += found
        return self._report(ranks_of_sides, findings, **fields)

    def _rank_side_lists(
        self,
        name: str,
        given: Any,
        read: Lists | CandidateLists,
        rows: IntArray,
        rules: Rules,
        argument: str,
    ) -> tuple[Ranks, list[reporting.Finding]]:
        """Rank the tasks of a side by lists that were given and read, at some rows; with findings.

        The argument is what messages call the lists.
        """
        side = self.sides[name]
        files: tuple[str, ...] = ()
        findings: list[reporting.Finding] = []
        lists: Any = read
        if isinstance(read, Mapping):
            if read.path:
                argument = f"{argument}: {read.path}"
            lists, findings, list_of_query = self._lists_by_key(name, argument, read, rules.dtype)
            files = (read.source,) if read.source else ()
        with argument_names(ids=argument, scores=argument):
            ranks = tasks.list_evaluation.rank_side_lists(
                lists,
                rows,
                side,
                self._vocabulary(name),
                rules,
                are_listed=self.protocol.candidates == LISTED,
                files=files,
            )
        if isinstance(read, Mapping):
            findings += tasks.list_evaluation.name_findings(
                read, list_of_query, lists, ranks, side, self._vocabulary(name)
            )
        findings += self._list_findings(ranks, lists, rows, read)
        return ranks, findings + tasks.list_evaluation.order_findings(given, lists, rules)

    def _lists_by_key(
        self, name: str, argument: str, named: Lists, dtype: Any
    ) -> tuple[CandidateLists, list[reporting.Finding], IntArray]:
        """Return the list of each query of a side by its key, empty where it has none.

        Queries without a list are warned of; these, and lists of other queries, are findings. At
        last stand the numbers of the named lists, of which the one behind all is none.
        """
        side = self.sides[name]
        roles = self.roles[name]
        n_key_roles = len(roles) - 1
        columns: Any = [named.queries]
        if n_key_roles > 1:
            columns = list(zip(*named.queries, strict=True)) or [()] * n_key_roles
        keys = self._find_key_ids(
            name, argument, columns, is_text=bool(named.path), needs_all=self._all_queries_known
        )
        list_of_query, is_used, _ = match_rows(side.query_ids, keys)
        is_missing = list_of_query < 0
        # Lists of a part may be those of other parts alone.
        if is_missing.all() and len(keys) and not self._is_part:
            ours = f"the task has {self._key_of(name, 0)!r}, ..."
            theirs = f"lists have {named.queries[0]!r}, ..."
            ways = [_TEXT_HAS_IDS] if named.path and n_key_roles > 1 else []
            raise InputValueError(argument, f"no query in common: {ours}, {theirs}", remedies=ways)
        missing_keys = [self._key_of(name, query) for query in np.flatnonzero(is_missing).tolist()]
        unused = () if self._is_part else np.flatnonzero(~is_used)  # A part need not use all.
        unused_keys = [named.queries[i] for i in unused]
        list_of_query[is_missing] = len(named.queries)  # An empty list, behind all others.
        align_names = partial(self._find_listed_ids, name, named, argument)
        with argument_names(scores=argument):
            lists = tasks.list_evaluation.choose_lists(named, list_of_query, align_names, dtype)
        findings = tasks.list_evaluation.report_missing_lists(
            argument, len(list_of_query), missing_keys, unused_keys
        )
        vocabularies = [self.names[role] for role in roles]
        findings += tasks.list_evaluation.reading_findings(argument, named, vocabularies)
        return lists, findings, list_of_query

    # -- parts -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of units: test triples, pairs, or queries with right answers."""
        return len(self.test_rows)

    def __getitem__(self, index: Any) -> Self:
        """Return a part of the task: some of its units, each with the tasks of all its sides.

        Process p of n evaluates ``task[p::n]``, and `truerank.concatenate` joins the ranks in the
        order of the whole, whatever the order of the parts: they equal the ranks of the whole. An
        empty part calls no model. Units, labels, protocol and sampled negatives are those of the
        whole; nothing is drawn again, and no warning is repeated.

        Parameters
        ----------
        index : slice, or array_like of int, shape (k,)
            The units by position. The part has them in this order. An empty index makes an empty
            part.

        Returns
        -------
        Task
            Of the same class. Callables are asked for the queries of the part only. Matrices and
            vectors of queries have the rows of its units in their order, as
            ``open_scores(...)[p::n]`` has them; or all rows of the whole, where it is longer; or
            those that ``row_queries`` names. These, and lists by name, may be of other parts, too.
            In alignment, matrices and vectors are those of both whole graphs. `audit` is that of
            the whole.

        Raises
        ------
        TypeError
            For another index, such as a mask of booleans or a single position.
        ValueError
            For a unit that comes twice.
        IndexError
            For a position out of range.

        Examples
        --------
        >>> import numpy as np, truerank
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3, sides=["tail"])
        >>> def model(queries):
        ...     return np.random.default_rng(0).random((3, 3))[queries[:, 0]]
        >>> ranks = [task[p::2].evaluate(model).ranks for p in (1, 0)]
        >>> truerank.concatenate(ranks) == task.evaluate(model).ranks
        True
        """
        part = self._part(_chosen_positions(len(self), index))
        size_of_whole = 0  # Positions are a sample, which lacks the other units on purpose.
        if isinstance(index, slice):
            size_of_whole = self.origin.part_of or len(self)
        # It has no reference to the whole, so that a part is cheap to send.
        origin = replace(self.origin, part_of=size_of_whole)
        part._origins = partial(find_origins, {"origins": (origin,)})
        return part

    def _part(self, positions: IntArray) -> Self:
        """Return the task of some units, of which a protocol adds what it keeps for each."""
        part = copy.copy(self)
        part._is_part = True
        part.test_rows = self.test_rows[positions]
        part.height = len(positions)
        height_of_whole = self._row_axis.height or self.height  # `self` may be a part, too.
        part._row_axis = self._row_axis._replace(
            written="task.row_labels", some=part.test_rows, height=height_of_whole
        )
        part._row_noun = "query of the part"
        part._take_sides({name: side.part(part.test_rows) for name, side in self.sides.items()})
        return part

    @property
    def row_labels(self) -> tuple[str, ...] | tuple[int, ...] | None:
        """The labels that the index of a frame with a row for each unit has; in a part, those of
        its units.

        None: the rows are numbered 0, 1, 2, ...

        Examples
        --------
        >>> from truerank.link_prediction import Task
        >>> task = Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3, sides=["tail"])
        >>> task.row_labels, task[[2, 0]].row_labels
        (None, (2, 0))
        """
        return self._row_axis.labels


def _chosen_positions(number: int, index: Any) -> IntArray:
    """Return positions of some of the units, in the order of an index, which names none twice."""
    if isinstance(index, slice):
        return np.arange(number)[index]
    expected = "a slice or positions of triples, pairs or queries, as task[0::4] or task[[7, 3]]"
    is_one = isinstance(index, (str, bytes, int, np.integer)) or not is_iterable(index)
    if is_one or isinstance(index, Mapping) or np.asarray(index).dtype.kind == "b":
        raise InputTypeError("index", expected=expected, got=repr(index))
    indices = index_array("index", index)
    check_shape("index", indices.shape, 1, expected)
    is_outside = (indices < -number) | (indices >= number)
    if is_outside.any():
        first = indices[is_outside][0]
        raise IndexError(f"index: {first} is out of range for a task of length {number:,}")
    positions = np.where(indices < 0, indices + number, indices)
    counts = np.bincount(positions, minlength=number)
    if len(positions) and counts.max() > 1:
        again = int(np.flatnonzero(positions == counts.argmax())[1])
        got = f"{indices[again]} again at position {again}"
        raise InputValueError("index", expected="each position at most once", got=got)
    return positions
