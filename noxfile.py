"""What CI checks, a session each: `nox -l` lists them, `nox -s NAME` runs one, `.ci/run` runs all.

Everything is built and tested from the unpacked sdist, in nox's folders: nothing is built in the
checkout, and what is tested is what was installed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import nox

nox.needs_version = ">=2026.10"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # a machine has the Pythons that it has

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
OWN = "{}.{}".format(*sys.version_info)
WHEEL = f"wheel-{OWN}"

# Only the core differs under another instruction set or a sanitizer.
CORE = ("-m", "not python_only")
# Most tests keep one processor busy.
ALL_CORES = ("-n", str(os.cpu_count()), "--dist", "worksteal")
THREADS = (
    "tests/core/test_parallel.py",
    "tests/core/test_interrupt.py",
    "tests/counting/test_threads.py",
)
CALLERS = (
    "tests/counting/test_row_blocks.py",
    "tests/counting/test_counter.py::test_several_threads_update_one_counter",
)
OTHER_THREADS = (
    "tests/embeddings/test_scores.py::test_calls_in_several_threads_at_once",
    "tests/alignment/test_both_directions.py::test_large_and_threads",
    "tests/embeddings/test_scores.py::test_threads_and_blocks_change_nothing[l2]",
    "tests/counting/test_tiles.py::test_read_in_pieces[True-3-shape0-C]",
    "tests/counting/test_tiles.py::test_read_in_pieces[True-3-shape2-F]",
)
PYTHON_SOURCES = ("python", "tests", "bench", "docs/conf.py", "docs/_ext", ".ci", "noxfile.py")


def settings_of_pip() -> dict[str, str]:
    """uv does not read pip's settings: where pip finds packages, as uv's variables."""
    names = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX"}
    names |= {"find-links": "UV_FIND_LINKS", "cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY"}
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^\S+?\.([\w-]+)='(.*)'$", lines, re.MULTILINE)
    values = {names[key]: value.replace(r"\n", " ").split() for key, value in found if key in names}
    return {name: ("," if "LINKS" in name else " ").join(words) for name, words in values.items()}


for name, value in settings_of_pip().items():
    os.environ.setdefault(name, value)
os.environ.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")  # as pip chooses
os.environ.setdefault("TRUERANK_DATA", str(ROOT.parent / "shared" / "data"))
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def need(session: nox.Session, *packages: str) -> None:
    """Installs Debian packages. Where that cannot be, the session is skipped, or fails in CI."""
    query = ["dpkg-query", "-W", "-f=${db:Status-Status}"]
    has_apt = shutil.which("apt-get") and shutil.which("dpkg-query")

    def is_missing(package: str) -> bool:
        if not has_apt:
            return True
        done = subprocess.run([*query, package], capture_output=True, text=True, check=False)
        return done.stdout != "installed"

    with (session.cache_dir / "apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [package for package in packages if is_missing(package)]
        if missing and (os.getuid() != 0 or not has_apt):
            (session.error if os.environ.get("CI") == "true" else session.skip)(
                f"needs {' '.join(missing)}"
            )
        if missing:
            session.run("apt-get", "update", "-qq", external=True, silent=True)
            session.run(
                *("apt-get", "install", "-qq", "--no-install-recommends", *missing),
                env={"DEBIAN_FRONTEND": "noninteractive"},
                external=True,
                silent=True,
            )


def source(session: nox.Session) -> Path:
    """The unpacked sdist, which the session `sdist` made."""
    return session.cache_dir / "source"


def build(session: nox.Session, folder: str, *settings: str, python: str = "") -> Path:
    """Builds a wheel from the sdist, warnings as errors, into a folder; its path."""
    target = session.cache_dir / "wheels" / folder
    shutil.rmtree(target, ignore_errors=True)
    options = [f"--config-setting={setting}" for setting in settings]
    options += ["--config-setting=cmake.define.TRUERANK_WERROR=ON"]
    env = {"SKBUILD_BUILD_DIR": f"build/{folder}"}
    options += [f"--python={python or session.virtualenv.bin + '/python'}", f"--out-dir={target}"]
    command = ["uv", "build", "-q", "--wheel", *options, str(source(session))]
    session.run(*command, env=env, external=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def published_wheel(session: nox.Session, python: str = OWN) -> str:
    """The wheel that could be published, which the session `wheel` made."""
    (wheel,) = (session.cache_dir / "wheels" / python).glob("repaired/*.whl")
    return str(wheel)


def run_tests(
    session: nox.Session,
    *options: str,
    under: Sequence[str] = (),
    python: str = "python",
    **env: str,
) -> None:
    """Runs pytest in the sdist's folder, from where the package's sources cannot be imported."""
    session.chdir(source(session))
    command = ["timeout", "-k", "10", "1500", *under, python, "-m", "pytest", "-q"]
    session.run(*command, *options, external=True, env=env)


@nox.session
def lint(session: nox.Session) -> None:
    """Lint, types, format, imports, spelling, workflows; which wheels would be built."""
    extras = [f"--extra={name}" for name in ("bench", "zarr", "h5py")]
    session.install("-r", "pyproject.toml", *extras, "--group=lint")
    temporary = session.create_tmp()
    session.env["RUFF_CACHE_DIR"] = session.env["MYPY_CACHE_DIR"] = temporary
    workflows = [str(path) for path in ROOT.glob(".github/workflows/*.yml")]
    cpp = [str(path) for path in [*ROOT.glob("cpp/*/*.[ch]pp"), *ROOT.glob(".ci/*.cpp")]]
    commands: list[list[str]] = [
        ["ruff", "check", *PYTHON_SOURCES],
        ["ruff", "format", "--check", *PYTHON_SOURCES],
        ["mypy"],
        ["env", "PYTHONPATH=python", "lint-imports", "--no-cache"],
        ["clang-format", "--dry-run", "-Werror", *cpp],
        ["codespell", ".", ".ci", ".github"],
        ["shellcheck", ".ci/run", ".ci/build_freethreaded_python"],
        ["validate-pyproject", "pyproject.toml"],
        ["check-jsonschema", "--builtin-schema=vendor.github-workflows", *workflows],
        ["check-jsonschema", "--builtin-schema=vendor.dependabot", ".github/dependabot.yml"],
        ["zizmor", "--offline", "--quiet", ".github"],
    ]
    failed = [command[0] for command in commands if not succeeds(session, command)]

    # No file names a folder of somebody's machine; the tests plant some.
    folders = r"(?<![\w./:-])/(home|project|root|tmp|Users|work|var/folders|private)/[\w.]"
    places = ["--", ".", ":!tests/package/test_release.py"]
    grep = ["git", "grep", "--untracked", "-nIP", folders, *places]
    if not succeeds(session, ["bash", "-c", f"! {shlex.join(grep)}"]):
        failed.append("git grep")

    # Five Pythons for each of seven platforms.
    wheels = set[str]()
    for platform in ("linux=x86_64,aarch64", "macos=arm64,x86_64", "windows=AMD64"):
        system, archs = platform.split("=")
        options = [f"--platform={system}", f"--archs={archs}", "--print-build-identifiers"]
        wheels |= set(str(session.run("cibuildwheel", *options, silent=True)).split())
    pythons = {wheel.partition("-")[0] for wheel in wheels}
    if len(wheels) != 35 or pythons != {"cp311", "cp312", "cp313", "cp314", "cp314t"}:
        session.error(f"cibuildwheel would build {sorted(wheels)}")
    if failed:
        session.error(f"failed: {', '.join(failed)}")


def succeeds(session: nox.Session, command: list[str]) -> bool:
    """Whether a command ends well; the session goes on if it does not."""
    try:
        session.run(*command, external=True)
    except nox.command.CommandFailed:
        return False
    return True


@nox.session
def sdist(session: nox.Session) -> None:
    """The sdist holds what git does, and is what PyPI accepts; the other sessions build from it."""
    session.install("--group=publish", "-r", "pyproject.toml")
    folder = session.cache_dir / "sdist"
    for old in (folder, source(session)):
        shutil.rmtree(old, ignore_errors=True)
    session.run("check-sdist")
    session.run("uv", "build", "-q", "--sdist", f"--out-dir={folder}", external=True)
    (archive,) = folder.glob("*.tar.gz")
    session.run("twine", "check", "--strict", str(archive))
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    shutil.move(folder / archive.name.removesuffix(".tar.gz"), source(session))


@nox.session(python=PYTHONS, requires=["sdist"])
def wheel(session: nox.Session) -> None:
    """The wheel that could be published, built from the sdist, repaired and audited."""
    need(session, "g++", "libgomp1", "python3-dev")
    session.install("--group=publish", "-r", "pyproject.toml")
    built = build(session, str(session.python))
    repaired = built.parent / "repaired"
    session.run("auditwheel", "repair", f"--wheel-dir={repaired}", str(built), silent=True)
    path = published_wheel(session, str(session.python))
    session.run("check-wheel-contents", path)
    session.run("twine", "check", "--strict", path)
    session.run("python", ".ci/audit_wheel.py", path)


@nox.session(python=PYTHONS, requires=["wheel-{python}"])
def smoke(session: nox.Session) -> None:
    """The wheel brings numpy alone, and passes the smoke tests beside the least they need."""
    session.install(published_wheel(session, str(session.python)))
    packages = str(session.run("uv", "-q", "pip", "freeze", silent=True, external=True))
    if (names := set(re.findall(r"^[\w-]+", packages, re.MULTILINE))) != {"numpy", "truerank"}:
        session.error(f"the wheel should bring numpy alone, brought: {names}")
    example = "import numpy as np, truerank as tr; print(tr.rank(np.eye(3, dtype='f4'), range(3)))"
    session.run("python", "-c", example)
    session.install(f"--group={ROOT}/pyproject.toml:smoke")
    run_tests(session, "-m", "smoke")


# The compilers of clang have std::thread's threads on Windows and macOS; the others need no speed.
COMPILERS = [
    nox.param("g++-11", "ON", "Debug", id="gcc-11"),
    nox.param("clang++-14", "ON", "Debug", id="clang-14"),
    nox.param("clang++-14", "OFF", "Release", id="clang-14-threads"),
]


@nox.session(requires=["sdist"])
@nox.parametrize(["compiler", "openmp", "kind"], COMPILERS)
def compilers(session: nox.Session, compiler: str, openmp: str, kind: str) -> None:
    """The oldest compilers we promise, with and without OpenMP, warnings as errors."""
    need(session, "g++-11", "clang-14", "libomp-14-dev")
    defines = [f"CMAKE_CXX_COMPILER={compiler}", f"TRUERANK_OPENMP={openmp}"]
    defines += ["CMAKE_CXX_FLAGS_DEBUG=-O0"]
    settings = [f"cmake.build-type={kind}", *(f"cmake.define.{define}" for define in defines)]
    path = build(session, f"{compiler}-{openmp}", *settings)
    session.install(str(path), f"--group={ROOT}/pyproject.toml:smoke")
    check = f"from truerank import _core; assert _core.openmp() is {openmp == 'ON'}"
    session.run("python", "-c", check)
    # Threads are of another kind without OpenMP.
    run_tests(session, "-m", "smoke")
    if openmp == "OFF":
        run_tests(session, *THREADS)


@nox.session(requires=["sdist"])
@nox.parametrize("compiler", ["g++", "clang++-14", "aarch64-linux-gnu-g++"])
def cpp(session: nox.Session, compiler: str) -> None:
    """The C++ tests, which need no Python: OpenMP's threads, others, and aarch64, emulated."""
    need(session, "g++", "clang-14", "g++-aarch64-linux-gnu", "qemu-user")
    session.install("cmake", "ninja")
    session.chdir(source(session))
    preset = "tests-aarch64" if "aarch64" in compiler else "tests"
    openmp = "OFF" if "clang" in compiler else "ON"
    folder = f"build/tests-{compiler}"
    options = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DTRUERANK_OPENMP={openmp}"]
    session.run("cmake", f"--preset={preset}", "-G=Ninja", f"-B{folder}", *options, silent=True)
    session.run("cmake", "--build", folder, "--", "--quiet")
    session.run("ctest", f"--test-dir={folder}", "--output-on-failure", f"-j{os.cpu_count()}")


