// Scores all pairs of queries and candidates, one register tile at a time, without storing the scores.
//
// The tasks, sorted by query, are cut into cells: some queries against a range of their candidates. A worker packs the
// queries of a cell once, then packs its candidates panel by panel. It hands the scores of a few queries against a
// panel, while they are in the nearest cache, to a sink, which counts them or keeps some of them.
//
// A sink that can do without most scores is first asked what they are compared with: bounds then decide as many pairs
// of a panel as they can (bounded_panels.hpp), and a panel that they decline is scored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/embeddings.hpp"
#include "engine/scoring.hpp"
#include "engine/selection.hpp"
#include "engine/sink.hpp"
#include "engine/threads.hpp"

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

// How much there is to do, where a pair takes `depth` multiply-adds, and the threads that this is worth.
struct Workload {
    double multiply_adds = 0;
    Workload(const SortedTasks& sorted, std::int64_t depth);
    int threads(const Execution& execution) const;  // 0: as many as are free
    Duration duration() const;
};

// Lists the first task of each of a cell's queries, and where those of the last one end, counted from the cell's first.
void list_first_tasks(const Cell& cell, const SortedQuery* queries, std::vector<std::int64_t>& first_task);

// What the sizes of cells depend on.
struct CellSizing {
    std::int64_t depth;
    std::int64_t lanes;
    std::int64_t number_bytes;  // the size of a component
    std::int64_t task_bytes;    // what a sink keeps for each task
    std::int64_t block;         // candidates in a cell; 0: chosen here
    int threads;
};
std::vector<Cell> cut_cells(const SortedTasks& sorted, const CellSizing& sizing);

// Scores all cells of the sorted tasks; each worker has a sink of its own, which keeps so many bytes for each task.
template <class C>
void sweep(const Scoring<C>& scoring, const SortedTasks& sorted, const Execution& execution, std::int64_t task_bytes,
           const std::function<std::unique_ptr<Sink<C>>()>& make_sink);

// The scores of pairs of a query and a candidate.
template <class C>
void score_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                 const Execution& execution, C* out);

}  // namespace truerank
