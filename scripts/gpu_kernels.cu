// Kernels whose limiter, operations and bytes are known beforehand, for gpu_check.py.
//
//   gpu_kernels            runs each once and prints a JSON line for each:
//   {"kernel": "triad", "expected": ["dram"], "bound": "bandwidth", "cause": "",
//    "operations": {"fp32": 1.3e8}, "opcodes": {"FFMA": 4.2e6}, "evidence": {}, "dram_bytes": 8.0e8}
//   gpu_kernels shapes     warpgroup (sm_90a) and tcgen05 (sm_100a) instructions, where compiled in
//   gpu_kernels loop       launches triad, fp32_fma and tiny_grid many times, for the look
//
// Operations are counted by hand below, an FMA as two; opcodes count warps, which start with the
// word. dram_bytes is what must come from or go to DRAM; -1 where caches make it uncertain. Evidence
// is a number that is known, or 0 for one that must only be above 0.
//
// As a library (nvcc -shared), run_triad and run_fma launch one kernel each, for regions of Python.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

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

__global__ void copy(float4 *to, const float4 *from, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) to[i] = from[i];
}

// Lanes of a warp are 32 floats apart: each load touches 32 sectors for the bytes of 4.
__global__ void uncoalesced(float *to, const float *from, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) to[i] = from[i * 32];
}

// Far more values alive at once than the 32 registers that two blocks of 1024 threads leave each.
__global__ void __launch_bounds__(1024, 2) spill(float *out, const float *from, int rounds) {
  float value[96];
#pragma unroll
  for (int k = 0; k < 96; ++k) value[k] = from[k * 1024 + threadIdx.x];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 96; ++k) value[k] = value[k] * value[(k + 37) % 96] + 1.0f;
  }
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 96; ++k) sum += value[k];
  out[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = sum;
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

// Every SM is full once, and one block is left over.
__global__ void tail(float *out, float a, float b, int rounds) {
  fma_chains<float>(out, a, b, rounds);
}

__global__ void tiny_grid(float *out, float a, float b, int rounds) {
  fma_chains<float>(out, a, b, rounds);
}

// --- tensor instructions of a warpgroup, and of one thread -----------------------------------------

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define WGMMA 1
#endif
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
#define TCGEN05 1
#endif

__device__ inline uint64_t tile_descriptor(const void *tile, uint64_t version) {
  // No swizzle; the data is 0, so that the strides matter to nobody.
  uint64_t address = __cvta_generic_to_shared(tile);
  return (address & 0x3ffff) >> 4 | uint64_t(8) << 16 | uint64_t(16) << 32 | version << 46;
}

// wgmma m64n8k16 bf16 -> fp32: 2 x 64 x 8 x 16 operations for the four warps together.
__global__ void wgmma_n8(float *out, int rounds) {
  float d[4] = {};
#ifdef WGMMA
  __shared__ alignas(128) uint8_t tile[8192];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) tile[i] = 0;
  __syncthreads();
  uint64_t a = tile_descriptor(tile, 0), b = tile_descriptor(tile + 4096, 0);
  asm volatile("fence.proxy.async;" ::: "memory");
  for (int round = 0; round < rounds; ++round) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
#endif
  out[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

// tcgen05.mma 128x32x16 bf16 -> fp32 by one thread: 2 x 128 x 32 x 16 operations.
__global__ void tcgen05_n32(float *out, int rounds) {
#ifdef TCGEN05
  __shared__ alignas(1024) uint8_t tile[16384];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t columns;
  for (int i = threadIdx.x; i < 16384; i += blockDim.x) tile[i] = 0;
  uint32_t bar = __cvta_generic_to_shared(&barrier), place = __cvta_generic_to_shared(&columns);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(place));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  if (threadIdx.x == 0) {
    uint64_t a = tile_descriptor(tile, 1), b = tile_descriptor(tile + 8192, 1);
    // fp32 result, bf16 operands, N / 8 and M / 16.
    uint32_t kind = 1u << 4 | 1u << 7 | 1u << 10 | (32u / 8) << 17 | (128u / 16) << 24;
    for (int round = 0; round < rounds; ++round)
      asm volatile(
          "{ .reg .pred p; setp.ne.b32 p, %4, 0;"
          "  tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(columns),
          "l"(a), "l"(b), "r"(kind), "r"(round));
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar)
        : "memory");
    uint32_t done = 0;
    while (!done)
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
          "  selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(bar)
          : "memory");
  }
  __syncthreads();
  if (threadIdx.x < 32)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(columns));
#endif
  out[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = float(rounds);
}

// Which of the two this program has for the GPU that it runs on.
__global__ void which_shapes(int *found) {
#ifdef WGMMA
  *found = 1;
#elif defined(TCGEN05)
  *found = 2;
#else
  *found = 0;
#endif
}

// --- running them ------------------------------------------------------------------------------

