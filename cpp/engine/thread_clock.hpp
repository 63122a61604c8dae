// The time for which a thread has had a processor.
#pragma once

#include <time.h>

#include <chrono>

namespace truerank {

// The processor time of the calling thread, where the system tells it: a thread that has to wait for a processor is not
// slower for that.
struct ThreadClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<ThreadClock>;
    static constexpr bool is_steady = true;
#ifdef CLOCK_THREAD_CPUTIME_ID
    static constexpr bool kTellsThreads = true;
#else
    static constexpr bool kTellsThreads = false;  // then it goes on while a thread waits, too
#endif
    static time_point now() {
#ifdef CLOCK_THREAD_CPUTIME_ID
        timespec time{};
        if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0) {
            return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
        }
#endif
        return time_point(std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch()));
    }
};

}  // namespace truerank
