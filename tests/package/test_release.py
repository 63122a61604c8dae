"""What is looked at before a release: the tag, the changelog, and each wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.environment import ROOT
from tools import audit_wheel, release_check

NEW = "## 1.2.3 (2026-01-31)\n\n- New.\n\n"
OLD = "## 1.2.2 (2025-12-01)\n\n- Old.\n"
TAG = "tag: expected v1.2.3, the version of pyproject.toml, got "


@pytest.mark.parametrize(
    ("tag", "changelog", "faults"),
    [
        ("v1.2.3", NEW + OLD, []),
        ("1.2.3", NEW, [f"{TAG}1.2.3"]),
        ("v1.2.3", "", ["expected sections, found none"]),
        ("v1.2.3", "## 1.2.3 (unreleased)\n\n- New.\n", ["expected a date"]),
        ("v1.2.3", "## 1.2.3 (2999-01-01)\n\n- New.\n", ["2999-01-01 is in the future"]),
        ("v1.2.3", NEW.replace("- New.", "") + OLD, ["1.2.3 says nothing"]),
        ("v1.2.3", OLD, ["expected 1.2.3 as its first section, got 1.2.2"]),
    ],
)
def test_a_tag_and_its_changelog(
    tag: str, changelog: str, faults: list[str], tmp_path: Path
) -> None:
    write_project(tmp_path, "No links.")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}")
    for fault, words in zip(release_check.faults(tag, tmp_path), faults, strict=True):
        assert words in fault


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.skipif(sys.platform == "win32", reason="Visual Studio is found without PATH")
def test_a_build_without_a_compiler_says_what_to_install(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in filter(os.path.isdir, os.environ["PATH"].split(os.pathsep)):
        for program in os.listdir(folder):  # All but compilers: cmake may be a script.
            is_known = os.path.lexists(programs / program)
            if not is_known and not re.search(r"\+\+|clang|^cl|^icpx|^ccache", program):
                (programs / program).symlink_to(os.path.join(folder, program))
    environment = os.environ | {"PATH": str(programs), "CXX": "g++"}  # scikit-build-core sets it
    command = [shutil.which("cmake") or "", "-S", str(ROOT), "-B", str(tmp_path / "build")]
    command += ["-G", "Unix Makefiles"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    assert lines[0].startswith("CMake Error at CMakeLists.txt")
    assert lines[1].startswith("truerank: found no C++ compiler.")
    assert lines[2] == "Debian, Ubuntu: sudo apt install g++"
    assert "macOS: xcode-select --install" in lines


def write_project(folder: Path, readme: str) -> None:
    """Write a README and the settings by which PyPI's is made, of version 1.2.3."""
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    settings = re.sub('^version = ".*"$', 'version = "1.2.3"', settings, flags=re.MULTILINE)
    (folder / "pyproject.toml").write_text(settings, "utf-8")
    (folder / "README.md").write_text(readme, "utf-8")


def test_links_of_the_readme_on_pypi(tmp_path: Path) -> None:
    """Links to files are made text when the metadata are made; one that would stay is found."""
    assert release_check.links_to_files() == []
    write_project(tmp_path, "![a](b.svg)\n\n[c\nd](e.md#f) ([g](h.md)) [i](https://j)\n")
    assert release_check.links_to_files(tmp_path) == []
    write_project(tmp_path, "[[1]](docs/sources.md)")
    (tmp_path / "CHANGELOG.md").write_text(NEW)
    (fault,) = release_check.faults("v1.2.3", tmp_path)
    assert fault.endswith("got ['docs/sources.md']")


METADATA = """\
Metadata-Version: 2.4
Name: truerank
Version: 1.2.3
Summary: Ranks.
Requires-Python: >=3.11
License-Expression: MIT
License-File: LICENSE
Classifier: Typing :: Typed
Keywords: ranking
Requires-Dist: numpy>=1.26
Provides-Extra: cli
Description-Content-Type: text/markdown

"""
CORE = "truerank/_core.cpython-311.so"
DIST = "truerank-1.2.3.dist-info"
OTHER = b"Wheel-Version: 1.0\nTag: cp311-cp311-win_amd64\n"


