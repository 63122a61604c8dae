// Whether bounds are worth their time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "engine/threads.hpp"
#include "kernels/measured.hpp"

namespace truerank {

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
    std::int64_t panels_ = 0, bounded_panels_ = 0, pause_ = 0, last_pause_ = 0;
};

}  // namespace truerank
