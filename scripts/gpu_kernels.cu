// Kernels whose limiter, operations and bytes are known beforehand, for gpu_check.py.
//
//   gpu_kernels            runs each once and prints a JSON line for each:
//   {"kernel": "triad", "expected": ["dram"], "bound": "bandwidth",
//    "operations": {"fp32": 1.3e8}, "dram_bytes": 8.0e8}
//
// Operations are counted by hand below, an FMA as two. dram_bytes is what must come from or go to
// DRAM; -1 where caches make it uncertain.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                   \
  do {                                                                                \
    cudaError_t status = (call);                                                      \
    if (status != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));            \
      std::exit(1);                                                                   \
    }                                                                                 \
  } while (0)

constexpr int kThreads = 256;
constexpr int kChains = 8;  // independent chains a thread: enough to hide a pipe's latency

// --- bandwidth ---------------------------------------------------------------------------------

__global__ void triad(float *a, const float *b, const float *c, float s, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) a[i] = b[i] + s * c[i];
}

// Copies a buffer that fits into L2 again and again; __ldcg and __stcg pass L1 by.
__global__ void l2_copy(float4 *to, const float4 *from, size_t n, int rounds) {
  size_t stride = gridDim.x * size_t(blockDim.x);
  for (int round = 0; round < rounds; ++round)
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += stride)
      __stcg(&to[i], __ldcg(&from[i]));
}

// A transpose in shared memory whose column reads all fall into one bank.
__global__ void bank_conflicts(float *out, int rounds) {
  __shared__ float tile[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  for (int row = y; row < 32; row += blockDim.y) tile[row][x] = float(row * 32 + x);
  __syncthreads();
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    int column = (y + round) & 31;
    sum += *(volatile float *)&tile[x][column];
  }
  out[(blockIdx.x * blockDim.y + y) * 32 + x] = sum;
}

// --- arithmetic --------------------------------------------------------------------------------

template <typename T>
__device__ void fma_chains(T *out, T a, T b, int rounds) {
  T value[kChains];
#pragma unroll
  for (int k = 0; k < kChains; ++k) value[k] = T(threadIdx.x + k);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < kChains; ++k) value[k] = value[k] * a + b;
  }
  T sum = T(0);
#pragma unroll
  for (int k = 0; k < kChains; ++k) sum += value[k];
  out[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = sum;
}

__global__ void fp32_fma(float *out, float a, float b, int rounds) {
  fma_chains<float>(out, a, b, rounds);
}

__global__ void fp64_fma(double *out, double a, double b, int rounds) {
  fma_chains<double>(out, a, b, rounds);
}

__global__ void integer_alu(uint32_t *out, uint32_t a, uint32_t b, int rounds) {
  uint32_t value[kChains];
#pragma unroll
  for (int k = 0; k < kChains; ++k) value[k] = threadIdx.x * 2654435761u + k;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < kChains; ++k) {
      value[k] = (value[k] & a) ^ b;            // LOP3
      value[k] = max(value[k], a ^ uint32_t(k));  // IMNMX
    }
  }
  uint32_t sum = 0;
#pragma unroll
  for (int k = 0; k < kChains; ++k) sum ^= value[k];
  out[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = sum;
}

// mma.sync m16n8k16 bf16 -> fp32, kChains accumulators a warp.
__global__ void tensor_bf16(float *out, uint32_t seed, int rounds) {
  float c[kChains][4] = {};
  uint32_t a[4] = {seed, seed + threadIdx.x, seed, seed}, b[2] = {seed, seed + threadIdx.x};
#if __CUDA_ARCH__ >= 800
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < kChains; ++k)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#endif
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kChains; ++k) sum += c[k][0] + c[k][1] + c[k][2] + c[k][3];
  out[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = sum;
}

// --- latency -----------------------------------------------------------------------------------

