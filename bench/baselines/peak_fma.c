/* The roofline of arithmetic: fused multiply-adds that never wait.
 *
 * Each iteration does one multiply-add in every chain, which is one register; there are enough chains
 * to hide the latency of one, and no memory is touched. A dot product cannot be faster: it takes one
 * multiply-add for each coordinate of each pair. The benchmark compiles this file with the machine's
 * own compiler, and uses the instruction set that the package uses.
 */
#include <stddef.h>

/* Two units of latency 4 or 5 need ten chains; twelve and two operands fit into 16 registers. */
enum { CHAINS = 12, TURNS = 1000 };

#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=fast")
#endif

typedef double (*peak_fn)(long long);

/* Every chain converges to 2: nothing overflows, and nothing is subnormal and therefore slow. */
#define PEAK(name, target, type, bytes)                                               \
  typedef type name##_vector __attribute__((vector_size(bytes)));                     \
  target static double name(long long rounds) {                                       \
    name##_vector chain[CHAINS], half = {0}, one = {0};                               \
    for (size_t k = 0; k < bytes / sizeof(type); ++k) half[k] = 0.5, one[k] = 1;      \
    for (int c = 0; c < CHAINS; ++c) chain[c] = one * (type)(c + 1);                  \
    for (long long r = 0; r < rounds * TURNS; ++r)                                    \
      for (int c = 0; c < CHAINS; ++c) chain[c] = chain[c] * half + one;              \
    for (int c = 1; c < CHAINS; ++c) chain[0] += chain[c];                            \
    return (double)chain[0][0];                                                       \
  }

#define PEAKS(isa, target, bytes)          \
  PEAK(isa##_float32, target, float, bytes) \
  PEAK(isa##_float64, target, double, bytes)

#if defined(__x86_64__)
PEAKS(avx2, __attribute__((target("avx2,fma"))), 32)
PEAKS(avx512, __attribute__((target("avx512f"))), 64)
#elif defined(__aarch64__)
PEAKS(neon, , 16)
#endif

static const struct {
  int bytes;  /* of a vector */
  peak_fn run[2]; /* float32, float64 */
} peaks[] = {
#if defined(__x86_64__)
    {32, {avx2_float32, avx2_float64}},
    {64, {avx512_float32, avx512_float64}},
#elif defined(__aarch64__)
    {16, {neon_float32, neon_float64}},
#endif
    {0, {NULL, NULL}},
};

/* Do the multiply-adds of that many rounds in every thread and return their number; 0 where there is
 * no function for vectors of so many bytes. The caller checks that the machine can run them. */
long long peak_fma(int bytes, int doubles, long long rounds, int threads, double* sum) {
  size_t at = 0;
  while (peaks[at].bytes != bytes && peaks[at].bytes != 0) ++at;
  if (peaks[at].bytes == 0) return 0;
  const peak_fn run = peaks[at].run[doubles];
  double all = 0;
  int team = 1;
#ifdef _OPENMP
  team = threads;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : all)
#else
  (void)threads;
#endif
  for (int k = 0; k < team; ++k) all += run(rounds);
  *sum = all;
  return rounds * TURNS * CHAINS * (long long)(bytes / (doubles ? sizeof(double) : sizeof(float))) * team;
}
