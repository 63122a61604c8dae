"""The command line: what it prints, where, and how it ends."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse

import truerank as tr
from truerank import _core

pytest.importorskip("click")
pytest.importorskip("rich")

from truerank import cli

SCORES = np.array(
    [
        [0.9, 0.1, 0.5, 0.5, 0.2],
        [0.3, 0.3, 0.3, 0.1, 0.8],
        [0.7, 0.6, 0.5, 0.4, 0.3],
        [0.0, 0.1, 0.2, 0.3, 0.4],
    ],
    dtype=np.float32,
)
TARGETS = np.array([2, 0, 4, 4])
INDPTR, INDICES = np.array([0, 1, 1, 4, 4]), np.array([0, 0, 1, 2])


class Outcome(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):  # with which rich takes anything for a terminal
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            cli.commands([str(argument) for argument in arguments], prog_name="truerank")
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, *capsys.readouterr())

    return run


def start(*arguments: object, **environment: str) -> Outcome:
    """Run the command line in a process of its own."""
    plain = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    done = subprocess.run(
        [sys.executable, "-m", "truerank", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**plain, **environment},
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Good and bad files."""
    arrays: dict[str, Any] = {
        "scores": SCORES,
        "targets": TARGETS,
        "few": TARGETS[:2],
        "far": np.array([0, 0, 0, 5]),
        "words": np.array(["a", "b", "c", "d"]),
        "rows": np.array([3, 0]),
        "chosen": np.array([0, 2, 4]),
        "bfloat16": SCORES.astype(ml_dtypes.bfloat16).view("V2"),
        "nan": SCORES.copy(),
    }
    arrays["nan"][1, 4] = np.nan
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.savez(tmp_path / "pair.npz", indptr=INDPTR, indices=INDICES)
    np.savez(
        tmp_path / "lists.npz", indptr=[0, 1, 4], indices=[0, 0, 1, 2], lists=np.array([0, 0, 1, 1])
    )
    np.savez(tmp_path / "all.npz", indptr=np.arange(0, 25, 5)[:5], indices=np.tile(np.arange(5), 4))
    np.savez(tmp_path / "foreign.npz", numbers=INDPTR)
    csr = scipy.sparse.csr_matrix((np.zeros(len(INDICES)), INDICES, INDPTR), shape=SCORES.shape)
    scipy.sparse.save_npz(tmp_path / "csr.npz", csr)
    scipy.sparse.save_npz(tmp_path / "csc.npz", csr.tocsc())
    scipy.sparse.save_npz(tmp_path / "wide.npz", scipy.sparse.csr_matrix((4, 6)))
    np.save(tmp_path / "pickle.npy", np.array([{}, None]), allow_pickle=True)
    whole = (tmp_path / "scores.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(whole[:-8])
    (tmp_path / "text.npy").write_text("0.1 0.2\n")
    (tmp_path / "empty.npy").touch()
    damaged = (tmp_path / "pair.npz").read_bytes()
    (tmp_path / "damaged.npz").write_bytes(damaged[: len(damaged) // 2])
    return tmp_path


@pytest.fixture
def files(folder: Path) -> Callable[[str], list[str]]:
    """Split a command line, with the folder put before each file name."""

    def files(line: str) -> list[str]:
        return [
            str(folder / word) if word.endswith((".npy", ".npz")) else word for word in line.split()
        ]

    return files


Files = Callable[[str], list[str]]


def test_formats_are_those_of_the_report(run: Run, files: Files) -> None:
    line = files("scores.npy targets.npy")
    report = tr.report(tr.rank(SCORES, TARGETS).with_protocol(files=line))
    for style, text in {
        "json": report.to_json(),
        "markdown": report.to_markdown(),
        "csv": report.to_csv(),
    }.items():
        outcome = run("evaluate", *line, "--format", style)
        assert outcome == (0, text.rstrip("\n") + "\n", ""), style


def test_table_has_each_kind(run: Run, files: Files) -> None:
    code, out, err = run("evaluate", *files("scores.npy targets.npy"))
    assert (code, err) == (0, "")
    report = tr.evaluate(SCORES, TARGETS)
    assert out.startswith("4 tasks, 5 candidates; unfiltered, all candidates, nan raise")
    assert "2 of 4 tasks tie (50 %)" in out
    table = [line.split() for line in out.partition("\n\n")[2].splitlines()]
    assert table[0] == ["both", "optimistic", "realistic", "pessimistic"]
    values = {row[0]: [float(cell) for cell in row[1:]] for row in table[1:] if len(row) == 4}
    for metric in ("mr", "mrr", "hits@1", "hits@10", "hmr", "median", "amri"):
        for kind, value in zip(table[0][1:], values[metric], strict=True):
            assert value == pytest.approx(report[f"{kind}.{metric}"], abs=1e-6)


def test_table_of_each_side(run: Run, tmp_path: Path) -> None:
    ranks = tr.rank(SCORES, TARGETS).with_labels(side=["head", "tail", "head", "tail"])
    ranks.save(tmp_path / "ranks.npz")
    code, out, _ = run("evaluate", tmp_path / "ranks.npz")
    assert code == 0
    headings = [line.split()[0] for line in out.splitlines() if line.endswith("pessimistic")]
    assert headings == ["both", "head", "tail"]
    code, out, _ = run("evaluate", tmp_path / "ranks.npz", "--metrics", "tail.mr,head.mr")
    report = tr.report(ranks)
    assert [line.split() for line in out.splitlines()] == [
        ["key", "value"],
        ["tail.mr", f"{report['tail.mr']:.6f}"],
        ["head.mr", f"{report['head.mr']:.6f}"],
    ]


@pytest.mark.parametrize(
    ("line", "scores", "keywords"),
    [
        ("", SCORES, {}),
        ("--filter pair.npz", SCORES, {"filter": (INDPTR, INDICES)}),
        ("--filter csr.npz", SCORES, {"filter": (INDPTR, INDICES)}),
        ("--filter lists.npz", SCORES, {"filter": ([0, 1, 4], [0, 0, 1, 2], [0, 0, 1, 1])}),
        ("--filter all.npz", SCORES, {"filter": [list(range(5))] * 4}),
        ("--candidates all.npz", SCORES, {"candidates": [list(range(5))] * 4}),
        ("--candidates chosen.npy", SCORES, {"candidates": [0, 2, 4]}),
        ("--order ascending", SCORES, {"order": "ascending"}),
        ("--threads 1", SCORES, {}),
        ("--threads 2 --filter pair.npz", SCORES, {"filter": (INDPTR, INDICES)}),
    ],
)
def test_options_are_keywords_of_rank(
    run: Run, files: Files, folder: Path, line: str, scores: Any, keywords: dict[str, Any]
) -> None:
    keywords = {
        name: np.array(value) if name == "candidates" and isinstance(value[0], int) else value
        for name, value in keywords.items()
    }
    saved = folder / "ranks.npz"
    outcome = run("evaluate", *files(f"scores.npy targets.npy {line} --save ranks.npz"))
    assert (outcome.code, outcome.err) == (0, "")
    ranks, expected = tr.load(saved), tr.rank(scores, TARGETS, **keywords)
    assert ranks.protocol.files[:2] == (str(folder / "scores.npy"), str(folder / "targets.npy"))
    assert ranks.with_protocol(files=()) == expected


@pytest.mark.parametrize(
    ("line", "scores", "targets", "keywords"),
    [
        ("scores.npy 3", SCORES, 3, {}),
        ("scores.npy few.npy --rows rows.npy", SCORES, TARGETS[:2], {"rows": np.array([3, 0])}),
        ("scores.npy 1 --rows rows.npy", SCORES, 1, {"rows": np.array([3, 0])}),
        ("nan.npy 0 --nan worst", "nan", 0, {"nan": "worst"}),
        ("nan.npy 0 --nan omit", "nan", 0, {"nan": "omit"}),
        ("bfloat16.npy 2 --dtype bfloat16", SCORES.astype(ml_dtypes.bfloat16), 2, {}),
    ],
)
def test_arguments_are_those_of_rank(
    run: Run, files: Files, folder: Path, line: str, scores: Any, targets: Any, keywords: Any
) -> None:
    if isinstance(scores, str):
        scores = np.load(folder / f"{scores}.npy")
    outcome = run("evaluate", *files(f"{line} --save ranks.npz"))
    assert (outcome.code, outcome.err) == (0, "")
    ranks, expected = tr.load(folder / "ranks.npz"), tr.rank(scores, targets, **keywords)
    for name in ("above", "tied", "candidates"):
        assert np.array_equal(getattr(ranks, name), getattr(expected, name))


def test_saved_ranks_give_the_same_table(run: Run, files: Files) -> None:
    first = run("evaluate", *files("scores.npy targets.npy --filter pair.npz --save ranks.npz"))
    assert first.code == 0
    assert run("evaluate", *files("ranks.npz")) == first
    keys = ("--metrics", "mr, optimistic.hits@2")
    chosen = run("evaluate", *files("scores.npy targets.npy --filter pair.npz"), *keys)
    assert run("evaluate", *files("ranks.npz"), *keys) == chosen


def test_chosen_metrics_in_each_format(run: Run, files: Files) -> None:
    report = tr.evaluate(SCORES, TARGETS)
    keys = ["mrr", "pessimistic.hits@2"]
    line = [*files("scores.npy targets.npy"), "--metrics", ",".join(keys), "--format"]
    values = {key: report[key] for key in keys}
    assert json.loads(run("evaluate", *line, "json").out)["metrics"] == values
    csv = run("evaluate", *line, "csv").out.splitlines()
    assert csv == ["key,value", *(f"{key},{value!r}" for key, value in values.items())]
    markdown = run("evaluate", *line, "markdown").out.splitlines()
    assert markdown[2:] == [f"| {key} | {value!r} |" for key, value in values.items()]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("absent.npy 0", "absent.npy: No such file or directory"),
        ("scores.npy absent.npy", "absent.npy: No such file or directory"),
        ("scores.npy few.npy", "targets: "),
        ("scores.npy far.npy", "targets: "),
        ("scores.npy words.npy", "targets: "),
        ("scores.npy 5", "targets: "),
        ("scores.npy csr.npz", "TARGETS: expected a .npy file, got "),
        ("words.npy 0", "scores: "),
        ("bfloat16.npy 0", "bfloat16"),
        ("nan.npy 0", "scores: "),
        ("pickle.npy 0", "SCORES: cannot read "),
        ("short.npy 0", "SCORES: cannot read "),
        ("text.npy 0", "SCORES: expected a .npy file, got "),
        ("empty.npy 0", "SCORES: expected a .npy file, got "),
        ("scores.npy 0 --rows pickle.npy", "--rows: cannot read "),
        ("scores.npy 0 --rows far.npy", "rows: "),
        ("scores.npy 0 --filter few.npy", "--filter: expected an .npz with indptr and indices"),
        ("scores.npy 0 --filter absent.npz", "absent.npz: No such file or directory"),
        ("scores.npy 0 --filter foreign.npz", "--filter: expected members indptr and indices, got"),
        ("scores.npy 0 --filter csc.npz", "--filter: expected a scipy.sparse matrix in csr format"),
        ("scores.npy 0 --filter wide.npz", "filter: expected a sparse matrix of shape (4, 5)"),
        ("scores.npy 0 --filter damaged.npz", "--filter: "),
        ("scores.npy 0 --candidates text.npy", "--candidates: expected a .npy file, got "),
        ("scores.npy 1 --candidates chosen.npy", "candidates: "),
        ("scores.npy 0 --save nowhere/ranks.npz", "--save: no folder "),
        ("scores.npy 0 --save scores.npy", "--save: "),
        ("scores.npy targets.npy --save targets.npy", "--save: "),
        ("scores.npy 0 --filter pair.npz --save pair.npz", "--save: "),
        ("foreign.npz", "foreign.npz"),
        ("damaged.npz", "damaged.npz"),
    ],
)
def test_bad_data_ends_with_one(run: Run, files: Files, line: str, message: str) -> None:
    code, out, err = run("evaluate", *files(line))
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("evaluate", "Missing argument 'SCORES'"),
        ("evaluate scores.npy", "Missing argument 'TARGETS'"),
        ("evaluate scores.npy 0 1", "unexpected extra argument"),
        ("evaluate scores.npy 0 --colour red", "No such option"),
        ("evaluate scores.npy 0 --order sideways", "'--order'"),
        ("evaluate scores.npy 0 --nan zero", "'--nan'"),
        ("evaluate scores.npy 0 --dtype float8", "'--dtype'"),
        ("evaluate scores.npy 0 --threads 0", "'--threads'"),
        ("evaluate scores.npy 0 --threads many", "'--threads'"),
        ("evaluate scores.npy 0 --format latex", "'--format'"),
        ("evaluate scores.npy 0 --metrics mrr,mmr", "'--metrics'"),
        ("evaluate scores.npy 0 --metrics hits@x", "'--metrics'"),
        ("evaluate scores.npy 0 --metrics head.mr", "'--metrics'"),
        ("evaluate ranks.npz targets.npy", "TARGETS cannot apply"),
        ("evaluate ranks.npz --filter pair.npz --nan omit", "--filter, --nan cannot apply"),
        ("evaluate ranks.npz --threads 1", "--threads cannot apply"),
        ("evaluate ranks.npz --metrics tail.mr", "'--metrics'"),
        ("guess", "No such command 'guess'"),
        ("demo scores.npy", "unexpected extra argument"),
    ],
)
def test_wrong_command_lines_end_with_two(
    run: Run, files: Files, folder: Path, line: str, message: str
) -> None:
    tr.rank(SCORES, TARGETS).save(folder / "ranks.npz")
    code, out, err = run(*files(line))
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert message in err
    assert "--help)\n" in err
    assert err.count("\n") == 1


