"""What users rank with today: a family of contestants in each file.

A peer is a row of a table: the packages it needs, how it is made ready for a problem, and what it
tells. Making ready holds what its users do once; the call that comes of it holds the rest.
What it answers is checked in its own terms.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness import Results

__all__ = ["CHECKS", "Counts", "Peer", "Peers", "Problem", "prepare_peers"]

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # above, tied
CLOSE = 1e-5  # relative; most peers average in float32


class Problem(NamedTuple):
    """What is to be ranked, and with how many threads."""

    scores: NDArray[np.float32]  # of all candidates; of the negatives alone where true is given
    targets: NDArray[np.int64]
    threads: int
    true: NDArray[np.float32] | None = None


class Peer(NamedTuple):
    """One way to rank."""

    needs: tuple[str, ...]  # packages
    make: Callable[[Any], Callable[[], Any]]  # of a Problem, or of what its family takes
    tells: str = "counts"  # a key of CHECKS, or what its family checks


Peers = Mapping[str, Peer]


def prepare_peers(peers: Peers, problem: Any, results: Results) -> dict[str, Callable[[], Any]]:
    """The peers that can run here, made ready; a remark for each of the others."""
    found = {}
    for name, peer in peers.items():
        missing = [package for package in peer.needs if not _load(package, results)]
        if missing:
            results.add_remark(f"{name}: skipped, {' and '.join(missing)} not installed")
        else:
            found[name] = peer.make(problem)
    return found


def _load(package: str, results: Results) -> bool:
    """Import a package, whatever it warns of, and note its version."""
    if find_spec(package) is None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module(package)
    version = getattr(module, "__version__", None) or importlib.metadata.version(package)
    results.facts[package] = str(version)
    return True


def _same_counts(said: Any, above: Any, tied: Any) -> None:
    np.testing.assert_array_equal(said[0], above)
    np.testing.assert_array_equal(said[1], tied)


def _same_realistic(said: Any, above: Any, tied: Any) -> None:
    np.testing.assert_array_equal(said, above + (tied + 1) / 2)


def _within_ties(said: Any, above: Any, tied: Any) -> None:
    assert np.all((above < said) & (said <= above + tied))


def _mrr_within_ties(said: Any, above: Any, tied: Any) -> None:
    least, most = np.mean(1 / (above + tied)), np.mean(1 / (above + 1))
    assert least * (1 - CLOSE) <= said <= most * (1 + CLOSE)


# What a peer tells, and how it is held against the counts of plain numpy.
CHECKS: dict[str, Callable[[Any, Any, Any], None]] = {
    "counts": _same_counts,
    "realistic ranks": _same_realistic,
    "positions": _within_ties,  # a sort puts the truth somewhere in its tie
    "mrr": _mrr_within_ties,
}
