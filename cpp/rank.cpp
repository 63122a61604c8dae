#include "rank.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "count.hpp"
#include "parallel.hpp"
#include "reader.hpp"

namespace truerank {
namespace {

// Less than this is counted by the caller alone: beside a process that holds a core, waking OpenMP's threads costs milliseconds.
constexpr std::int64_t kSerialBytes = std::int64_t{8} << 20;
// A piece of work: small, so that threads end together and a stop is soon heeded; large beside the cost of handing it out.
constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;
// Scores that cannot be read in place are copied, in blocks that stay in the second-level cache.
constexpr std::int64_t kPackBytes = 65536;
// Rows whose scores lie closer together than their columns are copied side by side, a cache line of them.
constexpr std::int64_t kLineBytes = 64;
// What of the scores stays in the second-level cache beside other things.
constexpr std::int64_t kHotBytes = 524288;
// How much of a filter is fetched while its row is counted.
constexpr std::int64_t kFilterBytes = 1024;
// A pass over a tile of columns serves one task of each row: with more tasks, or few rows asked for, rows are read one by one.
constexpr std::int64_t kMostLayers = 8;
constexpr std::int64_t kFewestOfTile = 8;

using Ids = std::span<const std::int64_t>;

// Of two faults, the one to report: a target that is no candidate before a NaN, then the first task, or the first row.
bool sooner(const Fault& a, const Fault& b) {
    if (a.kind == Fault::Kind::none || b.kind == Fault::Kind::none) return b.kind == Fault::Kind::none;
    if (a.kind != b.kind) return a.kind < b.kind;
    return a.kind == Fault::Kind::not_a_candidate ? a.task < b.task : a.row < b.row;
}

// How the work is cut: pieces of `step` groups (upright: of `step` rows of the matrix), each in `segments` stretches of columns.
struct Plan {
    bool upright = false;  // columns are contiguous: a tile of rows at once
    bool single = false;   // task i alone reads row i, in place
    bool serial = false;
    std::int64_t pieces = 0;
    std::int64_t step = 1;
    std::int64_t tile = 1;  // groups that are scanned side by side
    std::int64_t length = 0;
    std::int64_t segment = 0;
    std::int64_t segments = 1;
};

// The distinct truths of tasks that read one row, and what they find there.
template <class T>
struct Truths {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    T last;                          // the truth of the last task: of a single task, its own
    std::vector<std::size_t> slots;  // of every task, in keys and tallies; none: its truth is a NaN
    std::vector<Key<T>> keys;        // sorted and distinct, without NaN
    std::vector<Tally> tallies;      // of every key
    std::vector<std::int64_t> scratch;
    std::vector<std::pair<Key<T>, std::size_t>> sorting;
    std::int64_t nan, at_best;
    Key<T> best;

    // What task t of those gathered found.
    Tally of(std::size_t t) const { return slots[t] == none ? Tally{} : tallies[slots[t]]; }
    std::int64_t inf() const { return has_nan<T> ? tallies.front().tied + tallies.back().tied : 0; }
};

// What one task finds.
struct Found {
    Tally tally;
    std::int64_t nan = 0;
};

template <class T>
class Ranker {
  public:
    Ranker(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
           const Rules& rules, const Counts& counts)
        : scores_(scores),
          tasks_(tasks),
          filter_(filter),
          candidates_(candidates),
          rules_(rules),
          counts_(counts),
          reader_(scores),
          kernels_(kernels<T>()) {}

    Fault run(int threads, bool (*interrupted)());

  private:
    struct Worker {
        std::vector<T> single;  // truths of tasks that have their rows to themselves
        std::vector<Truths<T>> tile;
        std::vector<std::int64_t> rows;  // of the tile
        std::vector<T> pack;
        Truths<T> filtered;
        std::vector<std::int64_t> columns;
        std::vector<T> layer;
        std::vector<std::int64_t> lanes;
        Fault fault;
        Stop* stop;
        bool caller;
        bool stopped(std::int64_t work) { return stop->asked(caller, work); }
    };

    std::int64_t row(std::int64_t task) const { return tasks_.rows == nullptr ? task : tasks_.rows[task]; }
    T truth(std::int64_t task) const { return reader_.load(row(task), tasks_.targets[task]); }
    std::int64_t candidates_of(std::int64_t task) const {
        return candidates_ ? candidates_.length(candidates_.list(task)) : scores_.columns;
    }

