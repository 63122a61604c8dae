"""Counting where the scores are: tensors on a device, and vectors that are scored there.

Only what has imported torch already has a tensor, so that torch is looked up in `sys.modules`.
Triton is imported when a device is first used that it has kernels for.
"""
