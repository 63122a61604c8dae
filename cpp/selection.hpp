// Selections of columns: filters and candidates.
#pragma once

#include <cstdint>

namespace truerank {

// A list of columns for every task, each sorted and without repeats: task i has list of[i], or list i where `of` is
// null, or list 0 where there is but one for all (shared). No selection: indptr is null.
struct Selection {
    const std::int64_t* indptr = nullptr;
    const void* indices = nullptr;
    bool wide = true;  // 64-bit indices, else 32-bit
    const std::int64_t* of = nullptr;
    bool shared = false;
    std::int64_t size = 0;     // lists
    std::int64_t entries = 0;  // in all of them
    std::int64_t longest = 0;

    explicit operator bool() const { return indptr != nullptr; }
    std::int64_t list(std::int64_t task) const { return shared ? 0 : of == nullptr ? task : of[task]; }
    std::int64_t length(std::int64_t list) const { return indptr[list + 1] - indptr[list]; }
    std::int64_t column(std::int64_t position) const {
        return wide ? static_cast<const std::int64_t*>(indices)[position]
                    : static_cast<const std::int32_t*>(indices)[position];
    }
};

// The position of the first index outside [0, bound), or -1; and whether every list is sorted and without repeats.
struct ListCheck {
    std::int64_t first_outside = -1;
    bool sorted = true;
};
ListCheck check_lists(const Selection& lists, std::int64_t bound, int threads, bool (*interrupted)());

// Sorts every list of `indices`, which is ours, and moves its distinct indices to its front; lengths[i] says how many
// they are.
void sort_lists(const Selection& lists, void* indices, std::int64_t* lengths, std::int64_t bound, int threads,
                bool (*interrupted)());

}  // namespace truerank
