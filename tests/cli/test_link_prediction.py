"""`truerank link-prediction`: triples and a model in files, as a Task of Python evaluates them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import Outcome, Run
from truerank.link_prediction import Task, read_predictions

pytestmark = pytest.mark.python_only

run = cli_files.run

ENTITIES, RELATIONS = 12, ("knows", "likes", "of")
SPLITS = {"train": slice(18, None), "valid": slice(10, 18), "test": slice(0, 10)}
GIVEN = {"head": [1, 2], "tail": [0, 1]}
NO_KNOWN = (
    "Warning: no --train, --valid or --known: only the answers in --test are left out, so that "
    "other true answers count as wrong ones\n"
)


class World(NamedTuple):
    """A small graph whose triples are names, and a model of it in small integers."""

    names: list[str]
    triples: np.ndarray
    entities: np.ndarray
    queries: dict[str, np.ndarray]

    def split(self, name: str) -> np.ndarray:
        return self.triples[SPLITS[name]]

    def scores(self, side: str) -> np.ndarray:
        """Compute negative L1 distances; sums of integers do not depend on their order."""
        gaps = self.queries[side][:, None] - self.entities[None]
        return -np.abs(gaps).sum(2)

    def text(self, name: str) -> str:
        rows = self.split(name).tolist()
        return "".join(f"{self.names[h]}\t{RELATIONS[r]}\t{self.names[t]}\n" for h, r, t in rows)


@cache
def world() -> World:
    rng = np.random.default_rng(5)
    drawn = {tuple(rng.integers((ENTITIES, 3, ENTITIES)).tolist()) for _ in range(60)}
    ring = {(i, i % 3, (i + 1) % ENTITIES) for i in range(ENTITIES)}  # all of these are in train
    rest = np.array(sorted(drawn - ring))
    triples = np.concatenate([rng.permutation(rest), sorted(ring)])
    numbers = rng.integers(-3, 4, (3, ENTITIES, 6)).astype(np.float32)
    names = [f"person {i:02d}" for i in range(ENTITIES)]
    return World(names, triples, numbers[0], {"tail": numbers[1, :10], "head": numbers[2, :10]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write all files of the world to the current folder of the commands."""
    monkeypatch.chdir(tmp_path)
    found = world()
    for name in SPLITS:
        (tmp_path / f"{name}.txt").write_text(found.text(name))
        np.save(tmp_path / f"{name}.npy", found.split(name))
    np.save(tmp_path / "E.npy", found.entities)
    np.save(tmp_path / "bias.npy", np.arange(ENTITIES, dtype=np.float32) % 3)
    for side in GIVEN:
        np.save(tmp_path / f"{side}s.npy", found.queries[side])
        np.save(tmp_path / f"{side}_scores.npy", found.scores(side))
    return tmp_path


ASSUMED_ORDER = (
    "Warning: entities: columns are taken in ascending order of the labels, since no list gives "
    "their order\n"
)
KNOWN = "--train train.txt --valid valid.txt --test test.txt"
VECTORS = "--entities E.npy --queries-tail tails.npy --queries-head heads.npy --similarity l1"
SCORES = "--scores-tail tail_scores.npy --scores-head head_scores.npy"
IDS = "--train train.ids --valid valid.ids --test test.ids --ids"
TAILS = "--entities E.npy --queries-tail tails.npy --similarity l1"
MOVED = VECTORS.replace("E.npy", "moved_E.npy")
RAW = VECTORS.replace(".npy", "16.npy")


@pytest.fixture
def predict(run: Run, folder: Path) -> Callable[..., Outcome]:
    """Run the command with the words of a line, and further words.

    The names of the world are in ascending order; the warning that this was assumed is dropped.
    """

    def predict(line: str, *more: str) -> Outcome:
        code, out, err = run("link-prediction", *line.split(), *more)
        return Outcome(code, out, err.replace(ASSUMED_ORDER, ""))

    return predict


Predict = Callable[..., Outcome]


