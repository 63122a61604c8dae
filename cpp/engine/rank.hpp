// Drives the kernels over a score matrix: which tasks read which row, what is left out, which rule holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/selection.hpp"

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
//
// Of a part of a larger matrix the tasks bring their truths, scores of the part's type in native byte order, since
// their own columns may lie elsewhere: columns are then numbered as in the whole, where the part's first one is
// first_column, and a target outside of the part (-1: nowhere) is none of its candidates.
struct Tasks {
    std::int64_t size;
    const std::int64_t* rows;
    const std::int64_t* targets;
    const char* true_scores = nullptr;
    std::int64_t first_row = 0;
    std::int64_t first_column = 0;
    bool is_partial() const { return true_scores != nullptr; }
};

enum class NanRule : int { raise, worst, omit };

struct Rules {
    bool ascending;
    NanRule nan;
};

// One integer per task each; the audit's are null where none is asked for. All start at 0.
//
// Of a part, what is found is added: the candidates without the truth, in descending order whatever the rules say
// (`best` follows them), so that parts add up. `best`, the key of the best score of the part's candidates before the
// filter, starts at the worst key; `differing` counts blocks whose score at the target is not the truth.
struct Counts {
    std::int64_t* above = nullptr;
    std::int64_t* tied = nullptr;
    std::int64_t* candidates = nullptr;
    std::int64_t* nan = nullptr;  // of a part: always
    std::int64_t* inf = nullptr;
    std::int64_t* at_best = nullptr;
    std::int64_t* best = nullptr;       // of a part, audited
    std::int64_t* differing = nullptr;  // of a part
    bool audit() const { return inf != nullptr; }
};

// What made the counts void: the first task whose target is not among its candidates, or the first row and column of a
// NaN that the rule does not allow.
struct Fault {
    enum class Kind : int { none, not_a_candidate, nan_score, nan_true_score };
    Kind kind = Kind::none;
    std::int64_t task = -1;
    std::int64_t row = -1;
    std::int64_t column = -1;
};

// Of two faults, the one to report: a target that is no candidate before a NaN, then the first task, or the first row
// and column.
inline bool precedes(const Fault& a, const Fault& b) {
    if (a.kind == Fault::Kind::none || b.kind == Fault::Kind::none) return b.kind == Fault::Kind::none;
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.kind == Fault::Kind::not_a_candidate) return a.task < b.task;
    return a.row != b.row ? a.row < b.row : a.column < b.column;
}

// The keys of scores, integers in their order: those of NaN are below `bottom`, the key of -inf (of the least integer).
struct KeyRange {
    std::int64_t bottom;
    std::int64_t top;
    bool floating;
};
KeyRange keys_of(const Scores& column, std::int64_t* keys);

// Fills the counts. `threads`: 0 for as many as are free. `interrupted` is asked now and then on the calling thread;
// Interrupted is thrown where it says yes. The caller vouches for rows, targets, lists and indptr; the indices of
// selections are checked here once more, since another thread could have written to them.
Fault rank(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
           const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts);

}  // namespace truerank
