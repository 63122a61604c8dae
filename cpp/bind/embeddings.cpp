// Embeddings: how the vectors of queries and entities are scored, ranked and listed; and grids of these, which are all
// compared with one another, for ranks in both directions and means of the top k.
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/scores.hpp"
#include "bind/tasks.hpp"
#include "engine/bounds/value_scale.hpp"
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

// Embeddings, and the ids of the queries and entities that take part, ascending and distinct.
struct GridArrays {
    EmbeddingArrays embeddings;
    std::vector<std::int64_t> left, right;

    Grid view() const {
        Grid grid{embeddings.view(), left, right};
        require(!embeddings.tokens, "embeddings: lists of tokens");
        require(left.back() < grid.embeddings.queries.rows && right.back() < grid.embeddings.entities.rows,
                "left, right: outside of the vectors");
        return grid;
    }
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::EmbeddingArrays);
TRUERANK_BOUND(truerank::bind::GridArrays);

namespace truerank::bind {
namespace {

Similarity similarity_of(std::string_view name) {
    const auto* row = std::find_if(std::begin(kSimilarities), std::end(kSimilarities),
                                   [&](const NamedSimilarity& known) { return name == known.name; });
    require(row != std::end(kSimilarities), "similarity: unknown");
    return row->similarity;
}

// The data of an array with one number of the scores' type for each of n vectors.
const void* checked_numbers(const py::array& array, bool wide, std::int64_t n, const char* message) {
    const bool typed = wide ? py::isinstance<py::array_t<double>>(array) : py::isinstance<py::array_t<float>>(array);
    require(typed && array.ndim() == 1 && array.size() == n && is_plain(array), message);
    return array.data();
}

// The starts of lists of one token or more, one after the other, of so many rows.
std::span<const std::int64_t> checked_starts(const Int64Array& array, std::int64_t rows) {
    require(array.ndim() == 1 && array.size() > 0, "tokens: not the starts of lists");
    const std::span starts(array.data(), static_cast<std::size_t>(array.size()));
    const bool ascend = std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()) == starts.end();
    require(starts.front() == 0 && starts.back() == rows && ascend, "tokens: not the starts of lists");
    return starts;
}

// A new array of the scores' type.
py::array new_scores(const Embeddings& embeddings, const std::vector<py::ssize_t>& shape) {
    if (embeddings.wide()) return py::array_t<double>(shape);
    return py::array_t<float>(shape);
}

EmbeddingArrays make_embeddings(ScoreArray queries, ScoreArray entities, std::string_view similarity,
                                std::optional<py::array> bias, std::optional<EmbeddingArrays::Means> means,
                                std::optional<EmbeddingArrays::Tokens> tokens) {
    const bool sums_maxima = similarity == "maxsim";
    require(sums_maxima == tokens.has_value(), "tokens: those of maxsim");
    EmbeddingArrays embeddings{
        std::move(queries), std::move(entities), sums_maxima ? Similarity::dot : similarity_of(similarity),
        std::move(bias),    std::move(means),    std::move(tokens)};
    embeddings.view();
    return embeddings;
}

// Checks rows and returns the number of tasks; without rows, task i is query i.
std::int64_t require_queries(const std::optional<Int64Array>& rows, std::int64_t queries) {
    if (!rows) return queries;
    require(rows->ndim() == 1, "rows: not one-dimensional");
    require_within(*rows, queries, "rows: outside of the queries");
    return rows->size();
}

// What ranks and partial counts have in common.
CountArrays count_vectors(const Embeddings& embeddings, const std::optional<Int64Array>& rows, const Tasks& tasks,
                          const AuditedRules& audited_rules, const Execution& execution) {
    require(tasks.size <= require_queries(rows, embeddings.query_count()), "rows: not one for each task");
    require(execution.block >= 0, "block: negative");
    require(!audited_rules.rules.ascending, "order: only descending for vectors");
    require(!tasks.candidates.ranges, "candidates: ranges");
    CountArrays results(tasks.size);
    const Counts counts =
        tasks.is_partial() ? results.add_partial_counts(audited_rules) : results.add_counts(audited_rules);
    Fault fault;
    without_gil([&] { fault = rank_embeddings(embeddings, tasks, audited_rules.rules.nan, execution, counts); });
    results.fault = fault_or_none(fault);
    return results;
}

CountArrays rank_vectors(const EmbeddingArrays& pairs, const TaskArrays& task_arrays, const AuditedRules& audited_rules,
                         std::int64_t block, int threads, PythonListener* listener) {
    const Embeddings embeddings = pairs.view();
    const std::int64_t size = task_arrays.size();
    require_within(*task_arrays.targets, embeddings.entity_count(), "targets: outside of the entities");
    return count_vectors(embeddings, task_arrays.rows, task_arrays.view(size), audited_rules,
                         {block, threads, interrupt_hook(), listener});
}

CountArrays partial_counts_of_vectors(const EmbeddingArrays& pairs, const TaskArrays& task_arrays,
                                      const py::array& true_scores, std::int64_t first_column,
                                      const AuditedRules& audited_rules, std::int64_t block, int threads,
                                      PythonListener* listener) {
    const Embeddings embeddings = pairs.view();
    const std::int64_t size = task_arrays.size();
    const void* const scores =
        checked_numbers(true_scores, embeddings.wide(), size, "true_scores: not one for each task");
    const Tasks tasks = task_arrays.view_of_part(size, first_column, embeddings.entity_count(), scores);
    return count_vectors(embeddings, task_arrays.rows, tasks, audited_rules,
                         {block, threads, interrupt_hook(), listener});
}

// The values above and below which a score is certainly above and below another one, and the relative error of a sum.
std::tuple<double, double, double> value_thresholds(std::string_view similarity, bool wide, std::int64_t length,
                                                    double score, double largest_bias,
                                                    const std::optional<std::pair<double, double>>& means) {
    const auto [mean, largest_mean] = means.value_or(std::pair(0.0, 0.0));
    const auto of = [&, mean = mean, largest_mean = largest_mean](auto zero) {
        const ValueScale<decltype(zero)> scale(similarity_of(similarity), length, means.has_value(), largest_bias,
                                               largest_mean);
        const ValueThresholds thresholds = scale.thresholds(score, mean);
        return std::tuple(thresholds.above, thresholds.below, scale.gamma());
    };
    return wide ? of(0.0) : of(0.0F);
}

py::array score_vectors(const EmbeddingArrays& pairs, const std::optional<Int64Array>& rows,
                        const std::optional<Int64Array>& targets, int threads) {
    const Embeddings embeddings = pairs.view();
    const std::int64_t size = require_queries(rows, embeddings.query_count());
    if (targets) {
        require(targets->ndim() == 1 && targets->size() == size, "targets: not one for each task");
        require_within(*targets, embeddings.entity_count(), "targets: outside of the entities");
    }
    std::vector<std::int64_t> all_rows(rows ? 0 : static_cast<std::size_t>(size));
    std::iota(all_rows.begin(), all_rows.end(), std::int64_t{0});
    const std::int64_t* const row_data = rows ? rows->data() : all_rows.data();
    std::vector<py::ssize_t> shape{size};
    if (!targets) shape.push_back(embeddings.entity_count());
    py::array scores = new_scores(embeddings, shape);
    void* const out = scores.mutable_data();
    const Execution execution{0, threads, interrupt_hook()};
    without_gil(
        [&] { score_embeddings(embeddings, row_data, targets ? targets->data() : nullptr, size, execution, out); });
    return scores;
}

std::tuple<Int64Array, py::array, std::optional<Fault>> topk_vectors(const EmbeddingArrays& pairs,
                                                                     const TaskArrays& task_arrays, std::int64_t k,
                                                                     std::string_view nan, std::int64_t block,
                                                                     int threads, PythonListener* listener) {
    const Embeddings embeddings = pairs.view();
    const std::int64_t size = require_queries(task_arrays.rows, embeddings.query_count());
    require(k >= 0 && block >= 0, "k, block: negative");
    require(!task_arrays.targets, "targets: not for top k");
    const NanRule rule = nan_rule(nan);
    const Tasks tasks = task_arrays.view(size);
    require(!tasks.candidates.ranges, "candidates: ranges");
    Int64Array ids(std::vector<py::ssize_t>{size, k});
    py::array scores = new_scores(embeddings, {size, k});
    std::int64_t* const id_data = ids.mutable_data();
    void* const score_data = scores.mutable_data();
    const py::ssize_t places = ids.size();
    const Execution execution{block, threads, interrupt_hook(), listener};
    Fault fault;
    without_gil([&] {
        std::fill_n(id_data, places, std::int64_t{-1});
        if (embeddings.wide()) {
            std::fill_n(static_cast<double*>(score_data), places, std::numeric_limits<double>::quiet_NaN());
        } else {
            std::fill_n(static_cast<float*>(score_data), places, std::numeric_limits<float>::quiet_NaN());
        }
        fault = topk_embeddings(embeddings, tasks, k, rule, execution, id_data, score_data);
    });
    return {ids, scores, fault_or_none(fault)};
}

std::vector<std::int64_t> checked_ids(const Int64Array& ids) {
    require(ids.ndim() == 1 && ids.size() > 0, "left, right: no ids");
    std::vector<std::int64_t> copy(ids.data(), ids.data() + ids.size());
    require(std::adjacent_find(copy.begin(), copy.end(), std::greater_equal<>()) == copy.end(),
            "left, right: not ascending");
    require(copy.front() >= 0, "left, right: outside of the vectors");
    return copy;
}

GridArrays make_grid(EmbeddingArrays embeddings, const Int64Array& left, const Int64Array& right) {
    GridArrays grid{std::move(embeddings), checked_ids(left), checked_ids(right)};
    grid.view();
    return grid;
}

void require_among(const Int64Array& values, const std::vector<std::int64_t>& ids, const char* message) {
    require(std::all_of(values.data(), values.data() + values.size(),
                        [&](std::int64_t id) { return std::binary_search(ids.begin(), ids.end(), id); }),
            message);
}

std::pair<CountArrays, CountArrays> rank_both(const GridArrays& grid_arrays, const TaskArrays& task_arrays,
                                              const std::optional<SelectionArrays>& filter_left, std::string_view nan,
                                              std::int64_t block, int threads, PythonListener* listener) {
    const Grid grid = grid_arrays.view();
    const std::int64_t size = task_arrays.size();
    require(task_arrays.rows && !task_arrays.candidates, "tasks: rows, and no candidates");
    require_among(*task_arrays.rows, grid.left, "rows: not among the queries that take part");
    require_among(*task_arrays.targets, grid.right, "targets: not among the entities that take part");
    require(block >= 0 && block <= std::int64_t{1} << 40, "block: out of range");
    const NanRule rule = nan_rule(nan);
    const Tasks tasks = task_arrays.view(size);
    const Selection left_filter = filter_left ? filter_left->view(size) : Selection{};
    require(!left_filter.ranges, "selection: ranges");
    CountArrays to_right(size), to_left(size);
    const Counts counts[] = {to_right.add_counts({}), to_left.add_counts({})};
    std::array<Fault, 2> faults;
    const Execution execution{block, threads, interrupt_hook(), listener};
    without_gil([&] { faults = rank_grid(grid, tasks, left_filter, rule, execution, counts[0], counts[1]); });
    to_right.fault = fault_or_none(faults[0]);
    to_left.fault = fault_or_none(faults[1]);
    return {std::move(to_right), std::move(to_left)};
}

std::tuple<py::array, py::array, std::optional<Fault>> topk_means(const GridArrays& grid_arrays, std::int64_t k,
                                                                  std::string_view nan, std::int64_t block, int threads,
                                                                  PythonListener* listener) {
    const Grid grid = grid_arrays.view();
    require(k >= 1 && block >= 0, "k, block: too small");
    const NanRule rule = nan_rule(nan);
    const auto size = [](const std::vector<std::int64_t>& ids) { return static_cast<py::ssize_t>(ids.size()); };
    py::array left = new_scores(grid.embeddings, {size(grid.left)});
    py::array right = new_scores(grid.embeddings, {size(grid.right)});
    void* const left_means = left.mutable_data();
    void* const right_means = right.mutable_data();
    const Execution execution{block, threads, interrupt_hook(), listener};
    Fault fault;
    without_gil([&] { fault = mean_topk(grid, k, rule, execution, left_means, right_means); });
    return {left, right, fault_or_none(fault)};
}

}  // namespace