def in_python(candidates: Any = "all", bias: Any = None, **facts: Any) -> tr.Ranks:
    """Evaluate the model of the world by the names of its entities."""
    found = world()
    known = {"train": "train.npy", "valid": "valid.npy"}
    task = Task(
        "test.npy", **{"known": known, "entities": ENTITIES, **facts}, candidates=candidates
    )
    vectors = {side: found.queries[side] for side in task.sides}
    options: dict[str, Any] = {"entities": found.entities, "similarity": "l1", "bias": bias}
    return task.evaluate_embeddings(**vectors, **options).ranks


def counts_of(ranks: tr.Ranks) -> list[tuple[int, int, int]]:
    columns = (ranks.above, ranks.tied, ranks.candidates)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (f"{KNOWN} {SCORES} --io read", {}),
        (f"{KNOWN} {VECTORS} --threads 1 --nan omit --split dev --by degree", {"split": "dev"}),
        (f"{KNOWN} {VECTORS} --bias bias.npy", {"bias": np.arange(ENTITIES, dtype="f4") % 3}),
        (f"--test test.txt --train train.txt {SCORES}", {"known": {"train": "train.npy"}}),
        (f"--test test.npy {VECTORS}", {"known": {}}),
        (
            f"--test test.txt --known train=train.txt --known rest=valid.txt {VECTORS}",
            {"known": {"train": "train.npy", "rest": "valid.npy"}},
        ),
        (f"{IDS} {VECTORS}", {}),
        (f"{KNOWN} --sides tail {TAILS}", {"sides": ("tail",)}),
        (f"{KNOWN} {SCORES} --candidates typed", {"candidates": "typed"}),
        (f"{KNOWN} {VECTORS} --candidates all.npy", {"candidates": np.arange(ENTITIES)}),
        (f"{KNOWN} {MOVED} --entity-labels moved.txt", {}),
        (f"{KNOWN} {RAW} --dtype bfloat16", {}),
    ],
)
def test_options_are_keywords_of_the_task(
    predict: Predict, folder: Path, line: str, facts: dict[str, Any]
) -> None:
    np.save("all.npy", np.arange(ENTITIES))
    for name in SPLITS:
        np.savetxt(f"{name}.ids", world().split(name), fmt="%d", delimiter="\t")
    for name in ("E", "tails", "heads"):
        np.save(f"{name}16.npy", np.load(f"{name}.npy").astype(ml_dtypes.bfloat16).view("V2"))
    # another order, and more names than the triples have
    order = np.random.default_rng(1).permutation(ENTITIES)
    Path("moved.txt").write_text("\n".join([*(world().names[i] for i in order), "nobody"]))
    np.save("moved_E.npy", np.concatenate([world().entities[order], [[1000] * 6]]).astype("f4"))
    code, out, err = predict(f"{line} --save ranks.npz")
    has_known = "--train" in line or "--known" in line
    assert (code, err) == (0, "" if has_known else NO_KNOWN)
    ranks, counts = tr.load("ranks.npz"), counts_of(in_python(**facts))
    if "moved" in line:  # one more candidate, below all others
        counts = [(above, tied, n + 1) for above, tied, n in counts]
    assert counts_of(ranks) == counts
    assert ranks.protocol.split == facts.get("split", "test")
    files = {word for word in line.split() if word.endswith((".txt", ".npy"))}
    assert {word.rpartition("=")[2] for word in files} <= set(ranks.protocol.files)
    assert "MRR" in out


def test_orders_and_headers_are_said(run: Run, folder: Path) -> None:
    line = f"link-prediction {KNOWN} {SCORES}".split()
    assert run(*line).err == ASSUMED_ORDER
    (folder / "names.txt").write_text("\n".join(world().names))
    assert run(*line, "--entity-labels", "names.txt").err == ""
    text = (folder / "train.txt").read_text()
    (folder / "train.txt").write_text(f"# Head\trelation\ttail\n{text}")
    err = run(*line, "--entity-labels", "names.txt").err
    assert 'the first line reads "# Head relation tail", a header: left out' in err


