// Threads: every chunk is done once, errors, interruptions and reports come on the calling thread, and arithmetic is as
// IEEE 754 has it.
#include "engine/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

bool not_interrupted() { return false; }
bool interrupted_at_once() { return true; }

void check_chunks(Checks& checks, int requested, std::int64_t chunks, Duration duration = Duration::any) {
    const Team team(requested, chunks, duration);
    checks.expect(team.size() >= 1 && team.size() <= std::max<std::int64_t>(1, chunks) &&
                      (requested == 0 || team.size() <= requested),
                  "%d threads for %lld chunks, %d requested", team.size(), static_cast<long long>(chunks), requested);
    std::vector<std::atomic<int>> times(static_cast<std::size_t>(chunks));
    std::atomic<bool> wrong{false};
    const auto caller = std::this_thread::get_id();
    parallel_for(team, chunks, not_interrupted, [&](std::int64_t chunk, int worker, Stop&) {
        ++times[static_cast<std::size_t>(chunk)];
        const bool is_caller = std::this_thread::get_id() == caller;
        if (worker < 0 || worker >= team.size() || (worker == 0) != is_caller) wrong = true;
    });
    bool once = true;
    for (const std::atomic<int>& n : times) once = once && n == 1;
    checks.expect(once, "every chunk once, %lld chunks, %d threads", static_cast<long long>(chunks), team.size());
    checks.expect(!wrong, "workers, %d threads", team.size());
}

// After a team that lost, brief calls have one thread for as long as the pause says; a team that did not lose makes the
// next pause shorter.
void check_brief_teams(Checks& checks) {
    using Time = BriefTeams::Time;
    const Time alone{1'000'000};
    BriefTeams teams;
    const auto count_pause = [&] {
        int calls = 0;
        while (calls < 1000 && !teams.may_try()) ++calls;
        return calls;
    };
    checks.expect(count_pause() == 0, "the first brief call may have several threads");
    teams.judge(alone + BriefTeams::kLoss, alone);
    checks.expect(count_pause() == 0, "waking a team is no loss");
    for (const int pause : {8, 16, 32, 64, 128, 128}) {
        teams.judge(alone + BriefTeams::kLoss + Time{1}, alone);
        const int counted = count_pause();
        checks.expect(counted == pause, "%d calls of one thread after a loss, expected %d", counted, pause);
    }
    for (int i = 0; i < 3; ++i) teams.judge(alone, alone);
    checks.expect(count_pause() == 0, "a team that gained goes on");
    teams.judge(alone * 10, alone);
    checks.expect(count_pause() == 16, "after three gains the pause is an eighth");
}

// A brief call has as many threads as are requested, and without a number one at least.
void check_brief_calls(Checks& checks) {
    const Team requested(3, 1000, Duration::brief);
    checks.expect(requested.size() == 3 && !requested.is_judged(), "threads that were requested for a brief call");
    const Team brief(0, 1000, Duration::brief);
    checks.expect(brief.size() >= 1 && brief.is_judged() == (brief.size() > 1), "%d threads of a brief call",
                  brief.size());
    check_chunks(checks, 0, 1000, Duration::brief);
}

// Brief calls whose teams are kept waiting have one thread after a while: what a team took is told to BriefTeams.
void check_losing_teams(Checks& checks) {
    bool lost = Team(0, 100, Duration::brief).size() == 1;  // of one processor, or after a loss
    for (int call = 0; call < 100 && !lost; ++call) {
        const Team team(0, 100, Duration::brief);
        lost = team.size() == 1;
        parallel_for(team, 100, not_interrupted, [](std::int64_t, int worker, Stop&) {
            std::this_thread::sleep_for(worker == 0 ? std::chrono::microseconds(100) : std::chrono::milliseconds(20));
        });
    }
    checks.expect(lost, "brief calls have one thread after teams that lost");
}

// The threads that were requested run at the same time.
void check_simultaneous(Checks& checks, int size) {
    const Team team(size, size);
    std::atomic<int> here{0};
    parallel_for(team, size, not_interrupted, [&](std::int64_t, int, Stop& stop) {
        ++here;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (here < size && !stop.requested(false, 0) && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
        }
    });
    checks.expect(team.size() == size && here == size, "%d threads at once", size);
}

void check_errors(Checks& checks, int threads) {
    const Team team(threads, 1000);
    std::atomic<int> begun{0};
    bool caught = false;
    try {
        parallel_for(team, 1000, not_interrupted, [&](std::int64_t chunk, int, Stop&) {
            ++begun;
            if (chunk == 3) throw std::runtime_error("three");
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        });
    } catch (const std::runtime_error& error) {
        caught = std::string(error.what()) == "three";
    }
    checks.expect(caught, "an error is thrown on the calling thread, %d threads", threads);
    checks.expect(begun < 1000, "an error stops the rest, %d threads", threads);

    // All of them throw, and one error is thrown on.
    caught = false;
    try {
        parallel_for(team, 1000, not_interrupted, [](std::int64_t, int, Stop&) { throw std::runtime_error("each"); });
    } catch (const std::runtime_error&) {
        caught = true;
    }
    checks.expect(caught, "one error of many, %d threads", threads);

    caught = false;
    begun = 0;
    try {
        parallel_for(team, 1000, interrupted_at_once, [&](std::int64_t, int worker, Stop& stop) {
            ++begun;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            stop.requested(worker == 0, kWorkBetweenPolls);
        });
    } catch (const Interrupted&) {
        caught = true;
    }
    checks.expect(caught && begun < 1000, "an interruption, %d threads", threads);
}

