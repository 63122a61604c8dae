"""What users read: names of packages, libraries and files, and numbers within sentences.

A public function shows the package that users import it from, wherever it is defined. A public
class shows the module that defines it, as classes of scipy and scikit-learn do: Python looks for
the source of a class in the file of its ``__module__`` alone, whereas a function's code knows its
file. Classes of numpy and pandas name their package, and `inspect.getsource` fails for them.
"""

from __future__ import annotations

import html
import math
import re
import reprlib
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

_EXPONENT_FROM = 1e15  # From here on a number is written with an exponent.

# A terminal obeys these characters rather than shows them, or they are line separators, overrides
# of the direction of text, and halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# Arrows and the dagger are missing in some encodings of standard output, as on Windows into a file.
_PLAIN = str.maketrans({"\u2191": "^", "\u2193": "v", "\u2020": "+"})


def public(package: str) -> Callable[[T], T]:
    """Make a decorator for what users import from a package, as "truerank" or "truerank.alignment".

    A function shows this package as its module. A class keeps its own, since Python looks for its
    source there, and gets a short repr in place of the one that Python writes for a NamedTuple or a
    dataclass, whatever the size of its fields. A notebook shows the text of a class that has one
    and no table.
    """

    def make_public(target: T) -> T:
        if not isinstance(target, type):
            target.__module__ = package
            return target
        its_repr = vars(target).get("__repr__")
        is_by_dataclass = hasattr(its_repr, "__wrapped__")
        is_by_namedtuple = getattr(its_repr, "__module__", "") == "collections"
        if is_by_dataclass or is_by_namedtuple:
            setattr(target, "__repr__", _short_repr)  # noqa: B010
        if "__str__" in vars(target) and not hasattr(target, "_repr_html_"):
            setattr(target, "_repr_html_", _text_as_html)  # noqa: B010
        return target

    return make_public


def names_when_used(
    package: str, names: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__all__`, `__getattr__` and `__dir__` of a package that loads its modules when used.

    A module that needs such a package only at times imports it, and writes
    `inference.interval(...)`: only then the package's own module is loaded.

    `names` has the public names of each module, which is written as in imports (".intervals",
    "..errors"). `modules` are public themselves; the modules of `names` are found, but not public.

    >>> names_when_used("json", {".decoder": ["JSONDecoder"]})[0]
    ['JSONDecoder']
    """
    module_of = {name: module for module, offered in names.items() for name in offered}
    public_names = sorted([*module_of, *modules])

    def find(name: str) -> Any:
        """Return the value of a name or a module of the package, which keeps it."""
        if name in module_of:
            value = getattr(import_module(module_of[name], package), name)
        elif name in modules or f".{name}" in names:
            value = import_module(f".{name}", package)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    return public_names, find, lambda: public_names


def printable(text: str, keep: str = "") -> str:
    """Write the control characters of a text as Python writes them in a str, as ``\\x1b``.

    So are line separators, overrides of the direction of text and lone surrogates; those to `keep`
    stay, such as the line breaks of a text of several lines. A name that comes from somebody's file
    goes through this function before it reaches a terminal, a rendered table or the text of an
    error. What is written for programs keeps the true name.
    """

    def escape(match: re.Match[str]) -> str:
        if match[0] in keep:
            return match[0]
        quoted = ascii(match[0])
        return quoted[1:-1]

    return _UNPRINTABLE.sub(escape, text)


def show_unicode_form(text: str) -> str:
    """Escape what Unicode's form NFC writes otherwise: names that look alike then differ.

    >>> print(show_unicode_form("Z\\u00fcrich, not Zu\\u0308rich"))
    Zürich, not Zu\\u0308rich
    """
    if unicodedata.is_normalized("NFC", text):
        return text
    characters = []
    for before, character in pairwise(f" {text}"):
        is_kept = unicodedata.is_normalized("NFC", before + character)
        characters.append(character if is_kept else ascii(character)[1:-1])
    return "".join(characters)


def terminal_text(text: str) -> str:
    """Return a text for `print`: where standard output has no arrows, ^ and v stand for them."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "".join(map(chr, _PLAIN)).encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN)
    return text


def number(value: float, digits: int) -> str:
    """Write a number with so many significant digits; a larger one with all before the point.

    >>> number(0.43847712, 4), number(12345.6, 4), number(float("nan"), 4)
    ('0.4385', '12346', 'nan')
    """
    if math.isfinite(value) and 10**digits <= abs(value) < _EXPONENT_FROM:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def percent(share: float) -> str:
    """Write a share as a percentage.

    >>> percent(1.0), percent(0.0125), percent(12.5)
    ('100 %', '1.25 %', '1250 %')
    """
    return f"{number(100 * share, 3)} %"


def format_count(n: int, thing: str, things: str = "") -> str:
    """Write a number of things, with the plural that their spelling asks for, or a given one.

    >>> format_count(1, "task"), format_count(2000, "query"), format_count(4, "loss")
    ('1 task', '2,000 queries', '4 losses')
    """
    if n == 1:
        return f"1 {thing}"
    if things:
        return f"{n:,} {things}"
    if thing.endswith("y") and thing[-2:-1] not in tuple("aeiou"):
        return f"{n:,} {thing[:-1]}ies"
    if thing.endswith(("s", "x", "ch", "sh")):
        return f"{n:,} {thing}es"
    return f"{n:,} {thing}s"


def import_extra(module: str, user: str, extra: str | None = None) -> Any:
    """Import a library that an extra installs, or raise an error that says how to install it.

    The user is what needs it, as the message calls it; the extra has the name of the library's
    package, unless another is given. An error within an installed package is raised as it is.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        # The user may be a file, whose name can have any characters.
        needs = f"{printable(user)} needs {package}"
        way = f"pip install '.[{extra or package}]' in the checkout"
        raise ImportError(f"{needs}: {way}") from error


_SHORT = reprlib.Repr()
_SHORT.maxtuple = 8
_SHORT.maxlist = 8
_SHORT.maxstring = 300
_SHORT.maxother = 300


def _text_as_html(self: Any) -> str:
    """Write the text of an object for a notebook."""
    text = printable(str(self), keep="\n")
    return f"<pre>{html.escape(text)}</pre>"


def _short_repr(self: Any) -> str:
    """Write the fields of a NamedTuple or dataclass in one line of a bounded length."""
    fields = getattr(self, "__dataclass_fields__", {}).values()
    names = getattr(self, "_fields", None) or [field.name for field in fields if field.repr]
    texts = (f"{name}={_SHORT.repr(getattr(self, name))}" for name in names)
    return f"{type(self).__qualname__}({textwrap.shorten(', '.join(texts), 2000)})"
