// Instruction sets: one table, one choice at start.
//
// Kernels are written once, over vectors of the set's width (GCC's and clang's vector extensions), and are compiled
// once for each row of the table, with its flags: these are the units of CMakeLists.txt. A unit defines the tables of
// its kernels, and the rest of the engine calls those of the chosen set. A new instruction set is one row here, and one
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/measured.hpp"

// X(name, bytes in a vector, whether float multiply-adds are fused rather than emulated).
#if defined(TRUERANK_X86_SETS)
#define TRUERANK_FOR_EACH_ISA(X) \
    X(baseline, 16, false)       \
    X(avx2, 32, true)            \
    X(avx512, 64, true)
#elif defined(__x86_64__) || defined(_M_X64)  // for builds whose kernels are not what is tested
#define TRUERANK_FOR_EACH_ISA(X) X(baseline, 16, false)
#elif defined(__aarch64__) || defined(_M_ARM64)
#define TRUERANK_FOR_EACH_ISA(X) X(neon, 16, true)
#else
#define TRUERANK_FOR_EACH_ISA(X) X(baseline, 16, true)
#endif

#define TRUERANK_INLINE inline __attribute__((always_inline))

namespace truerank {

enum class Isa : int {
#define TRUERANK_ROW(name, width, fused) name,
    TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
};
struct IsaRow {
    Isa set;
    const char* name;
    int vector_bytes;
    bool is_fused;
};
constexpr IsaRow kIsas[] = {
#define TRUERANK_ROW(name, width, fused) {Isa::name, #name, width, fused},
    TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
};

// The names of the instruction sets that this machine can run, the plainest first.
std::vector<std::string> usable_isas();

// Chooses an instruction set for the life of the process: the one of that name, or, if `name` is null or empty, the
// best one that is usable. Returns false, and changes nothing, if the name is unknown or the machine cannot run it.
bool choose_isa(const char* name);

Isa isa();
// The set whose kernels count several true scores, of 32-bit floats or of another type. AVX-512 compares into mask
// registers, with one or two comparisons a cycle. That is plenty for a pass at the speed of memory, but where a score
// is compared with many true scores AVX2's comparisons may be up to twice as fast (measured.hpp).
Isa isa_of_several(bool of_floats);
const char* isa_name();
// The size of its vectors.
int vector_bytes();

// What suits the processor and the chosen instruction set.
extern measured::Processor measured_here;

// How the chosen instruction set, and what accompanies it, multiplies bytes: not at all; in pairs, whose sums are words
// of 16 bits (AVX2, AVX-512); or in fours that are added to sums of 32 bits (AVX512-VNNI, or AVX-VNNI beside AVX2; the
// dot products of Armv8.2).
enum class ByteProducts : int { none, pairs, fours };
ByteProducts byte_products();
// Whether the processor multiplies bytes by tiles (AMX) beside the chosen instruction set, and the system saves them.
bool may_have_tiles();
// Whether this process may use them, too: the system is asked when this is first asked.
bool has_tiles();

// The kernels of one family and one instruction set: each unit specialises this for its own.
template <class Kernels, Isa set>
const Kernels& unit_kernels();
template <class Kernels>
const Kernels& kernels_of(Isa set) {
    static constexpr const Kernels& (*of_sets[])() = {
#define TRUERANK_ROW(name, width, fused) unit_kernels<Kernels, Isa::name>,
        TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
    };
    return of_sets[static_cast<int>(set)]();
}

// The address so many bytes after another, for prefetching. It may be past the end of an array, where no pointer may
// point: hence an integer. It wraps round, so that `bytes` may be a negative number that was converted.
TRUERANK_INLINE std::uintptr_t address_after(const void* from, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(from) + bytes;
}
TRUERANK_INLINE void prefetch(std::uintptr_t address) { __builtin_prefetch(reinterpret_cast<const void*>(address)); }

}  // namespace truerank
