// Which certified bounds this process uses, and what became of its pairs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/sums.hpp"

namespace truerank {

// What became of the pairs of a call.
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

// Adds to the tally of all calls of this thread; and that tally.
void add_to_tally(const BoundsTally& tally);
BoundsTally bounds_tally();

// The names of the levels that this machine can use, "off" first and the fastest last.
std::vector<std::string> usable_levels();

// Chooses levels for the life of the process: those of that name, or, if `name` is null or empty, the fastest. A "!" at
// its end says that bounds are to be used wherever they hold, even where they do not gain (for tests). Returns false,
// and changes nothing, if the name is unknown or the machine has no such levels. An instruction set has been chosen
// before.
bool choose_levels(const char* name);
Levels chosen_levels();
std::string levels_name();
bool are_bounds_forced();

}  // namespace truerank
