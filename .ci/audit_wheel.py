"""Looks into wheels for what should not be published: `audit_wheel.py WHEEL...`.

Every wheel is small, holds the files of the package and their metadata, and names no folder of the
machine that built it. An extension of Linux shows its entry point alone, loads the libraries that
its tag allows and brings the others along, and keeps its tables and its stack out of reach.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from contents import complaints, package, without_names

MOST_BYTES = 3_000_000

# Where people and runners build: a folder below one of these is somebody's own. After a colon or a
# word it is a part of something else, an address for example.
FOLDERS = rb"/(?:home|project|root|tmp|Users|work|var/folders|private)/[\w.]|[A-Z]:\\+[\w.]+\\"
LOCAL = re.compile(rb"(?<![\w./:-])(?:" + FOLDERS + rb")")
SOURCE = re.compile(rb"[\w./\\-]+\.[ch]pp\b")

STATED = ("Name", "Version", "Summary", "Requires-Python", "License-Expression", "License-File")
STATED += ("Classifier", "Keywords", "Description-Content-Type", "Requires-Dist", "Provides-Extra")

GLIBC_OWN = r"lib(c|m|pthread|dl|rt|gcc_s|stdc\+\+)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+"
# What a system of the tag has. What else an extension loads comes with the wheel, in truerank.libs.
SYSTEM = {"manylinux": GLIBC_OWN, "musllinux": r"libc\.(musl-\w+|so)(\.so)?(\.\d+)?"}
VENDORED = re.compile(r"truerank\.libs/lib(gomp|gcc_s|stdc\+\+)-[0-9a-f]+\.so[.\d]*")


def metadata_faults(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    """What the metadata leave out, and where they differ from the name of the wheel."""
    _, version, *tag = name.removesuffix(".whl").split("-")
    folder = f"truerank-{version}.dist-info"
    try:
        metadata = message_from_bytes(archive.read(f"{folder}/METADATA"))
        wheel = message_from_bytes(archive.read(f"{folder}/WHEEL"))
    except KeyError as error:
        yield f"no metadata: {error}"
        return
    yield from (f"METADATA states no {field}" for field in STATED if not metadata.get(field))
    if metadata["Version"] != version:
        yield f"METADATA states version {metadata['Version']}, the name {version}"
    if len(body(metadata)) < 1000:
        yield "METADATA has no description"
    interpreter, abi, platforms = tag
    said = {f"{interpreter}-{abi}-{platform}" for platform in platforms.split(".")}
    if set(wheel.get_all("Tag", ())) != said:
        yield f"WHEEL states {wheel.get_all('Tag')}, the name {sorted(said)}"
    if platforms.startswith("linux_"):
        yield f"{platforms} is no tag that can be published"


def body(message: Message) -> str:
    """What follows the fields."""
    payload = message.get_payload()
    return payload if isinstance(payload, str) else ""


def content_faults(archive: zipfile.ZipFile) -> Iterator[str]:
    """Files that are missing or too many, and folders that a file names."""
    names = without_names(archive.namelist())
    yield from complaints(
        "the wheel", {name for name in names if not VENDORED.match(name)}, package()
    )
    for name in archive.namelist():
        data = archive.read(name)
        for found in sorted({match[0] for match in LOCAL.finditer(data)}):
            yield f"{name} names a folder: {around(data, found)}"
        if name.endswith((".so", ".pyd")) and (match := SOURCE.search(data)):
            yield f"{name} names a source: {match[0].decode()}"


def around(data: bytes, found: bytes) -> str:
    start = data.index(found)
    return data[start : start + 60].split(b"\0")[0].decode(errors="replace").partition("\n")[0]


def elf_faults(archive: zipfile.ZipFile, platforms: str) -> Iterator[str]:
    """What the libraries of a wheel for Linux load, show and leave open."""
    from elftools.elf.elffile import ELFFile

    family = platforms.partition("_")[0]
    libraries = [name for name in archive.namelist() if re.search(r"\.so[.\d]*$", name)]
    brought = {Path(name).name for name in libraries if VENDORED.fullmatch(name)}
    for name in libraries:
        with archive.open(name) as file:
            elf = ELFFile(file)
            own = name.startswith("truerank/")
            faults = [*loading_faults(elf, family, brought, own), *hardening_faults(elf, own)]
            if family == "manylinux":
                faults += version_faults(elf, platforms)
            yield from (f"{name} {fault}" for fault in faults)


def loading_faults(elf, family: str, brought: set[str], own: bool) -> Iterator[str]:
    """What is loaded, from where, and what can be seen."""
    dynamic = list(elf.get_section_by_name(".dynamic").iter_tags())
    needed = {tag.needed for tag in dynamic if tag.entry.d_tag == "DT_NEEDED"}
    system = re.compile(SYSTEM.get(family, GLIBC_OWN))
    for library in sorted(needed - brought):
        if not system.fullmatch(library):
            yield f"loads {library}"
    for tag in dynamic:
        path = getattr(tag, "rpath", None) or getattr(tag, "runpath", None)
        if path and path not in {"$ORIGIN/../truerank.libs", "$ORIGIN"}:
            yield f"looks for libraries in {path}"
    if not own:
        return
    if not any(library.startswith("libgomp") for library in needed):
        yield "was built without OpenMP"
    symbols = elf.get_section_by_name(".dynsym").iter_symbols()
    shown = {s.name for s in symbols if s.name and s["st_shndx"] != "SHN_UNDEF"}
    if shown != {"PyInit__core"}:
        yield f"shows {len(shown)} names, not PyInit__core alone: {sorted(shown)[:5]}"


def hardening_faults(elf, own: bool) -> Iterator[str]:
    """Memory that is writable and should not be, and what strip leaves behind."""
    segments = {segment["p_type"]: segment["p_flags"] for segment in elf.iter_segments()}
    if segments.get("PT_GNU_STACK", 1) & 1:
        yield "has a stack that can be executed"
    if "PT_GNU_RELRO" not in segments:
        yield "has tables of addresses that can be written"
    flags = elf.get_section_by_name(".dynamic").iter_tags("DT_FLAGS")
    if own and not any(tag.entry.d_val & 8 for tag in flags):  # DF_BIND_NOW
        yield "binds names late: link with -z now"
    if debug := [s.name for s in elf.iter_sections() if s.name.startswith(".debug")]:
        yield f"has {', '.join(debug)}"


def version_faults(elf, platforms: str) -> Iterator[str]:
    """Versions of glibc that are newer than the tag's."""
    tags = re.findall(r"manylinux_(\d+)_(\d+)_", platforms)
    oldest = min((int(major), int(minor)) for major, minor in tags)
    section = elf.get_section_by_name(".gnu.version_r")
    needed = section.iter_versions() if section else ()
    wanted = {version.name for _, versions in needed for version in versions}
    for name in sorted(wanted):
        found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", name)
        if found and (int(found[1]), int(found[2])) > oldest:
            yield f"wants {name}, newer than {platforms}"


def faults(path: Path) -> list[str]:
    """All that is wrong with a wheel."""
    found = []
    if path.stat().st_size > MOST_BYTES:
        found.append(f"{path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
    with zipfile.ZipFile(path) as archive:
        found += [*metadata_faults(archive, path.name), *content_faults(archive)]
        platforms = path.stem.rpartition("-")[2]
        if "linux" in platforms:
            found += elf_faults(archive, platforms)
    return found


def main(paths: list[str]) -> None:
    failed = False
    for path in map(Path, paths):
        found = faults(path)
        failed |= bool(found)
        verdict = "".join(f"\n    {fault}" for fault in found) or " in order"
        print(f"{path.name}, {path.stat().st_size:,} bytes:{verdict}")
    sys.exit(failed or not paths)


if __name__ == "__main__":
    main(sys.argv[1:])