def test_unknown_metrics_are_refused_before_a_count(
    run: Run, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "rank", lambda *_, **__: pytest.fail("counted"))
    outcome = run("evaluate", *files("scores.npy targets.npy --metrics mmr"))
    assert outcome.code == 2
    assert "mmr" in outcome.err


def test_ctrl_c_ends_with_130(run: Run, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "rank", interrupted)
    code, out, err = run("evaluate", *files("scores.npy targets.npy"))
    assert (code, out, err.strip()) == (130, "", "")


@pytest.mark.skipif(os.name == "nt", reason="signals and named pipes are POSIX here")
def test_ctrl_c_ends_a_process_with_130(tmp_path: Path) -> None:
    fifo = tmp_path / "scores.npy"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-m", "truerank", "evaluate", str(fifo), "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with fifo.open("wb"):  # waits until the other end reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, "", "")


def test_a_bug_keeps_its_traceback(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_text: str) -> None:
        raise TypeError("not the user's doing")

    monkeypatch.setattr(cli, "emit", broken)
    with pytest.raises(TypeError, match="doing"):
        cli.commands(["evaluate", *files("scores.npy targets.npy")], prog_name="truerank")


def test_sides_that_are_no_names_end_with_one(run: Run, folder: Path) -> None:
    tr.rank(SCORES, TARGETS).with_labels(side=[0, 1, 0, 1]).save(folder / "ranks.npz")
    code, out, err = run("evaluate", folder / "ranks.npz")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ranks: expected names of sides")


