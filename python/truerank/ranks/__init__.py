"""Ranks: the counts of tasks, their labels and protocol, and how they are saved and loaded."""

from .container import Ranks, concatenate, load
from .counts import Audit
from .labels import Labels
from .protocol import Protocol

__all__ = ["Audit", "Labels", "Protocol", "Ranks", "concatenate", "load"]
