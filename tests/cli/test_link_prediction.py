"""`truerank link-prediction`: triples and a model in files, as a Task of Python evaluates them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support.cli_files import Outcome, Run
from truerank.link_prediction import Sampled, Task

# A small graph whose triples are names, and a model of it in small integers.
ENTITIES = 12
RELATIONS = ("knows", "likes", "of")
NAMES = [f"person {i:02d}" for i in range(ENTITIES)]
RNG = np.random.default_rng(5)
SPLITS = {  # No query has two rows in the test.
    "train": [(i, i % 3, (i + step) % ENTITIES) for i in range(ENTITIES) for step in (1, 2, 7)],
    "valid": [(i, i % 3, (i + 4) % ENTITIES) for i in range(8)],
    "test": [(i, i % 3, (i + 5) % ENTITIES) for i in range(10)],
}
MODEL = {"E": RNG.integers(-3, 4, (ENTITIES, 6)).astype(np.float32)}
MODEL |= {side: RNG.integers(-3, 4, (10, 6)).astype(np.float32) for side in ("tails", "heads")}
SIDES = {"head": MODEL["heads"], "tail": MODEL["tails"]}
BIAS = np.arange(ENTITIES, dtype=np.float32) % 3
NO_KNOWN = (
    "Warning: --known is not given: only the answers in --test are left out, and other true "
    "answers count as wrong\n"
)
ASSUMED_ORDER = (
    "Warning: --labels entities: columns are taken in ascending order of the labels, since no list "
    "gives their order; --labels entities=FILE gives it\n"
)
PATHS = {"train": "train.npy", "valid": "valid.npy"}
KNOWN = "--known train=train.txt --known valid=valid.txt --test test.txt"
VECTORS = "--entities E.npy --queries tail=tails.npy --queries head=heads.npy --similarity l1"
SCORES = "--scores tail=tail_scores.npy --scores head=head_scores.npy"
SHARDS = "--scores tail=tail-*.npy --scores head=head-*.npy"
IDS = "--known train=train.ids --known valid=valid.ids --test test.ids --ids"
TAILS = "--entities E.npy --queries tail=tails.npy --similarity l1"
MOVED = VECTORS.replace("E.npy", "moved_E.npy")
RAW = VECTORS.replace(".npy", "16.npy")


@pytest.fixture(autouse=True)
def world() -> None:
    """Write all files of the world to the current folder of the commands."""
    for name, rows in SPLITS.items():
        lines = (f"{NAMES[h]}\t{RELATIONS[r]}\t{NAMES[t]}\n" for h, r, t in rows)
        Path(f"{name}.txt").write_text("".join(lines))
        np.savetxt(f"{name}.ids", rows, "%d", "\t")
        np.save(f"{name}.npy", rows)
    np.save("bias.npy", BIAS)
    np.save("all.npy", np.arange(ENTITIES))
    for name, vectors in MODEL.items():
        np.save(name, vectors)
        np.save(f"{name}16.npy", vectors.astype(ml_dtypes.bfloat16).view("V2"))
    for side, vectors in SIDES.items():  # Sums of integers do not depend on their order.
        scores = -np.abs(vectors[:, None] - MODEL["E"]).sum(2)
        np.save(f"{side}_scores.npy", scores)
        for number, shard in enumerate(np.array_split(scores, 3, axis=1)):
            np.save(f"{side}-{number}.npy", shard)
    # another order, and more names than the triples have
    order = RNG.permutation(ENTITIES)
    Path("moved.txt").write_text("\n".join([*(NAMES[i] for i in order), "nobody"]))
    np.save("moved_E.npy", np.concatenate([MODEL["E"][order], [[1000] * 6]]).astype("f4"))


Predict = Callable[..., Outcome]


@pytest.fixture
def predict(run: Run) -> Predict:
    """Run the command with the words of a line, and further words.

    The names of the world are in ascending order; the warning that this was assumed is dropped.
    """

    def predict(line: str, *more: str) -> Outcome:
        code, out, err = run("link-prediction", *line.split(), *more)
        err = err.replace(ASSUMED_ORDER, "")
        of_vectors, _, _ = ASSUMED_ORDER.replace("--labels ", "--").partition(";")
        return Outcome(code, out, err.replace(f"{of_vectors}\n", ""))

    return predict


def expected_ranks(bias: Any = None, **facts: Any) -> tr.Ranks:
    """Evaluate the model of the world by the ids of its entities."""
    known = {"train": "train.npy", "valid": "valid.npy"}
    task = Task("test.npy", **{"known": known, "entities": ENTITIES, **facts})
    vectors = {side: SIDES[side] for side in task.sides}
    options: dict[str, Any] = {"entities": MODEL["E"], "similarity": "l1", "bias": bias}
    return task.evaluate_embeddings(**vectors, **options).ranks


def counts_of(ranks: tr.Ranks) -> list[list[int]]:
    return np.stack([ranks.above, ranks.tied, ranks.candidates], axis=1).tolist()


LINES: list[tuple[str, dict[str, Any]]] = [
    (f"{KNOWN} {SCORES} --io read", {}),
    (f"{KNOWN} {SHARDS} --shards columns", {}),
    (f"{KNOWN} {VECTORS} --threads 1 --nan omit --split dev --by degree", {"split": "dev"}),
    (f"{KNOWN} {VECTORS} --bias bias.npy", {"bias": BIAS}),
    (f"--test test.txt --known rest=valid.txt {SCORES}", {"known": {"rest": "valid.npy"}}),
    (f"--test test.npy {VECTORS}", {"known": {}}),
    (f"{IDS} {VECTORS}", {}),
    (f"{KNOWN} --sides tail {TAILS}", {"sides": ("tail",)}),
    (f"{KNOWN} {MOVED} --labels entities=moved.txt", {}),
    (f"{KNOWN} {RAW} --dtype bfloat16", {}),
    (f"{KNOWN} {VECTORS} --exclude-self", {"exclude": "self"}),
    (f"{KNOWN} {SCORES} --exclude-self --filter none", {"exclude": "self", "filter": "none"}),
]
SAMPLES = {
    "sampled:3 --seed 7": Sampled(3, seed=7),
    "sampled-typed:3": Sampled(3, typed=True),
    "sampled:3:train": Sampled(3, among="train"),
    "typed": "typed",
    "all.npy": np.arange(ENTITIES),
}
LINES += [
    (f"{KNOWN} {VECTORS} --candidates {word}", {"candidates": candidates})
    for word, candidates in SAMPLES.items()
]


@pytest.mark.parametrize(("line", "facts"), LINES)
def test_options_are_keywords_of_the_task(
    predict: Predict, line: str, facts: dict[str, Any]
) -> None:
    code, out, err = predict(f"{line} --save ranks.npz")
    has_known = "--known" in line
    assert code == 0
    assert err == ("" if has_known else NO_KNOWN)
    ranks = tr.load("ranks.npz")
    expected = expected_ranks(**facts)
    more = [0, 0, 1] if "moved" in line else [0, 0, 0]  # one more candidate, below all others
    assert counts_of(ranks) == (np.array(counts_of(expected)) + more).tolist()
    for name in ("split", "sampled", "candidates", "filter"):
        assert getattr(ranks.protocol, name) == getattr(expected.protocol, name)
    files = {word for word in line.split() if word.endswith((".txt", ".npy")) and "*" not in word}
    assert {word.rpartition("=")[2] for word in files} <= set(ranks.protocol.files)
    assert "MRR" in out


def test_known_facts_that_filter_nothing_are_left_out(predict: Predict) -> None:
    """Without --known the answers in --test are left out, too."""
    others = [f"{a}\tsees\t{b}\n" for a in NAMES for b in NAMES]
    Path("others.txt").write_text("".join(others))
    lines = [f"--test test.txt {known} {SCORES} --save" for known in ("--known old=others.txt", "")]
    err = predict(lines[0], "with.npz").err
    assert err.endswith("it has no fact with a query of the test, and filters nothing\n"), err
    assert predict(lines[1], "without.npz").err == NO_KNOWN
    assert counts_of(tr.load("with.npz")) == counts_of(tr.load("without.npz"))


def test_facts_of_names_that_the_model_lacks_are_left_out(predict: Predict, run: Run) -> None:
    """Of a known split, where it is said; the refusal names the option."""
    Path("more.txt").write_text(f"nobody\tof\t{NAMES[0]}\n{NAMES[1]}\tof\t{NAMES[2]}\n")
    Path("model.txt").write_text("".join(f"{name}\n" for name in NAMES))
    line = f"{KNOWN} --known more=more.txt --labels entities=model.txt {VECTORS}"
    run(*f"link-prediction {line}".split(" ")).refuses(
        1,
        "in column 0 of line 1; 1 of 2 rows have others; --unseen says what becomes of such facts",
    )
    assert predict(f"{line} --unseen drop --save", "with.npz").code == 0
    plain = f"{KNOWN} --labels entities=model.txt {VECTORS} --save"
    predict(plain, "without.npz")
    assert counts_of(tr.load("with.npz")) == counts_of(tr.load("without.npz"))


def test_scores_of_the_whole_test_are_taken_where_it_has_unknown_names(predict: Predict) -> None:
    Path("model.txt").write_text("".join(f"{name}\n" for name in NAMES))
    lines = Path("test.txt").read_text().splitlines()
    lines[4] = f"{NAMES[0]}\tof\tnobody"
    Path("more.txt").write_text("\n".join(lines))
    for model in (SCORES, VECTORS):
        line = f"{KNOWN.replace('test.txt', 'more.txt')} --labels entities=model.txt {model}"
        assert predict(f"{line} --unseen drop --save", "some.npz", "--force").code == 0
        ranks = tr.load("some.npz")
        expected = expected_ranks(known={**PATHS, "test": "test.npy"})
        assert counts_of(ranks) == counts_of(expected[expected.unit.codes != 4])
        assert ranks.unit.codes.tolist() == [*range(4), *range(5, 10)] * 2


def test_what_nobody_named_is_said(predict: Predict, run: Run) -> None:
    """A model of distances has wrong numbers by the default similarity."""
    line = f"{KNOWN} {VECTORS}".replace(" --similarity l1", "")
    first, *others = predict(line).out.splitlines()
    assert first.endswith(", similarity dot.")
    assert "similarity" not in "".join(others)
    assert "similarity" not in predict(line, "--no-notes").out
    assert "similarity" not in predict(f"{KNOWN} {SCORES}").out
    table = predict(line, "--format", "csv")
    assert "similarity" not in table.out + table.err
    scored = f"link-prediction {KNOWN} {SCORES}".split()
    assert run(*scored).err == ASSUMED_ORDER
    Path("names.txt").write_text("\n".join(NAMES))
    assert run(*scored, "--labels", "entities=names.txt").err == ""


def test_relations_are_predicted_too(predict: Predict) -> None:
    np.save("R.npy", np.eye(3, 6, dtype=np.float32))
    np.save("relation_scores.npy", MODEL["tails"][:, :3])
    counts = []
    vectors = "--relations R.npy --queries relation=tails.npy"
    for model in (vectors, "--scores relation=relation_scores.npy"):
        line = f"{KNOWN} --sides relation {model} --save ranks.npz --force --metrics relation.mrr"
        assert predict(line).code == 0
        counts.append(counts_of(tr.load("ranks.npz")))
    assert counts[0] == counts[1]
    assert tr.load("ranks.npz").side.counts() == {"relation": 10}


def test_lists_of_vectors(predict: Predict) -> None:
    """Of copies of each vector the sums of maxima are twice the products of two equal tokens."""
    for name, vectors in MODEL.items():
        copies = 2 if name != "E" else np.arange(ENTITIES) % 3 + 1
        indptr = np.cumsum([0, *np.broadcast_to(copies, len(vectors))])
        np.savez(f"{name}.npz", vectors=np.repeat(vectors, copies, axis=0), indptr=indptr)
    counts = []
    for line in (VECTORS.replace("l1", "dot"), VECTORS.replace("l1", "maxsim")):
        files = line if "dot" in line else line.replace(".npy", ".npz")
        assert predict(f"{IDS} {files} --save ranks.npz --force").code == 0
        counts.append(counts_of(tr.load("ranks.npz")))
    assert counts[0] == counts[1]


def test_keys_and_filters(predict: Predict) -> None:
    for name, ends in {"train": ("b\t1", "c\t2"), "test": ("b\t1", "d\t1")}.items():
        text = "".join(f"a\tlikes\t{end}\tx\n" for end in ends)
        Path(f"{name}.timed").write_text(text)
    np.save("four.npy", np.array([[0, 1, 2, 3]] * 2, dtype=np.float32))
    timed = "--known train=train.timed --test test.timed --sides tail --scores tail=four.npy"
    for keys, candidates in (("--keys 3", [3, 3]), ("--keys 4,3", [3, 3]), ("--keys none", [2, 2])):
        assert predict(f"{timed} {keys} --save ranks.npz --force").code == 0
        assert tr.load("ranks.npz").candidates.tolist() == candidates
    assert predict(f"{timed} --keys none --filter fact --by relation").code == 0


def test_lists_of_each_side(predict: Predict) -> None:
    Path("test.txt").write_text("a\tlikes\tb\nc\tlikes\tb\n")
    Path("tails.tsv").write_text("c\tlikes\tb\t1\na\tlikes\ta\t2\na\tlikes\tb\t1\n")
    Path("heads.tsv").write_text("c\tlikes\tb\t0.9\na\tlikes\tb\t0.5\n")
    Path("names.txt").write_text("a\nb\nc\nd\ne\n")
    Path("known.txt").write_text("d\tlikes\te\n")
    line = "--test test.txt --known train=known.txt --labels entities=names.txt"
    line += " --lists tail=tails.tsv --lists head=heads.tsv --save ranks.npz"
    assert predict(line).code == 0
    ranks = tr.load("ranks.npz")
    assert ranks.optimistic.tolist() == [1, 1, 2, 1]
    assert {"heads.tsv", "tails.tsv"} < {file.partition(" (")[0] for file in ranks.protocol.files}


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("", "--columns head=2,relation=1,tail=0 --no-header"),
        ("to\tof it\tu\n", "--columns tail=to,relation=1,head=u --header"),
    ],
)
def test_columns_and_headers(predict: Predict, header: str, line: str) -> None:
    for name, rows in SPLITS.items():
        lines = [f"{NAMES[t]}\t{RELATIONS[r]}\t{NAMES[h]}\n" for h, r, t in rows]
        Path(f"{name}.txt").write_text("".join([header, *lines]))
    assert predict(f"{KNOWN} {VECTORS} {line} --save ranks.npz").code == 0
    assert counts_of(tr.load("ranks.npz")) == counts_of(expected_ranks())


def test_text_has_names_or_the_ids_of_files_of_labels(predict: Predict) -> None:
    rows = [f"{i}\t{name}\n" for i, name in reversed(list(enumerate(NAMES)))]
    Path("entities.dict").write_text("".join(rows))
    Path("relation2id.txt").write_text("3\nof\t2\nknows\t0\nlikes\t1\n")
    labels = "--labels entities=entities.dict --labels relations=relation2id.txt --by relation"
    by_name = predict(f"{KNOWN} {VECTORS} {labels} --metrics mrr")
    assert by_name.code == 0
    assert predict(f"{IDS} {VECTORS} {labels} --metrics mrr") == by_name
    assert "knows" in by_name.out
    refusal = predict(f"{IDS} {VECTORS} {labels}".replace(" --ids", ""))
    refusal.refuses(1, "; --ids says that text has ids")


def test_leaks_are_reported(predict: Predict) -> None:
    first = Path("test.txt").read_text().splitlines(keepends=True)[0]
    with Path("train.txt").open("a") as file:
        file.write(first)
    line = f"{KNOWN} {VECTORS} --metrics mrr"
    code, out, err = predict(line)
    assert (code, err.count("\n"), "leaks" in out) == (0, 1, False)
    assert err.startswith("Warning: --test: 1 (person ")
    assert "leaks: in train 1 (person " in predict(f"{line} --audit").out
    audit = json.loads(predict(f"{line} --audit --json").out)["split_audit"]
    assert ("leaks", 1) in [(finding["name"], finding["count"]) for finding in audit]
    outcome = predict(f"{line} --leaks drop --save ranks.npz")
    assert (outcome.code, outcome.err, len(tr.load("ranks.npz"))) == (0, "", 18)


def test_the_ending_of_a_name_may_be_in_capitals(predict: Predict) -> None:
    expected = predict(f"{KNOWN} {VECTORS}")
    rows = Path("test.txt").read_text().replace("\t", ",")
    Path("TEST.CSV").write_text(rows)
    Path("E.npy").rename("E.NPY")
    line = f"{KNOWN} {VECTORS}".replace("test.txt", "TEST.CSV").replace("E.npy", "E.NPY")
    assert predict(line) == expected
