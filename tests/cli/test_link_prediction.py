"""`truerank link-prediction`: triples and a model in files, compared with a plain count."""

from __future__ import annotations

import gzip
import json
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
from truerank.cli import link_prediction_command

pytestmark = pytest.mark.python_only

run = cli_files.run

ENTITIES, RELATIONS = 12, ("knows", "likes", "of")
SPLITS = {"train": slice(18, None), "valid": slice(10, 18), "test": slice(0, 10)}
PREDICTED = {"head": 0, "tail": 2}
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

    def scores(self, side: str, bias: np.ndarray | float = 0) -> np.ndarray:
        """Compute negative L1 distances; sums of integers do not depend on their order."""
        gaps = self.queries[side][:, None] - self.entities[None]
        return (-np.abs(gaps).sum(2) + bias).astype(np.float32)

    def text(self, name: str, names: list[str] | None = None) -> str:
        words = names or self.names
        rows = self.split(name).tolist()
        return "".join(f"{words[h]}\t{RELATIONS[r]}\t{words[t]}\n" for h, r, t in rows)


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
    for side in PREDICTED:
        np.save(tmp_path / f"{side}s.npy", found.queries[side])
        np.save(tmp_path / f"{side}_scores.npy", found.scores(side))
    return tmp_path


ASSUMED_ORDERS = {
    name: f"Warning: {name}: columns are taken in ascending order of the labels, since no list "
    "gives their order\n"
    for name in ("entities", "relations")
}
KNOWN = "--train train.txt --valid valid.txt --test test.txt"
VECTORS = "--entities E.npy --queries-tail tails.npy --queries-head heads.npy --similarity l1"
SCORES = "--scores-tail tail_scores.npy --scores-head head_scores.npy"


@pytest.fixture
def predict(run: Run, folder: Path) -> Callable[..., Outcome]:
    """Run the command with the words of a line, and further words.

    The names of the world are in ascending order; the warning that this was assumed has a test of
    its own and is dropped here.
    """

    def predict(line: str, *more: str) -> Outcome:
        code, out, err = run("link-prediction", *line.split(), *more)
        for note in ASSUMED_ORDERS.values():
            err = err.replace(note, "")
        return Outcome(code, out, err)

    return predict


Predict = Callable[..., Outcome]


def plain(
    known: tuple[str, ...] = ("train", "valid"),
    sides: tuple[str, ...] = ("head", "tail"),
    bias: np.ndarray | float = 0,
    among: Callable[[int, str], set[int]] = lambda relation, side: set(range(ENTITIES)),
) -> list[tuple[int, int, int]]:
    """Count every task by loops and sets, heads before tails."""
    found, counts = world(), []
    true = {tuple(t) for name in (*known, "test") for t in found.split(name).tolist()}
    for side in sides:
        for row, triple in zip(found.scores(side, bias), found.split("test").tolist(), strict=True):
            place, target = PREDICTED[side], triple[PREDICTED[side]]
            others = []
            for entity in among(triple[1], side) - {target}:
                other = (*triple[:place], entity, *triple[place + 1 :])
                if other not in true:
                    others.append(row[entity])
            above, ties = (sum(x > row[target] for x in others), others.count(row[target]))
            counts.append((int(above), 1 + ties, 1 + len(others)))
    return counts


def counts_of(ranks: tr.Ranks) -> list[tuple[int, int, int]]:
    columns = (ranks.above, ranks.tied, ranks.candidates)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def seen_with(relation: int, side: str) -> set[int]:
    """Return the entities that occur on a side with a relation, in any split."""
    triples = world().triples
    return set(triples[triples[:, 1] == relation, PREDICTED[side]].tolist())


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{KNOWN} {VECTORS}", {}),
        (f"{KNOWN} {SCORES}", {}),
        (f"{KNOWN} {VECTORS} --threads 1 --nan omit --split dev --by degree", {}),
        (f"{KNOWN} {VECTORS} --bias bias.npy", {"bias": np.arange(ENTITIES) % 3}),
        (f"--test test.txt --train train.txt {SCORES}", {"known": ("train",)}),
        (f"--test test.npy {VECTORS}", {"known": ()}),
        (f"--test test.txt --known train=train.txt --known rest=valid.txt {VECTORS}", {}),
        (f"--test test.npy --train train.npy --valid valid.npy {VECTORS}", {}),
        (f"{KNOWN} --sides tail --entities E.npy --queries-tail tails.npy --similarity l1", 1),
        (f"{KNOWN} --sides tail --scores-tail tail_scores.npy --io read", 1),
        (f"{KNOWN} {SCORES} --candidates typed", {"among": seen_with}),
        (f"{KNOWN} {VECTORS} --candidates all.npy", {}),
        (f"{KNOWN} {VECTORS} --candidates train", {}),
    ],
)
def test_counts_equal_plain_counts(
    predict: Predict, folder: Path, line: str, expected: Any
) -> None:
    np.save(folder / "all.npy", np.arange(ENTITIES))
    code, out, err = predict(f"{line} --save ranks.npz")
    has_known = "--train" in line or "--known" in line or KNOWN in line
    assert (code, err) == (0, "" if has_known else NO_KNOWN)
    ranks = tr.load(folder / "ranks.npz")
    assert counts_of(ranks) == plain(**({"sides": ("tail",)} if expected == 1 else expected))
    assert ranks.protocol.split == ("dev" if "dev" in line else "test")
    assert f"MRR \u2191{'':7}" in out
    files = {word for word in line.split() if word.endswith((".txt", ".npy")) and "=" not in word}
    assert files <= set(ranks.protocol.files)


