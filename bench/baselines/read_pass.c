/* The roofline of memory: read every byte of a block once and OR its words together.
 *
 * Counting cannot be faster than reading, and an OR of vector registers is the least that reading
 * can cost. The benchmark compiles this file with the machine's own compiler, tries every variant
 * on the machine, and compares the package with the fastest ones.
 *
 * A variant is an instruction set, a distance of software prefetch and, with several threads, a
 * way to divide the block among them. Each combination of the first two is one function,
 * instantiated from READER below with its own target attribute, so that no compiler flag is needed.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of a cache line, and vectors read in each iteration: eight, because every instruction set
 * has registers for as many sums. */
enum { LINE = 64, SUMS = 8 };

typedef uint64_t (*reader_fn)(const char*, size_t);

/* Return the OR of the words before the first whole cache line, or after the last whole step. */
static uint64_t read_words(const char* data, size_t bytes) {
  uint64_t all = 0, word;
  size_t at = 0;
  for (; at + sizeof word <= bytes; at += sizeof word) {
    memcpy(&word, data + at, sizeof word);
    all |= word;
  }
  for (; at < bytes; ++at) all |= (uint64_t)(unsigned char)data[at] << 8 * (at % sizeof word);
  return all;
}

#define READER(name, target, vector, ahead)                                                  \
  target static uint64_t name(const char* data, size_t bytes) {                              \
    enum { STEP = SUMS * sizeof(vector) };                                                   \
    size_t at = (LINE - (uintptr_t)data % LINE) % LINE;                                      \
    if (at % sizeof(uint64_t) != 0 || at > bytes) at = 0;                                    \
    uint64_t words = read_words(data, at);                                                   \
    vector all[SUMS] = {{0}};                                                                \
    for (; at + STEP <= bytes; at += STEP) {                                                 \
      const vector* block = (const vector*)(data + at);                                      \
      if (ahead)                                                                             \
        for (int k = 0; k < STEP; k += LINE) __builtin_prefetch(data + at + (ahead) + k, 0); \
      for (int k = 0; k < SUMS; ++k) all[k] |= block[k];                                     \
    }                                                                                        \
    for (int k = 1; k < SUMS; ++k) all[0] |= all[k];                                         \
    for (size_t k = 0; k < sizeof(vector) / sizeof(uint64_t); ++k) words |= all[0][k];       \
    return words | read_words(data + at, bytes - at);                                        \
  }

/* Vectors may start anywhere: a numpy array lies 16 bytes past the start of a page. */
#define VECTOR(name, bytes) typedef uint64_t name __attribute__((vector_size(bytes), aligned(1)))

#define READERS(isa, target, vector)     \
  READER(isa##_0, target, vector, 0)     \
  READER(isa##_1k, target, vector, 1024) \
  READER(isa##_4k, target, vector, 4096)

VECTOR(vector16, 16);
READERS(baseline, , vector16)

static int always(void) { return 1; }

#if defined(__x86_64__)
VECTOR(vector32, 32);
VECTOR(vector64, 64);
READERS(avx2, __attribute__((target("avx2"))), vector32)
READERS(avx512, __attribute__((target("avx512f"))), vector64)

static int has_avx2(void) { return __builtin_cpu_supports("avx2"); }
static int has_avx512(void) { return __builtin_cpu_supports("avx512f"); }
#endif

static const struct {
  const char* name;
  int (*usable)(void);
  reader_fn read;
} readers[] = {
    {"baseline", always, baseline_0},
    {"baseline, prefetch 1 KiB ahead", always, baseline_1k},
    {"baseline, prefetch 4 KiB ahead", always, baseline_4k},
#if defined(__x86_64__)
    {"avx2", has_avx2, avx2_0},
    {"avx2, prefetch 1 KiB ahead", has_avx2, avx2_1k},
    {"avx2, prefetch 4 KiB ahead", has_avx2, avx2_4k},
    {"avx512", has_avx512, avx512_0},
    {"avx512, prefetch 1 KiB ahead", has_avx512, avx512_1k},
    {"avx512, prefetch 4 KiB ahead", has_avx512, avx512_4k},
#endif
};

int read_pass_readers(void) { return (int)(sizeof readers / sizeof *readers); }

/* The reader's name, or NULL where this machine cannot run it. */
const char* read_pass_name(int reader) {
  return readers[reader].usable() ? readers[reader].name : NULL;
}

int read_pass_openmp(void) {
#ifdef _OPENMP
  return 1;
#else
  return 0;
#endif
}

/* Return the OR of the block's words. With `chunk` 0 each thread reads one contiguous share;
 * otherwise threads take chunks of that many bytes (a multiple of 8) as they become free. */
uint64_t read_pass(int reader, const char* data, size_t bytes, int threads, size_t chunk) {
  const reader_fn read = readers[reader].read;
  if (threads < 2 || bytes < LINE) return read(data, bytes);
#ifdef _OPENMP
  const size_t even = (bytes / (size_t)threads + LINE) / LINE * LINE;
  const size_t size = chunk == 0 ? even : chunk;
  const long long chunks = (long long)((bytes + size - 1) / size);
  uint64_t all = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(| : all)
  for (long long k = 0; k < chunks; ++k) {
    const size_t start = (size_t)k * size;
    all |= read(data + start, bytes - start < size ? bytes - start : size);
  }
  return all;
#else
  (void)chunk;
  return read(data, bytes);
#endif
}
