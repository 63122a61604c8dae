// Which certified bounds this process uses, and what became of its pairs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
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

// The levels that this process uses, the fastest unless one is named; and whether bounds are used wherever they hold,
// even where they do not gain (for tests).
struct BoundsChoice {
    std::optional<Levels> named_levels = Levels::off;
    bool is_forced = false;
};
extern BoundsChoice bounds_choice;
inline bool are_bounds_forced() { return bounds_choice.is_forced; }

inline constexpr const char* kLevelNames[] = {"off", "int16", "int8", "tiles"};

// Whether this machine can use levels. Builds for tests have tiles everywhere: those of plain arithmetic.
inline bool can_use(Levels levels) {
    if (levels == Levels::tiles) return has_tiles() || sum_kernels<float>().tiles[0].sum != nullptr;
    return levels != Levels::int8 || byte_products() != ByteProducts::none;
}
inline Levels fastest_levels() {
    if (has_tiles()) return Levels::tiles;
    return can_use(Levels::int8) ? Levels::int8 : Levels::int16;
}
// The levels that calls use. Tiles that the system refuses are bytes.
inline Levels chosen_levels() {
    const std::optional<Levels> named = bounds_choice.named_levels;
    return named && can_use(*named) ? *named : fastest_levels();
}
inline std::string levels_name() {
    return std::string(kLevelNames[static_cast<int>(chosen_levels())]) + (are_bounds_forced() ? "!" : "");
}

// The names of the levels that this machine can use, "off" first.
inline std::vector<std::string> usable_levels() {
    std::vector<std::string> names;
    for (const Levels levels : {Levels::off, Levels::int16, Levels::int8, Levels::tiles}) {
        if (can_use(levels)) names.emplace_back(kLevelNames[static_cast<int>(levels)]);
    }
    return names;
}

// Chooses levels for the life of the process: those of that name, or, if it is null or empty, the fastest. A "!" at its
// end forces them. Returns false, and changes nothing, if the name is unknown or the machine has no such levels. An
// instruction set has been chosen before.
inline bool choose_levels(const char* name) {
    std::string_view wanted = name == nullptr ? "" : name;
    const bool is_forced = wanted.ends_with('!');
    if (is_forced) wanted.remove_suffix(1);
    if (wanted.empty()) {
        bounds_choice = {std::nullopt, is_forced};
        return true;
    }
    const auto* const level_name = std::find(std::begin(kLevelNames), std::end(kLevelNames), wanted);
    if (level_name == std::end(kLevelNames)) return false;
    const auto levels = static_cast<Levels>(level_name - std::begin(kLevelNames));
    // Whether the system permits tiles is asked later, where they are first used.
    const bool is_usable = (levels == Levels::tiles && may_have_tiles()) || can_use(levels);
    if (!is_usable) return false;
    bounds_choice = {levels, is_forced};
    return true;
}

}  // namespace truerank
