"""What is looked at before a release: the tag, the changelog, and each wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tools import audit_wheel, release_check

NEW = "## 1.2.3 (2026-01-31)\n\n- New.\n\n"
OLD = "## 1.2.2 (2025-12-01)\n\n- Old.\n"
TAG = "tag: expected v1.2.3, the version of pyproject.toml, got "


@pytest.mark.parametrize(
    ("tag", "changelog", "said"),
    [
        ("v1.2.3", NEW + OLD, []),
        ("v1.2.4", NEW, [f"{TAG}v1.2.4"]),
        ("1.2.3", NEW, [f"{TAG}1.2.3"]),
        ("v1.2.3rc1", NEW, [f"{TAG}v1.2.3rc1"]),
        ("refs/tags/v1.2.3", NEW, [f"{TAG}refs/tags/v1.2.3"]),
        ("v1.2.3", "", ["expected sections, found none"]),
        ("v1.2.3", "## 1.2.3 (unreleased)\n\n- New.\n", ["expected a date"]),
        ("v1.2.3", "## 1.2.3 (2999-01-01)\n\n- New.\n", ["2999-01-01 is in the future"]),
        ("v1.2.3", NEW.replace("- New.", "") + OLD, ["1.2.3 says nothing"]),
        ("v1.2.3", OLD, ["expected 1.2.3 as its first section, got 1.2.2"]),
    ],
)
def test_a_tag_and_its_changelog(tag: str, changelog: str, said: list[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "truerank"\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}")
    found = list(release_check.faults(tag, tmp_path))
    for fault, words in zip(found, said, strict=True):
        assert fault.startswith(("CHANGELOG.md: ", "tag: "))
        assert words in fault


# -- a wheel ---------------------------------------------------------------------------------------

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


class Wheel:
    """A wheel in the making, in order unless told otherwise."""

    def __init__(self, audit: ModuleType, folder: Path, platforms: str = "macosx_11_0_arm64"):
        self.audit = audit
        self.tag = f"cp311-cp311-{platforms}"
        self.path = folder / f"truerank-1.2.3-{self.tag}.whl"
        self.files: dict[str, bytes] = {}
        for name in audit.package():
            place = name
            if not name.startswith("truerank/"):
                place = f"truerank-1.2.3.dist-info/{name}"
            self.files[place.replace("_core.so", "_core.cpython-311.so")] = b""
        self.say("METADATA", METADATA + "A description. " * 100)
        self.say("WHEEL", "Wheel-Version: 1.0\n" + "".join(self.tags(platforms)))

    def tags(self, platforms: str) -> list[str]:
        return [f"Tag: cp311-cp311-{platform}\n" for platform in platforms.split(".")]

    def say(self, name: str, text: str) -> None:
        self.files[f"truerank-1.2.3.dist-info/{name}"] = text.encode()

    def faults(self) -> list[str]:
        self.say("RECORD", "".join(f"{name},,\n" for name in self.files))
        with zipfile.ZipFile(self.path, "w") as archive:
            for name, data in self.files.items():
                archive.writestr(name, data)
        found: list[str] = self.audit.faults(self.path)
        return found


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The audit of wheels of a package with few files."""
    metadata = {"METADATA", "RECORD", "WHEEL"}
    files = {"truerank/_core.so", "truerank/demo.py", "truerank/py.typed"}
    monkeypatch.setattr(audit_wheel, "package", lambda: metadata | files)
    return audit_wheel


CORE = "truerank/_core.cpython-311.so"
DIST = "truerank-1.2.3.dist-info"
SHORT = METADATA.replace("Version: 1.2.3", "Version: 1.2.4").replace("Requires-Python", "Other")
OTHER = b"Wheel-Version: 1.0\nTag: cp311-cp311-win_amd64\n"
FOLDERS = ("/home/somebody/truerank/cpp", "/project/cpp/rank.txt", r"D:\a\truerank\cpp")


@pytest.mark.parametrize(
    ("files", "faults"),
    [
        ({}, []),
        ({"truerank/py.typed": None}, ["the wheel lacks truerank/py.typed"]),
        ({"tests/test_rank.py": b""}, ["the wheel should not hold tests/test_rank.py"]),
        ({"truerank/notes.txt": b""}, ["the wheel should not hold truerank/notes.txt"]),
        *(
            (
                {CORE: b"\x7fELF\0" + folder.encode() + b"\0more"},
                [f"{CORE} names a folder: {folder}"],
            )
            for folder in FOLDERS
        ),
        (
            {f"{DIST}/METADATA": SHORT.encode()},
            [
                "METADATA states no Requires-Python",
                "METADATA states version 1.2.4, the name 1.2.3",
                "METADATA has no description",
            ],
        ),
        ({f"{DIST}/WHEEL": OTHER}, ["WHEEL states ['cp311-cp311-win_amd64'], the name ['cp311-"]),
    ],
)
def test_faults_of_a_wheel(
    audit: ModuleType, tmp_path: Path, files: dict[str, bytes | None], faults: list[str]
) -> None:
    wheel = Wheel(audit, tmp_path)
    every = wheel.files | files
    wheel.files = {name: data for name, data in every.items() if data is not None}
    found = wheel.faults()
    assert list(map(str.startswith, found, faults)) == [True] * max(len(found), len(faults)), found


# What a compiler makes of a source, as the extension of a wheel for Linux.
COMPILER = shutil.which("cc")
SOURCE = "void GOMP_barrier(void); int PyInit__core(void) { GOMP_barrier(); return 1; }\n"
LINKED = ["-Wl,-z,now", "-Wl,--as-needed", "-fopenmp"]


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or COMPILER is None, reason="needs a compiler for Linux"
)
@pytest.mark.parametrize(
    ("source", "flags", "said"),
    [
        (SOURCE, LINKED, ""),
        (SOURCE, ["-fopenmp", "-Wl,-z,lazy"], "binds names late: link with -z now"),
        (SOURCE, [*LINKED, "-Wl,-rpath,/opt/here"], "looks for libraries in /opt/here"),
        (SOURCE, [*LINKED, "-g"], "has .debug_"),
        ("int shown; " + SOURCE, LINKED, "shows 2 names, not PyInit__core alone"),
        ("int PyInit__core(void) { return 1; }", ["-Wl,-z,now"], "was built without OpenMP"),
        (SOURCE, [*LINKED, "-Wl,--no-as-needed", "-lresolv"], "loads libresolv.so.2"),
    ],
)
def test_planted_faults_of_a_library(
    audit: ModuleType, tmp_path: Path, source: str, flags: list[str], said: str
) -> None:
    pytest.importorskip("auditwheel", reason="libraries of Linux are read by auditwheel")
    library = tmp_path / "library.so"
    code = tmp_path / "library.c"
    code.write_text(source)
    command = [str(COMPILER), "-shared", "-fPIC", code, "-o", library]
    subprocess.run(command + flags, check=True)
    wheel = Wheel(audit, tmp_path, "manylinux_2_34_x86_64")
    wheel.files[CORE] = library.read_bytes()
    # The runtime is not brought along here, which every case says.
    found = [x.removeprefix(f"{CORE} ") for x in wheel.faults() if "loads libgomp.so.1" not in x]
    if said:
        assert any(fault.startswith(said) for fault in found)
    else:
        assert found == []