def faults_of_wheel(
    folder: Path, patch: pytest.MonkeyPatch, platforms: str, **changed: bytes
) -> list[str]:
    """Return the faults of a wheel in good order but for some files, of which empty ones lack."""
    names = {"METADATA", "RECORD", "WHEEL", "truerank/_core.so", "truerank/py.typed"}
    patch.setattr(audit_wheel, "package", lambda: names)
    tag = f"cp311-cp311-{platforms}"
    files = {CORE: b"\0", "truerank/py.typed": b"\0", f"{DIST}/RECORD": f"{CORE},,\n".encode()}
    files[f"{DIST}/METADATA"] = (METADATA + "A description. " * 100).encode()
    files[f"{DIST}/WHEEL"] = f"Wheel-Version: 1.0\nTag: {tag}\n".encode()
    path = folder / f"truerank-1.2.3-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (files | changed).items():
            if data:
                archive.writestr(name, data)
    return audit_wheel.faults(path)


def test_faults_of_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mac = "macosx_11_0_arm64"
    assert faults_of_wheel(tmp_path, monkeypatch, mac) == []
    metadata = METADATA.replace("Version: 1.2.3", "Version: 1.2.4").replace(
        "Requires-Python", "Other"
    )
    metadata += "[a page](docs/page.md), [another](https://example.org)"
    folders = ("/home/somebody/truerank/cpp", "/project/cpp/rank.txt", r"D:\a\truerank\cpp")
    files = {
        CORE: b"\x7fELF" + b"".join(b"\0" + folder.encode() for folder in folders) + b"\0more",
        "truerank/py.typed": b"",
        "truerank/notes.txt": b"\0",
        f"{DIST}/METADATA": metadata.encode(),
        f"{DIST}/WHEEL": OTHER,
    }
    assert set(faults_of_wheel(tmp_path, monkeypatch, mac, **files)) == {
        "the wheel lacks truerank/py.typed",
        "the wheel should not hold truerank/notes.txt",
        *(f"{CORE} names a folder: {folder}" for folder in folders),
        "METADATA states no Requires-Python",
        "METADATA states version 1.2.4, the name 1.2.3",
        "METADATA has no description",
        "METADATA links to docs/page.md, a file",
        f"WHEEL states ['cp311-cp311-win_amd64'], the name ['cp311-cp311-{mac}']",
    }


def test_a_wheel_with_a_runtime_of_gcc_has_its_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "LICENSES/GCC-runtime.txt").read_bytes()
    runtime = "truerank.libs/libgomp-0123abcd.so.1.0.0"
    name = f"{DIST}/{audit_wheel.RUNTIME_LICENSE}"
    fault = f"brings {runtime} without its licence"
    half = text[: text.index(b"GNU GENERAL PUBLIC LICENSE")]
    for licence, expected in ((text, []), (half, [fault]), (b"", [fault])):
        files = {runtime: b"\0", name: licence}
        found = faults_of_wheel(tmp_path, monkeypatch, "macosx_11_0_arm64", **files)
        assert [line for line in found if "licence" in line] == expected
    assert faults_of_wheel(tmp_path, monkeypatch, "macosx_11_0_arm64") == []  # needs none


# What a compiler makes of a source, as the extension of a wheel for Linux.
COMPILER = shutil.which("cc")
SOURCE = "int shown; int PyInit__core(void) { return 1; }\n"
FLAGS = "-g -Wl,-z,lazy -Wl,-rpath,/opt/here -Wl,--no-as-needed -lresolv"
FAULTS = [
    "binds names late: link with -z now",
    "has .debug_",
    "loads libresolv.so.2",
    "looks for libraries in /opt/here",
    "shows 2 names, not PyInit__core alone",
    "was built without OpenMP",
]


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or COMPILER is None, reason="needs a compiler for Linux"
)
def test_faults_of_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the build of a wheel makes has none, as CI sees of each."""
    pytest.importorskip("auditwheel", reason="libraries of Linux are read by auditwheel")
    library = tmp_path / "library.so"
    code = tmp_path / "library.c"
    code.write_text(SOURCE)
    command = [str(COMPILER), "-shared", "-fPIC", str(code), "-o", str(library), *FLAGS.split()]
    subprocess.run(command, check=True)
    core = {CORE: library.read_bytes()}
    faults = faults_of_wheel(tmp_path, monkeypatch, "manylinux_2_34_x86_64", **core)
    faults = sorted(fault.removeprefix(f"{CORE} ") for fault in faults)
    faults = [fault for fault in faults if not fault.startswith("names ")]  # a folder, by -g
    assert len(faults) == len(FAULTS)
    assert all(map(str.startswith, faults, FAULTS)), faults
