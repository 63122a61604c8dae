// Scores of queries against candidates, made of their vectors tile by tile and never stored: ranks, the best, and, for
// those who ask, the scores themselves.
#pragma once

#include <cstdint>

#include "engine/rank.hpp"
#include "engine/selection.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// Matrices of vectors, one to a row. Scores are doubles where one of them holds doubles, else floats, and so is the
// bias, one number for each entity, or null, and are the means that CSLS takes off, one for each query and each entity,
// both or neither.
struct Embeddings {
    Scores queries;
    Scores entities;
    Similarity similarity;
    const void* bias = nullptr;
    const void* query_means = nullptr;
    const void* entity_means = nullptr;
    bool wide() const { return queries.dtype == DType::float64 || entities.dtype == DType::float64; }
};

// `block`: candidates scored at a time, 0 for as many as seem good; `threads` and `interrupted` as in rank.
struct Execution {
    std::int64_t block;
    int threads;
    bool (*interrupted)();
};

// As rank, of scores that are made on the way: rows are queries, columns entities.
Fault rank_embeddings(const Embeddings& embeddings, const Tasks& tasks, const Selection& filter,
                      const Selection& candidates, NanRule nan, const Execution& execution, const Counts& counts);

// out[i] = the score of query rows[i] and entity columns[i]; or, where columns is null, row i of `out` has those of
// query rows[i] and all entities.
void score_embeddings(const Embeddings& embeddings, const std::int64_t* rows, const std::int64_t* columns,
                      std::int64_t tasks, const Execution& execution, void* out);

// What entities hold already, one score and one query each, or null: only those are candidates of a query that score
// above that with it, or the same where it comes before theirs.
struct CurrentMatches {
    const void* scores = nullptr;  // as Embeddings have them
    const std::int64_t* queries = nullptr;
};

// The k best candidates of task i, a query each, best first and equals in their order: ids[i * k ...], scores likewise,
// which come filled for tasks of fewer candidates.
Fault topk_embeddings(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, const Selection& filter,
                      const Selection& candidates, NanRule nan, const CurrentMatches& current_matches,
                      const Execution& execution, std::int64_t* ids, void* scores);

}  // namespace truerank
