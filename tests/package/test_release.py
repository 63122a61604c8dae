"""What .ci/ looks at before a release: the tag, the changelog, and each wheel."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from support.environment import ROOT

CI = ROOT / ".ci"
pytestmark = [
    pytest.mark.python_only,
    pytest.mark.skipif(not CI.is_dir(), reason="no .ci/ beside these tests"),
]


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of .ci/, as a module."""
    monkeypatch.syspath_prepend(str(CI))
    spec = importlib.util.spec_from_file_location(name, CI / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- a tag -----------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "truerank"\nversion = "1.2.3"\n')
    write_changelog(tmp_path, "## 1.2.3 (2026-01-31)\n\n- What is new.\n\n## 1.2.2 (2025-12-01)\n")
    return tmp_path


def write_changelog(root: Path, text: str) -> None:
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n{text}")


def test_a_tag_that_fits(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(script("release_check", monkeypatch).faults("v1.2.3", checkout)) == []


@pytest.mark.parametrize("tag", ["v1.2.4", "1.2.3", "v1.2.3rc1", "refs/tags/v1.2.3", ""])
def test_a_tag_that_is_not_the_version(
    tag: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fault,) = script("release_check", monkeypatch).faults(tag, checkout)
    assert fault == f"tag: expected v1.2.3, the version of pyproject.toml, got {tag}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected sections, found none"),
        ("## 1.2.3 (unreleased)\n\n- New.\n", "expected a date"),
        ("## 1.2.3 (2999-01-01)\n\n- New.\n", "2999-01-01 is in the future"),
        ("## 1.2.3 (2026-01-31)\n\n## 1.2.2 (2025-12-01)\n\n- Old.\n", "1.2.3 says nothing"),
        ("## 1.2.2 (2025-12-01)\n\n- Old.\n", "expected 1.2.3 as its first section, got 1.2.2"),
    ],
)
def test_a_changelog_that_is_not_ready(
    text: str, said: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_changelog(checkout, text)
    (fault,) = script("release_check", monkeypatch).faults("v1.2.3", checkout)
    assert fault.startswith("CHANGELOG.md: ")
    assert said in fault


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
            place = name if name.startswith("truerank/") else f"truerank-1.2.3.dist-info/{name}"
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
    module = script("audit_wheel", monkeypatch)
    metadata = {"METADATA", "RECORD", "WHEEL"}
    files = {"truerank/_core.so", "truerank/demo.py", "truerank/py.typed"}
    monkeypatch.setattr(module, "package", lambda: metadata | files)
    return module


@pytest.fixture
def wheel(audit: ModuleType, tmp_path: Path) -> Wheel:
    return Wheel(audit, tmp_path)


def test_a_wheel_in_order(wheel: Wheel) -> None:
    assert wheel.faults() == []


def test_files_that_are_missing_or_too_many(wheel: Wheel) -> None:
    del wheel.files["truerank/py.typed"]
    wheel.files["truerank/notes.txt"] = b""
    wheel.files["tests/test_rank.py"] = b""
    assert wheel.faults() == [
        "the wheel lacks truerank/py.typed",
        "the wheel should not hold tests/test_rank.py",
        "the wheel should not hold truerank/notes.txt",
    ]


@pytest.mark.parametrize(
    "folder",
    [
        "/home/somebody/truerank/cpp",
        "/project/cpp/rank.txt",
        r"D:\a\truerank\cpp",
    ],
)
def test_folders_of_the_builder(wheel: Wheel, folder: str) -> None:
    wheel.files["truerank/_core.cpython-311.so"] = b"\x7fELF\0" + folder.encode() + b"\0more"
    assert wheel.faults() == [f"truerank/_core.cpython-311.so names a folder: {folder}"]


def test_metadata_that_are_not_complete(wheel: Wheel) -> None:
    wheel.say("METADATA", "Metadata-Version: 2.4\nName: truerank\nVersion: 1.2.4\n\nShort.\n")
    found = wheel.faults()
    assert "METADATA states no Requires-Python" in found
    assert "METADATA states version 1.2.4, the name 1.2.3" in found
    assert "METADATA has no description" in found


def test_tags_that_differ_from_the_name(wheel: Wheel) -> None:
    wheel.say("WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-win_amd64\n")
    assert wheel.faults() == [
        "WHEEL states ['cp311-cp311-win_amd64'], the name ['cp311-cp311-macosx_11_0_arm64']"
    ]


# What a compiler makes of a source, as the extension of a wheel for Linux.
COMPILER = shutil.which("cc")
linux = pytest.mark.skipif(
    not sys.platform.startswith("linux") or COMPILER is None, reason="needs a compiler for Linux"
)
SOURCE = "void GOMP_barrier(void); int PyInit__core(void) { GOMP_barrier(); return 1; }\n"
LINKED = ["-Wl,-z,now", "-Wl,--as-needed", "-fopenmp"]


def linked(audit: ModuleType, folder: Path, platform: str, source: str, *flags: str) -> list[str]:
    """The faults of a wheel whose extension is compiled from `source`."""
    pytest.importorskip("auditwheel", reason="libraries of Linux are read by auditwheel")
    library = folder / "library.so"
    (folder / "library.c").write_text(source)
    subprocess.run(
        [str(COMPILER), "-shared", "-fPIC", str(folder / "library.c"), "-o", library, *flags],
        check=True,
    )
    wheel = Wheel(audit, folder, platform)
    wheel.files["truerank/_core.cpython-311.so"] = library.read_bytes()
    prefix = "truerank/_core.cpython-311.so "
    # The runtime is not brought along here, which every case says.
    found = [fault.removeprefix(prefix) for fault in wheel.faults()]
    return [fault for fault in found if fault != "loads libgomp.so.1"]


@linux
def test_a_library_in_order(audit: ModuleType, tmp_path: Path) -> None:
    assert linked(audit, tmp_path, "manylinux_2_34_x86_64", SOURCE, *LINKED) == []


@linux
@pytest.mark.parametrize(
    ("source", "flags", "said"),
    [
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
    found = linked(audit, tmp_path, "manylinux_2_34_x86_64", source, *flags)
    assert any(fault.startswith(said) for fault in found), found
