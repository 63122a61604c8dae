"""The checks that CI runs: `nox -l` lists them, `nox -s NAME` runs one, `nox -t portability` those
with that tag, `.ci/run` those that run by default.

Most sessions need the source distribution, which `sdist` makes and unpacks: they build from it and
run the tests in its folder. So nothing is built in the checkout, and the tests cannot import the
package from its sources, only as it was installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
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
nox.options.error_on_missing_interpreters = False  # a machine has the Pythons that it has

ROOT = Path(__file__).parent
PYTHONS = nox.project.python_versions(nox.project.load_toml(ROOT / "pyproject.toml"))
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
WHEEL = [f"wheel-{OWN}"]

# Those that run by default: in half an hour on two cores, together with the lines of README.md.
# The longest come first, so that none of them is left alone at the end.
nox.options.sessions = ["lint", "sdist", f"wheel-{OWN}", f"smoke-{OWN}", "cpp"]
nox.options.sessions += ["sanitizers(asan)", "isa", "toolkits", "sanitizers(tsan-openmp)"]
nox.options.sessions += ["fuzz", "docs", "bench"]
# The tag of those about compilers, processors, devices, systems and Pythons that few have.
PORTABILITY = ["portability"]
ALL_CORES = ["-n", str(os.cpu_count()), "--dist=worksteal"]  # most tests keep one core busy
CORE = ["-m", "not python_only"]  # where only the core differs
# Of the examples that hypothesis draws: the line of README.md has three times as many.
FEW = "16"
# Where several processes share the cores, threads that wait for work must not keep one busy.
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
# Tests of counting on a device, in processes of their own; some need Triton.
DEVICES = ("tests/devices",)
# The folders of the tests marked `smoke` and `threads`: no file there needs an optional library.
FOLDERS = [f"tests/{name}" for name in ("alignment", "core", "counting", "embeddings", "package")]


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
os.environ |= DEFAULTS | os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}


def need(session: nox.Session, packages: str) -> None:
    """Install Debian packages. Where that is not possible, skip the session; in CI, fail."""
    query = f"dpkg -s {packages} >/dev/null 2>&1"
    install = f"apt-get update && apt-get install -y --no-install-recommends {packages}"
    if subprocess.run(query, shell=True, check=False).returncode == 0:
        return
    if os.getuid() != 0 or not shutil.which("apt-get"):
        give_up = session.error if os.environ.get("CI") == "true" else session.skip
        give_up(f"not all of these packages are installed: {packages}")
    lock = str(session.cache_dir / "apt.lock")  # for sessions that run side by side
    session.run("flock", lock, "sh", "-c", install, external=True, silent=True)


def build(
    session: nox.Session, name: str, *settings: str, python: str = "", source: Path | None = None
) -> Path:
    """Build a wheel from the source distribution, with warnings as errors; return its path."""
    target = session.cache_dir / "wheels" / name
    shutil.rmtree(target, ignore_errors=True)
    options = [f"-C{setting}" for setting in ("cmake.define.TRUERANK_WERROR=ON", *settings)]
    options += [f"--python={python or session.bin + '/python'}", f"--out-dir={target}"]
    folder = source or session.cache_dir / "source"
    command = ["uv", "build", "-q", "--wheel", *options, str(folder)]
    # Builds of one kind come one after another: the next finds what the first has compiled.
    kind = hashlib.sha256(" ".join(sorted(settings)).encode()).hexdigest()
    with FileLock(session.cache_dir / f"build-{kind[:16]}.lock"):
        session.run(*command, env={"SKBUILD_BUILD_DIR": f"build/{name}"}, external=True)
    return next(target.glob("*.whl"))


def repaired_wheel(session: nox.Session, python: object = OWN) -> str:
    """Return the path of the wheel that the session `wheel` made for a Python."""
    return str(next((session.cache_dir / f"wheels/{python}/repaired").glob("*.whl")))


def run_tests(session: nox.Session, *options: str, python: Sequence[str] = ("python",)) -> None:
    """Run pytest in the folder of the source distribution."""
    session.chdir(session.cache_dir / "source")
    command = ["timeout", "-k", "10", "1500", *python, "-m", "pytest", "-q", *options]
    session.run(*command, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, types, imports, spelling, workflows, the wheels that would be built."""
    extras = [f"--extra={name}" for name in ("bench", "files")]
    session.install("-r", "pyproject.toml", *extras, "--group=lint")
    session.env["RUFF_CACHE_DIR"] = session.env["MYPY_CACHE_DIR"] = session.create_tmp()
    session.env["PYTHONPATH"] = "python"
    # No file names a folder of somebody's machine; the tests of the audit of wheels do.
    folders = r"(?<![\w./:-])/(home|project|root|tmp|Users|work|var/folders|private)/[\w.]"
    grep = ["git", "grep", "--untracked", "-nIP", folders, "--", ":!tests/package/test_release.py"]
    schema = "check-jsonschema --builtin-schema=vendor"
    sources = "python tests bench fuzz docs/conf.py docs/_ext .ci noxfile.py"
    identifiers = "cibuildwheel --print-build-identifiers --platform"
    commands = f"""\
ruff check {sources}
ruff format --check {sources}
mypy
lint-imports --no-cache
clang-format --dry-run -Werror cpp/*/*.[ch]pp .ci/*.cpp
codespell . .ci .github
shellcheck .ci/run .ci/build_freethreaded_python
validate-pyproject pyproject.toml
{schema}.github-workflows .github/workflows/*.yml
{schema}.dependabot .github/dependabot.yml
zizmor --offline --quiet --no-progress .github
(! {shlex.join(grep)})
({identifiers}=linux --archs=x86_64,aarch64 && {identifiers}=macos --archs=x86_64,arm64 &&
{identifiers}=windows) | cut -d- -f1 | sort | uniq -c | xargs >$TMPDIR/wheels
grep "^7 cp311 7 cp312 7 cp313 7 cp314 7 cp314t$" $TMPDIR/wheels"""
    script = re.sub(r"(?<!&&)\n|$", " || failed=1\n", commands)
    session.run("bash", "-xc", f"failed=0\n{script}exit $failed", external=True, log=False)


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


