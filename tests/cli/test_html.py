"""`--html`: the page that a command writes in addition to its output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import cli_files
from support.cli_files import Files, Run
from support.html_reader import Page
from truerank import Ranks, Report, load, report
from truerank.cli import demo

pytestmark = pytest.mark.python_only

pytest.importorskip("matplotlib", reason="pages have plots")

run, folder, files = cli_files.run, cli_files.folder, cli_files.files


def page_of(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture
def saved(run: Run, folder: Path, files: Files) -> Path:
    """Save ranks with two relations."""
    np.save(folder / "relations.npy", np.array(["<i>a</i>", "b", "b", "b"]))
    line = "evaluate scores.npy targets.npy --relation relations.npy --side tail --save ranks.npz"
    assert run(*files(line)).code == 0
    return folder / "ranks.npz"


def test_page_of_scores(run: Run, folder: Path, files: Files) -> None:
    page = folder / "r.html"
    plain = run(*files("evaluate scores.npy targets.npy"))
    assert run(*files("evaluate scores.npy targets.npy --html"), page) == plain
    found = page_of(page)
    assert Report.from_json(found.json()).tasks() == 4
    assert "truerank evaluate" in found.words
    assert "rank(..., audit=True)" in found.words  # a finding that mentions options


def test_page_of_saved_ranks(run: Run, saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    words = ["--by", "relation", "--metrics", "macro.mrr", "--interval", "--html", page]
    assert run("evaluate", saved, *words).code == 0
    found = page_of(page)
    assert "<i>a</i>" in found.cells
    assert f"truerank evaluate {saved} --by relation" in found.words
    assert Report.from_json(found.json()) == report(load(saved), by="relation")


def test_page_of_link_prediction(run: Run, tmp_path: Path) -> None:
    model = demo.load_model()
    head, relation, tail = model.test[:40].T
    arrays = {
        "test": model.test[:40],
        "train": model.train,
        "E": model.entities,
        "T": model.entities[head] + model.relations[relation],
        "H": model.entities[tail] + model.relations[relation + 25],
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    page = tmp_path / "r.html"
    options = {"test": "test", "train": "train", "entities": "E", "queries-tail": "T"}
    options["queries-head"] = "H"
    words = [w for name, file in options.items() for w in (f"--{name}", tmp_path / f"{file}.npy")]
    code, _, err = run("link-prediction", *words, "--similarity", "l1", "--html", page)
    assert (code, err) == (0, "")
    found = page_of(page)
    assert "Link prediction of test" in found.words
    assert "distinct queries: head" in found.words
    assert found.count("svg") == 3


def test_page_of_alignment(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("left", "right"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(20, 4)))
    np.save(tmp_path / "pairs.npy", np.stack([np.arange(20)] * 2, axis=1))
    names = [tmp_path / f"{name}.npy" for name in ("left", "right", "pairs")]
    assert run("alignment", *names, "--html", tmp_path / "r.html").code == 0
    found = page_of(tmp_path / "r.html")
    assert "Entity alignment of test" in found.words
    assert "left_to_right" in found.cells


def test_page_of_compared_models(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["a<b>", "plain", "third"]
    for name in names:
        above = rng.integers(0, 50, 60)
        labels: dict[str, Any] = {"queries": np.arange(60), "relation": np.arange(60) % 3}
        Ranks(above, np.ones(60, int), 99, **labels).save(tmp_path / f"{name}.npz")
    paths, page = [tmp_path / f"{name}.npz" for name in names], tmp_path / "r.html"
    words = ["compare", *paths, "--metric", "hits@10"]
    assert run(*words, "--html", page) == run(*words)
    found = page_of(page)
    assert found.count("svg") == 4
    assert "a<b>, plain, third" in found.words
    assert {"a<b>", "plain"} <= set(found.cells)
    assert [pair["metric"] for pair in json.loads(found.json())["comparisons"].values()] == [
        "hits@10"
    ] * 3
    page.unlink()
    words = ["compare", *paths[:2], "--metric", "macro.mrr", "--by", "relation", "--html", page]
    assert run(*words).code == 0
    assert "macro.MRR \u2191" in page_of(page).cells


def test_page_of_models_with_different_protocols(run: Run, tmp_path: Path) -> None:
    ranks = Ranks([0, 3, 1], [1, 1, 1], 9)
    ranks.save(tmp_path / "a.npz")
    ranks.with_protocol(split="valid").save(tmp_path / "b.npz")
    words = ["compare", tmp_path / "a.npz", tmp_path / "b.npz", "--html", tmp_path / "r.html"]
    assert run(*words).code == 1
    assert not (tmp_path / "r.html").exists()
    assert run(*words, "--allow-unlike").code == 0
    assert {"Split", "valid"} <= set(page_of(tmp_path / "r.html").cells)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("evaluate ranks.npz --html ranks.npz", "--html: {}/ranks.npz is one of the files to be"),
        ("evaluate ranks.npz --save x.npz --html x.npz", "--html: {}/x.npz is the file of --save"),
        ("evaluate ranks.npz --html no/x.npz", "--html: no folder"),
        ("evaluate scores.npy targets.npy --html scores.npy", "--html: {}/scores.npy is one of"),
        ("evaluate scores.npy targets.npy --html targets.npy", "--html: {}/targets.npy is one of"),
        ("compare ranks.npz other.npz --html other.npz", "--html: {}/other.npz is one of the"),
    ],
)
def test_paths_that_are_refused(
    run: Run, saved: Path, files: Files, words: str, message: str
) -> None:
    (saved.parent / "other.npz").write_bytes(saved.read_bytes())
    before = {path: path.read_bytes() for path in saved.parent.iterdir()}
    code, out, err = run(*files(words))
    assert (code, out) == (1, "")
    assert err.startswith(f"Error: {message.format(saved.parent)}")
    assert err.count("\n") == 1
    assert {path: path.read_bytes() for path in saved.parent.iterdir()} == before


def test_nothing_is_counted_for_a_page_that_cannot_be_drawn(
    run: Run, folder: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    words = files("evaluate scores.npy targets.npy --save x.npz --html")
    code, out, err = run(*words, folder / "r.html")
    assert (code, out) == (2, "")
    assert err == "Error: an HTML page needs matplotlib: pip install 'truerank[plot]'\n"
    assert not (folder / "x.npz").exists()


def test_page_is_written_even_if_the_pipe_is_closed(
    run: Run, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import click

    from truerank.cli import report_request

    def closed(_text: str) -> None:
        raise click.exceptions.Exit(141)

    monkeypatch.setattr(report_request, "emit", closed)
    assert run("evaluate", saved, "--html", tmp_path / "r.html").code == 141
    assert page_of(tmp_path / "r.html").count("svg") == 3
