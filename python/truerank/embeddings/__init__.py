"""Embeddings: vectors opened and checked; counts, scores or the top k out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import scoring as scoring
    from . import vectors as vectors
else:  # A type checker that saw `__getattr__` would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(__name__, {".scoring": (), ".vectors": ()})
