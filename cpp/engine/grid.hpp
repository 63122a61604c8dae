// Two sets of entities that rank each other: what the rows and what the columns of their scores hold is taken from the
// same tiles.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/embeddings.hpp"
#include "engine/rank.hpp"
#include "engine/selection.hpp"

namespace truerank {

// Some queries (on the left) and some entities (on the right), who ask and are each other's candidates: ids, ascending
// and distinct; copies, which nobody writes to.
struct Grid {
    Embeddings embeddings;
    std::vector<std::int64_t> left;
    std::vector<std::int64_t> right;
    std::int64_t lefts() const { return static_cast<std::int64_t>(left.size()); }
    std::int64_t rights() const { return static_cast<std::int64_t>(right.size()); }
};

// Task i pairs query rows[i] with entity targets[i], both of the grid, and is counted in both directions: `to_right`,
// with the entities as candidates, and `to_left`. The filters leave out entities and queries. Without an audit.
//
// Memory goes as the number of tasks, times, at the worst, how many of them share an entity: for many, ranking each
// direction by itself is better.
std::array<Fault, 2> rank_grid(const Grid& grid, const Tasks& tasks, const Selection& filter_right,
                               const Selection& filter_left, NanRule nan, const Execution& execution,
                               const Counts& to_right, const Counts& to_left);

// The mean score of each query of the grid with its k best entities, and of each entity with its k best queries, or
// with all, where these are fewer; floats or doubles, as the scores are. The scores are added from the best on in
// double precision, NaN left out, whatever the rule.
Fault mean_topk(const Grid& grid, std::int64_t k, NanRule nan, const Execution& execution, void* left, void* right);

}  // namespace truerank
