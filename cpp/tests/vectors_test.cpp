// Scores and counts of vectors, and of lists of them: scores to the bit, ranks in one direction and in both, top-k
// lists and their means.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "engine/bounds/bounds.hpp"
#include "engine/sweep/embeddings.hpp"
#include "kernels/measured.hpp"
#include "kernels/sums.hpp"
#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

struct Sizes {
    std::int64_t queries, entities, depth;
};
constexpr Sizes kSizes[] = {{13, 200, 18}, {1, 1, 2}, {7, 33, 2100}, {40, 65, 6}, {3, 300, 0}, {2, 3000, 6}};

constexpr Similarity kSimilaritiesTested[] = {Similarity::dot, Similarity::cosine, Similarity::l1, Similarity::l2,
                                              Similarity::sql2};

template <class T>
struct Problem {
    Sizes sizes;
    Similarity similarity;
    std::vector<T> queries, entities, scores;
    std::vector<std::int64_t> query_tokens, entity_tokens;  // of late interaction: where the vectors of each begin
    Embeddings embeddings;
    bool by_default = false;  // calls have as many threads as are free, and choose their blocks; else any numbers

    // With `ties`, components are small integers. A NaN component makes all scores of its vector NaN. With cosine,
    // vectors of doubles have lengths of all magnitudes.
    Problem(const Sizes& sizes_, Similarity similarity_, bool ties, std::int64_t nan_every, Random& random)
        : sizes(sizes_), similarity(similarity_) {
        const auto fill = [&](std::vector<T>& vectors, std::int64_t n) {
            vectors.resize(static_cast<std::size_t>(n * sizes.depth));
            for (T& x : vectors) x = static_cast<T>(ties ? static_cast<double>(random.below(3) - 1) : random.normal());
            for (std::int64_t i = 0; nan_every > 0 && sizes.depth > 0 && i < n; ++i) {
                if (random.one_in(nan_every)) {
                    vectors[static_cast<std::size_t>(i * sizes.depth)] = std::numeric_limits<T>::quiet_NaN();
                }
            }
            for (std::int64_t i = 0; similarity == Similarity::cosine && sizeof(T) == 8 && i < n; ++i) {
                const int power = random.one_in(2) ? 0 : static_cast<int>(random.below(2070)) - 1070;
                for (T& x : row(vectors, i)) x = static_cast<T>(std::ldexp(x, power));
            }
        };
        fill(queries, sizes.queries);
        fill(entities, sizes.entities);
        embeddings = {matrix(queries, sizes.queries), matrix(entities, sizes.entities), similarity};
        score();
    }
    void score() {
        scores.clear();
        std::vector<T> q = queries, e = entities;
        for (std::int64_t i = 0; similarity == Similarity::cosine && i < sizes.queries; ++i) normalise(row(q, i));
        for (std::int64_t i = 0; similarity == Similarity::cosine && i < sizes.entities; ++i) normalise(row(e, i));
        for (std::int64_t i = 0; i < sizes.queries; ++i) {
            for (std::int64_t j = 0; j < sizes.entities; ++j) scores.push_back(plain(row(q, i), row(e, j)));
        }
    }
    T at(std::int64_t query, std::int64_t entity) const {
        return scores[static_cast<std::size_t>(query * sizes.entities + entity)];
    }
    // Makes lists of the vectors: a score is the sum of the greatest of each of a query's vectors.
    void join(std::vector<std::int64_t> of_queries, std::vector<std::int64_t> of_entities) {
        query_tokens = std::move(of_queries);
        entity_tokens = std::move(of_entities);
        const auto n = static_cast<std::int64_t>(query_tokens.size()) - 1;
        const auto m = static_cast<std::int64_t>(entity_tokens.size()) - 1;
        embeddings.take_tokens(query_tokens, entity_tokens);
        std::vector<T> sums;
        for (std::size_t i = 0; i + 1 < query_tokens.size(); ++i) {
            for (std::size_t j = 0; j + 1 < entity_tokens.size(); ++j) {
                double sum = 0;
                for (std::int64_t q = query_tokens[i]; q < query_tokens[i + 1]; ++q) {
                    T most = -std::numeric_limits<T>::infinity();
                    for (std::int64_t e = entity_tokens[j]; e < entity_tokens[j + 1] && !is_nan(most); ++e) {
                        if (!(at(q, e) <= most)) most = at(q, e);
                    }
                    sum += static_cast<double>(most);
                }
                sums.push_back(static_cast<T>(sum));
            }
        }
        scores = std::move(sums);
        sizes = {n, m, sizes.depth};
    }
    // The embeddings of the entities from `first` up to but not including `last`; `starts` has where their lists begin.
    Embeddings part(std::int64_t first, std::int64_t last, std::vector<std::int64_t>& starts) const {
        Embeddings part = embeddings;
        if (!entity_tokens.empty()) {
            starts.assign(entity_tokens.begin() + first, entity_tokens.begin() + last + 1);
            first = starts.front();
            last = starts.back();
            for (std::int64_t& start : starts) start -= first;
        }
        part.entities.data += first * part.entities.row_stride;
        part.entities.rows = last - first;
        if (!entity_tokens.empty()) part.take_tokens(query_tokens, starts);
        return part;
    }

