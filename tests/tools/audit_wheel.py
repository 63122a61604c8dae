"""Look into wheels for what no tool looks for: `audit_wheel.py WHEEL...`.

RELEASING.md lists the faults.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

PYTHON = Path(__file__).parents[2] / "python"
MOST_BYTES = 3_000_000

# Where people and runners build. After a colon or a word it is a part of an address, for example.
FOLDERS = rb"/(?:home|project|root|tmp|Users|work|var/folders|private)/[\w.]|[A-Z]:\\+[\w.]+\\"
LOCAL = re.compile(rb"(?<![\w./:-])(?:" + FOLDERS + rb")[^\0\n]{,40}")
SOURCE = re.compile(rb"[\w./\\-]+\.[ch]pp\b")

RUNTIME_LICENSE = "licenses/LICENSES/GCC-runtime.txt"
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", RUNTIME_LICENSE}
FIELDS = ("Name", "Version", "Summary", "Requires-Python", "License-Expression", "License-File")
FIELDS += ("Classifier", "Keywords", "Description-Content-Type", "Requires-Dist", "Provides-Extra")

LINK = re.compile(r"\]\((?!\w+:)([^)]*)\)")  # to a file, in Markdown

# The libraries that a system of the tag has. Others come with the wheel, in truerank.libs.
GLIBC = r"lib(c|m|pthread|dl|rt|gcc_s|stdc\+\+)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+"
MUSL = r"libc\.(musl-\w+|so)(\.so)?(\.\d+)?"
RUNTIME_TITLES = (b"GCC RUNTIME LIBRARY EXCEPTION", b"GNU GENERAL PUBLIC LICENSE")
VENDORED = re.compile(r"truerank\.libs/(lib(gomp|gcc_s|stdc\+\+)-[0-9a-f]+\.so[.\d]*)")


def package() -> set[str]:
    """Return the files that a wheel should hold, without what differs from build to build."""
    files = {path for path in (PYTHON / "truerank").rglob("*") if path.is_file()}
    names = {path.relative_to(PYTHON).as_posix() for path in files}
    products = {name for name in names if re.search(r"__pycache__|\.(so|pyd)$", name)}
    return METADATA | {"truerank/_core.so"} | names - products


def metadata_faults(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    """What the metadata leave out, and where they differ from the name of the wheel."""
    _, version, interpreter, abi, platforms = name.removesuffix(".whl").split("-")
    folder = f"truerank-{version}.dist-info"
    metadata = message_from_bytes(archive.read(f"{folder}/METADATA"))
    stated = set(message_from_bytes(archive.read(f"{folder}/WHEEL")).get_all("Tag", ()))
    yield from (f"METADATA states no {field}" for field in FIELDS if not metadata.get(field))
    if metadata["Version"] != version:
        yield f"METADATA states version {metadata['Version']}, the name {version}"
    description = str(metadata.get_payload())
    if len(description) < 1000:
        yield "METADATA has no description"
    yield from (f"METADATA links to {path}, a file" for path in LINK.findall(description))
    tags = {f"{interpreter}-{abi}-{platform}" for platform in platforms.split(".")}
    if stated != tags:
        yield f"WHEEL states {sorted(stated)}, the name {sorted(tags)}"
    if platforms.startswith("linux_"):
        yield f"{platforms} is no tag that can be published"


def content_faults(archive: zipfile.ZipFile) -> Iterator[str]:
    """Files that are missing or too many, and folders and sources that a file names."""
    files = [name for name in archive.namelist() if not name.endswith("/")]
    names = {re.sub(r"^truerank-[^/]*\.dist-info/", "", name) for name in files}
    names = {re.sub(r"_core\..*(?:so|pyd)$", "_core.so", name) for name in names}
    added = {name for name in names if VENDORED.fullmatch(name) or name.startswith("sboms/")}
    yield from (f"the wheel lacks {name}" for name in sorted(package() - names))
    yield from (f"the wheel should not hold {name}" for name in sorted(names - added - package()))
    brought = sorted(name for name in names if VENDORED.fullmatch(name))
    licences = [name for name in files if name.endswith(RUNTIME_LICENSE)]
    text = b"".join(archive.read(name) for name in licences)
    if brought and not all(title in text for title in RUNTIME_TITLES):
        yield f"brings {', '.join(brought)} without its licence"
    for name in files:
        data = archive.read(name)
        for found in sorted(set(LOCAL.findall(data))):
            yield f"{name} names a folder: {found.decode(errors='replace')}"
        source = SOURCE.search(data)
        if source and name.endswith((".so", ".pyd")):
            yield f"{name} names a source: {source[0].decode()}"


def library_faults(archive: zipfile.ZipFile, name: str, system: str) -> Iterator[str]:
    """What a library for Linux loads, shows and leaves open."""
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(archive.read(name)))
    dynamic = list(elf.get_section_by_name(".dynamic").iter_tags())
    needed = {tag.needed for tag in dynamic if tag.entry.d_tag == "DT_NEEDED"}
    vendored = [VENDORED.fullmatch(file) for file in archive.namelist()]
    brought = {match[1] for match in vendored if match}
    others = (library for library in sorted(needed - brought) if not re.fullmatch(system, library))
    yield from (f"loads {library}" for library in others)
    for tag in dynamic:
        path = getattr(tag, "rpath", None) or getattr(tag, "runpath", None)
        if path and path not in {"$ORIGIN/../truerank.libs", "$ORIGIN"}:
            yield f"looks for libraries in {path}"
    segments = {segment["p_type"]: segment["p_flags"] for segment in elf.iter_segments()}
    if segments.get("PT_GNU_STACK", 1) & 1:
        yield "has a stack that can be executed"
    if "PT_GNU_RELRO" not in segments:
        yield "has tables of addresses that can be written"
    debug = [s.name for s in elf.iter_sections() if s.name.startswith(".debug")]
    if debug:
        yield f"has {', '.join(debug)}"
    if name.startswith("truerank.libs/"):
        return
    if not any(tag.entry.d_tag == "DT_FLAGS" and tag.entry.d_val & 8 for tag in dynamic):
        yield "binds names late: link with -z now"
    if not any(library.startswith("libgomp") for library in needed):
        yield "was built without OpenMP"
    symbols = elf.get_section_by_name(".dynsym").iter_symbols()
    shown = {s.name for s in symbols if s.name and s["st_shndx"] != "SHN_UNDEF"}
    if shown != {"PyInit__core"}:
        yield f"shows {len(shown)} names, not PyInit__core alone: {sorted(shown)[:5]}"


def version_faults(path: Path, platforms: str) -> Iterator[str]:
    """Versions of system libraries, as auditwheel finds them, that are newer than the tag's."""
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(path)]
    wanted = json.loads(subprocess.check_output(command))["sym_tag"]
    numbers = re.findall(r"linux_(\d+)_(\d+)", f"{wanted}.{platforms}")
    versions = [(int(major), int(minor)) for major, minor in numbers]
    if versions[0] > min(versions[1:]):
        yield f"wants {wanted}, newer than {platforms}"


def faults(path: Path) -> list[str]:
    """Return all that is wrong with a wheel."""
    size = path.stat().st_size
    platforms = path.stem.rpartition("-")[2]
    found = []
    if size > MOST_BYTES:
        found.append(f"{size:,} bytes, more than {MOST_BYTES:,}")
    with zipfile.ZipFile(path) as archive:
        found += metadata_faults(archive, path.name)
        found += content_faults(archive)
        libraries = []
        if "linux" in platforms:
            libraries = [name for name in archive.namelist() if re.search(r"\.so[.\d]*$", name)]
        system = MUSL if "musllinux" in platforms else GLIBC
        for name in libraries:
            found += [f"{name} {fault}" for fault in library_faults(archive, name, system)]
    if "manylinux" in platforms:
        found += version_faults(path, platforms)
    return found


if __name__ == "__main__":
    found = {path: faults(Path(path)) for path in sys.argv[1:]}
    for path, lines in found.items():
        print(f"{Path(path).name}: {'; '.join(lines) or 'in order'}")
    sys.exit(any(found.values()) or not found)