def test_failed_save_leaves_the_old_file(run: Run, files: Files, folder: Path) -> None:
    tr.rank(SCORES, TARGETS).save(folder / "ranks.npz")
    before = (folder / "ranks.npz").read_bytes()
    assert run("evaluate", *files("nan.npy targets.npy --save ranks.npz")).code == 1
    assert (folder / "ranks.npz").read_bytes() == before


def test_scores_are_a_read_only_memory_map(folder: Path) -> None:
    array = cli.read_array("SCORES", folder / "scores.npy")
    assert isinstance(array, np.memmap)
    assert not array.flags.writeable


def test_info(run: Run) -> None:
    code, out, err = run("info")
    assert (code, err) == (0, "")
    facts = {line[:17].strip(): line[17:].strip() for line in out.splitlines()}
    assert facts["truerank"] == tr.__version__
    assert facts["numpy"] == np.__version__
    assert platform.python_version() in facts["Python"]
    assert facts["instruction set"].startswith(f"{_core.isa()} (usable: ")
    assert all(isa in facts["instruction set"] for isa in _core.isas())
    assert facts["OpenMP"] == ("yes" if _core.openmp() else "no")
    assert facts["threads"] == str(_core.default_threads())


def test_demo_ends_with_one_where_a_figure_differs(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from truerank import demo

    small = demo.Speed(1, 1, 1.0, 1.0, 1, "baseline")
    monkeypatch.setattr(demo, "measure_speed", lambda **_: small)
    assert run("demo").code == 0
    monkeypatch.setattr(demo, "EXACT", 0.0)
    monkeypatch.setattr(demo, "SINGLE", 0.0)
    code, out, err = run("demo")
    assert (code, err) == (1, "")
    assert "published 4.93482303" in out


def test_help_and_version(run: Run) -> None:
    assert run("--version") == (0, f"truerank {tr.__version__}\n", "")
    for line in (["--help"], ["evaluate", "-h"]):
        code, out, err = run(*line)
        assert (code, err) == (0, "")
        assert out.startswith("Usage: truerank")
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: truerank")


def test_process(files: Files) -> None:
    assert start("--version") == (0, f"truerank {tr.__version__}\n", "")
    # narrow and styled environments change nothing in a pipe
    outcome = start("evaluate", *files("scores.npy targets.npy"), COLUMNS="20", TERM="xterm")
    assert (outcome.code, outcome.err) == (0, "")
    assert "both     optimistic  realistic  pessimistic" in outcome.out.splitlines()
    assert "\x1b" not in outcome.out
    code, out, err = start("evaluate", *files("nan.npy targets.npy"))
    assert (code, out) == (1, "")
    assert err.startswith("Error: scores: ")
    assert err.count("\n") == 1
    assert start("evaluate").code == 2


def test_terminals_get_lines_and_styles() -> None:
    outcome = start("demo", FORCE_COLOR="1", TERM="xterm")
    assert outcome.code == 0
    assert "\x1b[1m" in outcome.out
    assert "──" in outcome.out


@pytest.mark.skipif(os.name == "nt", reason="signals and closed pipes are POSIX here")
def test_a_closed_pipe_is_left_quietly(files: Files) -> None:
    for arguments in (["evaluate", *files("scores.npy targets.npy")], ["info"], ["demo"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "truerank", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        assert (process.wait(), err) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_of_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "truerank", "info"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: standard output: ")
    assert done.stderr.count("\n") == 1


def test_any_name_of_a_side_can_be_printed(tmp_path: Path) -> None:
    ranks = tr.rank(SCORES, TARGETS).with_labels(side="\u043b\u0435\u0432")
    ranks.save(tmp_path / "ranks.npz")
    code, out, err = start("evaluate", tmp_path / "ranks.npz", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert r"\u043b\u0435\u0432" in out


def test_no_tasks_and_a_single_row(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.empty((0, 5), dtype=np.float32))
    code, out, err = run("evaluate", tmp_path / "none.npy", "0", "--metrics", "mrr")
    assert (code, err) == (0, "")
    assert out.split() == ["key", "value", "mrr", "nan"]
    np.save(tmp_path / "one.npy", SCORES[0])
    code, out, err = run("evaluate", tmp_path / "one.npy", "0", "--metrics", "mrr")
    assert (code, err) == (0, "")
    assert out.split() == ["key", "value", "mrr", "1.000000"]


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_libraries_it_says_how_to_get_them(missing: str) -> None:
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import truerank.__main__ as entry; entry.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'truerank[cli]'" in done.stderr
    assert missing in done.stderr


def test_importing_the_package_does_not_import_them(run_python: Callable[..., str]) -> None:
    script = "import sys, truerank; print(sorted({'click', 'rich'} & set(sys.modules)))"
    assert run_python(script).strip() == "[]"
