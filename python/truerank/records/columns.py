"""Columns of tables, by their names, and their elements, which are labels or integers.

A column with a name is read by it, wherever it stands. What has no names is read in the order of
the roles. Nothing is guessed: a role that is missing or there twice is refused, and so is a column
that has no role, since it may change what the others mean. A table of a library is known by its
type: none is imported, but for streams of Arrow. Each element is looked at, and none is converted:
what is no `str` and no integer names nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import InputTypeError, InputValueError, Option
from ..inputs import checks
from ..inputs.array_likes import (
    as_array,
    check_shape,
    device_name,
    index_array,
    refuse_index,
    refuse_mask,
    without_index,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray

    Name = Any  # It is a str or an int.
    Names = tuple[Any, ...]  # They are all str, or all int.
    ColumnsOption = Mapping[str, str | int] | None  # by role the name of a column, or its number
    Where = Callable[[int], str]  # names the place of an element for messages

MAX_COLUMNS = 1000  # No table of facts has as many columns.
NUMBERS = ("score", "rank", "relevance")  # The roles of numbers: the first that text has is read.
RANK_NUMBERS = ("rank", "optimistic", "pessimistic", "candidates")
RANK_COLUMNS = (*RANK_NUMBERS, "side", "relation", "query", "target", "unit")
FIRST_ROWS = 1000  # By these a column without a role is chosen, or is not.
_DIGITS = "0123456789"
MOST_GRADES = 20  # A column of more values is none of grades.
NUMBER_TYPES = (int, float, np.integer, np.floating, np.bool_)
_NONES = ("NoneType", "NAType", "NaTType")  # types of missing values

at_position: Where = "at position {}".format  # Messages name an element so.

# -- roles -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Door:
    """What the columns of one kind of table may be, and what messages say of it."""

    kind: str  # what the rows are
    roles: dict[str, frozenset[str]]  # by names; columns without names have them in this order
    needed: int  # So many roles, from the first on, has every table.
    vocabularies: dict[str, str] = field(default_factory=dict)  # the arguments that have labels
    has_further: bool = False  # Whether more columns may follow; each of them has its own labels.
    counted: tuple[str, ...] = ()  # the roles below a first line that is a count
    forms: str = ""  # what a table may be
    mappings: str = ""  # what a mapping by query may be; "": rows belong to no queries
    unnamed: str = ""  # The only column of another name has this role, if any.
    too_large: float = float("inf")  # No number of a query is as large.
    has_option: bool = True  # Whether `columns` is an option of who reads the table.

    @cached_property
    def needed_roles(self) -> list[str]:
        """The roles that every table has."""
        return list(self.roles)[: self.needed]

    @property
    def expected(self) -> str:
        """The columns that rows must have, for messages."""
        columns = f"{self.needed} columns ({', '.join(self.needed_roles)})"
        return f"at least {columns}" if self.has_further else columns

    @cached_property
    def is_of_lists(self) -> bool:
        """Whether rows belong to lists, which have an order."""
        return "rank" in self.roles

    def role_of(self, name: Any) -> str | None:
        """Return the role that a name stands for; None: it stands for none.

        The number of a further column may be an int, as in frames.

        >>> FACTS.role_of("h"), JUDGEMENTS.role_of("query-id"), FACTS.role_of("weight")
        ('head', 'query', None)
        """
        if checks.is_integer(name):
            name = str(name)
        return next((role for role, names in self.roles.items() if name in names), None)

    def ways_to_name(self, width: int) -> list[Option]:
        """Return the option that says which of so many columns are meant, if there is one."""
        effect = "says which are meant"
        numbers = [role for role in NUMBERS if role in self.roles]
        if self.needed < width and numbers:
            effect += f", and perhaps {' or '.join(numbers)}"
        way = Option("columns", dict.fromkeys(self.needed_roles, "..."), effect)
        return [way] if self.has_option else []

    def fits(self, width: int, are_placed: bool) -> bool:
        """Return whether rows may have this number of columns, if names or numbers place them."""
        if are_placed or self.has_further:
            return self.needed <= width <= MAX_COLUMNS
        return width == self.needed


# The names of BEIR and of recommenders are the short ones.
_QUERIES = frozenset({"query", "query-id", "user"})
_DOCUMENTS = frozenset({"document", "corpus-id", "item"})
_ROWS = (
    "a path, a table with named columns (pandas, polars, pyarrow, a structured array), "
    "rows [{}, ...] as a list of tuples or an array of ints or labels, or a tuple of columns"
)

FACTS = Door(
    "facts",
    {
        "head": frozenset({"head", "h"}),
        "relation": frozenset({"relation", "rel", "r"}),
        "tail": frozenset({"tail", "t"}),
    },
    needed=3,
    vocabularies={"head": "entities", "relation": "relations", "tail": "entities"},
    has_further=True,
    counted=("head", "tail", "relation"),  # OpenKE's files have them in this order.
    forms=_ROWS.format("(head, relation, tail)"),
)
PAIRS = Door(
    "pairs",
    {"left": frozenset({"left"}), "right": frozenset({"right"})},
    needed=2,
    vocabularies={"left": "left", "right": "right"},
    forms=_ROWS.format("(left, right)"),
)
JUDGEMENTS = Door(
    "judgements",
    {
        "query": _QUERIES,
        "document": _DOCUMENTS,
        "relevance": frozenset({"relevance", "score"}),
    },
    needed=2,
    forms="a path, a table with named columns, {query: {document: grade}}, {query: [documents]}, a "
    "tuple of columns (queries, documents, grades), or a sparse matrix of grades",
    mappings="{query: {document: grade}}, or {query: [documents]}",
    too_large=1000,  # Any year or time is.
)
LISTS = Door(
    "lists",
    {
        "query": _QUERIES,
        "document": _DOCUMENTS,
        "score": frozenset({"score"}),
        "rank": frozenset({"rank"}),
    },
    needed=2,
    forms="a path, a table with named columns, {query: {id: score}}, {query: [ids, the best "
    "first]}, or TopK(ids, scores)",
    mappings="{query: {id: score}}, or {query: [ids, the best first]}",
)


def list_door(roles: Mapping[str, str]) -> Door:
    """Return the door of lists by key: `roles` are those of a key, and then that of what is listed.

    They are mapped to the names of their vocabularies. The role of a further column is its number,
    as "3": a table calls it so, or by the name of its vocabulary, as "time", unless another role
    has that name. Without such a name it may also be the one column whose name is unknown.

    >>> list_door({"relation": "relations", "tail": "entities", "head": "entities"}).mappings
    '{(relation, tail): {head: score}}, or {(relation, tail): [head, ...], the best first}'
    """
    numbers = {role: LISTS.roles[role] for role in ("score", "rank")}
    known_names = FACTS.roles | PAIRS.roles | numbers
    names_by_role = {role: names for role, names in known_names.items() if role in roles}
    further_roles = [role for role in roles if role not in known_names]
    for role in further_roles:
        names_by_role[role] = frozenset({role, roles[role]} - known_names.keys())
    roles_without_name = [role for role in further_roles if names_by_role[role] == {role}]
    *key_roles, listed = roles
    key = key_roles[0] if len(key_roles) == 1 else f"({', '.join(key_roles)})"
    mappings = f"{{{key}: {{{listed}: score}}}}, or {{{key}: [{listed}, ...], the best first}}"
    return Door(
        "lists by key",
        names_by_role | numbers,
        needed=len(roles),
        forms=f"{mappings}, a table or a path with the columns {', '.join(names_by_role)} and "
        "score, or TopK(ids, scores)",
        mappings=mappings,
        unnamed=next(iter(roles_without_name), ""),
    )


DOORS = (FACTS, PAIRS, JUDGEMENTS, LISTS)


def check_columns(columns: Any, door: Door) -> dict[str, str | int] | None:
    """Check the option `columns`: by role the name of a column, or its number from 0 on."""
    if columns is None:
        return None
    expected = f"a name or a number for each role: {', '.join(door.roles)}"
    if not isinstance(columns, Mapping):
        raise InputTypeError("columns", expected=expected, got=repr(columns))
    checked: dict[str, str | int] = {}
    for role, column in columns.items():
        if role not in door.roles or not (isinstance(column, str) or checks.is_integer(column)):
            raise InputTypeError("columns", "", expected, Option("columns", {role: column}))
        checked[role] = column if isinstance(column, str) else int(column)
    has_all = checked.keys() >= set(door.needed_roles)
    if not has_all or len(set(checked.values())) < len(checked):
        expected += ", none twice"
        raise InputValueError("columns", expected=expected, got=Option("columns", checked))
    return checked


@dataclass(frozen=True)
class Form:
    """Where the columns of a table are, and how a file of text has them."""

    width: int  # the number of columns
    names: Sequence[Any] | None = None  # of all columns
    places: dict[str, int] = field(default_factory=dict)  # by role; further columns have numbers
    left_out: tuple[str, ...] = ()  # the columns that are not read, and what else was left out
    further: tuple[str, ...] = ()  # the names of further columns that are read
    description: str = ""  # what reports say of the form of a file; "": nothing
    between: str = "blanks"  # "blanks": also tabs; "tabs" alone; "commas": with csv's quoting
    header: int = 0  # the number of the line that is none of the rows; 0: all are
    count: int | None = None  # how many rows the header says that there are
    has_comments: bool = False  # Whether lines that begin with #, or are blank, are no rows.

    @property
    def columns(self) -> dict[str, Any]:
        """The name of the column of each role; its number where columns have no names."""
        names = self.names or range(self.width)
        return {role: names[place] for role, place in self.places.items()}

    @property
    def number_role(self) -> str:
        """The role of the numbers that are read from text; "": there are none."""
        return next((role for role in NUMBERS if role in self.places), "")


NO_FORM = Form(0)
TREC = {
    LISTS.kind: Form(
        6,
        places={"query": 0, "document": 2, "score": 4, "rank": 3},
        description="TREC run",
        has_comments=True,
    ),
    JUDGEMENTS.kind: Form(
        4,
        places={"query": 0, "document": 2, "iteration": 1, "relevance": 3},
        description="TREC qrels",
        has_comments=True,
    ),
}


def may_be_run(form: Form) -> bool:
    """Return whether columns may be those of TREC's runs, of which the user named some."""
    trec = TREC[LISTS.kind]
    named = form.places.items()
    return form.width == trec.width and form.names is None and named <= trec.places.items()


