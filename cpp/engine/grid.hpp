// Two sets of entities that rank each other: each tile of scores is counted both for its rows and for its columns.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/embeddings.hpp"
#include "engine/rank.hpp"
#include "engine/selection.hpp"

namespace truerank {

// Queries (on the left) and entities (on the right) that are each other's candidates: ids, ascending and distinct. They
// are copies, which nobody else writes to.
struct Grid {
    Embeddings embeddings;
    std::vector<std::int64_t> left;
    std::vector<std::int64_t> right;
    std::int64_t left_size() const { return static_cast<std::int64_t>(left.size()); }
    std::int64_t right_size() const { return static_cast<std::int64_t>(right.size()); }
};

// Task i pairs query rows[i] with entity targets[i], both of the grid, and is counted in both directions. The
// candidates are the entities in `to_right`, and the queries in `to_left`; the tasks' filter leaves out entities,
// filter_left queries. There is no audit.
//
// Memory grows with the number of tasks times, at worst, the number of tasks that share an entity. Where many do, it is
// better to rank each direction by itself.
std::array<Fault, 2> rank_grid(const Grid& grid, const Tasks& tasks, const Selection& filter_left, NanRule nan,
                               const Execution& execution, const Counts& to_right, const Counts& to_left);

// For each query of the grid the mean of its scores with its top k entities, and for each entity the mean of its scores
// with its top k queries; with all of them where they are fewer than k. The means are floats or doubles, as the scores
// are. The scores are added in double precision, the highest first; NaN are left out, whatever the rule.
Fault mean_topk(const Grid& grid, std::int64_t k, NanRule nan, const Execution& execution, void* left, void* right);

}  // namespace truerank
