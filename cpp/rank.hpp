// Drives the kernels over a score matrix: which tasks read which row, what is left out, which rule holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "selection.hpp"

namespace truerank {

enum class DType : int {
    float16,
    bfloat16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
};

// A matrix of scores in memory that is not ours: any strides (in bytes, negative and 0 too), any alignment, either byte
// order.
struct Scores {
    const char* data;
    std::int64_t rows;
    std::int64_t columns;
    std::ptrdiff_t row_stride;
    std::ptrdiff_t column_stride;
    DType dtype;
    bool swapped;
};

// Task i reads row rows[i] (row i where rows is null); its true candidate is column targets[i].
struct Tasks {
    std::int64_t size;
    const std::int64_t* rows;
    const std::int64_t* targets;
};

enum class NanRule : int { raise, worst, omit };

struct Rules {
    bool ascending;
    NanRule nan;
};

// One integer per task each; the audit's are null where none is asked for. All start at 0.
struct Counts {
    std::int64_t* above;
    std::int64_t* tied;
    std::int64_t* candidates;
    std::int64_t* nan;
    std::int64_t* inf;
    std::int64_t* at_best;
    bool audit() const { return nan != nullptr; }
};

// What made the counts void: the first task whose target is not among its candidates, or the first row and column of a
// NaN that the rule does not allow.
struct Fault {
    enum class Kind : int { none, not_a_candidate, nan_score, nan_truth };
    Kind kind = Kind::none;
    std::int64_t task = -1;
    std::int64_t row = -1;
    std::int64_t column = -1;
};

// Fills the counts. `threads`: 0 for as many as are free. `interrupted` is asked now and then on the calling thread;
// Interrupted is thrown where it says yes. The caller vouches for rows, targets, lists and indptr; the indices of
// selections are checked here once more, since another thread could have written to them.
Fault rank(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
           const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts);

}  // namespace truerank
