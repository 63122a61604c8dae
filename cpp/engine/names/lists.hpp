// Lists of candidates by their ids, such as the best hundred of each query: where targets and filters are in them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/selection.hpp"

namespace truerank {

// Tasks in ascending order of their lists.
struct ListTasks {
    std::int64_t size = 0;
    const std::int64_t* lists = nullptr;
    const std::int64_t* targets = nullptr;
};

// Arrays of one integer for each task. Places are positions in the ids of all lists.
struct ListedTasks {
    std::int64_t* place = nullptr;     // of the target in its list, or -1
    std::int64_t* filtered = nullptr;  // ids that the filter leaves out; the target is never one of them
    std::int64_t* before = nullptr;    // those of them that are listed before the target, or at all if it is not listed
    std::int64_t* places = nullptr;    // how many of them are listed at all
    std::int64_t* shared = nullptr;    // which of FilteredPlaces are its own
};

// The places of the ids that a filter leaves out of a list, ascending, and of targets that it names: those number i
// begin at indptr[i]. Tasks of one list with one filter share theirs.
struct FilteredPlaces {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int64_t> places;
};

// The place of the first id that is outside of [0, bound), or that its list has already: then `earlier` is its first
// place. -1: there is none.
struct ListFault {
    std::int64_t place = -1;
    std::int64_t earlier = -1;
};

// Checks all ids and fills the arrays. Afterwards `filtered` has the places of all tasks, if there is a filter and no
// fault.
ListFault find_listed(const Selection& lists, std::int64_t bound, const ListTasks& tasks, const Selection& filter,
                      int threads, bool (*interrupted)(), const ListedTasks& arrays, FilteredPlaces& filtered);

}  // namespace truerank
