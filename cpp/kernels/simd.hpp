// Instruction sets: one table, one choice at start.
//
// A kernel is written once, as an always-inline body over vectors of a given width (GCC's and clang's vector
// extensions, no intrinsics). TRUERANK_FOR_EACH_ISA makes a thin wrapper around it for every row of the table; the
// wrapper's target attribute lets the compiler use the wider registers there and nowhere else. A new instruction set is
// one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/measured.hpp"

#define TRUERANK_INLINE inline __attribute__((always_inline))

// X(name, bytes in a vector, row whose comparisons with several true scores are used, whether float multiply-adds are
// fused rather than emulated, function attribute). AVX-512 compares into mask registers, with one or two comparisons a
// cycle. That is plenty for a pass at the speed of memory, but where a score is compared with many true scores, AVX2's
// comparisons are up to twice as fast (measured on Zen 4; equally fast elsewhere).
#if defined(TRUERANK_BASELINE_ONLY)  // for builds whose kernels are not what is tested: a quarter of the time
#define TRUERANK_FOR_EACH_ISA(X) X(baseline, 16, baseline, false, )
#elif defined(__x86_64__) || defined(_M_X64)
#define TRUERANK_AVX2 "avx2,bmi,bmi2,fma,popcnt"
#define TRUERANK_AVX512 "avx512f,avx512bw,avx512cd,avx512dq,avx512vl," TRUERANK_AVX2
#define TRUERANK_FOR_EACH_ISA(X)                                    \
    X(baseline, 16, baseline, false, )                              \
    X(avx2, 32, avx2, true, __attribute__((target(TRUERANK_AVX2)))) \
    X(avx512, 64, avx2, true, __attribute__((target(TRUERANK_AVX512))))
#elif defined(__aarch64__) || defined(_M_ARM64)
#define TRUERANK_NEON
#define TRUERANK_FOR_EACH_ISA(X) X(neon, 16, neon, true, )
#else
#define TRUERANK_FOR_EACH_ISA(X) X(baseline, 16, baseline, true, )
#endif

namespace truerank {

enum class Isa : int {
#define TRUERANK_ROW(name, width, several, fused, attribute) name,
    TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
};

// The names of the instruction sets that this machine can run, the plainest first.
std::vector<std::string> usable_isas();

// Chooses an instruction set for the life of the process: the one of that name, or, if `name` is null or empty, the
// best one that is usable. Returns false, and changes nothing, if the name is unknown or the machine cannot run it.
bool choose_isa(const char* name);

Isa isa();
const char* isa_name();
// The size of its vectors.
int vector_bytes();

// How far ahead of the scores that are read a cache line is prefetched: what suits the processor and the chosen
// instruction set.
extern measured::AheadBytes ahead_bytes;

// How the chosen instruction set, and what accompanies it, multiplies bytes: not at all; in pairs, whose sums are words
// of 16 bits (AVX2); or in fours that are added to sums of 32 bits (AVX512-VNNI, or AVX-VNNI beside AVX2; the
// dot products of Armv8.2).
enum class ByteProducts : int { none, pairs, fours };
ByteProducts byte_products();

// A vector of `Bytes` bytes of T, and the same at any address at which a T may be.
template <class T, int Bytes>
struct Simd {
    typedef T type __attribute__((vector_size(Bytes)));
    typedef T unaligned __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
};

// Adds 1 to the counters in the lanes where a mask, -1 or 0, is set. AVX-512 has masked additions, which the compiler
// makes of the condition; elsewhere a mask is subtracted, which takes fewer instructions.
template <int Bytes, class Counts, class Mask>
TRUERANK_INLINE Counts one_more(const Counts& counts, const Mask& mask) {
    if constexpr (Bytes == 64) {
        using Counter = std::remove_cvref_t<decltype(counts[0])>;
        return mask ? counts + (Counts{} + Counter{1}) : counts;
    } else {
        return counts - (Counts)mask;
    }
}

// The address so many bytes after another, for prefetching. It may be past the end of an array, where no pointer may
// point: hence an integer. It wraps round, so that `bytes` may be a negative number that was converted.
TRUERANK_INLINE std::uintptr_t address_after(const void* from, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(from) + bytes;
}
TRUERANK_INLINE void prefetch(std::uintptr_t address) { __builtin_prefetch(reinterpret_cast<const void*>(address)); }

}  // namespace truerank
