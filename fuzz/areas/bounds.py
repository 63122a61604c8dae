"""Certified bounds: counts of ties and near ties, with bounds wherever they hold and without."""

from __future__ import annotations

from fuzz.check import Fault, check
from strategies.near_ties import NearTies, check_grid, check_levels, problems

CORE = True


@check(problems())
def counts(made: NearTies) -> None:
    check_levels(made)


@check(problems())
def both_directions(made: NearTies) -> None:
    check_grid(made)


FAULTS = [
    Fault(
        "half of a residue",
        "cpp/engine/bounded_panels.hpp",
        "return std::sqrt(static_cast<double>(residues.squares)) * kUp +",
        "return std::sqrt(static_cast<double>(residues.squares)) / 2 +",
    ),
    Fault(
        "the residue of a query left out",
        "cpp/engine/bounded_panels.hpp",
        "value_rows_[at].residue = rounded_up(facts.residue);",
        "value_rows_[at].residue = 0;",
    ),
    Fault(
        "the residue of a candidate's distances left out",
        "cpp/engine/bounded_panels.hpp",
        "error = residue + 255 * depth() * step * kFloatError;",
        "error = 255 * depth() * step * kFloatError;",
    ),
    Fault(
        "what an offset may be wrong by left out of thresholds that belong to lanes",
        "cpp/engine/bounded_panels.hpp",
        "double low = query.offset - slack, high = query.offset + slack;",
        "double low = query.offset - 0 * slack, high = query.offset + 0 * slack;",
    ),
    Fault(
        "the rounding of values left out",
        "cpp/engine/bounded_panels.hpp",
        "const double slack = 2 * scale_.gamma() * size +",
        "const double slack = 0 * size +",
    ),
    Fault(
        "the roughness of moduli left out",
        "cpp/engine/bounded_panels.hpp",
        "const double share = 2 * q.form.error + (depth() + 40) * 0x1p-23;",
        "const double share = 0;",
    ),
]
