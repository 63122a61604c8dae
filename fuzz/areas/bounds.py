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
    Fault(row[0], f"cpp/engine/{row[1]}.hpp", *row[2:])
    for row in (
        (
            "half of a residue",
            "quantiser",
            "(residues.squares)) * kUp",
            "(residues.squares)) / 2",
        ),
        ("no residue of queries", "bounded_queries", "= q_.rounded_up(facts.residue);", "= 0;"),
        ("no residue of distances", "bounded_panel", "error = residue + 255 *", "error = 255 *"),
        (
            "no error of offsets",
            "bounded_queries",
            "= query.offset - slack,",
            "= query.offset - 0 * slack,",
        ),
        (
            "sums without residues",
            "bounded_panel",
            "max(sum_panel_.residue,",
            "min(sum_panel_.residue,",
        ),
        (
            "sums without those of queries",
            "bounded_queries",
            "row.residue) / scale",
            "row.residue) * 0",
        ),
        (
            "words that overflow",
            "bounded_queries",
            "return largest / (static_cast",
            "return largest / 2 / (static_cast",
            "avx2",
        ),
        (
            "second levels without residues",
            "settling",
            "error = row.norm * lane.residue +",
            "error = 0 * lane.residue +",
        ),
        ("values without roundings", "settling", "= 2 * q_.scale.gamma() * size", "= 0 * size"),
        ("smooth moduli", "bounded_panel", "2 * roughness", "0 * roughness"),
    )
]
