"""Files of lists are read as plain loops read them; wrong lines are named; files are whole."""

from __future__ import annotations

import gzip
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from support.refusals import refusal
from truerank import _core
from truerank.records.text import exact_number, first_rounded

Runs = dict[str, dict[str, float]]
TREC_RUN = _core.RowForm(6, [0, 2], 2, 4)

NAMES = st.text(
    st.characters(exclude_characters=" \t\r\n\ufeff", exclude_categories=("Cs", "Z", "Cc")),
    min_size=1,
    max_size=12,
)
SCORES = st.one_of(
    st.floats(allow_nan=False),
    st.integers(-(10**17), 10**17).map(float),
    st.decimals(-1000, 1000, places=5, allow_nan=False).map(float),
)
QUERIES = NAMES.filter(lambda name: not name.startswith("#"))  # which begins a comment
RUNS = st.dictionaries(QUERIES, st.dictionaries(NAMES, SCORES, max_size=6), max_size=6)


def written(tmp: Path, text: str, name: str = "run.txt") -> Path:
    path = tmp / name
    data = text.encode()
    if name.endswith(".gz"):
        data = gzip.compress(data)
    path.write_bytes(data)
    return path


@given(
    RUNS,
    st.randoms(use_true_random=False),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from([9, 1 << 17]),
)
def test_runs_are_read_as_plain_loops_read_them(
    tmp_path_factory: pytest.TempPathFactory,
    run: Runs,
    random: Any,
    end: str,
    packed: bool,
    at_once: int,
) -> None:
    lines = []
    for query, listed in run.items():
        lines += [f"{query} Q0 {document} 0 {score!r} tag" for document, score in listed.items()]
    random.shuffle(lines)
    plain: Runs = {}
    for line in lines:
        query, _, document, _, score, _ = line.split(" ")
        plain.setdefault(query, {})[document] = float(score)
    spaced = [""]
    spaced += [line.replace(" ", random.choice([" ", "\t", "  "])) for line in lines]
    spaced.append("  ")
    name = "run.gz" if packed else "run.txt"
    path = written(tmp_path_factory.mktemp("run"), end.join(spaced), name)
    seen: list[tr.Progress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truerank.records.text.BLOCK_BYTES", at_once)
        assert dict(tr.read_run(path, progress=seen.append)) == plain
    assert seen[-1].done == seen[-1].total == path.stat().st_size
    assert [p.done for p in seen] == sorted(p.done for p in seen)


@given(
    st.text("0123456789.eE+-_infax ", max_size=24)
    | st.floats().map(repr)
    | st.from_regex(r"\A-?[0-9]{1,18}\.[0-9]{0,18}(e-?[0-9]{1,3})?\Z")
)
@examples(200)
def test_numbers_are_those_of_float(text: str) -> None:
    """A score is read with the bits that Python's float gives, or refused as float refuses it."""
    if not text.strip() or " " in text.strip():
        return
    tables = [_core.Names(), _core.Names()]
    fault, _, scores = _core.read_rows(f"q Q0 d 1 {text} t", TREC_RUN, tables)
    try:
        expected = float(text)
    except ValueError:
        expected = None
    if expected is None or "_" in text:  # float takes 1_000
        assert fault == (0, "expected a number as the score")
    else:
        assert fault is None
        np.testing.assert_array_equal(scores, [expected])
        assert math.copysign(1, scores[0]) == math.copysign(1, expected)


def is_held(text: str) -> bool:
    """Return whether a float64 holds a finite number in text, by fractions."""
    sign, whole, part, exponent = re.fullmatch(
        r"([-+]?)([0-9]*)\.?([0-9]*)(?:[eE]([-+]?[0-9]+))?", text
    ).groups()  # type: ignore[union-attr]
    last = int(exponent or 0) - len(part)  # the power of ten that the last digit stands for
    exact = int(sign + whole + part) * Fraction(10) ** last
    value = float(text)
    if math.isinf(value) or (value == 0 and exact != 0):
        return False
    return abs(value) < 2**53 or last > 0 or exact == value


DIGITS = st.integers(0, 10**20).map(str) | st.integers(2**53 - 9, 2**53 + 99).map(str)
DECIMALS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    DIGITS | st.builds("{}.{}".format, DIGITS, st.sampled_from(["", "0", "5", "25"])),
    st.sampled_from(["", "", "00", "0" * 230]),
    st.sampled_from(["", "", "e1", "E-1", "e20", "e300", "e-99", "e-310", "E-330", "e-0400"]),
)
SMALL = st.builds("0.{}{}{}".format, st.sampled_from(["", "0" * 330]), DIGITS, st.just(""))


@given(st.floats(allow_nan=False, allow_infinity=False).map(repr) | DECIMALS | SMALL)
@example("9007199254740993.0")
@example("9.007199254740993e15")
@example("3e-324")
@example("1e23")
@example("1e-400")
@example("-0e-500")
@example("1e-310")
@examples(200)
def test_scores_are_held_by_a_float64_or_refused(text: str) -> None:
    """Alike in a run, and between other lines and blanks."""
    number = exact_number(text)
    assert isinstance(number, float) == is_held(text)
    rows = ["", "q Q0 d-e-123 1 0 t", " \t", f"q\tQ0  e 2\t{text} t", "q Q0 f 3 0.0 t", ""]
    tables = [_core.Names(), _core.Names()]
    scores = _core.read_rows("\n".join(rows), TREC_RUN, tables)[2]
    wrong = first_rounded("\n".join(rows), 4, scores)
    if is_held(text):
        assert wrong is None
        assert number == scores[1] == float(text)
    else:
        assert wrong is not None
        assert wrong[0] == 3
        assert wrong[1].partition(", got ")[2] == text == number