  private:
    Scores matrix(const std::vector<T>& vectors, std::int64_t rows) const {
        constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
        const DType dtype = size == 4 ? DType::float32 : DType::float64;
        return {
            reinterpret_cast<const char*>(vectors.data()), rows, sizes.depth, sizes.depth * size, size, dtype, false};
    }
    std::span<T> row(std::vector<T>& vectors, std::int64_t i) const {
        const auto depth = static_cast<std::size_t>(sizes.depth);
        return std::span(vectors).subspan(static_cast<std::size_t>(i) * depth, depth);
    }
    // Squares that a double cannot hold are those of the vector times a power of two.
    static void normalise(std::span<T> vector) {
        int power = 0;
        const auto squares = [&] {
            double sum = 0;
            for (const double x : vector) sum += std::ldexp(x, power) * std::ldexp(x, power);
            return sum;
        };
        if (squares() < 0x1p-960 || std::isinf(squares())) {
            double largest = 0;
            for (const double x : vector)
                if (std::abs(x) > largest) largest = std::abs(x);
            if (largest > 0) power = -std::ilogb(largest);
        }
        const double root = std::sqrt(squares());
        for (T& x : vector) x = root == 0 ? x : static_cast<T>(std::ldexp(double{x}, power) / root);
    }
    T plain(std::span<const T> query, std::span<const T> entity) const {
        const bool product = similarity == Similarity::dot || similarity == Similarity::cosine;
        T sum = 0;
        for (std::size_t k = 0; k < query.size(); ++k) {
            const T a = query[k], b = entity[k], difference = a - b;
            sum = product                        ? std::fma(a, b, sum)
                  : similarity == Similarity::l1 ? sum + std::abs(difference)
                                                 : std::fma(difference, difference, sum);
        }
        return product ? sum : similarity == Similarity::l2 ? -std::sqrt(sum) : -sum;
    }
};

template <class T>
Execution execution_of(const Problem<T>& problem, Random& random) {
    constexpr auto interrupted = [] { return false; };
    if (problem.by_default) return {0, 0, interrupted};
    return {random.one_in(2) ? 0 : 1 + random.below(70), static_cast<int>(random.below(4)), interrupted};
}

template <class T>
bool same(T a, T b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (is_nan(a) && is_nan(b));
}

template <class T>
void check_scores(Checks& checks, const Problem<T>& problem, Random& random) {
    const auto [queries, entities, depth] = problem.sizes;
    std::vector<T> all(static_cast<std::size_t>(queries * entities));
    const Execution execution = execution_of(problem, random);
    score_embeddings(problem.embeddings, nullptr, nullptr, queries, execution, all.data());
    const bool right = std::equal(all.begin(), all.end(), problem.scores.begin(), same<T>);
    checks.expect(right, "score_embeddings, similarity %d, depth %lld", static_cast<int>(problem.similarity),
                  static_cast<long long>(depth));

    std::vector<std::int64_t> rows, columns;
    for (int i = 0; i < 100; ++i) {
        rows.push_back(random.below(queries));
        columns.push_back(random.below(entities));
    }
    std::vector<T> some(rows.size());
    score_embeddings(problem.embeddings, rows.data(), columns.data(), static_cast<std::int64_t>(rows.size()), execution,
                     some.data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        checks.expect(same(some[i], problem.at(rows[i], columns[i])), "score_embeddings, pair %zu", i);
    }
}

// The counts of the target's score among n scores.
template <class T, class ScoreAt>
std::array<std::int64_t, 3> plain_counts(std::int64_t n, std::int64_t target, NanRule rule, const ScoreAt& score_at) {
    std::array<std::int64_t, 3> counts{};
    const T true_score = score_at(target);
    for (std::int64_t i = 0; i < n; ++i) {
        const T score = score_at(i);
        if (is_nan(score) && rule == NanRule::omit) continue;
        counts[0] += score > true_score;
        counts[1] += score == true_score;
        counts[2] += 1;
    }
    return counts;
}

