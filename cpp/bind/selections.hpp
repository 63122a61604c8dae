// Selections of candidates as Python has them: their arrays.
#pragma once

#include <cstdint>
#include <optional>

#include "bind/calls.hpp"
#include "engine/selection.hpp"

namespace truerank::bind {

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

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::SelectionArrays);
