"""Names that users see: of packages, of libraries that are missing, and of a file's contents.

A public class or function shows the package that users import it from, wherever it is defined, so
that a pickle of today can still be read after its module got another name.
"""

from __future__ import annotations

import functools
import html
import math
import re
import reprlib
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

_SHOWN = 8  # entries of a container
_LENGTH = 500  # characters of a field
_WHOLE_LENGTH = 2000  # characters of all fields
_SMALL_ARRAY = 20  # entries of an array that is shown whole

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
            shorten_repr(target)
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

    def escape(match: re.Match[str]) -> str:
        return match[0] if match[0] in keep else ascii(match[0])[1:-1]

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


# -- how public objects show themselves: a line of bounded length, and HTML in a notebook ----------


class _ShortRepr(reprlib.Repr):
    """Writes containers by their first entries, and arrays by their dtype and shape."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdict = _SHOWN
        self.maxstring = self.maxother = self.maxlong = _LENGTH

    def repr_instance(self, value: Any, level: int) -> str:
        if math.prod(shape := tuple(getattr(value, "shape", ()))) > _SMALL_ARRAY:
            kind = type(value).__name__.lower().replace("ndarray", "array")
            return f"{kind}(shape={shape}, dtype={value.dtype})"
        return super().repr_instance(value, level)


_SHORT = _ShortRepr()


def short_repr(value: object, fields: Iterable[str]) -> str:
    """Write an object by the names and values of its fields, in a bounded number of characters.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> short_repr(SimpleNamespace(side="tail", ids=list(range(500_000))), ["side", "ids"])
    "SimpleNamespace(side='tail', ids=[0, 1, 2, 3, 4, 5, 6, 7, ...])"
    """
    texts = [f"{name}={_cut(_SHORT.repr(getattr(value, name)), _LENGTH)}" for name in fields]
    return f"{type(value).__qualname__}({', '.join(texts)})"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:_LENGTH]}..."


def shorten_repr(shown: type) -> None:
    """Bound the length of a class's repr: its own, or its fields in place of a generated one."""
    own: Callable[..., str] | None = vars(shown).get("__repr__")
    if own is None:
        return
    if issubclass(shown, tuple):
        fields = getattr(shown, "_fields", ()) if own.__module__ == "collections" else ()
    else:
        of_data = getattr(shown, "__dataclass_fields__", {}) if hasattr(own, "__wrapped__") else {}
        fields = tuple(name for name, field in of_data.items() if field.repr)

    def repr_of(self: object) -> str:
        return _cut(short_repr(self, fields) if fields else own(self), _WHOLE_LENGTH)

    setattr(shown, "__repr__", repr_of if fields else functools.wraps(own)(repr_of))  # noqa: B010


def show_in_notebooks(shown: type) -> None:
    """Let a notebook show what `print` shows, for a class with a `__str__` and no HTML of its own.

    Examples
    --------
    >>> class Found:
    ...     def __str__(self) -> str:
    ...         return "mr < 3"
    >>> show_in_notebooks(Found)
    >>> Found()._repr_html_()
    '<p>mr &lt; 3</p>'
    """
    writes_itself = any("__str__" in vars(base) for base in shown.__mro__[:-1])
    if writes_itself and not (issubclass(shown, BaseException) or hasattr(shown, "_repr_html_")):
        setattr(shown, "_repr_html_", _html_of_text)  # noqa: B010


def _html_of_text(self: object) -> str:
    """Return the lines that `print` shows as HTML, for notebooks."""
    return f"<p>{'<br>'.join(html.escape(line) for line in str(self).splitlines())}</p>"