@nox.session(python=PYTHONS, requires=["sdist"], tags=PORTABILITY)
def wheel(session: nox.Session) -> None:
    """The wheel that could be published, built from the source distribution and audited."""
    need(session, "g++ libgomp1 python3-dev")
    session.install("--group=publish", "-r", "pyproject.toml")
    built = build(session, str(session.python))
    folder = f"--wheel-dir={built.parent}/repaired"
    session.run("auditwheel", "repair", folder, str(built), silent=True)
    path = repaired_wheel(session, session.python)
    session.run("check-wheel-contents", path)
    session.run("twine", "check", "--strict", path)
    session.run("python", ".ci/audit_wheel.py", path)


@nox.session(python=PYTHONS, requires=["wheel-{python}"], tags=PORTABILITY)
def smoke(session: nox.Session) -> None:
    """The wheel brings numpy and scipy and nothing else, and passes the smoke tests."""
    session.install(repaired_wheel(session, session.python))
    packages = str(session.run("uv", "-q", "pip", "freeze", silent=True, external=True))
    names = set(re.findall(r"^[\w-]+", packages, re.MULTILINE))
    if names != {"numpy", "scipy", "truerank"}:
        session.error(f"the wheel should bring numpy and scipy alone, brought: {names}")
    session.run("python", "-c", "import numpy, truerank; truerank.rank(numpy.eye(3), range(3))")
    session.install("--group=smoke")
    run_tests(session, "-m", "smoke", *FOLDERS)


# Where threads are tested, kernels are not: the other sessions compile and test them.
BASELINE_ONLY = "cmake.define.TRUERANK_BASELINE_ONLY=ON"

# Compiler, OpenMP, kind of build. Wheels of Windows and macOS are as the last: hence Release.
BUILDS = ["g++-11 ON Debug", "clang++-14 ON Debug", "clang++-14 OFF Release"]


@nox.session(requires=["sdist"], tags=PORTABILITY)
@nox.parametrize("kind", BUILDS, ["gcc-11", "clang-14", "clang-14-threads"])
def compilers(session: nox.Session, kind: str) -> None:
    """The oldest compilers that are promised, with and without OpenMP."""
    need(session, "g++-11 clang-14 libomp-14-dev")
    compiler, openmp, build_type = kind.split()
    defines = [f"CMAKE_CXX_COMPILER={compiler}", f"TRUERANK_OPENMP={openmp}"]
    settings = [f"cmake.define.{text}" for text in (*defines, "CMAKE_CXX_FLAGS_DEBUG=-O0")]
    settings += [f"cmake.build-type={build_type}", *([BASELINE_ONLY] if openmp == "OFF" else [])]
    path = build(session, f"{compiler}-{openmp}", *settings)
    session.install(str(path), "--group=smoke")
    script = f"from truerank import _core; assert _core.openmp() is {openmp == 'ON'}"
    session.run("python", "-c", script)
    run_tests(session, "-m", "smoke" if openmp == "ON" else "smoke or threads", *FOLDERS)


