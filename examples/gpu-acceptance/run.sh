#!/usr/bin/env bash
# Tries on this machine what pipeline does with a GPU, and writes acceptance.json and acceptance.md into DIR.
#
#   ./run.sh [DIR]        # out unless given
#
# Needs one GPU, a Python with torch, accelerate and transformers[serving], and pipeline in the PATH. No network, no Docker.
# ENGINE=vllm serves with vLLM, ENGINE=llamacpp with llama.cpp; VLLM and LLAMA_SERVER name their programs.
# PYTHON and PIPELINE name other programs. Exit status 1 if a check fails.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}

case ${ENGINE:-transformers} in
  transformers) needs='torch, transformers, accelerate, fastapi, uvicorn, openai' ;;
  vllm) needs='torch, transformers' ;;
  llamacpp) needs='torch' ;;
  *) echo "run.sh: ENGINE is transformers, vllm or llamacpp" >&2 && exit 4 ;;
esac
if ! "$python" -c "import $needs" 2>/dev/null; then
  echo "run.sh: $python needs $needs; set PYTHON to one that has them" >&2
  exit 4
fi
if ! command -v "${PIPELINE:-pipeline}" >/dev/null; then
  echo "run.sh: pipeline is not in the PATH; set PIPELINE to the program" >&2
  exit 4
fi
exec "$python" "$here/acceptance.py" "${1:-out}"
