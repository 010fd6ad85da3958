#!/usr/bin/env bash
# Installs SGLang's router (PyPI's sglang-router) into DIR as DIR/bin/sglang-router: 150 MB, nothing is compiled.
# Needs Python 3.9 or later on Linux; PYTHON names another than python3.
#
#   ./setup.sh DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:?usage: setup.sh DIR}

if cmp -s "$here/requirements.lock" "$dir/complete"; then
  echo "setup: $dir is complete"
  exit 0
fi
echo "setup: installing SGLang's router into $dir"
"${PYTHON:-python3}" -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.lock"
cp "$here/requirements.lock" "$dir/complete"
echo "setup: done"