def run_cpp_tests(session: nox.Session, compiler: str, preset: str, openmp: str) -> list[str]:
    """Build the C++ tests and run them; return the command that runs them."""
    session.install("cmake", "ninja")
    session.chdir(session.cache_dir / "source")
    folder = f"build/tests-{compiler}"
    options = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DTRUERANK_OPENMP={openmp}"]
    session.run("cmake", f"--preset={preset}", "-GNinja", f"-B{folder}", *options, silent=True)
    session.run("cmake", "--build", folder, "--", "--quiet")
    ctest = ["ctest", f"--test-dir={folder}", "--output-on-failure", f"-j{os.cpu_count()}"]
    session.run(*ctest)
    return ctest


@nox.session(requires=WHEEL)  # which compiles the same objects
def cpp(session: nox.Session) -> None:
    """The C++ tests, which need no Python."""
    need(session, "g++")
    run_cpp_tests(session, "g++", "tests", "ON")


@nox.session(requires=["sdist"], tags=PORTABILITY)
@nox.parametrize("compiler", ["clang++-14", "aarch64-linux-gnu-g++"], ["clang", "arm"])
def cpp_elsewhere(session: nox.Session, compiler: str) -> None:
    """The C++ tests by clang, without OpenMP; and emulated, with dot products and without."""
    need(session, "clang-14 g++-aarch64-linux-gnu qemu-user")
    if "clang" in compiler:
        run_cpp_tests(session, compiler, "tests", "OFF")
    else:
        ctest = run_cpp_tests(session, compiler, "tests-aarch64", "ON")
        session.run(*ctest, "-R", "bounds", env={"QEMU_CPU": "cortex-a53"})


@nox.session(requires=["sdist"], tags=PORTABILITY)
@nox.parametrize("target", ["x86_64-windows-gnu", "aarch64-macos.11.0"], ["windows", "macos"])
def cross(session: nox.Session, target: str) -> None:
    """The core without its bindings compiles for Windows and macOS, by zig's clang."""
    session.install("--group=cross")
    session.chdir(session.cache_dir / "source")
    folder = session.create_tmp()
    session.env["ZIG_GLOBAL_CACHE_DIR"] = session.env["ZIG_LOCAL_CACHE_DIR"] = folder
    (standard,) = re.findall(r"cxx_std_(\d+)", Path("CMakeLists.txt").read_text(encoding="utf-8"))
    options = f"-target {target} -std=c++{standard} -O0 -ffp-contract=off -fno-math-errno -Icpp"
    compile_one = f"python -m ziglang c++ {options} -Wall -Wextra -Wconversion -Werror -c"
    for path in sorted(Path("cpp").glob("[!b]*/*.cpp")):
        output = f"{folder}/{path.parent.name}-{path.stem}.o"
        session.run(*compile_one.split(), str(path), "-o", output, log=False)