// Tasks, several for a query, whose true scores are numbers.
template <class T>
void random_tasks(const Problem<T>& problem, std::vector<std::int64_t>& rows, std::vector<std::int64_t>& targets,
                  Random& random) {
    for (int i = 0; i < 60; ++i) {
        const std::int64_t row = random.below(problem.sizes.queries), target = random.below(problem.sizes.entities);
        if (is_nan(problem.at(row, target))) continue;
        rows.push_back(row);
        targets.push_back(target);
    }
}

// All vectors, as both sides of a grid.
template <class T>
Grid whole_grid(const Problem<T>& problem) {
    Grid grid{problem.embeddings, std::vector<std::int64_t>(static_cast<std::size_t>(problem.sizes.queries)),
              std::vector<std::int64_t>(static_cast<std::size_t>(problem.sizes.entities))};
    std::iota(grid.left.begin(), grid.left.end(), std::int64_t{0});
    std::iota(grid.right.begin(), grid.right.end(), std::int64_t{0});
    return grid;
}

// The means of the top k: NaN is left out whatever the rule says.
template <class T>
void check_means(Checks& checks, const Problem<T>& problem, NanRule rule, Random& random) {
    const Grid grid = whole_grid(problem);
    for (const std::int64_t k : {1, 3, 1000}) {
        std::vector<T> left(grid.left.size()), right(grid.right.size());
        const Fault of_means = mean_topk(grid, k, rule, execution_of(problem, random), left.data(), right.data());
        const auto mean = [&](std::int64_t size, const auto& score_at) {
            std::vector<T> scores;
            for (std::int64_t i = 0; i < size; ++i) {
                if (!is_nan(score_at(i))) scores.push_back(score_at(i));
            }
            std::sort(scores.begin(), scores.end(), std::greater<>());
            scores.resize(std::min(scores.size(), static_cast<std::size_t>(k)));
            double sum = 0;
            for (const T score : scores) sum += static_cast<double>(score);
            return scores.empty() ? T{0} : static_cast<T>(sum / static_cast<double>(scores.size()));
        };
        bool equal = of_means.kind == Fault::Kind::none;
        for (std::int64_t i = 0; i < problem.sizes.queries; ++i) {
            const T expected = mean(problem.sizes.entities, [&](std::int64_t j) { return problem.at(i, j); });
            equal = equal && same(left[static_cast<std::size_t>(i)], expected);
        }
        for (std::int64_t j = 0; j < problem.sizes.entities; ++j) {
            const T expected = mean(problem.sizes.queries, [&](std::int64_t i) { return problem.at(i, j); });
            equal = equal && same(right[static_cast<std::size_t>(j)], expected);
        }
        checks.expect(equal, "mean_topk of %lld, similarity %d", static_cast<long long>(k),
                      static_cast<int>(problem.similarity));
    }
}

template <class T>
void check_ranks(Checks& checks, const Problem<T>& problem, NanRule rule, Random& random) {
    std::vector<std::int64_t> rows, targets;
    random_tasks(problem, rows, targets, random);
    const std::size_t n = rows.size();
    const Tasks tasks{static_cast<std::int64_t>(n), rows.data(), targets.data()};
    std::vector<std::int64_t> counts[6];
    for (auto& of_tasks : counts) of_tasks.assign(n, 0);
    const Counts forwards{counts[0].data(), counts[1].data(), counts[2].data()};
    const Counts backwards{counts[3].data(), counts[4].data(), counts[5].data()};

    const auto expect = [&](const char* what, bool both) {
        bool right = true;
        for (std::size_t i = 0; i < n; ++i) {
            const auto along = [&, row = rows[i]](std::int64_t j) { return problem.at(row, j); };
            const auto across = [&, target = targets[i]](std::int64_t j) { return problem.at(j, target); };
            const auto to_right = plain_counts<T>(problem.sizes.entities, targets[i], rule, along);
            const auto to_left = plain_counts<T>(problem.sizes.queries, rows[i], rule, across);
            for (std::size_t c = 0; c < 3; ++c) {
                right = right && counts[c][i] == to_right[c] && (!both || counts[3 + c][i] == to_left[c]);
            }
        }
        checks.expect(right, "%s, %s, similarity %d, %lld x %lld x %lld, rule %d", what,
                      sizeof(T) == 4 ? "float" : "double", static_cast<int>(problem.similarity),
                      static_cast<long long>(problem.sizes.queries), static_cast<long long>(problem.sizes.entities),
                      static_cast<long long>(problem.sizes.depth), static_cast<int>(rule));
    };
    const Fault fault = rank_embeddings(problem.embeddings, tasks, rule, execution_of(problem, random), forwards);
    checks.expect(fault.kind == Fault::Kind::none, "rank_embeddings: a fault");
    expect("rank_embeddings", false);
    if (!problem.query_tokens.empty()) return;  // a grid has no lists

    const Grid grid = whole_grid(problem);
    for (auto& of_tasks : counts) of_tasks.assign(n, 0);
    const auto faults = rank_grid(grid, tasks, {}, rule, execution_of(problem, random), forwards, backwards);
    checks.expect(faults[0].kind == Fault::Kind::none && faults[1].kind == Fault::Kind::none, "rank_grid: a fault");
    expect("rank_grid", true);
    check_means(checks, problem, rule, random);
}

