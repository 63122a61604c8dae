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
        "cpp/engine/quantisation.hpp",
        "std::sqrt(static_cast<double>(residues.squares)) * kUp +",
        "std::sqrt(static_cast<double>(residues.squares)) / 2 +",
    ),
    Fault(
        "the residue of a query left out",
        "cpp/engine/bounded_queries.hpp",
        "value_row.residue = q_.rounded_up(facts.residue);",
        "value_row.residue = 0;",
    ),
    Fault(
        "the residue of a candidate's distances left out",
        "cpp/engine/bounded_panel.hpp",
        "error = residue + 255 * q_.depth()",
        "error = 255 * q_.depth()",
    ),
    Fault(
        "what an offset may be wrong by left out of thresholds that belong to lanes",
        "cpp/engine/bounded_queries.hpp",
        "double low = query.offset - slack, high = query.offset + slack;",
        "double low = query.offset - 0 * slack, high = query.offset + 0 * slack;",
    ),
    Fault(
        "thresholds of sums by the error of one lane, not of all",
        "cpp/engine/bounded_panel.hpp",
        "std::max(sum_panel_.residue, products ? residues_[j] : high_[j])",
        "(products ? residues_[j] : high_[j])",
    ),
    Fault(
        "thresholds of sums without the residue of a query",
        "cpp/engine/bounded_queries.hpp",
        "sum_residue_[task] = q_.rounded_up(static_cast<double>(value_row.residue) / scale);",
        "sum_residue_[task] = 0;",
    ),
    Fault(
        "levels of queries whose pairs of products words do not hold",
        "cpp/engine/quantisation.hpp",
        "const auto greatest = static_cast<float>(of_query.query_greatest);",
        "const auto greatest = 4 * static_cast<float>(of_query.query_greatest);",
    ),
    Fault(
        "the rounding of values left out",
        "cpp/engine/settling.hpp",
        "const double slack = 2 * q_.scale.gamma() * size +",
        "const double slack = 0 * size +",
    ),
    Fault(
        "the roughness of moduli left out",
        "cpp/engine/bounded_panel.hpp",
        "const double share = 2 * q_.quantisation.form().error + (q_.depth() + 40) * 0x1p-23;",
        "const double share = 0;",
    ),
]
