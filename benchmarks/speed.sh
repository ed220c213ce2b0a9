#!/usr/bin/env bash
# make speed: builds an earlier commit in build/before, and has benchmarks/turns.py alternate that build and this one.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 before=${BEFORE:-HEAD^} place=build/before
if ! commit=$(git rev-parse --quiet --verify "$before^{commit}" 2> /dev/null); then
  echo "SKIPPED: make speed: there is no earlier commit ($before) here"
  exit
fi
if git diff --quiet "$commit" -- native CMakeLists.txt; then
  echo "make speed: the core is that of ${commit:0:12} ($before), so its speed is too"
  exit
fi
if [ "$(cat "$place/commit" 2> /dev/null)" != "$commit" ]; then
  echo "Compiling the core of ${commit:0:12} ($before)"
  rm -rf "$place"
  mkdir -p "$place/source"
  git archive "$commit" | tar -x -C "$place/source"
  # It borrows the tools of the other environment, but not the package built there.
  "$python" -m venv --without-pip "$place/env"
  packages='import sysconfig; print(sysconfig.get_path("purelib"))'
  site=$("$place/env/bin/python" -c "$packages")
  "$python" -c "$packages" > "$site/tools.pth"
  "$python" -m pip install -qq --disable-pip-version-check --root-user-action=ignore --no-build-isolation --no-deps \
    --config-settings="build-dir=$PWD/$place/build" --target "$site" "$place/source"
  echo "$commit" > "$place/commit"
fi
"$python" benchmarks/turns.py "$place/env/bin/python" "$python" --rounds 5
