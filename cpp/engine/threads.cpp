#include "engine/threads.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#include <pthread.h>
#endif
#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace truerank {
namespace {

// More threads than this make no count faster.
constexpr int kMaxThreads = 256;

std::atomic<bool> is_forked_child{false};
std::atomic<int> busy_threads{0};
BriefTeams brief_teams;

// The number of processors that the control group allows, rounded up; kMaxThreads if it sets no limit. Read once.
int cgroup_limit() {
    static const int limit = [] {
        long long quota = -1, period = 0;
        if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
            if (std::fscanf(file, "%lld %lld", &quota, &period) != 2) quota = -1;
            std::fclose(file);
        } else {
            const auto read = [](const char* path, long long& value) {
                if (std::FILE* v1 = std::fopen(path, "r")) {
                    if (std::fscanf(v1, "%lld", &value) != 1) value = -1;
                    std::fclose(v1);
                }
            };
            read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota);
            read("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period);
        }
        if (quota <= 0 || period <= 0) return kMaxThreads;
        return static_cast<int>(std::clamp<long long>((quota + period - 1) / period, 1, kMaxThreads));
    }();
    return limit;
}

int affinity_limit() {
#ifdef __linux__
    cpu_set_t set;
    // The call fails if there are more processors than the set has room for: then there is no small limit.
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return kMaxThreads;
#else
#ifdef _WIN32
    // Both are 0 if the process has processors of several groups.
    DWORD_PTR process = 0, system = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) && process != 0) {
        return std::popcount(std::uint64_t{process});
    }
#endif
    const unsigned n = std::thread::hardware_concurrency();
    return n == 0 ? 1 : static_cast<int>(std::min<unsigned>(n, kMaxThreads));
#endif
}

#ifdef _OPENMP
int requested_threads() { return omp_get_max_threads(); }

// The size of the team that OpenMP keeps for the calling thread, itself included: that of its last parallel region of
// several threads. OpenMP starts threads for a larger team, and ends some for a smaller one.
thread_local int kept_team = 1;

// Waits, but not for long, until the system has forgotten a thread that has ended: until then it counts.
void wait_until_forgotten(long thread) {
#ifdef __linux__
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (syscall(SYS_tgkill, getpid(), thread, 0) == 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
    }
#else
    static_cast<void>(thread);
#endif
}

// The size of the team that may be asked of OpenMP, which ends the process if the system refuses a thread. Before
// OpenMP starts any, as many are started here, all of which wait until the last of them exists, and end. If one is
// refused, OpenMP gets half of what was granted: so a thread that somebody else starts in between does no harm, unless
// there are many.
int possible_team(int wanted) {
    const int missing = wanted - kept_team;
    if (missing <= 0) return wanted;
    std::mutex gate;
    std::vector<std::thread> threads;
    std::vector<long> ids(static_cast<std::size_t>(missing));
    {
        const std::lock_guard<std::mutex> closed(gate);
        try {
            threads.reserve(ids.size());
            for (long& id : ids) {
                threads.emplace_back([&gate, &id] {
#ifdef __linux__
                    id = syscall(SYS_gettid);
#endif
                    const std::lock_guard<std::mutex> passage(gate);
                });
            }
        } catch (const std::exception&) {  // the system refuses a thread, or the memory for it
        }
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < threads.size(); ++i) wait_until_forgotten(ids[i]);
    const auto granted = static_cast<int>(threads.size());
    return granted == missing ? wanted : kept_team + granted / 2;
}
#else
// What OMP_NUM_THREADS asks for: the first number of its list, as OpenMP takes it. It is read once, when the extension
// is loaded, and has no effect unless it is a positive number.
const int environment_threads = [] {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    if (text == nullptr) return kMaxThreads;
    char* end = nullptr;
    const long number = std::strtol(text, &end, 10);
    while (*end == ' ') ++end;
    if (number < 1 || (*end != '\0' && *end != ',')) return kMaxThreads;
    return static_cast<int>(std::min<long>(number, kMaxThreads));
}();
int requested_threads() { return environment_threads; }
#endif

