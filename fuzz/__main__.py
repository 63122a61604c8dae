"""Fuzz areas of the package.

`python -m fuzz` runs all areas, each for an equal share of the seconds; `python -m fuzz AREA ...`
runs these. Every round has a seed, and the next round the next seed. A finding is printed with the
smallest input that Hypothesis can make of it, and with the line that repeats its round.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

from fuzz.areas import CORE
from fuzz.check import area_names

ENDLESS = sys.maxsize


@dataclass
class Result:
    """What the rounds of an area came to."""

    area: str
    inputs: int = 0
    rounds: int = 0
    findings: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, text: str, seed: int) -> None:
        """Print a finding, unless it was found before."""
        if name not in self.findings:
            self.findings[name] = text
            replay = f"python -m fuzz {self.area} --seed {seed} --rounds 1"
            print(f"\n=== {self.area}: {name}\n{text}\nAgain: {replay}\n", flush=True)


def worker(*options: object) -> list[str]:
    """Return the command that runs rounds of an area."""
    return [sys.executable, "-m", "fuzz.worker", *map(str, options)]


def last_input(area: str, seed: int) -> str:
    """Repeat a round that ended the process, and return the end of what it prints about inputs."""
    command = worker(area, seed, 0, 1, True)
    done = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=False)
    return done.stderr.decode(errors="replace")[-8000:]


def run_area(area: str, seed: int, seconds: float, rounds: int, stop: bool) -> Result:
    """Run an area in a process of its own, until a limit or, with `stop`, until a finding.

    A process that ends early is a finding. Another then goes on with the next seed.
    """
    result = Result(area)
    first = seed
    end = time.monotonic() + seconds
    while result.rounds < rounds and not (stop and result.findings):
        if result.rounds and time.monotonic() > end:
            break
        command = worker(area, seed, end - time.monotonic(), rounds - result.rounds, False)
        inputs = 0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in map(json.loads, process.stdout):
                if "finding" not in line:
                    seed = line["seed"]
                    inputs = line["inputs"]
                    continue
                result.add(line["finding"], line["text"], line["seed"])
                if stop:
                    process.terminate()
        result.inputs += inputs
        result.rounds = seed - first
        code = process.returncode
        if code == 0 or (stop and result.findings):
            break
        cause = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        result.add(f"the process ended with {cause}", last_input(area, seed), seed)
        seed += 1
        result.rounds += 1
    return result


def parse() -> argparse.Namespace:
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m fuzz", description=__doc__, formatter_class=kind)
    known = area_names()
    names = ", ".join(known)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"default: all of {names}")
    parser.add_argument("--seconds", type=float, help="in all; default: 60, or what --rounds take")
    parser.add_argument("--rounds", type=int, default=ENDLESS, help="of each area, at most")
    fresh = secrets.randbits(32)
    parser.add_argument("--seed", type=int, default=fresh, help="of the first round")
    parser.add_argument("--stop", action="store_true", help="stop an area at its first finding")
    both = argparse.BooleanOptionalAction
    parser.add_argument("--core", action=both, help="only areas that run the core, or the others")
    options = parser.parse_args()
    unknown = set(options.areas).difference(known)
    if unknown:
        parser.error(f"no such area: {', '.join(sorted(unknown))}; areas are {names}")
    options.areas = options.areas or known
    if options.seconds is None:
        options.seconds = 60 if options.rounds == ENDLESS else ENDLESS
    return options


def main() -> int:
    options = parse()
    areas = options.areas
    if options.core is not None:
        areas = [area for area in areas if (area in CORE) == options.core]
    print(f"seed {options.seed}", flush=True)
    limits = options.seed, options.seconds / len(areas), options.rounds, options.stop
    results = [run_area(name, *limits) for name in areas]
    for result in results:
        print(
            f"{result.area}: {result.inputs:,} inputs in {result.rounds:,} rounds, "
            f"{len(result.findings)} findings"
        )
    return any(result.findings for result in results)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
