// Ranks the tasks of a score matrix: which rows they read, what is left out, which rules hold. The kernels count.
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

// A matrix of scores in memory that the caller owns: with any strides (in bytes; they may be negative or 0), any
// alignment and either byte order.
struct Scores {
    const char* data;
    std::int64_t rows;
    std::int64_t columns;
    std::ptrdiff_t row_stride;
    std::ptrdiff_t column_stride;
    DType dtype;
    bool swapped;
};

// Task i reads row rows[i] (row i if `rows` is null); its true candidate is column targets[i]. Its candidates are all
// columns, or those in `candidates`, but for those in `filter`; the target is one of them even where the filter has it.
//
// If the scores are part of a larger matrix, the tasks bring their true scores, of the same type and in native byte
// order, since the targets may be in other parts. Columns are then numbered as in the larger matrix: first_column is
// the number of the part's first column. A target outside of the part is none of its candidates; -1 is outside of all
// parts.
struct Tasks {
    std::int64_t size;
    const std::int64_t* rows;
    const std::int64_t* targets;
    Selection filter = {};
    Selection candidates = {};
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

// The key of the best of some scores, and how many have it.
struct Best {
    std::int64_t key;
    std::int64_t count = 0;
    // Adds the best of other scores.
    void add(const Best& other, bool ascending) {
        if (ascending ? other.key < key : other.key > key) *this = {other.key, 0};
        if (other.key == key) count += other.count;
    }
};

// Arrays of one integer for each task. Those of an audit are null if there is none. Above, tied and candidates are set
// by a count of a whole matrix; all others start at 0.
//
// Partial counts, those of part of a matrix, are added to what the arrays hold, unless they are new. They leave out the
// true score and are in descending order whatever the rules say (except for `best`), so that parts add up. `best`,
// which starts at the worst key, is the key of the best score among the part's candidates before the filter;
// `differing` counts the parts whose score at the target is not the true score.
struct Counts {
    std::int64_t* above = nullptr;
    std::int64_t* tied = nullptr;
    std::int64_t* candidates = nullptr;
    std::int64_t* nan = nullptr;  // partial counts always have it
    std::int64_t* inf = nullptr;
    std::int64_t* at_best = nullptr;
    std::int64_t* best = nullptr;       // partial counts, in an audit
    std::int64_t* differing = nullptr;  // partial counts
    // Partial counts: above, tied and candidates hold nothing yet.
    bool are_new = false;
    // Set to whether a task may be masked: its true score is the worst that a float can be. Where rows are short that
    // is found while they are in the cache; elsewhere every task may be.
    bool* may_be_masked = nullptr;
    bool audit() const { return inf != nullptr; }
    // Adds the best score of a part for a task.
    void add_best(std::int64_t task, const Best& part, bool ascending) const {
        Best sum{best[task], at_best[task]};
        sum.add(part, ascending);
        best[task] = sum.key;
        at_best[task] = sum.count;
    }
};

// What made the counts void: the first task whose target is not among its candidates, or the first row and column of a
// NaN that the rule does not allow.
struct Fault {
    enum class Kind : int { none, not_a_candidate, nan_score, nan_true_score };
    Kind kind = Kind::none;
    std::int64_t task = -1;
    std::int64_t row = -1;
    std::int64_t column = -1;
    explicit operator bool() const { return kind != Kind::none; }
    // Becomes another fault if that is the one to report: first a target that is no candidate, then a NaN; of these the
    // first task, or the first row and column.
    void take(const Fault& other);
};

// What a NaN among the candidates of a task is by a rule, where it makes the counts void.
inline Fault::Kind kind_of_nan(NanRule rule, bool is_true_score) {
    if (rule == NanRule::raise) return Fault::Kind::nan_score;
    return rule == NanRule::omit && is_true_score ? Fault::Kind::nan_true_score : Fault::Kind::none;
}

// What the keys of a type's scores mean: integers in the order of the scores. `bottom` and `top` are the keys of -inf
// and +inf, or of the least and the greatest integer; keys of NaN are below `bottom`.
struct KeyRange {
    std::int64_t bottom;
    std::int64_t top;
    bool floating;
};
// Writes the keys of the scores of a matrix of one column.
KeyRange keys_of(const Scores& column, std::int64_t* keys);

// Fills the counts. `threads` is their number, or 0 for as many as are free. `interrupted` is called now and then on
// the calling thread; when it returns true, this throws Interrupted. The caller has checked rows, targets, lists and
// indptr; the indices of selections are checked here again, since another thread could have written to them.
Fault rank(const Scores& scores, const Tasks& tasks, const Rules& rules, int threads, bool (*interrupted)(),
           const Counts& counts);

}  // namespace truerank