// The word that says how a thread computes: rounded to nearest or not, with subnormal numbers taken for 0 or not.
#if defined(__x86_64__) || defined(_M_X64)
using ArithmeticWord = unsigned;
ArithmeticWord arithmetic_word() { return _mm_getcsr(); }
void set_arithmetic_word(ArithmeticWord word) { _mm_setcsr(word); }
// Clears flush to zero, denormals are zero and the rounding mode; masks all exceptions.
ArithmeticWord default_word(ArithmeticWord word) { return (word & ~0xe040u) | 0x1f80u; }
constexpr ArithmeticWord kArithmeticBits = 0xffff;  // setting another ends the process
#elif defined(__aarch64__)
using ArithmeticWord = std::uint64_t;
ArithmeticWord arithmetic_word() {
    ArithmeticWord word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}
void set_arithmetic_word(ArithmeticWord word) { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
// Clears flush to zero, that of half precision too (bits 24 and 19), and the rounding mode (22 and 23).
ArithmeticWord default_word(ArithmeticWord word) {
    return word & ~((ArithmeticWord{7} << 22) | (ArithmeticWord{1} << 19));
}
constexpr ArithmeticWord kArithmeticBits = 0xffffffff;
#else
using ArithmeticWord = unsigned;
ArithmeticWord arithmetic_word() { return 0; }
void set_arithmetic_word(ArithmeticWord) {}
ArithmeticWord default_word(ArithmeticWord word) { return word; }
constexpr ArithmeticWord kArithmeticBits = 0;
#endif

}  // namespace

std::uint64_t use_default_arithmetic() {
    const ArithmeticWord before = arithmetic_word();
    set_arithmetic_word(default_word(before));
    return before;
}
void restore_arithmetic(std::uint64_t before) {
    set_arithmetic_word(static_cast<ArithmeticWord>(before) & kArithmeticBits);
}

int default_threads() {
    return std::clamp(std::min({requested_threads(), affinity_limit(), cgroup_limit()}), 1, kMaxThreads);
}

void guard_forks() {
#ifndef _WIN32
    pthread_atfork(nullptr, nullptr, [] {
        is_forked_child.store(true, std::memory_order_relaxed);
        busy_threads.store(0, std::memory_order_relaxed);
    });
#endif
}

bool Stop::poll() {
    work_since_poll_ = 0;
    if (interrupted_ == nullptr && listener_ == nullptr) return false;
    const Clock::time_point now = Clock::now();
    if (interrupted_ != nullptr && now - last_poll_ >= std::chrono::milliseconds(50)) {
        last_poll_ = now;
        was_interrupted_ = interrupted_();
    }
    if (!was_interrupted_ && listener_ != nullptr && now - last_report_ >= listener_->interval()) {
        was_interrupted_ = !listener_->hear(done_.load(std::memory_order_relaxed), total_);
        last_report_ = Clock::now();  // after the report: a slow listener leaves time for the work
    }
    if (was_interrupted_) request();
    return was_interrupted_;
}

