// Scores in a file that are read, not mapped: a file that shrinks meanwhile is an error here, where a map of it would
// kill the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "engine/rank.hpp"

namespace truerank {

// A matrix in a file. One of the strides, which are in bytes, is the size of a score, and neither is below it.
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

// Whether this system lets several threads read one file at places of their own.
bool can_read_files();

// Whether the rows of a matrix are read whole, so that its tasks may find their truths there.
bool reads_whole_rows(const FileScores& scores);

// As rank(), for tasks in ascending order of their rows. They bring their truths where rows are not read whole.
Fault rank_file(const FileScores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
                const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts);

}  // namespace truerank
