"""What protocols share: the shape of a task, ids of entities and relations, audits of splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs.naming import lazy_names

if TYPE_CHECKING:
    from .side_tasks import SideTasks

__all__ = ["SideTasks"]

__getattr__, __dir__ = lazy_names(__name__, {"SideTasks": "side_tasks"}, __all__)