// Counts against given scores, which no candidate need have, for the entities on both sides of a cut; in every other
// call with an audit, and with a filter.
template <class T>
void check_parts(Checks& checks, const Problem<T>& problem, Random& random) {
    std::vector<std::int64_t> rows, targets;
    random_tasks(problem, rows, targets, random);
    const std::size_t n = rows.size();
    const std::int64_t entities = problem.sizes.entities, cut = random.below(entities + 1);
    const bool audit = random.one_in(2), filters = random.one_in(2);
    std::vector<T> given;
    ColumnLists filter;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; filters && j < entities; ++j) {
            if (random.one_in(5)) filter.indices.push_back(j);
        }
        filter.end_list();
        const T score = problem.at(rows[i], targets[i]);
        given.push_back(random.one_in(4)   ? std::nextafter(score, T{0})
                        : random.one_in(9) ? -std::numeric_limits<T>::infinity()
                                           : score);
        if (random.one_in(3)) targets[i] = -1;
    }
    std::vector<std::int64_t> sums[6];
    for (auto& sum : sums) sum.assign(n, 0);
    std::vector<Best> best;  // the true score is counted once, when all parts are together
    for (const T score : given) best.push_back({Order<T>::key(score), 1});
    for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, cut}, {cut, entities}}) {
        std::vector<std::int64_t> starts;
        const Embeddings part = problem.part(first, last, starts);
        Tasks tasks{static_cast<std::int64_t>(n), rows.data(), targets.data()};
        tasks.true_scores = reinterpret_cast<const char*>(given.data());
        tasks.first_column = first;
        if (filters) tasks.filter = filter.selection_over(entities).within(first, last);
        std::vector<std::int64_t> found[8];
        for (auto& counts : found) counts.assign(n, 0);
        Counts counts{found[0].data(), found[1].data(), found[2].data(), found[3].data()};
        counts.differing = found[4].data();
        if (audit) {
            counts.inf = found[5].data();
            counts.at_best = found[6].data();
            counts.best = found[7].data();
            std::fill(found[7].begin(), found[7].end(), std::int64_t{Order<T>::bottom()});
        }
        const Fault fault = rank_embeddings(part, tasks, NanRule::worst, execution_of(problem, random), counts);
        checks.expect(fault.kind == Fault::Kind::none, "partial counts: a fault");
        for (std::size_t c = 0; c < 6; ++c) {
            std::transform(sums[c].begin(), sums[c].end(), found[c].begin(), sums[c].begin(), std::plus<>());
        }
        for (std::size_t i = 0; audit && i < n; ++i) best[i].add({found[7][i], found[6][i]}, false);
    }
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
        std::int64_t expected[6] = {};
        Best expected_best{Order<T>::key(given[i]), 1};
        for (std::int64_t j = 0; j < entities; ++j) {
            const T score = problem.at(rows[i], j);
            if (j == targets[i]) {
                expected[4] += !(score == given[i]);
                continue;
            }
            const bool is_filtered = filters && filter.has(i, j);
            if (audit && !is_nan(score)) expected_best.add({Order<T>::key(score), !is_filtered}, false);
            if (is_filtered) continue;
            expected[0] += score > given[i];
            expected[1] += score == given[i];
            expected[2] += 1;
            expected[3] += is_nan(score);
            expected[5] += audit && std::isinf(score);
        }
        for (std::size_t c = 0; c < 6; ++c) right = right && sums[c][i] == expected[c];
        right = right && best[i].key == expected_best.key && best[i].count == expected_best.count;
    }
    checks.expect(right, "partial counts, %s, similarity %d, %lld of %lld, audit %d, filter %d",
                  sizeof(T) == 4 ? "float" : "double", static_cast<int>(problem.similarity),
                  static_cast<long long>(cut), static_cast<long long>(entities), audit, filters);
}

