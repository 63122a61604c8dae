"""Counting where the scores are: tensors on a device.

Only what has imported torch already has a tensor, so that torch is looked up in `sys.modules`.
Triton is imported when a device is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import task_counts as task_counts
else:  # A type checker that saw `__getattr__` would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(__name__, {".task_counts": ()})