def find_columns(
    argument: str,
    names: Sequence[Any] | None,
    width: int,
    door: Door,
    columns: ColumnsOption = None,
    *,
    has_further: bool = False,
) -> Form:
    """Find the column of each role, by names or by positions.

    Columns without a role are read, too, if the table `has_further`: those of facts. Otherwise they
    are left out where the user named columns without them, and refused where nobody did.

    >>> find_columns("test", ["tail", "head", "relation"], 3, FACTS).places
    {'head': 1, 'relation': 2, 'tail': 0}
    """
    # A log with the numbers of both qrels and lists is read as either: the other's have no role.
    of_other_table: set[str] = set()
    own_names = names
    is_log = door.kind in TREC and door.roles.keys() & set(NUMBERS).intersection(names or ())
    if columns is None and is_log:
        of_other_table = set(NUMBERS).difference(door.roles)
        own_names = [None if name in of_other_table else name for name in names or ()]
    places = _find_places(own_names, width, door, columns)
    titles = list(map(str, names or map("column {}".format, range(width))))
    without_role = sorted(set(range(width)).difference((places or {}).values()))
    left_out = [titles[place] for place in without_role]
    are_explained = columns is not None or has_further or of_other_table.issuperset(left_out)
    if places is None or not are_explained:
        got = f"{width} columns without names"
        if names is not None:
            got = f"columns {first_names(names, 8)}"
        expected = f"columns {', '.join(door.roles)}"
        if door.needed < len(door.roles):
            expected += f" (the first {door.needed} at least)"
        expected += ", each once and no others"
        ways = []
        if columns is not None:
            named = ", ".join(map(repr, columns.values()))
            expected = f"each of these columns once, which were named: {named}"
        elif width < door.needed:  # as in AnyBURL's predictions
            expected += "; a row, or a line, for each entry"
        else:
            ways = door.ways_to_name(width)
        raise InputValueError(argument, expected=expected, got=got, remedies=ways)
    if has_further:
        places.update(zip(map(str, range(door.needed, width)), without_role, strict=False))
        further = () if names is None else tuple(left_out)
        return Form(width, names, places, further=further)
    listed = titles[places[door.needed_roles[-1]]]
    stem = listed.rstrip(_DIGITS)
    numbered = [name for name in left_out if name != stem and name.rstrip(_DIGITS) == stem]
    if numbered and stem and names is not None and door.mappings:
        got = f"column {listed!r}, and {len(numbered):,} left out: {first_names(numbered)}"
        raise InputValueError(argument, expected="a row for each entry", got=got)
    if {"score", "rank"} <= places.keys():  # Scores decide.
        left_out.append(titles[places["rank"]])
    return Form(width, names, places, left_out=tuple(left_out))


