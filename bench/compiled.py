"""C files of the benchmark, built at run time by the machine's own compiler."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
from pathlib import Path

__all__ = ["load"]


def load(name: str, directory: Path) -> ctypes.CDLL:
    """Build `name`.c, beside this file, into a directory and load it.

    The compiler is the one that `CC` names, or the first one found.

    Raises
    ------
    OSError
        Where no compiler is found or none can build it.
    """
    source = Path(__file__).with_name(f"{name}.c")
    library = directory / f"{name}.so"
    named = [os.environ["CC"]] if os.environ.get("CC") else ["cc", "gcc", "clang"]
    compilers = [words for words in map(shlex.split, named) if shutil.which(words[0])]
    said = "no C compiler found"
    for openmp in (["-fopenmp"], []):  # any compiler with OpenMP rather than the first without
        for compiler in compilers:
            command = [*compiler, "-O3", "-shared", "-fPIC", *openmp, "-o", str(library)]
            done = subprocess.run([*command, str(source)], capture_output=True, text=True)
            if done.returncode == 0:
                return ctypes.CDLL(str(library))
            said = done.stderr
    raise OSError(f"{source.name} could not be built: {said}")