template <class T>
void check_topk(Checks& checks, const Problem<T>& problem, NanRule rule, Random& random) {
    const auto [queries, entities, depth] = problem.sizes;
    for (const std::int64_t k :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, std::int64_t{40}, std::int64_t{300}, entities + 3}) {
        const auto size = static_cast<std::size_t>(queries * k);
        std::vector<std::int64_t> ids(size, -1);
        std::vector<T> scores(size, T{-1});
        const Fault fault = topk_embeddings(problem.embeddings, {queries, nullptr, nullptr}, k, rule,
                                            execution_of(problem, random), ids.data(), scores.data());
        bool right = fault.kind == Fault::Kind::none;
        for (std::int64_t i = 0; i < queries; ++i) {
            const auto score = [&, i](std::int64_t j) { return problem.at(i, j); };
            std::vector<std::int64_t> topk;
            for (std::int64_t j = 0; j < problem.sizes.entities; ++j) {
                if (rule == NanRule::worst || !is_nan(score(j))) topk.push_back(j);
            }
            // Higher scores first, NaN last, equal scores in the order of columns.
            std::stable_sort(topk.begin(), topk.end(), [&](std::int64_t a, std::int64_t b) {
                return score(a) > score(b) || (is_nan(score(b)) && !is_nan(score(a)));
            });
            for (std::int64_t place = 0; place < k; ++place) {
                const auto at = static_cast<std::size_t>(i * k + place);
                const bool listed = place < static_cast<std::int64_t>(topk.size());
                const std::int64_t expected = listed ? topk[static_cast<std::size_t>(place)] : -1;
                right = right && ids[at] == expected && same(scores[at], listed ? score(expected) : T{-1});
            }
        }
        checks.expect(right, "topk_embeddings, %lld of %lld, similarity %d, rule %d", static_cast<long long>(k),
                      static_cast<long long>(problem.sizes.entities), static_cast<int>(problem.similarity),
                      static_cast<int>(rule));
    }
}

template <class T>
void check_as(Checks& checks, Random& random) {
    for (const Similarity similarity : kSimilaritiesTested) {
        for (const Sizes& sizes : kSizes) {
            for (const bool ties : {false, true}) {
                for (const std::int64_t nan_every : {0, 6}) {
                    const Problem<T> problem(sizes, similarity, ties, nan_every, random);
                    const NanRule rule = random.one_in(2) ? NanRule::omit : NanRule::worst;
                    check_scores(checks, problem, random);
                    check_ranks(checks, problem, rule, random);
                    check_parts(checks, problem, random);
                    check_topk(checks, problem, rule, random);
                }
            }
        }
    }
}

// Enough work for several threads, as many as are free.
template <class T>
void check_free_threads(Checks& checks, Random& random) {
    for (const bool has_lists : {false, true}) {
        Problem<T> problem({150, 1200, 50}, Similarity::dot, true, 0, random);
        if (has_lists) {
            std::vector<std::int64_t> of_queries, of_entities;
            for (std::int64_t i = 0; i <= 150; i += 3) of_queries.push_back(i);
            for (std::int64_t i = 0; i <= 1200; i += 2) of_entities.push_back(i);
            problem.join(std::move(of_queries), std::move(of_entities));
        }
        problem.by_default = true;
        check_scores(checks, problem, random);
        check_ranks(checks, problem, NanRule::worst, random);
        check_parts(checks, problem, random);
        check_topk(checks, problem, NanRule::worst, random);
    }
}

// Starts of lists of 1 to `most` vectors; a few have `rare` of them.
std::vector<std::int64_t> random_starts(std::int64_t n, std::int64_t most, std::int64_t rare, Random& random) {
    std::vector<std::int64_t> starts{0};
    for (; n > 0; --n) starts.push_back(starts.back() + (random.one_in(20) ? rare : 1 + random.below(most)));
    return starts;
}

// Makes one vector of each list 10 or 1,000 times as long as it is.
template <class T>
void lengthen_one_of_each(std::vector<T>& vectors, const std::vector<std::int64_t>& starts, std::int64_t depth,
                          Random& random) {
    for (std::size_t list = 0; list + 1 < starts.size(); ++list) {
        const std::int64_t chosen = starts[list] + random.below(starts[list + 1] - starts[list]);
        const T factor = random.one_in(2) ? 10 : 1000;
        for (std::int64_t k = 0; k < depth; ++k) vectors[static_cast<std::size_t>(chosen * depth + k)] *= factor;
    }
}

