#!/usr/bin/env bash
# Installs llama.cpp's HTTP server (PyPI's xllamacpp, 34 MB) into DIR as DIR/bin/llama-server, and writes two random
# models there: quick.gguf of 0.6 MB, and slow.gguf with twenty times its layers. Nothing is compiled.
# Needs Python 3.10 or later; PYTHON names another than python3.
#
#   ./setup.sh DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:?usage: setup.sh DIR}

is_complete() {
  local file
  for file in requirements.lock make_model.py llama_server.py setup.sh; do
    cmp -s "$here/$file" "$dir/complete/$file" || return 1
  done
}
if is_complete; then
  echo "setup: $dir is complete"
  exit 0
fi
echo "setup: installing llama.cpp into $dir"
"${PYTHON:-python3}" -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$here/requirements.lock"
cp "$here/llama_server.py" "$dir/"
cat >"$dir/bin/llama-server" <<'END'
#!/bin/sh
here=${0%/*}
exec "$here/python" "$here/../llama_server.py" "$@"
END
chmod +x "$dir/bin/llama-server"
"$dir/bin/python" "$here/make_model.py" "$dir/quick.gguf" 2
"$dir/bin/python" "$here/make_model.py" "$dir/slow.gguf" 40
mkdir "$dir/complete"
cp "$here"/{requirements.lock,make_model.py,llama_server.py,setup.sh} "$dir/complete/"
echo "setup: done"
