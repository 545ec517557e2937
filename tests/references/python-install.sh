#!/bin/sh
# Installs the pinned reference servers for Python into the folder `$1`. Quick when nothing changed.
#
# `requirements.txt` is made of `requirements.in`: uv pip compile --generate-hashes --universal --python-version 3.11
# --no-annotate --no-header requirements.in -o requirements.txt
set -eu
home=$(cd "$(dirname "$0")" && pwd)
folder=$1
name=tests/references/python-install.sh
. "$home/../interop/pip.sh"
