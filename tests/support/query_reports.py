"""Reports of queries with several right answers from any ranks, whose rules are arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

import truerank as tr


def query_report(ranks: tr.Ranks, gains: Any = None, *, by: Any = None, **rules: Any) -> tr.Report:
    """Report queries; rules are the fields of a protocol that say how answers count."""
    if gains is not None:
        ranks = ranks._with({"gains": np.array(gains, np.float64)})
    return tr.report(ranks.with_protocol(**rules), by=by, unit="query")