struct Known {
  const char *key = "";  // of the operations
  double operations = 0;
  double dram_bytes = -1;
  const char *opcode = "";
  double warps = 0;
  const char *cause = "";
  const char *evidence = "";
  double value = 0;
};

static void member(const char *name, const char *key, double value) {
  std::printf(", \"%s\": {", name);
  if (*key) std::printf("\"%s\": %.0f", key, value);
  std::printf("}");
}

static void expect(const char *kernel, const char *bound, const char *units, Known known = {}) {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::printf("{\"kernel\": \"%s\", \"bound\": \"%s\", \"expected\": [%s], \"cause\": \"%s\"", kernel,
              bound, units, known.cause);
  member("operations", known.key, known.operations);
  member("opcodes", known.opcode, known.warps);
  member("evidence", known.evidence, known.value);
  std::printf(", \"dram_bytes\": %.0f}\n", known.dram_bytes);
}

template <typename T>
static T *device(size_t count) {
  T *pointer = nullptr;
  CHECK(cudaMalloc(&pointer, count * sizeof(T)));
  CHECK(cudaMemset(pointer, 0, count * sizeof(T)));
  return pointer;
}

// What every mode needs: room for results, and how many blocks fill the GPU.
struct Gpu {
  int sms = 0, blocks = 0;
  double threads = 0;
  float *out = nullptr;
};

static Gpu gpu() {
  Gpu g;
  CHECK(cudaDeviceGetAttribute(&g.sms, cudaDevAttrMultiProcessorCount, 0));
  g.blocks = g.sms * 16;
  g.threads = double(g.blocks) * kThreads;
  g.out = device<float>(size_t(g.blocks) * kThreads + (size_t(1) << 20));
  return g;
}

static int shapes() {
  Gpu g = gpu();
  int *which = device<int>(1), host = 0;
  const int rounds = 2048;
  which_shapes<<<1, 1>>>(which);
  CHECK(cudaMemcpy(&host, which, sizeof host, cudaMemcpyDeviceToHost));
  if (host == 1) {
    wgmma_n8<<<g.sms, 128>>>(g.out, rounds);
    // Each of the four warps counts the instruction.
    expect("wgmma_n8", "", "",
           {.key = "tensor_bf16", .operations = double(g.sms) * rounds * 2 * 64 * 8 * 16,
            .opcode = "HGMMA", .warps = double(g.sms) * rounds * 4});
  }
  if (host == 2) {
    tcgen05_n32<<<g.sms, 128>>>(g.out, rounds);
    expect("tcgen05_n32", "", "",
           {.key = "tensor_bf16", .operations = double(g.sms) * rounds * 2 * 128 * 32 * 16,
            .opcode = "UTCHMMA", .warps = double(g.sms) * rounds});
  }
  return 0;
}

// 20 rounds: triad takes most of the time, then fp32_fma; tiny_grid comes most often.
static int loop() {
  Gpu g = gpu();
  const size_t n = size_t(1) << 26;
  float *a = device<float>(n), *b = device<float>(n), *c = device<float>(n);
  cudaEvent_t at[4];
  for (auto &event : at) CHECK(cudaEventCreate(&event));
  float all[3] = {};
  for (int round = 0; round < 20; ++round) {
    CHECK(cudaEventRecord(at[0]));
    for (int i = 0; i < 8; ++i) triad<<<unsigned(n / kThreads), kThreads>>>(a, b, c, 3.0f, n);
    CHECK(cudaEventRecord(at[1]));
    fp32_fma<<<g.blocks, kThreads>>>(g.out, 0.5f, 1.0f, 512);
    CHECK(cudaEventRecord(at[2]));
    for (int i = 0; i < 16; ++i) tiny_grid<<<1, 32>>>(g.out, 0.5f, 1.0f, 8);
    CHECK(cudaEventRecord(at[3]));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 3; ++i) {
      float ms = 0;
      CHECK(cudaEventElapsedTime(&ms, at[i], at[i + 1]));
      all[i] += ms;
    }
  }
  std::printf("{\"launches\": {\"triad\": 160, \"fp32_fma\": 20, \"tiny_grid\": 320}, "
              "\"time_ms\": {\"triad\": %.4f, \"fp32_fma\": %.4f, \"tiny_grid\": %.4f}}\n",
              all[0], all[1], all[2]);
  return 0;
}

extern "C" void run_triad() {
  const size_t n = size_t(1) << 20;
  static float *a = device<float>(n);
  triad<<<unsigned(n / kThreads), kThreads>>>(a, a, a, 3.0f, n);
  CHECK(cudaDeviceSynchronize());
}

extern "C" void run_fma() {
  static float *out = device<float>(size_t(1) << 16);
  fp32_fma<<<64, kThreads>>>(out, 0.5f, 1.0f, 512);
  CHECK(cudaDeviceSynchronize());
}