@nox.session(requires=WHEEL)
def isa(session: nox.Session) -> None:
    """The tests of counts and embeddings under every instruction set but the machine's best."""
    session.install(f"{repaired_wheel(session)}[test,files]")
    script = "from truerank import _core; print(_core.isa(), *_core.isas())"
    best, *names = str(session.run("python", "-c", script, silent=True)).split()
    # What differs are the kernels, and what the compiler makes of the loops around them. The C++
    # tests hold each kernel of each set against a plain loop. Files, lists, thresholds, errors,
    # threads, signals, progress, memory and what is saved reach the same loops by other ways, which
    # are tested under the best set; and one test runs all sets itself, whatever was chosen.
    counting = [f"tests/counting/test_{x}.py" for x in ("cases", "counter", "large", "property")]
    counting += ["tests/inputs/test_arithmetic.py", "tests/inputs/test_arrays.py"]
    vectors = ["tests/embeddings", "--ignore=tests/embeddings/test_thresholds.py"]
    vectors += ["--ignore=tests/embeddings/test_watching.py"]
    vectors += ["--deselect=tests/embeddings/test_scores.py::test_instruction_sets_change_no_bit"]
    alignments = ["tests/alignment", "--ignore=tests/alignment/inference"]
    session.env.update(PASSIVE, TRUERANK_EXAMPLES=FEW)
    for name in sorted({*names} - {best}):
        session.env["TRUERANK_ISA"] = name
        run_tests(session, *ALL_CORES, *CORE, *counting, *vectors, *alignments)
    # Certified bounds nowhere, and wherever they hold.
    script = "from truerank import _core; print(*_core.bounds_choices())"
    session.env["TRUERANK_ISA"] = best
    choices = str(session.run("python", "-c", script, silent=True)).split()
    # What these test chooses its bounds itself, all of them in turn.
    vectors += [f"--ignore=tests/embeddings/test_{x}.py" for x in ("bounds", "bounded_sweeps")]
    for name, bounds in [*((best, choice) for choice in choices), (names[0], "int16")]:
        session.env.update(TRUERANK_ISA=name, TRUERANK_BOUNDS=f"{bounds}!")
        run_tests(session, *ALL_CORES, *CORE, *vectors)


def sanitized(sanitizer: str) -> list[str]:
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
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        command = ["env"]
    if sanitizer == "asan":
        # A small object in Python's own arena would have no red zone: hence PYTHONMALLOC. What
        # Python leaks at exit is not ours.
        command += ["PYTHONMALLOC=malloc"]
        # More memory than there is must be refused, as it is elsewhere, and not end the process.
        command += ["ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1"]
        command += ["UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"]
        return [*command, preload("asan", "ubsan")]
    # ignore_noninstrumented_modules confines the accesses that are checked to our own code.
    command += ["TSAN_OPTIONS=ignore_noninstrumented_modules=1 die_after_fork=0"]
    if sanitizer == "tsan-threads":  # without OpenMP, threads are of a kind that TSan knows
        return [*command, preload("tsan")]
    # TSan cannot see what libgomp synchronizes with (futexes of its own), and takes the end of each
    # parallel region for a race. LLVM's runtime has libgomp's entry points too, and its tool Archer
    # tells TSan what happens before what: so the core, built by g++, runs on libomp here. (The
    # preloaded runtime of clang 14 itself crashes before main.)
    llvm = "/usr/lib/llvm-14/lib"
    command += [f"OMP_TOOL_LIBRARIES={llvm}/libarcher.so"]
    return [*command, f"{preload('tsan')}:{llvm}/libomp.so"]


# What a sanitizer must report when a function of .ci/planted.cpp is called: function, argument,
# threads. Where it must report nothing, the call must succeed.
RACE, NOTHING = "data race: planted_race 2000000 1", ": planted_nothing 10000 1"
RACE_OF_CALLS = "data race: planted_race_between_calls 3000000 4"
OVERFLOW = "heap-buffer-overflow: planted_overflow 1 1"
UNDEFINED = "signed integer overflow: planted_undefined 1 1"
PLANTED = {"asan": [OVERFLOW, UNDEFINED, NOTHING], "tsan-openmp": [RACE, RACE_OF_CALLS, NOTHING]}
PLANTED["tsan-threads"] = [RACE_OF_CALLS]


