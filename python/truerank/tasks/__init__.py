"""What protocols share: the shape of a task, ids of entities and relations, audits of splits."""

from .side_tasks import SideTasks

__all__ = ["SideTasks"]
