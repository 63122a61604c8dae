"""Plant faults in a copy of the package, and show how soon the area's fuzzer finds each.

`python -m fuzz.planted [AREA ...]`, in an environment with pip whose truerank is not an editable
install (an import hook would come before the copy).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import truerank
from fuzz.faults import FAULTS, Fault

ROOT = Path(__file__).parents[1]
SECONDS = 60


def replace(path: Path, right: str, wrong: str) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(right) != 1:
        raise SystemExit(f"{path}: expected {right!r} once, found {text.count(right)} times")
    path.write_text(text.replace(right, wrong), encoding="utf-8")


def plant(fault: Fault, folder: Path, sources: Path) -> None:
    """Put a package with the fault into a folder; a fault in C++ needs a build."""
    if not fault.path.startswith("cpp/"):
        shutil.copytree(Path(truerank.__file__).parent, folder / "truerank")
        replace(folder / "truerank" / fault.path, fault.right, fault.wrong)
        return
    if not sources.exists():
        products = shutil.ignore_patterns(".*", "build", "__pycache__", "*.so")
        shutil.copytree(ROOT, sources, ignore=products)
    # One folder for all builds, so that each compiles what differs from the one before.
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", f"--target={folder}"]
    command += [f"-Cbuild-dir={sources}.build", str(sources)]
    replace(sources / fault.source, fault.right, fault.wrong)
    try:
        subprocess.run(command, check=True)
    finally:
        replace(sources / fault.source, fault.wrong, fault.right)


def find(area: str, folder: Path, isa: str) -> tuple[float, str]:
    """Return the seconds until an area's fuzzer finds the fault, and the finding's first line."""
    command = [sys.executable, "-m", "fuzz", area, f"--seconds={SECONDS}", "--stop"]
    environment = os.environ | {"PYTHONPATH": str(folder), "TRUERANK_ISA": isa}
    script = "import truerank; print(truerank.__file__)"
    imported = subprocess.check_output([sys.executable, "-c", script], env=environment, text=True)
    if not Path(imported).is_relative_to(folder):
        raise SystemExit(f"{imported.strip()} is imported, and not the copy with the fault")
    started = time.monotonic()
    options = {"cwd": ROOT, "env": environment, "stdout": subprocess.PIPE, "text": True}
    done = subprocess.run(command, check=False, **options)
    findings = [line for line in done.stdout.splitlines() if line.startswith("===")]
    return time.monotonic() - started, "".join(findings[:1]).strip("= ")


def main() -> int:
    faults = [(area, fault) for area in sys.argv[1:] or FAULTS for fault in FAULTS[area]]
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        for number, (area, fault) in enumerate(faults):
            folder = Path(name, str(number))
            plant(fault, folder, Path(name, "sources"))
            seconds, finding = find(area, folder, fault.isa)
            missed += not finding
            outcome = f"found after {seconds:.0f} s: {finding}" if finding else "MISSED"
            print(
                f"{area}: {fault.path}: {fault.right!r} as {fault.wrong!r}: {outcome}", flush=True
            )
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