def refuse_left_out_numbers(
    argument: str, door: Door, form: Form, columns: Iterable[tuple[int, Any]]
) -> None:
    """Refuse numbers of queries that are left out where the user named columns without any.

    They stand in the table under the exact name of their role, or at the place that TREC has for
    it; or they are fractions, like scores. `columns` are elements by their places.
    """
    if not door.mappings or not form.left_out or form.number_role:
        return
    names: Sequence[Any] = form.names or range(form.width)
    trec = TREC.get(door.kind, NO_FORM)
    is_trec = form.width == trec.width and form.places.items() <= trec.places.items()
    trec_place = trec.places[trec.number_role] if is_trec and not form.names else -1
    with_name = [name for name in NUMBERS if name in names]
    fractions = []  # They may be scores, or anything else.
    for place, elements in columns:
        if place in form.places.values():
            continue
        numbers = _distinct_numbers(elements)
        has_no_years = max(numbers, default=0) < door.too_large
        if place == trec_place and has_no_years:
            with_name.append(names[place])
        elif door.is_of_lists and any(number % 1 for number in numbers):
            fractions.append(names[place])
    left_out = sorted(with_name, key=lambda name: name not in door.roles) + fractions
    if not left_out:
        return
    way = Option("columns", effect="says what it is")
    got = "one that is left out"
    if not with_name:
        got += ", of fractions, like scores"
    expected = f"a table without column {left_out[0]!r}"
    raise InputValueError(argument, expected=expected, got=got, remedies=[way])