@nox.session(requires=["sdist"])
@nox.parametrize(
    "sanitizer",
    [
        nox.param("asan", id="asan"),
        nox.param("tsan-openmp", id="tsan-openmp"),
        nox.param("tsan-threads", id="tsan-threads", tags=PORTABILITY),
    ],
)
def sanitizers(session: nox.Session, sanitizer: str) -> None:
    """The tests that run the core under ASan and UBSan, those about threads under TSan."""
    need(session, "g++ libomp-14-dev")
    under = sanitized(sanitizer)
    openmp = "OFF" if sanitizer == "tsan-threads" else "ON"
    kind, preset, tests = "thread", "tsan", ["-m", "threads", *FOLDERS]
    if sanitizer == "tsan-threads":  # which threads there are is the same for all that is counted
        tests = ["-m", "threads", "tests/core", "tests/counting"]
    if sanitizer == "asan":
        kind, preset = "address,undefined", "asan-ubsan"
        # Published models are read and counted in the ways of smaller tests.
        tests = [*ALL_CORES, "-m", "not python_only and not threads", "--ignore=tests/published"]

    library = f"{session.create_tmp()}/planted.so"
    flags = f"-std=c++17 -O1 -g -fPIC -shared -fsanitize={kind} -o {library}"
    flags += " -fopenmp" if openmp == "ON" else ""
    session.run("g++", *flags.split(), f"{ROOT}/.ci/planted.cpp", external=True)
    # A program, not a wrapper script: the shell itself does not run under TSan.
    command = [*under, os.path.realpath(sys.executable), f"{ROOT}/.ci/planted.py", library]
    for report, call in (line.split(": ") for line in PLANTED[sanitizer]):
        run = [*command, *call.split()]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        if bool(report) != bool(done.returncode) or report not in done.stderr:
            session.error(f"{call}: expected {report or 'no report'}, got {done.stderr}")
        session.log(f"{call}: {report or 'no report'}, as it should be")

    settings = [f"cmake.args=--preset={preset}", "cmake.build-type="]
    if kind == "thread":
        settings += [f"cmake.define.TRUERANK_OPENMP={openmp}", BASELINE_ONLY]
    path = build(session, sanitizer, *settings)
    session.install(f"{path}[test,files]")
    # The fuzz areas of the core draw many more under the same sanitizer.
    session.env.update(PASSIVE, TRUERANK_EXAMPLES="8" if sanitizer == "asan" else FEW)
    # Reports are not pytest's to capture: one that ends the process would be lost.
    run_tests(session, "--capture=sys", *tests, python=[*under, "python"])


@nox.session(requires=["sdist"])
@nox.parametrize("areas", ["core", "no-core"], ["core", "others"])
def fuzz(session: nox.Session, areas: str) -> None:
    """Random problems for 30 seconds; those of the core under ASan and UBSan.

    The seed is that of the tree which was committed, so that a change passes or fails every time.
    """
    settings = ["cmake.args=--preset=asan-ubsan", "cmake.build-type="] if areas == "core" else []
    session.install(f"{build(session, f'fuzz-{areas}', *settings)}[test,files]")
    tree = session.run("git", "rev-parse", "HEAD^{tree}", external=True, silent=True)
    session.chdir(session.cache_dir / "source")
    under = sanitized("asan") if areas == "core" else []
    seed = int(str(tree)[:8], 16)
    options = [f"--{areas}", *(session.posargs or ["--seconds=30", f"--seed={seed}"])]
    session.run(*under, "python", "-m", "fuzz", *options, external=True)


@nox.session(requires=["sdist"])
@nox.parametrize("module", ["guided", "planted"], ["guided", "planted"])
def fuzzers(session: nox.Session, module: str) -> None:
    """Parsers of files, guided by coverage; whether fuzzers find the faults planted for them."""
    session.install(f"{build(session, 'fuzz-others')}[test,files]", "pip", "atheris>=3.0")
    session.chdir(session.cache_dir / "source")
    options = session.posargs or (["all", "--seconds=180"] if module == "guided" else [])
    session.run("python", "-m", f"fuzz.{module}", *options)


@nox.session(requires=["sdist"])
def mutants(session: nox.Session) -> None:
    """Lines that are changed at random, and which changes no test notices; for minutes or hours."""
    session.install(f"{build(session, 'mutants')}[test,files]", "cmake", "ninja", "pybind11")
    session.env.update(PASSIVE, TRUERANK_EXAMPLES=FEW)
    session.run("python", ".ci/mutants.py", *session.posargs)


@nox.session(requires=["sdist"])
def against(session: nox.Session) -> None:
    """Results of a revision beside those of the working tree: `nox -s against -- REVISION`."""
    (revision,) = session.posargs or ["HEAD"]
    folder = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder / "source", ignore_errors=True)
    archive = ["git", "archive", f"--prefix={folder}/source/", f"-o{folder}/source.tar", revision]
    session.run(*archive, external=True)
    session.run("tar", "-xPf", f"{folder}/source.tar", external=True)
    before, script = f"{folder}/env/bin/python", f"{ROOT}/.ci/against.py"
    session.run("uv", "venv", "-q", "--clear", f"--python={OWN}", f"{folder}/env", external=True)
    wheel = str(build(session, "against", source=folder / "source"))
    install = ["uv", "pip", "install", "-q", f"--python={before}", wheel]
    session.run(*install, external=True)
    session.install(str(build(session, "after")))
    results = [f"{folder}/before", f"{folder}/after"]
    session.run(before, script, results[0], external=True)
    session.run("python", script, results[1], f"--read={results[0]}")
    session.run(before, script, results[0], f"--read={results[1]}", external=True)
    session.run("python", script, *results)


