#!/usr/bin/env bash
# Profiles kernels with a known limiter on the GPU of this machine and compares what is found.
# Needs nvcc, ncu, a GPU and the right to use its counters; installs nothing. All of it ends within
# LIMIT seconds (300), every command within a limit of its own; what was measured until then is in
# OUT. Not yet run on a GPU: the kernels were compiled for sm_80, sm_90a and sm_100a, and their
# instructions counted in the machine code.
#
#   scripts/gpu_check.sh [OUT]     reports, results.json and achieved.toml go to OUT (./gpu_check)
#   LIMIT=600 scripts/gpu_check.sh       more time
#   PYTHON=FILE scripts/gpu_check.sh     an environment with roofline; by default .venv, as make makes it
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-gpu_check}
case $out in -*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p;}' "$0"; exit 2 ;; esac
python=${PYTHON:-$here/../.venv/bin/python}
limit=${LIMIT:-300}
export PYTHONUNBUFFERED=1 PYTHONPATH="$here/..${PYTHONPATH:+:$PYTHONPATH}"

# Run a command for so many seconds at most, or for all that are left; it has some more to end gently.
run() {
  local most=$1 left=$((limit - SECONDS))
  shift
  ((left > 0)) || left=1
  timeout --foreground -k 30 $((most < left ? most : left)) "$@"
}

command -v nvcc >/dev/null || { echo "gpu_check: nvcc is not on the path" >&2; exit 2; }
run 30 "$python" -c 'import click, msgspec, rich' 2>/dev/null || {
  printf '%s\n' "gpu_check: $python cannot run roofline" "  try: make demo, or PYTHON=FILE" >&2
  exit 2
}
mkdir -p "$out"
run 60 "$python" -m roofline doctor || echo "gpu_check: doctor sees a problem; going on" >&2
# Warpgroup and tcgen05 instructions are in no portable architecture.
case $(run 15 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1) in
  9.0) arch=sm_90a ;;
  10.0) arch=sm_100a ;;
  10.3) arch=sm_103a ;;
  *) arch=native ;;
esac
source=$here/gpu_kernels.cu
run 120 nvcc -std=c++20 -O2 "-arch=$arch" -shared -Xcompiler -fPIC -o "$out/libgpu_kernels.so" \
  "$source" &
library=$!
run 120 nvcc -std=c++20 -O2 "-arch=$arch" -o "$out/gpu_kernels" "$source" || {
  echo "gpu_check: the kernels were not compiled" >&2
  exit 2
}
wait "$library" || echo "gpu_check: the kernels of the region were not compiled" >&2
# Ceilings of this GPU, to set beside the registry, have the last 50 s; they need PyTorch.
seconds=$((limit - SECONDS - 50))
((seconds > 20)) || seconds=20
status=0
run $((seconds + 30)) "$python" "$here/gpu_check.py" "$out/gpu_kernels" "$out" "$seconds" || status=$?
dram=(--only dram_copy --only dram_read --only dram_write --output "$out/achieved_dram.toml")
if run 40 "$python" -m roofline specs measure --force "${dram[@]}"; then
  run 120 "$python" -m roofline specs measure --force --output "$out/achieved.toml" ||
    echo "gpu_check: not all ceilings were measured" >&2
else
  echo "gpu_check: no ceilings were measured" >&2
fi
exit "$status"
