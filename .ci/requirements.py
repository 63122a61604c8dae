"""Prints what building, testing and timing truerank needs, as pyproject.toml states it.

With arguments: what these extras stand for.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def flat(requirements: list[str], extras: dict[str, list[str]]) -> list[str]:
    """The requirements, with `truerank[extra]` replaced by what the extra stands for."""
    found = []
    for requirement in requirements:
        own = re.fullmatch(r"truerank\[(\w+)\]", requirement)
        found += flat(extras[own[1]], extras) if own else [requirement]
    return found


def main() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    project = pyproject["project"]
    if len(sys.argv) > 1:
        own = [f"truerank[{extra}]" for extra in sys.argv[1:]]
        print(*flat(own, project["optional-dependencies"]), sep="\n")
        return
    wanted = project["dependencies"] + flat(["truerank[bench]"], project["optional-dependencies"])
    print(
        *pyproject["build-system"]["requires"],
        "cmake>=3.21",
        "ninja>=1.11",
        *wanted,
        sep="\n",
    )


if __name__ == "__main__":
    main()