@nox.session(requires=["sdist"])
def coverage(session: nox.Session) -> None:
    """Which branches the tests run, in the package and in cpp/: tables of what they do not."""
    need(session, "clang-14 libclang-rt-14-dev libomp-14-dev llvm-14")
    settings = ["cmake.args=--preset=coverage", "cmake.build-type="]
    settings += ["cmake.define.CMAKE_CXX_COMPILER=clang++-14"]
    extras = "test,docs,dask,files,ir-measures,mteb,pyg,pykeen,pytorch-metric-learning,recbole"
    extras += ",sentence-transformers,torchmetrics"
    wheel = build(session, "coverage", *settings)
    session.install(f"{wheel}[{extras}]", "--group=toolkits", "--group=publish", "coverage>=7.10")
    session.install("cmake", "ninja")
    session.chdir(session.cache_dir / "source")
    folder = Path(session.create_tmp())
    session.env.update(COVERAGE_FILE=f"{folder}/python", LLVM_PROFILE_FILE=f"{folder}/%4m.cpp")
    run_tests(session, python=["coverage", "run"])
    tests = "build/coverage-tests"
    options = ["-DTRUERANK_TESTS=ON", "-DCMAKE_CXX_COMPILER=clang++-14", "-GNinja", f"-B{tests}"]
    session.run("cmake", "--preset=coverage", *options, silent=True)
    session.run("cmake", "--build", tests, "--", "--quiet")
    session.run(f"{tests}/truerank_tests", external=True)
    session.run("coverage", "combine")
    session.run("coverage", "report", "--skip-covered", "--show-missing")
    tool, data = "/usr/lib/llvm-14/bin/llvm-", f"{folder}/cpp.profile"
    session.run(
        f"{tool}profdata", "merge", "-o", data, *map(str, folder.glob("*.cpp")), external=True
    )
    core = session.run(
        "python", "-c", "from truerank import _core; print(_core.__file__)", silent=True
    )
    objects = [str(core).strip(), f"-object={tests}/truerank_tests", f"-instr-profile={data}"]
    ours = ["-ignore-filename-regex=(cpp/tests|pybind11|/usr)/", "-show-branch-summary"]
    session.run(f"{tool}cov", "report", *objects, *ours, external=True)


@nox.session(requires=["sdist"], tags=PORTABILITY)
def freethreaded(session: nox.Session) -> None:
    """The tests about threads, and the smoke tests, on CPython without the GIL."""
    need(session, "dpkg-dev gcc make pkg-config xz-utils zlib1g-dev libffi-dev libssl-dev")
    folder = session.cache_dir / "freethreaded"
    if not (folder / "bin/python3.13t").exists():
        script = ["bash", f"{ROOT}/.ci/build_freethreaded_python", str(folder)]
        if status := subprocess.run(script, check=False).returncode:
            (session.skip if status == 77 else session.error)("no CPython 3.13 without the GIL")
    python = f"{folder}/env/bin/python"
    venv = ["uv", "venv", "-q", "--clear", f"--python={folder}/bin/python3.13t", f"{folder}/env"]
    session.run(*venv, external=True)
    packages = [f"--python={python}", f"{build(session, 'freethreaded', python=python)}[test]"]
    session.run("uv", "pip", "install", "-q", "--only-binary=:all:", *packages, external=True)
    check = "import sys, truerank; assert not sys._is_gil_enabled(), 'truerank turned the GIL on'"
    session.run(python, "-c", check, external=True)
    run_tests(session, "-m", "smoke or threads", *FOLDERS, python=[python])


