"""Whether a tag may become a release: `release_check.py v1.2.3`.

The tag is the version of pyproject.toml, and the changelog begins with a section of that version
that has a date and says something.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?"
HEADING = re.compile(r"^## +(\S+)(?: +\((.*)\))? *$", re.MULTILINE)


def faults(tag: str, root: Path = ROOT) -> Iterator[str]:
    """What stands in the way of releasing the checkout below `root` as `tag`."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    version = pyproject["project"]["version"]
    if not re.fullmatch(VERSION, version):
        yield f"pyproject.toml: expected a version such as 1.2.3 or 1.2.3rc1, got {version}"
    if tag != f"v{version}":
        yield f"tag: expected v{version}, the version of pyproject.toml, got {tag}"
    yield from changelog_faults(version, (root / "CHANGELOG.md").read_text(encoding="utf-8"))


def changelog_faults(version: str, text: str) -> Iterator[str]:
    """What the first section of a changelog lacks to be that of `version`."""
    headings = list(HEADING.finditer(text))
    if not headings:
        yield "CHANGELOG.md: expected sections, found none"
        return
    first = headings[0]
    if first[1] != version:
        yield f"CHANGELOG.md: expected {version} as its first section, got {first[1]}"
    end = headings[1].start() if len(headings) > 1 else len(text)
    if not text[first.end() : end].strip():
        yield f"CHANGELOG.md: the section {first[1]} says nothing"
    try:
        date = dt.date.fromisoformat(first[2] or "")
    except ValueError:
        yield f"CHANGELOG.md: expected a date, as in ## {version} (2026-01-31), got {first[2]}"
        return
    tomorrow = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)  # somewhere it is already
    if date > tomorrow:
        yield f"CHANGELOG.md: {date} is in the future"


def main(tag: str) -> None:
    if found := list(faults(tag)):
        raise SystemExit("\n".join(found))
    print(f"{tag} can be released")


if __name__ == "__main__":
    main(*sys.argv[1:])
