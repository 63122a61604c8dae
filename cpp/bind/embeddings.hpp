// Embeddings as Python has them: vectors of queries and entities, and how a pair of them is scored.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bind/scores.hpp"
#include "engine/sweep/embeddings.hpp"

namespace truerank::bind {

struct EmbeddingArrays {
    using Means = std::pair<py::array, py::array>;
    using Tokens = std::pair<Int64Array, Int64Array>;

    ScoreArray queries, entities;
    Similarity similarity;
    std::optional<py::array> bias;  // It has a number for every entity.
    std::optional<Means> means;     // CSLS has one for every query, and one for every entity.
    std::optional<Tokens> tokens;   // Where the tokens of each begin, of late interaction.

    Embeddings view() const;
};

// A new array of the scores' type.
py::array new_scores(const Embeddings& embeddings, const std::vector<py::ssize_t>& shape);

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::EmbeddingArrays);
