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

from truerank.cli import commands as cli
from truerank.cli.sheets import in_options

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
    values = {row[0]: [float(cell) for cell in row[1:]] for row in table if len(row) == 5}
    for metric in ("mr", "mrr", "hits@1", "hits@10", "hmr", "median", "amri"):
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
    told, _, table = out.partition("\n\n")
    assert told.splitlines() == report.to_markdown(sides=[]).splitlines()
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
    told, _, table = run("evaluate", *line, "markdown").out.partition("\n\n")
    assert told.splitlines() == report.to_markdown(sides=[]).splitlines()
    for style in ("latex", "html"):
        assert f"fingerprint {report.protocol.fingerprint}" in run("evaluate", *line, style).out
    markdown = table.splitlines()
    assert markdown[2:] == [f"| {key} | {value!r} |" for key, value in values.items()]


def labelled() -> tr.Ranks:
    """Four tasks of two sides, three queries and two relations."""
    return tr.rank(SCORES, TARGETS).with_labels(
        side=["head", "tail", "head", "tail"],
        group=["likes", "knows", "likes", "likes"],
        queries=[0, 1, 0, 2],
        targets=TARGETS,
    )


@pytest.fixture
def saved(folder: Path) -> Path:
    """Ranks with labels, and labels and weights in files."""
    labelled().save(folder / "ranks.npz")
    np.save(folder / "names.npy", np.array(["a", "b", "b", "b"]))
    np.save(folder / "masses.npy", np.array([1.0, 0.0, 2.0, 1.0]))
    return folder


@pytest.mark.parametrize(
    ("line", "keywords"),
    [
        ("--by relation", {"by": "relation"}),
        ("--by side", {"by": "side"}),
        ("--by names.npy", {"by": ["a", "b", "b", "b"]}),
        ("--weights query", {"weights": "query"}),
        ("--weights masses.npy", {"weights": [1.0, 0.0, 2.0, 1.0]}),
        ("--weights target --by query", {"weights": "target", "by": "query"}),
        ("--seed 3", {"seed": 3}),
    ],
)
def test_groups_and_weights_are_those_of_the_report(
    run: Run, files: Files, saved: Path, line: str, keywords: dict[str, Any]
) -> None:
    report = tr.report(labelled(), **keywords)
    keys = ["mrr", "random.mr", "tail.amri", *(["macro.mrr"] if "by" in keywords else [])]
    command = ["evaluate", *files(f"ranks.npz {line}")]
    assert run(*command, "--format", "csv") == (0, report.to_csv(), "")
    chosen = run(*command, "--metrics", ",".join(keys), "--format", "json")
    assert (chosen.code, chosen.err) == (0, "")
    assert json.loads(chosen.out)["metrics"] == {key: report[key] for key in keys}


def test_a_table_of_groups(run: Run, files: Files, saved: Path) -> None:
    code, out, err = run("evaluate", *files("ranks.npz --by relation"))
    assert (code, err) == (0, "")
    assert "By relation: 2 groups" in out
    report = tr.report(labelled(), by="relation")
    table = [line.split() for line in out.splitlines()]
    for name, value in (
        ("micro", report["mrr"]),
        ("macro", report["macro.mrr"]),
        ("likes", report.groups["likes"]["mrr"]),
    ):
        (row,) = (row for row in table if row[:1] == [name])
        assert float(row[3]) == pytest.approx(value, rel=1e-5)
    line = [*files("ranks.npz --by relation"), "--metrics", "mrr,macro.mrr,hits@1"]
    table = [row.split() for row in run("evaluate", *line).out.splitlines()]
    assert ["by", "relation", "tasks", "mrr", "hits@1"] in table
    assert ["knows", "1", f"{report.groups['knows']['mrr']:.6g}", "0"] in table
    csv = run("evaluate", *line, "--format", "csv").out.splitlines()
    assert csv[0] == "group,key,value"
    assert f"likes,mrr,{report.groups['likes']['mrr']!r}" in csv
    assert f",macro.mrr,{report['macro.mrr']!r}" in csv