    // A group of tasks reads one row with one list of candidates.
    void group_tasks();
    std::int64_t groups() const {
        return starts_.empty() ? tasks_.size : static_cast<std::int64_t>(starts_.size()) - 1;
    }
    Ids group(std::int64_t g) const {
        const std::int64_t first = starts_.empty() ? g : starts_[static_cast<std::size_t>(g)];
        const std::int64_t last = starts_.empty() ? g + 1 : starts_[static_cast<std::size_t>(g) + 1];
        return Ids(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    }

    Plan make_plan() const;
    std::int64_t first_group_from(std::int64_t row) const;

    bool alone(Ids ids) const { return ids.size() == 1 && !counts_.audit(); }
    void gather(Ids ids, Truths<T>& truths) const;
    void count(const T* scores, std::int64_t n, Truths<T>& truths) const;
    void count(const T* scores, std::int64_t n, T truth, Found& found) const;
    template <class Columns, class Use>
    void pack(Worker& worker, Ids rows, std::int64_t n, const Columns& columns, const Use& use) const;

    // First step: what the tasks of some groups find in columns (or candidates) begin to end, as if nothing were filtered. `whole`:
    // nobody else adds to their counts meanwhile.
    void scan_rows(Worker& worker, const Plan& plan, std::int64_t first, std::int64_t last, std::int64_t begin,
                   std::int64_t end, bool whole);
    void scan_single(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                     bool whole);
    void fetch_truths(std::int64_t g) const;
    void fetch_filter(std::int64_t task) const;
    void scan_tile(Worker& worker, const Plan& plan, std::int64_t top, std::int64_t begin, std::int64_t end,
                   bool whole);
    void scan(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end, bool whole);
    void scan_columns(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t top, std::int64_t lanes,
                      std::int64_t begin, std::int64_t end, bool whole);
    void add(std::int64_t task, Tally tally, std::int64_t nan, bool whole);
    void add_audit(std::int64_t task, const Truths<T>& truths);

    // Second step: the filter is counted out, and the rules make counts of what was found.
    void finish(Worker& worker, std::int64_t first, std::int64_t last);
    void remove(Worker& worker, Ids ids, std::int64_t list);
    void subtract(std::int64_t task, Tally tally, std::int64_t nans, bool kept, bool nan);
    void settle(Worker& worker, std::int64_t task, std::int64_t size);
    std::int64_t column(const Selection& selection, std::int64_t position) const;
    bool lists(const Selection& selection, std::int64_t task, std::int64_t column) const;
    Fault locate(Fault fault) const;

    const Scores& scores_;
    const Tasks& tasks_;
    const Selection& filter_;
    const Selection& candidates_;
    const Rules& rules_;
    const Counts& counts_;
    const Reader<T> reader_;
    const Kernels<T>& kernels_;

    std::vector<std::int64_t> order_;   // the tasks, group by group
    std::vector<std::int64_t> starts_;  // of the groups in order_; empty: every task is one
    std::vector<std::int64_t> nan_;
    std::vector<Key<T>> best_;
    std::mutex audit_;
};

template <class T>
void Ranker<T>::group_tasks() {
    order_.resize(static_cast<std::size_t>(tasks_.size));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    if (tasks_.rows == nullptr) return;
    const auto list = [](const Selection& selection, std::int64_t task) {
        return selection ? selection.list(task) : 0;
    };
    const auto before = [&](std::int64_t a, std::int64_t b) {
        if (row(a) != row(b)) return row(a) < row(b);
        if (list(candidates_, a) != list(candidates_, b)) return list(candidates_, a) < list(candidates_, b);
        if (list(filter_, a) != list(filter_, b)) return list(filter_, a) < list(filter_, b);
        return a < b;
    };
    if (!std::is_sorted(order_.begin(), order_.end(), before)) std::sort(order_.begin(), order_.end(), before);
    for (std::size_t i = 0; i < order_.size(); ++i) {
        const bool same = i > 0 && row(order_[i]) == row(order_[i - 1]) &&
                          list(candidates_, order_[i]) == list(candidates_, order_[i - 1]);
        if (!same) starts_.push_back(static_cast<std::int64_t>(i));
    }
    starts_.push_back(tasks_.size);
}

template <class T>
Plan Ranker<T>::make_plan() const {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const bool own_lists = candidates_ && !candidates_.shared;
    Plan plan;
    plan.length = own_lists ? candidates_.longest : candidates_of(0);
    plan.upright = reader_.contiguous_columns() && !candidates_ && !counts_.audit();
    plan.single = reader_.contiguous_rows() && !candidates_ && !counts_.audit() && tasks_.rows == nullptr;
    plan.tile = reader_.column_major() && !reader_.contiguous_rows() && !own_lists ? divide_up(kLineBytes, size) : 1;

    const std::int64_t average = own_lists ? divide_up(candidates_.entries, candidates_.size) : plan.length;
    const std::int64_t row_bytes = std::max<std::int64_t>(size, average * size);
    const std::int64_t depth = tasks_.size / groups();
    plan.serial = row_bytes < kSerialBytes && groups() * row_bytes * (1 + depth / 8) < kSerialBytes;

    if (plan.upright) {
        plan.step = static_cast<std::int64_t>(kernels_.max_lanes);
        // Large pieces: the sums of every lane are added where a tile is cut.
        plan.segments = divide_up(plan.step * row_bytes, 4 * kPieceBytes);
    } else if (!own_lists && row_bytes * plan.tile >= 2 * kPieceBytes) {
        plan.step = plan.tile;
        plan.segments = divide_up(row_bytes * plan.tile, kPieceBytes);
    } else {
        plan.step = plan.tile * std::max<std::int64_t>(1, kPieceBytes / (row_bytes * plan.tile));
    }
    // Whole cache lines to a stretch.
    plan.segment = divide_up(divide_up(std::max<std::int64_t>(plan.length, 1), plan.segments), 64) * 64;
    plan.segments = std::max<std::int64_t>(1, divide_up(plan.length, plan.segment));
    const std::int64_t extent = plan.upright ? row(order_.back()) + 1 : groups();
    plan.pieces = divide_up(extent, plan.step) * plan.segments;
    return plan;
}

template <class T>
std::int64_t Ranker<T>::first_group_from(std::int64_t wanted) const {
    std::int64_t low = 0, high = groups();
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (row(group(middle)[0]) < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Reads the truths of the tasks. An audit looks for the infinities among the scores, too: the lowest and the highest key.
template <class T>
void Ranker<T>::gather(Ids ids, Truths<T>& truths) const {
    truths.slots.resize(ids.size());
    truths.keys.clear();
    truths.nan = truths.at_best = 0;
    truths.best = rules_.ascending ? Order<T>::top() : Order<T>::bottom();
    auto& sorting = truths.sorting;
    sorting.clear();
    for (std::size_t t = 0; t < ids.size(); ++t) {
        truths.last = truth(ids[t]);
        const Key<T> key = Order<T>::key(truths.last);
        truths.slots[t] = truths.none;
        if (!Order<T>::is_nan(key)) sorting.emplace_back(key, t);
    }
    if (counts_.audit()) {
        sorting.emplace_back(Order<T>::bottom(), truths.none);
        sorting.emplace_back(Order<T>::top(), truths.none);
    }
    std::sort(sorting.begin(), sorting.end());
    for (const auto& [key, t] : sorting) {
        if (truths.keys.empty() || truths.keys.back() != key) truths.keys.push_back(key);
        if (t != truths.none) truths.slots[t] = truths.keys.size() - 1;
    }
    truths.tallies.assign(truths.keys.size(), Tally{});
    truths.scratch.resize(scratch_size<T>(truths.keys.size()));
}

template <class T>
void Ranker<T>::count(const T* scores, std::int64_t n, Truths<T>& truths) const {
    const auto size = static_cast<std::size_t>(n);
    if (truths.slots.size() == 1 && truths.keys.size() == 1) {
        truths.nan += kernels_.count_one(scores, size, truths.last, truths.tallies.data());
    } else {
        truths.nan += kernels_.count_several(scores, size, truths.keys.data(), truths.keys.size(),
                                             truths.tallies.data(), truths.scratch.data());
    }
    if (counts_.audit()) kernels_.best(scores, size, rules_.ascending, &truths.best, &truths.at_best);
}

// One task alone needs no tables.
template <class T>
void Ranker<T>::count(const T* scores, std::int64_t n, T truth, Found& found) const {
    const auto size = static_cast<std::size_t>(n);
    found.nan += Order<T>::is_nan(Order<T>::key(truth))
                     ? kernels_.count_several(scores, size, nullptr, 0, nullptr, nullptr)
                     : kernels_.count_one(scores, size, truth, &found.tally);
}

// The rows' scores in columns(0) to columns(n - 1), copied block by block: use(i, scores, width) is given those of row i.
template <class T>
template <class Columns, class Use>
void Ranker<T>::pack(Worker& worker, Ids rows, std::int64_t n, const Columns& columns, const Use& use) const {
    const auto height = static_cast<std::int64_t>(rows.size());
    const std::int64_t block =
        std::min(n, std::max<std::int64_t>(64, kPackBytes / static_cast<std::int64_t>(sizeof(T)) / height));
    worker.pack.resize(static_cast<std::size_t>(height * block));
    for (std::int64_t begin = 0; begin < n && !worker.stopped(height * block); begin += block) {
        const std::int64_t width = std::min(block, n - begin);
        reader_.pack(
            rows.data(), height, width, [&](std::int64_t j) { return columns(begin + j); }, worker.pack.data());
        for (std::int64_t i = 0; i < height; ++i) use(i, worker.pack.data() + i * width, width);
    }
}

template <class T>
void Ranker<T>::add(std::int64_t task, Tally tally, std::int64_t nan, bool whole) {
    const auto plus = [whole](std::int64_t& sum, std::int64_t more) {
        if (whole) {
            sum += more;
        } else {
            __atomic_fetch_add(&sum, more, __ATOMIC_RELAXED);
        }
    };
    plus(counts_.above[task], tally.above);
    plus(counts_.tied[task], tally.tied);
    if (has_nan<T>) plus(nan_[static_cast<std::size_t>(task)], nan);
}

template <class T>
void Ranker<T>::add_audit(std::int64_t task, const Truths<T>& truths) {
    const std::lock_guard<std::mutex> lock(audit_);
    counts_.inf[task] += truths.inf();
    Key<T>& best = best_[static_cast<std::size_t>(task)];
    if (rules_.ascending ? truths.best < best : truths.best > best) {
        best = truths.best;
        counts_.at_best[task] = 0;
    }
    if (truths.best == best) counts_.at_best[task] += truths.at_best;
}

template <class T>
void Ranker<T>::scan(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                     bool whole) {
    const auto n = static_cast<std::size_t>(last - first);
    const bool in_place = !candidates_ && reader_.contiguous_rows();
    if (worker.tile.size() < n) worker.tile.resize(n);
    worker.rows.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        const Ids ids = group(first + static_cast<std::int64_t>(i));
        worker.rows[i] = row(ids[0]);
        gather(ids, worker.tile[i]);
    }
    const auto use = [&](std::int64_t i, const T* scores, std::int64_t width) {
        count(scores, width, worker.tile[static_cast<std::size_t>(i)]);
    };
    if (in_place) {
        for (std::size_t i = 0; i < n; ++i) count(reader_.in_place(worker.rows[i], begin), end - begin, worker.tile[i]);
    } else if (candidates_) {
        const std::int64_t start = candidates_.indptr[candidates_.list(group(first)[0])] + begin;
        pack(worker, worker.rows, end - begin, [&](std::int64_t j) { return column(candidates_, start + j); }, use);
    } else {
        pack(worker, worker.rows, end - begin, [&](std::int64_t j) { return begin + j; }, use);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const Ids ids = group(first + static_cast<std::int64_t>(i));
        const Truths<T>& truths = worker.tile[i];
        for (std::size_t t = 0; t < ids.size(); ++t) {
            add(ids[t], truths.of(t), truths.nan, whole);
            if (counts_.audit()) add_audit(ids[t], truths);
        }
    }
}

template <class T>
void Ranker<T>::scan_rows(Worker& worker, const Plan& plan, std::int64_t first, std::int64_t last, std::int64_t begin,
                          std::int64_t end, bool whole) {
    const bool own = candidates_ && !candidates_.shared;
    const bool at_once = whole && filter_;  // the scores of a filter are read again: while they are in the cache
    if (plan.single) {
        scan_single(worker, first, last, begin, end, whole);
    } else {
        for (std::int64_t g = first; g < last && !worker.stopped(plan.tile * (end - begin)); g += plan.tile) {
            const std::int64_t next = std::min(last, g + plan.tile);
            if (next < last) fetch_truths(next);
            scan(worker, g, next, begin, own ? candidates_of(group(g)[0]) : end, whole);
            if (at_once) finish(worker, g, next);
        }
    }
    if (whole && !at_once) finish(worker, first, last);
}

// Tasks that have their rows, in place, to themselves: the common case, and the one that runs at the speed of memory. All truths of
// a piece are read first: one by one, each somewhere ahead in its row, they break the stream that the hardware fetches (an
// eighth slower).
template <class T>
void Ranker<T>::scan_single(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                            bool whole) {
    worker.single.resize(static_cast<std::size_t>(last - first));
    for (std::int64_t task = first; task < last; ++task) {
        worker.single[static_cast<std::size_t>(task - first)] = truth(task);
    }
    // The scores of a filter are read again, while their rows are in the cache; some rows at a time, for here, too, the stream breaks.
    const std::int64_t row_bytes = std::max<std::int64_t>(1, (end - begin) * static_cast<std::int64_t>(sizeof(T)));
    const std::int64_t some = whole && filter_ ? std::max<std::int64_t>(1, kHotBytes / row_bytes) : last - first;
    for (std::int64_t task = first; task < last;) {
        const std::int64_t next = std::min(last, task + some);
        for (const std::int64_t start = task; task < next; ++task) {
            if (worker.stopped(end - begin)) return;
            if (whole && filter_) fetch_filter(task);
            Found found;
            count(reader_.in_place(task, begin), end - begin, worker.single[static_cast<std::size_t>(task - first)],
                  found);
            add(task, found.tally, found.nan, whole);
            if (whole && filter_ && task + 1 == next) finish(worker, start, next);
        }
    }
}

// The truths of a group, which lie anywhere in its row: they come in while the group before it is counted.
template <class T>
void Ranker<T>::fetch_truths(std::int64_t g) const {
    const Ids ids = group(g);
    for (const std::int64_t task : ids.first(std::min<std::size_t>(ids.size(), 64))) {
        __builtin_prefetch(reader_.at(row(task), tasks_.targets[task]));
    }
}

// The first indices of a task's filter, which are needed when its row has been counted.
template <class T>
void Ranker<T>::fetch_filter(std::int64_t task) const {
    const std::int64_t list = filter_.list(task);
    const std::int64_t size = filter_.wide ? 8 : 4;
    const auto* start = static_cast<const char*>(filter_.indices) + filter_.indptr[list] * size;
    const std::int64_t bytes = std::min(filter_.length(list) * size, kFilterBytes);
    for (std::int64_t at = 0; at < bytes; at += kLineBytes) __builtin_prefetch(start + at);
}

template <class T>
void Ranker<T>::scan_tile(Worker& worker, const Plan& plan, std::int64_t top, std::int64_t begin, std::int64_t end,
                          bool whole) {
    const std::int64_t height = std::min(plan.step, scores_.rows - top);
    const std::int64_t lanes = height - height % static_cast<std::int64_t>(kernels_.lane_multiple);
    const std::int64_t first = first_group_from(top), last = first_group_from(top + height);
    std::int64_t middle = first_group_from(top + lanes);
    std::int64_t layers = 0;
    for (std::int64_t g = first; g < middle; ++g) layers = std::max(layers, static_cast<std::int64_t>(group(g).size()));
    if (middle == first || layers > kMostLayers || (middle - first) * kFewestOfTile < lanes) {
        middle = first;
    } else {
        scan_columns(worker, first, middle, top, lanes, begin, end, whole);
        if (whole) finish(worker, first, middle);
    }
    scan_rows(worker, plan, middle, last, begin, end, whole);
}

// The same for groups whose rows are among top to top + lanes - 1, of a matrix whose columns are contiguous: a row is a lane, and
// a pass over the tile serves one task of each.
template <class T>
void Ranker<T>::scan_columns(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t top,
                             std::int64_t lanes, std::int64_t begin, std::int64_t end, bool whole) {
    std::int64_t layers = 0;
    for (std::int64_t g = first; g < last; ++g) layers = std::max(layers, static_cast<std::int64_t>(group(g).size()));
    const auto width = static_cast<std::size_t>(lanes);
    worker.layer.resize(width);
    worker.lanes.resize(3 * width);
    std::int64_t* const above = worker.lanes.data();
    std::int64_t* const tied = above + lanes;
    std::int64_t* const nan = tied + lanes;
    // Columns are few enough to stay in the cache while the layers pass over them.
    const std::int64_t chunk = layers == 1 ? end - begin : 64;
    for (std::int64_t b = begin; b < end; b += chunk) {
        const std::int64_t columns = std::min(chunk, end - b);
        for (std::int64_t layer = 0; layer < layers; ++layer) {
            std::fill(worker.lanes.begin(), worker.lanes.begin() + static_cast<std::ptrdiff_t>(2 * width), 0);
            if (layer == 0) std::fill_n(nan, width, 0);
            for (std::int64_t g = first; g < last; ++g) {
                const Ids ids = group(g);
                const auto t = static_cast<std::size_t>(layer);
                if (t < ids.size()) worker.layer[static_cast<std::size_t>(row(ids[t]) - top)] = truth(ids[t]);
            }
            kernels_.count_columns(reader_.at(top, b), scores_.column_stride, static_cast<std::size_t>(columns), width,
                                   worker.layer.data(), above, tied, layer == 0 ? nan : nullptr);
            for (std::int64_t g = first; g < last; ++g) {
                const Ids ids = group(g);
                const auto t = static_cast<std::size_t>(layer);
                if (t >= ids.size()) continue;
                const std::int64_t lane = row(ids[t]) - top;
                add(ids[t], {above[lane], tied[lane]}, nan[lane], whole);
            }
        }
    }
}

// An index of a selection, read once more with care: the array is the caller's, whose other threads could have written to it.
template <class T>
std::int64_t Ranker<T>::column(const Selection& selection, std::int64_t position) const {
    const std::int64_t index = selection.column(position);
    return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(scores_.columns) ? index : 0;
}

template <class T>
bool Ranker<T>::lists(const Selection& selection, std::int64_t task, std::int64_t column) const {
    const std::int64_t list = selection.list(task);
    std::int64_t first = selection.indptr[list], count = selection.length(list);
    while (count > 0) {
        const std::int64_t half = count / 2;
        if (selection.column(first + half) < column) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first < selection.indptr[list + 1] && selection.column(first) == column;
}

template <class T>
void Ranker<T>::finish(Worker& worker, std::int64_t first, std::int64_t last) {
    for (std::int64_t g = first; g < last && !worker.stopped(1); ++g) {
        const Ids ids = group(g);
        if (!filter_) {
            for (const std::int64_t task : ids) settle(worker, task, candidates_of(task));
            continue;
        }
        for (std::size_t i = 0; i < ids.size() && !worker.stopped(1);) {
            const std::int64_t list = filter_.list(ids[i]);
            std::size_t j = i + 1;
            while (j < ids.size() && filter_.list(ids[j]) == list) ++j;
            remove(worker, ids.subspan(i, j - i), list);
            i = j;
        }
    }
}

// Tasks that share row, candidates and filter: what they found in the filter's columns is taken away, but for their targets.
template <class T>
void Ranker<T>::remove(Worker& worker, Ids ids, std::int64_t list) {
    const std::int64_t start = filter_.indptr[list];
    std::int64_t n = filter_.length(list);
    const std::int64_t size = candidates_of(ids[0]);
    if (candidates_) {
        // The shorter of the two lists is searched in the longer.
        const std::int64_t other = candidates_.indptr[candidates_.list(ids[0])];
        const bool shorter = n <= size;
        const Selection& walked = shorter ? filter_ : candidates_;
        worker.columns.clear();
        for (std::int64_t j = 0; j < (shorter ? n : size); ++j) {
            const std::int64_t index = column(walked, (shorter ? start : other) + j);
            if (lists(shorter ? candidates_ : filter_, ids[0], index)) worker.columns.push_back(index);
        }
        n = static_cast<std::int64_t>(worker.columns.size());
    }
    if (n == 0) {
        for (const std::int64_t task : ids) settle(worker, task, size);
        return;
    }
    const auto removed = [&](std::int64_t j) {
        return candidates_ ? worker.columns[static_cast<std::size_t>(j)] : column(filter_, start + j);
    };
    const std::int64_t one_row[] = {row(ids[0])};
    // Of a target that is filtered and yet a candidate, its own contribution stays.
    if (alone(ids)) {
        const T own = truth(ids[0]);
        const bool kept = lists(filter_, ids[0], tasks_.targets[ids[0]]);
        const bool nan = Order<T>::is_nan(Order<T>::key(own));
        Found found;
        pack(worker, one_row, n, removed,
             [&](std::int64_t, const T* scores, std::int64_t width) { count(scores, width, own, found); });
        subtract(ids[0], found.tally, found.nan, kept, nan);
        return settle(worker, ids[0], size - n + kept);
    }
    Truths<T>& found = worker.filtered;
    gather(ids, found);
    pack(worker, one_row, n, removed,
         [&](std::int64_t, const T* scores, std::int64_t width) { count(scores, width, found); });
    for (std::size_t t = 0; t < ids.size(); ++t) {
        const std::int64_t task = ids[t];
        const bool kept = lists(filter_, task, tasks_.targets[task]);
        const bool nan = found.slots[t] == found.none;
        subtract(task, found.of(t), found.nan, kept, nan);
        if (counts_.audit()) {
            const Key<T> key = Order<T>::key(truth(task));
            const bool inf = has_nan<T> && (key == Order<T>::top() || key == Order<T>::bottom());
            const Key<T> best = best_[static_cast<std::size_t>(task)];
            counts_.inf[task] -= found.inf() - (kept && inf);
            counts_.at_best[task] -= (found.best == best ? found.at_best : 0) - (kept && !nan && key == best);
        }
        settle(worker, task, size - n + kept);
    }
}

template <class T>
void Ranker<T>::subtract(std::int64_t task, Tally tally, std::int64_t nans, bool kept, bool nan) {
    counts_.above[task] -= tally.above;
    counts_.tied[task] -= tally.tied - (kept && !nan);
    if (has_nan<T>) nan_[static_cast<std::size_t>(task)] -= nans - (kept && nan);
}

template <class T>
void Ranker<T>::settle(Worker& worker, std::int64_t task, std::int64_t size) {
    const auto fail = [&](Fault::Kind kind) {
        const Fault fault{kind, task, row(task), -1};
        if (sooner(fault, worker.fault)) worker.fault = fault;
    };
    if (candidates_ && !lists(candidates_, task, tasks_.targets[task])) return fail(Fault::Kind::not_a_candidate);
    std::int64_t& above = counts_.above[task];
    std::int64_t& tied = counts_.tied[task];
    std::int64_t nan = 0;
    if constexpr (has_nan<T>) {
        nan = nan_[static_cast<std::size_t>(task)];
        if (counts_.audit()) counts_.nan[task] = nan;
    }
    const bool nan_truth = nan > 0 && Order<T>::is_nan(Order<T>::key(truth(task)));
    if (nan > 0 && rules_.nan == NanRule::raise) return fail(Fault::Kind::nan_score);
    if (nan_truth && rules_.nan == NanRule::omit) return fail(Fault::Kind::nan_truth);
    counts_.candidates[task] = rules_.nan == NanRule::omit ? size - nan : size;
    if (nan_truth) {
        above = size - 1;
        tied = 1;
    } else if (rules_.ascending) {
        above = size - nan - above - tied;
    }
}

// The first column of a fault whose row is known: the least, over the row's tasks, of a NaN in the task's S. Time in proportion to
// the row and the lists of its tasks.
template <class T>
Fault Ranker<T>::locate(Fault fault) const {
    if (fault.kind != Fault::Kind::nan_score && fault.kind != Fault::Kind::nan_truth) return fault;
    const auto is_nan = [&](std::int64_t c) { return Order<T>::is_nan(Order<T>::key(reader_.load(fault.row, c))); };
    std::vector<std::pair<std::int64_t, std::int64_t>> lists;  // of candidates and filter: tasks may share them
    fault.column = scores_.columns;
    for (std::int64_t task = 0; task < tasks_.size; ++task) {
        if (row(task) != fault.row) continue;
        if (is_nan(tasks_.targets[task])) fault.column = std::min(fault.column, tasks_.targets[task]);
        lists.emplace_back(candidates_ ? candidates_.list(task) : 0, filter_ ? filter_.list(task) : 0);
    }
    if (fault.kind == Fault::Kind::nan_truth) return fault;
    std::sort(lists.begin(), lists.end());
    lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
    std::vector<std::int64_t> nans;
    for (std::int64_t c = 0; c < fault.column; ++c) {
        if (is_nan(c)) nans.push_back(c);
    }
    // Walks a sorted list along the sorted NaNs: whether it has the column.
    struct Walk {
        const Selection& selection;
        std::int64_t at, last;
        Walk(const Selection& s, std::int64_t list)
            : selection(s), at(s ? s.indptr[list] : 0), last(s ? s.indptr[list + 1] : 0) {}
        bool has(std::int64_t c) {
            while (at < last && selection.column(at) < c) ++at;
            return at < last && selection.column(at) == c;
        }
    };
    for (const auto& [candidates, filter] : lists) {
        Walk in(candidates_, candidates), out(filter_, filter);
        for (const std::int64_t c : nans) {
            if (c >= fault.column) break;
            if ((!candidates_ || in.has(c)) && !out.has(c)) fault.column = c;
        }
    }
    return fault;
}

template <class T>
Fault Ranker<T>::run(int threads, bool (*interrupted)()) {
    if (tasks_.size == 0) return {};
    group_tasks();
    if (has_nan<T>) nan_.assign(static_cast<std::size_t>(tasks_.size), 0);
    if (counts_.audit()) {
        best_.assign(static_cast<std::size_t>(tasks_.size), rules_.ascending ? Order<T>::top() : Order<T>::bottom());
    }

    const auto later = [](const Fault& a, const Fault& b) { return sooner(b, a) ? b : a; };

    const Plan plan = make_plan();
    const Team team(plan.serial ? 1 : threads, plan.pieces);
    std::vector<Worker> workers(static_cast<std::size_t>(team.size()));
    const bool whole = plan.segments == 1;
    parallel_for(team, plan.pieces, interrupted, [&](std::int64_t piece, int id, Stop& stop) {
        Worker& worker = workers[static_cast<std::size_t>(id)];
        worker.stop = &stop;
        worker.caller = id == 0;
        const std::int64_t begin = piece % plan.segments * plan.segment;
        const std::int64_t end = std::min(plan.length, begin + plan.segment);
        const std::int64_t first = piece / plan.segments * plan.step;
        if (plan.upright) {
            scan_tile(worker, plan, first, begin, end, whole);
        } else {
            scan_rows(worker, plan, first, std::min(groups(), first + plan.step), begin, end, whole);
        }
    });
    if (!whole) {
        const std::int64_t some = 64;
        parallel_for(team, divide_up(groups(), some), interrupted, [&](std::int64_t piece, int id, Stop& stop) {
            Worker& worker = workers[static_cast<std::size_t>(id)];
            worker.stop = &stop;
            worker.caller = id == 0;
            finish(worker, piece * some, std::min(groups(), (piece + 1) * some));
        });
    }
    Fault fault;
    for (const Worker& worker : workers) fault = later(fault, worker.fault);
    return locate(fault);
}

template <class T>
struct Run {
    static Fault rank(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
                      const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts) {
        return Ranker<T>(scores, tasks, filter, candidates, rules, counts).run(threads, interrupted);
    }
};

}  // namespace

Fault rank(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
           const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts) {
    using Entry = Fault (*)(const Scores&, const Tasks&, const Selection&, const Selection&, const Rules&, int,
                            bool (*)(), const Counts&);
    // In the order of DType.
    static constexpr Entry table[] = {
        Run<Half>::rank,         Run<BFloat16>::rank,      Run<float>::rank,         Run<double>::rank,
        Run<std::int8_t>::rank,  Run<std::int16_t>::rank,  Run<std::int32_t>::rank,  Run<std::int64_t>::rank,
        Run<std::uint8_t>::rank, Run<std::uint16_t>::rank, Run<std::uint32_t>::rank, Run<std::uint64_t>::rank,
    };
    return table[static_cast<int>(scores.dtype)](scores, tasks, filter, candidates, rules, threads, interrupted,
                                                 counts);
}

}  // namespace truerank
