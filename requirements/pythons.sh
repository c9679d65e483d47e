#!/usr/bin/env bash
# Finds the supported Pythons of this machine: on the PATH, or installed by pyenv.
# Out: a path a line; on stderr, what was found and what was not.
set -euo pipefail

runs() { # a shim of pyenv is there, and does not run, where its version is not chosen
    "$1" -c "import sys, ensurepip, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null
}

for version in 3.11 3.12 3.13; do
    found=
    for candidate in python3 "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/"python$version"; do
        if runs "$candidate" "$version"; then
            found=$candidate
            break
        fi
    done
    if [[ $found ]]; then
        echo "Python $version: found, $("$found" -c 'import sys; print(sys.version.split()[0])') as $found" >&2
        echo "$found"
    else
        echo "Python $version: not found" >&2
    fi
done