// Late interaction, with bounds of every kind and without. Vectors are small integers, or any; or each is nearly one
// before, so that scores nearly tie, and in each list one may be much longer than the others. Some are not finite.
template <class T>
void check_lists_of_vectors(Checks& checks, Random& random) {
    struct Lists {
        std::int64_t queries, query_most, entities, entity_most, entity_rare, depth;
    };
    constexpr Lists kLists[] = {{7, 9, 60, 90, 1, 18},  {100, 3, 50, 20, 1, 30},  {1, 40, 3000, 1, 1, 6},
                                {3, 2, 30, 3, 5000, 6}, {9, 9, 150, 1, 200, 64},  {2, 3, 5, 4, 1, 0},
                                {9, 3, 150, 4, 1, 2},   {3, 4, 30, 20, 1700, 64}, {70, 1, 150, 1, 1, 16}};
    for (const Lists& lists : kLists) {
        for (const char* kind : {"integers", "any", "near", "unequal", "infinite", "void"}) {
            const std::string name = kind;
            std::vector<std::int64_t> q = random_starts(lists.queries, lists.query_most, 1, random);
            std::vector<std::int64_t> e = random_starts(lists.entities, lists.entity_most, lists.entity_rare, random);
            Problem<T> problem({q.back(), e.back(), lists.depth}, Similarity::dot, name == "integers",
                               name == "void" ? 90 : 0, random);
            const auto depth = static_cast<std::size_t>(lists.depth);
            for (std::size_t i = 0; i < problem.entities.size(); ++i) {
                T& x = problem.entities[i];
                if ((name == "near" || name == "unequal") && i >= 8 * depth) {
                    x = problem.entities[i % (8 * depth)];
                    if (random.one_in(40)) x = std::nextafter(x, T{1000});
                }
                if (name == "infinite" && random.one_in(3000)) x = std::numeric_limits<T>::infinity();
            }
            if (name == "unequal") {
                // Levels represent these exactly, so that all errors come from the documents.
                for (T& x : problem.queries) x = static_cast<T>(random.below(3) - 1);
                lengthen_one_of_each(problem.queries, q, lists.depth, random);
                lengthen_one_of_each(problem.entities, e, lists.depth, random);
            }
            problem.score();
            problem.join(std::move(q), std::move(e));
            const NanRule rule = random.one_in(2) ? NanRule::omit : NanRule::worst;
            std::vector<std::string> names{""};
            for (const std::string& levels : usable_levels()) names.push_back(levels + "!");
            for (const std::string& levels : names) {
                choose_levels(levels.c_str());
                check_ranks(checks, problem, rule, random);
                check_parts(checks, problem, random);
                check_topk(checks, problem, rule, random);
                check_scores(checks, problem, random);
            }
            choose_levels("");
        }
    }
}

// Two tokens of a document whose sums over levels are as far apart, and the wrong way round, as the errors of levels
// allow: rounding makes nearly all components of the one smaller by 0.49 of a step, and those of the other greater.
template <class T>
void check_furthest_sums(Checks& checks, Random& random) {
    if (byte_products() == ByteProducts::none) return;
    constexpr std::int64_t depth = 40, tokens = 3, documents = 10;
    const auto greatest = static_cast<T>(sum_kernels<T>().bytes[static_cast<int>(byte_products())].greatest);
    Problem<T> problem({3, documents * tokens, depth}, Similarity::dot, true, 0, random);
    std::fill(problem.queries.begin(), problem.queries.end(), T{1});
    for (std::int64_t i = 0; i < documents * tokens; ++i) {
        // The components of every other document are the negatives, so that their mean is 0.
        const T sign = i / tokens % 2 == 0 ? T{1} : T{-1};
        for (std::int64_t k = 0; k < depth; ++k) {
            const T down = static_cast<T>(10.49), up = static_cast<T>(k == 0 ? 9.51 : 10.51);
            const T components[tokens] = {down, up, k == 0 ? -greatest : T{0}};  // with the last, a step is 1
            problem.entities[static_cast<std::size_t>(i * depth + k)] = sign * components[i % tokens];
        }
    }
    problem.score();
    std::vector<std::int64_t> of_documents;
    for (std::int64_t i = 0; i <= documents; ++i) of_documents.push_back(i * tokens);
    problem.join({0, 1, 2, 3}, std::move(of_documents));
    choose_levels("int8!");
    check_scores(checks, problem, random);
    choose_levels("");
}