ANY_TEXT = st.text("ab\u00e9 \t\n01.5e-:\0", max_size=60)
FIELDS = st.lists(st.sampled_from(["q", "p", "0.5", "-1e3", "x y", "\u00e9", ""]), max_size=8)
ANY_LINES = st.lists(FIELDS.map(" ".join) | FIELDS.map("\t".join) | ANY_TEXT, max_size=6)


@given(ANY_LINES.map("\n".join))
@examples(100)
def test_any_text_is_split_as_loops_split_it(text: str) -> None:
    """Rows up to the first line that is none; nothing else happens, whatever the text."""
    rows = []
    wrong = None
    for number, line in enumerate(text.split("\n")):
        fields = [field for field in re.split("[ \t]", line) if field]
        if not fields:
            continue
        try:
            query, _, document, _, score, _ = fields
            rows.append((query, document, float(score)))
        except ValueError:
            wrong = number
            break
    tables = [_core.Names(), _core.Names()]
    fault, (queries, documents), scores = _core.read_rows(text, TREC_RUN, tables)
    assert (fault is None) == (wrong is None)
    assert fault is None or fault[0] == wrong
    groups, names = (table.listed() for table in tables)
    found = zip(queries.tolist(), documents.tolist(), scores.tolist(), strict=True)
    assert [(groups[q], names[d], s) for q, d, s in found] == rows


@pytest.mark.parametrize("at_once", [1, 1 << 17])
def test_a_byte_order_mark_begins_a_file_or_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """That of the file is no text; one within a line is text as any other; no third is read."""
    monkeypatch.setattr("truerank.records.text.BLOCK_BYTES", at_once)
    text = "\ufeffq Q0 \ufeffd 1 0.5 t\nq Q0 d\ufeff 1 0.25 t\n"
    assert dict(tr.read_run(written(tmp_path, text))) == {"q": {"\ufeffd": 0.5, "d\ufeff": 0.25}}


@pytest.mark.parametrize("read", [tr.read_run, tr.read_qrels])
def test_an_empty_file_has_no_lists(tmp_path: Path, read: Any) -> None:
    assert len(read(written(tmp_path, "\n \n"))) == 0


# -- runs that are written -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.csv", "run.csv.gz"])
def test_commas_and_quotes_of_names_are_read_back(tmp_path: Path, name: str) -> None:
    lists = {"q,1": {"a,b": 2.5, 'c"d"': 0.5}, '"q"': {"a,b": 1.0, "#": 0.25}}
    tr.write_run(tmp_path / name, lists, tag="one,two")
    assert dict(tr.read_run(tmp_path / name)) == lists
    with pytest.raises(ValueError, match="names without blanks"):
        tr.write_run(tmp_path / name, {"q 1": {"d": 1.0}})


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("run.txt", "float32"), ("run.gz", "float64"), ("run.txt", "int64"), ("x.csv", "float64")],
)
def test_runs_are_read_back(tmp_path: Path, name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    ids = np.stack([rng.permutation(30)[:7] for _ in range(2100)])
    ids[5, 3:] = -1
    scores = (rng.normal(size=ids.shape) * 100).astype(dtype)
    names = [f"d\u00e9{i}" for i in range(30)]
    tr.write_run(tmp_path / name, tr.TopK(ids, scores), entities=names, tag="model")
    assert dict(tr.read_run(tmp_path / name)) == {
        str(query): {names[i]: s for i, s in zip(*row, strict=True) if i >= 0}
        for query, row in enumerate(zip(ids.tolist(), scores.tolist(), strict=True))
    }
    first = (tmp_path / name).read_bytes()
    tr.write_run(tmp_path / name, tr.TopK(ids, scores), entities=names, tag="model")
    assert (tmp_path / name).read_bytes() == first


ONE = tr.TopK([[1]], [[1.0]])


@pytest.mark.parametrize(
    ("top", "options", "argument"),
    [
        (ONE, {"queries": ["a b"]}, "queries"),
        (ONE, {"queries": ["\ufeffa"]}, "queries"),
        (tr.TopK([[1], [2]], None), {"queries": ["a", "a"]}, "queries"),
        ({"q": ["d"]}, {"queries": ["q"]}, "queries, entities"),
        (ONE, {"entities": ["a"]}, "entities"),
        (ONE, {"entities": ["a", "\ud800"]}, "entities"),
        (ONE, {"tag": ""}, "tag"),
        (tr.TopK([[7, 7]], None), {}, "top"),
        (tr.TopK([[1]], [[2**53 + 1]]), {}, "scores"),
        ({"q": {"d": 2**53 + 1, "e": 0.5}}, {}, "top"),
        ({"q": {"d": 2**53 + 1}, "p": {"d": 0.5}}, {}, "top"),
        ({"q": {"d": 1.0}, "p": ["d"]}, {}, "top"),
    ],
)
def test_wrong_arguments_leave_no_file(
    tmp_path: Path, top: Any, options: dict[str, Any], argument: str
) -> None:
    refusal(tr.InputError, f"^{argument}: ", tr.write_run, tmp_path / "run.txt", top, **options)
    assert list(tmp_path.iterdir()) == []
