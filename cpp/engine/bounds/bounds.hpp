// Which certified bounds this process uses, whether they are worth their time, and what became of its pairs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/threads.hpp"
#include "kernels/measured.hpp"
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
// The levels that calls use. Tiles that the system refuses are bytes.
inline Levels chosen_levels() {
    const std::optional<Levels> named = bounds_choice.named_levels;
    if (named && can_use(*named)) return *named;
    if (has_tiles()) return Levels::tiles;
    return can_use(Levels::int8) ? Levels::int8 : Levels::int16;
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

// Says whether bounds are worth their time, by what a pair took with them and without. Where they lose, panels are
// scored, and bounds are tried again, less and less often. Counts do not depend on it.
class Gauge {
  public:
    using Clock = ThreadClock;

    // Whether the next panel is to go by bounds. The first one is scored, since the time of scores does not depend on
    // data, and now and then another, in case the first was disturbed: less often where bounds gain much.
    bool tries_bounds() {
        const bool is_clear = bounded_panels_ > measured::kPanelsOfMean && measured::kClearGain * bounded_ < scored_;
        const std::int64_t per_check = is_clear ? measured::kPanelsPerClearCheck : measured::kPanelsPerCheck;
        if (scored_ == 0 || ++panels_ % per_check == 0) return false;
        if (pause_ == 0) return true;
        --pause_;
        return false;
    }
    // Whether bounds are tried after they lost, or for the first time.
    bool is_trial() const { return bounded_panels_ == 0; }
    // Whether the next panel that goes by bounds is timed: the first ones are, and then one for so many pairs.
    bool times_panel(std::int64_t pairs) {
        untimed_pairs_ += pairs;
        if (bounded_panels_ >= measured::kPanelsOfMean && untimed_pairs_ < measured::kPairsPerTime) return false;
        untimed_pairs_ = 0;
        return true;
    }
    // Takes note of the time that a trial took, or a panel, from which bounds did not gain. The longer it was, the
    // later they are tried again.
    void record_lost(Clock::duration time, std::int64_t pairs) {
        bounded_ = 0;
        bounded_panels_ = 0;
        const double lost = scored_ > 0 ? seconds_for_pair(time, pairs) / scored_ : 0;
        const auto least = static_cast<std::int64_t>(std::min(lost * measured::kPauseOfLost, measured::kLongestPause));
        last_pause_ = std::clamp(2 * last_pause_, measured::kShortestPause, measured::kLongestDoubledPause);
        pause_ = std::max(last_pause_, least);
    }
    void record_scored(Clock::duration time, std::int64_t pairs) {
        const double now = seconds_for_pair(time, pairs);
        // Other work makes times longer, never shorter: the shortest of late counts, and is forgotten slowly.
        scored_ = scored_ == 0 ? now : std::min(now, 1.05 * scored_);
    }
    // Panels differ in how many pairs they leave open: the mean of the last ones is judged, unless the first take very
    // long. The very first, which finds nothing in the caches, is not part of the mean.
    void record_bounded(Clock::duration time, std::int64_t pairs) {
        const bool is_settled = bounded_panels_ >= measured::kPanelsOfMean;
        const double limit_of_first_panels = scored_ * measured::kMostOfFirstPanels;
        double now = seconds_for_pair(time, pairs);
        // One that was disturbed does not outweigh the others.
        if (is_settled) now = std::min(now, limit_of_first_panels);
        // With 1 panel in the mean, the second one replaces the first.
        const std::int64_t panels_in_mean = std::clamp<std::int64_t>(bounded_panels_, 1, measured::kPanelsOfMean);
        ++bounded_panels_;
        bounded_ += (now - bounded_) / static_cast<double>(panels_in_mean);
        const double limit = is_settled ? scored_ : limit_of_first_panels;
        if (bounded_ > limit) {
            record_lost(time, pairs);
        } else if (is_settled) {
            last_pause_ = 0;
        }
    }

  private:
    static double seconds_for_pair(Clock::duration time, std::int64_t pairs) {
        return std::chrono::duration<double>(time).count() / static_cast<double>(std::max<std::int64_t>(1, pairs));
    }

    double scored_ = 0, bounded_ = 0;  // seconds for each pair of a query and a candidate
    std::int64_t panels_ = 0, bounded_panels_ = 0, untimed_pairs_ = 0, pause_ = 0, last_pause_ = 0;
};

}  // namespace truerank
