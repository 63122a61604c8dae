// Threads: how many there are, what becomes of them after a fork, how a long count is stopped, and who hears how far it
// has come. They are OpenMP's if the compiler has it, else std::thread's; nothing else knows which.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>

namespace truerank {

// a / b, rounded up.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

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

inline bool has_openmp() {
#ifdef _OPENMP
    return true;
#else
    return false;
#endif
}

// The arithmetic of the calling thread: how it rounds, and whether it takes subnormal numbers for 0. Other libraries
// change these for speed. parallel_for sets that aside by itself; this is for what is computed elsewhere. The first
// returns what there was, for the second; arithmetic is as IEEE 754 has it by default between the two.
std::uint64_t use_default_arithmetic();
void restore_arithmetic(std::uint64_t before);

// The number of threads for one call that has the machine to itself: what OpenMP would take (OMP_NUM_THREADS, also
// where there is no OpenMP), but no more than the processor affinity and the control group allow.
int default_threads();

// Makes children of a fork count serially; called once, when the extension is loaded. OpenMP's threads do not survive a
// fork, and a child that waited for them would wait for ever. Without OpenMP children could start threads of their own,
// but count serially, too: one rule is simpler, and whoever forks workers divides the processors among them.
void guard_forks();

// Hears how far a call has come, in whatever the call counts.
class Listener {
  public:
    using Interval = std::chrono::duration<double>;
    // `interval`: the least time from one report to the next.
    explicit Listener(Interval interval) : interval_(interval) {}
    virtual ~Listener() = default;
    Interval interval() const { return interval_; }
    // Takes a report, on the calling thread. Returns whether the call is to go on.
    virtual bool hear(std::int64_t done, std::int64_t total) = 0;

  private:
    Interval interval_;
};

// Thrown on the calling thread when `interrupted` has returned true, or a listener false.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// Scores that are counted between two polls: less than a millisecond's work. A look at the clock waits for all reading
// that is under way.
constexpr std::int64_t kWorkBetweenPolls = 1 << 20;

// Says between chunks of work whether a call is to stop, and tells a listener how much is done.
class Stop {
  public:
    Stop(bool (*interrupted)(), Listener* listener, std::int64_t total)
        : interrupted_(interrupted), listener_(listener), total_(total) {}
    // Whether to stop. `caller`: whether this is the thread that made the call, the only one that may call
    // `interrupted` and the listener; it asks the first twenty times a second. `work`: the scores read since it last
    // asked; a look at the clock is only worth it after many. `done`: what this thread has done of the total since
    // then.
    bool requested(bool caller, std::int64_t work, std::int64_t done = 0) {
        if (done > 0 && listener_ != nullptr) done_.fetch_add(done, std::memory_order_relaxed);
        if (flag_.load(std::memory_order_relaxed)) return true;
        if (!caller || (work_since_poll_ += work) < kWorkBetweenPolls) return false;
        return poll();
    }
    // Waits, on the calling thread, until no other thread is working, and goes on polling meanwhile.
    void wait_for_workers(const std::atomic<int>& working);
    void request() { flag_.store(true, std::memory_order_relaxed); }
    bool interrupted() const { return was_interrupted_; }

  private:
    using Clock = std::chrono::steady_clock;
    bool poll();
    bool (*interrupted_)();
    Listener* listener_;
    std::int64_t total_;
    // The flag is alone in its cache line, or lines: every thread reads it for every row, and threads write to what
    // follows it as often.
    alignas(64) std::atomic<bool> flag_{false};
    alignas(64) std::atomic<std::int64_t> done_{0};
    // Used by the calling thread alone.
    alignas(64) bool was_interrupted_ = false;
    std::int64_t work_since_poll_ = 0;
    Clock::time_point last_poll_ = Clock::now();
    Clock::time_point last_report_{};  // long ago: the first poll makes the first report
};

// Whether a call takes milliseconds, or may take longer.
enum class Duration { brief, any };

// Whether brief calls are to have several threads. Threads of another OpenMP runtime that wait for work, as those of
// torch do after a matrix product, spin for milliseconds and keep their processors, and so does another program. A
// thread of a team then waits for its turn for longer than the whole call would take on one thread. The system counts
// threads that run, but does not tell those that only spin, nor which of them would work for this call: so teams are
// judged by the time that they took. After one that lost, brief calls have one thread for a while, and for twice as
// long after each further loss.
class BriefTeams {
  public:
    using Time = std::chrono::nanoseconds;
    // A team that took so much longer than its caller would have taken alone has lost. Less is the cost of waking it.
    static constexpr Time kLoss = std::chrono::microseconds(500);
    static constexpr int kShortestPause = 8, kLongestPause = 128;  // in calls

    // Whether the next call may have several threads; it is counted.
    bool may_try();
    // `took`: the time of a team; `alone`: that of the caller, without waiting, if it had done all chunks.
    void judge(Time took, Time alone);

  private:
    // Several threads may be here at once. What one of them then overwrites is a call or two of a pause.
    std::atomic<int> left_{0};  // calls of the pause that are to come
    std::atomic<int> pause_{kShortestPause};
};

// The threads of one call: as many as `requested` or, if that is 0, the default number less those that other calls use
// at the moment, so that calls from several Python threads share the processors. There are never more threads than
// chunks. A brief call without a number has one thread where BriefTeams says so.
class Team {
  public:
    Team(int requested, std::int64_t chunks, Duration duration = Duration::any);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    int size() const { return size_; }
    // Whether the time of its chunks says something about further calls.
    bool is_judged() const { return is_judged_; }

  private:
    int size_;
    int reserved_;
    bool is_judged_ = false;
};

// Calls work(chunk, worker, stop) for every chunk in [0, chunks), in any order, on the team's threads; worker <
// team.size(). The first exception of a chunk stops the rest and is thrown here, as is Interrupted. A listener hears
// what the chunks say is done, of the total; it need not hear the last of it.
using Work = std::function<void(std::int64_t chunk, int worker, Stop& stop)>;
void parallel_for(const Team& team, std::int64_t chunks, bool (*interrupted)(), const Work& work,
                  Listener* listener = nullptr, std::int64_t total = 0);

}  // namespace truerank
