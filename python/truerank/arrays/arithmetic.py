"""Arithmetic as IEEE 754 has it by default, for what NumPy computes from scores.

Other libraries change a thread's arithmetic for speed: after `torch.set_flush_denormal(True)`
subnormal numbers count as 0. The core sets that aside by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import _core


@contextmanager
def default_arithmetic() -> Iterator[None]:
    """Round to nearest and keep subnormal numbers, in this thread and meanwhile.

    It is a context and a decorator. No generator may yield in it: the caller would compute so, too.

    Examples
    --------
    >>> with default_arithmetic():
    ...     5e-324 > 0
    True
    """
    before = _core.use_default_arithmetic()
    try:
        yield
    finally:
        _core.restore_arithmetic(before)
