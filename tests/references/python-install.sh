#!/bin/sh
# Installs the pinned reference servers for Python into the folder `$1`, and those that are no longer kept up, which need an older
# SDK, into `$1-archived`. Quick when nothing changed.
#
# Each `requirements.txt` is made of the `requirements.in` beside it: uv pip compile --generate-hashes --universal
# --python-version 3.11 --no-annotate --no-header requirements.in -o requirements.txt
set -eu
name=tests/references/python-install.sh
here=$(cd "$(dirname "$0")" && pwd)

home=$here
folder=$1
. "$here/../interop/pip.sh"

home=$here/archived
folder=$1-archived
. "$here/../interop/pip.sh"