def test_an_order_that_was_not_given_is_said(run: Run, folder: Path) -> None:
    """The names are sorted where no labels are given; a matrix may have another order."""
    (folder / "names.txt").write_text("\n".join(world().names))
    line = f"link-prediction {KNOWN} {SCORES}".split()
    for more in ((), ("--audit",)):
        assert run(*line, *more).err == ASSUMED_ORDERS["entities"]
    assert run(*line, "--entity-labels", "names.txt").err == ""
    np.save(folder / "r.npy", np.zeros((10, 3), np.float32))
    relations = f"link-prediction {KNOWN} --sides relation --scores-relation r.npy".split()
    assert run(*relations).err == ASSUMED_ORDERS["relations"]


def test_headers_are_left_out_and_said(predict: Predict, folder: Path) -> None:
    text = (folder / "train.txt").read_text()
    expected = predict(f"{KNOWN} {SCORES}").out
    (folder / "train.txt").write_text(f"# Head\trelation\ttail\n{text}")
    code, out, err = predict(f"{KNOWN} {SCORES}")
    assert (code, out) == (0, expected)
    assert err == (
        'Warning: --train: train.txt: the first line reads "# Head relation tail", a header: left '
        "out\n"
    )
    code, out, err = predict(f"{KNOWN} {SCORES} --audit")
    assert (code, err) == (0, "")
    assert 'header: known["train"]: train.txt: the first line reads "# Head relation tail"' in out


def test_the_table(predict: Predict, run: Run, folder: Path) -> None:
    code, out, err = predict(f"{KNOWN} {VECTORS} --by relation --save ranks.npz")
    assert (code, err) == (0, "")
    first, second, third, *rest = out.splitlines()
    train = len(world().split("train"))
    assert first == f"test: 10 triples, 10 ranked; known: train {train}, valid 8"
    queries = {k: len(np.unique(world().split("test")[:, c], axis=0)) for k, c in GIVEN.items()}
    assert second == (
        f"3 relations; distinct queries: head {queries['head']} (among 12 entities), "
        f"tail {queries['tail']} (among 12 entities)"
    )
    assert third.startswith("20 tasks (head 10 + tail 10), ")
    assert "split test, filtered by train + valid + test, all candidates, nan raise" in third
    assert "float32, l1" in third
    # the rest is what is printed for saved ranks
    later = run("evaluate", "ranks.npz", "--by", "relation")
    assert [third, *rest] == later.out.splitlines()


def test_labels_are_saved_with_the_ranks(predict: Predict, run: Run, folder: Path) -> None:
    assert predict(f"{KNOWN} {SCORES} --save ranks.npz").code == 0
    ranks = tr.load(folder / "ranks.npz")
    assert list(ranks.labels) == ["category", "degree", "head_degree", "tail_degree"]
    assert ranks.relation.values.tolist() == [RELATIONS[r] for _, r, _ in world().split("test")] * 2
    for name in ("category", "degree", "head_degree", "relation"):
        code, out, err = run("evaluate", "ranks.npz", "--by", name, "--format", "csv")
        assert (code, err) == (0, "")
        assert out == tr.report(ranks, by=name).to_csv()
    chosen = ("--metrics", "mrr,macro.mrr", "--by", "category", "--weights", "degree")
    code, out, err = run("evaluate", "ranks.npz", *chosen, "--interval", "--format", "json")
    assert (code, err) == (0, "")
    report = tr.report(ranks, by="category", weights="degree")
    assert json.loads(out)["metrics"] == {key: report[key] for key in ("mrr", "macro.mrr")}
    ranks[::-1][::-1].with_protocol(files=()).save(folder / "other.npz")
    code, out, err = run("compare", "ranks.npz", "other.npz", "--by", "degree")
    assert (code, err) == (0, "")
    for line in ("evaluate ranks.npz --by degre", "compare ranks.npz other.npz --by degre"):
        code, out, err = run(*line.split())
        assert (code, out) == (2, "")
        assert "'--by': expected side, relation, " in err
        assert "tail_degree or a .npy file, got 'degre'" in err
    code, out, err = run("evaluate", "ranks.npz", "--weights", "side")
    assert (code, out) == (2, "")
    assert "'--weights': expected query, relation, target, category, degree" in err


