// Ranks and top-k lists of vectors, and their scores. Scores of queries against candidates are computed tile by tile,
// and not stored unless they are what the caller asks for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "engine/rows/rank.hpp"
#include "engine/selection.hpp"
#include "engine/threads.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// A matrix with one vector in each row. Of vectors of complex numbers, whose parts may lie anywhere, columns are still
// counted as real numbers: number j has its real part at j * column_stride and its imaginary part `part_stride` after
// it, and they are columns 2 j and 2 j + 1.
struct VectorMatrix : Scores {
    std::optional<std::ptrdiff_t> part_stride;  // none where columns are real numbers, column_stride apart
    VectorMatrix(const Scores& numbers = {}, std::optional<std::ptrdiff_t> part_stride_ = {})
        : Scores(numbers), part_stride(part_stride_) {}
};

// Matrices with one vector in each row. If either of them holds doubles, or bytes, whose sums doubles hold exactly,
// scores are doubles, else floats; bias and means are of the same type. The bias is one number for each entity, or
// null. The means, which CSLS subtracts, are one for each query and one for each entity; both are given or both are
// null.
struct Embeddings {
    VectorMatrix queries;
    VectorMatrix entities;
    Similarity similarity;
    const void* bias = nullptr;
    const void* query_means = nullptr;
    const void* entity_means = nullptr;
    // Of late interaction: query i has the rows of `queries` from query_tokens[i] up to but not including
    // query_tokens[i + 1], its tokens; entities likewise. The score of a pair is the sum, over the query's tokens, of
    // the greatest score with any token of the entity. Empty where each has one vector.
    std::span<const std::int64_t> query_tokens{}, entity_tokens{};
    // Whether 0 is added to scores, which makes that of zeros +0.
    bool adds_zero = false;
    // Lists of one token each are vectors: the sum of one maximum is that score, added to 0.
    void take_tokens(std::span<const std::int64_t> of_queries, std::span<const std::int64_t> of_entities) {
        adds_zero = std::ssize(of_queries) == queries.rows + 1 && std::ssize(of_entities) == entities.rows + 1;
        query_tokens = adds_zero ? std::span<const std::int64_t>() : of_queries;
        entity_tokens = adds_zero ? std::span<const std::int64_t>() : of_entities;
    }
    bool has_tokens() const { return !query_tokens.empty(); }
    std::int64_t query_count() const { return has_tokens() ? std::ssize(query_tokens) - 1 : queries.rows; }
    std::int64_t entity_count() const { return has_tokens() ? std::ssize(entity_tokens) - 1 : entities.rows; }
    // The numbers of a query and those of a candidate that are multiplied for the score of a pair, on the average.
    std::int64_t mean_depth() const {
        if (!has_tokens()) return queries.columns;
        const std::int64_t of_query = queries.rows / std::max<std::int64_t>(1, query_count());
        return queries.columns * (1 + of_query * (entities.rows / std::max<std::int64_t>(1, entity_count())));
    }
    bool wide() const { return queries.dtype >= DType::float64 || entities.dtype >= DType::float64; }
};

// How a call is carried out. `block`: the number of candidates scored at a time, or 0 to have it chosen; `threads` and
// `interrupted` are those of rank(). `listener`, or null, hears how many pairs of a query and a candidate are done.
struct Execution {
    std::int64_t block;
    int threads;
    bool (*interrupted)();
    Listener* listener = nullptr;
};

// As rank(), with scores that are computed on the way: rows are queries, columns are entities. Tasks that bring their
// true scores, of the type that scores have, are given partial counts, in arrays that hold no other counts; a fault
// leaves them half filled.
Fault rank_embeddings(const Embeddings& embeddings, const Tasks& tasks, NanRule nan, const Execution& execution,
                      const Counts& counts);

// out[i] = the score of query rows[i] and entity columns[i]. If `columns` is null, row i of `out` has the scores of
// query rows[i] and all entities.
void score_embeddings(const Embeddings& embeddings, const std::int64_t* rows, const std::int64_t* columns,
                      std::int64_t tasks, const Execution& execution, void* out);

// The top k candidates of task i, which is a query: those with the highest scores, in descending order of scores and,
// where these are equal, in ascending order of ids. They are written to ids[i * k] and the places after it, their
// scores likewise; if there are fewer than k, the rest stays as the caller filled it.
Fault topk_embeddings(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, NanRule nan,
                      const Execution& execution, std::int64_t* ids, void* scores);

// Queries (on the left) and entities (on the right) that are each other's candidates: ids, ascending and distinct. They
// are copies, which nobody else writes to. Each tile of scores serves both its rows and its columns.
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
