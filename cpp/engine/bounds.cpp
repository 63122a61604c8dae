#include "engine/bounds.hpp"

#include <cstring>
#include <iterator>
#include <mutex>

#include "kernels/simd.hpp"

namespace truerank {
namespace {

constexpr const char* kNames[] = {"off", "int16", "int8"};

Levels levels = Levels::off;
std::mutex tally_mutex;
BoundsTally total;

Levels best_levels() { return has_byte_products() ? Levels::int8 : Levels::int16; }

}  // namespace

std::vector<std::string> usable_levels() {
    return {std::begin(kNames), std::begin(kNames) + 1 + static_cast<int>(best_levels())};
}

bool choose_levels(const char* name) {
    if (name == nullptr || *name == '\0') {
        levels = best_levels();
        return true;
    }
    for (int i = 0; i <= static_cast<int>(best_levels()); ++i) {
        if (std::strcmp(name, kNames[i]) != 0) continue;
        levels = static_cast<Levels>(i);
        return true;
    }
    return false;
}

Levels chosen_levels() { return levels; }
const char* levels_name() { return kNames[static_cast<int>(levels)]; }

void add_to_tally(const BoundsTally& tally) {
    const std::lock_guard<std::mutex> lock(tally_mutex);
    total.add(tally);
}

BoundsTally bounds_tally() {
    const std::lock_guard<std::mutex> lock(tally_mutex);
    return total;
}

}  // namespace truerank