def test_rows_of_the_distinct_queries(predict: Predict, folder: Path) -> None:
    """With --unique, rows belong to the sorted queries, in any order of the test triples."""
    found = world()
    for side, columns in GIVEN.items():
        _, first, back = np.unique(
            found.split("test")[:, columns], axis=0, return_index=True, return_inverse=True
        )
        np.save(folder / f"unique_{side}.npy", found.scores(side)[first])
        np.save(folder / f"same_{side}.npy", found.scores(side)[first][back.reshape(-1)])
    saved = []
    for line in (
        "--scores-tail unique_tail.npy --scores-head unique_head.npy --unique",
        "--scores-tail same_tail.npy --scores-head same_head.npy --audit",
    ):
        outcome = predict(f"{KNOWN} {line} --save ranks.npz --metrics mrr")
        assert (outcome.code, outcome.err) == (0, "")
        assert "\nqueries: " not in outcome.out
        saved.append(tr.load(folder / "ranks.npz"))
    assert counts_of(saved[0]) == counts_of(saved[1])


def test_relations_are_predicted_too(predict: Predict, folder: Path) -> None:
    np.save(folder / "R.npy", np.eye(3, 6, dtype=np.float32))
    line = f"{KNOWN} --sides relation --relations R.npy --queries-relation tails.npy"
    code, out, err = predict(f"{line} --save ranks.npz --metrics relation.mrr")
    assert (code, err) == (0, "")
    assert "distinct queries: relation " in out
    assert "(among 3 relations)" in out
    ranks = tr.load(folder / "ranks.npz")
    assert ranks.side.counts() == {"relation": 10}
    for name in SPLITS:
        np.savetxt(folder / f"{name}.ids", world().split(name), fmt="%d", delimiter="\t")
    ids = "--train train.ids --valid valid.ids --test test.ids --ids"
    line = line.replace(KNOWN, ids)
    assert predict(f"{line} --save ids.npz --metrics relation.mrr").code == 0
    assert counts_of(tr.load(folder / "ids.npz")) == counts_of(ranks)
    scores = world().queries["tail"][:, :3]
    np.save(folder / "relation_scores.npy", scores)
    line = f"{KNOWN} --sides relation --scores-relation relation_scores.npy --metrics relation.mrr"
    assert predict(f"{line} --format csv").out == (
        f"key,value\nrelation.mrr,{tr.report(ranks)['relation.mrr']!r}\n"
    )


def test_files_of_every_kind(predict: Predict, folder: Path) -> None:
    expected = predict(f"{KNOWN} {VECTORS} --metrics mrr --format csv")
    assert expected.code == 0
    found = world()
    for name in SPLITS:
        (folder / f"{name}.tsv.gz").write_bytes(gzip.compress(found.text(name).encode()))
    # another order, and more names than the triples have
    order = np.random.default_rng(1).permutation(ENTITIES)
    rest = ["nobody", "person 99"]
    names = [found.names[i] for i in order] + rest
    far = np.full((2, 6), 1000, np.float32)
    np.save(folder / "moved.npy", np.concatenate([found.entities[order], far]))
    (folder / "names.txt").write_text("\n".join(names))
    (folder / "names.txt.gz").write_bytes(gzip.compress("\r\n".join(names).encode()))
    np.save(folder / "names.npy", np.array(names))
    zipped = "--train train.tsv.gz --valid valid.tsv.gz --test test.tsv.gz"
    moved = VECTORS.replace("E.npy", "moved.npy")
    for file in ("names.txt", "names.txt.gz", "names.npy"):
        line = f"{zipped} {moved} --entity-labels {file} --metrics mrr --format csv"
        outcome = predict(line)
        assert outcome == expected, file
    # text of ids, and patterns of shards
    for name in SPLITS:
        np.savetxt(folder / f"{name}.ids", found.split(name), fmt="%d", delimiter="\t")
    (folder / "relations.txt").write_text("knows\nlikes\nof\n")
    ids = "--train train.ids --valid valid.ids --test test.ids --ids"
    assert predict(f"{ids} {VECTORS} --metrics mrr --format csv") == expected
    for i, part in enumerate(np.split(found.scores("tail"), [4])):
        np.save(folder / f"part-{i}.npy", part)
    shards = ("--scores-tail", "part-*.npy", "--scores-head", "head_scores.npy")
    assert predict(f"{KNOWN} --metrics mrr --format csv", *shards) == expected
    raw = found.entities.astype(ml_dtypes.bfloat16).view("V2")
    np.save(folder / "raw.npy", raw)
    line = VECTORS.replace("E.npy", "raw.npy")
    for side in PREDICTED:
        np.save(folder / f"{side}s.npy", found.queries[side].astype(ml_dtypes.bfloat16).view("V2"))
    line = f"{KNOWN} {line} --dtype bfloat16 --metrics mrr --format csv"
    assert predict(line) == expected


