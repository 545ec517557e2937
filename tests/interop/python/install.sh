#!/bin/sh
# Installs the pinned Python SDK and FastMCP with its tasks into the folder `$1`. Quick when nothing changed.
#
# `requirements.txt` is made of `requirements.in`: uv pip compile --generate-hashes --universal --python-version 3.11
# --no-annotate --no-header requirements.in -o requirements.txt
set -eu
home=$(cd "$(dirname "$0")" && pwd)
folder=$1
name=tests/interop/python/install.sh
. "$home/../pip.sh"
