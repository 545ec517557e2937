#!/bin/sh
# Installs packages of Debian: `debian.sh PACKAGE…`, as root or with a sudo that asks for nothing. apt-get refuses to run twice
# at once, so those who come at the same time wait for each other.
set -eu

command -v apt-get >/dev/null 2>&1 || { echo "debian.sh: there is no apt-get" >&2; exit 1; }
if [ "$(id -u)" = 0 ]; then as_root=; else as_root='sudo -n'; fi
exec 9>"${TMPDIR:-/tmp}/turnbuckle-debian.lock"
flock 9
echo "debian.sh: installing $*" >&2
export DEBIAN_FRONTEND=noninteractive
# Without a list that is new, the one that is there may do.
$as_root apt-get update -qq >/dev/null 2>&1 || true
$as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null || {
    echo "debian.sh: apt-get could not install $*" >&2
    exit 1
}