def test_relations_that_are_numbers(predict: Predict, folder: Path) -> None:
    """Relations in text may be ids, or names such as 10 whose order is given."""
    found = world()
    names = found.names
    for split in SPLITS:
        rows = found.split(split).tolist()
        text = "".join(f"{names[h]}\t{r}\t{names[t]}\n" for h, r, t in rows)
        (folder / f"{split}.mixed").write_text(text)
    (folder / "names.txt").write_text("\n".join(names))
    (folder / "relations.txt").write_text("0\n1\n2\n")
    np.save(folder / "R.npy", np.eye(3, 6, dtype=np.float32))
    mixed = "--train train.mixed --valid valid.mixed --test test.mixed"
    relations = "--sides relation --relations R.npy --queries-relation tails.npy"
    for model in (VECTORS, relations):
        assert predict(f"{KNOWN} {model} --save expected.npz").code == 0
        expected = counts_of(tr.load(folder / "expected.npz"))
        for how in (
            "--relation-labels relations.txt",
            "--relation-labels relations.txt --entity-labels names.txt",
            "--ids --entity-labels names.txt",
        ):
            outcome = predict(f"{mixed} {model} {how} --save ranks.npz")
            assert (outcome.code, outcome.err) == (0, "")
            assert counts_of(tr.load(folder / "ranks.npz")) == expected


def test_keys_of_queries(predict: Predict, folder: Path) -> None:
    """Answers that are known for another time are left out unless the time is a key."""
    for name, ends in {"train": ("b\t1", "c\t2"), "test": ("b\t1", "d\t1")}.items():
        text = "".join(f"a\tlikes\t{end}\tx\n" for end in ends)
        (folder / f"{name}.timed").write_text(text)
    np.save(folder / "four.npy", np.array([[0, 1, 2, 3]] * 2, dtype=np.float32))
    line = "--train train.timed --test test.timed --sides tail --scores-tail four.npy --leaks keep"
    for keys, candidates in (
        ("", [3, 3]),
        ("--keys 3", [3, 3]),
        ("--keys 4,3", [3, 3]),
        ("--keys 4", [2, 2]),
        ("--keys none", [2, 2]),
    ):
        code, _, err = predict(f"{line} {keys} --save ranks.npz")
        assert (code, err.count("\n")) == (0, 1)
        assert tr.load(folder / "ranks.npz").candidates.tolist() == candidates


def test_filters_by_time(predict: Predict, folder: Path) -> None:
    (folder / "train.timed").write_text("a\tlikes\tb\t1984\t1986\na\tlikes\tc\t1990\t####\n")
    (folder / "test.timed").write_text("a\tlikes\td\t1986\t1988\n")
    np.save(folder / "four.npy", np.array([[0, 3, 2, 1]], dtype=np.float32))
    line = "--train train.timed --test test.timed --sides tail --scores-tail four.npy"
    names = ["overlap", "fact", "triple", "none"]
    outcome = predict(f"{line} --time 3,4 --filters {','.join(names)} --format json")
    assert (outcome.code, outcome.err) == (0, "")
    report = tr.Report.from_json(outcome.out)
    assert {name: under["mr"] for name, under in report.filters.items()} == dict(
        zip(names, [2.0, 3.0, 1.0, 3.0], strict=True)
    )
    assert predict(f"{line} --time 3,4 --filters overlap --save ranks.npz").code == 0
    assert tr.load(folder / "ranks.npz").protocol.filter_rule == "overlap"


