#!/bin/sh
# Installs the pinned collector into the folder `$1`, and prints the path of its binary. Quick when nothing changed.
set -eu
home=$(cd "$(dirname "$0")" && pwd)
folder=$1
binary=$folder/rotel/rotel-agent

name=tests/interop/collector/install.sh
. "$home/../pip.sh"

# The binary needs the library of the Python that it was installed with.
if ! "$binary" --version >/dev/null 2>&1; then
    install_debian "libpython$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    "$binary" --version >&2 || fail "the collector does not start: it needs the shared library of python3"
fi
printf '%s\n' "$binary"
