"""Messages name options: a value only where it cannot be wrong, and then it is followed.

Of options that say what data mean, or remove some, the name stands alone: the page "What came, and
which option says what it is" has their values. Each other remedy is followed to the right number,
or to a refusal; one without a row in one of the files `remedies_of_...` is refused here. None holds
an expression over the user's data.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from doors import remedies_of_joins, remedies_of_records, remedies_of_rooms
from doors.remedies import Answer, Row, Terminal, ask_in_python, follow
from support.environment import ROOT
from support.which_option import SECTIONS

PACKAGE = ROOT / "python" / "truerank"
ROWS = [*remedies_of_records.ROWS, *remedies_of_rooms.ROWS, *remedies_of_joins.ROWS]
CASES = [(row, twin) for row in ROWS for twin in row.cases]
LINES = [(row, twin) for row, twin in CASES if row.line is not None]
pytestmark = pytest.mark.python_only
needs_sources = pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside these tests")

# Their values remove, merge or reinterpret data: no message chooses one.
ALONE = ("answerless", "candidates", "columns", "dtype", "duplicates", "gain", "keys", "known")
ALONE += ("leaks", "misses", "order", "repeats", "similarity", "split", "unseen")
# Values with `...` are forms, and a file is what other tools call by other names.
CHOSEN = re.compile(rf"\b({'|'.join(ALONE)})=[^=\s,.)]|--({'|'.join(ALONE)}) [a-z0-9]+$")
FORMS = re.compile(r"known=\{.*\.\.\..*\}|\w+=file\b")
SPELLINGS = "inputs/checks.py"
# Options whose names are in a variable, by the file and the expression.
NAMES_IN_VARIABLES: dict[str, list[str]] = {
    "records/splits.py: name": ["duplicates", "leaks"],
    "link_prediction/task.py: noun": ["entities", "relations"],
    "ranks/grouping.py: label": ["relation"],
    "records/id_tables.py: argument": ["entities", "relations"],
    "records/vocabularies.py: vocabulary.of": ["entities"],
}
# Labels beside ints, as one of `str` and `int` cannot be right for all.
OF_UNLIKE_TYPES = "str(...) of each makes labels of all"
# Expressions over the data of users, in the words of messages.
EXPRESSIONS = re.compile(
    r"\b(dict|list|set|tuple|str|int|map|zip)\(|\bnp\.\w+|\bpd\.\w+|pandas\.\w+\(|\bdf[.\[]"
    r"|\bfor \w+(, \w+)* in \w|\.(dropna|astype|explode|nonzero|to_dict|toarray|to_numpy|to_pandas"
    r"|reshape|reset_index|cpu|copy|view|tolist|T)\b|json\.load|iconv|\w\[\w+ [>=<]+ \d|\w\[None\]"
)


def id_of(pair: object) -> str:
    """Return what the test of a row, or of a twin, is called."""
    return pair.name if isinstance(pair, Row) else str(pair)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an empty folder the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("row", "twin"), CASES, ids=id_of)
def test_a_remedy_that_is_followed_ends_at_the_right_number(row: Row, twin: str) -> None:
    answer, n_followed = follow(row, row.cases[twin], ask_in_python)
    check(row, twin, answer, n_followed)


@pytest.mark.parametrize(("row", "twin"), LINES, ids=id_of)
def test_so_does_a_remedy_at_the_terminal(
    row: Row,
    twin: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("click", reason="the command line needs click")
    from support.cli_files import run_here

    terminal = Terminal(partial(run_here, capsys), monkeypatch.setattr)
    answer, n_followed = follow(row, row.cases[twin], terminal.ask)
    check(row, twin, answer, n_followed)


def check(row: Row, twin: str, answer: Answer, n_followed: int) -> None:
    """Check where the remedies of a row have led."""
    number = answer.number
    if twin == "plain":
        assert n_followed, f"no remedy was named: {answer.words!r}"
        assert number is not None, f"it ends at a refusal: {answer.words!r}"
    if number is not None:
        assert number == pytest.approx(row.right(row.cases[twin])), answer.words


# -- each remedy has a row, and none is an expression ----------------------------------------------


def files() -> Iterator[tuple[str, ast.Module]]:
    """Yield the files of the package, with their trees."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name != "errors.py":
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def remedies_of(place: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the options that a file makes with an effect, and their values: others say what came.

    "" is no value.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func).split(".")[-1] != "Option":
            continue
        name, *rest = node.args
        by_keyword = {word.arg: word.value for word in node.keywords}
        values = [*rest[:1], *(by_keyword[word] for word in by_keyword if word == "value")]
        if len(rest) > 1 or "effect" in by_keyword:
            word = str(name.value) if isinstance(name, ast.Constant) else ast.unparse(name)
            for option in NAMES_IN_VARIABLES.get(f"{place}: {word}", [word]):
                yield option, "".join(map(ast.unparse, values))


def texts_of(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the texts of a file but docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = [
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
    ]
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and node not in docstrings:
            yield node


@needs_sources
def test_each_remedy_with_a_value_has_a_row() -> None:
    rows = {(row.place, row.option) for row in ROWS}
    for place, tree in files():
        for name, value in remedies_of(place, tree):
            assert not value or (place, name) in rows, f"{place}: {name}"


@needs_sources
def test_no_message_chooses_what_data_mean() -> None:
    """Spellings of a name that does not exist, and forms with ..., say nothing of the data."""
    for place, tree in files():
        for name, value in remedies_of(place, tree):
            is_form = "..." in value
            chosen = name in ALONE and value and not is_form and place != SPELLINGS
            assert not chosen, f"{place}: {name}={value}"
        for node in texts_of(tree):
            text = FORMS.sub("", node.value)
            assert not CHOSEN.search(text), f"{place}:{node.lineno}: {node.value!r}"


@needs_sources
def test_an_option_that_is_named_alone_is_on_the_page() -> None:
    named = {
        name for place, tree in files() for name, value in remedies_of(place, tree) if not value
    }
    situations = [each for section in SECTIONS.values() for each in section]
    says = " ".join(way.says for each in situations for way in each.ways)
    explained = set(re.findall(r"(\w+)=", says))
    assert named <= set(ALONE)
    assert named <= explained


@needs_sources
def test_no_message_holds_an_expression_over_the_data_of_users() -> None:
    found = []
    for place, tree in files():
        for node in texts_of(tree):
            if node.value.strip(" ()") != OF_UNLIKE_TYPES and EXPRESSIONS.search(node.value):
                found.append(f"{place}:{node.lineno}: {node.value!r}")
    assert found == []
