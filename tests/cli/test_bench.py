"""`truerank bench`: the kinds of scores that it measures and prints, but not their rates."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import cli_files
from support.cli_files import Run
from truerank import _core
from truerank.cli import bandwidth
from truerank.cli.bandwidth import (
    Bandwidth,
    _free_in_control_group,
    best_seconds,
    free_memory,
    measure,
)

pytestmark = pytest.mark.python_only

run = cli_files.run
KINDS = ["float32", "float32, filtered", "float32, warm file", "float16"]


@pytest.fixture(autouse=True)
def _two_threads_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use two threads on any machine, and as few rounds as possible."""
    monkeypatch.setattr(_core, "default_threads", lambda: 2)
    monkeypatch.setattr(bandwidth, "best_seconds", lambda calls, _: best_seconds(calls, 0.0))


def check(found: Bandwidth, size: int) -> None:
    """Check the rates of each kind of scores, with one thread and with two."""
    assert {(rate.scores, rate.threads) for rate in found.rates} == {
        (kind, threads) for kind in KINDS for threads in (1, 2)
    }
    for rate in found.rates:
        assert rate.read > 0
        assert rate.counted > 0
        assert rate.rounds >= 2
        assert rate.ratio == rate.counted / rate.read
        assert rate.itemsize == (2 if rate.scores == "float16" else 4)
        assert rate.scores_per_second == rate.counted / rate.itemsize
    assert (found.isa, found.threads, found.skipped) == (_core.isa(), 2, ())
    assert size - 4 * bandwidth.COLUMNS < found.nbytes <= size


@pytest.mark.parametrize("size", [10_000, 1_000_000])
def test_all_kinds_of_scores_are_measured(tmp_path: Path, size: int) -> None:
    reports: list[tuple[float, str]] = []
    found = measure(60.0, size, folder=tmp_path, progress=lambda *report: reports.append(report))
    check(found, size)
    assert [text for _, text in reports][:2] == ["float32, 1 thread", "float32, 2 threads"]
    assert len(reports) == 6
    assert all(0 <= fraction <= 1 for fraction, _ in reports)
    assert os.listdir(tmp_path) == []  # the file is gone


def test_both_read_the_same_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted: list[tuple[int, ...]] = []
    read: list[tuple[int, ...]] = []
    rank, read_pass = bandwidth.rank, _core.read_pass

    def counting(scores: Any, *args: Any, **keywords: Any) -> Any:
        file = not isinstance(scores, np.ndarray)
        counted.append((np.load(scores) if file else scores).shape)
        return rank(scores, *args, **keywords)

    def reading(scores: Any, threads: int) -> int:
        read.append(scores.shape)
        words = read_pass(scores, threads)
        whole = scores.reshape(-1).view(np.uint8)
        whole = whole[: len(whole) // 8 * 8].view(np.uint64)
        assert words | int(np.bitwise_or.reduce(whole)) == words
        return words

    monkeypatch.setattr(bandwidth, "rank", counting)
    monkeypatch.setattr(_core, "read_pass", reading)
    monkeypatch.setattr(bandwidth, "MOST_FILE_BYTES", 4 * 4 * bandwidth.COLUMNS)
    measure(30.0, 2_500_000, folder=tmp_path)
    assert set(counted) == set(read) == {(9, 2**16), (4, 2**16), (18, 2**16)}


def test_measurements_without_time_are_reported_as_skipped(tmp_path: Path) -> None:
    found = measure(1e-9, 10_000, folder=tmp_path)
    assert [rate.scores for rate in found.rates] == ["float32", "float32, filtered"] * 2
    assert found.skipped == (
        "float32, warm file: no time was left",
        "float16: no time was left",
    )


def test_no_room_for_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Usage:
        free = 9999

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    found = measure(60.0, 10_000)
    problem = f"expected room for 20,000 bytes in {tmp_path}, got 9,999"
    assert found.skipped == (f"float32, warm file: {problem}",)
    assert {rate.scores for rate in found.rates} == {*KINDS} - {"float32, warm file"}
    with pytest.raises(ValueError, match=r"^folder: expected room for 20,000 bytes"):
        measure(60.0, 10_000, folder=tmp_path)


def test_one_thread_is_measured_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_core, "default_threads", lambda: 1)
    found = measure(60.0, 10_000, folder=tmp_path)
    assert [(rate.scores, rate.threads) for rate in found.rates] == [(kind, 1) for kind in KINDS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "seconds: expected more than 0, got 0"),
        ((float("nan"),), "seconds: expected more than 0, got nan"),
        ((1, 4095), "size: expected at least 4,096 bytes, got 4,095"),
        ((1, 10**18), "size: expected at most the free memory"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        measure(*arguments)


def test_the_default_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "free_memory", lambda: 10**6)
    assert 245_000 < measure(1e-9).nbytes <= 250_000
    monkeypatch.setattr(bandwidth, "MOST_BYTES", 20_000)
    assert measure(1e-9).nbytes == 20_000


