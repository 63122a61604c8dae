"""The page of options that say what data are: each of its numbers is a plain definition's.

`test_docs.py` holds the page equal to what the doors give.
"""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path

import pytest

from support.which_option import SECTIONS, Situation, Way
from truerank import InputError

SITUATIONS = [each for situations in SECTIONS.values() for each in situations]
WAYS = [(each, way) for each in SITUATIONS for way in each.ways]
LINES = [(each, way) for each, way in WAYS if each.write and way.line is not None]
pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("ignore")]


def id_of(each: object) -> str:
    """Return what the test of a row is called."""
    return each.came if isinstance(each, Situation) else str(getattr(each, "says", ""))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an empty folder the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("situation", "way"), WAYS, ids=id_of)
def test_a_way_to_read_the_input_has_the_number_of_its_meaning(
    situation: Situation, way: Way
) -> None:
    number = situation.ask({**situation.data, **way.changes}, **way.values)
    assert number == pytest.approx(way.number(), abs=1e-12)


@pytest.mark.parametrize(("situation", "way"), LINES, ids=id_of)
def test_so_it_has_at_the_terminal(
    situation: Situation, way: Way, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("click", reason="the command line needs click")
    from support.cli_files import run_here

    assert situation.write is not None
    words = shlex.split(f"{situation.write({**situation.data, **way.changes})} {way.flags}")
    if words[0] == "recall":  # It has one metric, in a table, whose last row is that of the top.
        code, out, err = run_here(capsys, *words, "--json")
        assert code == 0, err
        number = json.loads(out)["rows"][-1]["recall"]
    else:
        code, out, err = run_here(capsys, *words, "--metrics", situation.metric, "--json")
        assert code == 0, err
        number = json.loads(out)["metrics"][situation.metric]
    assert number == pytest.approx(way.number(), abs=1e-12)


@pytest.mark.parametrize("situation", SITUATIONS, ids=id_of)
def test_the_input_alone_is_refused_or_has_the_number_of_the_default(situation: Situation) -> None:
    """A refusal, or a warning, names the option that says what the input is."""
    options = {name for way in situation.ways for name in way.values}
    defaults = [way for way in situation.ways if "default" in way.right_when]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        number, texts = None, []
        try:
            number = situation.ask(situation.data)
        except InputError as error:
            texts = [str(error)]
    texts += [str(warning.message) for warning in caught]
    if number is None:
        assert defaults == []
        assert any(name in text for name in options for text in texts)
    elif defaults:
        assert number == pytest.approx(defaults[0].number(), abs=1e-12)
        warns = "with a warning" in defaults[0].right_when
        assert warns == any(name in text for name in options for text in texts)
    else:
        assert any(name in text for name in options for text in texts)
