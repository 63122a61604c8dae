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

# What lets a whole suite take all cores: most tests are busy with one.
cores=(-n "$(nproc)" --dist worksteal)

# Tests of what follows from counts run no line of the core, and those of the command line, and of what is done with the
# nearest of an alignment, none that others do not. Most of the suite's time is theirs: the README's test line runs them,
# and neither another instruction set nor a sanitizer has anything to say to them.
python_alone=()
for name in alignment_assignment alignment_candidates alignment_dangling alignment_data alignment_degrees \
    alignment_hubness alignment_infer alignment_overlap alignment_plots alignment_published alignment_similarities \
    alignment_splits alignment_statistics alignment_tasks chance chance_medians chance_sums cli_adjust cli_alignment \
    cli_bench cli_compare cli_errors cli_evaluate cli_groups cli_link_prediction cli_process cli_progress cli_resume \
    cli_stores columns comparison demo embeddings_oracle error_cases grouping intervals keys link_prediction_candidates \
    link_prediction_tasks link_prediction_triples metrics published ranks rendering significance storage stored tables \
    ties validity; do
    [ -e "$root/tests/test_$name.py" ] || fail "no tests/test_$name.py"
    python_alone+=("--ignore=tests/test_$name.py")
done

# suite PYTHON [PYTEST OPTION...]: runs the tests of a copy of tests/, so that what is tested is what was installed; Python
# runs under the command `under`, if there is one.
under=()
suite() {
    local python=$1
    shift
    if [ ! -e "$scratch/checkout" ]; then
        mkdir "$scratch/checkout"
        cp -r bench tests pyproject.toml README.md "$scratch/checkout/"
    fi
    (
        export TRUERANK_DATA=${TRUERANK_DATA:-$root/../shared/data}
        cd "$scratch/checkout"
        "${under[@]}" "$python" -m pytest -q "$@"
    )
}
