"""Names that users see: of packages, of libraries that are missing, and of a file's contents.

A public class or function shows the package that users import it from, wherever it is defined, so
that a pickle of today can still be read after its module got another name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from .short_forms import shorten_reprs, show_in_notebooks

T = TypeVar("T", bound=Callable[..., Any])

# Characters that a terminal obeys rather than shows, line separators, overrides of the direction of
# text, and halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# Arrows and the dagger, for standard outputs whose encoding lacks them, as on Windows into a file.
_PLAIN = str.maketrans({"\u2191": "^", "\u2193": "v", "\u2020": "+"})


def public(package: str) -> Callable[[T], T]:
    """Make a decorator that lets a class or function show the package that users import it from.

    A NamedTuple or dataclass gets a short repr, whatever its size, and what `print` shows is shown
    in notebooks, too.

    Parameters
    ----------
    package : str
        The package, as "truerank" or "truerank.alignment".

    Examples
    --------
    >>> @public("truerank")
    ... def rank_all() -> None: ...
    >>> rank_all.__module__
    'truerank'
    """

    def show(target: T) -> T:
        target.__module__ = package
        if isinstance(target, type):
            shorten_reprs(target)
            show_in_notebooks(target)
        return target

    return show


def printable(text: str, keep: str = "") -> str:
    """Write the control characters of a text as Python writes them in a str, as ``\\x1b``.

    A name that comes from somebody's file goes through this function before it reaches a terminal,
    a rendered table or the text of an error. What is written for programs keeps the true name.

    Parameters
    ----------
    text : str
    keep : str
        Control characters that stay, such as the line breaks of a text of several lines.

    Returns
    -------
    str
        The text with an escape in place of each control character (C0 and C1), line separator,
        override of the direction of text, and lone surrogate.

    Examples
    --------
    >>> print(printable("red \\x1b[31m"), printable("two\\nlines"))
    red \\x1b[31m two\\nlines
    """

    def escape(found: re.Match[str]) -> str:
        return found[0] if found[0] in keep else ascii(found[0])[1:-1]

    return _UNPRINTABLE.sub(escape, text)


def terminal_text(text: str) -> str:
    """Return a text for `print`: where standard output has no arrows, ^ and v stand for them."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "".join(map(chr, _PLAIN)).encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN)
    return text


def lazy_names(
    package: str, modules: dict[str, str], names: list[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the functions that import the public names of a package when they are first used.

    Parameters
    ----------
    package : str
        Its name.
    modules : dict of str to str
        The module that defines each name, within the package.
    names : list of str
        All public names. Those that are missing in `modules` are modules themselves.

    Returns
    -------
    `__getattr__` and `__dir__` of the package.
    """

    def load_name(name: str) -> Any:
        if name in modules:
            value = getattr(import_module(f"{package}.{modules[name]}"), name)
        elif name in names:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(import_module(package), name, value)
        return value

    return load_name, lambda: sorted(names)


def import_extra(module: str, user: str, extra: str | None = None) -> Any:
    """Import a library that an extra installs, or raise an error that says how to install it.

    Parameters
    ----------
    module : str
        The module to import, as "matplotlib.figure".
    user : str
        What needs it, as the message calls it: a function, a class, a module.
    extra : str, optional
        The extra that installs it. Default: the name of its package.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If its package is not installed. An error within an installed package is raised as it is.

    Examples
    --------
    >>> import_extra("json", "this example").loads("1")
    1
    >>> import_extra("no_such_library", "truerank.adapters.imagined", extra="imagined")
    Traceback (most recent call last):
    ImportError: truerank.adapters.imagined needs no_such_library: pip install 'truerank[imagined]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        needs = f"{printable(user)} needs {package}"  # the user may be a file
        raise ImportError(f"{needs}: pip install 'truerank[{extra or package}]'") from error
