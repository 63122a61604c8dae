"""The README is short, and its Python code runs as it is and prints what it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from support.environment import ROOT
from support.markdown_pages import run

pytestmark = pytest.mark.python_only


README = ROOT / "README.md"


def test_python_blocks_run_and_print_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(README) >= 1


def test_it_can_be_read_in_a_minute() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_what_it_links_to_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) >= 20
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_what_measures_the_ratios_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    cases = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "bench").rglob("test_*.py")
    )
    chosen, scripts = (
        re.findall(r"bench -k (\w+)", text),
        re.findall(r"python (bench/\S+\.py)", text),
    )
    assert chosen
    assert scripts
    assert all(f"{word}(" in cases for word in chosen)
    assert all((ROOT / script).is_file() for script in scripts)


def test_what_is_cited_is_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {project['version']}\n" in citation
    assert f"version = {{{project['version']}}}" in README.read_text(encoding="utf-8")
