// One fault of each kind that the sanitizers are there for. CI builds this as it builds the core, and believes a silent
// sanitizer only after it has seen these found.
#include <cstddef>
#include <vector>

extern "C" {

int planted_overflow(int past) {
    std::vector<int> eight(8, 1);
    return eight.data()[7 + past];
}

int planted_undefined(int large) { return large + 0x7fffffff; }

long planted_race(long n) {
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 16) num_threads(4)
    for (long i = 0; i < n; ++i) sum += i;
    return sum;
}

// The same sum without a fault: a team's own synchronization must not be taken for a race.
long planted_nothing(long n) {
    std::vector<long> terms(static_cast<std::size_t>(n));
    long sum = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic, 16)
        for (long i = 0; i < n; ++i) terms[static_cast<std::size_t>(i)] = i;
        long mine = 0;
#pragma omp for schedule(dynamic, 16) nowait
        for (long i = 0; i < n; ++i) mine += terms[static_cast<std::size_t>(i)];
#pragma omp atomic
        sum += mine;
    }
    for (const long term : terms) sum -= term;
    return sum;
}

volatile long shared_counter = 0;

// Called from several Python threads: ctypes lets go of the GIL, which makes this a race.
void planted_race_between_calls(long n) {
    for (long i = 0; i < n; ++i) shared_counter = shared_counter + 1;
}
}