// All tokens of a document have one step, so that its longest decides how large sums of words become: it may come
// first or last. All vectors have one direction, so that no greater sums are possible.
template <class T>
void check_longest_tokens(Checks& checks, Random& random) {
    constexpr std::int64_t lists = 30, tokens = 3, depth = 64;
    Problem<T> problem({lists * tokens, lists * tokens, depth}, Similarity::dot, true, 0, random);
    std::vector<std::int64_t> starts{0};
    for (std::int64_t list = 0; list < lists; ++list) starts.push_back(starts.back() + tokens);
    for (std::vector<T>* const vectors : {&problem.queries, &problem.entities}) {
        for (std::size_t i = 0; i < vectors->size(); i += depth) {
            std::fill_n(vectors->begin() + static_cast<std::ptrdiff_t>(i), depth, static_cast<T>(1 + random.below(9)));
        }
    }
    problem.score();
    problem.join(starts, starts);
    for (const std::string& levels : usable_levels()) {
        choose_levels((levels + "!").c_str());
        check_ranks(checks, problem, NanRule::raise, random);
    }
    choose_levels("");
}

// Where both sides are long, some rows and columns are scored before all others. No vector is zero: the first row and
// the first column have their best scores among the others, too.
template <class T>
void check_means_of_long_sides(Checks& checks, Random& random) {
    for (const Similarity similarity : kSimilaritiesTested) {
        check_means(checks, Problem<T>({400, 390, 6}, similarity, false, 0, random), NanRule::raise, random);
    }
}

// Bytes are scored as the doubles that they are: those of few queries in place, as integers.
template <class Byte>
void check_bytes(Checks& checks, DType dtype, std::int64_t queries, std::int64_t entities, std::int64_t depth,
                 Random& random) {
    const auto size = static_cast<std::size_t>(depth);
    std::vector<Byte> bytes(static_cast<std::size_t>(queries + entities) * size);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool is_multiple = i / size % 3 == 0;
        bytes[i] = static_cast<Byte>(is_multiple ? 6 * random.below(21) : random.below(256));
    }
    const std::vector<double> doubles(bytes.begin(), bytes.end());
    std::vector<double> lowest_terms = doubles;  // of which the cosine is
    for (std::size_t first = 0; first < bytes.size(); first += size) {
        int divisor = 0;
        for (std::size_t k = first; k < first + size; ++k) divisor = std::gcd(divisor, static_cast<int>(bytes[k]));
        for (std::size_t k = first; k < first + size && divisor > 0; ++k) lowest_terms[k] /= divisor;
    }
    for (const Similarity similarity : kSimilaritiesTested) {
        const auto scores_of = [&](const auto& vectors, DType type) {
            const auto bytes_each = static_cast<std::ptrdiff_t>(sizeof(vectors[0]));
            const auto matrix = [&](std::int64_t first, std::int64_t n) {
                return Scores{reinterpret_cast<const char*>(&vectors[static_cast<std::size_t>(first * depth)]),
                              n,
                              depth,
                              depth * bytes_each,
                              bytes_each,
                              type,
                              false};
            };
            std::vector<double> scores(static_cast<std::size_t>(queries * entities));
            score_embeddings({matrix(0, queries), matrix(queries, entities), similarity}, nullptr, nullptr, queries,
                             {0, 0, [] { return false; }}, scores.data());
            return scores;
        };
        const std::vector<double>& twins = similarity == Similarity::cosine ? lowest_terms : doubles;
        checks.expect(scores_of(bytes, dtype) == scores_of(twins, DType::float64),
                      "%d queries of %d bytes, similarity %d", static_cast<int>(queries), static_cast<int>(depth),
                      static_cast<int>(similarity));
    }
}

// One query with more tasks than a cell has, whose scores are copied out, and compared as they are made.
template <class T>
void check_query_of_many_tasks(Checks& checks, Random& random) {
    constexpr std::int64_t entities = 5, n = (1 << 16) + 70;
    const Problem<T> problem({1, entities, 2}, Similarity::dot, true, 0, random);
    const std::vector<std::int64_t> rows(n);
    std::vector<T> scores(n * entities, T{-9});
    score_embeddings(problem.embeddings, rows.data(), nullptr, n, execution_of(problem, random), scores.data());
    bool right = true;
    for (std::size_t i = 0; i < scores.size(); ++i) right = right && same(scores[i], problem.scores[i % entities]);
    checks.expect(right, "score_embeddings, a query of many tasks");

    std::vector<std::int64_t> targets(n), counts[3];
    for (std::int64_t i = 0; i < n; ++i) targets[static_cast<std::size_t>(i)] = i % entities;
    for (auto& of_tasks : counts) of_tasks.assign(n, 0);
    choose_levels("off!");  // otherwise the query is scored into a row
    const Fault fault =
        rank_embeddings(problem.embeddings, {n, rows.data(), targets.data()}, NanRule::worst,
                        execution_of(problem, random), {counts[0].data(), counts[1].data(), counts[2].data()});
    choose_levels("");
    right = !fault;
    const auto score_at = [&](std::int64_t j) { return problem.at(0, j); };
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const auto expected = plain_counts<T>(entities, targets[i], NanRule::worst, score_at);
        for (std::size_t c = 0; c < 3; ++c) right = right && counts[c][i] == expected[c];
    }
    checks.expect(right, "rank_embeddings, a query of many tasks");
}