__global__ void dependent_fma(float *out, float a, float b, int rounds) {
  float value = float(threadIdx.x);
  for (int round = 0; round < rounds; ++round) value = value * a + b;
  out[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = value;
}

__global__ void pointer_chase(const uint32_t *next, uint32_t *out, int steps) {
  uint32_t at = blockIdx.x * 7919u;
  for (int step = 0; step < steps; ++step) at = __ldcg(&next[at]);
  out[blockIdx.x] = at;
}

__global__ void tiny_grid(float *out, float a, float b, int rounds) {
  fma_chains<float>(out, a, b, rounds);
}

// --- running them ------------------------------------------------------------------------------

static void expect(const char *kernel, const char *bound, const char *units, const char *key,
                   double operations, double dram_bytes) {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::printf("{\"kernel\": \"%s\", \"bound\": \"%s\", \"expected\": [%s], \"operations\": {", kernel,
              bound, units);
  if (operations > 0) std::printf("\"%s\": %.0f", key, operations);
  std::printf("}, \"dram_bytes\": %.0f}\n", dram_bytes);
}

template <typename T>
static T *device(size_t count) {
  T *pointer = nullptr;
  CHECK(cudaMalloc(&pointer, count * sizeof(T)));
  CHECK(cudaMemset(pointer, 0, count * sizeof(T)));
  return pointer;
}

int main() {
  int sms = 0;
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  const int blocks = sms * 16, rounds = 4096;
  const double threads = double(blocks) * kThreads;
  float *out = device<float>(size_t(blocks) * kThreads);
  double *wide = device<double>(size_t(blocks) * kThreads);
  auto *words = device<uint32_t>(size_t(blocks) * kThreads);

  const size_t n = size_t(1) << 27;  // 512 MiB a vector: far more than any L2
  float *a = device<float>(n), *b = device<float>(n), *c = device<float>(n);
  triad<<<unsigned(n / kThreads), kThreads>>>(a, b, c, 3.0f, n);
  expect("triad", "bandwidth", "\"dram\"", "fp32", 2.0 * n, 12.0 * n);

  const size_t small = size_t(4) << 20;  // 4 MiB from, 4 MiB to
  l2_copy<<<sms * 8, kThreads>>>(reinterpret_cast<float4 *>(a), reinterpret_cast<float4 *>(b),
                                 small / sizeof(float4), 64);
  expect("l2_copy", "bandwidth", "\"l2\", \"l1\", \"lsu\"", "", 0, -1);

  bank_conflicts<<<sms * 16, dim3(32, 8)>>>(out, rounds);
  expect("bank_conflicts", "bandwidth", "\"l1\"", "", 0, -1);

  fp32_fma<<<blocks, kThreads>>>(out, 0.5f, 1.0f, rounds);
  // One FADD a chain at the end, the first of them 0 + x, which may be dropped.
  expect("fp32_fma", "compute", "\"fma\", \"issue\"", "fp32",
         threads * (2.0 * kChains * rounds + kChains), -1);

  fp64_fma<<<blocks, kThreads>>>(wide, 0.5, 1.0, rounds / 8);
  expect("fp64_fma", "compute", "\"fp64\", \"shared_pipe\"", "fp64",
         threads * (2.0 * kChains * (rounds / 8) + kChains), -1);

  integer_alu<<<blocks, kThreads>>>(words, 0x5bd1e995u, 0x9e3779b9u, rounds);
  expect("integer_alu", "compute", "\"alu\", \"issue\"", "", 0, -1);

  tensor_bf16<<<blocks, kThreads>>>(out, 0x3f803f80u, rounds / 4);
  // A warp's mma.sync is 2 x 16 x 8 x 16 operations.
  expect("tensor_bf16", "compute", "\"tensor\"", "tensor_bf16",
         threads / 32 * kChains * (rounds / 4) * 2.0 * 16 * 8 * 16, -1);

  dependent_fma<<<sms, 32>>>(out, 0.5f, 1.0f, rounds * 4);
  expect("dependent_fma", "latency", "", "fp32", sms * 32.0 * 2.0 * rounds * 4, -1);

  const uint32_t nodes = 1u << 26;  // 256 MiB
  auto *next = reinterpret_cast<uint32_t *>(a);
  {
    auto *host = static_cast<uint32_t *>(std::malloc(nodes * sizeof(uint32_t)));
    // A full cycle over a power of two: a = 1 mod 4 and an odd c (Hull and Dobell).
    for (uint32_t i = 0; i < nodes; ++i) host[i] = (i * 1664525u + 1013904223u) & (nodes - 1);
    CHECK(cudaMemcpy(next, host, nodes * sizeof(uint32_t), cudaMemcpyHostToDevice));
    std::free(host);
  }
  pointer_chase<<<sms, 1>>>(next, words, 512);
  expect("pointer_chase", "latency", "", "", 0, -1);

  tiny_grid<<<1, kThreads>>>(out, 0.5f, 1.0f, rounds);
  expect("tiny_grid", "latency", "", "fp32", kThreads * (2.0 * kChains * rounds + kChains), -1);
  return 0;
}
