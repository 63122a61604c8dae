"""How public objects show themselves: in a line of bounded length, and as HTML in a notebook."""

from __future__ import annotations

import functools
import html
import reprlib
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

_SHOWN = 8  # entries of a container
_LENGTH = 500  # characters of a field
_WHOLE_LENGTH = 2000  # characters of all fields
_SMALL_ARRAY = 20  # entries of an array that is shown whole


class _ShortRepr(reprlib.Repr):
    """Writes containers by their first entries, and arrays by their dtype and shape."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdict = _SHOWN
        self.maxstring = self.maxother = self.maxlong = _LENGTH

    def repr_ndarray(self, array: Any, level: int) -> str:
        if array.size <= _SMALL_ARRAY:
            return self.repr_instance(array, level)
        return f"array(shape={tuple(array.shape)}, dtype={array.dtype})"

    def repr_Tensor(self, tensor: Any, level: int) -> str:
        if tensor.numel() <= _SMALL_ARRAY:
            return self.repr_instance(tensor, level)
        return f"tensor(shape={tuple(tensor.shape)}, dtype={tensor.dtype}, device={tensor.device})"

    def repr_dict(self, mapping: Any, level: int) -> str:
        """Write the first items, in their own order."""
        if level <= 0:
            return "{...}" if mapping else "{}"
        items = [
            f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
            for key, value in islice(mapping.items(), self.maxdict)
        ]
        return "{" + ", ".join(items + ["..."] * (len(mapping) > len(items))) + "}"

    repr_mappingproxy = repr_dict


_SHORT = _ShortRepr()


def short_repr(value: object, fields: Iterable[str]) -> str:
    """Write an object by the names and values of its fields, in a bounded number of characters.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> short_repr(SimpleNamespace(side="tail", ids=list(range(500_000))), ["side", "ids"])
    "SimpleNamespace(side='tail', ids=[0, 1, 2, 3, 4, 5, 6, 7, ...])"
    """
    texts = {name: _SHORT.repr(getattr(value, name)) for name in fields}
    longest = _LENGTH
    if sum(map(len, texts.values())) > _WHOLE_LENGTH:
        longest = _WHOLE_LENGTH // len(texts)
    shown = (
        f"{name}={text if len(text) <= longest else text[:longest] + '...'}"
        for name, text in texts.items()
    )
    return f"{type(value).__qualname__}({', '.join(shown)})"


def shorten_reprs(shown: type) -> None:
    """Give a class a repr of bounded length: its own, cut, or one in place of a generated one."""
    fields, own = _generated_fields(shown), vars(shown).get("__repr__")
    if fields is not None:
        setattr(shown, "__repr__", lambda self: short_repr(self, fields))  # noqa: B010
    elif own is not None:
        setattr(shown, "__repr__", _cut(own))  # noqa: B010


def _cut(own: Callable[[object], str]) -> Callable[[object], str]:
    @functools.wraps(own)
    def repr_of(self: object) -> str:
        text = own(self)
        return text if len(text) <= _WHOLE_LENGTH else f"{text[:_LENGTH]}..."

    return repr_of


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


def _generated_fields(shown: type) -> tuple[str, ...] | None:
    """The fields that a generated repr writes; None for a class that has its own repr."""
    own: Callable[..., str] | None = vars(shown).get("__repr__")
    if issubclass(shown, tuple):
        generated = own is not None and own.__module__ == "collections"
        return shown._fields if generated else None  # type: ignore[attr-defined]
    fields = getattr(shown, "__dataclass_fields__", None)
    if fields is None or not hasattr(own, "__wrapped__"):
        return None
    return tuple(name for name, field in fields.items() if field.repr)