def test_it_uses_the_given_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bandwidth, "best_seconds", best_seconds)
    found = measure(0.2, 10_000, folder=tmp_path)
    assert found.seconds >= 0.2
    assert max(rate.rounds for rate in found.rates) > 2


def test_calls_are_timed_in_turn() -> None:
    order: list[str] = []
    best, rounds = best_seconds(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 0.0
    )
    assert (rounds, order) == (2, ["a", "b", "a", "b"])
    assert set(best) == {"a", "b"}


def test_free_memory_is_plausible() -> None:
    free = free_memory()
    assert 2**20 < free < 2**50


def write(folder: Path, **files: object) -> None:
    """Write the files of a control group; "_" stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("_", ".", 1)).write_text(str(content))


@pytest.mark.parametrize(
    ("own", "left"),
    [("0::/a/b\n", 1000 - 300 + 50), ("0::/a\n", 5000 - 300), ("0::/\n", None), ("", None)],
)
def test_the_tightest_limit_counts(tmp_path: Path, own: str, left: int | None) -> None:
    groups = tmp_path / "sys/fs/cgroup"
    write(tmp_path / "proc/self", cgroup=own)
    write(groups / "a", memory_max=5000, memory_current=300, memory_stat="anon 1\ninactive_file 0")
    stat = "anon 1\ninactive_file 50\n"
    write(groups / "a/b", memory_max=1000, memory_current=300, memory_stat=stat)
    assert _free_in_control_group(tmp_path) == left


def test_limits_of_control_groups_version_1(tmp_path: Path) -> None:
    write(tmp_path / "proc/self", cgroup="5:cpu:/x\n4:memory:/y\n0::/\n")
    folder = tmp_path / "sys/fs/cgroup/memory"
    stat = "inactive_file 9\ntotal_inactive_file 10\n"
    for group, limit in (("y", 900), (".", 2**63 - 4096)):
        write(folder / group, memory_stat=stat)
        (folder / group / "memory.limit_in_bytes").write_text(str(limit))
        (folder / group / "memory.usage_in_bytes").write_text("100")
    assert _free_in_control_group(tmp_path) == 810


def test_table(run: Run, tmp_path: Path) -> None:
    code, out, err = run("bench", "--seconds", "60", "--size", "10kB", "--file", tmp_path)
    assert (code, err) == (0, "")
    summary, _, table = out.partition("\n\n")
    assert f", {_core.isa()}, " in summary
    assert "10 kB of random scores" in summary
    assert "2 threads allowed" in summary
    heading, *rows = table.splitlines()
    assert heading.split("  ")[0] == "scores"
    assert [row[:22].rstrip().rstrip("12 ") for row in rows if row.startswith("float16")] == [
        "float16"
    ] * 2
    assert len(rows) == 8


def test_json(run: Run, tmp_path: Path) -> None:
    line = ["bench", "--seconds", "60", "--size", "10kB", "--file", tmp_path, "--format", "json"]
    code, out, err = run(*line)
    assert (code, err) == (0, "")
    stored = json.loads(out)
    assert (stored["isa"], stored["nbytes"], stored["threads"]) == (_core.isa(), 10_000, 2)
    assert {rate["scores"] for rate in stored["rates"]} == {*KINDS}
    rate = stored["rates"][0]
    assert rate["ratio"] == rate["counted"] / rate["read"]
    csv = run(*line[:-1], "csv").out.splitlines()
    assert csv[0] == ",".join(rate)
    assert len(csv) == 9


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--size 5", 2, "'--size': expected at least 4,096 bytes, got 5"),
        ("--size many", 2, "'--size': expected bytes such as 500MB or 2GB, got 'many'"),
        ("--size 1YB", 2, "'--size'"),
        ("--size 1000000TB", 1, "--size: expected at most the free memory"),
        ("--seconds 0", 2, "'--seconds'"),
        ("--file nowhere", 2, "'--file'"),
        ("--format xml", 2, "'--format'"),
    ],
)
def test_wrong_command_lines(run: Run, line: str, code: int, message: str) -> None:
    outcome = run("bench", *line.split())
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
