// Instruction sets: one table, one choice at start.
//
// A kernel is written once, as an always-inline body over vectors of a given width (GCC's and clang's vector
// extensions, no intrinsics). TRUERANK_FOR_EACH_ISA makes a thin wrapper of it for every row of the table; the
// wrapper's target attribute is what lets the compiler use the wider registers there and nowhere else. A new
// instruction set is one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#define TRUERANK_INLINE inline __attribute__((always_inline))

// X(name, bytes in a vector, row whose comparisons with several truths are used, whether float multiply-adds are fused
// or else emulated, function attribute). AVX-512 compares into mask registers, at one or two a cycle: plenty for a pass
// at the speed of memory, but where a score meets many truths AVX2's comparisons are up to twice as fast (measured on
// Zen 4; on a par elsewhere).
#if defined(__x86_64__) || defined(_M_X64)
#define TRUERANK_AVX2 "avx2,bmi,bmi2,fma,popcnt"
#define TRUERANK_AVX512 "avx512f,avx512bw,avx512cd,avx512dq,avx512vl," TRUERANK_AVX2
#define TRUERANK_FOR_EACH_ISA(X)                                    \
    X(baseline, 16, baseline, false, )                              \
    X(v2, 16, v2, false, __attribute__((target("sse4.2,popcnt"))))  \
    X(avx2, 32, avx2, true, __attribute__((target(TRUERANK_AVX2)))) \
    X(avx512, 64, avx2, true, __attribute__((target(TRUERANK_AVX512))))
#elif defined(__aarch64__) || defined(_M_ARM64)
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

// The names this machine can run, the plainest first.
std::vector<std::string> usable_isas();

// Fixes the choice for the life of the process: the best usable set, or the one that `wanted` names (nullptr or "": no
// wish). Returns false, and changes nothing, where the name is unknown or the machine cannot run it.
bool choose_isa(const char* name);

Isa isa();
const char* isa_name();

// A vector of `Bytes` bytes of T, and the same at any address that suits a T.
template <class T, int Bytes>
struct Simd {
    typedef T type __attribute__((vector_size(Bytes)));
    typedef T unaligned __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
};

// A place in memory to be brought in, so many bytes from another (modulo all memory, so that steps back are fine). It
// may lie past the end of an array, where no pointer may point: hence an integer.
TRUERANK_INLINE std::uintptr_t address_after(const void* from, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(from) + bytes;
}
TRUERANK_INLINE void prefetch(std::uintptr_t address) { __builtin_prefetch(reinterpret_cast<const void*>(address)); }

}  // namespace truerank
