// Counts of scores that exist already, in memory or in a file.
#include <algorithm>
#include <type_traits>

#include "bind/scores.hpp"
#include "bind/tasks.hpp"

namespace truerank::bind {
namespace {

template <class M>
constexpr bool in_file = std::is_same_v<M, ScoreFile>;

template <class M>
std::optional<Fault> count_tasks(const M& matrix, const Tasks& tasks, const Rules& rules, int threads,
                                 const Counts& counts) {
    bool (*const interrupted)() = interrupt_hook();
    const auto& scores = matrix.view();
    Fault fault;
    try {
        without_gil([&] { fault = rank(scores, tasks, rules, threads, interrupted, counts); });
    } catch (const ReadFailure& failure) {
        if constexpr (in_file<M>) matrix.raise_error(failure);
        throw;
    }
    return fault_or_none(fault);
}

template <class M>
void require_rows(const std::optional<Int64Array>& rows, std::int64_t height, std::int64_t tasks) {
    if (!rows) return require(tasks <= height, "targets: more than rows");
    require_within(*rows, height, "rows: outside of the rows");
    require(!in_file<M> || std::is_sorted(rows->data(), rows->data() + tasks), "rows: not sorted");
}

template <class M>
CountArrays rank_tasks(const M& matrix, const TaskArrays& task_arrays, const AuditedRules& audited_rules, int threads) {
    const auto& scores = matrix.view();
    const std::int64_t size = task_arrays.size();
    require_within(*task_arrays.targets, scores.columns, "targets: outside of the columns");
    require_rows<M>(task_arrays.rows, scores.rows, size);
    if constexpr (in_file<M>) require(size == 0 || reads_whole_rows(scores), "scores: rows are not read whole");
    const Tasks tasks = task_arrays.view(size);
    require(!tasks.candidates.ranges, "candidates: ranges of a whole matrix");
    CountArrays results(size);
    Counts counts = results.add_counts(audited_rules, std::nullopt);
    counts.may_be_masked = &results.may_be_masked;
    results.fault = count_tasks(matrix, tasks, audited_rules.rules, threads, counts);
    return results;
}

template <class M>
CountArrays partial_counts(const M& matrix, const TaskArrays& task_arrays, const py::array& true_scores,
                           std::int64_t first_column, const AuditedRules& audited_rules, int threads,
                           const std::optional<py::dict>& counted) {
    const auto& scores = matrix.view();
    const std::int64_t size = task_arrays.size();
    require_rows<M>(task_arrays.rows, scores.rows, size);
    require(true_scores.ndim() == 1 && true_scores.size() == size && true_scores.itemsize() == matrix.size() &&
                is_plain(true_scores),
            "true_scores: not one for each task");
    const bool ranges = task_arrays.candidates && task_arrays.candidates->ranges;
    require(!ranges || (first_column == 0 && !in_file<M>), "candidates: ranges of a part, or of a file");
    const Tasks tasks = task_arrays.view_of_part(size, first_column, scores.columns, true_scores.data());
    CountArrays results(size, counted);
    Counts counts = results.add_partial_counts(audited_rules, /*fills=*/in_file<M>);
    counts.are_new = !in_file<M> && !counted;
    results.fault = count_tasks(matrix, tasks, audited_rules.rules, threads, counts);
    return results;
}

template <class M>
void bind_ranking(py::module_& m) {
    m.def("rank", &rank_tasks<M>, py::arg("scores"), py::arg("tasks"), py::arg("rules"), py::arg("threads"),
          "Counts of the tasks: above, tied, candidates and, in an audit, nan, inf, at_best.");
    m.def("partial_counts", &partial_counts<M>, py::arg("scores"), py::arg("tasks"), py::arg("true_scores"),
          py::arg("first_column"), py::arg("rules"), py::arg("threads"), py::arg("counted") = py::none(),
          "Counts of the tasks in part of a matrix, without the true scores, added to those counted before: above, "
          "tied, candidates, nan, differing and, in an audit, inf, at_best, best.");
}

}  // namespace

void register_ranking(py::module_& m) {
    bind_ranking<ScoreArray>(m);
    bind_ranking<ScoreFile>(m);
}

}  // namespace truerank::bind
