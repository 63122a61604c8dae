"""Twins: what the command line refuses or reads otherwise, and the ordinary call beside it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support.cli_files import Outcome, run_here
from support.environment import ROOT
from support.refusals import refusal
from truerank.cli import output
from truerank.cli.commands import COMMANDS, commands
from truerank.cli.options import PAGE
from truerank.link_prediction import read_triples

pytestmark = pytest.mark.python_only
Run = Callable[[str], Outcome]

QRELS = "q1 0 a 1\nq2 0 b 1\n"
RIGHT = "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 b 1 2 t\n"
WRONG = "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 b 1 2 t\n"
LINE = "retrieval --qrels qrels --lists right.run --candidates 5 --metrics mrr --format csv"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in a folder with qrels and two runs."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"qrels": QRELS, "right.run": RIGHT, "wrong.run": WRONG}.items():
        Path(name).write_text(text, encoding="utf-8")

    return lambda line: run_here(capsys, *line.split())


def mrr(outcome: Outcome) -> float:
    """Return the number that a command printed, without a warning."""
    assert (outcome.code, outcome.err) == (0, "")
    return float(outcome.out.splitlines()[-1].split(",")[-1])


# -- options that are given twice ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lists wrong.run", "qrels qrels", "candidates 5", "format csv"])
def test_an_option_is_given_once(run: Run, name: str) -> None:
    run(f"{LINE} --{name}").refuses(2, f"--{name.split()[0]} is given twice")
    assert mrr(run(LINE)) == 1


def test_flags_and_names_of_splits(run: Run) -> None:
    run(f"{LINE} --notes --no-notes").refuses(2, "--notes is given twice")
    run(f"{LINE} --json").refuses(2, "--json, or --format csv")
    run(f"{LINE} --known train=qrels --known train=qrels").refuses(2, "expected each name once")
    lists = LINE.replace("--lists right.run", "--lists wrong.run")
    Path("one").write_text("q1 0 b 1\n", encoding="utf-8")
    Path("two").write_text("q2 0 c 1\n", encoding="utf-8")
    assert mrr(run(lists)) == 0.75
    assert mrr(run(f"{lists} --known train=one --known valid=two")) == 1
    twice = run(f"{LINE.replace('--metrics mrr', '--metrics mrr --metrics map')}")
    assert twice.out == run(LINE.replace("mrr", "mrr,map")).out


def test_every_option_of_every_command(run: Run) -> None:
    """Those that are not meant to repeat: also those that nobody has written yet."""
    context = output.click.Context(commands)
    for name in COMMANDS:
        command = commands.get_command(context, name)
        assert command is not None
        for option in command.params:
            if not isinstance(option, output.click.Option) or option.multiple:
                continue
            words = [option.opts[0], *["1"] * (not option.is_flag)]
            outcome = run(" ".join([name, *words * 2]))
            assert "given twice" in outcome.err, option.opts


# -- files in the order of their numbers -----------------------------------------------------------

SCORES = np.random.default_rng(5).random((24, 7))
TARGETS = np.arange(24) % 7


def save_parts(names: list[str]) -> tr.Ranks:
    for p, name in enumerate(names):
        rows = slice(2 * p, 2 * p + 2)
        tr.rank(SCORES[rows], TARGETS[rows]).save(name)
    return tr.rank(SCORES[: 2 * len(names)], TARGETS[: 2 * len(names)])


def merged(run: Run, names: list[str]) -> tr.Ranks:
    assert run(f"merge {' '.join(names)} --save all --force").code == 0
    return tr.load("all")


def test_ranks_of_arrays_are_merged_in_the_order_of_their_numbers(run: Run) -> None:
    """The shell's order is another one from 10 files on."""
    names = [f"q-{p}.npz" for p in range(12)]
    whole = save_parts(names)
    in_order = f"by numbers they are {' '.join(names)}"
    problem = "Error: parts: q-2.npz: its number is below the previous file's"
    outcome = run(f"merge {' '.join(sorted(names))} --save all")
    assert outcome.code == 1
    assert not Path("all").exists()
    assert outcome.err.startswith(problem)
    assert outcome.err.endswith(f"{in_order}\n")
    assert merged(run, outcome.err.split("they are ")[1].split()) == whole
    assert merged(run, names) == whole


