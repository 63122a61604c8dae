// Whether bounds are worth their time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "kernels/measured.hpp"

namespace truerank {

// Says whether bounds are worth their time, by what a pair took with them and without. Where they lose, panels are
// scored, and bounds are tried again, less and less often. Counts do not depend on it.
class Gauge {
  public:
    using Clock = std::chrono::steady_clock;

    // Whether the next panel is to go by bounds. The first one is scored, since the time of scores does not depend on
    // data, and now and then another, in case the first was disturbed.
    bool tries_bounds() {
        if (scored_ == 0 || ++panels_ % measured::kPanelsPerCheck == 0) return false;
        if (pause_ == 0) return true;
        --pause_;
        return false;
    }
    // Whether bounds are tried after they lost, or for the first time.
    bool is_trial() const { return bounded_ == 0; }
    void lost() {
        bounded_ = 0;
        last_pause_ = std::clamp<std::int64_t>(2 * last_pause_, measured::kShortestPause, measured::kLongestPause);
        pause_ = last_pause_;
    }
    void record_scored(Clock::duration time, std::int64_t pairs) { scored_ = shortest(scored_, time, pairs); }
    void record_bounded(Clock::duration time, std::int64_t pairs) {
        bounded_ = shortest(bounded_, time, pairs);
        if (bounded_ > scored_) return lost();
        last_pause_ = 0;
    }

  private:
    // Other work makes times longer, never shorter: the shortest of late counts, and is forgotten slowly.
    static double shortest(double before, Clock::duration time, std::int64_t pairs) {
        const double now =
            std::chrono::duration<double>(time).count() / static_cast<double>(std::max<std::int64_t>(1, pairs));
        return before == 0 ? now : std::min(now, 1.05 * before);
    }

    double scored_ = 0, bounded_ = 0;  // seconds for each pair of a query and a candidate
    std::int64_t panels_ = 0, pause_ = 0, last_pause_ = 0;
};

}  // namespace truerank
