#!/usr/bin/env bash
# Create .venv at the top of the checkout and install the project into it, editable.
#
#   scripts/setup.sh [base | test | dev]     (default: dev)
#
# base  what `pip install pymc-bsvm` brings; enough for `make demo`
# test  base and the [test] extra
# dev   everything a contributor needs: test, linters, docs, notebooks
#
# A tier is installed once. A stamp remembers pyproject.toml's checksum, so a second run costs a
# few milliseconds until that file changes. A .venv that does not work, has a Python out of range
# or was interrupted half-way is thrown away and built again.
#
# PYTHON=/path/to/python chooses the interpreter; otherwise the newest suitable one is found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly OLDEST="3.12" BELOW="3.15" # PyTensor 3 accepts Python >= 3.12, < 3.15
readonly VENV=".venv"
readonly LOG="$VENV/install.log"
readonly UNFINISHED="$VENV/.unfinished"

tier="${1:-dev}"
compile="--compile"
case "$tier" in
    # The demo reads a part of the dependencies, once: Python compiles that faster than pip does all.
    base) extras="" satisfied_by="base test dev" compile="--no-compile" ;;
    test) extras="[test]" satisfied_by="test dev" ;;
    dev) extras="[dev]" satisfied_by="dev" ;;
    *)
        echo "setup: unknown tier '$tier'. Use base, test or dev." >&2
        exit 2
        ;;
esac

# Prints "<major>.<minor>.<micro> <real path>" for a suitable interpreter, fails for any other.
# Imports what `python -m venv` needs: some distributions ship Python without them.
probe() {
    "$1" -c '
import sys
oldest, below = (tuple(map(int, v.split("."))) for v in sys.argv[1:])
if not oldest <= sys.version_info[:2] < below:
    sys.exit(1)
import ensurepip, venv
print("{}.{}.{}".format(*sys.version_info), sys.executable)
' "$OLDEST" "$BELOW" 2>/dev/null </dev/null
}

# One candidate a line, the preferred of equal versions first. pyenv's shims fail when the version
# that .python-version asks for is not installed, so its versions are also listed one by one.
candidates() {
    local name root
    for name in python3 python3.14 python3.13 python3.12 python; do
        type -aP "$name" || true
    done
    root="$(pyenv root 2>/dev/null || true)"
    root="${root:-${PYENV_ROOT:-${HOME:-}/.pyenv}}"
    for name in "$root"/versions/*/bin/python3; do
        if [ -x "$name" ]; then echo "$name"; fi
    done
}

no_python() {
    {
        echo "setup: no Python >= $OLDEST and < $BELOW with the venv and ensurepip modules was found."
        echo "Tried:"
        if [ -n "$1" ]; then
            while IFS= read -r candidate; do
                version="$("$candidate" --version 2>/dev/null </dev/null | head -n 1 || true)"
                echo "  $candidate (${version:-does not run})"
            done <<<"$1"
        else
            echo "  nothing: neither PATH nor pyenv holds any python3"
        fi
        echo "Install Python $OLDEST or newer (for example 'pyenv install 3.13', or your system's"
        echo "python3.13 and python3.13-venv packages), or point PYTHON at one and run again:"
        echo "  make PYTHON=/path/to/python3.13 setup"
    } >&2
    exit 1
}

find_python() {
    local tried="" best="" best_key=-1 candidate found version key
    if [ -n "${PYTHON:-}" ]; then
        if found="$(probe "$PYTHON")"; then
            echo "${found#* }"
            return
        fi
        echo "setup: PYTHON=$PYTHON is not a Python >= $OLDEST and < $BELOW with venv;" \
            "looking for another." >&2
        tried="$PYTHON"$'\n'
    fi
    while IFS= read -r candidate; do
        [ -n "$candidate" ] || continue
        tried+="$candidate"$'\n'
        found="$(probe "$candidate")" || continue
        version="${found%% *}"
        IFS=. read -r major minor micro <<<"$version"
        key=$((major * 1000000 + minor * 1000 + micro))
        if [ "$key" -gt "$best_key" ]; then
            best="${found#* }" best_key="$key"
        fi
    done < <(candidates)
    [ -n "$best" ] || no_python "${tried%$'\n'}"
    echo "$best"
}

checksum() { cksum <"$1" | tr -s ' \t' '--'; }

venv_works() {
    [ ! -e "$UNFINISHED" ] && "$VENV/bin/python" -c '
import sys
oldest, below = (tuple(map(int, v.split("."))) for v in sys.argv[1:])
assert oldest <= sys.version_info[:2] < below and sys.prefix != sys.base_prefix
import pip
' "$OLDEST" "$BELOW" 2>/dev/null </dev/null
}

# The folder belongs to the stamp: an editable install points at one place.
stamp="$(checksum pyproject.toml) $PWD"

if venv_works; then
    for done_tier in $satisfied_by; do
        if [ "$(cat "$VENV/.installed-$done_tier" 2>/dev/null || true)" = "$stamp" ]; then
            exit 0
        fi
    done
else
    python="$(find_python)"
    if [ -e "$VENV" ] || [ -L "$VENV" ]; then
        echo "setup: $VENV is broken, unfinished or of another Python; building it again" >&2
        rm -rf "$VENV"
    fi
    echo "setup: creating $VENV with $("$python" --version)" >&2
    "$python" -m venv "$VENV"
fi

echo "setup: installing pymc-bsvm$extras (details: $LOG)" >&2
touch "$UNFINISHED"
if ! "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$compile" \
    --editable ".$extras" >"$LOG" 2>&1 </dev/null; then
    rm -f "$UNFINISHED"
    {
        echo "setup: pip failed. The end of $LOG:"
        tail -n 25 "$LOG"
        echo "setup: check the network and pip's configuration, then run the same command again."
    } >&2
    exit 1
fi
echo "$stamp" >"$VENV/.installed-$tier"
rm -f "$UNFINISHED"
