"""What users rank with today: a family of contestants in each file.

A peer is a row of a table: the packages it needs, a function that prepares it for a problem, and
what it returns. What its users do once is prepared; the call that is timed does the rest. Each
result is checked for what it is: counts, ranks or metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fair_clock import describe, load
from harness import Results

__all__ = ["CHECKS", "Counts", "Peer", "Peers", "Problem", "prepare_peers"]

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # above, tied


class Problem(NamedTuple):
    """What is to be ranked, and with how many threads."""

    scores: NDArray[np.float32]  # of all candidates, or of negatives beside true scores
    targets: NDArray[np.int64]
    threads: int
    true_scores: NDArray[np.float32] | None = None


class Peer(NamedTuple):
    """One way to rank."""

    packages: tuple[str, ...]
    prepare: Callable[[Any], Callable[[], Any]]  # takes a Problem, or what its family takes
    returns: str = "counts"  # a key of CHECKS, or a word that its family checks


Peers = Mapping[str, Peer]


def prepare_peers(peers: Peers, problem: Any, results: Results) -> dict[str, Callable[[], Any]]:
    """Prepare the peers that can run here; add a remark for each of the others."""
    calls = {}
    for name, peer in peers.items():
        missing = [package for package in peer.packages if not _import(package, results)]
        if missing:
            results.add_remark(f"{name}: skipped, {' and '.join(missing)} not installed")
        else:
            calls[name] = peer.prepare(problem)
    return calls


def _import(package: str, results: Results) -> bool:
    """Import a package, and record its version and its kernels."""
    if find_spec(package) is None:
        return False
    load(package)
    results.facts[package] = describe(package)
    return True


def _check_counts(result: Any, above: Any, tied: Any) -> None:
    np.testing.assert_array_equal(result[0], above)
    np.testing.assert_array_equal(result[1], tied)


def _check_realistic(result: Any, above: Any, tied: Any) -> None:
    np.testing.assert_array_equal(result, above + (tied + 1) / 2)


def _check_positions(result: Any, above: Any, tied: Any) -> None:
    """A sort puts the target at some position of its tie."""
    assert np.all((above < result) & (result <= above + tied))


# What a peer returns, and how that is compared with the counts of plain numpy.
CHECKS: dict[str, Callable[[Any, Any, Any], None]] = {
    "counts": _check_counts,
    "realistic ranks": _check_realistic,
    "positions": _check_positions,
}
