#include "engine/bounds.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "kernels/simd.hpp"

namespace truerank {
namespace {

constexpr const char* kNames[] = {"off", "int16", "int8"};

Levels levels = Levels::off;
bool forced = false;
thread_local BoundsTally total;

Levels last_choice() { return byte_products() == ByteProducts::none ? Levels::int16 : Levels::int8; }

}  // namespace

std::vector<std::string> usable_levels() {
    return {std::begin(kNames), std::begin(kNames) + 1 + static_cast<int>(last_choice())};
}

bool choose_levels(const char* name) {
    std::string_view wanted = name == nullptr ? "" : name;
    const bool force = wanted.ends_with('!');
    if (force) wanted.remove_suffix(1);
    Levels choice = last_choice();
    if (!wanted.empty()) {
        const std::vector<std::string> usable = usable_levels();
        const auto at = std::find(usable.begin(), usable.end(), wanted);
        if (at == usable.end()) return false;
        choice = static_cast<Levels>(at - usable.begin());
    }
    levels = choice;
    forced = force;
    return true;
}

Levels chosen_levels() { return levels; }
bool are_bounds_forced() { return forced; }
std::string levels_name() { return std::string(kNames[static_cast<int>(levels)]) + (forced ? "!" : ""); }

void add_to_tally(const BoundsTally& tally) { total.add(tally); }
BoundsTally bounds_tally() { return total; }

}  // namespace truerank
