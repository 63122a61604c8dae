// Ranks of score matrices.
#include "engine/rows/rank.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/measured.hpp"
#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

template <class T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, Half>) return DType::float16;
    if constexpr (std::is_same_v<T, BFloat16>) return DType::bfloat16;
    if constexpr (std::is_same_v<T, float>) return DType::float32;
    if constexpr (std::is_same_v<T, double>) return DType::float64;
    if constexpr (std::is_same_v<T, std::int8_t>) return DType::int8;
    if constexpr (std::is_same_v<T, std::int16_t>) return DType::int16;
    if constexpr (std::is_same_v<T, std::int32_t>) return DType::int32;
    if constexpr (std::is_same_v<T, std::int64_t>) return DType::int64;
    if constexpr (std::is_same_v<T, std::uint8_t>) return DType::uint8;
    if constexpr (std::is_same_v<T, std::uint16_t>) return DType::uint16;
    if constexpr (std::is_same_v<T, std::uint32_t>) return DType::uint32;
    return DType::uint64;
}

struct Layout {
    const char* name;
    bool by_column, backwards, swapped, unaligned;
};
constexpr Layout kLayouts[] = {
    {"rows", false, false, false, false},   {"columns", true, false, false, false},
    {"backwards", false, true, true, true}, {"columns backwards", true, true, false, true},
    {"swapped", false, false, true, false},
};

struct Case {
    std::int64_t rows, columns, tasks;
    Layout layout;
    bool ascending, has_filter, has_candidates, audit;
    NanRule rule;
    int threads;
};

// A matrix in memory in a layout; `unaligned` is one byte off, with gaps.
template <class T>
struct Matrix {
    std::vector<T> scores;
    std::vector<char> memory;
    Scores view;

    Matrix(const Case& c, Random& random)
        : scores(random_scores<T>(static_cast<std::size_t>(c.rows * c.columns), Distribution::ties, random)) {
        constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
        const Layout& layout = c.layout;
        const std::ptrdiff_t inner = layout.unaligned ? size + 1 : size;
        std::ptrdiff_t row_stride = layout.by_column ? inner : inner * c.columns + layout.unaligned;
        std::ptrdiff_t column_stride = layout.by_column ? inner * c.rows + layout.unaligned : inner;
        memory.resize(static_cast<std::size_t>(c.rows * row_stride + c.columns * column_stride + 1));
        char* first = memory.data() + layout.unaligned;
        if (layout.backwards) {
            first += (c.rows - 1) * row_stride + (c.columns - 1) * column_stride;
            row_stride = -row_stride;
            column_stride = -column_stride;
        }
        view = {first, c.rows, c.columns, row_stride, column_stride, dtype_of<T>(), layout.swapped};
    }
    T& at(std::int64_t row, std::int64_t column) {
        return scores[static_cast<std::size_t>(row * view.columns + column)];
    }
    void lay_out() {
        for (std::int64_t row = 0; row < view.rows; ++row) {
            for (std::int64_t column = 0; column < view.columns; ++column) {
                char bytes[sizeof(T)];
                std::memcpy(bytes, &at(row, column), sizeof(T));
                char* const to = const_cast<char*>(view.data) + row * view.row_stride + column * view.column_stride;
                for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = bytes[view.swapped ? sizeof(T) - 1 - i : i];
            }
        }
    }
};

// Tasks with their lists, each of which has its task's target among the candidates. Every other time that there are as
// many tasks as rows, task i reads row i.
struct DrawnTasks {
    std::vector<std::int64_t> rows, targets;
    ColumnLists filter, candidates;
    bool in_order;

    DrawnTasks(const Case& c, Random& random) : in_order(c.tasks == c.rows && random.one_in(2)) {
        for (std::int64_t task = 0; task < c.tasks; ++task) {
            rows.push_back(in_order ? task : random.below(c.rows));
            targets.push_back(random.below(c.columns));
            for (std::int64_t column = 0; column < c.columns; ++column) {
                if (random.one_in(9)) filter.indices.push_back(column);
                if (random.one_in(2) || column == targets.back()) candidates.indices.push_back(column);
            }
            filter.end_list();
            candidates.end_list();
        }
    }
    Tasks tasks(const Case& c) {
        return {c.tasks, in_order ? nullptr : rows.data(), targets.data(),
                c.has_filter ? filter.selection_over(c.columns) : Selection{},
                c.has_candidates ? candidates.selection_over(c.columns) : Selection{}};
    }
};

