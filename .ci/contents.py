"""Compares what an sdist and a wheel hold with what they should: `contents.py SDIST WHEEL`."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIXED = {"CHANGELOG.md", "CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}


def sources(folder: str) -> set[str]:
    """The files below a folder of the checkout that are no build products."""
    files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix not in {".so", ".pyd"}
    }


def in_sdist(path: str) -> set[str]:
    with tarfile.open(path) as archive:
        return {
            name.partition("/")[2]
            for name in archive.getnames()
            if not archive.getmember(name).isdir()
        }


def in_wheel(path: str) -> set[str]:
    """The names in a wheel, the ones that differ from build to build made plain."""
    with zipfile.ZipFile(path) as archive:
        names = (name for name in archive.namelist() if not name.endswith("/"))
        return {
            re.sub(r"_core\..*\.so$", "_core.so", re.sub(r"^truerank-[^/]*\.dist-info/", "", name))
            for name in names
        }


def complaints(what: str, found: set[str], wanted: set[str]) -> list[str]:
    return [f"{what} lacks {name}" for name in sorted(wanted - found)] + [
        f"{what} should not hold {name}" for name in sorted(found - wanted)
    ]


def main(sdist: str, wheel: str) -> None:
    package = sources("python/truerank")
    metadata = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    found = complaints("the sdist", in_sdist(sdist), FIXED | package | sources("cpp"))
    found += complaints(
        "the wheel",
        in_wheel(wheel),
        metadata | {"truerank/_core.so"} | {name.removeprefix("python/") for name in package},
    )
    if found:
        raise SystemExit("\n".join(found))
    print(f"as they should be: {Path(sdist).name} and {Path(wheel).name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
