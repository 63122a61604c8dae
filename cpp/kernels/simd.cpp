#include "kernels/simd.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#if defined(TRUERANK_X86_SETS)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(_WIN32)
#include <windows.h>
#endif

namespace truerank {

measured::Processor measured_here = {};

namespace {

#if defined(TRUERANK_X86_SETS)
// What the processor says of itself. The compilers' __builtin_cpu_supports needs a library of theirs, which is not
// linked on every system.
struct Processor {
    char vendor[13] = {};
    std::uint32_t family = 0;
    std::uint32_t leaf1_ecx = 0, leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0, leaf7_1_eax = 0;
    std::uint32_t saved = 0;  // the registers that the system saves when it switches threads

    Processor() {
        constexpr std::uint32_t xgetbv = std::uint32_t{1} << 27;
        std::uint32_t a = 0, b = 0, c = 0, d = 0;
        if (__get_cpuid(0, &a, &b, &c, &d)) {
            const std::uint32_t words[] = {b, d, c};
            std::memcpy(vendor, words, sizeof words);
        }
        if (__get_cpuid(1, &a, &b, &c, &d)) {
            leaf1_ecx = c;
            family = a >> 8 & 0xf;
            if (family == 0xf) family += a >> 20 & 0xff;
        }
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
            leaf7_ebx = b;
            leaf7_ecx = c;
            leaf7_edx = d;
            const std::uint32_t subleaves = a;
            if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) leaf7_1_eax = a;
        }
        if ((leaf1_ecx & xgetbv) == 0) return;
        __asm__ volatile("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    }
};

// What an instruction set requires, as bits of the same words.
struct Requirements {
    std::uint32_t leaf1_ecx, leaf7_ebx, saved;
};

template <class... Position>
constexpr std::uint32_t bits(Position... positions) {
    return ((std::uint32_t{1} << positions) | ...);
}

constexpr std::uint32_t kAvx2 = bits(12, 20, 23, 27, 28);         // FMA, SSE4.2, POPCNT, XGETBV, AVX
constexpr std::uint32_t kAvx2Leaf7 = bits(3, 5, 8);               // BMI, AVX2, BMI2
constexpr std::uint32_t kAvx512Leaf7 = bits(16, 17, 28, 30, 31);  // F, DQ, CD, BW, VL
constexpr std::uint32_t kYmm = bits(1, 2), kZmm = bits(5, 6, 7);  // XMM and YMM; masks, ZMM, ZMM 16 to 31

// One row for each row of the table, in its order.
constexpr Requirements kRequirements[] = {
    {0, 0, 0},
    {kAvx2, kAvx2Leaf7, kYmm},
    {kAvx2, kAvx2Leaf7 | kAvx512Leaf7, kYmm | kZmm},
};
static_assert(std::size(kRequirements) == std::size(kIsas));

const Processor& processor_here() {
    static const Processor processor;
    return processor;
}

bool supported(Isa set) {
    const Processor& processor = processor_here();
    const Requirements& required = kRequirements[static_cast<int>(set)];
    return (required.leaf1_ecx & ~processor.leaf1_ecx) == 0 && (required.leaf7_ebx & ~processor.leaf7_ebx) == 0 &&
           (required.saved & ~processor.saved) == 0;
}
#else
// What is measured of other processors does not depend on which they are.
struct Processor {
    const char* vendor = "";
    std::uint32_t family = 0;
};
constexpr Processor processor_here() { return {}; }

// The table has one row: what the compiler was told to build for.
bool supported(Isa) { return true; }
#endif

const IsaRow* chosen_row = &kIsas[0];

const IsaRow& best_row() {
    const IsaRow* best = &kIsas[0];
    for (const IsaRow& row : kIsas) {
        if (supported(row.set)) best = &row;
    }
    return *best;
}

// "baseline" names the first row everywhere, so that a script need not know the architecture.
const IsaRow* find(const char* name) {
    if (std::strcmp(name, "baseline") == 0) return &kIsas[0];
    for (const IsaRow& row : kIsas) {
        if (std::strcmp(name, row.name) == 0) return &row;
    }
    return nullptr;
}

}  // namespace

std::vector<std::string> usable_isas() {
    std::vector<std::string> names;
    for (const IsaRow& row : kIsas) {
        if (supported(row.set)) names.emplace_back(row.name);
    }
    return names;
}

bool choose_isa(const char* name) {
    const bool is_named = name != nullptr && *name != '\0';
    const IsaRow* const row = is_named ? find(name) : &best_row();
    if (row == nullptr || !supported(row->set)) return false;
    chosen_row = row;
    const Processor& here = processor_here();
    const auto fits = [&](const measured::Processor& wanted) {
        return (wanted.vendor == nullptr || std::strcmp(wanted.vendor, here.vendor) == 0) &&
               (wanted.family == 0 || wanted.family == here.family) &&
               (wanted.widest_vector == 0 || wanted.widest_vector == best_row().vector_bytes) &&
               (wanted.vector_bytes == 0 || wanted.vector_bytes == row->vector_bytes);
    };
    measured_here = *std::ranges::find_if(measured::kProcessors, fits);
    return true;
}

Isa isa() { return chosen_row->set; }
Isa isa_of_several(bool of_floats) {
    const bool wide = of_floats && measured_here.compares_wide_floats;
    return chosen_row->vector_bytes == 64 && !wide ? chosen_row[-1].set : chosen_row->set;
}
const char* isa_name() { return chosen_row->name; }
int vector_bytes() { return chosen_row->vector_bytes; }

bool may_have_tiles() {
#if defined(TRUERANK_X86_SETS) && defined(__linux__)
    constexpr std::uint32_t tiles_of_bytes = bits(24, 25), tile_registers = bits(17, 18);  // AMX-TILE, AMX-INT8
    const Processor& here = processor_here();
    return isa() == Isa::avx512 && (tiles_of_bytes & ~here.leaf7_edx) == 0 && (tile_registers & ~here.saved) == 0;
#else
    return false;
#endif
}

bool has_tiles() {
    if (!may_have_tiles()) return false;
#if defined(TRUERANK_X86_SETS) && defined(__linux__)
    // ARCH_REQ_XCOMP_PERM, of the data of tiles. It is refused by systems that know nothing of it, by rules of a
    // sandbox, and where a thread has a stack for signals that is too small for tiles.
    static const bool is_permitted = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
    return is_permitted;
#else
    return false;
#endif
}

ByteProducts byte_products() {
    bool fours = false, pairs = false;
#if defined(TRUERANK_X86_SETS)
    if (isa() == Isa::avx512) fours = (processor_here().leaf7_ecx & bits(11)) != 0;
    if (isa() == Isa::avx2) fours = (processor_here().leaf7_1_eax & bits(4)) != 0;
    pairs = isa() != Isa::baseline;
#elif defined(__aarch64__) && defined(__linux__)
    fours = (getauxval(AT_HWCAP) & (1UL << 20)) != 0;  // HWCAP_ASIMDDP, which old headers lack
#elif defined(__aarch64__) && defined(__APPLE__)
    fours = true;  // as all of these processors have them
#elif defined(__aarch64__) && defined(_WIN32)
    fours = IsProcessorFeaturePresent(43) != 0;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE, which old headers lack
#endif
    return fours ? ByteProducts::fours : pairs ? ByteProducts::pairs : ByteProducts::none;
}

}  // namespace truerank