Embeddings EmbeddingArrays::view() const {
    Embeddings embeddings{queries.vectors(), entities.vectors(), similarity};
    for (const VectorMatrix& vectors : {embeddings.queries, embeddings.entities}) {
        const bool is_byte = vectors.dtype == DType::int8 || vectors.dtype == DType::uint8;
        require(is_byte || vectors.dtype <= DType::float64, "vectors: neither floats nor bytes");
    }
    require(embeddings.queries.columns == embeddings.entities.columns, "vectors: of different lengths");
    require(embeddings.queries.columns % components(similarity) == 0, "vectors: of odd length");
    // Its products with other sizes then fit into 64 bits.
    require(embeddings.queries.columns <= std::int64_t{1} << 31, "vectors: too long");
    const bool wide = embeddings.wide();
    if (bias) embeddings.bias = checked_numbers(*bias, wide, embeddings.entities.rows, "bias: not one for each entity");
    if (tokens) {
        require(!bias && !means && similarity == Similarity::dot, "tokens: only of dot, without a bias or means");
        embeddings.take_tokens(checked_starts(tokens->first, embeddings.queries.rows),
                               checked_starts(tokens->second, embeddings.entities.rows));
    }
    if (means) {
        embeddings.query_means =
            checked_numbers(means->first, wide, embeddings.queries.rows, "means: not one for each query");
        embeddings.entity_means =
            checked_numbers(means->second, wide, embeddings.entities.rows, "means: not one for each entity");
    }
    return embeddings;
}

