"""Run Python under a sanitizer, once it has found the faults that are planted for it.

`python tests/tools/sanitized.py KIND LIBRARY ARGUMENTS...` with KIND asan (with UBSan), tsan, or
threads (TSan without OpenMP) compiles planted.cpp to LIBRARY, calls its functions, and then runs
Python with the arguments: `-m pytest tests/core`, say. The core must have been built with that
sanitizer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LLVM = "/usr/lib/llvm-14/lib"
# What a sanitizer must report when a function of planted.cpp is called: function, argument,
# threads. Where it must report nothing, the call must succeed.
NOTHING = ": planted_nothing 10000 1"
CALLS = "data race: planted_race_between_calls 3000000 4"
PLANTED = {
    "asan": [
        "heap-buffer-overflow: planted_overflow 1 1",
        "signed integer overflow: planted_undefined 1 1",
        NOTHING,
    ],
    "tsan": ["data race: planted_race 2000000 1", CALLS, NOTHING],
    "threads": [CALLS],
}


def prefix(kind: str) -> list[str]:
    """Return the command under which programs with a sanitizer run.

    The runtime must come before everything else in the process, and Python is not built with it:
    hence LD_PRELOAD. Shadow memory needs a layout that a kernel with much randomisation may not
    give: hence setarch, where it is allowed.
    """

    def preload(*names: str) -> str:
        query = "; ".join(f"g++ -print-file-name=lib{name}.so" for name in names)
        paths = subprocess.check_output(query, shell=True, text=True).split()
        return f"LD_PRELOAD={':'.join(paths)}"

    command = ["setarch", os.uname().machine, "-R", "env"]
    attempt = subprocess.run([*command, "true"], capture_output=True, check=False)
    if attempt.returncode:
        command = ["env"]
    if kind == "asan":
        # A small object in Python's own arena would have no red zone: hence PYTHONMALLOC. What
        # Python leaks at exit is not ours.
        command += ["PYTHONMALLOC=malloc"]
        # More memory than there is must be refused, as it is elsewhere, and not end the process.
        # A report names the five functions by which memory was asked for: all would take a tenth of
        # the time of the tests.
        options = "detect_leaks=0:allocator_may_return_null=1:malloc_context_size=5"
        command += [f"ASAN_OPTIONS={options}"]
        command += ["UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"]
        command.append(preload("asan", "ubsan"))
        return command
    # ignore_noninstrumented_modules confines the accesses that are checked to our own code.
    command += ["TSAN_OPTIONS=ignore_noninstrumented_modules=1 die_after_fork=0"]
    if kind == "threads":  # without OpenMP, threads are of a kind that TSan knows
        command.append(preload("tsan"))
        return command
    # TSan cannot see what libgomp synchronizes with (futexes of its own), and takes the end of each
    # parallel region for a race. LLVM's runtime has libgomp's entry points too, and its tool Archer
    # tells TSan what happens before what: so the core, built by g++, runs on libomp here. (The
    # preloaded runtime of clang 14 itself crashes before main.)
    command += [f"OMP_TOOL_LIBRARIES={LLVM}/libarcher.so"]
    command.append(f"{preload('tsan')}:{LLVM}/libomp.so")
    return command


def find_planted(kind: str, library: str) -> None:
    """Exit where a planted fault is not found, or a report is made without one."""
    compiler = ["g++", "-std=c++17", "-O1", "-g", "-fPIC", "-shared", "-o", library]
    if kind == "asan":
        compiler.append("-fsanitize=address,undefined")
    else:
        compiler.append("-fsanitize=thread")
    if kind != "threads":
        compiler.append("-fopenmp")
    compiler.append(str(HERE / "planted.cpp"))
    subprocess.run(compiler, check=True)
    # A program, not a wrapper script: the shell itself does not run under TSan.
    python = os.path.realpath(sys.executable)
    command = prefix(kind)
    command += [python, str(HERE / "planted.py"), library]
    for report, call in (line.split(": ") for line in PLANTED[kind]):
        done = subprocess.run(command + call.split(), capture_output=True, text=True, check=False)
        if bool(report) != bool(done.returncode) or report not in done.stderr:
            sys.exit(f"{call}: expected {report or 'no report'}, got {done.stderr}")
        print(f"{call}: {report or 'no report'}, as it should be", flush=True)


if __name__ == "__main__":
    kind, library = sys.argv[1:3]
    find_planted(kind, library)
    command = prefix(kind)
    command.append(sys.executable)
    command += sys.argv[3:]
    os.execvp(command[0], command)