@pytest.mark.parametrize("by", [None, "query"])
def test_intervals(run: Run, files: Files, saved: Path, by: str | None) -> None:
    line = [*files("ranks.npz"), *(["--by", by] if by else []), "--metrics", "mrr,hits@3"]
    report = tr.report(labelled(), by=by)
    found = report.interval("mrr", by=by)
    told, _, table = run("evaluate", *line, "--interval").out.partition("\n\n")
    units = "3 groups" if by else "4 tasks"
    assert f"Intervals of mrr, hits@3: 95 %, bca, 10,000 resamples of {units}, seed 0." in told
    table = table.splitlines()
    assert table[0].split() == ["key", "value", "low", "high"]
    values = [f"{value:.6g}" for value in (found.value, found.low, found.high)]
    assert table[1].split() == ["mrr", *values]
    stored = json.loads(run("evaluate", *line, "--interval", "--format", "json").out)
    assert stored["intervals"]["mrr"]["low"] == found.low
    assert stored["intervals"]["mrr"]["units"] == (3 if by else 4)


@pytest.mark.parametrize("style", ["table", "markdown", "latex", "html", "csv", "json"])
def test_findings(run: Run, files: Files, style: str) -> None:
    line = ["evaluate", *files("scores.npy targets.npy --audit"), "--format", style]
    findings = tr.evaluate(SCORES, TARGETS, audit=True).audit()
    assert findings
    messages = [in_options(str(found)) for found in findings]
    code, out, err = run(*line)
    assert code == 0
    if style == "json":
        assert [found["name"] for found in json.loads(out)["findings"]] == [
            f.name for f in findings
        ]
    elif style == "csv":  # has no place for them
        assert out == tr.evaluate(SCORES, TARGETS).to_csv()
        assert err.splitlines() == messages
    else:
        assert all(found.name in out for found in findings)
        assert findings[0].name not in run(*line[:-3], "--format", style).out
    assert not any(found.name == "unaudited" for found in findings)


def test_nothing_to_find(run: Run, tmp_path: Path) -> None:
    ranks = tr.Ranks([0, 5], [1, 1], 1000, audit=([0, 0], [0, 0], [1, 1]))
    ranks.with_protocol(split="valid").save(tmp_path / "ranks.npz")
    code, out, err = run("evaluate", tmp_path / "ranks.npz", "--audit")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "Nothing was found that makes these numbers suspect."


@pytest.fixture
def models(folder: Path) -> list[Path]:
    """The saved ranks of three models over the same tasks."""
    generator = np.random.default_rng(5)
    paths = []
    for i, name in enumerate(["one", "two", "three"]):
        ranks = tr.Ranks(
            generator.integers(0, 20 + 10 * i, 60),
            np.ones(60, dtype=int),
            100,
            queries=np.arange(60) // 3,
            targets=np.arange(60),
        )
        ranks.save(folder / f"{name}.npz")
        paths.append(folder / f"{name}.npz")
    return paths


