"""Errors of the command line: one line and the right exit code for bad data and wrong lines."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import SCORES, TARGETS, Files, Run
from truerank.cli import evaluate_command

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("absent.npy 0", "absent.npy: No such file or directory"),
        ("scores.npy absent.npy", "absent.npy: No such file or directory"),
        ("scores.npy few.npy", "targets: "),
        ("scores.npy far.npy", "targets: "),
        ("scores.npy words.npy", "targets: "),
        ("scores.npy 5", "targets: "),
        ("scores.npy csr.npz", "csr.npz: expected a .npy file, the header"),
        ("words.npy 0", "scores: "),
        ("bfloat16.npy 0", "bfloat16"),
        ("nan.npy 0", "scores: "),
        ("pickle.npy 0", "pickle.npy: "),
        ("short.npy 0", "short.npy: expected 208 bytes"),
        ("text.npy 0", "text.npy: expected a .npy file"),
        ("empty.npy 0", "empty.npy: expected a .npy file"),
        (
            "scores.npy 0 --rows pickle.npy",
            "pickle.npy: expected plain numbers or text, got dtype object",
        ),
        ("scores.npy 0 --rows far.npy", "rows: "),
        ("scores.npy 0 --filter few.npy", "--filter: expected an .npz with indptr and indices"),
        ("scores.npy 0 --filter absent.npz", "absent.npz: No such file or directory"),
        ("scores.npy 0 --filter foreign.npz", "--filter: expected members indptr and indices, got"),
        ("scores.npy 0 --filter csc.npz", "--filter: expected a scipy.sparse matrix in csr format"),
        ("scores.npy 0 --filter wide.npz", "filter: expected a sparse matrix of shape (4, 5)"),
        (
            "scores.npy 0 --filter flat.npz",
            "--filter: shape: expected 2 integers, one for each task, got",
        ),
        ("scores.npy 0 --filter twice.npz", "in csr format, got csrcsr"),
        ("scores.npy 0 --filter damaged.npz", "--filter: "),
        ("scores.npy 0 --candidates text.npy", "text.npy: expected a .npy file, the header"),
        ("scores.npy 1 --candidates chosen.npy", "candidates: "),
        ("scores.npy 0 --save nowhere/ranks.npz", "--save: no folder "),
        ("scores.npy 0 --save .", "--save: expected the name of a file, got ."),
        ("scores.npy 0 --save scores.npy", "--save: "),
        ("scores.npy targets.npy --save targets.npy", "--save: "),
        ("scores.npy 0 --filter pair.npz --save pair.npz", "--save: "),
        ("damaged.npz", "damaged.npz"),
        ("scores.npy 0 --relation rows.npy", "--relation: expected 4 labels, one for each task"),
        (
            "scores.npy 0 --queries scores.npy",
            "--queries: expected a str for all tasks, a sequence",
        ),
        ("scores.npy 0 --side rows.npy", "--side: expected 4 labels"),
        ("scores.npy 0 --side targets.npy", "expected names of sides"),
        ("scores.npy targets.npy --relation words.npy --save words.npy", "--save: "),
        ("bare.npz --filtered-by train", "--filtered-by: these ranks are unfiltered"),
        ("bare.npz --by relation", "give them with evaluate --relation"),
        ("bare.npz --by query", "give them with evaluate --queries"),
        ("bare.npz --by relation", "by: these ranks have no labels"),
        ("bare.npz --by rows.npy", "by: expected 4 labels, one for each task, got 2"),
        ("bare.npz --by absent.npy", "absent.npy: No such file or directory"),
        ("bare.npz --weights query", "weights: these ranks have no labels"),
        ("bare.npz --weights rows.npy", "weights: expected 4 numbers"),
        ("bare.npz --weights words.npy", "weights: expected real numbers"),
    ],
)
def test_bad_data_ends_with_one(
    run: Run, files: Files, folder: Path, line: str, message: str
) -> None:
    tr.rank(SCORES, TARGETS).save(folder / "bare.npz")
    selection = {"indptr": [0] * 5, "indices": [], "format": "csr"}
    np.savez(folder / "flat.npz", **selection, shape=4)
    np.savez(folder / "twice.npz", **{**selection, "format": ["csr"] * 2})
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
        ("evaluate scores.npy 0 1 2 3 4", "unexpected extra arguments (1 2 3 ...)"),
        ("evaluate scores.npy 0 --colour red", "No such option"),
        ("evaluate scores.npy 0 --order sideways", "'--order'"),
        ("evaluate scores.npy 0 --nan zero", "'--nan'"),
        ("evaluate scores.npy 0 --dtype float8", "'--dtype'"),
        ("evaluate scores.npy 0 --threads 0", "'--threads'"),
        ("evaluate scores.npy 0 --threads many", "'--threads'"),
        ("evaluate scores.npy 0 --format xml", "'--format'"),
        ("evaluate scores.npy 0 --metrics mrr,mmr", "'--metrics'"),
        ("evaluate scores.npy 0 --metrics hits@x", "'--metrics'"),
        ("evaluate scores.npy 0 --metrics head.mr", "'--metrics'"),
        ("evaluate ranks.npz targets.npy", "TARGETS cannot apply"),
        ("evaluate ranks.npz --filter pair.npz --nan omit", "--filter, --nan cannot apply"),
        ("evaluate ranks.npz --threads 1", "--threads cannot apply"),
        ("evaluate ranks.npz --metrics tail.mr", "'--metrics'"),
        ("evaluate ranks.npz --by relaton", "'--by': expected side, relation"),
        ("evaluate ranks.npz --weights side", "'--weights': expected query, relation, target"),
        ("evaluate ranks.npz --interval", "--interval needs --metrics"),
        ("evaluate ranks.npz --metrics macro.mrr", "'--metrics'"),
        ("evaluate scores.npy 0 --metrics macro.mrr", "'--metrics'"),
        ("evaluate scores.npy 0 --by rows.npy --metrics macro.zmrr", "'--metrics'"),
        ("evaluate scores.npy 0 --filtered-by train", "--filtered-by names the splits of --filter"),
        ("evaluate scores.npy 0 --filter pair.npz --split=", "'--split'"),
        ("evaluate ranks.npz --rows rows.npy --split test", "--rows cannot apply"),
        ("compare", "at least two models"),
        ("compare ranks.npz ranks.npz", "one of them twice"),
        ("compare ranks.npz other.npz --metric macro.mrr", "'--metric'"),
        ("compare ranks.npz other.npz --metric head.mrr", "no side 'head'"),
        ("compare ranks.npz other.npz --metric count", "the same for two models"),
        ("compare ranks.npz", "at least two models"),
        ("compare ranks.npz ranks.npz --metric mmr", "'--metric'"),
        ("compare ranks.npz ranks.npz --method guess", "'--method'"),
        ("compare ranks.npz ranks.npz --level 1", "'--level'"),
        ("adjust mr", "Missing argument 'VALUE'"),
        ("adjust mr many", "'VALUE'"),
        ("adjust mr 7", "candidates: expected them, or the name of a dataset"),
        ("adjust mr 7 --candidates 10", "tasks: expected how many"),
        ("adjust mmr 7 --candidates 10 --tasks 3", "did you mean"),
        ("adjust mrr 31.6 --dataset wn18rr", "as a percentage it is 0.316"),
        ("adjust mr 7 --dataset wn18r", "did you mean"),
        ("adjust mr 7 --dataset codex-l --filtered", "not known for CoDEx-L"),
        ("adjust mr 7 --dataset wn18rr --tasks 3", "tasks: cannot be given"),
        (
            "adjust mr 7 --candidates 10 --tasks 3 --split valid",
            "--split: cannot be given without --dataset",
        ),
        ("adjust mr 7 --candidates 10 --tasks 3 --side tail --filtered", "--side, --filtered: can"),
        ("adjust mr 7 --candidates counts.npy --tasks 3", "tasks: expected 2, as candidates has"),
        ("guess", "No such command 'guess'"),
        ("demo scores.npy", "unexpected extra argument"),
    ],
)
def test_wrong_command_lines_end_with_two(
    run: Run, files: Files, folder: Path, line: str, message: str
) -> None:
    tr.rank(SCORES, TARGETS).save(folder / "ranks.npz")
    tr.rank(-SCORES, TARGETS).save(folder / "other.npz")
    np.save(folder / "counts.npy", [9, 10])
    code, out, err = run(*files(line))
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert message in err
    assert "--help)\n" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "name",
    [
        "left has",
        "two  blanks",
        "rows of scores",
        "give entities=",
        'known["train"]',
        "by: filter: x",
        "by=...",
    ],
)
def test_paths_in_messages_are_unchanged(run: Run, tmp_path: Path, name: str) -> None:
    """Errors and warnings name unchanged paths, even if parts of them look like messages."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "train.txt").write_text("a\tb\n")
    (folder / "test.txt").write_text("a\tlikes\tb\n")
    np.save(folder / "vectors.npy", np.eye(2, dtype=np.float32))
    (folder / "scores.npy").write_bytes(b"no scores")
    vectors = folder / "vectors.npy"
    model = ["--entities", vectors, "--queries-tail", vectors, "--sides", "tail"]
    known = ["--test", folder / "test.txt", "--train", folder / "train.txt"]
    for words in (
        ["evaluate", folder / "scores.npy", 0],
        ["evaluate", vectors, folder / "absent.npy"],
        ["link-prediction", *known, *model],
        ["alignment", vectors, vectors, folder / "train.txt", "--left-labels", folder / "no.txt"],
        ["alignment", vectors, vectors, folder / "test.txt"],
    ):
        code, out, err = run(*words)
        assert (code, out) == (1, "")
        assert f"{folder}/" in err
    (folder / "train.txt").write_text("a\tlikes\tc\n")
    code, _, err = run("link-prediction", *known, *model)
    assert (code, err) == (
        1,
        "Error: --entity-labels: the triples name 3 entities, but there are 2 in the files of "
        "the model; give all names in their order\n",
    )


