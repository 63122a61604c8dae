"""Counting where the scores are: tensors on a device, and vectors that are scored there.

Only what has imported torch already has a tensor, so that torch is looked up in `sys.modules`.
Triton is imported when a device is first used that it has kernels for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from .bounded_scores import BoundedScan as BoundedScan
    from .bounded_scores import has_bounds as has_bounds
    from .bounded_scores import products_hold as products_hold
    from .task_counts import DeviceCounts as DeviceCounts
    from .unchecked import KeptLists as KeptLists
    from .unchecked import job_on_device as job_on_device
    from .vector_scores import VectorScores as VectorScores
    from .vector_scores import in_parts as in_parts
    from .vector_scores import scores_right as scores_right
    from .vector_scores import tensor_on as tensor_on
    from .vector_scores import top_scores as top_scores
else:  # A type checker that saw `__getattr__` would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(
        __name__,
        {
            ".bounded_scores": ("BoundedScan", "has_bounds", "products_hold"),
            ".task_counts": ("DeviceCounts",),
            ".unchecked": ("KeptLists", "job_on_device"),
            ".vector_scores": (
                "VectorScores",
                "in_parts",
                "scores_right",
                "tensor_on",
                "top_scores",
            ),
        },
    )
