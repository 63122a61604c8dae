"""What an sdist and a wheel should hold; `contents.py SDIST` compares an sdist with that."""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIXED = {"CHANGELOG.md", "CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def sources(folder: str) -> set[str]:
    """The files below a folder of the checkout that are no build products."""
    files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix not in {".so", ".pyd"}
    }


def package() -> set[str]:
    """What a wheel holds, as `without_names` names it."""
    files = {name.removeprefix("python/") for name in sources("python/truerank")}
    return METADATA | {"truerank/_core.so"} | files


def in_sdist(path: str) -> set[str]:
    with tarfile.open(path) as archive:
        return {
            name.partition("/")[2]
            for name in archive.getnames()
            if not archive.getmember(name).isdir()
        }


def without_names(names: Iterable[str]) -> set[str]:
    """The names in a wheel, the ones that differ from build to build made plain.

    A list of what is in a wheel, which the tools that repair it add, is left out.
    """
    plain = (re.sub(r"^truerank-[^/]*\.dist-info/", "", name) for name in names)
    return {
        re.sub(r"_core\.(?:.*\.)?(?:so|pyd)$", "_core.so", name)
        for name in plain
        if name and not name.endswith("/") and not name.startswith("sboms/")
    }


def complaints(what: str, found: set[str], wanted: set[str]) -> list[str]:
    return [f"{what} lacks {name}" for name in sorted(wanted - found)] + [
        f"{what} should not hold {name}" for name in sorted(found - wanted)
    ]


def main(sdist: str) -> None:
    wanted = FIXED | sources("python/truerank") | sources("cpp")
    if found := complaints("the sdist", in_sdist(sdist), wanted):
        raise SystemExit("\n".join(found))
    print(f"as it should be: {Path(sdist).name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
