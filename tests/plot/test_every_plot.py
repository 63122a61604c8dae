"""Every public function that draws shows its picture in a notebook, and takes `ax`."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

import truerank as tr
from truerank import plot

pytestmark = pytest.mark.python_only

matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")

from matplotlib.figure import Figure  # noqa: E402

ADAPTERS = {"truerank.adapters.torchmetrics.TrueRankMetric.plot": "torchmetrics"}


def public_plots() -> Iterator[str]:
    """Functions and methods of public names that are called plot or take `ax`."""
    packages = [m.name for m in pkgutil.walk_packages(tr.__path__, "truerank.") if m.ispkg]
    for name in ["truerank", *packages, "truerank.adapters.torchmetrics"]:
        try:
            module = import_module(name)
        except ImportError:  # an adapter whose library is not installed
            assert name.startswith("truerank.adapters.")
            continue
        for public in getattr(module, "__all__", ()):
            thing = getattr(module, public)
            if inspect.isclass(thing):
                methods = inspect.getmembers(thing, inspect.isfunction)
                yield from (
                    f"{name}.{public}.{m}" for m, f in methods if m[0] != "_" and draws(m, f)
                )
            elif inspect.isfunction(thing) and draws(public, thing):
                yield f"{name}.{public}"


def draws(name: str, function: Callable[..., Any]) -> bool:
    return name.startswith("plot") or "ax" in inspect.signature(function).parameters


REPORT = tr.report(tr.Ranks([0, 3, 1], [1, 2, 1], 10), by=["a", "b", "b"])
DRAW: dict[str, Callable[..., Any]] = {
    **{
        f"truerank.plot.{draw.__name__}": lambda draw=draw, **options: draw(
            *([REPORT] * (1 + (draw is plot.comparison))), **options
        )
        for draw in map(plot.__dict__.get, plot.__all__)
    },
}
EACH = pytest.mark.parametrize("name", DRAW)


def test_all_public_plots_are_tested() -> None:
    installed = {name for name, library in ADAPTERS.items() if find_spec(library)}
    assert set(public_plots()) == DRAW.keys() | installed


@EACH
def test_a_notebook_shows_a_picture(name: str) -> None:
    ax = DRAW[name]()
    picture = ax._repr_png_()
    assert picture.startswith(b"\x89PNG\r\n")
    width, height = ax.figure.get_size_inches() * ax.figure.dpi
    assert int.from_bytes(picture[16:20]) == int(width)
    assert int.from_bytes(picture[20:24]) == int(height)


def wrong_axes() -> dict[str, Any]:
    from matplotlib import pyplot

    figure = Figure()
    return {"module": pyplot, "Figure": figure, "ndarray": figure.subplots(1, 2), "str": "left"}


@EACH
def test_what_is_no_axes_is_refused(name: str) -> None:
    for kind, wrong in wrong_axes().items():
        with pytest.raises(TypeError, match=rf"^ax: expected matplotlib's Axes, got {kind}$"):
            DRAW[name](ax=wrong)


def test_a_metric_of_torchmetrics_refuses_them_too() -> None:
    pytest.importorskip("torchmetrics", reason="its metrics are drawn")
    metric = import_module("truerank.adapters.torchmetrics").TrueRankMetric("mrr")
    with pytest.raises(TypeError, match=r"^ax: expected matplotlib's Axes, got str$"):
        metric.plot(0.5, ax="left")
