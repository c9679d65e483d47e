#!/usr/bin/env bash
# Pins every requirement with the hashes of all its files, for each Python that is supported.
# In: pyproject.toml and build.in. Out: the .txt files beside this one. Arguments go to pip-compile.
# No index, path or option of this machine may get into them: tests/packaging holds that.
set -euo pipefail
cd "$(dirname "$0")/.."

# What the oldest Python needs, the newer ones can install too; not the other way round.
"$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || {
    echo "lock with the oldest supported Python: make lock PYTHON=python3.11" >&2
    exit 1
}
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"$PYTHON" -m venv "$tools"
"$tools/bin/python" -m pip install -qq --disable-pip-version-check pip-tools==7.6.2

pin() {
    local name=$1
    shift
    echo "locking requirements/$name.txt"
    env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE=/dev/null \
        "$tools/bin/pip-compile" --quiet --no-config --generate-hashes --allow-unsafe --strip-extras \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
        --no-emit-options --output-file "requirements/$name.txt" "$@"
}
pin build "$@" requirements/build.in
pin run "$@" --constraint requirements/build.txt --extra usb pyproject.toml
pin test "$@" --constraint requirements/build.txt --constraint requirements/run.txt \
    --extra usb --extra test --extra check pyproject.toml
pin bench "$@" --constraint requirements/test.txt --extra usb --extra test --extra benchmarks pyproject.toml
pin release "$@" --constraint requirements/build.txt --constraint requirements/test.txt requirements/release.in
