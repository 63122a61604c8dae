"""The process that runs one area: it writes a line of JSON for each round, and for each finding.

It is a process of its own so that one that crashes, hangs or fills the memory is a finding, too.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import itertools
import json
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

import pytest

from fuzz import check
from fuzz.check import checks_of
from support.environment import SANITIZED

INPUT_SECONDS = 120  # an input that takes longer is a finding: something hangs
MEMORY = 8 << 30  # bytes of address space; a sanitizer's own memory would not fit


def limit_memory() -> None:
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def describe(error: BaseException) -> tuple[str, str]:
    """Return the kind and the line of an error, which tell findings apart, and the whole text.

    Hypothesis adds the smallest input as a note. Its frames and those that call it are left out.
    """
    whole = traceback.TracebackException.from_exception(error)
    callers = ("/hypothesis/", __file__, check.__file__)
    frames = [frame for frame in whole.stack if not any(c in frame.filename for c in callers)]
    frames = frames or list(whole.stack)
    whole.stack = traceback.StackSummary.from_list(frames)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
    return f"{type(error).__name__} at {place}", "".join(whole.format())


def run(name: str, seed: int, seconds: float, rounds: int, verbose: bool, output: TextIO) -> None:
    """Run rounds of an area, one for each seed from the first, until one of the limits."""

    def write(**line: Any) -> None:
        print(json.dumps(line), file=output, flush=True)

    inputs = 0

    def on_input() -> None:
        nonlocal inputs
        inputs += 1
        faulthandler.dump_traceback_later(INPUT_SECONDS, exit=True)

    checks = checks_of(name)
    end = time.monotonic() + seconds
    for number in itertools.count():
        write(seed=seed + number, inputs=inputs)
        if number >= rounds or (number and time.monotonic() > end):
            return
        # Where the time is short, each check comes first at times.
        first = (seed + number) % len(checks)
        in_turn = list(checks.items())
        for function, one in in_turn[first:] + in_turn[:first]:
            faulthandler.dump_traceback_later(INPUT_SECONDS, exit=True)
            # Hypothesis prints the smallest input that fails.
            printed = sys.stderr if verbose else io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    one.run_round(seed + number, on_input, verbose=verbose)
            except (Exception, pytest.fail.Exception) as error:  # the latter is no Exception
                name, text = describe(error)
                write(finding=f"{function}: {name}", text=text, seed=seed + number)
            faulthandler.cancel_dump_traceback_later()
            if time.monotonic() > end:
                break


if __name__ == "__main__":
    limit_memory()
    area, seed, seconds, rounds, verbose = sys.argv[1:]
    # What the package prints must not end up between the lines of JSON.
    lines = sys.stdout
    sys.stdout = sys.stderr
    # A hostile name may be that of a file to write.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run(area, int(seed), float(seconds), int(rounds), verbose == "True", lines)