def test_macro_weights(predict: Predict, folder: Path) -> None:
    line = f"{KNOWN} {VECTORS} --by relation --save ranks.npz --format json"
    outcome = predict(f"{line} --macro-weights count")
    assert (outcome.code, outcome.err) == (0, "")
    ranks = tr.load(folder / "ranks.npz")
    report = tr.report(ranks, by="relation", macro_weights="count")
    assert tr.Report.from_json(outcome.out)["macro.mrr"] == report["macro.mrr"]
    assert report["macro.mrr"] != tr.report(ranks, by="relation")["macro.mrr"]


def test_help_says_what_is_left_out(predict: Predict) -> None:
    text = " ".join(predict("--help").out.split())
    assert "Without known triples, only the answers in --test are left out" in text


def test_order_of_scores(predict: Predict, folder: Path) -> None:
    expected = predict(f"{KNOWN} {SCORES} --metrics mrr --format csv").out
    for side in PREDICTED:
        np.save(folder / f"{side}_scores.npy", -world().scores(side))
    line = f"{KNOWN} {SCORES} --order ascending --metrics mrr --format csv"
    assert predict(line).out == expected


@pytest.mark.parametrize("kind", ["sampled", "sampled-typed"])
def test_sampled_candidates(predict: Predict, folder: Path, kind: str) -> None:
    line = f"{KNOWN} {VECTORS} --candidates {kind}:3 --metrics mrr"
    first = predict(f"{line} --seed 7 --save ranks.npz")
    assert (first.code, first.err) == (0, "")
    word = "typed" if "typed" in kind else "uniform"
    assert f"candidates {word}-3 seed 7 (sampled)" in first.out
    assert max(tr.load(folder / "ranks.npz").candidates) == 4
    assert predict(f"{line} --seed 7").out == first.out


def test_candidates_of_a_named_split(predict: Predict, folder: Path) -> None:
    """An inductive model is told by the graph on which it infers, all of it or a sample."""
    named = f"--known inference=train.txt --test test.txt {VECTORS}"
    expected = plain(known=("train",))
    code, out, err = predict(f"{named} --candidates inference --save ranks.npz")
    assert (code, err) == (0, "")
    assert "candidates inference" in out
    assert counts_of(tr.load(folder / "ranks.npz")) == expected  # all entities are in train
    code, out, err = predict(f"{named} --candidates sampled:3:inference --save ranks.npz")
    assert (code, err) == (0, "")
    assert "candidates uniform-3 of inference seed 0 (sampled)" in out
    assert max(tr.load(folder / "ranks.npz").candidates) == 4
    code, _, err = predict(f"{named} --candidates graph")
    assert code == 1
    assert err.startswith("Error: --candidates: expected one of all, train, typed, another known")
    assert "got 'graph'; the known splits: inference" in err


# -- what is reported ------------------------------------------------------------------------------


def test_leaks_are_reported(predict: Predict, folder: Path) -> None:
    text = (folder / "test.txt").read_text()
    first = text.splitlines(keepends=True)[0]
    with (folder / "train.txt").open("a") as file:
        file.write(first)
    line = f"{KNOWN} {VECTORS} --metrics mrr"
    code, out, err = predict(line)
    assert code == 0
    assert err.startswith("Warning: test: 1 (person ")
    assert err.endswith("(--leaks drop leaves them out)\n")
    assert "leaks" not in out
    code, out, err = predict(f"{line} --audit")
    assert (code, err) == (0, "")
    assert "leaks: in train 1 (person " in out
    assert out.index("leaks:") > out.index("mrr")
    code, out, err = predict(f"{line} --audit --format csv")
    assert out.startswith("key,value\nmrr,")
    assert "\nleaks: in train 1 (person " in err
    code, out, err = predict(f"{line} --leaks drop")
    assert (code, err) == (0, "")
    assert out.startswith("test: 10 triples, 9 ranked; ")
    code, out, err = predict(f"{line} --leaks raise")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("Error: --test: 1 (person ")


def test_different_rows_of_a_query_are_reported(predict: Predict, folder: Path) -> None:
    outcome = predict(f"{KNOWN} {SCORES} --audit --metrics mrr --save ranks.npz")
    unlike = int(tr.load(folder / "ranks.npz").audit.mismatched.sum())
    assert unlike
    assert f"\nqueries: {unlike} tasks have rows that differ from the first row" in outcome.out


