"""Tables of results, and the forms in which they are printed and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import forms as forms
    from .as_table import AsTable as AsTable
    from .table import Column as Column
    from .table import Table as Table
else:  # A type checker that saw `__getattr__` would accept any name.
    _NAMES = {".as_table": ("AsTable",), ".table": ("Column", "Table"), ".forms": ()}
    __all__, __getattr__, __dir__ = names_when_used(__name__, _NAMES)