void expect_of_case(Checks& checks, bool right, const char* what, const char* name, const Case& c) {
    checks.expect(
        right, "%s, %s, %lld x %lld, %lld tasks, %s, ascending %d, filter %d, candidates %d, audit %d, rule %d", what,
        name, static_cast<long long>(c.rows), static_cast<long long>(c.columns), static_cast<long long>(c.tasks),
        c.layout.name, c.ascending, c.has_filter, c.has_candidates, c.audit, static_cast<int>(c.rule));
}

template <class T>
bool is_infinite(T score) {
    return has_nan<T> && std::isinf(static_cast<double>(number(score)));
}

template <class T>
void check_case(Checks& checks, const char* name, const Case& c, Random& random) {
    Matrix<T> matrix(c, random);
    DrawnTasks drawn(c, random);
    const auto& [rows, targets, filter, candidate_lists, in_order] = drawn;
    const std::size_t n = rows.size();
    for (std::size_t task = 0; task < n; ++task) {
        T& true_score = matrix.at(rows[task], targets[task]);
        if (is_nan(number(true_score))) true_score = score_of<T>(2);
    }
    matrix.lay_out();
    std::vector<std::int64_t> counts[6];
    for (auto& of_tasks : counts) of_tasks.assign(n, 0);
    const Fault fault =
        rank(matrix.view, drawn.tasks(c), {c.ascending, c.rule}, c.threads, [] { return false; },
             {counts[0].data(), counts[1].data(), counts[2].data(), c.audit ? counts[3].data() : nullptr,
              c.audit ? counts[4].data() : nullptr, c.audit ? counts[5].data() : nullptr});

    bool right = fault.kind == Fault::Kind::none;
    for (std::size_t task = 0; task < n; ++task) {
        const auto true_score = number(matrix.at(rows[task], targets[task]));
        std::int64_t expected[6] = {};
        Best best{c.ascending ? Order<T>::top() : Order<T>::bottom()};  // before the filter; counted after it
        for (std::int64_t column = 0; column < c.columns; ++column) {
            if (c.has_candidates && !candidate_lists.has(task, column)) continue;
            const T score = matrix.at(rows[task], column);
            const auto x = number(score);
            const bool is_filtered = c.has_filter && column != targets[task] && filter.has(task, column);
            if (!is_nan(x)) best.add({Order<T>::key(score), !is_filtered}, c.ascending);
            if (is_filtered) continue;
            expected[0] += c.ascending ? x < true_score : x > true_score;
            expected[1] += x == true_score;
            expected[2] += !is_nan(x) || c.rule != NanRule::omit;
            expected[3] += is_nan(x);
            expected[4] += is_infinite(score);
        }
        expected[5] = best.count;
        for (std::size_t i = 0; i < (c.audit ? 6 : 3); ++i) right = right && counts[i][task] == expected[i];
    }
    expect_of_case(checks, right, "rank", name, c);
}

