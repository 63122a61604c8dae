"""`truerank evaluate`: the result of a count in every format, and the saved ranks."""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import INDICES, INDPTR, SCORES, TARGETS, Files, Run
from truerank.cli import report_request
from truerank.cli.files import read_array

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files


def test_formats_equal_those_of_the_report(run: Run, files: Files) -> None:
    line = files("scores.npy targets.npy")
    report = tr.report(tr.rank(SCORES, TARGETS).with_protocol(files=line))
    for style, text in {
        "json": report.to_json(),
        "markdown": report.to_markdown(),
        "csv": report.to_csv(),
        "latex": report.to_latex(),
        "html": report._repr_html_(),
    }.items():
        outcome = run("evaluate", *line, "--format", style)
        assert outcome == (0, text.rstrip("\n") + "\n", ""), style


def test_table_has_each_kind(run: Run, files: Files) -> None:
    code, out, err = run("evaluate", *files("scores.npy targets.npy"))
    assert (code, err) == (0, "")
    report = tr.evaluate(SCORES, TARGETS)
    assert out.startswith("4 tasks, 5 candidates; unfiltered, all candidates, nan raise")
    assert "2 of 4 tasks tie (50 %)" in out
    heading, *table = [line.split() for line in out.partition("\n\n")[2].splitlines()]
    kinds = ["optimistic", "realistic", "pessimistic", "expected"]
    assert heading == ["both", "(4", "tasks)", *kinds]
    values = {row[0]: [float(cell) for cell in row[2:]] for row in table if len(row) == 6}
    for metric in ("MR", "MRR", "Hits@1", "Hits@10", "HMR", "median", "AMRI"):
        for kind, value in zip(kinds, values[metric], strict=True):
            assert value == pytest.approx(report[f"{kind}.{metric}"], rel=1e-5)


def test_table_of_each_side(run: Run, tmp_path: Path) -> None:
    ranks = tr.rank(SCORES, TARGETS).with_labels(side=["head", "tail", "head", "tail"])
    ranks.save(tmp_path / "ranks.npz")
    code, out, _ = run("evaluate", tmp_path / "ranks.npz")
    assert code == 0
    headings = [line.split()[0] for line in out.splitlines() if line.endswith("expected")]
    assert headings == ["both", "head", "tail"]
    code, out, _ = run("evaluate", tmp_path / "ranks.npz", "--metrics", "tail.mr,head.mr")
    report = tr.report(ranks)
    summary, _, table = out.partition("\n\n")
    assert summary.splitlines() == report.to_markdown(sides=[]).splitlines()
    assert [line.split() for line in table.splitlines()] == [
        ["key", "value"],
        ["tail.mr", f"{report['tail.mr']:.6g}"],
        ["head.mr", f"{report['head.mr']:.6g}"],
    ]


