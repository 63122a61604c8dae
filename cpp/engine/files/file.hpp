// Scores in a file that is read, not mapped: here a file that shrinks meanwhile is an error, whereas a map of it would
// kill the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "engine/rows/rank.hpp"

namespace truerank {

// A matrix in a file. Strides are in bytes; one of them is the size of a score, and the other is no less.
struct FileScores {
    int descriptor;
    std::int64_t offset;
    std::int64_t rows;
    std::int64_t columns;
    std::int64_t row_stride;
    std::int64_t column_stride;
    DType dtype;
    std::int64_t size;  // of a score, in bytes
    bool swapped;
};

// Thrown where the file ends too soon (error 0) or the system cannot read it.
struct ReadFailure : std::exception {
    ReadFailure(std::int64_t offset_, int error_) : offset(offset_), error(error_) {}
    const char* what() const noexcept override { return "scores in a file could not be read"; }
    std::int64_t offset;
    int error;
};

// Whether rows are read whole, so that tasks can read their true scores from them.
bool reads_whole_rows(const FileScores& scores);

// As rank(), for tasks in ascending order of their rows. If rows are not read whole, the tasks bring their true scores.
Fault rank(const FileScores& scores, const Tasks& tasks, const Rules& rules, int threads, bool (*interrupted)(),
           const Counts& counts);

}  // namespace truerank
