#!/bin/sh
# Installs the pinned packages of the page. `--where` prints the Node binary to run the scripts with.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
INSTALL_FOLDER=$here exec sh "$here/../../../tests/js/install.sh" "$@"