@pytest.mark.parametrize(
    "names",
    [
        ["b.npz", "a.npz"],  # none has a number
        ["run.npz", "run-2.npz"],  # one has
        ["old-9.npz", "new-1.npz"],  # they are of unlike names
        ["q-3.npz", "q-5.npz", "q-20.npz"],
        ["1-9.npz", "2-3.npz"],  # by the first number that differs
    ],
)
def test_names_that_say_no_other_order(run: Run, names: list[str]) -> None:
    whole = save_parts(names)
    assert merged(run, names) == whole


def test_parts_of_a_task_and_of_candidates_know_their_places(run: Run) -> None:
    facts = np.arange(24)[:, None] % [5, 1, 7]
    task = tr.link_prediction.Task(facts, {}, entities=7, relations=1, sides=["tail"])
    for p in range(12):
        part = task[p::12]
        part.evaluate(lambda queries: SCORES[: len(queries)]).ranks.save(f"t-{p}.npz")
    names = [f"t-{p}.npz" for p in range(12)]
    assert merged(run, sorted(names)) == merged(run, names)
    for p, name in enumerate(["c-1.npz", "c-0.npz"]):
        counter = tr.RankCounter(SCORES[range(7), range(7)], range(7), candidates=7)
        columns = [slice(0, 3), slice(3, 7)][p]
        counter.update(SCORES[:7, columns], start=columns.start)
        counter.save(name)
    assert merged(run, ["c-1.npz", "c-0.npz"]) == tr.rank(SCORES[:7], range(7))


def test_shards_in_a_list_of_paths(run: Run) -> None:
    names = [f"s-{p}.npy" for p in range(11)]
    for p, name in enumerate(names):
        np.save(name, SCORES[2 * p : 2 * p + 2])
    words = r"scores: s-2\.npy: its number is below .*; by numbers they are s-0\.npy s-1\.npy s-2"
    refusal(ValueError, words, tr.open_scores, sorted(names))
    with pytest.raises(OSError, match="too long"):  # more digits than int() takes
        tr.open_scores(["s-" + "9" * 5000, "s-" + "9" * 5001])
    expected = tr.rank(SCORES[:22], TARGETS[:22])
    for source in (names, tuple(map(Path, names)), "s-*.npy"):
        assert tr.rank(tr.open_scores(source), TARGETS[:22]) == expected
    arrays = [np.load(name) for name in sorted(names)]
    assert tr.open_scores(arrays).shape == (22, 7)


# -- what a file is --------------------------------------------------------------------------------


def test_files_that_are_no_text_say_what_they_are(run: Run) -> None:
    facts = "a\tr\tb\nb\tr\tc\n"
    contents = {
        "parquet": b"PAR1\x15\x04\x15\xff\x00",
        "feather": b"ARROW1\x00\x00\xff\xff\xff\xff",
        r"a zip archive, as \.npz": b"PK\3\4\x14\x00\xff",
        r"an array of numpy, whose name ends in \.npy": b"\x93NUMPY\x01\x00v\x00",
        "a pickle": pickle.dumps(facts),
        "zstd": b"(\xb5/\xfd\x04\x00",
        "bzip2": bz2.compress(facts.encode()),
        "xz": lzma.compress(facts.encode()),
        "text in UTF-16, not UTF-8": facts.encode("utf-16"),
        "text in UTF-16": b"\xfe\xff" + facts.encode("utf-16-be"),
        "text in UTF-32, not UTF-8": facts.encode("utf-32"),
        "text in UTF-32": b"\0\0\xfe\xff" + facts.encode("utf-32-be"),
    }
    for words, content in contents.items():
        Path("file").write_bytes(content)
        refusal(ValueError, f"triples: file: expected text, got {words}", read_triples, "file")
        refusal(ValueError, f"path: file: expected text, got {words}", tr.read_run, "file")
        expected = rf"expected a \.npy file, .*{words.split(':')[0][:4]}"
        Path("file.npy").write_bytes(content)
        if "NUMPY" not in repr(content):
            refusal(ValueError, expected, tr.rank, "file.npy", [0])
    Path("file").write_bytes("a\tr\tb\n\xe9\tr\tb\n".encode("latin1"))
    words = r"file: line 2 is not in UTF-8 \(.*\)$"
    refusal(ValueError, words, read_triples, "file")


def test_labels_may_begin_as_files_of_other_forms_do(run: Run) -> None:
    for label in ("PAR1", "BZh9", "ARROW1", "PK", "€"):
        Path("file").write_text(f"{label}\tr\té\n", encoding="utf-8")
        assert label in read_triples("file").entities


