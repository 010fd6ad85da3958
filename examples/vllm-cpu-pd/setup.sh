#!/usr/bin/env bash
# Installs what ../vllm-cpu/setup.sh installs, and NIXL with its UCX.
#
#   ./setup.sh [DIR]    # DIR as there: ../vllm-cpu/.venv-vllm unless given
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:-$here/../vllm-cpu/.venv-vllm}

"$here/../vllm-cpu/setup.sh" "$dir"
if ! "$dir/bin/python" -c 'import nixl._api' 2>/dev/null; then
  echo "setup: installing NIXL into $dir"
  # nixl picks its wheel by the CUDA that torch was built for, also where there is no GPU.
  "$dir/bin/uv" pip install --quiet --python "$dir/bin/python" --no-deps nixl==1.5.1 nixl-cu13==1.5.1
fi
echo "setup: done"
