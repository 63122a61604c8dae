#include "simd.hpp"

#include <cstring>

namespace truerank {
namespace {

bool supported(Isa set) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    switch (set) {
        case Isa::baseline:
            return true;
        case Isa::v2:
            return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
        case Isa::avx2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                   __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
        case Isa::avx512:
            return supported(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl");
    }
    return false;
#else
    (void)set;
    return true;  // the one row is what the compiler was told to build for
#endif
}

struct Row {
    Isa set;
    const char* name;
};

constexpr Row kRows[] = {
#define TRUERANK_ROW(name, width, several, fused, attribute) {Isa::name, #name},
    TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
};

const Row* chosen = &kRows[0];

// "baseline" names the first row everywhere, so that a script need not know the architecture.
const Row* find(const char* name) {
    if (std::strcmp(name, "baseline") == 0) return &kRows[0];
    for (const Row& row : kRows) {
        if (std::strcmp(name, row.name) == 0) return &row;
    }
    return nullptr;
}

}  // namespace

std::vector<std::string> usable_isas() {
    std::vector<std::string> names;
    for (const Row& row : kRows) {
        if (supported(row.set)) names.emplace_back(row.name);
    }
    return names;
}

bool choose_isa(const char* wanted) {
    if (wanted != nullptr && *wanted != '\0') {
        const Row* row = find(wanted);
        if (row == nullptr || !supported(row->set)) return false;
        chosen = row;
        return true;
    }
    for (const Row& row : kRows) {
        if (supported(row.set)) chosen = &row;
    }
    return true;
}

Isa isa() { return chosen->set; }
const char* isa_name() { return chosen->name; }

}  // namespace truerank
