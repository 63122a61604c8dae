// Selections of candidates as Python has them: arrays, held together.
#pragma once

#include <cstdint>
#include <optional>

#include "bind/calls.hpp"
#include "engine/selection.hpp"

namespace truerank::bind {

struct SelectionArrays {
    Int64Array indptr;
    py::array indices;                // int32 or int64
    std::optional<Int64Array> lists;  // of every task; none: task i has list i
    bool shared = false;              // one list, which all tasks have
    bool ranges = false;              // the lists are their own positions, and there are no indices

    // Whether the arrays are such that lists can be read there; their contents are checked with every view.
    void check() const;
    // All lists, without regard to tasks.
    Selection view() const;
    Selection view(std::int64_t tasks) const;
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::SelectionArrays);
