"""What is not installed with truerank: libraries that a part of it needs, and how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, user: str, extra: str | None = None) -> Any:
    """Import a library that is an extra of ours, or say in one line how to install it.

    Parameters
    ----------
    module : str
        The module to import, as "matplotlib.figure".
    user : str
        What needs it, as the message calls it: a function, a class, a module.
    extra : str, optional
        The extra that brings it. Default: the name of its package.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If its package is not installed. What is broken within it keeps its own error.

    Examples
    --------
    >>> needed("json", "this example").loads("1")
    1
    >>> needed("no_such_library", "truerank.adapters.imagined", extra="imagined")
    Traceback (most recent call last):
    ImportError: truerank.adapters.imagined needs no_such_library: pip install 'truerank[imagined]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ImportError(
            f"{user} needs {package}: pip install 'truerank[{extra or package}]'"
        ) from error