@pytest.mark.parametrize("style", ["markdown", "latex", "html", "json", "csv"])
def test_formats(predict: Predict, folder: Path, style: str) -> None:
    line = f"{KNOWN} {VECTORS} --format {style}"
    code, out, err = predict(f"{line} --save ranks.npz")
    has_known = "--train" in line or "--known" in line or KNOWN in line
    assert (code, err) == (0, "" if has_known else NO_KNOWN)
    report = tr.report(tr.load(folder / "ranks.npz"))
    if style == "json":
        content = json.loads(out)
        assert content["task"]["audit"]["known"]["valid"] == 8
        assert content["task"]["sides"]["head"]["columns"] == ENTITIES
        assert tr.Report.from_json(out) == report
    elif style == "csv":
        assert out == report.to_csv()
    else:
        made = {"markdown": report.to_markdown, "latex": report.to_latex}
        whole = made.get(style, report._repr_html_)()
        assert out.endswith(whole.rstrip("\n") + "\n")
        assert "test: 10 triples, 10 ranked; known: train" in out.replace(whole, "")
        assert "leaks: none" in predict(f"{line} --audit").out


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"--test absent.txt {VECTORS}", "Error: --test: absent.txt: No such file or directory"),
        (f"{KNOWN} {VECTORS} --valid absent.npy", "Error: --valid: absent.npy: No such file"),
        (f"{KNOWN} {VECTORS} --known more=no.npy", "Error: --known more: no.npy: No such file"),
        (f"{KNOWN} {VECTORS} --entities absent.npy", "Error: --entities: absent.npy: No such file"),
        (f"{KNOWN} {VECTORS} --bias absent.npy", "Error: --bias: absent.npy: No such file"),
        (f"{KNOWN} {VECTORS} --by absent.npy", "Error: --by: absent.npy: No such file"),
        (f"{KNOWN} {VECTORS} --entity-labels no.txt", "Error: --entity-labels: no.txt: No such"),
        (f"{KNOWN} {SCORES} --scores-tail absent.npy", "Error: --scores-tail: absent.npy: No such"),
        (
            f"{KNOWN} {VECTORS} --entities E.txt",
            "--entities: E.txt: expected a .npy file, the header",
        ),
        (f"{KNOWN} {VECTORS} --queries-head few.npy", "--queries-head: expected vectors of shape"),
        (f"{KNOWN} {VECTORS} --queries-tail narrow.npy", "vectors of length 3, as in"),
        (f"{KNOWN} {VECTORS} --entities few.npy", "--entity-labels"),
        (f"{KNOWN} {VECTORS} --bias few.npy", "--bias: "),
        (f"{KNOWN} {SCORES} --scores-head few.npy", "--scores-head: expected scores of shape"),
        (f"{KNOWN} {SCORES} --scores-tail tall.npy", "expected scores of shape (10, 12)"),
        (f"{KNOWN} --sides tail --scores-tail few.npy", "name 12 entities, but there are 6 in"),
        (f"{KNOWN} {VECTORS} --entity-labels two.txt", "ids from 0 to 1, got 'person"),
        (f"{KNOWN} {VECTORS} --entity-labels twice.txt", "--entity-labels: 'a' occurs twice"),
        (f"{KNOWN} {VECTORS} --entity-labels train.txt", "train.txt: line 1: expected one label"),
        (f"{KNOWN} {VECTORS} --entity-labels bad.gz", "--entity-labels: bad.gz: damaged gzip file"),
        (f"{KNOWN} {VECTORS} --entity-labels E.npy", "--entity-labels: E.npy: expected words"),
        (f"{KNOWN} {VECTORS} --relation-labels two.txt", "expected labels of relations"),
        (f"{KNOWN} {VECTORS} --train train.npy", "--train: train.npy: expected labels, as other"),
        (f"{KNOWN} {VECTORS} --ids", "expected ids of entities from 0 to"),
        (f"{KNOWN} {VECTORS} --test two.txt", "Error: --test: two.txt: line 1: expected at"),
        (f"{KNOWN} {VECTORS} --split dev --test two.txt", "Error: --test: two.txt: line 1: "),
        (f"{KNOWN} {VECTORS} --train two.txt", "Error: --train: two.txt: line 1: expected at"),
        (f"{KNOWN} {VECTORS} --known a=two.txt", "Error: --known a: two.txt: line 1: expected at"),
        (f"--test test.txt --known train=two.txt {VECTORS}", "Error: --known train: two.txt: line"),
        (f"{KNOWN} {VECTORS} --valid triples.gz", "Error: --valid: triples.gz: damaged gzip file"),
        (f"{KNOWN} {VECTORS} --test none.txt", "Error: --test: expected at least one triple"),
        (f"--test none.txt {VECTORS}", "Error: --test: expected at least one triple"),
        (f"--test tails.npy {VECTORS}", "Error: --test: tails.npy: expected integers"),
        (f"{KNOWN} {VECTORS} --keys 3", "Error: --keys: expected distinct columns from 3 on, of"),
        (f"{KNOWN} {VECTORS} --time 3", "Error: --time: expected distinct columns from 3 on, of"),
        (f"{KNOWN} {VECTORS} --filters overlap", 'Error: --filters: "overlap" needs the column of'),
        (f"{KNOWN} {VECTORS} --filters known", "Error: --filters: expected one of query, triple,"),
        (f"--ids --test bad.ids {VECTORS}", "Error: --test: expected ids of entities from 0"),
        (f"--ids --test numbers.txt --entity-labels two.txt {VECTORS}", "--test: expected labels"),
        (f"{KNOWN} {VECTORS} --candidates few.npy", "--candidates: expected integers"),
        (f"--test test.txt {VECTORS} --unseen drop", "--unseen: expected"),
        (f"{KNOWN} {VECTORS} --save test.txt", "--save: test.txt is one of the files to be read"),
        (f"{KNOWN} {VECTORS} --save E.npy", "--save: E.npy is one of the files to be read"),
        (f"{KNOWN} {VECTORS} --by two.npy --save two.npy", "--save: two.npy is one of the files"),
        (f"{KNOWN} {VECTORS} --weights two.npy --save two.npy", "--save: two.npy is one of the"),
        (f"{KNOWN} {VECTORS} --save nowhere/ranks.npz", "--save: no folder nowhere"),
        (f"{KNOWN} {VECTORS} --save .", "--save: expected the name of a file, got ."),
        (f"{KNOWN} {VECTORS} --by few.npy", "--by: "),
        (f"{KNOWN} {VECTORS} --by two.npy", "--by: expected 20 labels, one for each task, got 2"),
        (f"{KNOWN} {SCORES} --scores-head nan.npy", "--scores-head: "),
        (f"{KNOWN} {VECTORS} --queries-head nan_vectors.npy", "is NaN, which --nan raise does not"),
    ],
)
def test_bad_data_ends_with_one(predict: Predict, folder: Path, line: str, message: str) -> None:
    (folder / "E.txt").write_text("0.5 1\n")
    (folder / "two.txt").write_text("a\nb\n")
    (folder / "twice.txt").write_text("a\na\n")
    (folder / "bad.gz").write_bytes(gzip.compress(b"a\nb\n")[:-4])
    (folder / "triples.gz").write_bytes(gzip.compress(b"a\tb\tc\n")[:-4])
    (folder / "none.txt").touch()
    (folder / "numbers.txt").write_text("0\t10\t1\n")
    (folder / "bad.ids").write_text("0\t1\t-2\n")
    np.save(folder / "few.npy", world().entities[:6])
    np.save(folder / "tall.npy", np.ones((11, ENTITIES), np.float32))
    np.save(folder / "narrow.npy", world().queries["tail"][:, :3])
    np.save(folder / "two.npy", np.arange(2))
    np.save(folder / "nan.npy", np.full((10, ENTITIES), np.nan, np.float32))
    np.save(folder / "nan_vectors.npy", np.full((10, 6), np.nan, np.float32))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, err = predict(line)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err
    assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (VECTORS, "Missing option '--test'"),
        (KNOWN, "expected the vectors of a model (--entities, --queries-head, --queries-tail)"),
        (f"{KNOWN} --scores-tail tail_scores.npy", "Missing option --scores-head, for --sides"),
        (f"{KNOWN} --entities E.npy --queries-tail tails.npy", "Missing option --queries-head"),
        (f"{KNOWN} --queries-tail tails.npy --queries-head heads.npy", "option --entities"),
        (f"{KNOWN} {VECTORS} --sides tail", "--queries-head cannot apply: --sides tail"),
        (f"{KNOWN} {VECTORS} --sides tail,left", "'--sides': expected some of head, tail"),
        (f"{KNOWN} {VECTORS} --sides=", "'--sides': expected some of head, tail, relation"),
        (f"{KNOWN} {VECTORS} {SCORES}", "--scores-head and --entities: expected either"),
        (f"{KNOWN} {VECTORS} --order ascending", "--order cannot apply to vectors"),
        (f"{KNOWN} {SCORES} --similarity l2 --bias bias.npy", "--similarity, --bias cannot apply"),
        (f"{KNOWN} {VECTORS} --similarity manhattan", "'--similarity'"),
        (
            f"{KNOWN} {VECTORS} --candidates sampled",
            "'--candidates': expected all, typed, the name",
        ),
        (f"{KNOWN} {VECTORS} --candidates sampled:0", "'--candidates': expected all, typed"),
        (f"{KNOWN} {VECTORS} --candidates sampled:many", "got 'sampled:many'"),
        (f"{KNOWN} {VECTORS} --known other.txt", "'--known': expected NAME=FILE, got 'other.txt'"),
        (f"{KNOWN} {VECTORS} --known a=x --known a=y", "'--known': a is given twice"),
        (f"{KNOWN} {VECTORS} --known train=x", "--known train and --train: expected one of them"),
        (f"{KNOWN} {VECTORS} --split valid", "--split valid: it is the name of known triples"),
        (f"{KNOWN} {VECTORS} --split=", "'--split': expected a name"),
        (f"{KNOWN} {VECTORS} --leaks forget", "'--leaks'"),
        (f"{KNOWN} {VECTORS} --interval", "--interval needs --metrics"),
        (f"{KNOWN} {VECTORS} --metrics mmr", "'--metrics'"),
        (f"{KNOWN} {VECTORS} --metrics relation.mrr", "no side 'relation'"),
        (f"{KNOWN} {VECTORS} --metrics macro.mrr", "'--metrics'"),
        (f"{KNOWN} {VECTORS} --by categories", "'--by': expected side, "),
        (f"{KNOWN} {VECTORS} --by a,b", "'--by': expected side, "),
        (f"{KNOWN} {VECTORS} --weights side", "'--weights': expected query, relation, target, "),
        (
            f"--test numbers.txt {VECTORS}",
            "the entities are numbers: give --ids if they are rows of",
        ),
        (
            f"--test digits.txt {VECTORS}",
            "the relations are numbers: give --relation-labels if they",
        ),
        (
            f"--test numbers.txt --train digits.txt {VECTORS} --entity-labels names.txt",
            "the relations are numbers: give --relation-labels if they",
        ),
        (f"{KNOWN} {VECTORS} --time x", "'--time': expected a column from 3 on, or two of them"),
        (f"{KNOWN} {VECTORS} --keys 2", "'--keys': expected columns from 3 on, as 3,4, or none"),
        (f"{KNOWN} {VECTORS} --keys time", "'--keys': expected columns from 3 on"),
        (f"{KNOWN} {VECTORS} --keys=", "'--keys': expected columns from 3 on"),
        (f"{KNOWN} {VECTORS} --macro-weights count", "--macro-weights needs --by"),
        (
            f"{KNOWN} {VECTORS} --by degree --macro-weights count --metrics macro.mrr --interval",
            "--interval and --macro-weights: expected one of them, as macro.mrr has",
        ),
    ],
)
def test_wrong_command_lines_end_with_two(
    predict: Predict, folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    (folder / "numbers.txt").write_text("0\t1\t10\n2\t0\t1\n")
    (folder / "digits.txt").write_text("a\t2\tb\nb\t10\ta\n")
    (folder / "names.txt").write_text("\n".join([*map(str, range(10)), "10", "a", "b"]))
    monkeypatch.setattr(link_prediction_command, "rank_model", lambda *_: pytest.fail("counted"))
    code, out, err = predict(line)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert message in err
    assert err.endswith("(see truerank link-prediction --help)\n")
    assert err.count("\n") == 1


def test_ctrl_c_ends_with_130_and_leaves_nothing(
    predict: Predict, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(link_prediction_command, "rank_model", interrupted)
    before = sorted(folder.iterdir())
    code, out, err = predict(f"{KNOWN} {VECTORS} --save ranks.npz")
    assert (code, out, err.strip()) == (130, "", "")
    assert sorted(folder.iterdir()) == before


def test_a_failed_run_leaves_the_old_file(predict: Predict, folder: Path) -> None:
    tr.Ranks([0], [1], 5).save(folder / "ranks.npz")
    before = (folder / "ranks.npz").read_bytes()
    np.save(folder / "heads.npy", np.full((10, 6), np.nan, np.float32))
    assert predict(f"{KNOWN} {VECTORS} --save ranks.npz").code == 1
    assert (folder / "ranks.npz").read_bytes() == before


def test_without_known_triples_it_says_what_is_left_out(run: Run, folder: Path) -> None:
    """As `Task` with an empty dict, not with None: the answers of the test itself."""
    files = ["--scores-tail", "tail_scores.npy", "--scores-head", "head_scores.npy", "--ids"]
    line = ["link-prediction", "--test", "test.npy", *files]
    outcome = run(*line)
    assert (outcome.code, outcome.err) == (0, NO_KNOWN)
    assert "filtered by test," in outcome.out
    for known in (["--train", "train.npy"], ["--known", "other=valid.npy"], ["--filters", "none"]):
        assert "no --train" not in run(*line, *known).err
    assert "unfiltered" in run(*line, "--filters", "none").out
