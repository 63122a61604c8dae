"""Labels of tasks (side, relation, query, ...): integer codes and the names they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import _core
from ..arrays.row_keys import count_values, factorize
from ..errors import InputTypeError, InputValueError
from ..inputs import checks
from ..inputs.array_likes import as_array, by_position, check_range, index_array, integers
from ..naming import printable, public

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray

    Codes: TypeAlias = Sequence[int] | npt.NDArray[Any]
    Names: TypeAlias = Sequence[str] | npt.NDArray[np.str_]
    LabelsLike: TypeAlias = "str | Names | Codes | tuple[Codes, Names | None] | Labels"

# These labels are attributes of Ranks, so other labels must have other names.
LABELS = ("side", "relation", "queries", "targets", "unit")
# Units and weights are named by the singular of a label.
LABEL_WORDS = dict(zip(LABELS, ("side", "relation", "query", "target", "unit"), strict=True))
# This label names the data set of each task: by it are queries, relations, targets and units.
DATASET = "dataset"
# In `by` and `weights` both names of a label mean the attribute.
LABEL_ALIASES = {name: label for label in LABELS for name in (label, LABEL_WORDS[label])}


class Immutable:
    """Base of Ranks and Labels: their attributes are only set when they are made."""

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, *_value: object) -> None:
        raise AttributeError(f"{type(self).__name__} are immutable: cannot change {name!r}")

    __delattr__ = __setattr__


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
    one label, or with a label for each task, and numpy and pandas read them; a label of another
    type is refused. Whether two Labels are the same as a whole is what `same_as` says. A vocabulary
    may hold names that no task has, and a slice keeps the whole vocabulary.

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
        self.__dict__.update(vars(_read_codes("labels", codes, vocabulary)))

    if not TYPE_CHECKING:  # A type checker that read this would accept any name.

        def __getattr__(self, name: str) -> Any:
            """Make labels that `labels_when_asked` has promised, the first time one is read."""
            make = self.__dict__.get("make")
            if make is not None and name in ("codes", "vocabulary"):
                self.__dict__.update(vars(make()))
                self.__dict__.pop("make", None)  # What they are made of is needed no longer.
            if name not in self.__dict__:
                raise AttributeError(name)
            return self.__dict__[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return labels_of_codes, (self.codes, self.vocabulary)

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
        # An array of fixed width drops NULs at the ends of names.
        has_nul = any(name.endswith("\0") for name in self.vocabulary)
        dtype: Any = np.object_ if has_nul else np.str_
        return np.array(self.vocabulary, dtype=dtype)[self.codes]

    def counts(self) -> dict[str, int] | dict[int, int]:
        """Return how many tasks have each label, in the vocabulary's order (0 included) or by id.

        Examples
        --------
        >>> Labels([0, 0], ("head", "tail")).counts()
        {'head': 2, 'tail': 0}
        """
        if self.vocabulary is None:
            ids, numbers = count_values(self.codes)
            return dict(zip(ids.tolist(), numbers.tolist(), strict=True))
        counts = np.bincount(self.codes, minlength=len(self.vocabulary))
        return dict(zip(self.vocabulary, counts.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int | slice | Sequence[int] | npt.NDArray[Any]) -> Labels:
        """Return the labels of some tasks, by slice, boolean mask, integer array or int."""
        return labels_of_codes(self.codes[checked_index(index)], self.vocabulary)

    def __iter__(self) -> Iterator[str] | Iterator[int]:
        """Iterate over the decoded labels."""
        values: list[Any] = self.values.tolist()
        return iter(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the decoded labels, which numpy and pandas ask for."""
        return np.array(self.values, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> npt.NDArray[np.bool_]:  # type: ignore[override]
        """Compare task by task with one label, or with labels of as many tasks: bool, shape (n,).

        Raises
        ------
        TypeError
            If names are compared with ids, which never equal them.
        ValueError
            If there are not as many labels as tasks.

        Examples
        --------
        >>> Labels([7, 9, 7]) == 7
        array([ True, False,  True])
        >>> Labels([0, 1], ("head", "tail")) == ["head", "head"]
        array([ True, False])
        """
        equal: npt.NDArray[np.bool_]
        if checks.is_integer(other):
            self._check_type([other], are_ids=True)
            equal = np.equal(self.codes, other)
            return equal
        try:
            labels = as_labels("labels", other, len(self))
        except InputTypeError:
            is_single_value = isinstance(other, bool | float | bytes | np.generic)
            if is_single_value:  # It is no label, and compares with nothing.
                raise
            return NotImplemented  # Python asks the other operand then.
        self._check_type(labels, are_ids=labels.vocabulary is None)
        own_codes, other_codes = join_labels("labels", [self, labels]).codes.reshape(2, -1)
        equal = np.equal(own_codes, other_codes)
        return equal

    def _check_type(self, others: Labels | list[Any], *, are_ids: bool) -> None:
        """Refuse to compare names with ids, which never equal them."""
        if len(self) and are_ids != (self.vocabulary is None):
            expected = f"{'str' if are_ids else 'int'}, as the labels of these tasks are"
            raise InputTypeError("labels", expected=expected, got=repr(next(iter(others))))

    def __ne__(self, other: object) -> npt.NDArray[np.bool_]:  # type: ignore[override]
        """Compare as ``==`` does, task by task."""
        equal = self.__eq__(other)
        if equal is NotImplemented:
            return NotImplemented
        return ~equal

    def same_as(self, other: Labels) -> bool:
        """Whether both have the same labels for the same tasks, whatever their vocabularies.

        Examples
        --------
        >>> Labels([0, 1], ("a", "b")).same_as(Labels([1, 0], ("b", "a")))
        True
        >>> Labels([7]).same_as(Labels([7, 7]))
        False
        """
        if self.vocabulary == other.vocabulary:
            return np.array_equal(self.codes, other.codes)
        if len(self) != len(other) or (self.vocabulary is None) != (other.vocabulary is None):
            return not len(self) and not len(other)
        return bool((self == other).all())

    def __repr__(self) -> str:
        if self.vocabulary is None:
            return f"Labels({len(self):,} ids)"
        present = [f"{name} {n:,}" for name, n in self.counts().items() if n]
        if len(present) > 6:
            present[6:] = ["..."]
        text = f"{len(self):,} labels"
        if present:
            text += f": {', '.join(present)}"
        return printable(f"Labels({text})")


def as_labels(name: str, value: Any, length: int, units: Labels | None = None) -> Labels:
    """Read the labels of `length` tasks in any form that `Ranks` takes; messages call them `name`.

    One str stands for all tasks. Names are kept in the order in which they first occur. If there
    are as many labels as `units`, each goes to all tasks of its unit.
    """
    if isinstance(value, str):
        return labels_of_codes(np.zeros(length, dtype=np.int64), (value,))
    if isinstance(value, Labels):
        labels = value
    elif isinstance(value, tuple) and len(value) == 2 and checks.has_dimensions(value[0]):
        labels = _read_codes(name, *value)
    else:
        labels = _read_values(name, by_position(name, value))
    if len(labels) == length:
        return labels
    expected = f"{length} labels, one for each task"
    if units is not None:
        places = factorize(units.codes)
        if len(labels) == len(places.distinct):
            return labels[places.codes]
        expected += f", or {len(places.distinct)}, one for each unit"
    raise InputValueError(name, expected=expected, got=len(labels))


def labels_of_codes(codes: IntArray, vocabulary: tuple[str, ...] | None = None) -> Labels:
    """Make labels of codes that the package made itself: not checked, and copied only if need be.

    Nobody may change them afterwards.
    """
    labels = Labels.__new__(Labels)
    codes = np.ascontiguousarray(codes, np.int64).view()
    codes.flags.writeable = False
    labels.__dict__.update(codes=codes, vocabulary=vocabulary)
    return labels


def labels_when_asked(make: Callable[[], Labels]) -> Labels:
    """Return labels that are made the first time somebody reads them.

    >>> labels_when_asked(lambda: Labels([0, 0], ("head", "tail"))).counts()
    {'head': 2, 'tail': 0}
    """
    labels = Labels.__new__(Labels)
    labels.__dict__["make"] = make
    return labels


def named_labels(values: Mapping[str, Any], length: int) -> dict[str, Labels]:
    """Read labels of `length` tasks, by name; those that are None are left out.

    A name is an identifier without a meaning of its own, such as "head_degree".
    """
    for name in values:
        if not name.isidentifier():
            raise InputValueError("labels", expected="names as 'head_degree'", got=repr(name))
        label = LABEL_ALIASES.get(name, name)
        if label != name:
            raise InputValueError("labels", f"{name!r} has a meaning already: give {label}=...")
    labels = {}
    for name, value in values.items():
        if value is not None:
            labels[name] = as_labels(name, value, length)
    return labels


def join_labels(name: str, parts: Sequence[Labels]) -> Labels:
    """Join labels over tasks; vocabularies are merged in order of appearance."""
    if all("make" in vars(part) for part in parts):  # Nobody has asked for any of them.
        return labels_when_asked(lambda: join_labels(name, [part[:] for part in parts]))
    codes = [part.codes for part in parts]
    vocabularies = [part.vocabulary for part in parts]
    first = vocabularies[0]
    if vocabularies.count(first) == len(parts):  # Slices of one whole share it.
        return labels_of_codes(np.concatenate(codes), first)
    are_ids = {part.vocabulary is None for part in parts if len(part)}
    if len(are_ids) > 1:  # Labels of no tasks join with either.
        raise InputValueError(name, "cannot join names and ids")
    if are_ids == {True}:
        return labels_of_codes(np.concatenate(codes))
    code_of_name: dict[str, int] = {}

    @cache  # Equal vocabularies are merged once.
    def merge(vocabulary: tuple[str, ...]) -> IntArray:
        new_codes = [code_of_name.setdefault(word, len(code_of_name)) for word in vocabulary]
        return np.array(new_codes, np.int64)

    # By identity: hashing a vocabulary takes as long as reading all of its names.
    by_id = {id(names): names for names in vocabularies if names is not None}
    new_codes = {key: merge(names) for key, names in by_id.items()}
    named_parts = [part for part in parts if part.vocabulary is not None]  # Others are empty.
    merged_codes = [new_codes[id(part.vocabulary)][part.codes] for part in named_parts]
    return labels_of_codes(np.concatenate(merged_codes), tuple(code_of_name))


def checked_index(index: object) -> slice | npt.NDArray[Any]:
    """Check an index of tasks, and return it as a slice, a mask or an array of positions."""
    if isinstance(index, slice):
        return index
    if isinstance(index, str):
        raise InputTypeError("index", f"ranks have no metrics: truerank.report(ranks)[{index!r}]")
    array = as_array(index, "index", "a slice, mask, integers or an int")
    if isinstance(index, tuple) or array.ndim > 1:
        got = "a tuple" if isinstance(index, tuple) else f"shape {array.shape}"
        raise InputTypeError("index", expected="a slice, mask, integers or an int", got=got)
    if array.dtype == np.bool_ and array.ndim:
        return array
    return index_array("index", index).reshape(-1)


def describe_task(labels: Mapping[str, Labels], i: int) -> str:
    """Say what a task is, by its labels, for messages: "side tail, query 9"."""
    return ", ".join(
        f"{LABEL_WORDS.get(name, name)} {of_tasks[i : i + 1].values[0]}"
        for name, of_tasks in labels.items()
    )


def _read_codes(name: str, codes: object, vocabulary: object) -> Labels:
    """Read labels that are codes, and what these stand for."""
    array = integers(f"{name}: codes", codes)
    if vocabulary is None:
        return labels_of_codes(array, None)
    words = checks.distinct_names(f"{name}: vocabulary", vocabulary)
    check_range(f"{name}: codes", array, len(words), "names in the vocabulary")
    return labels_of_codes(array, words)


def _read_values(name: str, value: Any) -> Labels:
    """Read labels that are names or ids, one for each task."""
    is_flat = checks.is_iterable(value) and getattr(value, "ndim", 1) == 1
    if isinstance(value, bytes | dict | set | frozenset) or not is_flat:
        forms = "a str for all tasks, a sequence of str or int, or a (codes, vocabulary) pair"
        raise InputTypeError(name, expected=forms, got=type(value).__name__)
    if isinstance(value, np.ndarray) and value.dtype.kind not in "UOT":  # T is text of any width.
        return labels_of_codes(integers(name, value), None)
    checks.check_length(name, value)
    items = value.tolist() if isinstance(value, np.ndarray) else list(value)
    names = _core.plain_names(items)  # None unless all are plain str.
    if names:
        return labels_of_codes(*_core.code_names(names))
    if not any(isinstance(item, str) for item in items):
        return labels_of_codes(integers(name, items), None)
    codes = []
    code_of_name: dict[str, int] = {}
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise InputTypeError(name, expected="str", got=type(item).__name__, place=i)
        codes.append(code_of_name.setdefault(str(item), len(code_of_name)))
    return labels_of_codes(np.array(codes, np.int64), tuple(code_of_name))
