// Scores all pairs of queries and candidates, one register tile at a time, without storing the scores.
//
// The tasks, sorted by query, are cut into cells: some queries against a range of their candidates. A worker packs the
// queries of a cell once, then packs its candidates panel by panel. It hands the scores of a few queries against a
// panel, while they are in the nearest cache, to a sink, which counts them or keeps some of them.
//
// A sink that can do without most scores is first asked what they are compared with: bounds then decide as many pairs
// of a panel as they can (bounded_panels.hpp), and a panel that they decline is scored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/selection.hpp"
#include "engine/sweep/embeddings.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/threads.hpp"
#include "kernels/decisions.hpp"

namespace truerank {

// A query, and the position of its first task in the sorted order. Its tasks end where those of the next query begin. A
// query of a grid may have none.
struct SortedQuery {
    std::int64_t row;
    std::int64_t first_task;
};

// Queries that have the same candidates, from first_query up to but not including last_query: positions in
// SortedTasks::queries.
struct Group {
    std::int64_t first_query;
    std::int64_t last_query;
    ListedColumns candidates;
};

// What a worker does at once: some queries, some of the tasks of each (positions in SortedTasks::order), and the
// candidates from begin to end of the group's.
struct Cell {
    std::int64_t first_query;
    std::int64_t last_query;
    std::int64_t first_task;
    std::int64_t last_task;
    ListedColumns candidates;
    std::int64_t begin;
    std::int64_t end;
};

// Candidates packed side by side. The lanes from `width` on are padding.
struct Panel {
    std::int64_t begin;  // position of the first candidate in the group's
    std::int64_t width;
    const std::int64_t* columns;  // of the candidates, ascending
};

// Tasks sorted by list of candidates, then by query.
struct SortedTasks {
    std::vector<std::int64_t> order;   // the tasks
    std::vector<std::int64_t> rows;    // the query of each
    std::vector<SortedQuery> queries;  // the distinct queries, and one more at the end
    std::vector<Group> groups;
    std::int64_t first_task_of(std::int64_t query) const { return queries[static_cast<std::size_t>(query)].first_task; }
};
SortedTasks sort_tasks(const Tasks& tasks, const Embeddings& embeddings);

// Lists the first task of each of a cell's queries, and where those of the last one end, counted from the cell's first.
void list_first_tasks(const Cell& cell, const SortedTasks& sorted, std::vector<std::int64_t>& first_task);

// Open pairs, and how many they are: room for more is kept.
struct OpenPairs {
    std::vector<OpenPair> list;
    std::size_t count = 0;
    OpenPair* room(std::size_t more) {
        if (list.size() < count + more + kOpenRoom) list.resize(count + more + kOpenRoom);
        return list.data() + count;
    }
};

// Whether nearly all of n lists are full, so that their thresholds leave few scores to be offered.
template <class Number>
bool are_nearly_all(Number full, Number n) {
    return 32 * (n - full) <= n;
}

// The tasks of a cell's queries, for bounds: what their pairs are compared with, and what becomes of these.
template <class C>
class BoundedTasks {
  public:
    virtual ~BoundedTasks() = default;
    // Whether it matters how many pairs are above; else only those that are not below do.
    virtual bool counts() const { return true; }
    // The score that those of each task are compared with. Null where too many pairs would be open as yet.
    virtual const C* thresholds() = 0;
    // One for each task: to it are added the pairs that are certainly above, where these are counted.
    virtual std::uint32_t* counters() = 0;
    // Takes out of the masks of the tasks of some queries what is no candidate.
    virtual void take_masks(PairMasks*, std::int64_t /* first_query */, std::int64_t /* queries */) {}
    // Takes the scores of n pairs that stayed open.
    virtual void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) = 0;
};

// The same of tasks that a panel's candidates have, in layers of one task for each lane. Of an open pair, the task is
// its place in the layers.
template <class C>
class LayeredTasks : public BoundedTasks<C> {
  public:
    virtual std::size_t layers() const = 0;
    virtual std::int64_t tasks() const = 0;
};

// What takes the scores of a thread, which come in cell by cell.
template <class C>
class Sink {
  public:
    virtual ~Sink() = default;
    // The tasks of query i are first[i] to first[i + 1], counted from the cell's first.
    virtual void begin_cell(const Cell& cell, const std::vector<std::int64_t>& first) = 0;
    virtual void begin_panel(const Panel& panel) = 0;
    // Takes the scores of some queries against the panel; returns how much work that was, in scores.
    virtual std::int64_t take_scores(C* scores, std::int64_t first_query, std::int64_t queries) = 0;
    // Comes last, unless the sweep was stopped before.
    virtual void end_cell() {}
    // For a sink that can do without most scores: what bounds need. Null for others, and where lanes have no tasks.
    virtual BoundedTasks<C>* query_tasks() { return nullptr; }
    virtual LayeredTasks<C>* lane_tasks() { return nullptr; }
};

// What a thread of a sweep asks from time to time: whether to stop (Stop::requested).
struct Poll {
    Stop& stop;
    bool is_caller;
    bool stops(std::int64_t work, std::int64_t done = 0) const { return stop.requested(is_caller, work, done); }
};

// Scores all cells of the sorted tasks; each worker has a sink of its own, which keeps so many bytes for each task.
template <class C>
void sweep(const Scoring<C>& scoring, const SortedTasks& sorted, const Execution& execution, std::int64_t task_bytes,
           const std::function<std::unique_ptr<Sink<C>>()>& make_sink);

// The scores of pairs of a query and a candidate.
template <class C>
void score_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                 const Execution& execution, C* out);

}  // namespace truerank