// Counts against given scores, which no candidate need have, of the columns on both sides of a cut. A target may be
// filtered, outside of all parts, or NaN where the given score is none, and the other way round: nothing is above a NaN
// or tied with it.
template <class T>
void check_parts(Checks& checks, const char* name, const Case& c, Random& random) {
    Matrix<T> matrix(c, random);
    matrix.lay_out();
    DrawnTasks drawn(c, random);
    auto& [rows, targets, filter, candidate_lists, in_order] = drawn;
    const std::size_t n = rows.size();
    std::vector<T> given;
    for (std::size_t task = 0; task < n; ++task) {
        given.push_back(random.one_in(2) ? matrix.at(rows[task], targets[task])
                                         : random_score<T>(Distribution::ties, random));
        if (random.one_in(5)) targets[task] = -1;
    }
    std::vector<std::int64_t> counts[8];
    for (auto& of_tasks : counts) of_tasks.assign(n, 0);
    const std::int64_t worst = c.ascending ? Order<T>::top() : Order<T>::bottom();
    counts[6].assign(n, worst);
    Counts sums{counts[0].data(), counts[1].data(), counts[2].data(), counts[3].data()};
    sums.differing = counts[4].data();
    if (c.audit) {
        sums.inf = counts[5].data();
        sums.best = counts[6].data();
        sums.at_best = counts[7].data();
    }
    const std::int64_t cut = 1 + random.below(c.columns - 1);
    bool right = true;
    for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, cut}, {cut, c.columns}}) {
        Scores part = matrix.view;
        part.data += first * part.column_stride;
        part.columns = last - first;
        Tasks tasks = drawn.tasks(c);
        tasks.true_scores = reinterpret_cast<const char*>(given.data());
        tasks.first_column = first;
        tasks.filter = tasks.filter.within(first, last);
        tasks.candidates = tasks.candidates.within(first, last);
        right = right && !rank(part, tasks, {c.ascending, c.rule}, c.threads, [] { return false; }, sums);
    }
    for (std::size_t task = 0; task < n; ++task) {
        const auto true_score = number(given[task]);
        std::int64_t expected[6] = {};
        // The given score is counted once, when all parts are together.
        Best best{worst}, sum{counts[6][task], counts[7][task]};
        for (Best* const of : {&best, &sum}) {
            if (!is_nan(true_score)) of->add({Order<T>::key(given[task]), 1}, c.ascending);
        }
        for (std::int64_t column = 0; column < c.columns; ++column) {
            const T score = matrix.at(rows[task], column);
            const auto x = number(score);
            if (column == targets[task]) {
                expected[4] += !(x == true_score || (is_nan(x) && is_nan(true_score)));
                continue;
            }
            if (c.has_candidates && !candidate_lists.has(task, column)) continue;
            const bool is_filtered = c.has_filter && filter.has(task, column);
            if (!is_nan(x)) best.add({Order<T>::key(score), !is_filtered}, c.ascending);
            if (is_filtered) continue;
            expected[0] += x > true_score;
            expected[1] += x == true_score;
            expected[2] += 1;
            expected[3] += is_nan(x);
            expected[5] += is_infinite(score);
        }
        for (std::size_t i = 0; i < (c.audit ? 6 : 5); ++i) {
            right = right && counts[i][task] == expected[i];
        }
        right = right && (!c.audit || (best.key == sum.key && best.count == sum.count));
    }
    expect_of_case(checks, right, "partial counts", name, c);
}

// A fault names the row and column of a NaN that the rule does not allow.
void check_fault(Checks& checks) {
    std::vector<float> scores(7 * 300, 1.0f);
    for (const std::size_t at : {850u, 607u, 1501u}) {
        scores[at] = std::numeric_limits<float>::quiet_NaN();
    }
    const std::vector<std::int64_t> targets(7, 0);
    std::vector<std::int64_t> above(7), tied(7), candidates(7);
    const Fault fault = rank({reinterpret_cast<const char*>(scores.data()), 7, 300, 1200, 4, DType::float32, false},
                             {7, nullptr, targets.data()}, {false, NanRule::raise}, 2, [] { return false; },
                             {above.data(), tied.data(), candidates.data()});
    checks.expect(fault.kind == Fault::Kind::nan_score && fault.row == 2 && fault.column == 7, "the first NaN");
}

