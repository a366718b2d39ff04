#!/usr/bin/env bash
# Profiles kernels with a known limiter on the GPU of this machine and compares what is found.
# Needs nvcc, ncu, a GPU and the right to use its counters; installs nothing. After compiling,
# profiling is ended after five minutes, and the ceilings after two more. Not yet run on a GPU: the
# kernels were compiled for sm_80, sm_90a and sm_100a, and their instructions counted in the machine
# code.
#
#   scripts/gpu_check.sh [OUT]     reports, results.json and achieved.toml go to OUT (./gpu_check)
#   PYTHON=FILE scripts/gpu_check.sh     an environment with roofline; by default .venv, as make makes it
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-gpu_check}
case $out in -*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;; esac
python=${PYTHON:-$here/../.venv/bin/python}
export PYTHONPATH="$here/..${PYTHONPATH:+:$PYTHONPATH}"

command -v nvcc >/dev/null || { echo "gpu_check: nvcc is not on the path" >&2; exit 2; }
"$python" -c 'import click, msgspec, rich' 2>/dev/null || {
  printf '%s\n' "gpu_check: $python cannot run roofline" "  try: make demo, or PYTHON=FILE" >&2
  exit 2
}
mkdir -p "$out"
"$python" -m roofline doctor || echo "gpu_check: doctor sees a problem; going on" >&2
# Warpgroup and tcgen05 instructions are in no portable architecture.
case $(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1) in
  9.0) arch=sm_90a ;;
  10.0) arch=sm_100a ;;
  10.3) arch=sm_103a ;;
  *) arch=native ;;
esac
source=$here/gpu_kernels.cu
nvcc -std=c++20 -O2 -arch=$arch -o "$out/gpu_kernels" "$source"
nvcc -std=c++20 -O2 -arch=$arch -shared -Xcompiler -fPIC -o "$out/libgpu_kernels.so" "$source"
status=0
"$python" "$here/gpu_check.py" "$out/gpu_kernels" "$out" || status=$?
# Ceilings of this GPU, to set beside the registry; needs PyTorch, and is left out without it.
timeout 120 "$python" -m roofline specs measure --output "$out/achieved.toml" --force ||
  echo "gpu_check: no ceilings were measured" >&2
exit $status
