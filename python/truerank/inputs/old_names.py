"""Names of earlier versions, which keep working with a warning, and warnings at the user's line.

An argument that got another name is stated once, where it is defined: ``@renamed_arguments`` takes
its old name and its new one. The signature has the new names alone, so that `help` and type
checkers know no others. The page on versions has the table of all old names, which a test holds
against what the decorators say. (`renamed` in `errors` is another thing: it changes the name of an
argument in the messages of errors.)
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from .errors import InputTypeError
from .naming import printable

F = TypeVar("F", bound=Callable[..., Any])

LAST_VERSION = "0.2"  # that still has the old names


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something at the line that called the package, however deep within it this is.

    Parameters
    ----------
    text : str
        The message; its control characters are escaped.
    category : type of Warning

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("the file begins with a header")
    >>> print(caught[0].message)
    the file begins with a header
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_within_package(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(text), category, stacklevel=level)


def _is_within_package(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def warn_of_old_name(old: str, new: str) -> None:
    """Warn that a name was used that has a new one, both as the user writes them.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_old_name("tails=", "tail=")
    >>> print(caught[0].message)
    tails= is now tail=; the old name works through version 0.2
    """
    text = f"{old} is now {new}; the old name works through version {LAST_VERSION}"
    warn_user(text, DeprecationWarning)


def renamed_arguments(**new_names: str) -> Callable[[F], F]:
    """Make a decorator that lets a function take some arguments by their old names as well.

    Parameters
    ----------
    **new_names : str
        The new name of each argument, by its old one. The function itself has only the new ones;
        its old ones are its attribute `__old_names__`.

    Raises
    ------
    TypeError
        When the function is called with both names of an argument.

    Examples
    --------
    >>> @renamed_arguments(tails="tail")
    ... def count(tail: int, *, head: int = 0) -> int:
    ...     return tail + head
    >>> inspect.signature(count)
    <Signature (tail: 'int', *, head: 'int' = 0) -> 'int'>
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     count(tails=3, head=1)
    4
    >>> print(caught[0].message)
    tails= is now tail=; the old name works through version 0.2
    >>> count(3, tails=3)
    Traceback (most recent call last):
    truerank.InputTypeError: tail: it is given twice, as tail= and by its old name tails=
    """

    def decorate(function: F) -> F:
        positions = {name: i for i, name in enumerate(inspect.signature(function).parameters)}

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            if not new_names.keys().isdisjoint(keywords):
                given = {*keywords, *(name for name, i in positions.items() if i < len(args))}
                keywords = _with_new_names(keywords, new_names, given)
            return function(*args, **keywords)

        call.__old_names__ = new_names  # type: ignore[attr-defined]
        return cast(F, call)

    return decorate


class renamed_attribute:
    """The old name of an attribute, whose value is that of the new name.

    Parameters
    ----------
    old, new : str

    Examples
    --------
    >>> class Point:
    ...     height = 3
    ...     altitude = renamed_attribute("altitude", "height")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Point().altitude
    3
    >>> print(caught[0].message)
    .altitude is now .height; the old name works through version 0.2
    """

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new
        self.__doc__ = f"The old name of `{new}`, which works through version {LAST_VERSION}."

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        warn_of_old_name(f".{self.old}", f".{self.new}")
        return getattr(instance, self.new)


def _with_new_names(
    keywords: Mapping[str, Any], new_names: Mapping[str, str], given: set[str]
) -> dict[str, Any]:
    """Return keywords by their new names, with a warning for each old one."""
    for old in new_names.keys() & keywords.keys():
        new = new_names[old]
        if new in given:
            problem = f"it is given twice, as {new}= and by its old name {old}="
            raise InputTypeError(new, problem)
        warn_of_old_name(f"{old}=", f"{new}=")
    return {new_names.get(name, name): value for name, value in keywords.items()}
