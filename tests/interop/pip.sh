# Installs pinned Python packages; to be read by a script that has set `home`, the folder of its requirements.txt below `tests`,
# `folder`, where the packages go, and `name`, its own name for messages.

fail() { printf '%s: %s\n' "$name" "$1" >&2; exit 1; }

install_debian() { sh "${home%/tests/*}/tests/engines/debian.sh" "$@" || true; }

python3 -m pip --version >/dev/null 2>&1 || install_debian python3 python3-pip
python3 -m pip --version >/dev/null 2>&1 || fail "pip is missing: install python3 and pip (Debian: apt-get install python3-pip)"

if ! cmp -s "$home/requirements.txt" "$folder/requirements.txt"; then
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary=:all: --require-hashes \
        --target "$folder" --requirement "$home/requirements.txt" >&2 || fail "pip could not install the packages"
    cp "$home/requirements.txt" "$folder/requirements.txt"
fi
