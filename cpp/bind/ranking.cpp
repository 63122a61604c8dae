// Counts of scores that are there, in memory or in a file.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "bind/scores.hpp"
#include "bind/tasks.hpp"

namespace truerank::bind {
namespace {

template <class M>
constexpr bool in_file = std::is_same_v<M, ScoreFile>;

Fault counted(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
              const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts) {
    return rank(scores, tasks, filter, candidates, rules, threads, interrupted, counts);
}
Fault counted(const FileScores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
              const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts) {
    return rank_file(scores, tasks, filter, candidates, rules, threads, interrupted, counts);
}

template <class M, class View>
void count(const M& matrix, const View& scores, const Tasks& tasks, const Selection& filter,
           const Selection& candidates, const Rules& rules, int threads, const Counts& counts, Results& results) {
    bool (*const ask)() = asks();
    Fault fault;
    const auto work = [&] { fault = counted(scores, tasks, filter, candidates, rules, threads, ask, counts); };
    if constexpr (in_file<M>) {
        try {
            without_gil(work);
        } catch (const ReadFailure& failure) {
            matrix.refuse(failure);
        }
    } else {
        without_gil(work);
    }
    results.fault = noted(fault);
}

template <class M>
void require_rows(const std::optional<Int64Array>& rows, std::int64_t height, std::int64_t tasks) {
    if (!rows) return require(tasks <= height, "targets: more than rows");
    require_within(*rows, height, "rows: outside of the rows");
    require(!in_file<M> || std::is_sorted(rows->data(), rows->data() + tasks), "rows: not sorted");
}

template <class M>
Results rank_tasks(const M& matrix, const TaskArrays& asked, const AuditedRules& how, int threads) {
    const auto& scores = matrix.view();
    const std::int64_t size = asked.size();
    require_within(*asked.targets, scores.columns, "targets: outside of the columns");
    require_rows<M>(asked.rows, scores.rows, size);
    if constexpr (in_file<M>) require(size == 0 || reads_whole_rows(scores), "scores: rows are not read whole");
    const Selection without = asked.without(size), among = asked.among(size);
    require(!among.ranges, "candidates: ranges of a whole matrix");
    Results results(size);
    Counts counts;
    results.add_counts(counts);
    if (how.audit) {
        counts.nan = results.add(Count::nan);
        results.add_audit(counts);
    }
    const Tasks tasks{size, asked.row_data(), asked.targets->data()};
    count(matrix, scores, tasks, without, among, how.rules, threads, counts, results);
    return results;
}

template <class M>
Results count_part(const M& matrix, const TaskArrays& asked, const py::array& truths, std::int64_t first_column,
                   const AuditedRules& how, int threads) {
    const auto& scores = matrix.view();
    const std::int64_t size = asked.size();
    require_rows<M>(asked.rows, scores.rows, size);
    require(truths.ndim() == 1 && truths.size() == size && truths.itemsize() == matrix.size() && is_plain(truths),
            "truths: not one for each task");
    const bool ranges = asked.candidates && asked.candidates->ranges;
    require(!ranges || (first_column == 0 && !in_file<M>), "candidates: ranges of a part, or of a file");
    using Limits = std::numeric_limits<std::int64_t>;
    require(first_column >= 0 && first_column <= Limits::max() - scores.columns, "first_column: out of range");
    require_within(*asked.targets, Limits::max(), "targets: negative", -1);
    Tasks tasks{size, asked.row_data(), asked.targets->data()};
    tasks.truths = static_cast<const char*>(truths.data());
    tasks.first_column = first_column;
    const std::int64_t end = first_column + scores.columns;
    const Selection without = asked.without(size).within(first_column, end);
    const Selection among = asked.among(size).within(first_column, end);
    Results results(size);
    Counts counts;
    results.add_counts(counts);
    counts.nan = results.add(Count::nan);
    counts.differing = results.add(Count::differing);
    if (how.audit) {
        results.add_audit(counts);
        counts.best = results.add(Count::best, how.rules.ascending ? Limits::max() : Limits::min());
    }
    count(matrix, scores, tasks, without, among, how.rules, threads, counts, results);
    return results;
}

template <class M>
void bind_ranking(py::module_& m) {
    m.def("rank", &rank_tasks<M>, py::arg("scores"), py::arg("tasks"), py::arg("rules"), py::arg("threads"),
          "Counts: above, tied, candidates (and, audited, nan, inf, at_best).");
    m.def("partial_counts", &count_part<M>, py::arg("scores"), py::arg("tasks"), py::arg("true_scores"),
          py::arg("first_column"), py::arg("rules"), py::arg("threads"),
          "Counts of a part of a matrix, truths left out: above, tied, candidates, nan, differing (and, audited, inf, "
          "at_best, best).");
}

}  // namespace

void register_ranking(py::module_& m) {
    bind_ranking<ScoreArray>(m);
    bind_ranking<ScoreFile>(m);
}

}  // namespace truerank::bind
