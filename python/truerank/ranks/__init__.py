"""Ranks: the counts of tasks, their labels and protocol, and how they are saved and loaded."""

from .container import Audit, Ranks
from .labels import Labels
from .protocol import Origin, Protocol

__all__ = ["Audit", "Labels", "Origin", "Protocol", "Ranks"]