// A calling thread that has nothing left to do still polls.
void check_idle_caller(Checks& checks) {
    const Team team(2, 2);
    const auto caller = std::this_thread::get_id();
    bool caught = false;
    const auto start = std::chrono::steady_clock::now();
    try {
        parallel_for(team, 2, interrupted_at_once, [&](std::int64_t, int, Stop& stop) {
            if (std::this_thread::get_id() == caller) return;
            while (!stop.requested(false, 0) && std::chrono::steady_clock::now() - start < std::chrono::seconds(20)) {
                std::this_thread::yield();
            }
        });
    } catch (const Interrupted&) {
        caught = true;
    }
    // The calling thread may have been fast enough to take both chunks.
    checks.expect(caught || std::chrono::steady_clock::now() - start < std::chrono::seconds(10),
                  "an idle caller polls");
}

// Keeps what it hears; refuses to go on once so much is done.
class Recorder final : public Listener {
  public:
    Recorder(double seconds, std::int64_t limit) : Listener(Interval(seconds)), limit_(limit) {}
    bool hear(std::int64_t done, std::int64_t total) override {
        on_caller = on_caller && std::this_thread::get_id() == caller_;
        reports.push_back(done);
        totals.push_back(total);
        return done < limit_;
    }
    bool is_ascending() const { return std::is_sorted(reports.begin(), reports.end()); }
    std::vector<std::int64_t> reports, totals;
    bool on_caller = true;

  private:
    std::int64_t limit_;
    std::thread::id caller_ = std::this_thread::get_id();
};

void check_reports(Checks& checks, int threads, bool (*interrupted)()) {
    constexpr std::int64_t chunks = 200, each = 3, total = chunks * each;
    const Team team(threads, chunks);
    const auto count = [&](Listener* listener) {
        std::atomic<std::int64_t> done{0};
        parallel_for(
            team, chunks, interrupted,
            [&](std::int64_t, int worker, Stop& stop) {
                stop.requested(worker == 0, kWorkBetweenPolls, each);
                done += each;
            },
            listener, total);
        return done.load();
    };
    Recorder recorder(0, total + 1);
    checks.expect(count(&recorder) == total && count(nullptr) == total, "all is done, %d threads", threads);
    // Of several threads the others may do everything before the calling one looks at the clock.
    const bool most = recorder.reports.empty() || recorder.reports.back() <= total;
    checks.expect(most && recorder.is_ascending() && recorder.on_caller, "reports, %d threads", threads);
    checks.expect(std::all_of(recorder.totals.begin(), recorder.totals.end(), [](auto t) { return t == total; }),
                  "the total, %d threads", threads);
    if (threads == 1) checks.expect(recorder.reports.size() >= chunks, "a report at every poll");
    Recorder patient(3600, total + 1);
    checks.expect(count(&patient) == total && patient.reports.size() <= 1, "one report in an hour, %d threads",
                  threads);

    // The calling thread waits for the others' chunks and stops them: there are as many chunks as threads.
    Recorder strict(0, 1);
    bool caught = false;
    const auto start = std::chrono::steady_clock::now();
    try {
        parallel_for(
            team, team.size(), interrupted,
            [&](std::int64_t, int worker, Stop& stop) {
                while (!stop.requested(worker == 0, kWorkBetweenPolls, 1)) {
                    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(20)) return;
                    std::this_thread::yield();
                }
            },
            &strict, total);
    } catch (const Interrupted&) {
        caught = true;
    }
    checks.expect(caught && strict.on_caller && strict.reports.back() >= 1, "a listener stops %d threads", threads);
    const auto refusals =
        std::count_if(strict.reports.begin(), strict.reports.end(), [](std::int64_t done) { return done >= 1; });
    checks.expect(refusals == 1, "nothing is heard after a stop, %d threads", threads);
}

void check_arithmetic(Checks& checks, int threads) {
    const int before = std::fegetround();
    std::fesetround(FE_UPWARD);
    std::atomic<int> wrong{0};
    const Team team(threads, 100);
    parallel_for(team, 100, not_interrupted, [&](std::int64_t, int, Stop&) {
        volatile double one = 1, tiny = 0x1p-60, least = std::numeric_limits<double>::min();
        wrong += one + tiny != 1;
        wrong += least / 2 == 0;
    });
    checks.expect(wrong == 0, "chunks round to the nearest, and keep subnormal numbers");
    checks.expect(std::fegetround() == FE_UPWARD, "the caller's rounding is as it was");
    std::fesetround(before);
}

}  // namespace

void check_threads(Checks& checks) {
    checks.expect(default_threads() >= 1, "default_threads");
    for (const int requested : {0, 1, 2, 3, 8}) {
        for (const std::int64_t chunks : {0, 1, 2, 3, 7, 10'000}) check_chunks(checks, requested, chunks);
    }
    check_brief_teams(checks);
    check_brief_calls(checks);
    check_losing_teams(checks);
    for (const int size : {2, 5}) check_simultaneous(checks, size);
    for (const int threads : {1, 2, 4}) check_errors(checks, threads);
    check_idle_caller(checks);
    for (const int threads : {1, 2, 4}) {
        for (const auto interrupted : {not_interrupted, static_cast<bool (*)()>(nullptr)}) {
            check_reports(checks, threads, interrupted);
        }
    }
    for (const int threads : {1, 3}) check_arithmetic(checks, threads);
}

}  // namespace truerank::tests
