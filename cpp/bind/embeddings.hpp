// Vectors of two sides and how pairs of them are scored, as Python has them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bind/scores.hpp"
#include "engine/embeddings.hpp"

namespace truerank::bind {

struct EmbeddingArrays {
    using Means = std::pair<py::array, py::array>;

    ScoreArray queries, entities;
    Similarity similarity;
    std::optional<py::array> bias;  // of every entity
    std::optional<Means> means;     // of CSLS: of every query, and of every entity

    Embeddings view() const;
};

// A new array of the type that scores have.
py::array new_scores(const Embeddings& embeddings, const std::vector<py::ssize_t>& shape);

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::EmbeddingArrays);