@pytest.mark.parametrize("name", ["facts", "facts.gz", "facts.txt", "facts.tsv.GZ"])
def test_gzip_is_told_by_its_first_bytes(run: Run, name: str) -> None:
    text = b"a\tr\tb\nb\tr\tc\n"
    for content in (text, gzip.compress(text), b"\xef\xbb\xbf" + text):
        Path(name).write_bytes(content)
        assert read_triples(name).entities == ("a", "b", "c")


# -- a full disk -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["npz", "html"])
def test_a_full_disk_does_not_take_the_report(
    run: Run, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    if ending == "html":
        pytest.importorskip("matplotlib")
    expected = run(LINE).out
    line = f"{LINE} --{ending.replace('npz', 'save')} out.{ending}"
    assert run(f"{line} --force").out == expected
    Path(f"out.{ending}").unlink()
    before = sorted(os.listdir())

    def no_space(file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        outcome = run(line)
    path = Path(f"out.{ending}").resolve()
    assert outcome == (1, expected, f"Error: {path}: No space left on device\n")
    assert sorted(os.listdir()) == before
    fsync = os.fsync
    for calls in [fsync, no_space], [no_space, fsync]:  # Of the report, and of the other file.
        in_turn = iter(calls)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda file, in_turn=in_turn: next(in_turn)(file))
            assert run(f"{line} --output report.csv --force").code == 1
        assert Path("report.csv").read_text(encoding="utf-8") == expected
    assert path.exists()


def test_the_line_of_continuous_integration_runs_again(run: Run) -> None:
    """A folder that is kept has the results of the run before."""
    page = (ROOT / "docs" / "how-to" / "gate.md").read_text(encoding="utf-8")
    (line,) = re.findall("- run: truerank (compare .*?)  #", page)
    for name in ("base", "new"):
        tr.Ranks([0, 3] * 50, [1] * 100, 9).save(f"{name}.npz")
    for _ in range(2):
        outcome = run(line)
        assert outcome.code == 0, outcome.err
    assert "no worse" in Path("gate.json").read_text(encoding="utf-8")


# -- pipes -----------------------------------------------------------------------------------------


def feed(path: str, content: bytes) -> None:
    """Make a pipe with a name, into which another thread writes."""
    os.mkfifo(path)
    threading.Thread(target=Path(path).write_bytes, args=(content,), daemon=True).start()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_pipes_are_read_once(run: Run) -> None:
    """A reader looks into a file several times, and maps arrays."""
    expected = run(LINE.replace("right", "wrong")).out
    feed("pipe", QRELS.encode())
    feed("run", gzip.compress(WRONG.encode()))
    outcome = run(f"retrieval --qrels pipe --lists run {LINE.split('right.run ')[1]} --save a.npz")
    assert (outcome.out, outcome.err) == (expected, "")
    assert tr.load("a.npz").protocol.files == ("pipe", "run")
    np.save("names.npy", SCORES[:2, :5])
    feed("vectors", Path("names.npy").read_bytes())
    line = f"retrieval --qrels qrels --labels queries=q --candidates names {LINE.split('5 ')[1]}"
    Path("q").write_text("q1\nq2\n", encoding="utf-8")
    Path("names").write_text("a\nb\nc\nd\ne\n", encoding="utf-8")
    np.save("E.npy", np.eye(5))
    from_pipe = run(f"{line} --queries vectors --entities E.npy")
    assert from_pipe == run(f"{line} --queries names.npy --entities E.npy")
    assert from_pipe.code == 0
    run(LINE.replace("right.run", os.devnull)).refuses(1, "expected a regular file, no pipe, ")


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def type_in(text: str | bytes) -> None:
        stdin = io.TextIOWrapper(io.BytesIO(text.encode() if isinstance(text, str) else text))
        monkeypatch.setattr("sys.stdin", stdin)

    type_in(WRONG)
    assert mrr(run(LINE.replace("right.run", "-"))) == 0.75
    type_in("rank\tcandidates\n1\t5\n2\t5\n")
    assert mrr(run("evaluate - --metrics mrr --format csv --save -.npz")) == 0.75
    assert tr.load("-.npz").protocol.files == ("-",)
    type_in(Path("-.npz").read_bytes())
    assert mrr(run("evaluate - --metrics mrr --format csv")) == 0.75
    type_in(QRELS)
    outcome = run("evaluate -")
    assert "`truerank retrieval QRELS RUN`" in outcome.err
    type_in(QRELS)
    run(LINE.replace("right.run", "-").replace("qrels qrels", "qrels -")).refuses(1, "the file of")
    Path("-").write_text(RIGHT, encoding="utf-8")
    assert mrr(run(LINE.replace("right.run", "./-"))) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_arrays_come_by_pipes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but what they begin with says so."""
    rng = np.random.default_rng(3)
    files = {"scores": rng.random((9, 5)), "targets": rng.integers(0, 5, 9)}
    for name, array in files.items():
        np.save(f"{name}.npy", array)
    from_files = run("evaluate scores.npy targets.npy --save ranks.npz")
    assert from_files.code == 0

    def read(line: str, name: str) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes())))
        return run(line)

    assert read("evaluate scores.npy -", "targets.npy") == from_files
    assert read("evaluate - targets.npy", "scores.npy") == from_files
    assert read("evaluate -", "ranks.npz").out == from_files.out
    feed("pipe", Path("targets.npy").read_bytes())
    assert run("evaluate scores.npy pipe") == from_files
    Path("short").write_bytes(Path("targets.npy").read_bytes()[:-8])
    read("evaluate scores.npy -", "short").refuses(1, "TARGETS: -: expected 200 bytes")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_errors_name_a_pipe_as_it_was_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    feed("pipe", gzip.compress(b"q1,a,1\nq2,b,1\n"))
    line = LINE.replace("--qrels qrels", "--qrels pipe")
    outcome = run(line)
    assert outcome.err.startswith("Error: --qrels: pipe: line 1: expected tabs between columns")
    assert outcome.err.endswith("and lists also blanks, got commas in 'q1,a,1'\n")
    feed("tabs", b"q1\ta\t1\nq2\tb\t1\n")
    columns = "--columns query=0,document=1,relevance=2"
    assert mrr(run(f"{line.replace('pipe', 'tabs')} {columns}")) == 1
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"q1;a;1\n")))
    outcome = run(LINE.replace("--qrels qrels", "--qrels -"))
    assert outcome.err.startswith("Error: --qrels: -: line 1: ")
    assert outcome.err.endswith("got semicolons in 'q1;a;1'\n")
    feed("names", b"a\nb\na\n")
    run(LINE.replace("--candidates 5", "--candidates names")).refuses(1, "--candidates: names: ")


@pytest.mark.parametrize("name", ["facts", "facts.csv", "run"])
def test_semicolons_are_named(run: Run, name: str) -> None:
    Path(name).write_text("a;r;b\n", encoding="utf-8")
    line = LINE.replace("right.run", name)
    if "facts" in name:
        line = f"link-prediction --test {name} --sides tail --lists tail=right.run"
    run(line).refuses(1, "got semicolons in 'a;r;b'")


def test_names_with_semicolons_are_names(run: Run) -> None:
    Path("qrels").write_text("q;1 0 a;b 1\n", encoding="utf-8")
    Path("right.run").write_text("q;1 Q0 a;b 1 2 t\n", encoding="utf-8")
    assert mrr(run(LINE)) == 1


def test_lists_get_a_header_line_on_top(run: Run) -> None:
    """Or --list-columns says where they are; --columns is of the judgements."""
    Path("right.run").write_text("q1 a 2\nq1 b 1\nq2 b 2\n", encoding="utf-8")
    outcome = run(LINE)
    assert outcome.code == 1
    assert "--columns" not in outcome.err
    assert "a header line with query, document, score on top" in outcome.err
    way = "--list-columns query=...,document=... says which are meant, and perhaps score or rank"
    assert way in outcome.err
    assert mrr(run(f"{LINE} --list-columns query=0,document=1,score=2")) == 1
    text = Path("right.run").read_text(encoding="utf-8")
    Path("right.run").write_text(f"query document score\n{text}", encoding="utf-8")
    assert mrr(run(LINE)) == 1
    Path("right.run").write_text(f"qid docno sim\n{text}", encoding="utf-8")
    assert way in run(LINE).err
    assert mrr(run(f"{LINE} --list-columns query=qid,document=docno,score=sim")) == 1
    Path("facts").write_text("a\tr\tb\n", encoding="utf-8")
    Path("known").write_text("b\tr\tc\n", encoding="utf-8")
    Path("tails").write_text("a\tr\tc\t.5\na\tr\tb\t.9\n", encoding="utf-8")
    line = "link-prediction --test facts --known train=known --sides tail --lists tail=tails"
    assert mrr(run(f"{line} --metrics mrr --format csv")) == 1
    Path("tails").write_text("a\tr\tc\t.5\t1\tx\n", encoding="utf-8")
    way = "--list-columns head=...,relation=...,tail=... says which are meant"
    run(line).refuses(1, way)
    text = "x\ta\tr\tc\t.5\nx\ta\tr\tb\t.9\n"
    Path("tails").write_text(text, encoding="utf-8")
    columns = "--list-columns head=1,relation=2,tail=3,score=4 --metrics mrr --format csv"
    assert mrr(run(f"{line} {columns}")) == 1


# -- one file, and columns, of qrels and lists -----------------------------------------------------

LOG = "query,document,relevance,score\nq1,a,1,.2\nq1,b,0,.9\nq1,c,0,.1\nq2,b,1,.7\nq2,d,0,.3\n"
OF_QRELS = "--columns query=user,document=item,relevance=click"
OF_LISTS = "--list-columns query=user,document=item,score=model"
NAMES = f"{OF_QRELS} {OF_LISTS}"
OF_LOG = "--candidates listed --metrics auc --format csv"


def test_one_file_is_not_its_own_answer(run: Run) -> None:
    """Ranked by its own judgements everything is right, whatever a model did."""
    os.link("qrels", "linked")
    problem = "this is the file of the right answers: expected another one"
    for name in ("qrels", "./qrels", "linked"):
        run(LINE.replace("right.run", name)).refuses(1, f"--lists: {name}: {problem}\n")
    line = "compare right.run qrels --qrels qrels --candidates 5"
    run(line).refuses(1, f"run: qrels: {problem}\n")
    run(line.replace("run qrels", "run ./right.run")).refuses(2, "different models, each once")
    run("merge right.run linked ./qrels").refuses(2, "at least two jobs, each once")
    Path("copy").write_text(QRELS, encoding="utf-8")
    assert run("compare right.run wrong.run --qrels copy --candidates 5").code == 0
    Path("facts").write_text("a\tr\tb\n", encoding="utf-8")
    line = "link-prediction --test facts --known train=copied --sides tail --lists tail="
    Path("copied").write_text("b\tr\tc\n", encoding="utf-8")
    run(f"{line}./facts").refuses(1, f"--lists tail: ./facts: {problem}\n")
    Path("lists").write_text("a\tr\tb\n", encoding="utf-8")
    assert run(f"{line}lists").code == 0


def log_with(header: str) -> str:
    return header + LOG[LOG.index("\n") :]


def test_a_log_is_both(run: Run) -> None:
    Path("log.csv").write_text(LOG, encoding="utf-8")
    report = tr.retrieval.Task(
        {"q1": ["a"], "q2": ["b"]},
        entities=list("abcd"),
        candidates={"q1": list("abc"), "q2": list("bd")},
    ).evaluate_lists({"q1": {"a": 0.2, "b": 0.9, "c": 0.1}, "q2": {"b": 0.7, "d": 0.3}})
    assert mrr(run(f"retrieval --qrels log.csv --lists log.csv {OF_LOG}")) == report["auc"] == 0.75
    Path("own.csv").write_text(log_with("user,item,click,model"), encoding="utf-8")
    line = f"retrieval --qrels own.csv --lists own.csv {OF_LOG}"
    assert mrr(run(f"{line} {NAMES}")) == 0.75
    run(line).refuses(1, "--columns query=...,document=... says which are meant, and perhaps relev")
    for columns in (OF_QRELS, NAMES.replace("=model", "=click")):
        run(f"{line} {columns}").refuses(1, "relevance and score; --list-columns query=...,docum")
    run(f"{line} {NAMES},mark=model").refuses(1, "got --list-columns mark=model")
    run(f"{line} {OF_QRELS},mark=model {OF_LISTS}").refuses(1, "got --columns mark=model")
    Path("log").write_text(LOG.partition("\n")[2].replace(",", "\t"), encoding="utf-8")
    numbers = "--columns query=0,document=1,relevance=2 --list-columns query=0,document=1,score=3"
    assert mrr(run(f"retrieval --qrels log --lists log {OF_LOG} {numbers}")) == 0.75
    # Commas stand between columns in .csv alone; what has them elsewhere is told so.
    Path("log").write_text(LOG, encoding="utf-8")
    run(f"retrieval --qrels log --lists log {OF_LOG}").refuses(
        1, "lists also blanks, got commas in"
    )


def test_names_of_columns_reach_lists(run: Run) -> None:
    own = log_with("user,item,click,model").splitlines()
    for name, column in {"clicks.csv": 2, "model.csv": 3}.items():
        rows = [line.split(",") for line in own]
        text = "".join(f"{row[0]},{row[1]},{row[column]}\n" for row in rows)
        Path(name).write_text(text, encoding="utf-8")
    Path("own.csv").write_text("\n".join(own), encoding="utf-8")
    line = f"retrieval --qrels clicks.csv --lists model.csv {OF_LOG}"
    assert mrr(run(f"{line} {NAMES}")) == 0.75
    assert run(f"{line} {NAMES.replace('score=model', 'score=3')}").code == 1
    # The scores are there, and nobody has named them.
    run(f"{line} {OF_QRELS}").refuses(1, "'user', 'item', 'model'")
    run(f"{line} {NAMES.replace(',score=model', '')}").refuses(1, "column 'model', got one that is")
    Path("model.csv").write_text("user,item\nq1,b\nq1,a\nq2,b\nq2,d\n", encoding="utf-8")
    assert mrr(run(f"{line} {OF_QRELS}")) == 0.5
    # The columns of the qrels are those of the qrels alone.
    Path("run").write_text("q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 b 1 1 t\n", encoding="utf-8")
    line = "retrieval --qrels clicks.csv --lists run --candidates 9 --metrics mrr --format csv"
    assert mrr(run(f"{line} {OF_QRELS}")) == 0.75
    own = "query\tdocument\tscore\nq1\tb\t2\nq1\ta\t1\nq2\tb\t1\n"
    Path("own").write_text(own, encoding="utf-8")
    assert mrr(run(f"{line.replace('lists run', 'lists own')} {OF_QRELS}")) == 0.75
    Path("clicks").write_text("q1\ta\t1\nq2\tb\t1\n", encoding="utf-8")
    numbers = "--columns query=0,document=1,relevance=2"
    assert mrr(run(f"{line.replace('clicks.csv', 'clicks')} {numbers}")) == 0.75


def test_runs_of_a_log_are_compared(run: Run) -> None:
    Path("log.csv").write_text(LOG, encoding="utf-8")
    Path("new.csv").write_text(log_with("query,document,click,score"), encoding="utf-8")
    line = "compare log.csv new.csv --qrels log.csv --metrics auc,gauc --candidates listed"
    assert run(line).code == 1  # A column of the second file would be left out.
    columns = "--list-columns query=query,document=document,score=score"
    outcome = run(f"{line} {columns} --format csv")
    assert (outcome.code, outcome.err) == (0, "")
    assert [row.split(",")[3:5] for row in outcome.out.splitlines()[1:]] == [
        ["0.75"] * 2,
        ["0.7"] * 2,
    ]


def test_runs_beside_a_log_may_be_logs(run: Run) -> None:
    """Their relevance is left out, as the qrels have it; other columns are refused as ever."""
    Path("log.csv").write_text(LOG, encoding="utf-8")
    line = "compare log.csv new.csv --qrels log.csv --candidates listed --metrics auc --format csv"
    Path("new.csv").write_text(LOG.replace(".9", ".05"), encoding="utf-8")
    outcome = run(f"{line} --margin 0.01")
    assert outcome.code == 0
    assert outcome.out.splitlines()[1].split(",")[1:3] == ["0.75", "1.0"]  # base, new
    columns = "--list-columns query=query,document=document,score=score"
    assert run(f"{line} {columns}").out == run(line).out
    Path("new.csv").write_text(LOG.replace("score", "model"), encoding="utf-8")
    run(line).refuses(1, "'model'")
    Path("new.csv").write_text(LOG, encoding="utf-8")
    qrels = "".join(f"{row.rpartition(',')[0]}\n" for row in LOG.splitlines())
    Path("qrels.csv").write_text(qrels, encoding="utf-8")
    assert run(line.replace("--qrels log", "--qrels qrels")).out == run(line).out
    Path("new.csv").write_text(qrels, encoding="utf-8")
    run(line).refuses(1, "'relevance'")  # There is no score that would be meant in its place.


@pytest.mark.parametrize("name", ["./listed", "listed.txt"])
def test_a_file_may_be_called_listed(run: Run, name: str) -> None:
    Path(name).write_text("a\nb\nc\n", encoding="utf-8")
    line = LINE.replace("candidates 5", f"candidates {name}")
    run(f"{line} --save a.npz")
    assert tr.load("a.npz").candidates.tolist() == [3, 3]
    run(f"{LINE.replace('candidates 5', 'candidates listed')} --save b.npz")
    assert tr.load("b.npz").candidates.tolist() == [2, 1]
    np.save("S.npy", SCORES[:2, :3])
    line = "retrieval --qrels qrels --candidates listed --labels queries=q --scores S.npy"
    Path("q").write_text("q1\nq2\n", encoding="utf-8")
    run(line).refuses(1, "--scores: the candidates are")


# -- messages --------------------------------------------------------------------------------------

PYTHON = re.compile(
    r"[a-z_]+=(True|False|None|[\"'{(\[<])|\bids:|Task\(|\w+= |with_labels|report\(|Sampled"
)
WRONG_LINES = [
    "evaluate ranks.npz --by relation",
    "evaluate ranks.npz --weights query",
    "evaluate ranks.npz --metrics macro.mrr",
    "evaluate lists.npz --metrics auc",
    "evaluate nan.npy targets.npy",
    "evaluate raw.npy targets.npy",
    "evaluate scores.npy targets.npy --dtype bfloat16",
    "evaluate two.npz targets.npy",
    "evaluate part-*.npy targets.npy",
    "merge one.npz other.npz",
    "merge one.npz again.npz",
    "compare right.run twice.run --qrels qrels --candidates 9",
    "compare right.run empty --qrels qrels --candidates 9",
    f"{LINE.replace('right', 'twice')}",
    f"{LINE.replace('right.run', 'empty')}",
    f"{LINE} --known train=qrels",
    f"{LINE} --known train=qrels --by facts",
    f"{LINE} --exclude-self --known self=qrels",
    f"{LINE} --columns query=user",
    f"{LINE} --columns query=user,document=item",
    f"{LINE} --columns query=0,document=1,mark=2",
    "link-prediction --test header --scores tail=S.npy --sides tail",
    "link-prediction --test numbers --scores tail=S.npy --sides tail --header",
    "link-prediction --test numbers --scores tail=S.npy --sides tail",
    "link-prediction --test numbers --labels entities=names --scores tail=S.npy --sides tail",
    "link-prediction --test facts --ids --scores tail=S.npy --sides tail",
    "link-prediction --test facts --scores tail=S.npy --sides tail --candidates listed",
    "link-prediction --test facts --scores tail=S.npy --sides tail --candidates sampled:9:none",
    "link-prediction --test facts --known train=facts --scores tail=S.npy --sides tail",
    "link-prediction --test facts --lists tail=others --sides tail",
    "link-prediction --test facts --lists tail=tails --sides tail",
    "link-prediction --test four --scores tail=S.npy --sides tail",
    "link-prediction --test facts --scores tail=S.npy --columns head=0,relation=1,tail=8",
]


@pytest.fixture
def wrong_files(run: Run) -> None:
    """Write files that lines cannot use as they do."""
    texts = {
        "twice.run": "q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 c 1 1 t\n",
        "empty": "",
        "header": "head\trelation\ttail\na\tr\tb\n",
        "facts": "a\tr\tb\nb\tr\tc\n",
        "four": "a\tr\tb\t1\nb\tr\tc\t2\n",
        "others": "x\tr\tb\n",
        "tails": "a\tr\tb\t1\na\tr\tb\t2\n",
        "numbers": "0\t0\t1\n1\t0\t2\n",
        "names": "a\nb\nc\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    arrays = {"scores": SCORES[:2], "targets": TARGETS[:2], "S": SCORES[:2, :3]}
    arrays |= {"nan": np.full((2, 7), np.nan), "raw": np.zeros((2, 7), "V2")}
    arrays |= {"part-0": SCORES[:2], "part-1": SCORES[:2, :3]}
    for name, array in arrays.items():
        np.save(name, array)
    np.savez("two.npz", a=SCORES, b=SCORES)
    tr.rank(SCORES, TARGETS).save("ranks.npz")
    task = tr.retrieval.Task({"q1": ["a"], "q2": ["b"]}, entities=9)
    task.evaluate_lists({"q1": ["a"], "q2": ["c"]}).ranks.save("lists.npz")
    for name, facts in {"one": [(0, 0, 1)], "other": [(0, 0, 2)], "again": [(0, 0, 1)]}.items():
        task = tr.link_prediction.Task(facts, {}, entities=3, relations=1, sides=["tail"])
        task.evaluate_scores(SCORES[:1, :3]).ranks.save(f"{name}.npz")


@pytest.mark.usefixtures("wrong_files")
@pytest.mark.parametrize("line", WRONG_LINES)
def test_messages_speak_of_options(run: Run, line: str) -> None:
    outcome = run(line)
    assert outcome.err
    assert outcome.code in {0, 1, 2}
    assert PYTHON.search(outcome.err) is None, outcome.err


@pytest.mark.usefixtures("wrong_files")
def test_ways_out_at_the_command_line(run: Run) -> None:
    for line in (
        "link-prediction --test facts --known train=others --lists tail=tails --sides tail",
        "compare right.run twice.run --qrels qrels --candidates 9",
        LINE.replace("right", "twice"),
    ):
        run(line).refuses(1, "; --duplicates says what a repeat is")
        assert run(f"{line} --duplicates first").code == 0
    for command in "link-prediction --test facts --scores tail=S.npy", "compare one.npz other.npz":
        assert run(f"{command} --duplicates first").code in {1, 2}
    run("link-prediction --test header --scores tail=S.npy").refuses(
        1, "--header says that it is one"
    )
    Path("run").write_text(QRELS.replace("q1", "0"), encoding="utf-8")
    assert run(LINE.replace("right.run", "empty")).err.startswith("Warning: --lists: empty: 2 of 2")
    assert "Warning: run: empty" in run("compare right.run empty --qrels qrels --candidates 9").err
    assert "None" not in run("evaluate two.npz targets.npy").err


@pytest.mark.usefixtures("wrong_files")
def test_an_error_leads_to_the_page_on_options_once_at_its_end(run: Run) -> None:
    """Where an option stands alone; another hint is not written behind it."""
    Path("rounds").write_text("u 3 1 0\nu 1 2 5\n", encoding="utf-8")
    for line in (
        LINE.replace("right", "twice"),
        "link-prediction --test four --scores tail=S.npy --sides tail",
        "retrieval --qrels rounds --scores scores.npy",
    ):
        text = run(line).err.rstrip()
        assert text.endswith(f" (see {PAGE})")
        assert text.count("(see ") == 1
    assert PAGE not in run("link-prediction --test header --scores tail=S.npy").err
    assert PAGE in run("--help").out


def test_what_else_a_table_says(run: Run) -> None:
    """What it has not printed, and what ties move."""
    rng = np.random.default_rng(0)
    ranks = tr.rank(rng.integers(0, 4, (60, 30)) / 4, rng.integers(0, 30, 60))
    ranks.with_labels(relation=[f"r{i % 25}" for i in range(60)]).save("ranks.npz")
    lines = run("evaluate ranks.npz --by relation").out.splitlines()
    assert "5 more rows in JSON" in lines
    assert "r24" in run("evaluate ranks.npz --by relation --format csv").out
    assert '"r24"' in run("evaluate ranks.npz --by relation --json").out
    for line in ("--format markdown", "--format latex", "--output all.txt", "--output all.html"):
        out = run(f"evaluate ranks.npz --by relation {line}").out
        text = Path(line.split()[1]).read_text() if "--output" in line else out
        assert "r24" in text
        assert "more" not in text
    for metrics, moved in {
        "": "hits@1",
        "--metrics hits@10": "hits@10",
        "--metrics mr": "mr",
        "--metrics gmr": "gmr",
    }.items():
        assert f"Ties move {moved} by" in run(f"evaluate ranks.npz {metrics}").out
    assert "Ties" not in run("evaluate ranks.npz --metrics count").out
    assert "ties move hits@1" in str(tr.report(ranks).audit())


def test_a_page_of_unlike_models_says_why_once(run: Run) -> None:
    tr.Ranks([0, 1], [1, 1], 9).save("a.npz")
    tr.Ranks([0, 1], [1, 1], 9).with_protocol(split="valid").save("b.npz")
    outcome = run("compare a.npz b.npz --allow-unlike --html page.html")
    assert outcome.code == 0
    assert "--allow-unlike compares" not in Path("page.html").read_text(encoding="utf-8")
