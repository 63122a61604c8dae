"""Add files to the corpus: `python -m fuzz.corpus PARSER FILE...`.

The corpus is one archive, `fuzz/corpus.zip`, with a folder for each parser (`unzip -l` lists it).
A file whose name begins with "read-" must be read, every other one must be refused, and this is
tried before a file is added. A file of the same name is replaced.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
import zlib
from pathlib import Path

from support.parsers import CORPUS, PARSERS, parse

MOST_BYTES = 2048  # of a file, compressed: what finds a fault can be made small
DAY = (1980, 1, 1, 0, 0, 0)  # the same for all, so that equal files make an equal archive


def save(files: dict[str, bytes], path: Path = CORPUS) -> None:
    """Write an archive of files, given by folder and name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, DAY), files[name], zipfile.ZIP_DEFLATED)


def add(parser: str, paths: list[Path], corpus: Path = CORPUS) -> None:
    """Add files of a kind to the archive.

    Raises
    ------
    ValueError
        If a file is read or refused where its name says otherwise, or if it is large. Then none is
        added.
    """
    with zipfile.ZipFile(corpus) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for path in paths:
        data = path.read_bytes()
        found = parse(parser, data)
        if path.name.startswith("read-") and isinstance(found, Exception):
            raise ValueError(f"{path}: expected a file that is read, but it is refused: {found}")
        if not path.name.startswith("read-") and not isinstance(found, Exception):
            raise ValueError(f"{path}: expected a file that is refused, but it is read as {found}")
        if len(zlib.compress(data, 9)) > MOST_BYTES:
            raise ValueError(f"{path}: expected at most {MOST_BYTES:,} bytes when compressed")
        files[f"{parser}/{path.name}"] = data
    save(files, corpus)


def main() -> None:
    parser = argparse.ArgumentParser("python -m fuzz.corpus", description=__doc__)
    parser.add_argument("parser", choices=PARSERS, metavar="PARSER", help=", ".join(PARSERS))
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        add(options.parser, options.files)
    except (OSError, ValueError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
