"""Keys of scores: integers in the order of the scores, by torch operations.

Integers are compared, and not floats, because some devices take subnormal floats for 0.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .source import Tensor

_UNSIGNED = ("uint16", "uint32", "uint64")


class Keys(NamedTuple):
    """Keys of scores, and which of the scores are NaN; None where the dtype has no NaN.

    The key of a NaN is below all others; 0.0 and -0.0 have one key.
    """

    values: Tensor
    nan: Tensor | None


def keys_of(scores: Tensor) -> Keys:
    """Return the keys of scores as a new tensor of integers, or the scores if they are its keys."""
    name = str(scores.dtype).removeprefix("torch.")
    if name == "uint8":
        return Keys(scores.to(sys.modules["torch"].int16), None)
    if name in _UNSIGNED:
        bits = _signed(scores)
        return Keys(bits ^ _least(bits), None)
    if not scores.dtype.is_floating_point:
        return Keys(scores, None)
    bits = _signed(scores)
    keys = (_least(bits) - bits).where(bits < 0, bits)  # the sign bit alone, of -0.0, becomes 0
    top = infinity(scores.dtype)
    nan = (keys > top) | (keys < -top)
    return Keys(keys.masked_fill_(nan, _least(bits)), nan)


def true_keys_of(true_scores: Tensor) -> Keys:
    """Return the keys of true scores; that of a NaN is above all, so that no score is equal."""
    keys, nan = keys_of(true_scores)
    if nan is not None:
        keys = keys.masked_fill_(nan, _most(keys))
    return Keys(keys, nan)


def infinity(dtype: Any) -> int:
    """Return the key of infinity in a dtype of floats; its negative is the key of -infinity."""
    torch = sys.modules["torch"]
    bits = torch.tensor(float("inf"), dtype=dtype, device="cpu")
    return int(_signed(bits).item())


def core_key_offset(dtype: Any) -> int:
    """Return what the core's keys have more than these."""
    name = str(dtype).removeprefix("torch.")
    if name == "uint8":
        return -(1 << 7)
    if not dtype.is_floating_point:
        return 0
    return int((1 << (8 * dtype.itemsize - 1)) - 1 - infinity(dtype))


def _signed(scores: Tensor) -> Tensor:
    torch = sys.modules["torch"]
    return scores.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[scores.element_size()])


def _least(integers: Tensor) -> int:
    return int(sys.modules["torch"].iinfo(integers.dtype).min)


def _most(integers: Tensor) -> int:
    return int(sys.modules["torch"].iinfo(integers.dtype).max)