// Where a row takes several chunks, counts are finished 64 groups of tasks at a time: the last of these has one group.
// One row in memory serves all tasks, and nothing is known of what the arrays of counts held before.
void check_last_groups(Checks& checks) {
    constexpr std::int64_t columns = 2 * measured::kChunkBytes, special = 200;
    std::vector<std::int8_t> row(static_cast<std::size_t>(columns), 0);
    for (std::int64_t column = 0; column < special; ++column) {
        row[static_cast<std::size_t>(column)] = static_cast<std::int8_t>(1 + column * 7 % 90);
    }
    for (const std::int64_t tasks : {65, 129}) {
        const auto n = static_cast<std::size_t>(tasks);
        std::vector<std::int64_t> targets, above(n, -7), tied(n, -7), candidates(n, -7);
        ColumnLists filter;  // the target, and the column after it
        for (std::int64_t task = 0; task < tasks; ++task) {
            targets.push_back(task);
            filter.indices.push_back(task);
            filter.indices.push_back(task + 1);
            filter.end_list();
        }
        rank({reinterpret_cast<const char*>(row.data()), tasks, columns, 0, 1, DType::int8, false},
             {tasks, nullptr, targets.data(), filter.selection_over(2)}, {false, NanRule::raise}, 2,
             [] { return false; }, {above.data(), tied.data(), candidates.data()});
        for (std::int64_t task = 0; task < tasks; ++task) {
            const auto t = static_cast<std::size_t>(task);
            std::int64_t expected_above = 0, expected_tied = 0;
            for (std::int64_t column = 0; column < special; ++column) {
                const auto at = static_cast<std::size_t>(column);
                if (column == task + 1) continue;
                expected_above += row[at] > row[t];
                expected_tied += row[at] == row[t];
            }
            checks.expect(above[t] == expected_above && tied[t] == expected_tied && candidates[t] == columns - 1,
                          "rank, group %lld of %lld in a long row", static_cast<long long>(task),
                          static_cast<long long>(tasks));
        }
    }
}

// Rows with lists of candidates of their own are not cut, however long these are.
void check_long_lists(Checks& checks) {
    constexpr std::int64_t length = 2 * measured::kChunkBytes + 7;
    std::vector<std::int8_t> row(2 * length);
    for (std::int64_t column = 0; column < 2 * length; ++column) {
        row[static_cast<std::size_t>(column)] = static_cast<std::int8_t>(column % 101);
    }
    // The candidates of the first task are the first half of the columns, those of the second the others.
    const std::vector<std::int64_t> targets{50, length + 90}, starts{0, length, 2 * length};
    Selection candidate_lists;
    candidate_lists.indptr = starts.data();
    candidate_lists.ranges = true;
    candidate_lists.size = 2;
    candidate_lists.entries = 2 * length;
    candidate_lists.longest = length;
    std::vector<std::int64_t> above(2), tied(2), candidates(2);
    rank({reinterpret_cast<const char*>(row.data()), 2, 2 * length, 0, 1, DType::int8, false},
         {2, nullptr, targets.data(), {}, candidate_lists}, {false, NanRule::raise}, 2, [] { return false; },
         {above.data(), tied.data(), candidates.data()});
    for (std::size_t t = 0; t < 2; ++t) {
        const std::int8_t true_score = row[static_cast<std::size_t>(targets[t])];
        const auto first = row.begin() + starts[t], last = row.begin() + starts[t + 1];
        const auto expected_above = std::count_if(first, last, [&](std::int8_t score) { return score > true_score; });
        const auto expected_tied = std::count(first, last, true_score);
        checks.expect(above[t] == expected_above && tied[t] == expected_tied && candidates[t] == length,
                      "rank, long list %zu", t);
    }
}

// Columns are counted twelve at a time, and sixty where rows have several tasks: NaN is in the last column of odd rows,
// and in the second of some of these.
void check_nan_in_last_columns(Checks& checks) {
    constexpr std::int64_t rows = 64;
    for (const std::int64_t tasks : {rows, 2 * rows}) {
        for (const std::int64_t columns : {2, 12, 13, 24, 25, 60, 61, 62, 72, 73, 121}) {
            std::vector<float> scores(static_cast<std::size_t>(rows * columns), 1.0f);
            for (std::int64_t row = 1; row < rows; row += 2) {  // in memory a column is next to a column
                const float nan = std::numeric_limits<float>::quiet_NaN();
                scores[static_cast<std::size_t>((columns - 1) * rows + row)] = nan;
                if (row % 4 == 3) scores[static_cast<std::size_t>(rows + row)] = nan;
            }
            const Scores view{
                reinterpret_cast<const char*>(scores.data()), rows, columns, 4, 4 * rows, DType::float32, false};
            const auto n = static_cast<std::size_t>(tasks);
            std::vector<std::int64_t> of_tasks, targets(n, 0), above(n), tied(n), candidates(n);
            for (std::int64_t task = 0; task < tasks; ++task) of_tasks.push_back(task % rows);
            const auto count = [&](NanRule rule) {
                return rank(view, {tasks, of_tasks.data(), targets.data()}, {false, rule}, 1, [] { return false; },
                            {above.data(), tied.data(), candidates.data()});
            };
            const Fault fault = count(NanRule::raise);
            bool right = fault.kind == Fault::Kind::nan_score && fault.row == 1 && fault.column == columns - 1;
            for (const NanRule rule : {NanRule::worst, NanRule::omit}) {
                right = right && count(rule).kind == Fault::Kind::none;
                for (std::size_t t = 0; t < n; ++t) {
                    const std::int64_t nan = t % 2 + (t % 4 == 3 && columns > 2);
                    right = right && above[t] == 0 && tied[t] == columns - nan &&
                            candidates[t] == (rule == NanRule::omit ? columns - nan : columns);
                }
            }
            checks.expect(right, "rank, NaN in the last of %lld columns, %lld tasks", static_cast<long long>(columns),
                          static_cast<long long>(tasks));
        }
    }
}

