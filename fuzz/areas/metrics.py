"""`metrics`: values, keys and moments under chance by definition."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzz.check import Fault, check
from truerank.metrics import METRICS, UnknownKeyError
from truerank.metrics.keys import parse

TESTS = ("metrics",)

NAMES = {"hits": "hits@", "ndcg": "ndcg@", "sampled_hits": "sampled_hits@5:"}
NAMES["power_mean"] = "power_mean:2"
CUTOFFS = st.sampled_from(["1", "10", "010", "9" * 40, "1" * 999])


@check(
    st.sampled_from(["", "macro."]),
    st.sampled_from(["", "both.", "tail.", "x."]),
    st.sampled_from(["", "optimistic.", "expected."]),
    st.sampled_from(["", "none.", "ratio.", "index.", "z."]),
    st.sampled_from(sorted(METRICS)),
    CUTOFFS,
)
def keys(macro: str, side: str, kind: str, adjustment: str, name: str, cutoff: str) -> None:
    """A key is read, unless its metric has no chance, or it asks for z of a macro average."""
    metric = NAMES.get(name, name)
    if metric.endswith("@"):
        metric += cutoff
    elif name == "sampled_hits":
        metric += cutoff[:900]  # with the 5 before, no more digits than are read
    has_adjustment = adjustment not in ("", "none.")
    right = not ((has_adjustment and not METRICS[name].chance) or (macro and adjustment == "z."))
    try:
        found = parse(macro + side + kind + adjustment + metric)
    except UnknownKeyError:
        assert not right
        return
    assert right
    assert (found.metric, found.macro) == (name, bool(macro))
    assert parse(str(found)) == found


FAULTS = [
    Fault(
        "a wrong weight",
        "python/truerank/metrics/chance_model.py",
        "float((shares * (tasks.weights * variance)).sum())",
        "float((shares * variance).sum())",
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
        r'_WHOLE = re.compile(r"(?!.{1000})0*[1-9][0-9]*")',
        r'_WHOLE = re.compile(r"(?!.{999})0*[1-9][0-9]*")',
    ),
]
