"""Axes of matplotlib that a notebook shows as a picture; imported once matplotlib is known."""

from __future__ import annotations

import io
from typing import Any

from ..inputs.naming import import_extra

_Base: Any = import_extra("matplotlib.axes", "truerank.plot", "plot").Axes


class ShownAxes(_Base):  # type: ignore[misc]
    """The only axes of a figure of their own, shown where they are the last line of a cell.

    IPython and others show the figures that pyplot keeps, and of any other object what its method
    `_repr_png_` returns. A figure that pyplot does not keep would be shown as text.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> Figure().add_subplot(axes_class=ShownAxes)._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        self.figure.savefig(data, format="png")
        return data.getvalue()
