"""`truerank adjust`: adjusts a published number, without its model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import Files, Run

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files


def test_a_published_number(run: Run, folder: Path) -> None:
    line = ["adjust", "mr", "7000", "--candidates", "40943", "--tasks", "6268"]
    found = tr.adjust("mr", 7000, candidates=40943, tasks=6268)
    code, out, err = run(*line)
    assert (code, err) == (0, "")
    table = {row[:30].strip(): row[30:].strip() for row in out.splitlines()}
    assert table["mr"] == "6,268 tasks"
    assert table["index (0 is chance, 1 perfect)"] == f"{found.index:.6g}"
    assert table["z (in standard deviations)"] == f"{found.z:.6g}"
    assert json.loads(run(*line, "--format", "json").out) == found.to_dict()
    assert table["log10 p (as good by chance)"] == f"{found.log10_p:.6g} (convolution)"
    header, row = run(*line, "--format", "csv").out.splitlines()
    assert header == ",".join(name for name in found._fields if name not in ("notes", "bounds"))
    assert row.split(",")[:2] == ["mr", "7000.0"]
    np.save(folder / "counts.npy", np.full(6268, 40943))
    again = run("adjust", "mr", "7000", "--candidates", folder / "counts.npy")
    assert again.out == out


def test_a_published_number_of_a_data_set(run: Run) -> None:
    line = ["adjust", "hits@10", "0.5", "--dataset", "WN18RR", "--split", "valid", "--side", "tail"]
    found = tr.adjust("hits@10", 0.5, dataset="wn18rr", split="valid", side="tail", filtered=True)
    stored = json.loads(run(*line, "--filtered", "--format", "json").out)
    about = {"dataset": "WN18RR", "split": "valid", "side": "tail", "filtered": True}
    assert stored == {**about, **found.to_dict()}
    lines = run(*line, "--filtered").out.splitlines()
    assert lines[0].startswith("WN18RR, valid, tail, filtered: 40,")
    assert "wn18rr-seen" in lines[1]


def test_the_filtered_candidates_of_fb15k237(run: Run) -> None:
    out = run("adjust", "mrr", "0.3", "--dataset", "fb15k237", "--filtered").out.splitlines()
    assert out[0] == (
        "FB15k-237, test, head and tail, filtered: 10,178 to 14,541 (14,305.63 on average) "
        "candidates."
    )


def test_bounds_of_a_data_set(run: Run) -> None:
    line = ["adjust", "mrr", "0.3", "--dataset", "fb15k", "--filtered"]
    found = tr.adjust("mrr", 0.3, dataset="fb15k", filtered=True)
    assert found.bounds is not None
    out = run(*line).out.splitlines()
    assert out[0] == (
        "FB15k, test, head and tail, filtered: at least 9,250 (13,920.45 on average), at most "
        "14,951 candidates."
    )
    assert out[-1] == found.notes[0]
    stored = json.loads(run(*line, "--format", "json").out)
    assert stored["bounds"] == {name: list(ends) for name, ends in found.bounds._asdict().items()}
    assert stored["notes"] == list(found.notes)
    code, text, err = run(*line, "--format", "csv")
    header, row = text.splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(cells["index_low"]) == found.bounds.index[0]
    assert float(cells["z_high"]) == found.bounds.z[1]
    assert (code, err.strip()) == (0, found.notes[0])


def test_nan_is_null_in_json(run: Run) -> None:
    line = ["adjust", "hits@10", "1", "--candidates", "8", "--tasks", "3", "--format", "json"]
    assert json.loads(run(*line).out)["index"] is None


def test_small_values_keep_their_digits(run: Run) -> None:
    found = tr.adjust("hits@1", 0.2, dataset="wikidata5m")
    out = run("adjust", "hits@1", "0.2", "--dataset", "wikidata5m").out
    rows = {row[:30].strip(): row[30:].strip() for row in out.splitlines()}
    assert float(rows["expected by chance"]) == pytest.approx(found.expectation, rel=1e-5)
    assert float(rows["standard deviation"]) == pytest.approx(found.variance**0.5, rel=1e-5)


def test_floats_are_bad_candidates(run: Run, files: Files) -> None:
    code, out, err = run("adjust", "mr", "7", *files("--candidates scores.npy"))
    assert (code, out) == (1, "")
    assert err.startswith("Error: --candidates: ")