static int all_kernels() {
  Gpu g = gpu();
  const int sms = g.sms, blocks = g.blocks, rounds = 4096;
  const double threads = g.threads, warps = threads / 32;
  float *out = g.out;
  double *wide = device<double>(size_t(blocks) * kThreads);
  auto *words = device<uint32_t>(size_t(blocks) * kThreads);

  const size_t n = size_t(1) << 27;  // 512 MiB a vector: far more than any L2
  float *a = device<float>(n), *b = device<float>(n), *c = device<float>(n);
  triad<<<unsigned(n / kThreads), kThreads>>>(a, b, c, 3.0f, n);
  expect("triad", "bandwidth", "\"dram\"",
         {.key = "fp32", .operations = 2.0 * n, .dram_bytes = 12.0 * n, .opcode = "FFMA",
          .warps = n / 32.0});

  copy<<<unsigned(n / 4 / kThreads), kThreads>>>(reinterpret_cast<float4 *>(a),
                                                 reinterpret_cast<float4 *>(b), n / 4);
  expect("copy", "bandwidth", "\"dram\"", {.dram_bytes = 8.0 * n});

  const size_t few = n / 32;
  uncoalesced<<<unsigned(few / kThreads), kThreads>>>(c, a, few);
  expect("uncoalesced", "bandwidth", "\"dram\", \"l2\", \"l1\"",
         {.cause = "uncoalesced", .evidence = "sectors_a_load", .value = 32});

  spill<<<sms * 4, 1024>>>(c, b, 64);
  // 96 multiply-adds a round, and 96 additions at the end.
  expect("spill", "", "",
         {.key = "fp32", .operations = sms * 4 * 1024.0 * (2.0 * 96 * 64 + 96),
          .cause = "local_memory", .evidence = "local_sectors"});

  int resident = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, tail, 1024, 0));
  tail<<<sms * resident + 1, 1024>>>(c, 0.5f, 1.0f, rounds);
  expect("tail", "", "",
         {.key = "fp32",
          .operations = (sms * resident + 1) * 1024.0 * (2.0 * kChains * rounds + kChains),
          .cause = "tail_effect"});

  const size_t small = size_t(4) << 20;  // 4 MiB from, 4 MiB to
  l2_copy<<<sms * 8, kThreads>>>(reinterpret_cast<float4 *>(a), reinterpret_cast<float4 *>(b),
                                 small / sizeof(float4), 64);
  expect("l2_copy", "bandwidth", "\"l2\", \"l1\", \"lsu\"");

  bank_conflicts<<<sms * 16, dim3(32, 8)>>>(out, rounds);
  expect("bank_conflicts", "bandwidth", "\"l1\"",
         {.cause = "bank_conflicts", .evidence = "shared_load_conflicts"});

  fp32_fma<<<blocks, kThreads>>>(out, 0.5f, 1.0f, rounds);
  // One FADD a chain at the end, the first of them 0 + x, which may be dropped.
  expect("fp32_fma", "compute", "\"fma\", \"issue\"",
         {.key = "fp32", .operations = threads * (2.0 * kChains * rounds + kChains),
          .opcode = "FFMA", .warps = warps * kChains * rounds});

  fp64_fma<<<blocks, kThreads>>>(wide, 0.5, 1.0, rounds / 8);
  expect("fp64_fma", "compute", "\"fp64\", \"shared_pipe\"",
         {.key = "fp64", .operations = threads * (2.0 * kChains * (rounds / 8) + kChains),
          .opcode = "DFMA", .warps = warps * kChains * (rounds / 8)});

  integer_alu<<<blocks, kThreads>>>(words, 0x5bd1e995u, 0x9e3779b9u, rounds);
  expect("integer_alu", "compute", "\"alu\", \"issue\"");

  tensor_bf16<<<blocks, kThreads>>>(out, 0x3f803f80u, rounds / 4);
  // A warp's mma.sync is 2 x 16 x 8 x 16 operations.
  expect("tensor_bf16", "compute", "\"tensor\"",
         {.key = "tensor_bf16", .operations = warps * kChains * (rounds / 4) * 2.0 * 16 * 8 * 16,
          .opcode = "HMMA", .warps = warps * kChains * (rounds / 4)});

  dependent_fma<<<sms, 32>>>(out, 0.5f, 1.0f, rounds * 4);
  expect("dependent_fma", "latency", "",
         {.key = "fp32", .operations = sms * 32.0 * 2.0 * rounds * 4, .opcode = "FFMA",
          .warps = sms * rounds * 4.0});

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
  expect("pointer_chase", "latency", "");

  tiny_grid<<<1, kThreads>>>(out, 0.5f, 1.0f, rounds);
  expect("tiny_grid", "latency", "",
         {.key = "fp32", .operations = kThreads * (2.0 * kChains * rounds + kChains),
          .cause = "grid_too_small"});
  return 0;
}

int main(int count, char **words) {
  const std::string mode = count > 1 ? words[1] : "";
  return mode == "shapes" ? shapes() : mode == "loop" ? loop() : all_kernels();
}
