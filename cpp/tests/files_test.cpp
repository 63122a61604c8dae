// Scores in files that are read: what the system breaks off or hands over in parts is read on.
#include "engine/files/file.hpp"

#include <cstdint>
#include <cstdio>
#include <vector>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#endif

#include "tests/tests.hpp"

#if defined(__linux__)
namespace {
int reads = 0;
bool are_disturbed = false;
}  // namespace

// In place of the C library's: while reads are disturbed, every other one is broken off by a signal, and the others
// read half of what was asked for.
extern "C" ssize_t pread(int descriptor, void* into, std::size_t bytes, off_t offset) {
    ++reads;
    if (are_disturbed && reads % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    const std::size_t wanted = are_disturbed ? (bytes + 1) / 2 : bytes;
    return static_cast<ssize_t>(syscall(SYS_pread64, descriptor, into, wanted, offset));
}
#endif

namespace truerank::tests {

void check_files(Checks& checks) {
#if defined(__linux__)
    constexpr std::int64_t rows = 7, columns = 9;
    Random random;
    std::vector<float> scores(rows * columns);
    for (float& score : scores) score = static_cast<float>(random.below(9));
    std::FILE* const file = std::tmpfile();
    if (!checks.expect(file != nullptr, "a temporary file")) return;
    std::fwrite(scores.data(), sizeof(float), scores.size(), file);
    std::fflush(file);
    std::vector<std::int64_t> targets(rows);
    for (std::int64_t& target : targets) target = random.below(columns);
    const auto count = [&](bool disturbed) {
        std::vector<std::int64_t> counted(5 * rows, 0);
        Counts counts;
        std::int64_t* next = counted.data();
        for (std::int64_t** array : {&counts.above, &counts.tied, &counts.candidates, &counts.nan, &counts.differing}) {
            *array = next;
            next += rows;
        }
        const Tasks tasks{rows, nullptr, targets.data()};
        const FileScores stored{fileno(file), 0, rows, columns, columns * 4, 4, DType::float32, 4, false};
        are_disturbed = disturbed;
        rank(stored, tasks, {false, NanRule::raise}, 1, nullptr, counts);
        are_disturbed = false;
        return counted;
    };
    const std::vector<std::int64_t> expected = count(false);
    const int undisturbed = reads;
    checks.expect(undisturbed > 0, "the file is read by pread");
    checks.expect(count(true) == expected, "counts of reads that are broken off");
    checks.expect(reads - undisturbed > 2 * undisturbed, "reads were broken off");
    std::fclose(file);
#else
    checks.expect(true, "reads of other systems are not disturbed here");
#endif
}

}  // namespace truerank::tests
