#include "engine/crowded.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/bounds.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

using CountArray = std::int64_t* Counts::*;
constexpr CountArray kCountArrays[] = {&Counts::above, &Counts::tied,    &Counts::candidates, &Counts::nan,
                                       &Counts::inf,   &Counts::at_best, &Counts::best,       &Counts::differing};

// Makes a selection that of some of its tasks, whose lists this writes to `lists`.
void take_lists(Selection& selection, const std::vector<std::int64_t>& tasks, std::vector<std::int64_t>& lists) {
    if (!selection || selection.shared) return;
    for (const std::int64_t task : tasks) lists.push_back(selection.list(task));
    selection.list_of_task = lists.data();
}

}  // namespace

TaskSubset::TaskSubset(std::vector<std::int64_t> ids, const Tasks& tasks, std::size_t number_bytes,
                       const Counts& counts)
    : ids_(std::move(ids)), tasks_(tasks) {
    take_lists(tasks_.filter, ids_, filter_lists_);
    take_lists(tasks_.candidates, ids_, candidate_lists_);
    for (const std::int64_t id : ids_) {
        rows_.push_back(tasks.rows == nullptr ? id : tasks.rows[id]);
        targets_.push_back(tasks.targets[id]);
        if (!tasks.is_partial()) continue;
        const char* const score = tasks.true_scores + static_cast<std::size_t>(id) * number_bytes;
        true_scores_.insert(true_scores_.end(), score, score + number_bytes);
    }
    tasks_.size = static_cast<std::int64_t>(ids_.size());
    tasks_.rows = rows_.data();
    tasks_.targets = targets_.data();
    if (tasks.is_partial()) tasks_.true_scores = true_scores_.data();
    for (const CountArray array : kCountArrays) {
        if (counts.*array == nullptr) continue;
        // Numbers begin at 0, and the key of the best score below all keys.
        const std::int64_t start = array == &Counts::best ? std::numeric_limits<std::int64_t>::min() : 0;
        arrays_.emplace_back(ids_.size(), start);
        counts_.*array = arrays_.back().data();
    }
}

void TaskSubset::number_rows() {
    queries_ = rows_;
    std::int64_t number = -1;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (i == 0 || queries_[i] != queries_[i - 1]) ++number;
        rows_[i] = number;
    }
}

Fault TaskSubset::give_back(Fault fault, const Counts& counts) const {
    for (const CountArray array : kCountArrays) {
        if (counts.*array == nullptr) continue;
        for (std::size_t i = 0; i < ids_.size(); ++i) (counts.*array)[ids_[i]] = (counts_.*array)[i];
    }
    if (fault.kind == Fault::Kind::none) return fault;
    const auto task = static_cast<std::size_t>(fault.task);
    if (!queries_.empty()) fault.row = queries_[task];
    fault.task = ids_[task];
    return fault;
}

CrowdedQueries find_crowded(const Embeddings& embeddings, const SortedTasks& sorted, const Selection& filter) {
    CrowdedQueries crowded;
    const std::int64_t columns = embeddings.entity_count(), depth = embeddings.mean_depth();
    const bool is_ruled_out = are_bounds_forced();  // which is for tests of bounds
    for (const Group& group : sorted.groups) {
        const std::int64_t size = group.candidates.size;
        for (std::int64_t query = group.first_query; query < group.last_query; ++query) {
            const std::int64_t first = sorted.first_task_of(query), last = sorted.first_task_of(query + 1);
            // In scores that are compared: each score with each task, and what is filtered; and what it takes to count
            // in a row, to make the scores of those that are no candidates, and to do without bounds.
            const std::int64_t in_row = (measured::kTasksInRow + depth / measured::kDepthOfTask) * columns;
            const std::int64_t looked_up = in_row + depth * (columns - size);
            std::int64_t compared = (last - first) * size;
            for (std::int64_t task = first; filter && task < last && compared <= looked_up; ++task) {
                const std::int64_t list = filter.list(sorted.order[static_cast<std::size_t>(task)]);
                compared += measured::kScoresPerFiltered * std::min(size, filter.span(list).length);
            }
            if (compared <= looked_up || is_ruled_out) {
                crowded.other_pairs += size;
            } else {
                crowded.queries.push_back(query);
                crowded.pairs += columns;
            }
        }
    }
    return crowded;
}

Fault rank_crowded(const Embeddings& embeddings, const Tasks& tasks, const SortedTasks& sorted,
                   const CrowdedQueries& crowded, NanRule nan, const Execution& execution, const Counts& counts) {
    const std::size_t number_bytes = embeddings.wide() ? sizeof(double) : sizeof(float);
    const std::int64_t columns = embeddings.entity_count();
    const std::int64_t row_bytes = std::max<std::int64_t>(1, columns * static_cast<std::int64_t>(number_bytes));
    const std::int64_t most = std::max<std::int64_t>(1, measured::kRowsBytes / row_bytes);
    PartListener listener(execution.listener, crowded.pairs + crowded.other_pairs);
    Fault fault;
    std::vector<double> scores;
    std::int64_t done = 0;
    auto group = sorted.groups.begin();
    for (auto first = crowded.queries.begin(); first != crowded.queries.end();) {
        // Some queries of one group, whose rows ascend: so the first fault here is the first by the rows of the call.
        while (group->last_query <= *first) ++group;
        const auto end = std::lower_bound(first, crowded.queries.end(), group->last_query);
        const auto last = first + std::min<std::ptrdiff_t>(end - first, most);
        std::vector<std::int64_t> rows, ids;
        for (; first != last; ++first) {
            rows.push_back(sorted.queries[static_cast<std::size_t>(*first)].row);
            ids.insert(ids.end(), sorted.order.begin() + sorted.first_task_of(*first),
                       sorted.order.begin() + sorted.first_task_of(*first + 1));
        }
        const auto n = static_cast<std::int64_t>(rows.size());
        scores.resize(static_cast<std::size_t>(n * row_bytes) / sizeof(double) + 1);
        Execution part = execution;
        part.listener = listener.part(done);
        score_embeddings(embeddings, rows.data(), nullptr, n, part, scores.data());
        TaskSubset subset(std::move(ids), tasks, number_bytes, counts);
        subset.number_rows();
        const Scores matrix{reinterpret_cast<const char*>(scores.data()),
                            n,
                            columns,
                            static_cast<std::ptrdiff_t>(row_bytes),
                            static_cast<std::ptrdiff_t>(number_bytes),
                            embeddings.wide() ? DType::float64 : DType::float32,
                            false};
        const Fault fault_of_part = subset.give_back(
            rank(matrix, subset.tasks(), Rules{false, nan}, execution.threads, execution.interrupted, subset.counts()),
            counts);
        if (precedes(fault_of_part, fault)) fault = fault_of_part;
        add_to_tally({subset.tasks().size * group->candidates.size - n * columns, 0, 0, 0});
        done += n * columns;
    }
    return fault;
}

}  // namespace truerank
