"""Each library computes with its fastest kernels, whatever the caller's environment says.

An OpenBLAS chooses its kernels as it is loaded, by the processor or by a variable. An old one does
not know a new processor, and takes slow ones. So the choices of each library are tried once, in
processes of their own, where an unsupported name may crash; the best is set just before the library
is loaded. This file imports none of them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["describe", "drop_settings", "load", "try_kernels"]

KERNELS = "OPENBLAS_CORETYPE"
# What was set for other programs, and makes a contestant slower than it is. Variables that begin so
# are dropped.
DROPPED = (KERNELS, "OPENBLAS_L2_SIZE", "NUMBA_CPU_", "ATEN_CPU_CAPABILITY", "ONEDNN_", "MKL_")
# Kernels of OpenBLAS by the instruction sets of truerank; "" is its own choice.
CHOICES = {
    "": ("", "SkylakeX", "Haswell", "Zen"),
    "avx512": ("", "SkylakeX", "Haswell", "Zen"),
    "avx2": ("Haswell", "Zen"),
    "baseline": ("Nehalem", "Prescott"),
}
# What holds other libraries to a set.
LIMITS = {
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CPU_NAME": "haswell",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
    "baseline": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CPU_NAME": "x86-64",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    },
}
# Libraries with an OpenBLAS of their own: the module that loads it, and a product by it.
PRODUCTS = {
    "numpy": ("numpy", "queries @ entities.T"),
    "scipy": ("scipy.linalg", "loaded.blas.sgemm(1, entities, queries, trans_b=True)"),
    "faiss": ("faiss", "loaded.knn(queries, entities, 1, metric=loaded.METRIC_INNER_PRODUCT)"),
}
TRIAL = """
import importlib, sys, time
import numpy
loaded = importlib.import_module(sys.argv[1])
product = compile(sys.argv[2], "product", "eval")
random = numpy.random.default_rng(0)
queries, entities = (random.random((n, 256), numpy.float32) for n in (1024, 4096))
seconds = []
for _ in range(7):
    start = time.process_time()
    eval(product)
    seconds.append(time.process_time() - start)
print(min(seconds))
"""


def drop_settings() -> None:
    """Drop what the caller set; under TRUERANK_ISA, peers are held to that set as well."""
    for name in list(os.environ):
        if name.startswith(DROPPED):
            del os.environ[name]
    os.environ.update(LIMITS.get(_caller_set(), {}))


def try_kernels(library: str) -> dict[str, float]:
    """Return the seconds of a product with each choice of kernels that works here."""
    seconds = {}
    for kernels in _choices():
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        if kernels:
            environment[KERNELS] = kernels
        command = [sys.executable, "-c", TRIAL, *PRODUCTS[library]]
        tried = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if tried.returncode == 0:
            seconds[kernels] = float(tried.stdout)
    return seconds


def load(package: str) -> ModuleType:
    """Import a package, ignoring its warnings; an OpenBLAS gets the kernels that were fastest."""
    module, _ = PRODUCTS.get(package, (package, ""))
    if package in PRODUCTS and module not in sys.modules:
        seconds = try_kernels(package)
        best = min(seconds, key=seconds.__getitem__, default="")
        if best:
            os.environ[KERNELS] = best
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(module)
    finally:
        os.environ.pop(KERNELS, None)  # the next library has its own
    return sys.modules[package]


def describe(package: str) -> str:
    """Return the version of a loaded package, and the kernels that it says it computes with."""
    module = sys.modules[package]
    version = getattr(module, "__version__", None) or importlib.metadata.version(package)
    kernels = SAID.get(package, lambda _: _openblas_kernels(package))(module)
    return ", ".join([str(version), *kernels])


def _caller_set() -> str:
    return os.environ.get("TRUERANK_ISA", "")


def _choices() -> Iterable[str]:
    """Return the kernels to try: those that this processor may have, and up to the caller's set."""
    choices = CHOICES.get(_caller_set(), ("",))
    if platform.machine() not in ("x86_64", "AMD64"):
        return [""]
    return [name for name in choices if name != "SkylakeX" or _has_avx512()]


def _has_avx512() -> bool:
    try:
        return "avx512f" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def _openblas_kernels(package: str) -> list[str]:
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    return [
        f"{info['internal_api']} {info['version']}, {info.get('architecture', 'kernels unknown')}"
        for info in threadpool_info()
        if info["user_api"] == "blas" and _belongs(info["filepath"], package)
    ]


def _belongs(path: str, package: str) -> bool:
    """Whether a wheel has a library: it lies in a folder with the wheel's name, or within one."""
    folders = Path(path).parent.parts[-2:]
    return any(folder.startswith(package) for folder in folders)


def _torch_kernels(torch: Any) -> list[str]:
    product = ["MKL"] if torch.backends.mkl.is_available() else []
    return [*product, torch.backends.cpu.get_cpu_capability()]


def _numba_kernels(numba: Any) -> list[str]:
    from llvmlite.binding import get_host_cpu_name

    return [numba.config.CPU_NAME or get_host_cpu_name()]


def _usearch_kernels(usearch: Any) -> list[str]:
    from usearch.index import Index

    kinds = {"f32": "floats", "u8": "bytes"}
    accelerations = {kind: Index(ndim=128, dtype=kind, metric="l2sq") for kind in kinds}
    return [f"{words} {accelerations[kind].hardware_acceleration}" for kind, words in kinds.items()]


SAID: dict[str, Callable[[Any], list[str]]] = {
    "numba": _numba_kernels,
    "torch": _torch_kernels,
    "usearch": _usearch_kernels,
}