void register_embeddings(py::module_& m) {
    py::tuple names(std::size(kSimilarities));
    for (std::size_t i = 0; i < std::size(kSimilarities); ++i) names[i] = py::str(kSimilarities[i].name);
    m.attr("similarities") = names;
    py::class_<EmbeddingArrays>(m, "Embeddings", py::is_final(), "Vectors, and how a query and an entity are scored.")
        .def(py::init(&make_embeddings), py::arg("queries"), py::arg("entities"), py::arg("similarity"),
             py::arg("bias").none(true) = py::none(), py::arg("means").none(true) = py::none(),
             py::arg("tokens").none(true) = py::none());
    m.def("rank_embeddings", &rank_vectors, py::arg("embeddings"), py::arg("tasks"), py::arg("rules"), py::arg("block"),
          py::arg("threads"), py::arg("listener") = nullptr, "Counts as rank gives them, for the scores of vectors.");
    m.def("partial_embedding_counts", &partial_counts_of_vectors, py::arg("embeddings"), py::arg("tasks"),
          py::arg("true_scores"), py::arg("first_column"), py::arg("rules"), py::arg("block"), py::arg("threads"),
          py::arg("listener") = nullptr,
          "Counts as partial_counts gives them, for the scores of vectors and part of the entities.");
    m.def("score_embeddings", &score_vectors, py::arg("embeddings"), py::arg("rows").none(true),
          py::arg("targets").none(true), py::arg("threads"),
          "The scores of queries and their targets, or of queries and all entities.");
    m.def("value_thresholds", &value_thresholds, py::arg("similarity"), py::arg("wide"), py::arg("length"),
          py::arg("score"), py::arg("largest_bias"), py::arg("means").none(true),
          "For tests: values above and below which a score is above and below this one, and the relative error of sums."
          " The means are that of the query, and the largest of the entities.");
    m.def("topk_embeddings", &topk_vectors, py::arg("embeddings"), py::arg("tasks"), py::arg("k"), py::arg("nan"),
          py::arg("block"), py::arg("threads"), py::arg("listener") = nullptr,
          "The top k entities of each query, their scores (-1 and NaN where there are fewer), and what made them void, "
          "or None.");
    py::class_<GridArrays>(m, "Grid", py::is_final(), "Embeddings, and which queries and entities take part.")
        .def(py::init(&make_grid), py::arg("embeddings"), py::arg("left"), py::arg("right"));
    m.def("rank_grid", &rank_both, py::arg("grid"), py::arg("tasks"), py::arg("filter_left").none(true), py::arg("nan"),
          py::arg("block"), py::arg("threads"), py::arg("listener") = nullptr,
          "Counts of queries that rank entities, and of entities that rank queries.");
    m.def("mean_topk", &topk_means, py::arg("grid"), py::arg("k"), py::arg("nan"), py::arg("block"), py::arg("threads"),
          py::arg("listener") = nullptr,
          "The mean of the top k scores of each query, and of each entity, and what made them void, or None.");
}

}  // namespace truerank::bind
