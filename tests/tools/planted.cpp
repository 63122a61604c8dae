// Faults for the sanitizers to find, one of each kind: a silent sanitizer is believed only after it has found these.
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

// The same without a fault: a team's own synchronization must not be taken for a race.
long planted_nothing(int n) {
    std::vector<int> terms(static_cast<unsigned>(n));
    long sum = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic, 16)
        for (int i = 0; i < n; ++i) terms.data()[i] = i;
#pragma omp for schedule(dynamic, 16) reduction(+ : sum)
        for (int i = 0; i < n; ++i) sum += terms.data()[i];
    }
    return sum;
}

// The GIL is not held in a call by ctypes: calls from several threads race.
volatile long shared_counter = 0;
void planted_race_between_calls(long n) {
    for (long i = 0; i < n; ++i) shared_counter = shared_counter + 1;
}
}
