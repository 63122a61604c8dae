"""Splits of facts or pairs: read as ids of the same vocabularies, named, and audited.

A finding of the audit is a name, a number and a sentence, of which a task makes a `Finding` when it
is asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from ..arrays.row_keys import (
    RowKeys,
    count_values,
    factorize,
    first_equals,
    look_up,
)
from ..errors import InputTypeError, InputValueError, Option, warn_user
from ..inputs.array_likes import class_if_imported, is_frame
from ..inputs.checks import choice, flag
from ..inputs.rules import LISTED
from ..naming import format_count, printable
from .columns import Column, Door, check_columns
from .id_tables import NO_TABLE, IdTable, align_columns, make_vocabulary, read_table
from .text import is_integer_text, is_path, refuse_unsaid_headers, unsaid_header
from .vocabularies import Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from .. import _core
    from ..arrays import IntArray

    Mask = npt.NDArray[np.bool_]

# Splits by name: their title in messages, and themselves.
Splits = Mapping[str, tuple[str, Any]]
FindingParts: TypeAlias = tuple[str, int, str]

SELF = "self"  # The queries themselves, where they are left out, have this name in protocols.
RESERVED_NAMES = ("all", LISTED, SELF)  # No split may have a name with a meaning in protocols.
WHOLE = ""  # The evaluated split as a whole, of which a sample is ranked: no user names one so.
TRAIN = "train"  # A model was trained on the known split of this name.
UNNAMED = "known_"  # Known splits that the user did not name are called so, and have numbers.
RULES = ("keep", "drop", "raise")
MAX_EXAMPLES = 3
NOTHING = "none"  # Findings of nothing say so.
_OUTCOMES = {"keep": ", kept", "drop": ", dropped"}
# A further column belongs to queries, or is left out; another one may be the tail.
_FURTHER = (
    Option("columns", effect="says which are meant"),
    Option("keys", effect="says which others belong to queries"),
)
_LEAST_KNOWN = 100  # Of fewer known facts, none may well have a query of the test.
_LEAST_LINES = 3  # Shorter files are not asked whether their first line is a header.


@dataclass(frozen=True)
class SplitTables:
    """Splits as ids over one vocabulary for each role."""

    rows: IntArray  # int64 of shape (n, columns), those of all splits; column by column in memory
    sizes: dict[str, int]  # the rows of each split; the evaluated one comes first
    vocabularies: dict[str, Vocabulary]  # by role; further columns have their numbers as roles
    findings: tuple[FindingParts, ...] = ()  # what the user should know of how they were read
    sources: tuple[str, ...] = ()  # the files, and their forms
    answers: IdTable = NO_TABLE  # the evaluated split without its rows: the file, and its form
    height: int = 0  # how many rows the evaluated split had as it was given, if all are facts
    places: Any = None  # of its rows among these, int64

    @classmethod
    def join(
        cls,
        names: Iterable[str],
        ids: Mapping[str, Sequence[IntArray]],
        vocabularies: Mapping[str, Vocabulary],
        findings: Iterable[FindingParts] = (),
        sources: Iterable[str] = (),
        answers: IdTable = NO_TABLE,
    ) -> Self:
        """Join the ids that each role has in each of the splits."""
        ids_of_any_role = next(iter(ids.values()))
        sizes = dict(zip(names, map(len, ids_of_any_role), strict=True))
        # Column by column in memory.
        rows = np.empty((sum(sizes.values()), len(ids)), dtype=np.int64, order="F")
        for column, ids_of_splits in zip(rows.T, ids.values(), strict=True):
            np.concatenate(ids_of_splits, out=column)
        return cls(rows, sizes, dict(vocabularies), tuple(findings), tuple(sources), answers)

    @cached_property
    def known(self) -> list[str]:
        """The names of all splits but the evaluated one, of which a sample may be ranked."""
        return [name for name in list(self.sizes)[1:] if name != WHOLE]

    @property
    def evaluated(self) -> str:
        """The name of the evaluated split."""
        return next(iter(self.sizes))

    @cached_property
    def tested(self) -> int:
        """The number of rows of the evaluated split."""
        return self.sizes[self.evaluated]

    @cached_property
    def bounds(self) -> dict[str, slice]:
        """The rows of each split."""
        ends = np.cumsum(list(self.sizes.values())).tolist()
        starts = [0, *ends[:-1]]
        return dict(zip(self.sizes, map(slice, starts, ends), strict=True))

    @cached_property
    def columns(self) -> dict[str, IntArray]:
        """The ids of all splits by role."""
        return dict(zip(self.vocabularies, self.rows.T, strict=True))

    def known_rows(self, name: str = "all") -> IntArray:
        """Return the rows of a known split, or of all of them if none has that name.

        That of the evaluated split's name is the whole of which it is a sample.
        """
        if name in self.known:
            return self.rows[self.bounds[name]]
        if name in self.sizes and WHOLE in self.sizes:
            return self.rows[self.bounds[WHOLE]]
        return self.rows[self.tested + self.sizes.get(WHOLE, 0) :]

    def labels_of(self, rows: IntArray) -> list[tuple[str | int, ...]]:
        """Return rows by their labels, or ids if there are no labels."""
        columns = map(Vocabulary.list_labels, self.vocabularies.values(), self.rows[rows].T)
        return list(zip(*columns, strict=True))


def read_tables(
    splits: Splits,
    door: Door,
    orders: Mapping[str, Any],
    *,
    columns: Any = None,
    header: bool | None = None,
    has_further: bool = False,
    refuses_further: bool = False,
    has_ids: bool = False,
    unseen: str | None = None,
) -> SplitTables:
    """Read facts or pairs of any form as ids: the one door of splits.

    Each of `splits` is a title in messages, and an array, a table, a list of tuples, a tuple of
    columns, a path, or an `IdTable`. `orders` are the vocabularies by argument, as
    `Vocabulary.read` takes them; None: the labels in ascending order, or ids from 0 to the largest.
    Columns that `columns` does not name are read where the splits `has_further`; it
    `refuses_further` unless they have one value in all splits, and leaves these out. With
    `has_ids`, integers in text are ids, whatever the labels are. With `unseen` "drop", facts that
    have a name without an id are left out; None: that is no way out.

    >>> from truerank.records.columns import PAIRS
    >>> splits = {"test": ("test", [("a", 7), ("b", 3)]), "train": ("train", (["c"], [5]))}
    >>> read_tables(splits, PAIRS, {"left": None, "right": 9}).rows.tolist()
    [[0, 7], [1, 3], [2, 5]]
    """
    columns = check_columns(columns, door)
    if header is not None:
        flag("header", header)
    else:
        files = {title: os.fsdecode(split) for title, split in splits.values() if is_path(split)}
        refuse_unsaid_headers(files, door, columns)
    reads_further = door.has_further and (columns is None or has_further)
    tables = _read_splits(splits, door, columns=columns, header=header, has_further=reads_further)
    given = {
        argument: replace(Vocabulary.read(argument, order), has_ids=has_ids)
        for argument, order in orders.items()
        if order is not None
    }
    if header is None:
        _refuse_undeclared_headers(tables, door, given)
    roles = list(tables[0].columns)
    findings = list_left_out(tables)
    titles: dict[str, list[str]] = {}  # of the files whose headers read alike
    for table in tables:
        if table.form.description:
            titles.setdefault(table.form.description, []).append(table.title)
    for description, alike in titles.items():
        findings.append(("header", len(alike), f"{', '.join(alike)}: {description}"))
    if refuses_further:
        left_out = [_leave_out_column(tables, role) for role in roles[door.needed :]]
        findings = left_out + findings
        roles = roles[: door.needed]
    vocabularies, ids = _align_roles(tables, roles, door, orders, given, has_ids=has_ids)
    has_known = bool(splits.keys() - {next(iter(splits)), WHOLE})  # Else nothing is unseen.
    rule = unseen if has_known else None
    places = []
    for i, table in enumerate(tables):
        is_known = _find_known(list(splits), i, table, vocabularies, ids, rule)
        places.append(np.flatnonzero(np.broadcast_to(is_known, len(table))))
        if not is_known.all():
            rows = np.flatnonzero(~is_known)
            first = tuple(table.columns[role].entry(rows[0]) for role in roles)
            words = f"{count_in_words(len(rows), [first])} with a name that no label is"
            findings.append((f"left out of {table.title}", len(rows), words))
            for ids_of_role in ids.values():
                ids_of_role[i] = ids_of_role[i][is_known]
    joined = SplitTables.join(splits, ids, vocabularies, findings, answers=tables[0].without_rows())
    return replace(joined, height=len(tables[0]), places=places[0])


def _align_roles(
    tables: Sequence[IdTable],
    roles: Sequence[str],
    door: Door,
    orders: Iterable[str],
    given: Mapping[str, Vocabulary],
    *,
    has_ids: bool,
) -> tuple[dict[str, Vocabulary], dict[str, list[IntArray]]]:
    """Return by role its vocabulary, which is given or made of all labels, and its ids by table."""
    # Where a given vocabulary takes ints, integers in text may be ids in others, too.
    takes_ints = [argument for argument, vocabulary in given.items() if vocabulary.words is None]
    names_of_further = next((table.form.further for table in tables if table.form.further), ())
    name_of_role = dict(zip(roles[door.needed :], names_of_further, strict=False))
    vocabularies: dict[str, Vocabulary] = {}
    ids: dict[str, list[IntArray]] = {}
    for argument in dict.fromkeys(door.vocabularies.get(role, role) for role in roles):
        sharing_roles = [role for role in roles if door.vocabularies.get(role, role) == argument]
        vocabulary = given.get(argument)
        if vocabulary is None:  # A further column has one of its own, and perhaps a name.
            is_further = argument not in orders
            text_has_ids = has_ids or "entities" in takes_ints
            if is_further:
                text_has_ids = has_ids or len(takes_ints) > 0
            name = name_of_role.get(argument, argument)
            vocabulary = make_vocabulary(
                name, tables, sharing_roles, text_has_ids=text_has_ids, is_further=is_further
            )
            vocabulary = replace(vocabulary, has_ids=has_ids)
        vocabularies |= dict.fromkeys(sharing_roles, vocabulary)
        needs_all = not vocabulary.may_lack_names
        ids |= align_columns(tables, sharing_roles, vocabulary, needs_all=needs_all)
    return {role: vocabularies[role] for role in roles}, {role: ids[role] for role in roles}


def _find_known(
    splits: Sequence[str],
    i: int,
    table: IdTable,
    vocabularies: Mapping[str, Vocabulary],
    ids: Mapping[str, Sequence[IntArray]],
    unseen: str | None,
) -> Mask:
    """Return which facts of split `i` have names that all stand for something; True: all of them.

    Facts with other names are refused, unless they are left out. Only names may be others' than the
    model's, which knows all that it was trained on.
    """
    named = [role for role, each in vocabularies.items() if each.may_lack_names]
    is_known: Mask = np.all([ids[role][i] >= 0 for role in named], axis=0)
    may_leave_out = unseen is not None and splits[i] != TRAIN and is_known.any()
    if is_known.all() or (may_leave_out and unseen == "drop"):
        return is_known
    ways = []
    where = table.where
    if may_leave_out:
        ways.append(Option("unseen", effect="says what becomes of such facts"))
        where = partial(table.where_and_how_often, int(np.count_nonzero(~is_known)))
    for role in named:
        column = table.columns[role]
        vocabularies[role].refuse_strangers(
            table.title, column, ids[role][i], partial(where, role), ways
        )
    return is_known


def _read_splits(splits: Splits, door: Door, **options: Any) -> list[IdTable]:
    """Read splits as tables that share the names of their labels and have the same columns.

    Further columns have the same names in all splits, if any; a split without rows has them, too.
    """
    names: dict[str, _core.Names] = {}
    tables: list[IdTable] = []
    for title, split in splits.values():
        if isinstance(split, IdTable) and list(split.columns) == door.needed_roles:
            tables.append(replace(split, title=title))
        else:
            tables.append(read_table(title, split, door, shared_names=names, **options))
    width = max(door.needed, *(len(table.columns) for table in tables))
    further = next((table.form.further for table in tables if table.form.further), ())
    for table in tables:
        if len(table.columns) not in (0, width):
            expected = f"{width} columns, as in another split"
            raise InputValueError(table.title, expected=expected, got=len(table.columns))
        if table.form.further not in ((), further):
            expected = f"further columns {', '.join(further)}, as another split has"
            got = ", ".join(table.form.further)
            raise InputValueError(table.title, expected=expected, got=got)
    numbers_of_further = map(str, range(door.needed, width))  # They are roles by their numbers.
    roles = [*door.needed_roles, *numbers_of_further]
    no_rows = dict.fromkeys(roles, Column(np.zeros(0, np.int64)))
    return [table if table.columns else replace(table, columns=no_rows) for table in tables]


def _refuse_undeclared_headers(
    tables: Sequence[IdTable], door: Door, given: Mapping[str, Vocabulary]
) -> None:
    """Refuse the first line of files if it looks like a header of unknown names.

    Most lines of a file share their second element, the relation of facts, with another line, but
    the first one does not; and none of its fields is in a vocabulary that was given, or occurs
    below the first line of any file.
    """
    files = [table for table in tables if table.path and len(table) and not table.form.header]
    with_header = []
    for table in files:
        ids = table.columns[door.needed_roles[1]].ids
        if len(ids) < _LEAST_LINES or (ids[1:] == ids[0]).any():  # Most files end the search here.
            continue
        counts = count_values(ids).numbers
        do_most_share = 2 * counts[counts > 1].sum() > len(ids)
        if do_most_share and not _is_first_known(table, tables, door, given):
            with_header.append(table)
    lines = {x.title: "\t".join(column.entry(0) for column in x.columns.values()) for x in files}
    headers = [lines[table.title] for table in with_header]
    others = [title for title, line in lines.items() if line not in headers]
    for table in with_header:
        raise unsaid_header(table.title, headers[0], "its fields occur nowhere else", others)


def _is_first_known(
    table: IdTable, tables: Sequence[IdTable], door: Door, given: Mapping[str, Vocabulary]
) -> bool:
    """Return whether a field of the first line of a file is a label that occurs elsewhere.

    First lines of files do not count: all may begin with the same header.
    """
    for role, column in table.columns.items():
        field = column.entry(0)
        vocabulary = given.get(door.vocabularies.get(role, role))
        if vocabulary is not None and vocabulary.find_labels([field], is_text=True)[0] >= 0:
            return True
        for each in tables:
            first_row = 1 if each.path else 0
            for other in each.columns.values():
                id_of_field = None
                if other.labels is column.labels:
                    id_of_field = int(column.ids[0])
                elif other.labels is None and is_integer_text(field):
                    id_of_field = int(field)
                if id_of_field is not None and (other.ids[first_row:] == id_of_field).any():
                    return True
    return False


def list_left_out(tables: Iterable[IdTable]) -> list[FindingParts]:
    """Say of each table of a split what was left out of it, if anything was."""
    left_out = {table.title: ", ".join(table.form.left_out) for table in tables}
    return [(f"left out of {title}", 1, words) for title, words in left_out.items() if words]


def _leave_out_column(tables: Sequence[IdTable], role: str) -> FindingParts:
    """Say that a further column is left out, as it has one value; refuse one of several values."""
    filled = [table for table in tables if len(table)]
    forms = [table.form for table in filled]
    name = next((repr(x.columns[role]) for x in forms if x.names is not None), f"column {role}")
    columns = [table.columns[role] for table in filled]
    values = {column.entry(0) for column in columns}
    are_constant = all((column.ids == column.ids[0]).all() for column in columns)
    if len(values) > 1 or not are_constant:
        listed = {x for column in columns for x in column.entries()}
        expected = "3 columns (head, relation, tail)"
        got = f"{name}, with {format_count(len(listed), 'value')} in {sum(map(len, columns)):,} "
        got += f"rows, as {columns[0].entry(0)!r}"
        raise InputValueError(filled[0].title, "", expected, got, remedies=_FURTHER)
    return "left out of all splits", 1, f"{name}, which has one value"


# -- names of splits -------------------------------------------------------------------------------


def name_known_splits(known: Any) -> dict[str, tuple[str, Any]]:
    """Give each known split a name, and a title for messages.

    A list is several splits only if each of its members has rows of its own.

    >>> list(name_known_splits(["train.txt", "valid.txt"]))
    ['known_0', 'known_1']
    """
    if known is None:
        return {}
    if isinstance(known, Mapping):
        for name in known:
            if not isinstance(name, str) or not name:
                raise InputTypeError("known", expected="names of splits", got=repr(name))
        return {name: (f'known["{name}"]', split) for name, split in known.items()}
    if isinstance(known, list) and all(map(_has_rows, known)):
        return {f"{UNNAMED}{i}": (f"known[{i}]", split) for i, split in enumerate(known)}
    if isinstance(known, (list, tuple)) and any(map(_could_be_split, known)):
        expected = 'one split, or several by their names: known={"train": ..., "valid": ...}'
        raise InputTypeError("known", expected=expected, got=f"{type(known).__name__} of splits")
    return {f"{UNNAMED}0": ("known", known)}


def _has_rows(value: object) -> bool:
    """Return whether this has rows of its own, and is no row: a path, a table, a 2-d array."""
    is_of_arrow = isinstance(value, class_if_imported("pyarrow", "Table"))
    has_names = is_frame(value) or is_of_arrow or isinstance(value, IdTable)
    return has_names or is_path(value) or getattr(value, "ndim", None) == 2


def _could_be_split(value: object) -> bool:
    """Return whether this has rows of its own, or members that could be rows."""
    if isinstance(value, (list, tuple)):
        return bool(value) and isinstance(value[0], (list, tuple))
    return _has_rows(value)


def name_splits(
    split: object, rows: Any, known: Any, *, allows_whole: bool = False
) -> dict[str, tuple[str, Any]]:
    """Give the evaluated split and then the known ones a name and a title for messages.

    With `allows_whole`, a known split may have the name of the evaluated one: it is the whole, of
    which a sample is ranked. It comes second, by the name `WHOLE`.

    >>> name_splits("test", "test.txt", {"train": "train.txt"})
    {'test': ('test', 'test.txt'), 'train': ('known["train"]', 'train.txt')}
    """
    others = name_known_splits(known)
    if not isinstance(split, str) or not split:
        expected = "the name of the evaluated split, as 'test' or 'valid'"
        raise InputValueError("split", expected=expected, got=repr(split))
    whole = {WHOLE: others.pop(split)} if allows_whole and split in others else {}
    if split in others:
        expected = "a name that no known split has"
        raise InputValueError("split", expected=expected, got=repr(split))
    for argument, names in (("split", [split]), ("known", others)):
        for name in RESERVED_NAMES:
            if name in names:
                expected = "another name of a split, as this one has a meaning in protocols"
                raise InputValueError(argument, expected=expected, got=repr(name))
    return {split: (split, rows), **whole, **others}


# -- the audit of splits ---------------------------------------------------------------------------


def count_in_words(count: int, examples: Sequence[Any]) -> str:
    """Write a count, and the first few examples: labels, or tuples of them.

    >>> count_in_words(4, [("a", "likes", 7), "b", "c", "d"])
    '4 (a likes 7, b, c, ...)'
    """
    return f"{count:,} ({_first_examples(count, examples)})"


def list_examples(ids: IntArray, vocabulary: Vocabulary) -> str:
    """Write the labels of the first few of some ids."""
    return _first_examples(len(ids), vocabulary.list_labels(ids[:MAX_EXAMPLES]))


def _first_examples(count: int, examples: Sequence[Any]) -> str:
    """Write the first few of so many labels, or tuples of them."""
    rows = [x if isinstance(x, tuple) else (x,) for x in examples[:MAX_EXAMPLES]]
    parts = [printable(" ".join(map(str, row))) for row in rows]
    return ", ".join([*parts, "..."] if count > len(parts) else parts)


def check_rules(**rules: str) -> dict[str, str]:
    """Check the rule for each case: what to do with its rows."""
    for name, rule in rules.items():
        choice(name, rule, RULES)
    return rules


def audit_split(
    splits: SplitTables,
    columns: Sequence[IntArray],
    rules: Mapping[str, str],
    noun: str,
    more_cases: Mapping[str, tuple[Mask, str]] | None = None,
    *,
    allows_whole: bool = False,
) -> tuple[IntArray, list[FindingParts]]:
    """Find duplicates, leaks and the other cases of a protocol, and keep, drop or refuse them.

    Two rows are equal if all of `columns` are, each of which has the rows of all splits. `noun` is
    what rows are called. `more_cases`, by the name of the rule, have a mask of rows and what these
    rows do, as in "repeat an earlier one". Of rows that are kept, only duplicates and leaks make a
    warning. With `allows_whole`, a known split may be the whole of the evaluated one. It returns
    which rows of the evaluated split stay, int64, and findings of the rows and of each case.
    """
    split = splits.evaluated
    first, leaks = find_leaks(splits, columns)
    in_words = partial(_rows_in_words, splits, first)
    _check_whole(split, noun, leaks.pop(WHOLE, None), in_words)
    no_rows = np.zeros(splits.tested, dtype=bool)
    description_of_leaks, ways_of_leaks = _describe_leaks(leaks, split, allows_whole=allows_whole)
    cases = {
        "duplicates": (first != np.arange(splits.tested), "repeat an earlier one"),
        "leaks": (np.any([no_rows, *leaks.values()], axis=0), description_of_leaks),
        **(more_cases or {}),
    }
    findings = []
    warnings = []
    is_dropped = no_rows.copy()
    for name, (mask, description) in cases.items():
        if not mask.any():
            findings.append((name, 0, NOTHING))
            continue
        words = in_words(mask)
        problem = f"{words} of {splits.tested:,} {noun} {description}"
        ways = list(ways_of_leaks) if name == "leaks" else []
        if rules[name] == "raise":
            raise InputValueError(split, problem, remedies=ways)
        if rules[name] == "drop":
            is_dropped |= mask
        elif name in ("duplicates", "leaks"):
            if not mask.all():  # One rule would leave no test.
                ways.append(Option(name, effect="says what becomes of these"))
            warnings.append((f"{problem}; they are ranked like the others", ways))
        if name == "leaks":
            words = "; ".join(f"in {known} {in_words(rows)}" for known, rows in leaks.items())
        findings.append((name, int(np.count_nonzero(mask)), words + _OUTCOMES[rules[name]]))
    kept = np.flatnonzero(~is_dropped)
    if not len(kept):
        raise InputValueError(split, f"nothing is left: {splits.tested} {noun} were dropped")
    for problem, ways in warnings:
        warn_user(split, problem, ways)
    known_sizes = list(splits.sizes.items())[1:]
    sizes = ", ".join(f"{name or split} {size:,}" for name, size in known_sizes) or "none"
    facts = format_count(splits.tested, noun.removesuffix("s"))
    words = f"{facts}, {len(kept):,} ranked; known: {sizes}"
    return kept, [(split, len(kept), words), *findings]


def _rows_in_words(splits: SplitTables, first: IntArray, mask: Mask) -> str:
    """Write the number of rows of a mask, and as examples a few that differ."""
    rows = np.flatnonzero(mask)
    examples = np.sort(factorize(first[rows]).first())[:MAX_EXAMPLES]
    return count_in_words(len(rows), splits.labels_of(rows[examples]))


def _check_whole(
    split: str, noun: str, is_in_whole: Mask | None, in_words: Callable[[Mask], str]
) -> None:
    """Refuse a known split of the evaluated one's name, unless it has all rows that are ranked.

    It may be that another split is evaluated, and that its name was forgotten.
    """
    if is_in_whole is not None and not is_in_whole.all():
        expected = f"the name of a known split that has all {noun} that are ranked, or another name"
        got = f"{split!r}, whose known {noun} lack {in_words(~is_in_whole)}"
        raise InputValueError("split", expected=expected, got=got)


def count_shared_queries(splits: SplitTables, noun: str, is_asked: Mask) -> list[FindingParts]:
    """Say how many rows of a known split share a query with the test, where not all of them do.

    `is_asked` is a mask of the rows of all splits: those that share a query with the test.
    """
    findings: list[FindingParts] = []
    for name in splits.known:
        size = splits.sizes[name]
        count = int(np.count_nonzero(is_asked[splits.bounds[name]]))
        if count < size:
            words = f"{count:,} of {size:,} {noun} share a query with {splits.evaluated}"
            findings.append((name, count, words))
    return findings


def warn_about_unused(splits: SplitTables, is_filtering: Mask, used: Sequence[str] = ()) -> None:
    """Warn of known splits that filter nothing, but for those that are used otherwise."""
    for name in splits.known:
        if name not in used:
            warn_about_strangers(name, splits.sizes[name], is_filtering[splits.bounds[name]].any())


def warn_about_strangers(name: str, size: int, is_asked: np.bool_ | bool) -> None:
    """Warn of a known split of many facts, unless some of their queries are asked."""
    if size >= _LEAST_KNOWN and not is_asked:
        warn_user(name, "it has no fact with a query of the test, and filters nothing")


def find_leaks(
    splits: SplitTables, columns: Sequence[IntArray]
) -> tuple[IntArray, dict[str, Mask]]:
    """Return the first equal row of each row of the evaluated split, and by known split who leaks.

    The mask of a split has the rows of the evaluated one that are in it, too; a split without such
    rows has no mask, unless it is the whole of the evaluated split.
    """
    keys = RowKeys(columns)
    tested_keys = keys.of(slice(0, splits.tested))
    first = first_equals(tested_keys)
    leaks = {}
    for name in list(splits.sizes)[1:]:
        is_found = np.zeros(splits.tested, dtype=bool)
        _, positions = look_up(tested_keys, keys.of(splits.bounds[name]))
        is_found[positions] = True
        if name == WHOLE or is_found.any():
            leaks[name] = is_found[first]  # Of equal rows `look_up` finds only the first.
    return first, leaks


def _describe_leaks(
    leaks: Mapping[str, Mask], split: str, *, allows_whole: bool
) -> tuple[str, list[Option]]:
    """Say that rows are in known splits; one that has most of them may be the same split.

    With `allows_whole`, it may also be the whole, of which the rows are a sample.
    """
    description = "are in a known split, too"
    counts = {name: np.count_nonzero(mask) for name, mask in leaks.items()}
    name = max(counts, key=counts.__getitem__, default="")
    if not name or 2 * counts[name] <= len(leaks[name]):
        return description, []
    number = "all" if leaks[name].all() else f"{counts[name]:,}"
    description += f" ({number} are in {name})"
    ways = []
    if name.startswith(UNNAMED):
        ways.append(Option("known", effect="names the other splits"))
    if allows_whole:
        ways.append(Option("split", effect="names this one, and the whole of which it is a sample"))
    return description, ways