def test_rows_of_the_distinct_queries(predict: Predict, folder: Path) -> None:
    """With --unique, rows belong to the sorted queries, in any order of the test triples."""
    for side, columns in GIVEN.items():
        _, first = np.unique(world().split("test")[:, columns], axis=0, return_index=True)
        np.save(folder / f"{side}_scores.npy", world().scores(side)[first])
    assert predict(f"{KNOWN} {SCORES} --unique --save ranks.npz").code == 0
    assert len(tr.load("ranks.npz")) == 20


def test_relations_are_predicted_too(predict: Predict, folder: Path) -> None:
    np.save(folder / "R.npy", np.eye(3, 6, dtype=np.float32))
    np.save(folder / "relation_scores.npy", world().queries["tail"][:, :3])
    saved = []
    for known in (KNOWN, "--train train.npy --valid valid.npy --test test.npy"):
        vectors = "--relations R.npy --queries-relation tails.npy"
        for model in (vectors, "--scores-relation relation_scores.npy"):
            line = f"{known} --sides relation {model} --save ranks.npz --metrics relation.mrr"
            assert predict(line).code == 0
            saved.append(counts_of(tr.load("ranks.npz")))
    assert saved == saved[:1] * 4
    assert tr.load("ranks.npz").side.counts() == {"relation": 10}


def test_keys_times_and_filters(predict: Predict, folder: Path) -> None:
    for name, ends in {"train": ("b\t1", "c\t2"), "test": ("b\t1", "d\t1")}.items():
        text = "".join(f"a\tlikes\t{end}\tx\n" for end in ends)
        (folder / f"{name}.timed").write_text(text)
    np.save(folder / "four.npy", np.array([[0, 1, 2, 3]] * 2, dtype=np.float32))
    timed = "--train train.timed --test test.timed --sides tail --scores-tail four.npy"
    for keys, candidates in (("", [3, 3]), ("--keys 4,3", [3, 3]), ("--keys none", [2, 2])):
        assert predict(f"{timed} {keys} --save ranks.npz").code == 0
        assert tr.load("ranks.npz").candidates.tolist() == candidates
    (folder / "train.timed").write_text("a\tlikes\tb\t1984\t1986\na\tlikes\tc\t1990\t####\n")
    (folder / "test.timed").write_text("a\tlikes\td\t1986\t1988\n")
    np.save(folder / "four.npy", np.array([[0, 3, 2, 1]], dtype=np.float32))
    names = ["overlap", "fact", "triple", "none"]
    outcome = predict(f"{timed} --time 3,4 --filters {','.join(names)} --json")
    assert (outcome.code, outcome.err) == (0, "")
    report = tr.Report.from_json(outcome.out)
    assert {name: under["mr"] for name, under in report.filters.items()} == dict(
        zip(names, [2.0, 3.0, 1.0, 3.0], strict=True)
    )
    assert predict(f"{timed} --time 3 --filters fact --by relation").code == 0


@pytest.mark.parametrize("kind", ["sampled", "sampled-typed"])
def test_sampled_candidates(predict: Predict, folder: Path, kind: str) -> None:
    line = f"{KNOWN} {VECTORS} --candidates {kind}:3 --metrics mrr --json"
    first = predict(f"{line} --seed 7 --save ranks.npz")
    assert (first.code, first.err) == (0, "")
    protocol = tr.load("ranks.npz").protocol
    assert protocol.sampled
    assert protocol.candidates == f"{'typed' if 'typed' in kind else 'uniform'}-3 seed 7"
    assert max(tr.load("ranks.npz").candidates) == 4
    assert predict(f"{line} --seed 7").out == first.out
    line = f"--known inference=train.txt --test test.txt {VECTORS} --candidates sampled:3:inference"
    assert predict(f"{line} --save ranks.npz").code == 0
    assert tr.load("ranks.npz").protocol.candidates == "uniform-3 of inference seed 0"


