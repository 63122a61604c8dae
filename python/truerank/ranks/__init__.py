"""Ranks: the counts of tasks, their labels and protocol, and how they are saved and loaded."""

import sys

from . import counts, labels, protocol
from .container import Ranks, load
from .counts import Audit
from .joining import concatenate
from .labels import Labels
from .protocol import Protocol

__all__ = ["Audit", "Labels", "Protocol", "Ranks", "concatenate", "load"]

# Ranks that version 0.1.0 pickled refer to the modules that defined their parts then.
for _module in (counts, labels, protocol):
    sys.modules.setdefault(f"truerank.{_module.__name__.rpartition('.')[2]}", _module)
