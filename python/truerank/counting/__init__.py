"""Counting: scores and targets in, Ranks out; in memory, tile by tile, or block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import lists as lists
    from . import row_blocks as row_blocks
else:  # A type checker that read this would accept any name.
    _, __getattr__, __dir__ = names_when_used(__name__, {".lists": (), ".row_blocks": ()})
