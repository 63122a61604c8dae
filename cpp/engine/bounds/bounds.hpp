// Which certified bounds this process uses, and what became of its pairs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/simd.hpp"
#include "kernels/sums.hpp"

namespace truerank {

// What became of pairs.
struct BoundsTally {
    std::int64_t pairs = 0;    // of a task and a candidate
    std::int64_t bounded = 0;  // decided by their sums over levels, or open
    std::int64_t open = 0;     // not decided by these
    std::int64_t scored = 0;   // not decided by their values either
    void add(const BoundsTally& other) {
        pairs += other.pairs;
        bounded += other.bounded;
        open += other.open;
        scored += other.scored;
    }
};

// Of all calls of this thread. (It is no inline variable, since a lambda that copies one gets its first value by
// GCC 12.)
extern constinit thread_local BoundsTally bounds_tally;

// The levels that this process uses, and whether bounds are used wherever they hold, even where they do not gain (for
// tests).
struct BoundsChoice {
    Levels levels = Levels::off;
    bool is_forced = false;
};
extern BoundsChoice bounds_choice;
inline Levels chosen_levels() { return bounds_choice.levels; }
inline bool are_bounds_forced() { return bounds_choice.is_forced; }

inline constexpr const char* kLevelNames[] = {"off", "int16", "int8"};
inline std::string levels_name() {
    return std::string(kLevelNames[static_cast<int>(chosen_levels())]) + (are_bounds_forced() ? "!" : "");
}

// The names of the levels that this machine can use, "off" first and the fastest last.
inline std::vector<std::string> usable_levels() {
    std::vector<std::string> names(std::begin(kLevelNames), std::end(kLevelNames));
    if (byte_products() == ByteProducts::none) names.pop_back();
    return names;
}

// Chooses levels for the life of the process: those of that name, or, if it is null or empty, the fastest. A "!" at its
// end forces them. Returns false, and changes nothing, if the name is unknown or the machine has no such levels. An
// instruction set has been chosen before.
inline bool choose_levels(const char* name) {
    std::string_view wanted = name == nullptr ? "" : name;
    const bool is_forced = wanted.ends_with('!');
    if (is_forced) wanted.remove_suffix(1);
    const std::vector<std::string> usable = usable_levels();
    const auto at = wanted.empty() ? usable.end() - 1 : std::find(usable.begin(), usable.end(), wanted);
    if (at == usable.end()) return false;
    bounds_choice = {static_cast<Levels>(at - usable.begin()), is_forced};
    return true;
}

}  // namespace truerank
