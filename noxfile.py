"""The checks that CI runs: `nox -l` lists them, `nox -s NAME` runs one, `nox -t portability` those
with that tag, `.ci/run` those that run by default.

Most sessions need the source distribution, which `sdist` makes and unpacks: they build from it and
run the tests in its folder. So nothing is built in the checkout, and the tests cannot import the
package from its sources, only as it was installed. Versions stand in pyproject.toml, those of
Debian's compilers below.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nox
from filelock import FileLock  # comes with nox

nox.needs_version = ">=2026.10"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.allow_parallel = True
# Those that run by default. The longest come first, so that none is left alone at the end.
nox.options.sessions = ["lint", "sdist", "wheel", "sanitizers(asan)", "toolkits", "isa"]
nox.options.sessions += ["sanitizers(tsan)", "fuzz", "docs", "browser", "bench", "lowest"]
PORTABILITY = ["portability"]  # compilers, processors, systems and Pythons that few have

ROOT = Path(__file__).parent
PYTHONS = nox.project.python_versions(nox.project.load_toml(ROOT / "pyproject.toml"))
GCC, CLANG = "g++-11", "clang++-14"  # the oldest that are promised
ALL_CORES = ["-n", str(os.cpu_count()), "--dist=worksteal"]  # most tests keep one core busy
CORE = ["-m", "not python_only"]  # where only the core differs
# A third of the examples that hypothesis draws in CI, and a quarter of sweeps. Where several
# processes share the cores, threads that wait for work must not keep one busy.
FEW = {"TRUERANK_EXAMPLES": "16", "OMP_WAIT_POLICY": "passive"}
# The folders of the tests marked `smoke` and `threads`: no file there needs an optional library.
FOLDERS = [f"tests/{name}" for name in ("alignment", "core", "counting", "embeddings", "package")]
# Where threads are tested, kernels are not: the other sessions compile and test them.
BASELINE_ONLY = "cmake.define.TRUERANK_BASELINE_ONLY=ON"


def uv_settings() -> dict[str, str]:
    """Return pip's settings of where packages are found, which uv does not read, as uv's."""
    names = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX"}
    names |= {"find-links": "UV_FIND_LINKS", "cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY"}
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.findall(rf"^\S+?\.({'|'.join(names)})='(.*)'$", lines, re.MULTILINE)
    values = {names[key]: value.replace(r"\n", " ").split() for key, value in found}
    return {name: ("," if "LINKS" in name else " ").join(values[name]) for name in values}


DEFAULTS = {"UV_INDEX_STRATEGY": "unsafe-best-match", **uv_settings()}  # choose as pip does
DEFAULTS["TRUERANK_DATA"] = str(ROOT.parent / "shared" / "data")
DEFAULTS["TRUERANK_EXAMPLES"] = "50"  # as with CI=true: nothing is left out
os.environ |= DEFAULTS | os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}


def need(session: nox.Session, packages: str) -> None:
    """Install Debian packages. Where that is not possible, skip the session; in CI, fail."""
    install = f"apt-get update && apt-get install -y --no-install-recommends {packages}"
    query = ["dpkg", "-s", *packages.split()]
    if subprocess.run(query, capture_output=True, check=False).returncode == 0:
        return
    if os.getuid() != 0 or not shutil.which("apt-get"):
        give_up = session.error if os.environ.get("CI") == "true" else session.skip
        give_up(f"not all of these packages are installed: {packages}")
    lock = str(session.cache_dir / "apt.lock")  # for sessions that run side by side
    session.run("flock", lock, "sh", "-c", install, external=True, silent=True)


def build(session: nox.Session, name: str, *settings: str, python: str = "") -> Path:
    """Build a wheel from the source distribution, with warnings as errors; return its path."""
    target = session.cache_dir / "wheels" / name
    shutil.rmtree(target, ignore_errors=True)
    options = [f"-C{setting}" for setting in ("cmake.define.TRUERANK_WERROR=ON", *settings)]
    options += [f"--python={python or session.bin + '/python'}", f"--out-dir={target}"]
    command = ["uv", "build", "-q", "--wheel", *options, str(session.cache_dir / "source")]
    # Builds of one kind come one after another: the next finds what the first has compiled.
    kind = hashlib.sha256(" ".join(sorted(settings)).encode()).hexdigest()
    with FileLock(session.cache_dir / f"build-{kind[:16]}.lock"):
        session.run(*command, env={"SKBUILD_BUILD_DIR": f"build/{name}"}, external=True)
    return next(target.glob("*.whl"))


def made_wheel(session: nox.Session, extras: str = "") -> str:
    """Return the wheel that the session `wheel` made, with extras, for `session.install`."""
    return f"{next((session.cache_dir / 'wheels/own/repaired').glob('*.whl'))}{extras}"


def run_tests(session: nox.Session, *options: str, python: Sequence[str] = ("python",)) -> None:
    """Run pytest in the folder of the source distribution."""
    session.chdir(session.cache_dir / "source")
    command = ["timeout", "-k", "10", "1500", *python, "-m", "pytest", "-q", *options]
    session.run(*command, external=True)


def output(session: nox.Session, script: str) -> list[str]:
    """Return the words that a line of Python prints in the environment of a session."""
    return str(session.run("python", "-c", script, silent=True)).split()


@nox.session
def lint(session: nox.Session) -> None:
    """Style, types, imports, spelling, workflows, the wheels that would be built."""
    session.install("-r", "pyproject.toml", "--extra=bench", "--group=lint")
    session.env["RUFF_CACHE_DIR"] = session.env["MYPY_CACHE_DIR"] = session.create_tmp()
    session.run(".ci/lint", external=True)


@nox.session
def sdist(session: nox.Session) -> None:
    """The source distribution holds what git holds, and PyPI accepts it."""
    session.install("--group=publish", "-r", "pyproject.toml")
    folder, source = session.cache_dir / "sdist", session.cache_dir / "source"
    for path in (folder, source):
        shutil.rmtree(path, ignore_errors=True)
    session.run("check-sdist")
    session.run("uv", "build", "-q", "--sdist", f"--out-dir={folder}", external=True)
    (archive,) = folder.glob("*.tar.gz")
    session.run("twine", "check", "--strict", str(archive))
    shutil.unpack_archive(archive, folder)
    shutil.move(folder / archive.name.removesuffix(".tar.gz"), source)


def make_and_try_wheel(session: nox.Session, name: str, base: str, marks: str = "smoke") -> None:
    """Build, repair and audit a wheel; alone in an environment it passes the smoke tests."""
    built = build(session, name, python=base)
    folder = f"--wheel-dir={built.parent}/repaired"
    session.run("auditwheel", "repair", folder, str(built), silent=True)
    (path,) = map(str, (built.parent / "repaired").glob("*.whl"))
    session.run("check-wheel-contents", path)
    session.run("twine", "check", "--strict", path)
    session.run("python", "tests/tools/audit_wheel.py", path)
    env, source = f"{session.create_tmp()}/{name}", str(session.cache_dir / "source")
    options = ["-m", marks, *FOLDERS]
    session.run("tests/tools/try_wheel", base, path, env, source, *options, external=True)


@nox.session(requires=["sdist"])
def wheel(session: nox.Session) -> None:
    """The wheel that could be published, audited; alone, it passes the smoke tests."""
    need(session, "g++ libgomp1 python3-dev")
    session.install("--group=publish", "-r", "pyproject.toml")
    make_and_try_wheel(session, "own", session.bin + "/python")


@nox.session(requires=["sdist"], tags=PORTABILITY)
def pythons(session: nox.Session) -> None:
    """The same for each Python of the machine, and for CPython without the GIL."""
    need(session, "dpkg-dev gcc make pkg-config xz-utils zlib1g-dev libffi-dev libssl-dev")
    session.install("--group=publish", "-r", "pyproject.toml")
    for version in PYTHONS:
        found = ["uv", "python", "find", "-q", "--no-project", version]
        if subprocess.run(found, capture_output=True, check=False).returncode == 0:
            make_and_try_wheel(session, version, version)
    folder = session.cache_dir / "freethreaded"
    if not (folder / "bin/python3.13t").exists():
        script = ["bash", f"{ROOT}/tests/tools/build_freethreaded_python", str(folder)]
        if status := subprocess.run(script, check=False).returncode:
            (session.skip if status == 77 else session.error)("no CPython 3.13 without the GIL")
    make_and_try_wheel(session, "freethreaded", f"{folder}/bin/python3.13t", "smoke or threads")


def run_cpp_tests(session: nox.Session, compiler: str, openmp: str = "ON", kind: str = "") -> None:
    """Build the C++ tests and run them, those of aarch64 also as on an old processor."""
    session.install("cmake", "ninja")
    session.chdir(session.cache_dir / "source")
    folder = f"build/tests-{compiler}"
    options = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DTRUERANK_OPENMP={openmp}"]
    preset = f"--preset=tests{kind}"
    session.run("cmake", preset, "-GNinja", f"-B{folder}", *options, silent=True)
    session.run("cmake", "--build", folder, "--", "--quiet")
    ctest = ["ctest", f"--test-dir={folder}", "--output-on-failure", f"-j{os.cpu_count()}"]
    session.run(*ctest)
    if kind:
        session.run(*ctest, "-R", "levels|bounds", env={"QEMU_CPU": "cortex-a53"})


@nox.session(requires=["sdist"], tags=PORTABILITY)
def compilers(session: nox.Session) -> None:
    """The oldest compilers, with OpenMP and without; aarch64 emulated; Windows and macOS."""
    clang = CLANG.replace("++", "")
    need(session, f"{GCC} {clang} libomp-14-dev g++-aarch64-linux-gnu qemu-user")
    session.install("--group=cross")
    source = str(session.cache_dir / "source")
    session.run("tests/tools/cross", source, session.create_tmp(), external=True)
    # Wheels of Windows and macOS are as the last: hence Release. Without optimisation g++ 11 warns
    # of loops that it does not unroll.
    builds = [(GCC, "ON", "Release"), (CLANG, "ON", "Debug"), (CLANG, "OFF", "Release")]
    for compiler, openmp, kind in builds:
        defines = [f"CMAKE_CXX_COMPILER={compiler}", f"TRUERANK_OPENMP={openmp}"]
        settings = [f"cmake.define.{text}" for text in (*defines, "CMAKE_CXX_FLAGS_DEBUG=-O0")]
        settings += [f"cmake.build-type={kind}", *([BASELINE_ONLY] if openmp == "OFF" else [])]
        path = build(session, f"{compiler}-{openmp}", *settings)
        session.install("--reinstall-package=truerank", str(path), "--group=smoke")
        check = f"from truerank import _core; assert _core.openmp() is {openmp == 'ON'}"
        session.run("python", "-c", check)
        run_tests(session, "-m", "smoke" if openmp == "ON" else "smoke or threads", *FOLDERS)
    run_cpp_tests(session, CLANG, "OFF")
    run_cpp_tests(session, "aarch64-linux-gnu-g++", kind="-aarch64")


@nox.session(requires=["wheel"])
def isa(session: nox.Session) -> None:
    """The C++ tests; those of counts and embeddings under every instruction set but the best."""
    run_cpp_tests(session, "g++")
    session.install(made_wheel(session, "[test]"))
    best, *names = output(session, "from truerank import _core; print(_core.isa(), *_core.isas())")
    # What differs are the kernels, which the C++ tests hold against plain loops, and what the
    # compiler makes of the loops around them. Files, lists, errors, threads and what is saved reach
    # the same loops by other ways; one test runs all sets itself, another is of memory.
    counting = [f"tests/counting/test_{x}.py" for x in ("counter", "ranking")]
    counting += ["tests/inputs/test_arithmetic.py", "tests/inputs/test_array_likes.py"]
    vectors = ["tests/embeddings"]
    others = ("instruction_sets_change_no_bit", "mapped_entities_are_not_copied")
    vectors += [f"--deselect=tests/embeddings/test_scores.py::test_{name}" for name in others]
    # All cases of the sweeps once, under the best set, and a quarter of them under each other.
    session.env.update(FEW, TRUERANK_EXAMPLES="50")
    run_tests(session, *ALL_CORES, "-m", "sweep and not python_only", "tests/embeddings")
    session.env.update(FEW)
    for name in sorted({*names} - {best}):
        session.env["TRUERANK_ISA"] = name
        run_tests(session, *ALL_CORES, *CORE, *counting, *vectors, "tests/alignment")
    # Certified bounds nowhere, and wherever they hold. What these test chooses its bounds itself.
    choices = output(session, "from truerank import _core; print(*_core.bounds_choices())")
    vectors += ["--ignore=tests/embeddings/test_bounds.py"]
    for name, bounds in [*((best, choice) for choice in choices), (names[0], "int16")]:
        session.env.update(TRUERANK_ISA=name, TRUERANK_BOUNDS=f"{bounds}!")
        run_tests(session, *ALL_CORES, *CORE, *vectors)


KINDS = [nox.param("asan", id="asan"), nox.param("tsan", id="tsan")]
KINDS += [nox.param("threads", id="threads", tags=PORTABILITY)]  # TSan without OpenMP


@nox.session(requires=["sdist"])
@nox.parametrize("kind", KINDS)
def sanitizers(session: nox.Session, kind: str) -> None:
    """What runs the core, also fuzzed, under ASan and UBSan; threads under TSan."""
    need(session, "g++ libomp-14-dev")
    preset, openmp = (
        "asan-ubsan" if kind == "asan" else "tsan",
        "OFF" if kind == "threads" else "ON",
    )
    settings = [f"cmake.args=--preset={preset}", "cmake.build-type="]
    if kind != "asan":
        settings += [f"cmake.define.TRUERANK_OPENMP={openmp}", BASELINE_ONLY]
    else:
        settings.append("cmake.define.TRUERANK_TESTS=ON")
        if "avx512bw" not in Path("/proc/cpuinfo").read_text():
            # Under ASan these kernels take a quarter of the build, and here none of them ever runs.
            settings.append("cmake.define.TRUERANK_UNUSED_SETS=avx512")
    session.install(f"{build(session, f'san-{kind}', *settings)}[test]")
    planted = os.path.abspath(f"{session.create_tmp()}/planted.so")  # whose faults it finds first
    under = ["python", "tests/tools/sanitized.py", kind, planted]
    session.env.update(FEW)
    # Reports are not pytest's to capture: one that ends the process would be lost.
    if kind != "asan":
        folders = FOLDERS if kind == "tsan" else ["tests/core", "tests/counting"]
        marks = "threads and not python_only"
        run_tests(session, "--capture=sys", "-m", marks, *folders, python=under)
        return
    run_fuzzers(session, "--core", python=under)
    if session.posargs:  # a long run of the fuzzers
        return
    # Kernels are handed addresses and lengths that no door leads to, in each instruction set. Tests
    # of vectors would take minutes, and come through doors as well.
    session.install("cmake")
    ctest = ["ctest", "--test-dir=build/san-asan", "--output-on-failure", f"-j{os.cpu_count()}"]
    session.run(*ctest, "-E", "^vectors")
    # What else runs the core comes through the doors of these rooms.
    names = ("alignment", "core", "counting", "embeddings", "inputs", "retrieval", "stores")
    tests = ["-m", "not python_only and not threads", *(f"tests/{name}" for name in names)]
    run_tests(session, "--capture=sys", *ALL_CORES, *tests, python=under)


def run_fuzzers(session: nox.Session, *areas: str, python: Sequence[str] = ("python",)) -> None:
    """Draw problems from a seed that the committed tree gives, or as the options after -- say."""
    tree = subprocess.check_output(["git", "rev-parse", "HEAD^{tree}"], cwd=ROOT, text=True)
    session.chdir(session.cache_dir / "source")
    options = session.posargs or ["--seconds=30", f"--seed={int(tree[:8], 16)}"]
    session.run(*python, "-m", "fuzz", *areas, *options, external=True)


@nox.session(requires=["wheel"])
def fuzz(session: nox.Session) -> None:
    """Random problems for what is not the core; `-- planted` or `-- guided` runs those modules."""
    session.install(made_wheel(session, "[test]"))
    if session.posargs[:1] in (["planted"], ["guided"]):
        module, *options = session.posargs
        session.install("pip", "--group=fuzz")
        session.chdir(session.cache_dir / "source")
        session.run("python", "-m", f"fuzz.{module}", *options)
    else:
        run_fuzzers(session, "--no-core")


@nox.session(name="format")
def format_sources(session: nox.Session) -> None:
    """Format the sources of the checkout, and mend what ruff can mend."""
    session.install("--group=format")
    sources = ["python", "tests", "bench", "fuzz", "noxfile.py"]  # as in .ci/lint
    sources += ["docs/conf.py", "docs/_ext"]
    session.run("ruff", "check", "--fix-only", *sources)
    session.run("ruff", "format", *sources)
    cpp = [*ROOT.glob("cpp/**/*.[ch]pp"), *ROOT.glob("tests/tools/*.cpp")]
    session.run("clang-format", "-i", *map(str, cpp), silent=True)


@nox.session(requires=["sdist"])
def mutants(session: nox.Session) -> None:
    """Lines that are changed at random, and which changes no test notices; for minutes or hours."""
    session.install(f"{build(session, 'mutants')}[test]", "cmake", "ninja", "pybind11")
    session.env.update(FEW)
    session.run("python", "tests/tools/mutants.py", *session.posargs)


@nox.session(requires=["wheel"])
def toolkits(session: nox.Session) -> None:
    """The wheel beside torch, PyKEEN, Dask, JAX and others; a skipped test is a failure."""
    packages = [made_wheel(session, "[test,docs,toolkits]"), "--group=toolkits", "--group=publish"]
    session.install("--only-binary=:all:", *packages)
    # torch brings an OpenMP runtime, and the wheel another.
    maps = output(session, "import torch, truerank; print(open('/proc/self/maps').read())")
    if len(runtimes := {word for word in maps if "libgomp" in word}) != 2:
        session.error(f"expected two OpenMP runtimes, found {sorted(runtimes)}")
    session.env["NUMBA_DISABLE_JIT"] = "1"  # ranx would compile for a minute
    session.chdir(session.cache_dir / "source")
    command = ["timeout", "-k", "10", "1500", "python", "tests/tools/toolkit_tests.py", "-q"]
    session.run(*command, *ALL_CORES, external=True)


@nox.session(requires=["wheel"])
def lowest(session: nox.Session) -> None:
    """The wheel beside the lowest versions that its extras allow: the demo, and each door."""
    extras = ["--extra=test", "--group=tables", "--only-binary=:all:"]
    session.install("--resolution=lowest-direct", "-r", "pyproject.toml", *extras)
    session.install("--no-deps", made_wheel(session))
    session.run("truerank", "demo")
    # Old libraries warn about newer ones that they bring.
    quiet = ["-W", "ignore::DeprecationWarning"]
    run_tests(session, *quiet, "-m", "smoke", *FOLDERS)
    run_tests(session, *quiet, "tests/doors/test_each_form.py")


@nox.session(requires=["wheel"], tags=PORTABILITY)
def device(session: nox.Session) -> None:
    """Triton's kernel, interpreted, and compiled for a GPU; tensors as if on a device."""
    packages = [made_wheel(session, "[test,torchmetrics]"), "--group=device"]
    session.install("--only-binary=:all:", *packages)
    session.env.update(FEW)
    chosen = "devices or geometric"
    others = ["tests/package/test_doctests.py", "tests/retrieval/test_peers.py"]
    run_tests(session, *ALL_CORES, "-k", chosen, "tests/devices", *others)
    # What is not about devices at all must give the same results there: of a copy that the host
    # counts, as the kernel is compiled for no processor, and of the kernel. The interpreter takes a
    # second where a device takes a millisecond.
    tests = ["tests/inputs/test_torch_tensors.py", "tests/adapters/test_torchmetrics.py"]
    session.env["TRUERANK_DEVICE"] = "triton"
    run_tests(session, *ALL_CORES, *tests, "tests/counting/test_counter.py::test_sums_as_tensors")
    session.env["TRITON_INTERPRET"] = "1"
    run_tests(session, *ALL_CORES, *tests, "-k", "not batches_give and not processes")


@nox.session(requires=["wheel"])
def docs(session: nox.Session) -> None:
    """The site, with warnings as errors, among them references that lead nowhere."""
    session.install(made_wheel(session, "[bench,docs]"))
    options = ["-q", "-W", "--keep-going", "-n", "-b", "html", "docs"]
    session.run("python", "-m", "sphinx", *options, f"{session.create_tmp()}/html")


@nox.session(requires=["wheel"])
def browser(session: nox.Session) -> None:
    """The page of results, opened in a real browser."""
    need(session, "chromium chromium-driver")
    session.install(made_wheel(session, "[test]"), "--group=browser")
    run_tests(session, "tests/page/test_browser.py")


@nox.session(requires=["wheel"])
def bench(session: nox.Session) -> None:
    """The benchmarks in quick mode: they run, their results agree, the tables are written."""
    session.install(made_wheel(session, "[bench]"))
    folder = session.create_tmp()
    run_tests(session, "bench", "--quick", f"--bench-out={folder}")
    if missing := {"bench-results.md", "bench-results.json"} - set(os.listdir(folder)):
        session.error(f"the benchmark wrote no {' and no '.join(missing)}")
