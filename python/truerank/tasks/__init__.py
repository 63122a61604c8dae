"""What protocols share: the Task, its sides, candidates and parts, and how it is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import list_evaluation as list_evaluation
else:  # A type checker that read this would accept any name.
    _, __getattr__, __dir__ = names_when_used(__name__, {".list_evaluation": ()})
