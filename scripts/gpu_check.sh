#!/usr/bin/env bash
# Profiles kernels with a known limiter on the GPU of this machine and compares what is found.
# Needs nvcc, ncu, a GPU and the right to use its counters; installs nothing; takes minutes.
#
#   scripts/gpu_check.sh [OUT]     reports, results.json and achieved.toml go to OUT (./gpu_check)
#   PYTHON=python3.12 scripts/gpu_check.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-gpu_check}
python=${PYTHON:-python3}
export PYTHONPATH="$here/..${PYTHONPATH:+:$PYTHONPATH}"

for tool in nvcc "$python"; do
  command -v "$tool" >/dev/null || { echo "gpu_check: $tool is not on the path" >&2; exit 2; }
done
mkdir -p "$out"
"$python" -m roofline doctor || echo "gpu_check: doctor sees a problem; going on" >&2
# Ceilings of this GPU, to set beside the registry; needs PyTorch, and is left out without it.
"$python" -m roofline specs measure --output "$out/achieved.toml" --force ||
  echo "gpu_check: no ceilings were measured; going on" >&2
nvcc -std=c++17 -O2 -arch=native -o "$out/gpu_kernels" "$here/gpu_kernels.cu"
exec "$python" "$here/gpu_check.py" "$out/gpu_kernels" "$out"
