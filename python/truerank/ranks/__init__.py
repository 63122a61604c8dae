"""Ranks: the counts of tasks, their labels and protocol, and how they are saved and loaded."""

from .container import Ranks, load
from .counts import Audit
from .joining import concatenate
from .labels import Labels
from .protocol import Protocol

__all__ = ["Audit", "Labels", "Protocol", "Ranks", "concatenate", "load"]