// A query of many tasks is scored into a row of its own: a fault names its row in the call, and the first of all rows.
void check_fault_of_crowded_queries(Checks& checks) {
    constexpr std::int64_t queries = 9, entities = 40, each = 30;
    // The product of an infinite component and 0 is NaN.
    const auto fault_of = [&](std::initializer_list<std::size_t> infinite, std::int64_t target, NanRule rule) {
        std::vector<float> left(queries * 2, 1.0f), right(entities * 2, 1.0f);
        for (const std::size_t row : infinite) left[2 * row] = std::numeric_limits<float>::infinity();
        right[2 * 7] = 0;
        const auto matrix = [](const std::vector<float>& vectors, std::int64_t n) {
            return Scores{reinterpret_cast<const char*>(vectors.data()), n, 2, 8, 4, DType::float32, false};
        };
        const Embeddings embeddings{matrix(left, queries), matrix(right, entities), Similarity::dot};
        std::vector<std::int64_t> rows{8, 1};  // these have one task
        for (const std::int64_t row : {7, 3, 5}) rows.insert(rows.end(), each, row);
        const std::vector<std::int64_t> targets(rows.size(), target);
        std::vector<std::int64_t> above(rows.size()), tied(rows.size()), candidates(rows.size());
        return rank_embeddings(embeddings, {static_cast<std::int64_t>(rows.size()), rows.data(), targets.data()}, rule,
                               {0, 1, [] { return false; }}, {above.data(), tied.data(), candidates.data()});
    };
    const auto expect = [&](const Fault& fault, Fault::Kind kind, std::int64_t row, const char* what) {
        checks.expect(fault.kind == kind && fault.row == row && fault.column == 7, "the fault of %s", what);
    };
    expect(fault_of({5, 7}, 0, NanRule::raise), Fault::Kind::nan_score, 5, "a crowded query");
    expect(fault_of({5, 8}, 0, NanRule::raise), Fault::Kind::nan_score, 5, "a crowded query before another");
    expect(fault_of({1, 3}, 0, NanRule::raise), Fault::Kind::nan_score, 1, "another before a crowded query");
    expect(fault_of({7, 8}, 7, NanRule::omit), Fault::Kind::nan_true_score, 7, "a crowded query's true score");
}

}  // namespace

void check_vectors(Checks& checks) {
    Random random;
    check_as<float>(checks, random);
    check_as<double>(checks, random);
    check_free_threads<float>(checks, random);
    check_free_threads<double>(checks, random);
    const BoundsTally before = bounds_tally;
    check_lists_of_vectors<float>(checks, random);
    check_lists_of_vectors<double>(checks, random);
    const BoundsTally after = bounds_tally;
    const std::int64_t bounded = after.bounded - before.bounded, open = after.open - before.open;
    checks.expect(open > 0 && bounded > open, "no pairs of lists were decided by bounds, or none stayed open");
    check_furthest_sums<float>(checks, random);
    check_furthest_sums<double>(checks, random);
    check_longest_tokens<float>(checks, random);
    check_longest_tokens<double>(checks, random);
    check_means_of_long_sides<float>(checks, random);
    check_means_of_long_sides<double>(checks, random);
    for (const std::int64_t queries : {std::int64_t{1}, measured::kFewQueriesOfBytes, std::int64_t{29}}) {
        for (const std::int64_t depth : {1, 37, 300}) {
            check_bytes<std::int8_t>(checks, DType::int8, queries, 200, depth, random);
            check_bytes<std::uint8_t>(checks, DType::uint8, queries, 200, depth, random);
        }
    }
    check_bytes<std::uint8_t>(checks, DType::uint8, 2, 3, 40'000, random);
    check_query_of_many_tasks<float>(checks, random);
    check_query_of_many_tasks<double>(checks, random);
    check_fault_of_crowded_queries(checks);
}

}  // namespace truerank::tests
