// Selections of columns, which are what a task leaves out (a filter) or all that it lets in (candidates).
//
// A selection is some lists of columns, and says which of them each task has. Lists lie one after the other in one
// array of indices, as in a sparse matrix (CSR): list i is indices[indptr[i]] to indices[indptr[i + 1] - 1]. So the
// lists {2, 5, 7}, {} and {1, 5} are
//
//     indptr = {0, 3, 3, 5}    indices = {2, 5, 7, 1, 5}
//
// and with list_of_task = {2, 0, 2} the first and the third task have the last of them. Each list is sorted and without
// repeats, so that a column is found by halving, and columns can be walked along with those of a row. What users hand
// over need not be so: check_lists and sort_lists see to it before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace truerank {

// Where a list is in the indices.
struct Span {
    std::int64_t start = 0;
    std::int64_t length = 0;
};

// The columns of part of a matrix, as they are numbered in the whole.
struct ColumnWindow {
    std::int64_t begin;
    std::int64_t end;
};

struct Selection {
    // The lists. If indptr is null, there is no selection.
    const std::int64_t* indptr = nullptr;
    const void* indices = nullptr;
    bool wide = true;          // whether indices have 64 bits rather than 32
    bool ranges = false;       // there are no indices: list i holds the columns indptr[i] to indptr[i + 1] - 1
    std::int64_t size = 0;     // number of lists
    std::int64_t entries = 0;  // of all lists
    std::int64_t longest = 0;

    // Which list a task has: task i has list list_of_task[i], or list i if that is null, or list 0 if all tasks share
    // it, or if there is no selection.
    const std::int64_t* list_of_task = nullptr;
    bool shared = false;

    // For part of a matrix, which of the columns it has: lists hold those of the whole matrix.
    std::optional<ColumnWindow> window;

    explicit operator bool() const { return indptr != nullptr; }
    std::int64_t list(std::int64_t task) const {
        if (shared || indptr == nullptr) return 0;
        return list_of_task == nullptr ? task : list_of_task[task];
    }
    std::int64_t length(std::int64_t list) const { return indptr[list + 1] - indptr[list]; }
    std::int64_t column(std::int64_t position) const {
        if (ranges) return position;
        return wide ? static_cast<const std::int64_t*>(indices)[position]
                    : static_cast<const std::int32_t*>(indices)[position];
    }
    // The position of the first column that is not below `column`, among the positions from `low` to `high` of a list.
    std::int64_t find(std::int64_t low, std::int64_t high, std::int64_t column) const {
        while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            if (this->column(middle) < column) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    // The same, quick if the result is near `begin`.
    std::int64_t seek(std::int64_t begin, std::int64_t end, std::int64_t column) const {
        std::int64_t low = begin, step = 1;
        for (; low + step <= end && this->column(low + step - 1) < column; step *= 2) low += step;
        return find(low, std::min(end, low + step - 1), column);
    }
    bool has(std::int64_t list, std::int64_t column) const {
        const std::int64_t at = find(indptr[list], indptr[list + 1], column);
        return at < indptr[list + 1] && this->column(at) == column;
    }
    // The span of those columns of a list that are in the window.
    Span span(std::int64_t list) const {
        if (!window) return {indptr[list], length(list)};
        const std::int64_t start = find(indptr[list], indptr[list + 1], window->begin);
        // A list that another thread writes to meanwhile may be out of order: none ends before it starts.
        return {start, find(start, indptr[list + 1], window->end) - start};
    }
    // The same of the list that a task has. Without a selection it has no column.
    Span task_span(std::int64_t task) const { return span(list(task)); }
    bool task_has(std::int64_t task, std::int64_t column) const { return *this && has(list(task), column); }
    // The selection for the tasks from first_task on.
    Selection from_task(std::int64_t first_task) const {
        Selection result = *this;
        if (list_of_task != nullptr) {
            result.list_of_task += first_task;
        } else if (!shared && indptr != nullptr) {
            result.indptr += first_task;
        }
        return result;
    }
    // The selection for the part of a matrix that has these columns.
    Selection within(std::int64_t begin, std::int64_t end) const {
        Selection result = *this;
        result.window = ColumnWindow{begin, end};
        return result;
    }
};

// Columns: those of a list from a position on, or consecutive ones. Indices are checked once more as they are read: the
// array is the caller's, whose other threads could have written to it.
class ListedColumns {
  public:
    std::int64_t start, size;

    // Consecutive ones.
    ListedColumns(std::int64_t first, std::int64_t size_) : start(first), size(size_) {}
    // Those of a span of a selection. Its numbers may be those of a larger matrix, in which the first of `columns` has
    // the number first_column.
    ListedColumns(const Selection& selection, Span span, std::int64_t columns, std::int64_t first_column = 0)
        : start(span.start),
          size(span.length),
          indices_(selection.ranges ? nullptr : selection.indices),
          wide_(selection.wide),
          columns_(columns),
          first_column_(first_column) {
        if (!selection.ranges) return;
        start = std::clamp<std::int64_t>(start - first_column, 0, columns);
        size = std::clamp<std::int64_t>(size, 0, columns - start);
    }
    // Those of an array of ids.
    ListedColumns(const std::vector<std::int64_t>& ids, Span span, std::int64_t columns)
        : start(span.start), size(span.length), indices_(ids.data()), columns_(columns) {}

    bool are_consecutive() const { return indices_ == nullptr; }
    std::int64_t operator()(std::int64_t i) const {
        if (are_consecutive()) return start + i;
        return checked(wide_ ? static_cast<const std::int64_t*>(indices_)[start + i]
                             : static_cast<const std::int32_t*>(indices_)[start + i]);
    }
    // Calls `use` with the columns from a place on, as a function of 0, 1, ... that knows which integers they are.
    template <class Use>
    void with_numbers(std::int64_t begin, const Use& use) const {
        const std::int64_t at = start + begin;
        const auto use_listed = [&](const auto* from) {
            use([from, columns = *this](std::int64_t i) { return columns.checked(from[i]); });
        };
        if (are_consecutive()) {
            use([at](std::int64_t i) { return at + i; });
        } else if (wide_) {
            use_listed(static_cast<const std::int64_t*>(indices_) + at);
        } else {
            use_listed(static_cast<const std::int32_t*>(indices_) + at);
        }
    }

  private:
    std::int64_t checked(std::int64_t number) const {
        const std::int64_t column = number - first_column_;
        return static_cast<std::uint64_t>(column) < static_cast<std::uint64_t>(columns_) ? column : 0;
    }

    const void* indices_ = nullptr;
    bool wide_ = true;
    std::int64_t columns_ = 0, first_column_ = 0;
};

// The first task whose list lacks its column, or -1.
std::int64_t first_task_without(const Selection& selection, const std::int64_t* columns, std::int64_t tasks);

// The position of the first value that is not from `least`, 0 or -1, to `bound` - 1, or -1. Only where the sign of a
// difference says that there is one is it looked for.
std::int64_t first_outside(const std::int64_t* values, std::int64_t n, std::int64_t bound, std::int64_t least);

// The position of the first index outside [0, bound), or -1; and whether every list is sorted and without repeats.
struct ListCheck {
    std::int64_t first_outside = -1;
    bool sorted = true;
};
ListCheck check_lists(const Selection& lists, std::int64_t bound, int threads, bool (*interrupted)());

// Writes the distinct indices of every list, sorted, to the place in `out` where the list is in its own indices.
// lengths[i] becomes their number.
void sort_lists(const Selection& lists, void* out, std::int64_t* lengths, std::int64_t bound, int threads,
                bool (*interrupted)());

}  // namespace truerank
