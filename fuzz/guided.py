"""Fuzz a parser of files, guided by the coverage of the package's Python code.

`python -m fuzz.guided PARSER --seconds N` begins with the files of `fuzz/corpus.zip`, keeps
every file that runs something new, and prints each finding once. `all` runs every parser for as
many seconds. It needs atheris.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from fuzz.mutations import change_inside, mutate
from fuzz.worker import describe
from support.parsers import PARSERS, corpus_files, parse, samples

INSTALL = "atheris is not installed: pip install atheris==3.0.0, under Python 3.11"
MOST_BYTES = 16384  # of a file
OPTIONS = ["-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1", f"-max_len={MOST_BYTES}"]


def fuzz(name: str, seconds: int, seed: int, folder: Path) -> None:
    """Fuzz one parser in this process, which does not come back; findings go to a file."""
    import atheris

    found: set[str] = set()

    def run(data: bytes) -> None:
        try:
            parse(name, data)
        except Exception as error:
            kind, text = describe(error)
            if kind in found:
                return
            found.add(kind)
            path = folder / f"finding-{len(found)}"
            path.write_bytes(data)
            line = json.dumps({"finding": kind, "text": text, "file": str(path)})
            with open(folder / "findings", "a", encoding="utf-8") as file:
                print(line, file=file)

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        choice = random.randrange(3)
        if choice == 0:
            changed: bytes = atheris.Mutate(data, most)
        elif choice == 1:
            changed = change_inside(data, random, lambda inner: atheris.Mutate(inner, most))
        else:
            changed = mutate(data, random, samples(name))
        return changed[:most]

    with atheris.instrument_imports(include=["truerank"]):
        for data in samples(name):  # which imports what the parser needs
            parse(name, data)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, (_, data) in enumerate(corpus_files(name)):
        corpus.joinpath(str(number)).write_bytes(data)
    arguments = [sys.argv[0], *OPTIONS]
    arguments += [f"-max_total_time={seconds}", f"-seed={seed}", f"-artifact_prefix={folder}/"]
    arguments.append(str(corpus))
    atheris.Setup(arguments, run, custom_mutator=mutator)
    atheris.Fuzz()


def summarize(name: str, seconds: int, seed: int, folder: Path) -> int:
    """Fuzz one parser in a process of its own, print what came of it, count the findings."""
    script = "import pathlib; from fuzz.guided import fuzz; fuzz({!r}, {}, {}, pathlib.Path({!r}))"
    command = [sys.executable, "-c", script.format(name, seconds, seed, str(folder))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    path = folder / "findings"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for finding in map(json.loads, lines):
        data = Path(finding["file"]).read_bytes()
        print(f"\n=== {name}: {finding['finding']}\n{finding['text']}\n{data!r}\n")
    if done.returncode:
        print(f"\n=== {name}: the process ended with {done.returncode}\n{done.stderr[-6000:]}\n")
    patterns = r"number_of_executed_units: (\d+)", r"average_exec_per_sec: +(\d+)", r" ft: (\d+)"
    runs, rate, features = ((re.findall(p, done.stderr) or ["?"])[-1] for p in patterns)
    findings = len(lines) + bool(done.returncode)
    print(f"{name}: {runs} files, {rate} per s, {features} features, {findings} findings")
    return findings


def main() -> int:
    parser = argparse.ArgumentParser("python -m fuzz.guided", description=__doc__)
    names = [*PARSERS, "all"]
    parser.add_argument("parser", choices=names, metavar="PARSER", help=", ".join(names))
    parser.add_argument("--seconds", type=int, default=60, help="for each parser; default: 60")
    parser.add_argument("--seed", type=int, help="default: a fresh one")
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        parser.exit(2, f"{INSTALL}\n")
    seed = secrets.randbits(31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    findings = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in list(PARSERS) if options.parser == "all" else [options.parser]:
            Path(folder, name).mkdir()
            findings += summarize(name, options.seconds, seed, Path(folder, name))
    return findings > 0


if __name__ == "__main__":
    sys.exit(main())
