"""Say whether version and changelog are ready for a tag: `release_check.py v1.2.3`."""

import datetime as dt
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?"
LINK = re.compile(r"\]\((?!\w+:)([^)]*)\)")  # to a file, in Markdown
SECTION = re.compile(r"^## +(\S+)(?: +\((.*)\))? *$((?:\n(?!## ).*)*)", re.MULTILINE)


def links_to_files(root: Path = ROOT) -> list[str]:
    """Return the files that the README links to where PyPI shows it."""
    text = (root / "README.md").read_text("utf-8")
    tools = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]
    for each in tools["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return LINK.findall(text)


def faults(tag: str, root: Path = ROOT) -> Iterator[str]:
    """What stands in the way of releasing the checkout below `root` as `tag`."""
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if not re.fullmatch(VERSION, version):
        yield f"pyproject.toml: expected a version such as 1.2.3 or 1.2.3rc1, got {version}"
    if tag != f"v{version}":
        yield f"tag: expected v{version}, the version of pyproject.toml, got {tag}"
    if paths := links_to_files(root):
        yield f"README.md: expected no links to files on PyPI, got {paths}"
    section = SECTION.search((root / "CHANGELOG.md").read_text("utf-8"))
    if not section:
        yield "CHANGELOG.md: expected sections, found none"
        return
    name, date, text = section.groups()
    if name != version:
        yield f"CHANGELOG.md: expected {version} as its first section, got {name}"
    if not text.strip():
        yield f"CHANGELOG.md: the section {name} says nothing"
    try:
        if dt.date.fromisoformat(date or "") > dt.date.today() + dt.timedelta(1):  # time zones
            yield f"CHANGELOG.md: {date} is in the future"
    except ValueError:
        yield f"CHANGELOG.md: expected a date, as in ## {version} (2026-01-31), got {date}"


if __name__ == "__main__":
    sys.exit("\n".join(faults(*sys.argv[1:])) or None)