def _distinct_numbers(elements: Any) -> set[Any]:
    """Return the distinct values, without NaN, if all are numbers; otherwise none."""
    if not isinstance(elements, list):
        elements = np.asarray(elements).tolist()
    if not all(issubclass(kind, NUMBER_TYPES) for kind in _core.types_of(elements)):
        return set()
    return {number for number in set(elements) if number == number}


def have_few_values(elements: Sequence[Any]) -> bool:
    """Return whether the first elements of a column have each value twice on average.

    >>> have_few_values(["bm25", "bm25", "dense", "dense"]), have_few_values(["one title", "other"])
    (True, False)
    """
    first = elements[:FIRST_ROWS]
    return 0 < 2 * len(set(first)) <= len(first)


def may_be_grades(elements: Sequence[Any]) -> bool:
    """Return whether the first elements of a column have as few values as grades, but missing ones.

    >>> may_be_grades(["Exact", "Irrelevant", "Exact"]), may_be_grades(range(100))
    (True, False)
    """
    return len({x for x in set(elements[:FIRST_ROWS]) if x == x} - {None, ""}) <= MOST_GRADES


def has_each_role(fields: Sequence[str], door: Door) -> bool:
    """Return whether the first line of a file has each role of a door once, as names."""
    places = _find_places(fields, len(fields), door, None)
    return places is not None and (door.has_further or len(places) == len(fields))


def _find_places(
    names: Sequence[Any] | None, width: int, door: Door, columns: ColumnsOption
) -> dict[str, int] | None:
    """Return the place of each role's column; None if one is missing, or there twice."""
    if columns is not None:
        pairs = [
            (role, place)
            for place, name in enumerate(names or range(width))
            for role, column in columns.items()
            if column in (place, name)  # A name that is an int may be the number of another column.
        ]
    elif names is not None:
        roles = list(map(door.role_of, names))
        if door.unnamed and door.unnamed not in roles and roles.count(None) == 1:
            roles[roles.index(None)] = door.unnamed
        pairs = [(role, place) for place, role in enumerate(roles) if role is not None]
    else:
        pairs = list(zip(door.roles, range(width), strict=False))
    places = dict(pairs)
    has_each_once = len(pairs) == len(places) == len(set(places.values()))
    if not has_each_once or not places.keys() >= set(columns or door.needed_roles):
        return None
    return {role: places[role] for role in door.roles if role in places}