@pytest.mark.parametrize(
    ("line", "scores", "keywords"),
    [
        ("", SCORES, {}),
        ("--filter pair.npz", SCORES, {"filter": (INDPTR, INDICES)}),
        ("--filter csr.npz", SCORES, {"filter": (INDPTR, INDICES)}),
        ("--filter lists.npz", SCORES, {"filter": [[0], [0], [0, 1, 2], [0, 1, 2]]}),
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


def test_metric_is_metrics(run: Run, files: Files) -> None:
    line = files("scores.npy targets.npy")
    keys = "mrr,hits@2"
    found = [run("evaluate", *line, option, keys).out for option in ("--metric", "--metrics")]
    assert "hits@2" in found[0]
    assert found[0] == found[1]


def test_chosen_metrics_in_each_format(run: Run, files: Files) -> None:
    report = tr.evaluate(SCORES, TARGETS)
    keys = ["mrr", "pessimistic.hits@2"]
    line = [*files("scores.npy targets.npy"), "--metrics", ",".join(keys), "--format"]
    values = {key: report[key] for key in keys}
    assert json.loads(run("evaluate", *line, "json").out)["metrics"] == values
    csv = run("evaluate", *line, "csv").out.splitlines()
    assert csv == ["key,value", *(f"{key},{value!r}" for key, value in values.items())]
    summary, _, table = run("evaluate", *line, "markdown").out.partition("\n\n")
    assert summary.splitlines() == report.to_markdown(sides=[]).splitlines()
    for style in ("latex", "html"):
        assert f"fingerprint {report.protocol.fingerprint}" in run("evaluate", *line, style).out
    markdown = table.splitlines()
    assert markdown[2:] == [f"| {key} | {value:.6g} |" for key, value in values.items()]


def test_no_tasks_and_a_single_row(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.empty((0, 5), dtype=np.float32))
    code, out, err = run("evaluate", tmp_path / "none.npy", "0", "--metrics", "mrr")
    assert (code, err) == (0, "")
    assert out.split()[-4:] == ["key", "value", "mrr", "nan"]
    np.save(tmp_path / "one.npy", SCORES[0])
    code, out, err = run("evaluate", tmp_path / "one.npy", "0", "--metrics", "mrr")
    assert (code, err) == (0, "")
    assert out.split()[-4:] == ["key", "value", "mrr", "1"]


FACTS = "--side sides.npy --relation words.npy --queries rows4.npy --split test"


def described(ranks: tr.Ranks) -> tr.Ranks:
    """Give ranks the labels and the split of FACTS."""
    return ranks.with_labels(
        side=["head", "tail", "head", "tail"], relation=["a", "b", "c", "d"], queries=[0, 1, 0, 2]
    ).with_protocol(split="test", files=())


def test_labels_and_protocol_are_saved(run: Run, files: Files, folder: Path) -> None:
    np.save(folder / "sides.npy", np.array(["head", "tail", "head", "tail"]))
    np.save(folder / "rows4.npy", np.array([0, 1, 0, 2]))
    line = f"--filter pair.npz --filtered-by train,valid {FACTS} --by relation --weights query"
    outcome = run("evaluate", *files(f"scores.npy targets.npy {line} --save ranks.npz"))
    assert (outcome.code, outcome.err) == (0, "")
    assert "split test, filtered by train + valid" in outcome.out
    counted = tr.rank(SCORES, TARGETS, filter=(INDPTR, INDICES))
    expected = described(counted).with_protocol(filter=("train", "valid"))
    saved = tr.load(folder / "ranks.npz")
    assert saved.with_protocol(files=()) == expected
    assert str(folder / "words.npy") in saved.protocol.files
    again = run("evaluate", *files("ranks.npz --by relation --weights query"))
    assert again == outcome


def test_labels_and_protocol_of_saved_ranks(run: Run, files: Files, folder: Path) -> None:
    np.save(folder / "sides.npy", np.array(["head", "tail", "head", "tail"]))
    np.save(folder / "rows4.npy", np.array([0, 1, 0, 2]))
    bare = tr.rank(SCORES, TARGETS)
    bare.save(folder / "bare.npz")
    outcome = run("evaluate", *files(f"bare.npz {FACTS} --by side --save full.npz"))
    assert (outcome.code, outcome.err) == (0, "")
    assert tr.load(folder / "full.npz") == described(bare)
    outcome = run("evaluate", *files("bare.npz --side tail --metrics tail.mrr --format csv"))
    assert outcome.out == f"key,value\ntail.mrr,{tr.report(bare)['mrr']!r}\n"


def test_targets_of_a_count_become_labels(run: Run, files: Files, folder: Path) -> None:
    line = "--weights target --metrics mrr --format csv --save ranks.npz"
    outcome = run("evaluate", *files(f"scores.npy targets.npy {line}"))
    expected = tr.rank(SCORES, TARGETS).with_labels(targets=TARGETS)
    assert outcome.out == f"key,value\nmrr,{tr.report(expected, weights='target')['mrr']!r}\n"
    assert tr.load(folder / "ranks.npz").targets.same_as(expected.targets)
    assert run("evaluate", *files("scores.npy 0 --by target")).code == 0


def test_ranks_are_saved_before_anything_else(
    run: Run, files: Files, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(ranks: tr.Ranks, **keywords: Any) -> tr.Report:
        if (ranks.candidates == 5).any():  # the ranks that were counted
            raise ValueError("too late")
        return tr.report(ranks, **keywords)

    monkeypatch.setattr(report_request, "report", failing)
    code, _, err = run("evaluate", *files("scores.npy targets.npy --save ranks.npz"))
    assert (code, err) == (1, "Error: too late\n")
    assert len(tr.load(folder / "ranks.npz")) == 4


def test_failed_save_leaves_the_old_file(run: Run, files: Files, folder: Path) -> None:
    tr.rank(SCORES, TARGETS).save(folder / "ranks.npz")
    before = (folder / "ranks.npz").read_bytes()
    assert run("evaluate", *files("nan.npy targets.npy --save ranks.npz")).code == 1
    assert (folder / "ranks.npz").read_bytes() == before


def test_arrays_are_read_only_memory_maps(folder: Path) -> None:
    array = read_array("TARGETS", folder / "targets.npy")
    assert isinstance(array.base, mmap.mmap)
    assert not array.flags.writeable


@pytest.mark.parametrize("first", ["scores.npy targets.npy", "ranks.npz"])
@pytest.mark.parametrize("option", ["--by", "--weights", "--relation", "--queries", "--side"])
def test_labels_and_weights_are_not_written_over(
    run: Run, files: Files, folder: Path, first: str, option: str
) -> None:
    tr.rank(SCORES, TARGETS).save(folder / "ranks.npz")
    np.save(folder / "numbers.npy", np.ones(4, dtype=np.int64))
    (folder / "link.npy.partial").hardlink_to(folder / "numbers.npy")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for place in ("numbers.npy", "link.npy"):
        outcome = run("evaluate", *files(f"{first} {option} numbers.npy --save {place}"))
        assert (outcome.code, outcome.out) == (1, "")
        assert outcome.err.startswith("Error: --save: ")
        assert "is one of the files to be read" in outcome.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_macro_weights(run: Run, files: Files, folder: Path) -> None:
    np.save(folder / "groups.npy", np.array(["a", "b", "b", "b"]))
    ranks, by = tr.rank(SCORES, TARGETS), ["a", "b", "b", "b"]
    report = tr.report(ranks, by=by, macro_weights="count")
    assert report["macro.mrr"] != tr.report(ranks, by=by)["macro.mrr"]
    line = "scores.npy targets.npy --by groups.npy --macro-weights count"
    outcome = run("evaluate", *files(f"{line} --metrics macro.mrr --format csv"))
    assert outcome == (0, f"key,value\nmacro.mrr,{report['macro.mrr']!r}\n", "")
    content = json.loads(run("evaluate", *files(f"{line} --format json")).out)
    assert content["metrics"]["macro.mrr"] == report["macro.mrr"]
    assert content["groups"]["macro"] == "each group counts by its tasks"
    assert run("evaluate", *files(f"{line} --interval --metrics mrr")).code == 0
    for wrong, message in (
        (f"{line} --interval --metrics mrr,macro.mr", "--interval and --macro-weights: expected"),
        ("scores.npy targets.npy --macro-weights count", "--macro-weights needs --by"),
        ("scores.npy targets.npy --by groups.npy --macro-weights tasks", "'--macro-weights'"),
    ):
        code, out, err = run("evaluate", *files(wrong))
        assert (code, out) == (2, "")
        assert message in err


def test_a_forgotten_order_is_said(run: Run, tmp_path: Path) -> None:
    """Distances of a perfect model, ranked as if higher ones were better."""
    distances = np.random.default_rng(1).random((40, 40)) + 0.5
    np.fill_diagonal(distances, 0.1)
    np.save(tmp_path / "distances.npy", distances)
    np.save(tmp_path / "targets.npy", np.arange(40))
    line = ["evaluate", tmp_path / "distances.npy", tmp_path / "targets.npy"]
    said = 'are lower scores better? order="ascending"'
    assert said in run(*line).out
    assert said in run(*line, "--audit").out
    assert "random ones" not in run(*line, "--order", "ascending").out
