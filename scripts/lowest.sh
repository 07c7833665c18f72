#!/usr/bin/env bash
# Try the oldest versions that pyproject.toml allows: install them into .cache/lowest, run
# scripts/smoke.py there.
#
# The pins are the lower bounds of pyproject.toml, read and not repeated. The environment is built
# once and again when that file changes. It takes Python 3.12 or 3.13: the oldest versions have no
# wheels for later ones. CACHE=... is where compiled code is kept, as for make.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly VENV=".cache/lowest"
readonly LOG="$VENV/install.log"

candidates() {
    local name root
    root="$(pyenv root 2>/dev/null || true)"
    root="${root:-${PYENV_ROOT:-${HOME:-}/.pyenv}}"
    for name in 3.12 3.13; do
        type -aP "python$name" || true
        compgen -G "$root/versions/$name.*/bin/python3" || true
    done
    echo .venv/bin/python
}

# pyenv's shims fail for a version that is not active, so each candidate has to prove itself.
find_python() {
    local candidate
    while IFS= read -r candidate; do
        if "$candidate" -c 'import ensurepip, sys, venv
sys.exit(not (3, 12) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null </dev/null; then
            echo "$candidate"
            return
        fi
    done < <(candidates)
    echo "lowest: no Python 3.12 or 3.13 with the venv module was found. Install one of them." >&2
    exit 1
}

pins() {
    "$VENV/bin/python" - <<'END'
import re
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["sklearn"]:
    name, version = re.match(r"([\w.-]+)(?:\[.*?\])?>=([\d.]+)", requirement).groups()
    print(f"{name}=={version}")
END
}

stamp="$(cksum <pyproject.toml | tr -s ' \t' '--') $PWD"
if [ "$(cat "$VENV/.installed" 2>/dev/null || true)" != "$stamp" ]; then
    python="$(find_python)"
    rm -rf "$VENV"
    echo "lowest: creating $VENV with $("$python" --version)" >&2
    "$python" -m venv "$VENV"
    pins >"$VENV/pins.txt"
    if ! "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        --only-binary :all: --constraint "$VENV/pins.txt" --editable ".[sklearn]" \
        >"$LOG" 2>&1 </dev/null; then
        {
            echo "lowest: pip failed. The end of $LOG:"
            tail -n 25 "$LOG"
            echo "lowest: raise the lower bound in pyproject.toml of what does not install."
        } >&2
        exit 1
    fi
    echo "$stamp" >"$VENV/.installed"
fi

tr '\n' ' ' <"$VENV/pins.txt" && echo
cache="${CACHE:-$PWD/.cache}"
MPLBACKEND=Agg NUMBA_CACHE_DIR="$cache/lowest-numba" \
    PYTENSOR_FLAGS="base_compiledir='$cache/lowest-pytensor'" \
    "$VENV/bin/python" scripts/smoke.py
echo "lowest: all of scripts/smoke.py passed"
