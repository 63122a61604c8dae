"""What is refused: in one line that begins with the option, and with every file as it was."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support.cli_files import SCORES, TARGETS, Run, make_files

TEXTS = {
    "train.txt": "c\tr\ta\n",
    "test.txt": "a\tr\tb\nb\tr\tc\n",
    "named.txt": "head\trelation\ttail\na\tr\tb\n",
    "twice.txt": "x\ny\nx\n",
    "numbers.tsv": "0\tr\t10\n2\tr\t1\n",
    "z.tsv": "a\tr\tz\t1\nb\tr\tz\t1\n",
    "pairs.tsv": "0\t1\n",
    "qrels.txt": "q1 0 a 1\nq1 0 b 2\nq2 0 a 1\n",
    "run.txt": "q1 Q0 a 1 2 t\nq1 Q0 d 2 1 t\n",
    "nan.run": "# a comment\nq1 Q0 b 1 nan t\n",
    "up.run": "".join(f"q{q} Q0 {d} {d} {d} t\n" for q in range(4) for d in (1, 2, 3)),
    "up.txt": "".join(f"q{q} 0 1 1\n" for q in range(4)),
    "letters.txt": "a\nb\nc\nd\n",
    "r.tsv": "rank\n1\n2\n",
    "whole.tsv": "rank\tcandidates\n1\t9\n",
}


@pytest.fixture(autouse=True)
def files() -> None:
    make_files(Path())
    for name, text in TEXTS.items():
        Path(name).write_text(text)
    arrays = {"E": np.eye(3), "T": np.eye(2, 3), "L": np.eye(4), "R": np.eye(5, 4)}
    arrays |= {"half-0": SCORES[:, :2], "half-1": SCORES[:, 2:4], "zero": np.array(0.0)}
    arrays["order"] = np.tile(np.arange(10), (9, 1))
    arrays |= {f"order-{half}": x for half, x in enumerate(np.hsplit(arrays["order"], 2))}
    for name, array in arrays.items():
        np.save(name, array)
    for name, scores in {"ranks": SCORES, "other": -SCORES}.items():
        tr.rank(scores, TARGETS).save(f"{name}.npz")
    tr.RankCounter([0.5], 0, candidates=2).save("counter.npz")
    task = tr.retrieval.Task({"q1": ["a"], "q2": ["b"]}, entities=9)
    task.evaluate_lists({"q1": ["a"], "q2": ["c"]}).ranks.save("lists.npz")
    Path("linked.npz").hardlink_to("pair.npz")
    Path("loop.npz").symlink_to("loop.npz")


def contents() -> dict[Path, bytes]:
    """Return what regular files have."""
    files = (path for path in Path().iterdir() if path.name != "loop.npz" and path.is_file())
    return {path: path.read_bytes() for path in files}


def refused(run: Run, line: str, code: int, words: str) -> None:
    before = contents()
    outcome = run(*line.split())
    *warnings, error = outcome.err.splitlines()
    assert (outcome.code, outcome.out) == (code, "")
    assert all(warning.startswith("Warning: ") for warning in warnings)
    assert re.match(f"Error: {words}", error)
    assert contents() == before


EVALUATE = "evaluate scores.npy targets.npy"
OF_SCORES = [
    ("evaluate", 2, "Missing argument 'SCORES'"),
    ("evaluate scores.npy", 2, "Missing argument 'TARGETS', the columns of the true candidates"),
    ("evaluate scores.npy 9223372036854775808", 2, "TARGETS: .*, got '9223372036854775808'"),
    ("evaluate half-*.npy targets.npy", 2, "expected 8 targets, .*; --shards columns says"),
    (
        "evaluate order.npy 0",
        1,
        "scores: .*; --order says whether higher or lower scores are better",
    ),
    ("evaluate order-*.npy 0 --shards columns", 1, "scores: 9 rows, each a permutation of 0 to 9"),
    (f"{EVALUATE} --filter foreign.npz", 1, "--filter: expected members indptr and indices, got"),
    (f"{EVALUATE} --filter csc.npz", 1, "--filter: expected a .* in csr format"),
    (f"{EVALUATE} --candidates wide.npz", 1, "--candidates: expected a sparse matrix of shape"),
    (f"{EVALUATE} --labels relation=rows.npy", 1, "--labels relation: "),
    (f"{EVALUATE} --labels query=rows.npy", 1, "--labels query: "),
    (f"{EVALUATE} --split=", 2, "Invalid value for '--split': expected a word"),
    (f"{EVALUATE} --metrics mrr,mmr", 1, "'mmr': no metric"),
    (f"{EVALUATE} --metrics expected.gmr", 1, "'expected.gmr': gmr is not a mean over tasks"),
    (
        "evaluate ranks.npz targets.npy",
        1,
        "ranks: targets.npy: .* got an array, which `truerank ev",
    ),
    ("evaluate ranks.npz --nan omit", 2, "--nan cannot apply to saved ranks"),
    ("evaluate counter.npz", 1, "scores: counter.npz: "),
    ("evaluate scores.npy other.npz", 1, "TARGETS: other.npz: .* saved ranks, which `truerank ev"),
    ("evaluate scores.npy r.tsv", 1, "TARGETS: r.tsv: .* got ranks in a file of text, which"),
    ("evaluate scores.npy targets.npy 1", 2, "expected SCORES TARGETS, got scores.npy targets.npy"),
    ("evaluate run.txt", 1, "scores: run.txt: .* got a run, which `truerank retrieval QRELS RUN`"),
    ("evaluate qrels.txt", 1, "scores: qrels.txt: .* got right answers, which `truerank retrieval"),
    ("evaluate numbers.tsv", 1, "scores: numbers.tsv: .* facts, which `truerank link-prediction"),
    ("evaluate pairs.tsv", 1, "scores: pairs.tsv: .* got pairs, which `truerank alignment LEFT"),
    ("evaluate ranks.npz run.txt", 1, "ranks: run.txt: .* got a run, which `truerank retrieval"),
    ("evaluate ranks.npz ranks.npz", 2, "expected the ranks of different models, each once"),
    ("evaluate none-*.npz", 1, "none-.*: no file matches the pattern"),
    ("evaluate ranks.npz other.npz --save x.npz", 2, "--save cannot apply to several models"),
    ("evaluate ranks.npz other.npz --audit", 2, "--audit cannot apply to several models"),
    ("evaluate ranks.npz --filtered-by train", 1, "--filtered-by: these ranks are unfiltered"),
    ("evaluate lists.npz --metrics amri", 1, "'amri': no metric"),
    ("evaluate lists.npz --metrics index.map", 1, "'index.map': metrics of queries have no chance"),
    ("evaluate lists.npz --kinds index", 1, "'index': no such kind of rank"),
    ("evaluate lists.npz --weights query", 1, "--weights: "),
    ("evaluate lists.npz --kinds expected --metrics optimistic.mrr", 2, "--kinds chooses rows"),
    ("evaluate r.tsv", 1, "--candidates: expected the number .*, as no column of r.tsv has it"),
    ("evaluate whole.tsv --candidates 9", 1, "--candidates: a column candidates of whole.tsv"),
    ("evaluate ranks.npz --kinds pessimistic --json", 2, "--kinds chooses rows"),
    ("evaluate r.tsv --candidates 9 --nan omit", 2, "--nan cannot apply to ranks in a file"),
]

OUTPUTS = [
    ("--output r.csv --format markdown", 2, r".*--output: expected a name that ends in \.md"),
    ("--output x.foo", 2, r".*--output: expected a name that ends in one of \.txt, "),
    ("--output nowhere/x.txt", 1, "--output: expected a folder to write into"),
    ("--save loop.npz", 1, ".*loop.npz"),
    ("--save other.npz", 1, "--save: other.npz is there already; --force replaces it"),
    ("--output r.tsv", 1, "--output: r.tsv is there already; --force replaces it"),
]
OUTPUTS += [
    (f"{more} --force", 1, "--(save|html): .* is one of the other files of this line")
    for more in (
        "--save scores.npy",
        "--by words.npy --html words.npy",
        "--filter pair.npz --save linked.npz",
        "--save x.npz --html x.npz",
    )
]
OF_SCORES += [(f"{EVALUATE} {more}", code, words) for more, code, words in OUTPUTS]

RUNS = "compare run.txt nan.run --qrels qrels.txt"
OF_SEVERAL = [
    ("compare ranks.npz", 2, "expected the ranks of at least two models, each once"),
    ("compare ranks.npz ranks.npz", 2, "expected the ranks of different models, each once"),
    ("compare ranks.npz other.npz -l 2", 2, "--relevance-level cannot apply to ranks of tasks"),
    ("compare ranks.npz other.npz --candidates 9", 2, "--candidates cannot apply to saved ranks"),
    ("compare ranks.npz other.npz --by side", 1, "--by: these ranks have no labels 'side'"),
    ("compare ranks.npz r.tsv", 1, "--candidates: expected the number .* no column of r.tsv has"),
    ("compare ranks.npz run.txt", 1, "ranks: run.txt: .*`truerank retrieval QRELS RUN`"),
    ("compare ranks.npz counter.npz", 1, "ranks: counter.npz: "),
    (
        "compare ranks.npz run.txt --qrels qrels.txt",
        1,
        "run: ranks.npz: expected text, got saved ranks",
    ),
    (f"{RUNS} --metrics auc", 1, "run: nan.run: "),
    (f"{RUNS} --candidates 2", 1, "--candidates: .* at least 3"),
    (f"{RUNS} --candidates 9", 1, "run: nan.run: "),
]

LINK = "link-prediction --known train=train.txt --test test.txt"
VECTORS = "--entities E.npy --queries tail=T.npy --queries head=T.npy"
STORED = "--scores tail=T.npy --scores head=T.npy"
OF_TRIPLES = [
    (f"link-prediction {VECTORS}", 2, "Missing option '--test'"),
    (f"link-prediction --test absent.txt {VECTORS}", 1, "absent.txt: No such file or directory"),
    (LINK, 2, r"expected the vectors .*--entities, --queries, --relations"),
    (
        f"{LINK} {STORED} --known older=named.txt",
        1,
        "--known older: .* all files have a header, or none has, and test.txt has none",
    ),
    (f"{LINK} {STORED} --known test=train.txt", 1, "--split: .*, or another name, .*lack 2"),
    (
        f"link-prediction --test numbers.tsv {STORED}",
        1,
        ".*; --labels entities=FILE gives their order$",
    ),
    (f"{LINK} {VECTORS} --order ascending", 2, "--order cannot apply to vectors"),
    (f"{LINK} {VECTORS} --sides tail", 1, "--queries head: expected None, as the sides"),
    (f"{LINK} --scores tail=T.npy", 1, "--scores head: .*; --sides tail leaves it out"),
    (f"{LINK} --queries tail=T.npy --sides tail", 1, "--entities: "),
    (
        f"{LINK} --lists tail=z.tsv --sides tail",
        1,
        "--lists tail: z.tsv: .* as no list names all entities",
    ),
    (f"{LINK} --lists test.txt", 2, "Invalid value for '--lists': expected SIDE=FILE"),
    (f"{LINK} {STORED} --sides time", 2, "--sides: expected one of head, tail, relation"),
    (f"{LINK} {VECTORS} --keys time", 2, "--keys: expected columns from 3 on"),
    (f"{LINK} {VECTORS} --candidates sampled:many", 2, "--candidates: .* got 'sampled:many'"),
    (f"{LINK} {VECTORS} --part 3", 2, "--part: expected a slice, START:STOP or START:STOP:STEP"),
    (f"{LINK} {VECTORS.replace('tail=T', 'tail=E')} --part 0::2", 1, "--queries tail: "),
    (f"{LINK} {VECTORS} --known other.txt", 2, "Invalid value for '--known': expected SPLIT=FILE"),
    (f"{LINK} {VECTORS} --known train=train.txt", 2, "--known: expected each name once"),
    (f"{LINK} {VECTORS} --columns head", 2, "--columns: expected ROLE=COLUMN,..., each role once"),
    (f"{LINK} {VECTORS} --columns head=0,relation=0,tail=1", 1, "--columns: .* none twice"),
    (f"{LINK} {STORED} --candidates unique=True.npy", 1, "unique=True.npy: No such file"),
]

ALIGN = "alignment L.npy R.npy pairs.tsv"
OF_PAIRS = [
    ("alignment", 2, "expected LEFT RIGHT PAIRS, got none"),
    (f"{ALIGN} --scores scores.npy", 2, "expected PAIRS, got L.npy R.npy pairs.tsv"),
    (f"{ALIGN} --test pairs.tsv", 2, "expected LEFT RIGHT, got L.npy R.npy pairs.tsv"),
    ("alignment L.npy --test pairs.tsv --scores scores.npy", 2, "expected no files with --scor"),
    ("alignment scores.npy zero.npy pairs.tsv", 1, "RIGHT: expected a vector in each row"),
    (
        "alignment pairs.tsv R.npy pairs.tsv",
        1,
        "LEFT: pairs.tsv: expected a name that ends in .npy, ",
    ),
    (f"{ALIGN} --labels left=twice.txt", 1, "--labels left: twice.txt: 'x' occurs twice"),
    (f"{ALIGN} --labels left=letters.txt", 1, "--test: pairs.tsv: expected labels of left"),
    (f"{ALIGN} --save pairs.tsv", 1, "--save: pairs.tsv is one of the other files"),
]

QRELS = "retrieval --qrels qrels.txt"
LISTS = f"{QRELS} --candidates 9 --lists"
MATRIX = f"{QRELS} --scores scores.npy"
OF_QUERIES = [
    ("retrieval --lists run.txt --candidates 9", 2, "Missing option '--qrels'"),
    (f"{QRELS} --queries T.npy", 2, r"expected the vectors .*--queries, --entities"),
    ("retrieval", 2, "Missing option '--qrels', or QRELS RUN"),
    (
        "retrieval run.txt",
        2,
        r"expected QRELS RUN \.\.\. alone, or --qrels and --lists, got run.txt",
    ),
    ("retrieval qrels.txt run.txt run.txt", 2, "expected the ranks of different models"),
    ("retrieval qrels.txt run.txt pairs.tsv --save r.npz", 2, "--save cannot apply to several"),
    (
        "retrieval qrels.txt --lists run.txt",
        2,
        r"expected QRELS RUN \.\.\. alone, .*, got qrels.txt",
    ),
    (
        f"{QRELS} run.txt qrels.txt",
        2,
        r"expected QRELS RUN \.\.\. alone, .*, got run.txt qrels.txt",
    ),
    ("retrieval run.txt qrels.txt", 1, "--qrels: run.txt: line 1: expected lines of TREC"),
    ("retrieval qrels.txt run.txt --scores scores.npy", 2, "--scores cannot apply to lists"),
    ("retrieval qrels.txt run.txt --metrics auc", 1, "'auc': it .*; --candidates says among what"),
    ("retrieval qrels.txt run.txt --misses bounds", 1, "--misses: .*; --candidates N says"),
    (f"{LISTS} letters.txt", 1, "--lists: letters.txt: line 1: .*a header line with query"),
    (f"{LISTS} nan.run", 1, "--lists: nan.run: the score of 'b' for 'q1' is NaN"),
    (f"{LISTS} run.txt --by nowhere.tsv", 1, "--by: expected a file, or one of unit"),
    (f"{LISTS} run.txt --by letters.txt", 1, "--by: letters.txt: line 1: "),
    ("retrieval --qrels up.txt --candidates 9 --lists up.run", 1, "--lists: .*--order"),
    (f"{QRELS} --lists run.txt --candidates 2", 1, "--candidates: expected"),
    (MATRIX, 2, "--qrels: qrels.txt: .*; scores and vectors need --candidates FILE"),
    (f"{MATRIX} --candidates numbers.tsv", 1, "--candidates: numbers.tsv: line 1: "),
    (f"{MATRIX} --candidates letters.txt", 2, "rows of .* do not name their .*; --labels queries"),
    (f"{MATRIX} --candidates letters.txt --labels queries=twice.txt", 1, "--labels queries: "),
]


@pytest.mark.parametrize(
    ("line", "code", "words"), OF_SCORES + OF_SEVERAL + OF_TRIPLES + OF_PAIRS + OF_QUERIES
)
def test_lines(run: Run, line: str, code: int, words: str) -> None:
    refused(run, line, code, words)


HEADER = "candidates\tquery\trank\ttarget\n"
BOTH = "optimistic\tpessimistic\tcandidates\n"
WITHOUT_RANKS = [
    ("rank\tpessimistic\n1\t9\n", "expected a column rank, or the two .* got rank, pessimistic"),
    ("rank\trank\n1\t1\n", "expected columns of .*, each once, got rank, rank"),
    ("rank\tscore\n1\t9\n", "expected columns of .*, each once, got rank, score"),
    ("1\n2\n", "expected a first line that names columns .* and without quotes, got 1"),
    ("", "expected a first line that names"),
    (
        "rank;side\n1;head\n",
        r"expected a .*, with tabs between them \(in .csv commas\) .*, got rank;",
    ),
    (
        '"rank"\t"side"\n1\t"head"\n',
        r"expected a first line .* and without quotes, got \"rank\"",
    ),
    (
        f"{HEADER}9\ta\t2.5\tx\n",
        "line 2: expected an integer as the rank .* optimistic .*, got 2.5",
    ),
    (f"{HEADER}9\ta\t12.0\tx\n", "line 2: expected an integer as the rank .*, got 12.0"),
    (f"{HEADER}9\ta\t1\n", "line 2: expected 4 fields, none empty"),
    (f"{HEADER}9\t\t1\tx\n", "line 2: expected 4 fields, none empty"),
    (f"{HEADER}\n9\ta\t0\tx\n", "line 3: expected ranks from 1 on, got 0"),
    (f"{HEADER}9\ta\t10\tx\n", "line 2: expected at least the last rank, 10 .*, got 9"),
    (f"{BOTH}4\t3\t9\n", "line 2: expected at least the optimistic rank, 4, got 3"),
]


@pytest.mark.parametrize(("text", "words"), WITHOUT_RANKS)
def test_text_without_ranks(run: Run, text: str, words: str) -> None:
    Path("mine.tsv").write_text(text)
    refused(run, "evaluate mine.tsv", 1, f"ranks: mine.tsv: {words}")
