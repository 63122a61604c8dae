"""Counting where the scores are: tensors on a device.

Only what has imported torch already has a tensor, so that torch is looked up in `sys.modules`.
Triton is imported when a device is first used that it has kernels for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from .task_counts import backends_of_devices as backends_of_devices
    from .task_counts import count_parts as count_parts
    from .task_counts import parts_on_device as parts_on_device
else:  # A type checker that saw `__getattr__` would accept any name.
    _NAMES = {".task_counts": ("backends_of_devices", "count_parts", "parts_on_device")}
    __all__, __getattr__, __dir__ = names_when_used(__name__, _NAMES)