// A target that is NaN stays a candidate where its filter lists it; alone in its row, and with another task.
void check_filtered_nan_target(Checks& checks) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> scores{2, nan, 3, nan, 1};
    const std::vector<std::int64_t> one_row(2, 0), targets{1, 1};
    ColumnLists filter;
    filter.indices = {0, 1, 3};
    filter.end_list();
    Selection left_out = filter.selection_over(3);
    left_out.shared = true;
    for (const std::int64_t tasks : {1, 2}) {
        std::vector<std::int64_t> above(2), tied(2), candidates(2);
        const auto count = [&](NanRule rule) {
            return rank({reinterpret_cast<const char*>(scores.data()), 1, 5, 20, 4, DType::float32, false},
                        {tasks, one_row.data(), targets.data(), left_out}, {false, rule}, 1, [] { return false; },
                        {above.data(), tied.data(), candidates.data()});
        };
        const Fault raised = count(NanRule::raise), omitted = count(NanRule::omit), kept = count(NanRule::worst);
        bool right = raised.kind == Fault::Kind::nan_score && raised.row == 0 && raised.column == 1;
        right = right && omitted.kind == Fault::Kind::nan_true_score && omitted.row == 0 && omitted.column == 1;
        right = right && kept.kind == Fault::Kind::none;
        for (std::size_t t = 0; t < static_cast<std::size_t>(tasks); ++t) {
            right = right && above[t] == 2 && tied[t] == 1 && candidates[t] == 3;
        }
        checks.expect(right, "rank, a filtered target that is NaN, %lld tasks", static_cast<long long>(tasks));
    }
}

}  // namespace

void check_rank(Checks& checks) {
    Random random;
    for_each_type([&]<class T>(const char* name) {
        for (const Layout& layout : kLayouts) {
            for (const auto& [rows, columns, tasks] :
                 {std::array<std::int64_t, 3>{50, 3, 50}, {9, 777, 9}, {7, 131, 60}, {2, 500, 300}, {1, 1, 1}}) {
                for (int distribution = 0; distribution < 4; ++distribution) {
                    const NanRule rule = random.one_in(2) ? NanRule::omit : NanRule::worst;
                    const Case c{rows,
                                 columns,
                                 tasks,
                                 layout,
                                 random.one_in(2),
                                 distribution % 2 == 1,
                                 distribution >= 2,
                                 random.one_in(3),
                                 rule,
                                 random.one_in(2) ? 0 : 3};
                    check_case<T>(checks, name, c, random);
                    if (columns > 1) check_parts<T>(checks, name, c, random);
                }
            }
        }
    });
    // Enough work for several threads, as many as are free.
    for (const Layout& layout : kLayouts) {
        check_case<double>(checks, "float64", {40, 30'000, 40, layout, false, true, false, false, NanRule::omit, 0},
                           random);
    }
    check_fault(checks);
    check_last_groups(checks);
    check_long_lists(checks);
    check_nan_in_last_columns(checks);
    check_filtered_nan_target(checks);
}

}  // namespace truerank::tests