@nox.session(requires=WHEEL)
def toolkits(session: nox.Session) -> None:
    """The wheel beside torch, PyKEEN, Dask, JAX and others; a skipped test is a failure."""
    extras = "test,docs,dask,files,ir-measures,mteb,pyg,pykeen,pytorch-metric-learning,recbole"
    extras += ",sentence-transformers,torchmetrics"
    packages = [f"{repaired_wheel(session)}[{extras}]", "--group=toolkits", "--group=publish"]
    session.install("--only-binary=:all:", *packages)
    # torch brings an OpenMP runtime, and the wheel another.
    script = "import torch, truerank; print(open('/proc/self/maps').read())"
    maps = str(session.run("python", "-c", script, silent=True)).split()
    if len(runtimes := {word for word in maps if "libgomp" in word}) != 2:
        session.error(f"expected two OpenMP runtimes, found {sorted(runtimes)}")
    names = "torch|torchmetrics|jax|dask|distributed|pykeen|pykeen_models|docdata|pytrec_eval"
    names += "|ranx|sklearn|polars|faiss|torch_geometric|pytorch_metric_learning"
    names += "|recbole|ir_measures|mteb|sentence_transformers"
    session.env["NUMBA_DISABLE_JIT"] = "1"  # ranx would compile for a minute
    imports = re.compile(rf"import(orskip)?\(?.*\b({names})\b")

    def naming(path: Path) -> list[str]:
        """Return the tests of a file that import one; the file, where not only tests do."""
        head, *functions = re.split(r"^def ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        found = [code.partition("(")[0] for code in functions if imports.search(code)]
        whole = imports.search(head) or not all(name.startswith("test_") for name in found)
        return [str(path)] if whole else [f"{path}::{name}" for name in found]

    session.chdir(session.cache_dir / "source")
    paths = [name for path in sorted(Path("tests").rglob("test_*.py")) for name in naming(path)]
    named = ("docs", "doctests", "extras", "release", "two_openmp", "types")
    package = [f"tests/package/test_{name}.py" for name in named]
    files = [*package, *(name for name in paths if name.partition("::")[0] not in package)]
    files = [name for name in files if not name.startswith(DEVICES)]  # of the session `device`
    log = session.cache_dir / "toolkits.xml"
    # The README's line runs the examples of all modules but those that need these libraries.
    chosen = "not (test_doctests and test_examples) or adapters"
    options = [*ALL_CORES, f"--junit-xml={log}", "-m", "not bare", "-k", chosen]
    run_tests(session, *options, *files)
    # A skip names its reason; no library would change this one.
    allowed = re.compile("makes inverse triples of its own")
    skips = re.findall(r'<skipped [^>]*message="([^"]*)"', log.read_text(encoding="utf-8"))
    if skips := [skip for skip in skips if not allowed.search(skip)]:
        session.error(f"tests were skipped: {skips}")


@nox.session(requires=WHEEL, tags=PORTABILITY)
def device(session: nox.Session) -> None:
    """Kernels of Triton, interpreted, and compiled for a GPU; tensors as if on a device."""
    packages = [f"{repaired_wheel(session)}[test,torchmetrics]", "--group=device"]
    session.install("--only-binary=:all:", *packages)
    session.env["TRUERANK_EXAMPLES"] = FEW
    chosen = "devices or geometric"
    others = ["tests/package/test_doctests.py", "tests/retrieval/test_peers.py"]
    run_tests(session, *ALL_CORES, "-k", chosen, *DEVICES, *others)
    session.run("python", ".ci/kernel_registers.py")
    # What is not about devices at all must give the same results there.
    tests = ["tests/inputs/test_torch_tensors.py", "tests/adapters/test_torchmetrics.py"]
    session.env["TRUERANK_DEVICE"] = "torch"
    run_tests(session, *ALL_CORES, *tests, "tests/counting/test_summed_counts.py")
    # The interpreter takes a second where a device takes a millisecond.
    session.env.update(TRUERANK_DEVICE="triton", TRITON_INTERPRET="1")
    run_tests(session, *ALL_CORES, *tests, "-k", "not batches_give and not processes")


@nox.session(requires=WHEEL)
def docs(session: nox.Session) -> None:
    """The site, with warnings as errors, among them references that lead nowhere."""
    session.install(f"{repaired_wheel(session)}[bench,docs,files]")
    folder = session.create_tmp()
    options = ["-q", "-W", "--keep-going", "-n", "-b", "html", "-d", f"{folder}/doctrees"]
    session.run("python", "-m", "sphinx", *options, "docs", f"{folder}/html")


@nox.session(requires=WHEEL)
def bench(session: nox.Session) -> None:
    """The benchmarks in quick mode: they run, their results agree, the tables are written."""
    session.install(f"{repaired_wheel(session)}[bench,files]")
    folder = session.create_tmp()
    run_tests(session, "bench", "--quick", f"--bench-out={folder}")
    if missing := {"bench-results.md", "bench-results.json"} - set(os.listdir(folder)):
        session.error(f"the benchmark wrote no {' and no '.join(missing)}")
