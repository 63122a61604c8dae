"""`truerank alignment`: pairs and a model in files, as a Task of Python evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import Outcome, Run
from truerank.alignment import Task

PAIRS = {
    "train": [(0, 0), (1, 1), (2, 3), (2, 2)],
    "valid": [(3, 4)],
    "test": [(4, 5), (5, 6), (6, 7), (5, 3), (2, 5)],  # 2 and 5 have several counterparts
}
RNG = np.random.default_rng(6)
VECTORS = {side: RNG.integers(-2, 3, (n, 4)).astype("f4") for side, n in (("L", 8), ("R", 10))}
MATRIX = VECTORS["L"] @ VECTORS["R"].T
NAMES = {"left": [f"\u00fc {i}" for i in range(8)], "right": [f"r {9 - i}" for i in range(10)]}


@pytest.fixture(autouse=True)
def world() -> None:
    """Write all files of the world to the current folder of the commands."""
    for name, rows in PAIRS.items():
        Path(f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
        pairs = [f"{NAMES['right'][b]}\t{NAMES['left'][a]}\n" for a, b in rows]
        Path(f"{name}_named").write_text("right\tleft\n" + "".join(pairs), encoding="utf-8")
    for name, words in NAMES.items():
        Path(f"{name}.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    for name, vectors in VECTORS.items():
        np.save(name, vectors)
    np.save("test", np.array(PAIRS["test"]))
    np.save("S", MATRIX)
    np.save("l", [2, 4, 5, 6, 7])
    np.save("r", np.arange(3, 10))


Align = Callable[..., Outcome]


@pytest.fixture
def align(run: Run) -> Align:
    """Run the command with the words of a line, and further words."""

    def align(line: str, *more: str) -> Outcome:
        return run("alignment", *line.split(), *more)

    return align


MODEL = "L.npy R.npy test.tsv --similarity dot"
KNOWN = "--known train=train.tsv --known valid=valid.tsv"
BOTH = {"known": {name: PAIRS[name] for name in ("train", "valid")}}
DEV = {**BOTH, "split": "dev"}
DOT = {"similarity": "dot"}
TRAIN = {"known": {"train": PAIRS["train"]}}
NAMED = "--known train=train_named --header --labels left=left.txt --labels right=right.txt"
FREE = {"candidates": {"left_to_right": range(3, 10), "right_to_left": [2, 4, 5, 6, 7]}}
WORST = {**DOT, "nan": "worst", "audit": True}

# -- what is ranked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "facts", "options"),
    [
        (f"L.npy R.npy test.npy --csls 2 {KNOWN} --split dev", DEV, {"csls": 2}),
        (f"L.npy R.npy test_named --similarity dot {NAMED}", TRAIN, DOT),
        (f"{MODEL} {KNOWN} --candidates test", {**BOTH, "candidates": "test"}, DOT),
        (f"{MODEL} --candidates l.npy,r.npy --columns left=0,right=1 --no-header", FREE, DOT),
        (f"{MODEL} --threads 1 --nan worst --audit", {}, WORST),
        (f"--scores S.npy test.tsv {KNOWN} --order ascending", BOTH, {"order": "ascending"}),
        ("--scores S.npy --test test.tsv --io read", {}, {"io": "read"}),
    ],
)
def test_options_are_keywords_of_the_task(
    line: str, facts: dict[str, Any], options: dict[str, Any], align: Align
) -> None:
    task = Task(PAIRS["test"], left=8, right=10, **facts)
    if "--scores" in line:
        expected = task.evaluate_scores(MATRIX, **options).ranks
    else:
        expected = task.evaluate_embeddings(*VECTORS.values(), **options).ranks
    outcome = align(line, "--save", "ranks.npz")
    assert (outcome.code, outcome.err) == (0, "")
    known = ", ".join(f"{name} {len(PAIRS[name])}" for name in facts.get("known", {})) or "none"
    source = next(word for word in line.split() if word.startswith("test"))
    assert f"{source}: 5 pairs, 5 ranked; known: {known}.\n" in outcome.out
    ranks = tr.load("ranks.npz")
    files = {word for word in line.replace(",", " ").replace("=", " ").split() if "." in word}
    assert set(ranks.protocol.files) - {"train_named", "test_named"} == files
    if "named" in line:
        assert ranks.queries.values.tolist()[0] == NAMES["left"][4]
        ranks = ranks.with_labels(queries=expected.queries, targets=expected.targets)
    assert ranks.with_protocol(files=()) == expected.with_protocol(files=())


# -- folders of data sets --------------------------------------------------------------------------

FOLDER = {
    "ent_ids_1": "0\tWien\n1\tGraz\n2\tLinz\n",
    "ent_ids_2": "3\tVienna\n4\tGraz\n5\tLinz\n6\tSalzburg\n",
    "triples_1": "0\t7\t1\n",
    "triples_2": "3\t8\t4\n",
    "ref_ent_ids": "0\t3\n1\t4\n2\t5\n",
}


@pytest.fixture
def zh_en() -> Path:
    """Write a folder without training pairs, and one matrix of both graphs."""
    Path("zh_en").mkdir()
    for name, text in FOLDER.items():
        Path("zh_en", name).write_text(text, encoding="utf-8")
    Path("mine").write_text("0\t3\n")
    np.save("E", RNG.normal(size=(7, 3)))
    return Path("zh_en")


def test_a_folder_takes_the_place_of_pairs(align: Align, zh_en: Path) -> None:
    graphs = tr.alignment.read_folder(zh_en)
    left, right = graphs.split("E.npy")
    task = graphs.task(known={"train": "mine"})
    outcome = align("zh_en --known train=mine --entities E.npy --by degree --save r.npz")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{graphs}.\n3 pairs, 2 ranked; known: train 1.\n" in outcome.out
    assert "\n[0, 1)" in outcome.out
    ranks = tr.load("r.npz")
    expected = task.evaluate_embeddings(left, right).ranks
    assert ranks.with_protocol(files=()) == expected.with_protocol(files=())
    assert set(ranks.protocol.files) == {"zh_en", "mine", "E.npy"}
    np.save("left", left)
    np.save("right", right)
    again = align("left.npy right.npy zh_en --known train=mine --by degree --save s.npz")
    assert again.out == outcome.out
    words = "Error: --known: expected the training pairs, which the folder lacks, got None\n"
    assert align("zh_en --entities E.npy") == (1, "", words)
    for line, flag in (("--fold 1", "--fold"), ("--labels left=left.txt", "--labels")):
        refused = align(f"zh_en --known train=mine --entities E.npy {line}")
        assert refused.code
        assert flag in refused.err
    np.save("E", np.ones((8, 3)))
    refused = align("zh_en --known train=mine --entities E.npy")
    assert refused.err == "Error: --entities: expected 7 rows, one for each id, got 8\n"


def test_found_pairs_are_printed_and_written(align: Align, zh_en: Path) -> None:
    graphs = tr.alignment.read_folder(zh_en)
    left, right = graphs.split("E.npy")
    task = graphs.task(known={"train": "mine"})
    found = tr.alignment.infer(left, right, method="stable", csls=2)
    line = "zh_en --known train=mine --entities E.npy --infer stable --csls 2"
    outcome = align(f"{line} --audit --output found.csv")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(str(task.score_pairs(found)))
    first = tr.alignment.neighbours(left, right, csls=2, labels=graphs.names)
    assert str(first) in outcome.out
    rows = Path("found.csv").read_text().splitlines()
    assert rows[0] == "left,right,score"
    pairs = [(graphs.left[i], graphs.right[j]) for i, j in found[0].tolist()]
    assert [tuple(map(int, row.split(",")[:2])) for row in rows[1:]] == pairs
    assert align(f"{line} --output found.csv").code == 1
    assert align(f"{line} --output found.csv --force --json").code == 0
    for more, flag in (("--by degree", "--by"), ("--save r.npz", "--save")):
        refused = align(f"{line} {more}")
        assert (refused.code, refused.out) == (2, "")
        assert f"{flag} cannot apply to found pairs" in refused.err
    among = align(f"{line.replace('--csls 2', '')} --candidates test")
    some = tr.alignment.infer(left[1:], right[1:3], method="stable")[0]
    places = [(i + 1, j + 1) for i, j in some.tolist()]
    expected = task.score_pairs([(graphs.left[i], graphs.right[j]) for i, j in places])
    assert among.out.splitlines()[1].split() == str(expected).splitlines()[1].split()


def test_a_matrix_has_found_pairs_too(align: Align) -> None:
    outcome = align(f"--scores S.npy test.tsv {KNOWN} --infer greedy")
    task = Task(PAIRS["test"], left=8, right=10, **BOTH)
    assert outcome.out.startswith(str(task.score_pairs(tr.alignment.infer(MATRIX, None))))
    refused = align("--scores S.npy test.tsv --candidates test --infer greedy")
    assert "--infer takes all candidates of --scores" in refused.err
    refused = align("--scores S.npy test.tsv --infer greedy --audit")
    assert "--audit cannot apply to found pairs" in refused.err


def test_folds_are_runs_of_one_model(align: Align) -> None:
    triples = "a\tr\tb\nc\tr\td\n"
    pairs = [f"{name}\t{name}\n" for name in "abcd"]
    folder = Path("D_W_15K_V2")
    for fold in range(1, 6):
        links = folder / "721_5fold" / str(fold)
        links.mkdir(parents=True)
        turned = pairs[fold % 4 :] + pairs[: fold % 4]
        for name, lines in (("train", turned[:1]), ("valid", turned[1:2]), ("test", turned[2:])):
            (links / f"{name}_links").write_text("".join(lines))
    for number in (1, 2):
        (folder / f"rel_triples_{number}").write_text(triples)
        for place in (".", "3"):
            Path(place).mkdir(exist_ok=True)
            ids = "".join(f"{name}\t{2 * i + number - 1}\n" for i, name in enumerate("abcd"))
            Path(place, f"kg{number}_ent_ids").write_text(ids)
    np.save("ent_embeds", RNG.normal(size=(8, 3)))
    np.save("3/ent_embeds", RNG.normal(size=(8, 3)))
    reports = []
    for fold in range(1, 6):
        graphs = tr.alignment.read_folder(folder, fold=fold)
        reports.append(graphs.task().evaluate_embeddings(*graphs.split("ent_embeds.npy")))
    outcome = align("D_W_15K_V2 --fold all --entities ent_embeds.npy --metrics mrr")
    assert outcome.out.startswith(str(tr.table({"model": reports}, "mrr")))
    assert "One matrix for all folds" in outcome.out
    one = align("D_W_15K_V2 --fold 3 --entities {}/ent_embeds.npy")
    assert one.code == 1
    graphs = tr.alignment.read_folder(folder, fold=3)
    expected = graphs.task().evaluate_embeddings(*graphs.split("3/ent_embeds.npy"))
    outcome = align("D_W_15K_V2 --fold 3 --entities 3/ent_embeds.npy --metrics hits@1")
    assert f"{expected['hits@1']:.3f}" in outcome.out
    words = "Error: --fold: expected one of 1, 2, 3, 4, 5, got '6'\n"
    assert align("D_W_15K_V2 --fold 6 --entities ent_embeds.npy").err == words
    refused = align("D_W_15K_V2 --fold all --entities ent_embeds.npy --infer greedy")
    assert "--infer cannot apply to several folds" in refused.err