# -- elements --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Column:
    """Elements of a column as integers, and what these stand for.

    Attributes
    ----------
    ids : ndarray of int, shape (n,)
    labels : Names of the core, which columns may share; sequence of str; range; or None
        What the ids number. A range: they are positions, whatever the labels are. None: they are
        integers as they came.
    is_text : bool
        Whether the labels are fields of text, which have no type.
    """

    ids: npt.NDArray[Any]
    labels: _core.Names | Sequence[Any] | range | None = None
    is_text: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_labels(self) -> bool:
        """Whether the ids number labels, and are no integers or positions."""
        return self.labels is not None and not isinstance(self.labels, range)

    @property
    def listed(self) -> tuple[Any, ...]:
        """The labels in their order; none where there are none."""
        if isinstance(self.labels, _core.Names):
            return self.labels.listed()
        return tuple(self.labels or ()) if self.has_labels else ()

    def select(self, rows: Any) -> Column:
        """Return some of the elements."""
        return replace(self, ids=self.ids[rows])

    def entries(self) -> tuple[Any, ...]:
        """Return all elements as they came."""
        ids = self.ids.tolist()
        labels = self.listed
        return tuple(map(labels.__getitem__, ids)) if labels else tuple(ids)

    def entry(self, row: int) -> Any:
        """Return an element as it came: a label, or an integer.

        Examples
        --------
        >>> Column(np.array([1, 0, 1]), ("a", "b")).entry(0), Column(np.array([7])).entry(0)
        ('b', 7)
        """
        number = int(self.ids[row])
        labels = self.listed
        return labels[number] if labels else number


def read_column(
    name: str,
    values: Any,
    expected: str,
    where: Where = at_position,
    *,
    is_text: bool = False,
    remedies: Sequence[Option] = (),
) -> Column:
    """Read elements that are all labels or all integers; each is a label of its own.

    They are a list, tuple, set, range, the keys of a dict, or an array of integers, of str or of
    objects; a Series or an Index of pandas (a categorical by its categories), and whatever else
    numpy reads. One name, a mapping, an array with a mask or of another shape, and other elements
    are refused: bool, bytes, floats (pandas makes floats of missing values), None, integers beyond
    64 bits, and labels beside integers. `where` names the place of an element for messages;
    `is_text` says that labels are fields of text.
    """
    elements = values
    if not isinstance(values, (list, tuple)):
        elements = _read_elements(name, values, expected)
    if isinstance(elements, np.ndarray) or not elements:
        return Column(index_array(name, elements))
    kinds = _core.types_of(elements)
    if all(issubclass(kind, str) for kind in kinds):
        return Column(np.arange(len(elements)), elements, is_text)
    if all(map(is_integer_type, kinds)):
        return Column(index_array(name, elements))
    is_wrong = [not is_integer_type(type(value)) for value in elements]
    if isinstance(elements[0], str):
        is_wrong = [not isinstance(value, str) for value in elements]
    i = is_wrong.index(True)
    element = elements[i]
    got = f"{element!r} {where(i)}"
    if isinstance(element, str) or checks.is_integer(element):  # Others are of another type.
        expected += ", all of one type"
        got += " (str(...) of each makes labels of all)"
    else:
        kind = _describe_element(element)
        got += f" ({kind})" if kind else ""
    raise InputTypeError(name, expected=expected, got=got, remedies=remedies)


def _describe_element(value: Any) -> str:
    """Say what an element is that names nothing; "": it shows so itself."""
    is_float = isinstance(value, (float, np.floating, np.datetime64))
    if isinstance(value, Mapping):  # a hit of a search
        return f"a dict with keys {first_names(list(value), 8)}; a table has a row for each hit"
    is_pair = isinstance(value, (list, tuple)) and len(value) == 2 and checks.is_number(value[1])
    if is_pair and not all(map(checks.is_integer, value)):  # Two integers are a list of ids.
        return "an id and a number; a table has a row for each, a mapping has each id once"
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"a list of {len(value)}, where one id stands"
    if type(value).__name__ in _NONES or (is_float and value != value):
        return "missing; pandas reads NA and null as missing, '' means none in a further column"
    if isinstance(value, (float, np.floating)) and value.is_integer():
        return "pandas makes floats of ints where values are missing"
    is_plain = is_float or isinstance(value, (bool, np.bool_, bytes))
    return "" if is_plain else f"of type {type(value).__name__}"