@pytest.mark.parametrize(
    ("line", "known", "options"),
    [
        ("", None, {}),
        ("--train train.txt --candidates 20", {"train": "train.txt"}, {"candidates": 20}),
        (
            "--entity-labels names.txt --split dev",
            None,
            {"entities": list("abcde"), "split": "dev"},
        ),
    ],
)
def test_predictions(
    predict: Predict, folder: Path, line: str, known: Any, options: dict[str, Any]
) -> None:
    Path("predictions").write_text(
        "a likes b\nHeads: c\t0.9\ta\t0.5\t\nTails: a\t0.5\t\nc likes b\nHeads:\nTails: b\t1\n"
    )
    Path("train.txt").write_text("c\tlikes\ta\n")
    Path("names.txt").write_text("a\nb\nc\nd\ne\n")
    assert predict(f"--lists predictions {line} --save ranks.npz").code == 0
    expected = read_predictions("predictions").evaluate(known, **options).ranks
    assert tr.load("ranks.npz").with_protocol(files=()) == expected


def test_leaks_are_reported(predict: Predict, folder: Path) -> None:
    first = (folder / "test.txt").read_text().splitlines(keepends=True)[0]
    with (folder / "train.txt").open("a") as file:
        file.write(first)
    line = f"{KNOWN} {VECTORS} --metrics mrr"
    code, out, err = predict(line)
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("Warning: test: 1 (person ")
    assert "leaks" not in out
    assert "leaks: in train 1 (person " in predict(f"{line} --audit").out
    assert "leaks: in train 1 (person " in predict(f"{line} --audit --format csv").err
    outcome = predict(f"{line} --leaks drop --save ranks.npz")
    assert (outcome.code, outcome.err, len(tr.load("ranks.npz"))) == (0, "", 18)
    code, out, err = predict(f"{line} --leaks raise")
    assert (code, out, err.count("\n")) == (1, "", 1)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (f"--test absent.txt {VECTORS}", 1, "absent.txt: No such file or directory"),
        (f"{KNOWN} {VECTORS} --entity-labels no.txt", 1, "no.txt: No such file"),
        (
            f"{KNOWN} {VECTORS} --entity-labels train.txt",
            1,
            "train.txt: line 1: expected one label",
        ),
        (f"{KNOWN} {VECTORS} --entity-labels bad.gz", 1, "bad.gz: damaged gzip file"),
        (f"{KNOWN} {VECTORS} --entity-labels E.npy", 1, "E.npy: expected words"),
        (f"{KNOWN} {VECTORS} --ids", 1, "expected ids of entities from 0 to"),
        (f"{KNOWN} {VECTORS} --keys time", 1, "--keys: expected columns from 3 on"),
        (f"{KNOWN} {VECTORS} --candidates graph", 1, "got 'graph'"),
        (f"{KNOWN} {VECTORS} --candidates sampled:many", 1, "got 'sampled:many'"),
        (f"{KNOWN} {VECTORS} --save E.npy", 1, "--save: E.npy is one of the other files"),
        (f"{KNOWN} {VECTORS} --sides tail", 1, "head: expected None, as the sides of the task are"),
        (VECTORS, 2, "Missing option '--test'"),
        (KNOWN, 2, "expected the vectors of a model, or its scores (--scores-tail, --scores-head"),
        (f"{KNOWN} {VECTORS} {SCORES}", 2, "--entities, --queries-tail, "),
        (f"{KNOWN} {VECTORS} --order ascending", 2, "--order cannot apply to vectors"),
        (f"{KNOWN} {SCORES} --similarity l2 --bias bias.npy", 2, "--similarity, --bias cannot"),
        (f"{KNOWN} {VECTORS} --known other.txt", 2, "expected NAME=FILE, got 'other.txt'"),
        (f"{KNOWN} {VECTORS} --known train=train.txt", 2, "expected a file for each split"),
        (f"{KNOWN} --lists test.txt", 2, "--test cannot apply to predictions"),
    ],
)
def test_wrong_lines(predict: Predict, folder: Path, line: str, code: int, message: str) -> None:
    (folder / "bad.gz").write_bytes(gzip.compress(b"a\nb\n")[:-4])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    predict(line).refuses(code, message)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