@pytest.mark.parametrize(
    ("line", "keywords"),
    [
        ("", {}),
        ("--metric hits@10 --method wilcoxon", {"metric": "hits@10", "method": "wilcoxon"}),
        ("--metric amri --seed 4 --level 0.9", {"metric": "amri", "seed": 4, "level": 0.9}),
        ("--method bootstrap --resamples 500", {"method": "bootstrap", "resamples": 500}),
        ("--by query", {"by": "query"}),
    ],
)
def test_comparisons_are_those_of_compare(
    run: Run, models: list[Path], line: str, keywords: dict[str, Any]
) -> None:
    ranks = {path.stem: tr.load(path) for path in models}
    for several in (models[:2], models):
        expected = tr.compare({p.stem: ranks[p.stem] for p in several}, **keywords)
        command = ["compare", *several, *line.split()]
        code, out, err = run(*command, "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out)["comparisons"] == [pair.to_dict() for pair in expected]
        code, out, err = run(*command)
        assert (code, err) == (0, "")
        assert out.splitlines()[0].startswith(
            f"{keywords.get('metric', 'mrr').replace('amri', 'index.mr')}, "
        )
        assert ("p (Holm)" in out) == (len(several) > 2)
        for pair in expected:
            (row,) = (r for r in out.splitlines() if r.startswith(f"{pair.name_a} - {pair.name_b}"))
            assert f"{pair.difference:.6g}" in row
            assert row.endswith(f"{pair.wins} / {pair.ties} / {pair.losses}")


@pytest.mark.parametrize("style", ["markdown", "latex", "html", "csv"])
def test_formats_of_comparisons(run: Run, models: list[Path], style: str) -> None:
    code, out, err = run("compare", *models, "--format", style)
    assert (code, err) == (0, "")
    assert all(name in out for name in ("one", "two", "three"))
    if style == "csv":
        header, *rows = (line.split(",") for line in out.splitlines())
        assert len(rows) == 3
        assert all(len(row) == len(header) for row in rows)
        assert {"difference", "low", "high", "p_value", "p_holm"} <= set(header)


def test_unlike_ranks_are_refused(run: Run, models: list[Path], folder: Path) -> None:
    unlike = tr.load(models[0]).with_protocol(split="valid")
    unlike.save(folder / "unlike.npz")
    code, out, err = run("compare", models[0], folder / "unlike.npz")
    assert (code, out) == (1, "")
    assert "split" in err
    assert err.count("\n") == 1
    code, out, err = run("compare", models[0], folder / "unlike.npz", "--allow-unlike")
    assert (code, err) == (0, "")
    assert "split" in out


def test_models_of_one_name_are_told_apart(run: Run, models: list[Path], folder: Path) -> None:
    (folder / "other").mkdir()
    other = folder / "other" / "one.npz"
    other.write_bytes(models[1].read_bytes())
    code, out, _ = run("compare", models[0], other, "--format", "json")
    assert code == 0
    (pair,) = json.loads(out)["comparisons"]
    assert (pair["name_a"], pair["name_b"]) == (str(models[0]), str(other))
    assert run("compare", other, other).code == 2


def test_a_published_number(run: Run, folder: Path) -> None:
    line = ["adjust", "mr", "7000", "--candidates", "40943", "--tasks", "6268"]
    found = tr.adjust("mr", 7000, candidates=40943, tasks=6268)
    code, out, err = run(*line)
    assert (code, err) == (0, "")
    table = {row[:30].strip(): row[30:].strip() for row in out.splitlines()}
    assert table["mr"] == "6,268 tasks"
    assert table["index (0 is chance, 1 perfect)"] == f"{found.index:.6g}"
    assert table["z (in standard deviations)"] == f"{found.z:.6g}"
    assert json.loads(run(*line, "--format", "json").out) == found._asdict()
    header, row = run(*line, "--format", "csv").out.splitlines()
    assert header == ",".join(found._fields)
    assert row.split(",")[:2] == ["mr", "7000.0"]
    np.save(folder / "counts.npy", np.full(6268, 40943))
    again = run("adjust", "mr", "7000", "--candidates", folder / "counts.npy")
    assert again.out == out


def test_a_published_number_of_a_data_set(run: Run) -> None:
    line = ["adjust", "hits@10", "0.5", "--dataset", "WN18RR", "--split", "valid", "--side", "tail"]
    found = tr.adjust("hits@10", 0.5, dataset="wn18rr", split="valid", side="tail", filtered=True)
    stored = json.loads(run(*line, "--filtered", "--format", "json").out)
    about = {"dataset": "WN18RR", "split": "valid", "side": "tail", "filtered": True}
    assert stored == {**about, **found._asdict()}
    lines = run(*line, "--filtered").out.splitlines()
    assert lines[0].startswith("WN18RR, valid, tail, filtered: 40,")
    assert "wn18rr-seen" in lines[1]


def test_nan_is_null_in_json(run: Run) -> None:
    line = ["adjust", "hits@10", "1", "--candidates", "8", "--tasks", "3", "--format", "json"]
    assert json.loads(run(*line).out)["index"] is None


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
        ("scores.npy 0 --relation rows.npy", "--relation: expected 4 labels, one for each task"),
        ("scores.npy 0 --queries scores.npy", "--queries: expected a 1-D array of labels"),
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
        ("evaluate scores.npy 0 --format xml", "'--format'"),
        ("evaluate scores.npy 0 --metrics mrr,mmr", "'--metrics'"),
        ("evaluate scores.npy 0 --metrics hits@x", "'--metrics'"),
        ("evaluate scores.npy 0 --metrics head.mr", "'--metrics'"),
        ("evaluate ranks.npz targets.npy", "TARGETS cannot apply"),
        ("evaluate ranks.npz --filter pair.npz --nan omit", "--filter, --nan cannot apply"),
        ("evaluate ranks.npz --threads 1", "--threads cannot apply"),
        ("evaluate ranks.npz --metrics tail.mr", "'--metrics'"),
        ("evaluate ranks.npz --by relaton", "'--by': expected side, group, relation"),
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
        ("adjust mr 7 --dataset fb15k --filtered", "not known for FB15k"),
        ("adjust mr 7 --dataset wn18rr --tasks 3", "tasks: cannot be given"),
        (
            "adjust mr 7 --candidates 10 --tasks 3 --split valid",
            "--split: cannot be given without --dataset",
        ),
        ("adjust mr 7 --candidates 10 --tasks 3 --side tail --filtered", "--side, --filtered: can"),
        ("adjust mr 7 --candidates counts.npy --tasks 3", "tasks: candidates has 2 tasks"),
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


def test_unknown_metrics_are_refused_before_a_count(
    run: Run, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "rank", lambda *_, **__: pytest.fail("counted"))
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
def test_what_cannot_fit_is_refused_before_a_count(
    run: Run, files: Files, monkeypatch: pytest.MonkeyPatch, line: str, code: int, message: str
) -> None:
    monkeypatch.setattr(cli, "rank", lambda *_, **__: pytest.fail("counted"))
    outcome = run("evaluate", *files(f"scores.npy targets.npy {line}"))
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_ranks_are_saved_before_anything_else(
    run: Run, files: Files, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(ranks: tr.Ranks, **keywords: Any) -> tr.Report:
        if (ranks.candidates == 5).any():  # the ranks that were counted
            raise ValueError("too late")
        return tr.report(ranks, **keywords)

    monkeypatch.setattr(cli, "report", failing)
    code, _, err = run("evaluate", *files("scores.npy targets.npy --save ranks.npz"))
    assert (code, err) == (1, "Error: too late\n")
    assert len(tr.load(folder / "ranks.npz")) == 4


FACTS = "--side sides.npy --relation words.npy --queries rows4.npy --split test"


def described(ranks: tr.Ranks) -> tr.Ranks:
    """What FACTS says of the four tasks."""
    return ranks.with_labels(
        side=["head", "tail", "head", "tail"], group=["a", "b", "c", "d"], queries=[0, 1, 0, 2]
    ).with_protocol(split="test", files=())


def test_labels_and_protocol_are_kept(run: Run, files: Files, folder: Path) -> None:
    np.save(folder / "sides.npy", np.array(["head", "tail", "head", "tail"]))
    np.save(folder / "rows4.npy", np.array([0, 1, 0, 2]))
    line = f"--filter pair.npz --filtered-by train,valid {FACTS} --by relation --weights query"
    outcome = run("evaluate", *files(f"scores.npy targets.npy {line} --save ranks.npz"))
    assert (outcome.code, outcome.err) == (0, "")
    assert "split test, filtered by train + valid" in outcome.out
    counted = tr.rank(SCORES, TARGETS, filter=(INDPTR, INDICES))
    expected = described(counted).with_protocol(filter=("train", "valid"))
    kept = tr.load(folder / "ranks.npz")
    assert kept.with_protocol(files=()) == expected
    assert str(folder / "words.npy") in kept.protocol.files
    again = run("evaluate", *files("ranks.npz --by relation --weights query"))
    assert again == outcome


def test_facts_of_saved_ranks(run: Run, files: Files, folder: Path) -> None:
    np.save(folder / "sides.npy", np.array(["head", "tail", "head", "tail"]))
    np.save(folder / "rows4.npy", np.array([0, 1, 0, 2]))
    bare = tr.rank(SCORES, TARGETS)
    bare.save(folder / "bare.npz")
    outcome = run("evaluate", *files(f"bare.npz {FACTS} --by side --save full.npz"))
    assert (outcome.code, outcome.err) == (0, "")
    assert tr.load(folder / "full.npz") == described(bare)
    outcome = run("evaluate", *files("bare.npz --side tail --metrics tail.mrr --format csv"))
    assert outcome.out == f"key,value\ntail.mrr,{tr.report(bare)['mrr']!r}\n"


def test_answers_of_a_count_are_its_targets(run: Run, files: Files, folder: Path) -> None:
    line = "--weights target --metrics mrr --format csv --save ranks.npz"
    outcome = run("evaluate", *files(f"scores.npy targets.npy {line}"))
    expected = tr.rank(SCORES, TARGETS).with_labels(targets=TARGETS)
    assert outcome.out == f"key,value\nmrr,{tr.report(expected, weights='target')['mrr']!r}\n"
    assert tr.load(folder / "ranks.npz").targets == expected.targets
    assert run("evaluate", *files("scores.npy 0 --by target")).code == 0


def test_why_there_are_no_bounds(run: Run, files: Files, folder: Path) -> None:
    np.save(folder / "one.npy", np.array([2]))
    out = run("evaluate", *files("scores.npy 0 --rows one.npy --interval --metrics mr,mrr")).out
    assert "of 1 task, seed 0." in out
    assert "No bounds of mr, mrr: there is nothing to resample in 1 task." in out
    np.save(folder / "zero.npy", np.array([0]))
    line = "scores.npy 0 --candidates zero.npy --interval --metrics mr,amri"
    out = run("evaluate", *files(line)).out
    assert "No bounds of amri: it has no value here." in out


def test_small_values_keep_their_digits(run: Run) -> None:
    found = tr.adjust("hits@1", 0.2, dataset="wikidata5m")
    out = run("adjust", "hits@1", "0.2", "--dataset", "wikidata5m").out
    rows = {row[:30].strip(): row[30:].strip() for row in out.splitlines()}
    assert float(rows["expected by chance"]) == pytest.approx(found.expectation, rel=1e-5)
    assert float(rows["standard deviation"]) == pytest.approx(found.variance**0.5, rel=1e-5)


def test_one_task_is_told_in_the_singular(run: Run, files: Files, folder: Path) -> None:
    out = run("adjust", "mr", "7", "--candidates", "10", "--tasks", "1").out
    assert out.splitlines()[0].split() == ["mr", "1", "task"]
    for name, above in (("a", 0), ("b", 3)):
        tr.Ranks([above], [1], 10).save(folder / f"{name}.npz")
    out = run("compare", *files("a.npz b.npz --resamples 1")).out
    assert "1 task, paired by position; 1 resample, seed 0." in out


def test_pairings_that_differ_are_told_by_pair(run: Run, files: Files, folder: Path) -> None:
    for name, queries in (("a", [1, 2]), ("b", [1, 2]), ("c", None)):
        tr.Ranks([0, 1], [1, 1], 9, queries=queries).save(folder / f"{name}.npz")
    out = run("compare", *files("a.npz b.npz c.npz"), "--resamples", "9").out
    told = "paired by query ids (a - b), by position (a - c, b - c); 9 resamples"
    assert told in out
    assert "paired by position only" not in out


def test_floats_are_bad_candidates(run: Run, files: Files) -> None:
    code, out, err = run("adjust", "mr", "7", *files("--candidates scores.npy"))
    assert (code, out) == (1, "")
    assert err.startswith("Error: --candidates: ")


@pytest.mark.skipif(os.name == "nt", reason="closed descriptors are POSIX here")
def test_no_standard_output_at_all_is_an_error_of_one_line(folder: Path, files: Files) -> None:
    tr.rank(SCORES, TARGETS).save(folder / "ranks.npz")
    for arguments in (["evaluate", *files("ranks.npz"), "--format", "json"], ["info"]):
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "truerank", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, "Error: standard output: closed\n")


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
    for line in (["--help"], ["evaluate", "-h"], ["compare", "-h"], ["adjust", "-h"]):
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
    heading = ["both", "(4", "tasks)", "optimistic", "realistic", "pessimistic", "expected"]
    assert heading in [line.split() for line in outcome.out.splitlines()]
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
    assert "\n\n\n" not in outcome.out


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
    assert out.split()[-4:] == ["key", "value", "mrr", "nan"]
    np.save(tmp_path / "one.npy", SCORES[0])
    code, out, err = run("evaluate", tmp_path / "one.npy", "0", "--metrics", "mrr")
    assert (code, err) == (0, "")
    assert out.split()[-4:] == ["key", "value", "mrr", "1"]


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