def test_messages_mention_options(run: Run, files: Files, folder: Path) -> None:
    """Messages mention options on the command line, and arguments in Python."""
    tr.rank(SCORES, TARGETS).save(folder / "bare.npz")
    message = "these ranks have no labels 'relation' (they have: none); give them with"
    code, _, err = run("evaluate", *files("bare.npz --by relation"))
    assert (code, err) == (1, f"Error: --by: {message} evaluate --relation\n")
    python = re.escape(f"by: {message} ranks.with_labels(relation=...)")
    with pytest.raises(ValueError, match=python):
        tr.report(tr.rank(SCORES, TARGETS), by="relation")
    code, _, err = run("evaluate", *files("nan.npy 0"))
    assert code == 1
    assert "which --nan raise does not allow" in err


def test_unknown_metrics_are_refused_before_a_count(
    run: Run, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate_command, "rank", lambda *_, **__: pytest.fail("counted"))
    outcome = run("evaluate", *files("scores.npy targets.npy --metrics mmr"))
    assert outcome.code == 2
    assert "mmr" in outcome.err


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--by rows.npy", 1, "--by: expected 4 labels"),
        ("--by relation", 1, "--by: these ranks have no labels"),
        ("--weights rows.npy", 1, "--weights: expected 4 numbers"),
        ("--weights query", 1, "give them with evaluate --queries"),
        ("--metrics head.mr --side tail", 2, "no side 'head'"),
        ("--by words.npy --metrics relation.mr", 2, "no side 'relation'"),
        ("--by side", 1, "give them with evaluate --side"),
    ],
)
def test_labels_and_keys_that_do_not_fit_are_refused_before_a_count(
    run: Run, files: Files, monkeypatch: pytest.MonkeyPatch, line: str, code: int, message: str
) -> None:
    monkeypatch.setattr(evaluate_command, "rank", lambda *_, **__: pytest.fail("counted"))
    outcome = run("evaluate", *files(f"scores.npy targets.npy {line}"))
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_ctrl_c_ends_with_130(run: Run, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate_command, "rank", interrupted)
    code, out, err = run("evaluate", *files("scores.npy targets.npy"))
    assert (code, out, err.strip()) == (130, "", "")
