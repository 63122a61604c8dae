"""`metrics`: values, keys, moments under chance and p-values by definition."""

from __future__ import annotations

from fuzz.check import Fault

TESTS = (
    "metrics",
    "inference/test_significance.py",
)

FAULTS = [
    Fault(
        "a wrong weight",
        "python/truerank/metrics/chance_model/moments.py",
        "float((shares * (tasks.weights * variance)).sum())",
        "float((shares * variance).sum())",
    ),
    Fault(
        "a wrong rule for ties",
        "python/truerank/metrics/chance_model/tails.py",
        "self._sign = -1.0 if rising != worse else 1.0",
        "self._sign = -1.0 if rising == worse else 1.0",
    ),
    Fault(
        "a check left out",
        "python/truerank/metrics/keys.py",
        'if parsed.macro and parsed.adjustment == "z":',
        'if parsed.macro and parsed.adjustment == "z" and parsed.side == ALL_SIDES:',
    ),
    Fault(
        "an off-by-one in a cutoff",
        "python/truerank/metrics/keys.py",
        r"(?!.{1000})0*[1-9]",
        r"(?!.{999})0*[1-9]",
    ),
]
