#!/bin/sh
# Prints the path of Chromium, or of Chrome. Debian's is installed where that is allowed.
set -eu

find_browser() {
    for name in ${CHROMIUM:-chromium} chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    return 1
}

find_browser >/dev/null || sh "$(dirname "$0")/../../../tests/engines/debian.sh" chromium || true
find_browser || { echo "chromium.sh: Chromium is missing: install it, or set CHROMIUM" >&2; exit 1; }