void Stop::wait_for_workers(const std::atomic<int>& working) {
    const Clock::time_point start = Clock::now();
    while (working.load(std::memory_order_acquire) > 0) {
        if (Clock::now() - start < std::chrono::milliseconds(1)) {
            std::this_thread::yield();
            continue;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (!flag_.load(std::memory_order_relaxed)) poll();
    }
}

bool BriefTeams::may_try() {
    const int left = left_.load(std::memory_order_relaxed);
    if (left > 0) left_.store(left - 1, std::memory_order_relaxed);
    return left <= 0;
}

void BriefTeams::judge(Time took, Time alone) {
    const int pause = pause_.load(std::memory_order_relaxed);
    if (took > alone + kLoss) {
        left_.store(pause, std::memory_order_relaxed);
        pause_.store(std::min(2 * pause, kLongestPause), std::memory_order_relaxed);
    } else if (pause > kShortestPause) {  // not the shortest at once: one win may be luck
        pause_.store(pause / 2, std::memory_order_relaxed);
    }
}

Team::Team(int requested, std::int64_t chunks, Duration duration) : size_(1), reserved_(0) {
    const int useful = static_cast<int>(std::min<std::int64_t>(chunks, kMaxThreads));
    if (useful <= 1 || requested == 1 || is_forked_child.load(std::memory_order_relaxed)) return;
    const int available = default_threads() - busy_threads.load(std::memory_order_relaxed);
    size_ = std::clamp(requested > 0 ? requested : available, 1, useful);
    if (ThreadClock::kTellsThreads && requested <= 0 && duration == Duration::brief && size_ > 1) {
        is_judged_ = brief_teams.may_try();
        if (!is_judged_) size_ = 1;
    }
    reserved_ = size_;
    busy_threads.fetch_add(reserved_, std::memory_order_relaxed);
}

Team::~Team() {
    if (reserved_ > 0) busy_threads.fetch_sub(reserved_, std::memory_order_relaxed);
}

namespace {

// The threads of a call, of which number 0 is the calling one. Each runs run(worker), and worker 0 then polls until the
// others are done, too: otherwise nothing would notice an interruption meanwhile.
#ifdef _OPENMP
template <class Run, class HasChunks>
void run_threads(int threads, Stop& stop, const Run& run, const HasChunks&) {
    std::atomic<int> working{0};
#pragma omp parallel num_threads(possible_team(threads))
    {
        const int worker = omp_get_thread_num();
        // In a parallel region of the caller's there is one thread, and the team that is kept stays as it is.
        if (const int size = omp_get_num_threads(); worker == 0 && size > 1) kept_team = size;
        working.fetch_add(1, std::memory_order_relaxed);
        run(worker);
        working.fetch_sub(1, std::memory_order_release);
        if (worker == 0) stop.wait_for_workers(working);
    }
}
#else
// These threads are for this call alone: starting one takes some microseconds, and work that is worth several threads
// takes hundreds.
template <class Run, class HasChunks>
void run_threads(int threads, Stop& stop, const Run& run, const HasChunks& has_chunks) {
    std::atomic<int> working{0};
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(threads - 1));
    for (int worker = 1; worker < threads && has_chunks(); ++worker) {
        working.fetch_add(1, std::memory_order_relaxed);
        try {
            others.emplace_back([&run, &working, worker] {
                run(worker);
                working.fetch_sub(1, std::memory_order_release);
            });
        } catch (...) {  // the system cannot start more threads
            working.fetch_sub(1, std::memory_order_relaxed);
            break;
        }
    }
    run(0);
    stop.wait_for_workers(working);
    for (std::thread& other : others) other.join();
}
#endif

}  // namespace

void parallel_for(const Team& team, std::int64_t chunks, bool (*interrupted)(), const Work& work, Listener* listener,
                  std::int64_t total) {
    Stop stop(interrupted, listener, total);
    // Chunks are handed out one by one, since the system may grant fewer threads than were requested.
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    std::int64_t chunks_of_caller = 0;
    const auto run = [&](int worker) {
        const std::uint64_t arithmetic = use_default_arithmetic();
        while (!stop.requested(worker == 0, kWorkBetweenPolls / 4)) {
            const std::int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
            if (chunk >= chunks) break;
            if (worker == 0) ++chunks_of_caller;
            try {
                work(chunk, worker, stop);
            } catch (...) {
                const std::lock_guard<std::mutex> lock(mutex);
                if (!failure) failure = std::current_exception();
                stop.request();
            }
        }
        restore_arithmetic(arithmetic);
    };
    BriefTeams::Time caller_time{};
    const auto run_in_team = [&](int worker) {
        if (worker != 0) return run(worker);
        const ThreadClock::time_point before = ThreadClock::now();
        run(0);
        caller_time = ThreadClock::now() - before;
    };
    const auto start = std::chrono::steady_clock::now();
    if (team.size() == 1) {
        run(0);
    } else {
        run_threads(team.size(), stop, run_in_team, [&] { return next.load(std::memory_order_relaxed) < chunks; });
    }
    // A caller that had no chunk was kept waiting itself, and knows nothing about the others.
    if (team.is_judged() && chunks_of_caller > 0) {
        const BriefTeams::Time time_alone = caller_time * chunks / chunks_of_caller;
        brief_teams.judge(std::chrono::steady_clock::now() - start, time_alone);
    }
    if (failure) std::rethrow_exception(failure);
    if (stop.interrupted()) throw Interrupted{};
}

}  // namespace truerank
