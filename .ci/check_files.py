"""What no linter looks at: workflows, wheels that are to be built, the house, folders of one's own.

Workflows are read, and every action in them stands at a major version; cibuildwheel names the
wheels that pyproject.toml asks for; modules of the package can be told apart by name and be read in
a sitting; no file that git keeps names a folder of the machine it was written on.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from audit_wheel import LOCAL

ROOT = Path(__file__).parents[1]
PYTHONS = ("cp311", "cp312", "cp313", "cp314", "cp314t")
# What cibuildwheel calls a system and a processor, and what the names of its wheels end with.
PLATFORMS = {
    ("linux", "x86_64"): ("manylinux_x86_64", "musllinux_x86_64"),
    ("linux", "aarch64"): ("manylinux_aarch64", "musllinux_aarch64"),
    ("macos", "arm64"): ("macosx_arm64",),
    ("macos", "x86_64"): ("macosx_x86_64",),
    ("windows", "AMD64"): ("win_amd64",),
}
# Where such folders are looked for, and may be found.
PLANTED = {"tests/package/test_release.py"}


def workflow_faults() -> Iterator[str]:
    for path in sorted((ROOT / ".github").rglob("*.yml")):
        name = path.relative_to(ROOT)
        try:
            workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            yield f"{name}: {error}"
            continue
        for job in workflow.get("jobs", {}).values():
            for action in filter(None, (step.get("uses") for step in job["steps"])):
                if not re.fullmatch(r"[\w./-]+@(v\d+|release/v\d+)", action):
                    yield f"{name}: {action} stands at no major version"


def wheel_faults() -> Iterator[str]:
    for (system, processor), endings in PLATFORMS.items():
        command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers"]
        command += ["--platform", system, "--archs", processor, str(ROOT)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wanted = {f"{python}-{ending}" for python in PYTHONS for ending in endings}
        if differing := sorted(wanted ^ set(done.stdout.split())):
            yield f"cibuildwheel, {system} {processor}: missing or too many: {', '.join(differing)}"


def house_faults() -> Iterator[str]:
    package = ROOT / "python" / "truerank"
    products = ("__pycache__", ".so", ".pyd")
    if (
        len(entries := [path for path in package.iterdir() if not path.name.endswith(products)])
        > 20
    ):
        yield f"{package.relative_to(ROOT)}: {len(entries)} entries, expected at most 20"
    modules: dict[str, list[Path]] = {}
    for path in sorted(package.rglob("*.py")):
        modules.setdefault(path.stem, []).append(path.relative_to(ROOT))
        if (lines := path.read_bytes().count(b"\n")) > 600:
            yield f"{path.relative_to(ROOT)}: {lines} lines, expected at most 600"
    for name, paths in modules.items():
        if len(paths) > 1 and name != "__init__":
            yield f"modules of one name: {', '.join(map(str, paths))}"


def folder_faults() -> Iterator[str]:
    command = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in sorted(set(names) - PLANTED - {""}):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            for match in LOCAL.finditer(data):
                line = data.count(b"\n", 0, match.start()) + 1
                yield f"{name}:{line} names a folder: {match[0].decode(errors='replace')}"


def main() -> None:
    found = [*workflow_faults(), *wheel_faults(), *house_faults(), *folder_faults()]
    if found:
        raise SystemExit("\n".join(found))
    print("workflows, wheels, the house and folders are in order")


if __name__ == "__main__":
    main()
