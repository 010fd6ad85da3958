#!/usr/bin/env bash
# Installs llama.cpp's HTTP server (PyPI's xllamacpp, 34 MB) into DIR, and writes two random models there: a
# quick one of 0.6 MB, and one with twenty times its layers.
# Nothing is compiled. Needs Python 3.11 on x86-64.
#
#   ./setup.sh DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:?usage: setup.sh DIR}

if cmp -s "$here/requirements.lock" "$dir/complete" && cmp -s "$here/make_model.py" "$dir/make_model.py"; then
  echo "setup: $dir is complete"
  exit 0
fi
echo "setup: installing llama.cpp into $dir"
"${PYTHON:-python3}" -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$here/requirements.lock"
cp "$here/make_model.py" "$dir/"
"$dir/bin/python" "$dir/make_model.py" "$dir/quick.gguf" 2
"$dir/bin/python" "$dir/make_model.py" "$dir/slow.gguf" 40
cp "$here/requirements.lock" "$dir/complete"
echo "setup: done"
