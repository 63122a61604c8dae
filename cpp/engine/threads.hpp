// Threads: how many, what a fork leaves of them, and how a long count is stopped. They are OpenMP's where the compiler
// has it, and std::thread's elsewhere; nothing else knows which.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>

namespace truerank {

// Pieces of size b that a needs.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

bool has_openmp();

// Threads for one call that has the machine to itself: what OpenMP would take (OMP_NUM_THREADS, also where there is no
// OpenMP), but no more than the processor affinity and the control group allow.
int default_threads();

// Called once, when the extension is loaded: OpenMP's threads do not survive a fork, and a child that waits for them
// waits for ever, so that children count serially. They do so without OpenMP, too, where they could start threads of
// their own: one rule, and whoever forks workers divides the processors among them.
void guard_forks();

// Thrown on the calling thread where `interrupted` said yes.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// Less than a millisecond of counting. A look at the clock waits for all reading that is under way.
constexpr std::int64_t kWorkBetweenPolls = 1 << 20;

// Asked between pieces of work: are they to stop?
class Stop {
  public:
    explicit Stop(bool (*interrupted)()) : interrupted_(interrupted) {}
    // `caller`: asked by the thread that made the call, the only one that may ask Python, and does twenty times a
    // second. `work`: the scores read since it last asked; few of them are not worth a look at the clock.
    bool requested(bool caller, std::int64_t work) {
        if (flag_.load(std::memory_order_relaxed)) return true;
        if (!caller || (work_since_poll_ += work) < kWorkBetweenPolls) return false;
        return poll();
    }
    // Waits, on the calling thread, until nobody is working, and goes on asking Python meanwhile.
    void wait_for_workers(const std::atomic<int>& working);
    void request() { flag_.store(true, std::memory_order_relaxed); }
    bool interrupted() const { return interrupted_flag_; }

  private:
    using Clock = std::chrono::steady_clock;
    bool poll();
    bool (*interrupted_)();
    std::atomic<bool> flag_{false};
    // Of the calling thread alone.
    bool interrupted_flag_ = false;
    std::int64_t work_since_poll_ = 0;
    Clock::time_point last_poll_ = Clock::now();
};

// The threads of one call: `wanted`, or, where that is 0, the default less what other calls hold at the moment, so that
// calls from several Python threads share the processors. Never more than there are pieces of work.
class Team {
  public:
    Team(int requested, std::int64_t chunks);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    int size() const { return size_; }

  private:
    int size_;
    int reserved_;
};

// Calls work(piece, worker, stop) for every piece in [0, pieces), in any order, on the team's threads; worker <
// team.size(). The first exception of a piece stops the rest and is thrown here, as is Interrupted.
using Work = std::function<void(std::int64_t chunk, int worker, Stop& stop)>;
void parallel_for(const Team& team, std::int64_t chunks, bool (*interrupted)(), const Work& work);

}  // namespace truerank
