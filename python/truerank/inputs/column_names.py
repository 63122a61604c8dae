"""Names of candidates in place of ids: those of a vocabulary, or of the columns of a frame."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import is_tensor
from .checks import is_integer, is_number
from .errors import InputTypeError, InputValueError, spelled
from .words import near_words

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

    from .arrays import IntArray

    Place = Callable[[int], str]
    Names: TypeAlias = "Sequence[str] | Mapping[str, int] | npt.NDArray[Any] | ColumnNames"

_NUMBERS = "iufbc"  # kinds of arrays that have no names
_COMPARED = 20_000  # names at most with which an unknown one is compared


def at_position(i: int) -> str:
    """Return where a member of a list is, for messages."""
    return f"at position {i}"


class ColumnNames:
    """The names of all columns, in their order, by which targets and selections may call them.

    Parameters
    ----------
    names : tuple
        Distinct, and mostly str; a frame may have others.
    source : str
        Where they are from, for messages.

    Examples
    --------
    >>> names = ColumnNames(("Paris", "Rome"), "vocabulary")
    >>> names.ids("targets", ["Rome", "Paris", "Rome"])
    array([1, 0, 1])
    >>> names.ids("targets", ["Rom"])
    Traceback (most recent call last):
    ...
    truerank.InputValueError: targets: unknown name 'Rom' at position 0; did you mean 'Rome'?
    """

    __slots__ = ("_places", "are_text", "has_numbers", "names", "source")

    def __init__(self, names: tuple[Hashable, ...], source: str) -> None:
        self.names, self.source = names, source
        self._places: dict[Hashable, int] | None = None
        self.are_text = all(isinstance(name, str) for name in names)
        self.has_numbers = not self.are_text and any(map(is_number, names))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def places(self) -> dict[Hashable, int]:
        """The column of each name.

        Raises
        ------
        ValueError
            If a name occurs twice.
        """
        if self._places is None:
            places = dict(zip(self.names, range(len(self.names)), strict=True))
            if len(places) < len(self.names):
                i = next(i for i, name in enumerate(self.names) if places[name] != i)
                got = f"{self.names[i]!r} at positions {i} and {places[self.names[i]]}"
                raise InputValueError(self.source, expected="columns of distinct names", got=got)
            self._places = places
        return self._places

    def as_vocabulary(self) -> tuple[str, ...] | None:
        """Return the names if all of them are str, and distinct, as those of labels have to be."""
        if not self.are_text or len(set(self.names)) < len(self.names):
            return None
        return self.names  # type: ignore[return-value]

    def is_name(self, value: object) -> bool:
        """Whether a value is one name rather than a list of them."""
        if isinstance(value, str) or is_number(value) or not isinstance(value, Hashable):
            return isinstance(value, str)
        return value in self.places

    def of(self, ids: IntArray) -> npt.NDArray[np.object_]:
        """Return the names of ids; None for -1, which stands for no candidate.

        Examples
        --------
        >>> ColumnNames(("Paris", "Rome"), "vocabulary").of(np.array([1, -1]))
        array(['Rome', None], dtype=object)
        """
        table = np.empty(len(self) + 1, dtype=object)
        table[:-1] = self.names
        return table[ids]

    def ids(self, argument: str, value: Any, place: Place = at_position) -> Any:
        """Return the ids of names; anything that holds numbers is returned as it is.

        Parameters
        ----------
        argument : str
            What messages call the value.
        value : object
            A name, or a sequence, an array or a column of names.
        place : callable
            Returns where a member is, for messages.

        Raises
        ------
        TypeError
            For members that are neither names nor integers, and for names that are missing.
        ValueError
            For unknown names, and for integers if names are numbers.
        """
        if self.is_name(value):
            return int(self._found(argument, [value], place)[0])
        items = _listed(value)
        if items is not None and not len(items):
            return []  # of no dtype, unlike an empty array of str
        if items is None or is_number(items[0]):
            if self.has_numbers:
                self._refuse_numbers(argument)
            return value
        return self._found(argument, items, place)

    def _found(self, argument: str, items: Sequence[Any], place: Place) -> IntArray:
        try:
            places = map(self.places.get, items, repeat(-1))
            found = np.fromiter(places, dtype=np.int64, count=len(items))
        except TypeError:  # unhashable: a list in the place of a name
            i = next(i for i, item in enumerate(items) if not isinstance(item, Hashable))
            got = f"{type(items[i]).__name__} {place(i)}"
            raise InputTypeError(argument, expected="names or integers", got=got) from None
        if len(found) and found.min() < 0:
            i = int(found.argmin())
            raise self._unknown(argument, items[i], place(i))
        return found

    def _unknown(self, argument: str, item: Any, where: str) -> InputTypeError | InputValueError:
        if item is None or type(item).__name__ in ("NAType", "NaTType") or item != item:
            return InputTypeError(argument, expected="names", got=f"a missing one {where}")
        if not isinstance(item, str):
            got = f"{type(item).__name__} {where}"
            return InputTypeError(argument, expected="names or integers", got=got)
        problem = f"unknown name {item!r} {where}"
        lower = {name.lower(): name for name in self._similar_in_length(item)}
        near = [lower[word] for word in near_words(item, lower)]
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else self._described()
        return InputValueError(argument, f"{problem}; {hint}")

    def _similar_in_length(self, word: str) -> list[str]:
        """List names to compare a word with: a comparison with a million would take a minute."""
        texts = (name for name in self.names if isinstance(name, str))
        near = [name for name in texts if abs(len(name) - len(word)) <= 2]
        if len(near) > _COMPARED:
            near = [name for name in near if name[:1].lower() == word[:1].lower()]
        return near[:_COMPARED]

    def _described(self) -> str:
        shown = ", ".join(map(repr, self.names[:3])) + (", ..." if len(self) > 3 else "")
        return f"known are {shown} ({len(self)} in all)"

    def _refuse_numbers(self, argument: str) -> None:
        shown = ", ".join(map(str, self.names[:3])) + (", ..." if len(self) > 3 else "")
        raise InputValueError(
            argument,
            f"may be positions or labels of columns, as the columns of {self.source} are labelled "
            f"{shown}; give {self.source}.to_numpy() for positions, and for labels "
            f"{self.source}.columns.get_indexer({argument}) with it",
        )


def ids_of(argument: str, value: Any, names: ColumnNames | None, place: Place = at_position) -> Any:
    """Return ids where a value holds names; what holds integers is returned as it is.

    Raises
    ------
    TypeError
        For names where there is no vocabulary.

    Examples
    --------
    >>> ids_of("targets", ["Paris"], None)
    Traceback (most recent call last):
    ...
    truerank.InputTypeError: targets: expected integers, got str; for names, give vocabulary=, or a frame of scores
    """  # noqa: E501
    if names is not None:
        return names.ids(argument, value, place)
    if type(value) is not np.ndarray or value.dtype.kind in "UOT":
        items = [value] if isinstance(value, str) else _listed(value)
        if items is not None and len(items) and isinstance(items[0], str):
            hint = f"for names, give {spelled('vocabulary=')}, or a frame of scores"
            raise InputTypeError(argument, expected="integers", got=f"str; {hint}")
    return value


def _listed(value: Any) -> Sequence[Any] | None:
    """List what may hold names; None for anything that holds numbers, or is no list."""
    if isinstance(value, (list, tuple)):
        return value
    if is_tensor(value) or isinstance(value, (str, bytes, Mapping)):
        return None
    kind = getattr(getattr(value, "dtype", None), "kind", None) or " "
    if kind in _NUMBERS or getattr(value, "ndim", 1) != 1:
        return None
    for method in ("to_list", "tolist"):  # of columns, and of arrays
        if hasattr(value, method):
            items: list[Any] = getattr(value, method)()
            return items
    return list(value) if isinstance(value, Iterable) else None


def checked_names(name: str, given: object) -> tuple[str, ...]:
    """Check a vocabulary, and return its names in the order of their ids.

    Parameters
    ----------
    name : str
        The argument.
    given : sequence of str, or mapping of str to int
        The names in the order of their ids, or the id of each, from 0 on.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        For no names, for one that occurs twice, and for ids that are not 0, 1, 2, ...

    Examples
    --------
    >>> checked_names("vocabulary", {"Rome": 1, "Paris": 0})
    ('Paris', 'Rome')
    """
    if isinstance(given, Mapping):
        given = _order_by_id(name, given)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, (str, bytes, float, bool)) or not isinstance(given, Iterable):
        raise InputTypeError(
            name,
            expected="an int, a sequence of labels or a mapping of labels to ids",
            got=type(given).__name__,
        )
    names = tuple(given)
    for i, label in enumerate(names):
        if not isinstance(label, str):
            raise InputTypeError(
                name, expected="str", got=f"{type(label).__name__} at position {i}"
            )
    if not names:
        raise InputValueError(name, expected="at least one label", got="none")
    names = tuple(map(str, names))
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(label for label in names if label in seen or seen.add(label))  # type: ignore[func-returns-value]
        raise InputValueError(name, f"{twice!r} occurs twice")
    return names


def _order_by_id(name: str, given: Mapping[Any, Any]) -> list[Any]:
    """Return the labels of a mapping in the order of their ids, which must be 0, 1, 2, ..."""
    for label, code in given.items():
        if not is_integer(code):
            raise InputTypeError(
                name, expected="a mapping to integers", got=f"{type(code).__name__} for {label!r}"
            )
    ordered = sorted(given.items(), key=lambda item: item[1])
    for i, (label, code) in enumerate(ordered):
        if code != i:
            raise InputValueError(
                name,
                expected=f"a mapping to the ids from 0 to {len(ordered) - 1}, each once",
                got=f"{code!r} for {label!r}",
            )
    return [label for label, _ in ordered]


def vocabulary_names(given: Any, columns: int | None = None) -> ColumnNames | None:
    """Read the argument `vocabulary`; None stays None, and names that were read before stay.

    Parameters
    ----------
    given : sequence of str, mapping of str to int, ColumnNames, or None
    columns : int, optional
        How many names there must be.

    Raises
    ------
    TypeError, ValueError
        As `checked_names`, and for another number of names.

    Examples
    --------
    >>> vocabulary_names(["Paris", "Rome"], 3)
    Traceback (most recent call last):
    ...
    truerank.InputValueError: vocabulary: expected 3 names, one for each candidate, got 2
    """
    if given is None:
        return None
    names = given
    if not isinstance(given, ColumnNames):
        names = ColumnNames(_vocabulary(given), "vocabulary")
    if columns is not None and len(names) != columns:
        expected = f"{columns} names, one for each candidate"
        raise InputValueError(names.source, expected=expected, got=len(names))
    found: ColumnNames = names
    return found


def _vocabulary(given: Any) -> tuple[str, ...]:
    if is_integer(given):
        expected = "a sequence of names or a mapping of names to ids"
        raise InputTypeError("vocabulary", expected=expected, got=type(given).__name__)
    return checked_names("vocabulary", given)
