"""Stores: score matrices in files, shards and chunks, which are read a tile at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs.naming import lazy_names
from .sources import array_of, host_scores, read_scores, scores_or_store, shape_of, store_of
from .store import FileBlock, Store, Tile

if TYPE_CHECKING:
    from .opening import open_scores

__all__ = [
    "FileBlock",
    "Store",
    "Tile",
    "array_of",
    "host_scores",
    "open_scores",
    "read_scores",
    "scores_or_store",
    "shape_of",
    "store_of",
]

if not TYPE_CHECKING:  # a checker would take any name for one that is there
    __getattr__, __dir__ = lazy_names(__name__, {"open_scores": "opening"}, __all__)