@nox.session(requires=["sdist"])
@nox.parametrize("target", ["x86_64-windows-gnu", "aarch64-macos.11.0"])
def cross(session: nox.Session, target: str) -> None:
    """The core without Python compiles for Windows and macOS: zig is clang with their headers."""
    session.install(f"--group={ROOT}/pyproject.toml:cross")
    session.chdir(source(session))
    temporary = session.create_tmp()
    session.env["ZIG_GLOBAL_CACHE_DIR"] = session.env["ZIG_LOCAL_CACHE_DIR"] = temporary
    (standard,) = re.findall(r"cxx_std_\d+", Path("CMakeLists.txt").read_text(encoding="utf-8"))
    options = [standard.replace("cxx_std_", "-std=c++"), "-O0", "-ffp-contract=off"]
    options += ["-fno-math-errno", "-Icpp", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    compile_ = ["python", "-m", "ziglang", "c++", "-target", target, *options, "-c"]
    for path in sorted(path for path in Path("cpp").glob("*/*.cpp") if path.parts[1] != "bind"):
        output = f"{temporary}/{path.parent.name}-{path.stem}.o"
        session.run(*compile_, str(path), "-o", output, log=False)


@nox.session(requires=[WHEEL])
def isa(session: nox.Session) -> None:
    """What runs the core, under every instruction set of the machine but the best one."""
    session.install(f"{published_wheel(session)}[test,h5py,zarr]")
    script = "from truerank import _core; print(_core.isa(), *_core.isas())"
    best, *names = str(session.run("python", "-c", script, silent=True)).split()
    # Two tests run all instruction sets themselves, whatever was chosen.
    options = ["--deselect=tests/core/test_parallel.py::test_instruction_sets_change_nothing"]
    options += ["--deselect=tests/embeddings/test_scores.py::test_instruction_sets_change_no_bit"]
    for name in names:
        if name != best:
            run_tests(session, *ALL_CORES, *CORE, *options, TRUERANK_ISA=name)


def runtime(name: str) -> str:
    """The path of a sanitizer's runtime."""
    command = ["g++", f"-print-file-name=lib{name}.so"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def environment_of(sanitizer: str) -> list[str]:
    """The variables under which a sanitizer's build runs.

    Its runtime must come before everything else in the process, and Python is not built with it:
    hence LD_PRELOAD.
    """
    if sanitizer == "asan":
        # A small object of Python's own arena would have no red zone: hence PYTHONMALLOC. What
        # Python leaks at exit is not ours.
        return [
            f"LD_PRELOAD={runtime('asan')}:{runtime('ubsan')}",
            "PYTHONMALLOC=malloc",
            "ASAN_OPTIONS=detect_leaks=0",
            "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1",
        ]
    # This confines the accesses that are checked to our own code.
    options = "TSAN_OPTIONS=ignore_noninstrumented_modules=1 die_after_fork=0"
    if sanitizer == "tsan-threads":  # without OpenMP, threads are of a kind that TSan knows
        return [options, f"LD_PRELOAD={runtime('tsan')}"]
    # TSan cannot see what libgomp synchronizes with (futexes of its own), and takes the end of each
    # parallel region for a race. LLVM's runtime has libgomp's entry points too, and its tool Archer
    # tells TSan what happens before what: so the core, built by g++, runs on libomp here. (The
    # preloaded runtime of clang 14 itself crashes before main.)
    llvm = "/usr/lib/llvm-14/lib"
    preload = f"LD_PRELOAD={runtime('tsan')}:{llvm}/libomp.so"
    return [options, preload, f"OMP_TOOL_LIBRARIES={llvm}/libarcher.so"]


# What is reported when a function of .ci/planted.cpp is called; nothing where nothing is said.
OVERFLOW = ("heap-buffer-overflow", "planted_overflow", "1")
UNDEFINED = ("signed integer overflow", "planted_undefined", "1")
RACE = ("data race", "planted_race", "2000000")
RACE_OF_CALLS = ("data race", "planted_race_between_calls", "3000000", "4")
NOTHING = ("", "planted_nothing", "10000")
SANITIZERS = [
    nox.param("asan", [OVERFLOW, UNDEFINED, NOTHING], id="asan"),
    nox.param("tsan-openmp", [RACE, RACE_OF_CALLS, NOTHING], id="tsan-openmp"),
    nox.param("tsan-threads", [RACE_OF_CALLS], id="tsan-threads"),
]


@nox.session(requires=["sdist"])
@nox.parametrize(["sanitizer", "planted"], SANITIZERS)
def sanitizers(session: nox.Session, sanitizer: str, planted: list[tuple[str, ...]]) -> None:
    """What runs the core under ASan and UBSan, threads under TSan; both find planted faults."""
    need(session, "g++", "libomp-14-dev")
    under = ["env", *environment_of(sanitizer)]
    # Shadow memory needs a layout that a kernel with much randomisation may not give: hence
    # setarch, where it is allowed.
    fixed = ["setarch", os.uname().machine, "-R"]
    if subprocess.run([*fixed, "true"], capture_output=True, check=False).returncode == 0:
        under = fixed + under

    library = f"{session.create_tmp()}/planted.so"
    preset = "asan-ubsan" if sanitizer == "asan" else "tsan"
    openmp = "OFF" if sanitizer == "tsan-threads" else "ON"
    flags = ["-fsanitize=address,undefined" if sanitizer == "asan" else "-fsanitize=thread"]
    flags += ["-fopenmp"] if openmp == "ON" else []
    command = ["g++", "-std=c++17", "-O1", "-g", "-fPIC", "-shared", *flags, "-o", library]
    session.run(*command, f"{ROOT}/.ci/planted.cpp", external=True)
    for report, *call in planted:
        # A program, not a wrapper script: the shell itself does not run under TSan.
        command = [*under, os.path.realpath(sys.executable), f"{ROOT}/.ci/planted.py", library]
        done = subprocess.run([*command, *call], capture_output=True, text=True, check=False)
        if bool(report) != bool(done.returncode) or report not in done.stderr:
            session.error(f"{call}: expected {report or 'no report'}, got {done.stderr}")
        session.log(f"{sanitizer}, {call[0]}: {report or 'no report'}, as it should be")

    settings = [f"cmake.args=--preset={preset}", "cmake.build-type="]
    path = build(session, sanitizer, *settings, f"cmake.define.TRUERANK_OPENMP={openmp}")
    session.install(f"{path}[test,h5py,zarr]")
    # Its reports are not pytest's to capture: one that ends the process would be lost. WN18RR is
    # large, and its ways of reading are those of smaller tests.
    chosen = [*CORE, "--ignore=tests/published/test_wn18rr.py"]
    if sanitizer != "asan":
        chosen = [*THREADS, *CALLERS, *OTHER_THREADS]
    run_tests(session, "--capture=sys", *ALL_CORES, *chosen, under=under)


@nox.session(requires=["sdist"])
def freethreaded(session: nox.Session) -> None:
    """What is about threads, and the smoke tests, on CPython without the GIL."""
    need(session, "dpkg-dev", "gcc", "make", "pkg-config", "xz-utils", "zlib1g-dev", "libffi-dev")
    need(session, "libssl-dev")
    folder = session.cache_dir / "freethreaded"
    script = f"{ROOT}/.ci/build_freethreaded_python"
    if session.run("bash", script, str(folder), external=True, success_codes=[0, 77]) == 77:
        session.skip("no source of CPython 3.13 from here")
    python = f"{folder}/env/bin/python"
    venv = ["uv", "venv", "-q", "--clear", f"--python={folder}/bin/python3.13t", f"{folder}/env"]
    session.run(*venv, external=True)
    path = build(session, "freethreaded", python=python)
    install = ["uv", "pip", "install", f"--python={python}", "--only-binary=:all:"]
    session.run(*install, f"{path}[test]", external=True, silent=True)
    check = "import sys, truerank; assert not sys._is_gil_enabled(), 'truerank turned the GIL on'"
    session.run(python, "-c", check, external=True)
    run_tests(session, *THREADS, *CALLERS, python=python)
    run_tests(session, "-m", "smoke", python=python)


@nox.session(requires=[WHEEL])
def toolkits(session: nox.Session) -> None:
    """The wheel beside torch, PyKEEN, Dask, JAX and others; a skipped test is a failure."""
    extras = "test,docs,dask,pykeen,torchmetrics,zarr,h5py"
    groups = ["--group=toolkits", "--group=publish"]
    session.install("--only-binary=:all:", f"{published_wheel(session)}[{extras}]", *groups)
    # torch brings an OpenMP runtime, and the wheel another.
    script = "import torch, truerank; print(open('/proc/self/maps').read())"
    maps = str(session.run("python", "-c", script, silent=True)).split()
    if len(runtimes := {word for word in maps if "libgomp" in word}) != 2:
        session.error(f"expected two OpenMP runtimes, found {sorted(runtimes)}")
    names = "torch|torchmetrics|jax|dask|distributed|pykeen|pykeen_models|docdata|auditwheel"
    wanted = re.compile(rf"import(orskip)?\(?.*\b({names})\b")
    session.chdir(source(session))
    files = [f"tests/package/test_{name}.py" for name in ("docs", "doctests", "extras")]
    for path in sorted(Path("tests").rglob("test_*.py")):
        if str(path) not in files and wanted.search(path.read_text(encoding="utf-8")):
            files.append(str(path))
    log = session.cache_dir / "toolkits.xml"
    run_tests(session, *ALL_CORES, "-rs", f"--junit-xml={log}", *files)
    # A skip names its reason; the one that is no library's is allowed.
    skips = re.findall(r'<skipped [^>]*message="([^"]*)"', log.read_text(encoding="utf-8"))
    if skips := [skip for skip in skips if "makes inverse triples of its own" not in skip]:
        session.error(f"tests were skipped: {skips}")


@nox.session(requires=[WHEEL])
def docs(session: nox.Session) -> None:
    """The site, with warnings as errors, references that lead nowhere among them."""
    session.install(f"{published_wheel(session)}[bench,docs,zarr,h5py]")
    folder = session.create_tmp()
    options = ["-q", "-W", "--keep-going", "-n", "-b", "html", "-d", f"{folder}/doctrees"]
    session.run("python", "-m", "sphinx", *options, "docs", f"{folder}/html")
    session.log(f"{len(list(Path(folder).rglob('*.html')))} pages")


@nox.session(requires=[WHEEL])
def bench(session: nox.Session) -> None:
    """The benchmarks in quick mode: they run, contestants agree, the tables are written."""
    session.install(f"{published_wheel(session)}[bench,zarr,h5py]")
    folder = Path(session.create_tmp())
    run_tests(session, "bench", "--quick", f"--bench-out={folder}")
    if missing := {"bench-results.md", "bench-results.json"} - set(os.listdir(folder)):
        session.error(f"the benchmark wrote no {' and no '.join(missing)}")
