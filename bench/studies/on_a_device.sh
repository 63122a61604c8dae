#!/bin/sh
# What only a device of CUDA can show, in less than six minutes: a table first, details last.
#
#     bench/studies/on_a_device.sh truerank-*.whl
#
# It needs a Python with torch, triton, numpy, scipy, pytest and hypothesis (PYTHON names another
# than python3), and no network: the wheel is installed without its dependencies, in a folder that is
# removed at the end. The two steps may take 210 and 120 seconds. The status is that of the steps.
set -u
wheel=$(realpath "${1:?the wheel to install}")
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python="${PYTHON:-python3}"
"$python" -m pip install -q --no-index --no-deps --target "$work/site" "$wheel" || exit 2
unset TRUERANK_DEVICE TRITON_INTERPRET
export PYTHONPATH="$work/site" PYTHONDONTWRITEBYTECODE=1

status=0
step() { # name, seconds, folder, command...
    name=$1 limit=$2 folder=$3
    shift 3
    started=$(date +%s)
    if (cd "$folder" && timeout "$limit" "$@") >"$work/$name.txt" 2>&1; then
        result="status 0"
    else
        result="status $?" status=1
    fi
    last=$(grep -v '^ *$' "$work/$name.txt" | tail -n 1 | cut -c 1-60)
    echo "| $name | $(($(date +%s) - started)) s | $result | $last |"
}

echo "| step | time | result | its last line |"
echo "| --- | ---: | --- | --- |"
step accelerator_cases 210 tests/devices "$python" -m pytest -q -p no:cacheprovider accelerator_cases.py
step devices 120 . "$python" bench/studies/devices.py
for name in devices accelerator_cases; do
    if [ -e "$work/$name.txt" ]; then
        printf '\n## %s\n\n' "$name"
        cat "$work/$name.txt"
    fi
done
exit "$status"
