// What takes the scores of a sweep, and what bounds tell in place of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/decisions.hpp"

namespace truerank {

struct Cell;
struct Panel;

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

}  // namespace truerank
