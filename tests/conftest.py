"""Fixtures for all tests: shared data, a fresh interpreter; and how hypothesis runs here."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from support.environment import ROOT, SANITIZED, Run
from support.example_ranks import sided_ranks
from support.examples import ONE_OF, USUAL
from truerank import Ranks, Report, report

hypothesis.settings.register_profile(
    "truerank",
    deadline=None,
    max_examples=USUAL,
    derandomize=os.environ.get("CI") == "true",
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("truerank")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most cases of a sweep, unless all are asked for, or some by their names."""
    if ONE_OF == 1 or any("::" in asked for asked in config.args):
        return
    cases: Counter[str] = Counter()
    kept = []
    left_out = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        if item.get_closest_marker("sweep") and cases[name] % ONE_OF:
            left_out.append(item)
        else:
            kept.append(item)
        cases[name] += 1
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Keep what collection made out of the collections of garbage that libraries ask for."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_wait_for_the_disk() -> Iterator[None]:
    """Let nothing wait until a file is on the disk, which no test can see."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data; without it the test is skipped, but fails in CI."""
    default = ROOT.parent / "shared" / "data"
    folder = Path(os.environ.get("TRUERANK_DATA", default))
    if not folder.is_dir():
        reason = f"no data in {folder}; TRUERANK_DATA names another folder"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def sanitized() -> bool:
    """Whether a sanitizer is loaded, which makes measured time and memory meaningless."""
    return SANITIZED


@pytest.fixture
def sided() -> Ranks:
    """Return ranks of two sides and three relations."""
    return sided_ranks()


@pytest.fixture
def grouped(sided: Ranks) -> Report:
    """Return the report of the sided ranks, by relation."""
    return report(sided, by="relation")


@pytest.fixture(scope="module")
def reports_at_once() -> Iterator[None]:
    """Let calls report whenever they look for Ctrl-C, not only ten times a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truerank.embeddings.vectors.SECONDS_BETWEEN_REPORTS", 0.0)
        yield


@pytest.fixture(scope="session")
def run_python() -> Run:
    """Run a script in a fresh interpreter and return its output; it must exit with 0 in time."""

    def run(
        script: str, *arguments: object, timeout: float = 60, env: dict[str, str] | None = None
    ) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout * (10 if SANITIZED else 1),
            env={**os.environ, **(env or {})},
        )
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
