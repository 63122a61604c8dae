// Queries that have so many tasks, or so long filters, that scores are not compared as they are made: such a query is
// scored into a row, and the row counted as one of a matrix of scores, where the true scores are sorted once and the
// filter is read once for the tasks that share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/embeddings.hpp"
#include "engine/rank.hpp"
#include "engine/selection.hpp"
#include "engine/sweep.hpp"

namespace truerank {

// Some of the tasks of a call, side by side, with arrays for their counts.
class TaskSubset {
  public:
    TaskSubset(std::vector<std::int64_t> ids, const Tasks& tasks, std::size_t number_bytes, const Counts& counts);
    TaskSubset(const TaskSubset&) = delete;
    TaskSubset& operator=(const TaskSubset&) = delete;

    const Tasks& tasks() const { return tasks_; }
    const Counts& counts() const { return counts_; }
    // Numbers the rows of the tasks, which are ascending, from 0 on.
    void number_rows();
    // Writes the counts to the arrays of the call, and says what a fault is there.
    Fault give_back(Fault fault, const Counts& counts) const;

  private:
    std::vector<std::int64_t> ids_, rows_, queries_, targets_, filter_lists_, candidate_lists_;
    std::vector<char> true_scores_;
    std::vector<std::vector<std::int64_t>> arrays_;
    Tasks tasks_;
    Counts counts_;
};

// Queries of some sorted tasks: positions in SortedTasks::queries, ascending.
struct CrowdedQueries {
    std::vector<std::int64_t> queries;
    std::int64_t pairs = 0;        // of these and the entities
    std::int64_t other_pairs = 0;  // of other queries and their candidates
};
CrowdedQueries find_crowded(const Embeddings& embeddings, const SortedTasks& sorted, const Selection& filter);

// As rank_embeddings(), of the crowded queries alone.
Fault rank_crowded(const Embeddings& embeddings, const Tasks& tasks, const SortedTasks& sorted,
                   const CrowdedQueries& crowded, NanRule nan, const Execution& execution, const Counts& counts);

// A listener that hears part of a call.
class PartListener : public Listener {
  public:
    PartListener(Listener* whole, std::int64_t total)
        : Listener(whole == nullptr ? Interval(0) : whole->interval()), whole_(whole), total_(total) {}
    // What a part of the call takes: null where nobody hears.
    Listener* part(std::int64_t before) {
        before_ = before;
        return whole_ == nullptr ? nullptr : this;
    }
    bool hear(std::int64_t done, std::int64_t) override { return whole_->hear(before_ + done, total_); }

  private:
    Listener* whole_;
    std::int64_t total_, before_ = 0;
};

}  // namespace truerank
