#!/bin/sh
# Installs the pinned collector into the folder `$1`, and prints the path of its binary. Quick when nothing changed.
set -eu
home=$(cd "$(dirname "$0")" && pwd)
folder=$1
binary=$folder/rotel/rotel-agent

fail() { printf 'tests/interop/collector/install.sh: %s\n' "$1" >&2; exit 1; }

# Installs packages on Debian, where we may.
install_debian() {
    command -v apt-get >/dev/null 2>&1 || return 0
    if [ "$(id -u)" = 0 ]; then as_root=; else as_root='sudo -n'; fi
    { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends "$@"; } >/dev/null 2>&1 || true
}

python3 -m pip --version >/dev/null 2>&1 || install_debian python3 python3-pip
python3 -m pip --version >/dev/null 2>&1 || fail "pip is missing: install python3 and pip (Debian: apt-get install python3-pip)"

if ! cmp -s "$home/requirements.txt" "$folder/requirements.txt"; then
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary=:all: --require-hashes \
        --target "$folder" --requirement "$home/requirements.txt" >&2 || fail "pip could not install the collector"
    cp "$home/requirements.txt" "$folder/requirements.txt"
fi

# The binary needs the library of the Python that it was installed with.
if ! "$binary" --version >/dev/null 2>&1; then
    install_debian "libpython$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    "$binary" --version >&2 || fail "the collector does not start: it needs the shared library of python3"
fi
printf '%s\n' "$binary"
