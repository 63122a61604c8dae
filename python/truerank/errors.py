"""Errors of bad input: which argument is wrong, what was expected and what came; and warnings.

A check names the argument as its own function does. Who calls the argument otherwise says so once,
by `argument_names`; the text is composed when it is shown, and no message is edited.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from .naming import printable

# It writes an option and its value for a message; the command line has another way.
OPTION_TEXT: ContextVar[Callable[[str, Any], str]] = ContextVar(
    "truerank.option_text", default="{}={!r}".format
)
# It says which element is wrong; a file of text has another way.
POSITION_TEXT: ContextVar[Callable[[int], str]] = ContextVar(
    "truerank.position_text", default="at position {}".format
)
# A warning that begins with the name of an argument begins with what the caller calls it.
WARNED_NAMES: ContextVar[Mapping[str, str]] = ContextVar("truerank.warned_names")
# A file whose path a message begins with has the name that the user knows it by.
FILE_NAMES: ContextVar[Mapping[str, str]] = ContextVar("truerank.file_names")
# A message shows at most so much of a value.
_LONGEST_INTEGER_BITS = 256
_LONGEST_TEXT = 2000


def has_option(name: str) -> bool:
    """Return whether the caller calls an argument by an option, as on the command line.

    Examples
    --------
    >>> has_option("by")
    False
    """
    return OPTION_TEXT.get()(name, "").startswith("--")


class InputError(Exception):
    """Bad input: an `InputValueError`, an `InputTypeError` or a `metrics.UnknownKeyError`.

    The text is ``argument: expected ..., got ...``, or the argument and a problem in words. If the
    fault is in a file, a block or another part, its name stands after the argument. Control
    characters of names and values are escaped in the text, and unchanged in the attributes.

    Parameters
    ----------
    argument : str
        The name of the argument. The name of a part follows a colon, as in ``"filter: indptr"``.
    problem : str
        What is wrong, where `expected` and `got` cannot say it.
    expected : str
        What would have been right.
    got : object, optional
        What came; the message shows its `str`, of which a very long one is cut.
    place : str, optional
        The file or other part of the argument that is wrong.

    Attributes
    ----------
    argument, problem, expected, got, place : str
        As given; empty where nothing was given. A caller may rename the argument.

    Examples
    --------
    >>> raise InputValueError("threads", expected="an integer >= 1", got=0)
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: threads: expected an integer >= 1, got 0
    """

    def __init__(
        self,
        argument: str,
        problem: str = "",
        expected: str = "",
        got: object = "",
        place: str = "",
    ) -> None:
        # Python itself refuses to write integers of 4,301 digits.
        if isinstance(got, int) and got.bit_length() > _LONGEST_INTEGER_BITS:
            digits = math.ceil(got.bit_length() * math.log10(2))
            shown = f"an integer of about {digits:,} digits"
        else:
            shown = str(got)
        if len(shown) > _LONGEST_TEXT:
            shown = f"{shown[: _LONGEST_TEXT // 2]}... ({len(shown):,} characters)"
        super().__init__(argument, problem, expected, shown, place)
        self.problem = problem
        self.expected = expected
        self.got = shown
        self.place = place

    @property
    def argument(self) -> str:
        """The name of the argument; `repr` and `args` have it, too, after it was renamed."""
        return str(self.args[0])

    @argument.setter
    def argument(self, name: str) -> None:
        self.args = (name, *self.args[1:])

    def __str__(self) -> str:
        words = [*self.argument.split(": "), *filter(None, self.place.split(": "))]
        text = "".join(f"{FILE_NAMES.get({}).get(word, word)}: " for word in words)
        if self.problem:
            text += self.problem
        else:
            text += f"expected {self.expected}"
            if self.got:
                text += f", got {self.got}"
        return printable(text)


class InputValueError(InputError, ValueError):
    """A value, a shape or a combination of arguments that is not allowed."""


class InputTypeError(InputError, TypeError):
    """An argument of a type that is not allowed."""


class UnknownKeyError(InputError, KeyError):
    """A key or name that something does not have; `argument` is the key, as it is written.

    The message says why, and which keys are similar.
    """


class argument_names:
    """Give the argument of an error of the block the name by which the caller knows it.

    It reads as a function; a generator in its place would take longer, which small calls notice.

    Examples
    --------
    >>> with argument_names(scores="tail"):
    ...     raise InputValueError("scores", expected="5 rows", got=3)
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: tail: expected 5 rows, got 3
    """

    def __init__(self, /, **names: str) -> None:
        self._names = names

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        # The argument of an UnknownKeyError is a key.
        if isinstance(error, InputError) and not isinstance(error, UnknownKeyError):
            name, colon, part = error.argument.partition(": ")
            error.argument = f"{self._names.get(name, name)}{colon}{part}"


def warn_user(text: str) -> None:
    """Warn of something at the line that called the package, however deep within it this is.

    Parameters
    ----------
    text : str
        The message; its control characters are escaped.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("the file begins with a header")
    >>> print(caught[0].message)
    the file begins with a header
    """
    name, colon, problem = text.partition(": ")
    text = f"{WARNED_NAMES.get({}).get(name, name)}{colon}{problem}"
    package = __name__.partition(".")[0]
    level = 2
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level += 1
        frame = frame.f_back
    warnings.warn(printable(text), UserWarning, stacklevel=level)
