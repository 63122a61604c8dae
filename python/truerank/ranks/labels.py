"""Labels of tasks (side, relation, query, ...): integer codes and the names they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import _core
from ..inputs.arrays import ReadOnlyArrays, integers, read_only
from ..inputs.checks import check_shape, distinct_names, has_dimensions, is_iterable
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import printable, public
from .counts import checked_index

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

    Codes: TypeAlias = Sequence[int] | npt.NDArray[Any]
    Names: TypeAlias = Sequence[str] | npt.NDArray[np.str_]
    LabelsLike: TypeAlias = "str | Names | Codes | tuple[Codes, Names | None] | Labels"

# The labels that are attributes of Ranks; other labels must have other names.
LABELS = ("side", "relation", "queries", "targets", "unit")
# The word for one of a label, as units and weights are named.
LABEL_WORDS = dict(zip(LABELS, ("side", "relation", "query", "target", "unit"), strict=True))
# The names of these labels in `by` and `weights`, and the attribute that each name means.
LABEL_ALIASES = {name: label for label in LABELS for name in (label, LABEL_WORDS[label])}


class Immutable(ReadOnlyArrays):
    """Base of Ranks and Labels: their attributes are only set when they are made."""

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} are immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} are immutable: cannot delete {name!r}")


@public("truerank.ranks")
class Labels(Immutable):
    """One label for each task: names, kept as codes and a vocabulary, or plain integer ids.

    Parameters
    ----------
    codes : array_like of int, shape (n,)
        Positions in the vocabulary, or the ids themselves where there is none. Copied.
    vocabulary : sequence of str, optional
        The names, without repeats. None: the codes are the ids themselves (any int64).

    Attributes
    ----------
    codes : ndarray of int64, shape (n,), read-only
    vocabulary : tuple of str, or None

    Raises
    ------
    TypeError
        If codes are not integers or a name is not a str.
    ValueError
        If a code lies outside the vocabulary, or a name occurs twice.

    Notes
    -----
    Labels behave as an array of what they decode to: ``==`` and ``!=`` compare task by task with
    one label, or with a label for each task, and numpy and pandas read them. Names never equal ids.
    Whether two Labels are the same as a whole is what `same_as` says. A vocabulary may hold names
    that no task has, and a slice keeps the whole vocabulary.

    Examples
    --------
    >>> labels = Labels([0, 1, 1], ("head", "tail"))
    >>> labels.values
    array(['head', 'tail', 'tail'], dtype='<U4')
    >>> labels[1:]
    Labels(2 labels: tail 2)
    >>> labels == "tail"
    array([False,  True,  True])
    """

    codes: IntArray
    vocabulary: tuple[str, ...] | None

    def __init__(self, codes: Codes, vocabulary: Names | None = None) -> None:
        self.__dict__.update(_checked_pair("labels", codes, vocabulary))

    @classmethod
    def _trusted(cls, codes: IntArray, vocabulary: tuple[str, ...] | None) -> Labels:
        """Take over a fresh int64 array without a check or a copy."""
        labels = cls.__new__(cls)
        labels.__dict__.update(codes=read_only(codes), vocabulary=vocabulary)
        return labels

    @property
    def values(self) -> npt.NDArray[Any]:
        """The decoded labels: an array of str, shape (n,), or the int64 ids if there are no names.

        Examples
        --------
        >>> Labels([7, 9]).values
        array([7, 9])
        """
        if self.vocabulary is None:
            return self.codes
        # a dtype of fixed width would drop trailing NULs
        exact = not any(name.endswith("\0") for name in self.vocabulary)
        return np.array(self.vocabulary, dtype=np.str_ if exact else np.object_)[self.codes]

    def counts(self) -> dict[str, int] | dict[int, int]:
        """Return how many tasks have each label, in the vocabulary's order (0 included) or by id.

        Examples
        --------
        >>> Labels([0, 0], ("head", "tail")).counts()
        {'head': 2, 'tail': 0}
        """
        if self.vocabulary is None:
            ids, numbers = np.unique(self.codes, return_counts=True)
            return dict(zip(ids.tolist(), numbers.tolist(), strict=True))
        counts = np.bincount(self.codes, minlength=len(self.vocabulary))
        return dict(zip(self.vocabulary, counts.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int | slice | Sequence[int] | npt.NDArray[Any]) -> Labels:
        """Return the labels of some tasks, by slice, boolean mask, integer array or int."""
        return Labels._trusted(self.codes[checked_index(index, len(self))], self.vocabulary)

    def __iter__(self) -> Iterator[str] | Iterator[int]:
        """Iterate over the decoded labels."""
        codes = self.codes.tolist()
        return iter(codes) if self.vocabulary is None else map(self.vocabulary.__getitem__, codes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the decoded labels, which numpy and pandas ask for."""
        return np.array(self.values, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> npt.NDArray[np.bool_]:  # type: ignore[override]
        """Compare task by task with one label, or with labels of as many tasks: bool, shape (n,).

        Raises
        ------
        ValueError
            If there are not as many labels as tasks.

        Examples
        --------
        >>> Labels([7, 9, 7]) == 7
        array([ True, False,  True])
        >>> Labels([0, 1], ("head", "tail")) == ["head", "head"]
        array([ True, False])
        """
        if isinstance(other, int | np.integer):
            return np.equal(self.codes, other) & (self.vocabulary is None)
        try:
            labels = as_labels("labels", other, len(self))  # type: ignore[arg-type]
        except InputTypeError:
            return NotImplemented
        if (self.vocabulary is None) != (labels.vocabulary is None):
            return np.zeros(len(self), dtype=bool)
        first, second = join_labels("labels", [self, labels]).codes.reshape(2, -1)
        return np.equal(first, second)

    def __ne__(self, other: object) -> npt.NDArray[np.bool_]:  # type: ignore[override]
        """Compare as ``==`` does, task by task."""
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    def same_as(self, other: Labels) -> bool:
        """Whether both have the same labels for the same tasks, whatever their vocabularies.

        Examples
        --------
        >>> Labels([0, 1], ("a", "b")).same_as(Labels([1, 0], ("b", "a")))
        True
        >>> Labels([7]).same_as(Labels([7, 7]))
        False
        """
        if not isinstance(other, Labels):
            raise InputTypeError("other", expected="Labels", got=type(other).__name__)
        return len(self) == len(other) and bool((self == other).all())

    def __repr__(self) -> str:
        if self.vocabulary is None:
            return f"Labels({len(self):,} ids)"
        present = [f"{name} {n:,}" for name, n in self.counts().items() if n]
        listed = ", ".join(present[:6]) + (", ..." if len(present) > 6 else "")
        return printable(f"Labels({len(self):,} labels{': ' if listed else ''}{listed})")


def as_labels(name: str, value: LabelsLike, length: int) -> Labels:
    """Read the labels of `length` tasks in any of the accepted forms.

    Parameters
    ----------
    name : str
        The argument's name, for the messages.
    value : str, sequence of str or int, ndarray of str or int, (codes, vocabulary), Labels
        One str stands for all tasks. Names are kept in the order in which they first occur.
    length : int
        The number of tasks.

    Returns
    -------
    Labels

    Raises
    ------
    TypeError
        For anything else, and if names and ids are mixed.
    ValueError
        For another shape or length, codes outside the vocabulary, repeats in the vocabulary.

    Examples
    --------
    >>> as_labels("side", "tail", 2).values
    array(['tail', 'tail'], dtype='<U4')
    """
    if isinstance(value, str):
        return Labels._trusted(np.zeros(length, dtype=np.int64), (value,))
    if isinstance(value, Labels):
        labels = value
    elif isinstance(value, tuple) and len(value) == 2 and has_dimensions(value[0]):
        labels = Labels._trusted(**_checked_pair(name, *value))
    else:
        labels = _parse_labels(name, value)
    if len(labels) != length:
        raise InputValueError(name, expected=f"{length} labels, one for each task", got=len(labels))
    return labels


def named_labels(standard: dict[str, Any], others: object, length: int) -> dict[str, Any]:
    """Read all labels of `length` tasks, by name; None stays None.

    Parameters
    ----------
    given : mapping of str to labels
        Labels that are attributes of Ranks.
    others : mapping of str to labels
        Labels of other names, such as {"category": [...], "degree": [...]}.
    length : int

    Raises
    ------
    TypeError
        If `others` is no mapping, and for a name that is not a str.
    ValueError
        For a name that is not an identifier or already has a meaning, and as `as_labels` does.

    Examples
    --------
    >>> named_labels({"side": "tail"}, {"category": "1-n"}, 2)
    {'side': Labels(2 labels: tail 2), 'category': Labels(2 labels: 1-n 2)}
    """
    if not isinstance(others, Mapping):
        raise InputTypeError("labels", expected="a mapping of names", got=type(others).__name__)
    for name in others:
        if not isinstance(name, str):
            raise InputTypeError("labels", expected="names that are str", got=type(name).__name__)
        if not name.isidentifier():
            raise InputValueError("labels", expected="names as 'head_degree'", got=repr(name))
        if name in LABEL_ALIASES:
            instead = f"give {LABEL_ALIASES[name]}=..., or another name"
            raise InputValueError("labels", f"{name!r} has a meaning already: {instead}")
    return {
        name: None if value is None else as_labels(argument_of(name), value, length)
        for name, value in {**standard, **others}.items()
    }


def argument_of(name: str) -> str:
    """Return what messages call the labels of a name.

    Examples
    --------
    >>> argument_of("side"), argument_of("degree")
    ('side', "labels['degree']")
    """
    return name if name in LABELS else f"labels[{name!r}]"


def join_labels(name: str, parts: Sequence[Labels]) -> Labels:
    """Join labels over tasks; vocabularies are merged in order of appearance.

    Examples
    --------
    >>> join_labels("side", [Labels([0], ("head",)), Labels([0], ("tail",))]).values
    array(['head', 'tail'], dtype='<U4')
    """
    words = [i for i, part in enumerate(parts) if len(part) and part.vocabulary is not None]
    ids = [i for i, part in enumerate(parts) if len(part) and part.vocabulary is None]
    if words and ids:  # labels of no tasks join with either
        named, plain = (", ".join(map(str, places)) for places in (words, ids))
        problem = f"cannot join names and ids: parts {named} have names, parts {plain} integer ids"
        raise InputValueError(name, problem)
    positions: dict[str, int] = {}
    tables: dict[int, IntArray] = {}  # of each vocabulary, which parts may share
    codes = []
    for part in parts:
        key = id(part.vocabulary)
        if part.vocabulary is not None and key not in tables:
            places = [positions.setdefault(word, len(positions)) for word in part.vocabulary]
            tables[key] = np.array(places, np.int64)
        codes.append(tables[key][part.codes] if key in tables else part.codes)
    has_names = not ids and any(part.vocabulary is not None for part in parts)
    return Labels._trusted(np.concatenate(codes), tuple(positions) if has_names else None)


def _checked_pair(name: str, codes: object, vocabulary: object) -> dict[str, Any]:
    array = integers(f"{name} codes", codes)
    if vocabulary is None:
        return {"codes": array, "vocabulary": None}
    words = distinct_names(f"{name} vocabulary", vocabulary)
    i = _core.first_outside(array, len(words))
    if i >= 0:
        expected = f"integers from 0 to {len(words) - 1} (the vocabulary has {len(words)} names)"
        raise InputValueError(f"{name} codes", expected=expected, got=f"{array[i]} at position {i}")
    return {"codes": array, "vocabulary": words}


def _parse_labels(name: str, value: object) -> Labels:
    if isinstance(value, np.ndarray):
        check_shape(name, value.shape, 1, "a 1-D array of labels")
        if value.dtype.kind not in "iuUOT":  # T: numpy's strings of variable width
            raise InputTypeError(name, expected="str or integers", got=f"dtype {value.dtype}")
        if value.dtype.kind in "iu":
            return Labels._trusted(integers(name, value), None)
        value = value.tolist()
    if isinstance(value, bytes | dict | set | frozenset) or not is_iterable(value):
        forms = "a str for all tasks, a sequence of str or int, or a (codes, vocabulary) pair"
        raise InputTypeError(name, expected=forms, got=type(value).__name__)
    items = list(value)
    if not any(isinstance(item, str) for item in items):
        return Labels._trusted(integers(name, items), None)
    positions: dict[str, int] = {}
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise InputTypeError(name, expected="str", got=f"{type(item).__name__} at position {i}")
        items[i] = positions.setdefault(str(item), len(positions))
    return Labels._trusted(np.array(items, np.int64), tuple(positions))
