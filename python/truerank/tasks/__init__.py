"""What protocols share: the Task, its sides, candidates and parts, and how it is evaluated."""

from .side_tasks import SideTasks

__all__ = ["SideTasks"]
