"""The pages of the site: their examples run, and all names are documented."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import truerank
from support import markdown_pages
from support.environment import ROOT
from tools import page_tables

DOCS = ROOT / "docs"
PACKAGE = Path(truerank.__file__).parent
README = ROOT / "README.md"
PAGES = [README, *markdown_pages.pages()]
KEYS = {"needs", "commands"}
OF_TESTS = {"click", "matplotlib"}  # which the extra `test` brings
MODULES = ["", ".link_prediction", ".alignment", ".metrics", ".reporting", ".inference"]
MODULES += [".retrieval", ".compat", ".plot", ".page"]
MODULES += [f".adapters.{path.stem}" for path in PACKAGE.glob("adapters/[a-z]*.py")]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def page_cases() -> list[object]:
    """Return every page with code; warnings of other libraries are not errors of a page."""
    cases = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if any(markdown_pages.blocks(text)):
            libraries = markdown_pages.needs(text)
            marks = []
            if libraries:
                marks.append(pytest.mark.filterwarnings("default"))
            if OF_TESTS.issuperset(libraries):
                marks.append(pytest.mark.bare)
            cases.append(pytest.param(page, id=name_of(page), marks=marks))
    return cases


@pytest.mark.parametrize("page", page_cases())
def test_examples_run_and_their_figures_are_right(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text(encoding="utf-8")
    for library in markdown_pages.needs(text):
        if find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    if "commands" in markdown_pages.front_matter(text) and not shutil.which("bash"):
        pytest.skip("bash is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    assert markdown_pages.run(page) or page != README


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_their_options_exist(page: Path) -> None:
    pytest.importorskip("click", reason="the command line needs click")
    from support.cli_files import command_of

    for block in markdown_pages.blocks(page.read_text(encoding="utf-8")):
        if block.language != "sh":
            continue
        for words in markdown_pages.commands(block):
            name = words[0]
            command = command_of(name)
            options = command.params
            known = {word for option in options for word in option.opts + option.secondary_opts}
            used = {word.partition("=")[0] for word in words[1:] if word.startswith("--")}
            assert used <= known | {"--help"}, f"truerank {name}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_front_matter_and_links_are_valid(page: Path) -> None:
    """Links lead to existing files; the build of the site checks anchors."""
    text = page.read_text(encoding="utf-8")
    assert set(markdown_pages.front_matter(text)) <= KEYS
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#\s]+)", prose):
        if not re.match(r"\w+:", target):
            assert (page.parent / target).exists(), target


def test_the_index_of_how_to_pages_names_each_of_them() -> None:
    index = DOCS / "how-to/index.md"
    linked = re.findall(r"\]\(\./([\w-]+\.md)\)", index.read_text(encoding="utf-8"))
    assert sorted([*linked, index.name]) == sorted(path.name for path in index.parent.glob("*.md"))


def test_readme_is_short_and_names_what_is_there() -> None:
    """Each ratio has the case that measures it; what it says to cite is this version."""
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert len(text.split()) <= 1150
    benches = (path.read_text(encoding="utf-8") for path in (ROOT / "bench").rglob("test_*.py"))
    cases = "".join(benches)
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    table = re.findall(r"^\|.*\| [\d.; to]+ \| `(.+)` \|$", page, re.MULTILINE)
    scripts = [line.split()[1] for line in table if line.startswith("python ")]
    chosen = [line.strip('"').split()[0] for line in table if not line.startswith("python ")]
    assert len(chosen) * len(scripts) > 0
    (of_readme,) = re.findall(r'pytest bench .*-k "(.+)"', text)
    chosen += [word.partition("[")[0] for word in of_readme.split(" or ")]
    assert [word for word in chosen if not re.search(rf"def \w*{word}", cases)] == []
    assert [script for script in scripts if not (ROOT / script).is_file()] == []
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    version = pyproject["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{version}}}" in text


def test_tables_and_the_picture_of_recorded_runs_show_their_figures(tmp_path: Path) -> None:
    """The rows of README and of its page, and the bars, too, are made by the script."""
    for name in ("harness", "results", "studies"):
        shutil.copytree(ROOT / "bench" / name, tmp_path / "bench" / name)
    pages = ("README.md", "docs/benchmarks.md")
    (tmp_path / "docs").mkdir()
    for page in pages:
        shutil.copy(ROOT / page, tmp_path / page)
    script = tmp_path / "bench/results/make_tables.py"
    subprocess.run([sys.executable, str(script)], check=True)
    for page in pages:
        assert (tmp_path / page).read_text("utf-8") == (ROOT / page).read_text("utf-8"), page
    recorded = ROOT / "bench/results"
    made = [path.name for path in recorded.iterdir() if path.suffix in (".md", ".svg")]
    assert "bars.svg" in made
    for name in made:
        text = (script.parent / name).read_text("utf-8")
        assert text == (recorded / name).read_text("utf-8"), name


# -- all names are documented ----------------------------------------------------------------------


@pytest.mark.parametrize("name", page_tables.TABLES)
def test_tables_that_are_made_from_the_package_are_those_of_the_pages(name: str) -> None:
    page = DOCS / name
    assert page.read_text(encoding="utf-8") == page_tables.renewed(page)


def documented() -> tuple[set[str], set[str]]:
    """Return names with their own directive, and modules with a directive for all members."""
    names = set()
    whole = set()
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        names |= set(re.findall(r"^\.\. (?:auto|py:)\w+:: ([\w.]+)", text, re.MULTILINE))
        whole |= set(re.findall(r"^\.\. automodule:: ([\w.]+)\n +:members:", text, re.MULTILINE))
    return names, whole


@pytest.mark.parametrize("name", [f"truerank{module}" for module in MODULES])
def test_every_public_name_is_in_the_reference(name: str) -> None:
    names, whole = documented()
    try:
        module = import_module(name)
    except ImportError as error:  # an adapter whose library is not installed
        assert name.startswith("truerank.adapters.")
        assert name in whole
        pytest.skip(str(error))
    assert module.__all__
    if name not in whole:
        own = [n for n in module.__all__ if not inspect.ismodule(getattr(module, n))]
        missing = {n for n in own if not names & {f"{name}.{n}", f"truerank.{n}"}}
        assert not missing


def test_pages_that_docstrings_name_exist() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    titles = [re.search(r"(?m)^# (.+)$", text) for text in texts]
    named = set()
    for path in PACKAGE.rglob("*.py"):
        words = " ".join(path.read_text(encoding="utf-8").split())
        named |= set(re.findall(r'[Tt]he page "([^"]+)"', words))
    assert len(named) > 2
    assert named <= {title[1] for title in titles if title}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("```python\n1 / 3  # 0.334\n```\n", "0.334"),
        ("```python\n[1, 2]  # [1, 3]\n```\n", "3"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "line 5"),
        ("---\ncommands: run\n---\n```sh\ntruerank adjust mr 9\n```\n", "truerank adjust"),
    ],
)
def test_the_runner_of_pages_finds_what_is_wrong(code: str, words: str, tmp_path: Path) -> None:
    pytest.importorskip("click", reason="the command line needs click")
    if "commands" in code and not shutil.which("bash"):
        pytest.skip("bash is not installed")
    page = tmp_path / "page.md"
    page.write_text(code, encoding="utf-8")
    with pytest.raises(AssertionError, match=words):
        markdown_pages.run(page)


def test_every_picture_is_shown_below_what_draws_it() -> None:
    """Drawings are made by the pages that show them; a photograph of a page is only shown."""
    drawn = set()
    shown = set()
    for page in PAGES[1:]:
        text = page.read_text(encoding="utf-8")
        drawn |= {(page.parent / b.picture).resolve() for b in markdown_pages.blocks(text)}
        links = re.findall(r"\]\((\S*pictures/[^)]+)\)", text)
        shown |= {(page.parent / link).resolve() for link in links}
    files = {path.resolve() for path in (DOCS / "pictures").iterdir()}
    assert files == shown
    assert {path for path in files if path.suffix == ".svg"} <= drawn


PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+|[\w.-]+/")


@pytest.mark.skipif(not (ROOT / "cpp").is_dir(), reason="the core's source is not here")
def test_architecture_names_what_is_there() -> None:
    """Every path in backticks, below the checkout, the package or the tests; every folder drawn."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    tops = (ROOT, PACKAGE, ROOT / "tests")
    quoted = [path for code in re.findall(r"`([^`\n]+)`", text) for path in PATH.findall(code)]
    assert len(quoted) > 30
    assert [path for path in quoted if not any((top / path).exists() for top in tops)] == []
    tops += tuple(ROOT / name for name in ("cpp", "bench"))
    pictures = "\n".join(text.split("```none")[1:3])
    drawn = re.findall(r"(?:^|, |\s)([\w/]+)/(?=[\s,]|$)", pictures, re.MULTILINE)
    assert len(drawn) > 25
    assert [path for path in drawn if not any((top / path).is_dir() for top in tops)] == []


def test_architecture_draws_the_layers_of_the_contract() -> None:
    """From the top down, with the folders that do not know each other on one line."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = pyproject["tool"]["importlinter"]["contracts"][0]["layers"]
    picture = text.split("```none")[1].split("```")[0]
    lines = re.findall(r"^  ((?:\w+/(?:, )?)+)", picture, re.MULTILINE)
    drawn = [re.findall(r"(\w+)/", line) for line in lines]
    assert drawn == [re.findall(r"truerank\.(\w+)", layer) for layer in layers]
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {name for line in drawn for name in line} == folders
