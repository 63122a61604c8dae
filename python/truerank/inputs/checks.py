"""Checks of single arguments: integers, numbers, names, words from a list."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard, TypeVar

import numpy as np

from .. import _core
from ..errors import InputTypeError, InputValueError, Option

T = TypeVar("T")
Word = TypeVar("Word", bound=str)

# What options of other tools are called here, and their values.
_LOWER_IS_BETTER = Option("order", "ascending", "says that lower scores are better")
_HIGHER_IS_BETTER = Option("order", "descending", "says that higher scores are better")
_ORDERS = {True: _HIGHER_IS_BETTER, False: _LOWER_IS_BETTER}
_SIMILARITIES = {"cos": "cosine", "cos_sim": "cosine", "angular": "cosine"}
_SIMILARITIES |= {"ip": "dot", "inner_product": "dot", "dot_product": "dot"}
_SIMILARITIES |= {"euclidean": "l2", "sqeuclidean": "sql2", "manhattan": "l1", "cityblock": "l1"}
_SIMILARITIES |= {"L2": "l2", "IP": "dot", "COSINE": "cosine", "l2sq": "sql2"}  # of index builders
_OF_OTHER_TOOLS = {
    f"{name}={value}": option
    for name in ("largest", "higher_is_better", "descending")
    for value, option in _ORDERS.items()
}
_OF_OTHER_TOOLS |= {"ascending=True": _LOWER_IS_BETTER, "ascending=False": _HIGHER_IS_BETTER}
_OF_OTHER_TOOLS |= {
    f"similarity={name}": Option("similarity", here, "is its name here")
    for name, here in _SIMILARITIES.items()
}
# What the rules mean that allow a NaN.
_NAN_RULES = {
    "worst": "takes NaN as the worst score",
    "omit": "takes what scores NaN for no candidate",
}
_FEW_NAMES = 1000  # A set of so many is quickly made.
MOST_ENTRIES = 1 << 40  # The size of a larger array might not fit into 64 bits.


def is_integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Whether a value is an integer of Python or numpy; a bool is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float | np.number[Any]]:
    """Whether a value is a real number of Python or numpy; a bool is not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_iterable(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value can be iterated over; no matrix of scipy can, nor an array without axes."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0 and not is_sparse(value)


def is_sparse(value: object) -> bool:
    """Whether a value is a sparse matrix or array of scipy, in any format."""
    return hasattr(value, "tocsr")


def has_dimensions(value: object) -> bool:
    """Whether a value is more than one number, also lists of unlike lengths."""
    try:
        return isinstance(value, range) or np.ndim(value) > 0  # type: ignore[arg-type]
    except ValueError:
        return True


def integer(
    name: str,
    value: object,
    *,
    least: int | None = None,
    most: int | None = None,
    expected: str = "",
) -> int:
    """Return an integer as a Python int, whose sums do not wrap; a bool is refused.

    `most` is given only beside `least`.
    """
    if not expected:
        expected = "an integer"
        if most is not None:
            expected = f"an integer from {least} to {most}"
        elif least is not None:
            expected = f"an integer >= {least}"
    try:
        converted = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        converted = None
    if converted is None or isinstance(value, bool):
        raise InputTypeError(name, expected=expected, got=type(value).__name__)
    if (least is not None and converted < least) or (most is not None and converted > most):
        raise InputValueError(name, expected=expected, got=value)
    return converted


def positive_integer(name: str, value: object) -> int:
    """Check an integer of at least 1, and return at most 2**40, which no array's length exceeds."""
    return min(integer(name, value, least=1), MOST_ENTRIES)


def number(name: str, value: object, *, expected: str = "a number") -> float:
    """Check a real number of any kind, and return it as a Python float; no bool is one."""
    if not is_number(value):
        raise InputTypeError(name, expected=expected, got=type(value).__name__)
    try:
        return float(value)
    except OverflowError:
        raise InputValueError(name, expected=f"{expected} below 1.8e308", got=value) from None


def instance(name: str, value: object, kind: type[T], expected: str = "") -> T:
    """Check that a value is of a class, whose name is what was expected unless that is given."""
    if not isinstance(value, kind):
        raise InputTypeError(name, expected=expected or kind.__name__, got=type(value).__name__)
    return value


def check_size(name: str, entries: int) -> None:
    """Refuse more entries than any memory holds, as a range and a broadcast array may declare."""
    if entries > MOST_ENTRIES:
        got = f"2**{entries.bit_length() - 1}"
        raise InputValueError(name, expected="at most 2**40 entries", got=got)


def check_length(name: str, values: object) -> None:
    """Refuse, before it is listed, what says that it has more items than any memory holds."""
    if isinstance(values, range):
        check_size(name, (values.stop - values.start) // values.step)
    elif isinstance(values, np.ndarray):
        check_size(name, values.size)


def distinct_names(name: str, words: Any) -> tuple[str, ...]:
    """Check names: each is a str, and none occurs twice."""
    if isinstance(words, (str, bytes)) or not is_iterable(words):
        raise InputTypeError(name, expected="a sequence of str", got=type(words).__name__)
    check_length(name, words)
    items: Any = words if isinstance(words, (list, tuple)) else list(words)
    names = _core.plain_names(items)
    if names is None:
        for i, word in enumerate(items):
            if not isinstance(word, str):
                got = f"{type(word).__name__} at position {i}"
                raise InputTypeError(name, expected="str", got=got)
        names = tuple(map(str, items))  # Some are of a subclass of str.
    refuse_repeated(name, names)
    return names


def plain_names(words: Sequence[str]) -> tuple[str, ...]:
    """Return words as a tuple, in which what is of a subclass of str becomes a plain str.

    >>> plain_names([np.str_("b"), "a"])
    ('b', 'a')
    """
    names = _core.plain_names(words)
    if names is None:
        return tuple(map(str, words))
    return names


def refuse_repeated(name: str, names: tuple[Any, ...]) -> None:
    """Refuse names, all str or all int, of which one occurs twice."""
    if len(names) > _FEW_NAMES and isinstance(names[0], str) and are_unlike(names):
        return
    if len(set(names)) < len(names):
        repeated = next(word for word, number in Counter(names).items() if number > 1)
        raise InputValueError(name, f"{repeated!r} occurs twice")


def are_unlike(names: Sequence[str], *, bare: bool = False) -> bool:
    """Whether the hashes of names say that no two are alike; else there may be such a pair.

    Bare names are alike if they differ only in blanks at their ends. To sort hashes takes a tenth
    of the time and of the memory of a set of millions of names.

    >>> are_unlike(["a", "a "]), are_unlike(["a", "a "], bare=True)
    (True, False)
    """
    hashes = np.sort(_core.name_hashes(names, bare))
    return bool((hashes[1:] != hashes[:-1]).all())


def flag(name: str, value: object) -> bool:
    """Check a bool of Python or numpy."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(name, expected="a bool", got=type(value).__name__)
    return bool(value)


def confidence(level: object) -> float:
    """Check a confidence level: above 0, and far enough below 1 to leave something out."""
    share = number("level", level, expected="a number between 0 and 1")
    if not 0 < share < 1 or (1 + share) / 2 == 1:
        raise InputValueError("level", expected="a number between 0 and 1", got=level)
    return share


def choice(name: str, value: object, choices: tuple[Word, ...]) -> Word:
    """Check that a word is one of the choices."""
    if not isinstance(value, str):
        raise InputTypeError(name, expected="a str", got=type(value).__name__)
    if value not in choices:
        expected = f"one of {', '.join(choices)}"
        ways = called_here(name, value, choices)
        raise InputValueError(name, expected=expected, got=repr(value), remedies=ways)
    return choices[choices.index(value)]


def called_here(name: str, value: object, known: Sequence[str]) -> list[Option]:
    """Return the option that somebody means who writes one of another tool, if it is known here.

    >>> print(*called_here("similarity", "cos", ["dot", "cosine"]))
    similarity='cosine'
    """
    option = _OF_OTHER_TOOLS.get(f"{name}={value}") if isinstance(value, str | bool) else None
    if option is None or (option.name not in known and option.value not in known):
        return []
    return [option]


def forbidden_nan(
    name: str, what: str, rule: str, helps: Sequence[str] = tuple(_NAN_RULES)
) -> InputValueError:
    """Return the error for a NaN that a rule forbids; "omit" forbids that of a target alone.

    `helps` are the rules that allow it.
    """
    problem = f"{what} is NaN"
    if rule == "omit":
        problem += ", and the true score cannot be omitted"
        helps = ["worst"]
    ways = [Option("nan", each, _NAN_RULES[each]) for each in helps]
    return InputValueError(name, problem, remedies=ways)