def _read_elements(name: str, values: Any, expected: str) -> Any:
    """Return elements as a list, or as an array of integers."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "iu":
        return values  # This is the usual case, and costs as little as possible.
    refuse_mask(name, values, expected)
    if isinstance(values, (str, bytes, Mapping)) or not checks.is_iterable(values):
        raise InputTypeError(name, expected=expected, got=repr(values))
    checks.check_length(name, values)
    if not hasattr(values, "__array__") and not device_name(values):
        return list(values)
    array = as_array(without_index(values), name, expected)
    check_shape(name, array.shape, 1, "a 1-D array")
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind in "mMV":  # `tolist` would make integers of dates.
        return list(array)
    return array.tolist()


def is_integer_type(kind: type) -> bool:
    """Return whether this is a type of integers that may be ids; bool is none."""
    return issubclass(kind, (int, np.integer)) and not issubclass(kind, bool)


def checked_names(argument: str, values: Any) -> Names:
    """Return names, which are all str or all int, as they came."""
    refuse_index(argument, values)
    column = read_column(argument, values, "names that are str or int")
    return checks.plain_names(column.listed) if column.has_labels else column.entries()


def joined_rows(
    name: str, rows: Iterable[Any], expected: str, row_name: Where = "in list {}".format
) -> tuple[IntArray, Column]:
    """Return how many elements each row has, and those of all rows, one row after another.

    Each is what `read_column` takes, and `row_name` names its place for messages.

    >>> lengths, column = joined_rows("known", [["b", "a"], ("c",)], "labels")
    >>> lengths, column.entries()
    (array([2, 1]), ('b', 'a', 'c'))
    """
    lists: list[Any] = []
    for i, row in enumerate(rows):
        if isinstance(row, (list, tuple)):
            lists.append(row)
        else:
            column = read_column(name, row, f"{expected} {row_name(i)}")
            lists.append(column.labels if column.has_labels else column.ids)
    lengths = np.array(list(map(len, lists)), dtype=np.int64)
    # An empty array says nothing of what the others hold.
    filled = [row for row in lists if len(row)]
    if filled and all(isinstance(row, np.ndarray) for row in filled):
        return lengths, Column(np.concatenate(filled))
    joined = list(chain.from_iterable(filled))
    ends = np.cumsum(lengths)

    def where(i: int) -> str:
        return row_name(int(np.searchsorted(ends, i, side="right")))

    return lengths, read_column(name, joined, expected, where)


def refuse_matrix_of_grades(argument: str, lengths: IntArray, column: Column) -> None:
    """Refuse rows of a matrix that has a grade for each document, which would be read as ids.

    Such rows have one length, their integers are below it, and a row has an integer twice. The
    arguments are what `joined_rows` returns.

    >>> rows = joined_rows("qrels", [[0, 1, 1], [0, 0, 2]], "ids")
    >>> refuse_matrix_of_grades("qrels", *rows)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    truerank.errors.InputValueError: qrels: expected a list of ids, or {id: grade}, ...
    """
    ids = column.ids
    if column.labels is not None or not len(ids) or (lengths != lengths[0]).any():
        return
    width = int(lengths[0])
    are_below_width = ids.min() >= 0 and ids.max() < width
    has_repeat = (np.diff(np.sort(ids.reshape(-1, width))) == 0).any()
    if are_below_width and has_repeat:
        got = f"lists of {width} integers below {width}, some twice, like rows of grades"
        expected = "a list of ids, or {id: grade}, for each key"
        raise InputValueError(argument, expected=expected, got=got)


def first_names(names: Sequence[Name], number: int = 3) -> str:
    """Return the first names, for messages."""
    words = list(map(repr, names[:number]))
    if len(names) > len(words):
        words.append("...")
    return ", ".join(words)
