#!/bin/sh
# Prints the path of Chromium, or of Chrome. Debian's is installed where that is allowed.
set -eu

find_browser() {
    for name in ${CHROMIUM:-chromium} chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    return 1
}

if ! find_browser >/dev/null && command -v apt-get >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then as_root=; else as_root='sudo -n'; fi
    echo "chromium.sh: installing chromium (apt-get)" >&2
    { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends chromium; } \
        >/dev/null 2>&1 || echo "chromium.sh: apt-get could not install it" >&2
fi
find_browser || { echo "chromium.sh: Chromium is missing: install it, or set CHROMIUM" >&2; exit 1; }
