// Tasks and their selections, rules, faults and counts, as Python has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "bind/calls.hpp"
#include "engine/rows/rank.hpp"

namespace truerank::bind {

NanRule nan_rule(std::string_view name);

struct SelectionArrays {
    Int64Array indptr;
    py::array indices;                // They are int32 or int64.
    std::optional<Int64Array> lists;  // Each task has one of these; without them, task i has list i.
    bool shared = false;              // All tasks share one list.
    bool ranges = false;  // List i holds the columns indptr[i] to indptr[i + 1] - 1, and there are no indices.

    // Checks types and shapes of the arrays; their contents are checked for every view.
    void check() const;
    // All lists, without regard to tasks.
    Selection view() const;
    Selection view(std::int64_t tasks) const;
};

struct TaskArrays {
    std::optional<Int64Array> rows;  // Without them, task i reads row i.
    std::optional<Int64Array> targets;
    std::optional<SelectionArrays> filter, candidates;

    // Checks targets and rows, one of each for a task, and returns the number of tasks.
    std::int64_t size() const;
    // So many tasks, of a whole matrix.
    Tasks view(std::int64_t tasks) const;
    // So many tasks with these true scores, of the part of a matrix that has so many columns from the first on.
    Tasks view_of_part(std::int64_t tasks, std::int64_t first_column, std::int64_t columns,
                       const void* true_scores) const;
};

struct AuditedRules {
    Rules rules;
    bool audit;
};

// The fault as Python has it: None if there is none.
std::optional<Fault> fault_or_none(const Fault& fault);

// What is counted for each task.
enum class Count : int { above, tied, candidates, nan, inf, at_best, best, differing };

// Counts for Python: new arrays by name, and what made them void.
class CountArrays {
  public:
    // `counted`: arrays by name, from whose numbers the new ones go on; none of them may be absent.
    explicit CountArrays(std::int64_t tasks, std::optional<py::dict> counted = {})
        : tasks_(tasks), counted_(std::move(counted)) {}
    // Takes memory for so many arrays at once, which are then views of it: where counts of narrow blocks come one after
    // another, the system is asked for fewer pages.
    void reserve(std::int64_t arrays, bool zeros = false);
    // These add new arrays, and those of an audit if there is one. Those that all counts have are filled with a value
    // or, without one, by the count.
    Counts add_counts(const AuditedRules& rules, std::optional<std::int64_t> value = 0);
    Counts add_partial_counts(const AuditedRules& rules, bool fills = true);
    const py::dict& arrays() const { return arrays_; }
    std::optional<Fault> fault;
    bool may_be_masked = true;

  private:
    std::int64_t* add(Count count, std::optional<std::int64_t> value = 0);

    std::int64_t tasks_;
    std::optional<py::dict> counted_;
    py::dict arrays_;
    Int64Array reserved_{py::reinterpret_steal<Int64Array>(py::handle())};
    std::int64_t used_ = 0;  // So many of the reserved arrays are used.
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::SelectionArrays);
TRUERANK_BOUND(truerank::bind::TaskArrays);
TRUERANK_BOUND(truerank::bind::AuditedRules);
TRUERANK_BOUND(truerank::bind::CountArrays);
TRUERANK_BOUND(truerank::Fault);
