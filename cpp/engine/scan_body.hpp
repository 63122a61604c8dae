// Ranker, first step: what tasks find in their rows, as if nothing were filtered. Bodies of its templates, for rank.cpp
// alone.
#pragma once

#include "engine/ranker.hpp"

namespace truerank {

// Scores that cannot be read in place are copied, in blocks that stay in the second-level cache.
constexpr std::int64_t kPackBytes = 65536;
// What of the scores stays in the second-level cache beside other things.
constexpr std::int64_t kHotBytes = 524288;
// How much of a filter is fetched while its row is counted.
constexpr std::int64_t kFilterBytes = 1024;
// A pass over a tile of columns serves one task of each row: with more tasks, or few rows asked for, rows are read one
// by one.
constexpr std::int64_t kMostLayers = 8;
constexpr std::int64_t kFewestOfTile = 8;

// Reads the truths of the tasks. An audit looks for the infinities among the scores, too: the lowest and the highest
// key.
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

// The rows' scores in columns(0) to columns(n - 1), copied block by block: use(i, scores, width) is given those of row
// i.
template <class T>
template <class Columns, class Use>
void Ranker<T>::pack(Worker& worker, Ids rows, std::int64_t n, const Columns& columns, const Use& use) const {
    const auto height = static_cast<std::int64_t>(rows.size());
    const std::int64_t block =
        std::min(n, std::max<std::int64_t>(64, kPackBytes / static_cast<std::int64_t>(sizeof(T)) / height));
    worker.pack.resize(static_cast<std::size_t>(height * block));
    for (std::int64_t begin = 0; begin < n && !worker.stopped(height * block); begin += block) {
        const std::int64_t width = std::min(block, n - begin);
        reader_.pack(rows.data(), height, width, columns_from(columns, begin), worker.pack.data());
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
        at_best_[static_cast<std::size_t>(task)] = 0;
    }
    if (truths.best == best) at_best_[static_cast<std::size_t>(task)] += truths.at_best;
}

template <class T>
void Ranker<T>::scan(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                     bool whole) {
    const auto n = static_cast<std::size_t>(last - first);
    const bool in_place = (!candidates_ || candidates_.ranges) && reader_.contiguous_rows();
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
    if (in_place && candidates_) {
        const Span span = candidates_.span(candidates_.list(group(first)[0]));
        count(reader_.in_place(worker.rows[0], span.start + begin), std::min(end, span.length) - begin, worker.tile[0]);
    } else if (in_place) {
        for (std::size_t i = 0; i < n; ++i) count(reader_.in_place(worker.rows[i], begin), end - begin, worker.tile[i]);
    } else if (candidates_) {
        const Span span = candidates_.span(candidates_.list(group(first)[0]));
        const std::int64_t n = std::min(end, span.length) - begin;
        with_columns(candidates_, span.start + begin,
                     [&](const auto& columns) { pack(worker, worker.rows, n, columns, use); });
    } else {
        pack(worker, worker.rows, end - begin, Stretch{begin}, use);
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

// Tasks that have their rows, in place, to themselves: the common case, and the one that runs at the speed of memory.
// All truths of a piece are read first: one by one, each somewhere ahead in its row, they break the stream that the
// hardware fetches (an eighth slower).
template <class T>
void Ranker<T>::scan_single(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                            bool whole) {
    worker.single.resize(static_cast<std::size_t>(last - first));
    for (std::int64_t g = first; g < last; ++g) worker.single[static_cast<std::size_t>(g - first)] = truth(group(g)[0]);
    // The scores of a filter are read again, while their rows are in the cache; some rows at a time, for here, too, the
    // stream breaks.
    const bool at_once = whole && filter_;
    const std::int64_t row_bytes = std::max<std::int64_t>(1, (end - begin) * static_cast<std::int64_t>(sizeof(T)));
    const std::int64_t some = at_once ? std::max<std::int64_t>(1, kHotBytes / row_bytes) : last - first;
    for (std::int64_t start = first; start < last; start += some) {
        const std::int64_t next = std::min(last, start + some);
        for (std::int64_t g = start; g < next; ++g) {
            if (worker.stopped(end - begin)) return;
            const std::int64_t task = group(g)[0];
            if (at_once) fetch_filter(task);
            Found found;
            count(reader_.in_place(row(task), begin), end - begin, worker.single[static_cast<std::size_t>(g - first)],
                  found);
            add(task, found.tally, found.nan, whole);
        }
        if (at_once) finish(worker, start, next);
    }
}

// The truths of a group, which lie anywhere in its row: they come in while the group before it is counted.
template <class T>
void Ranker<T>::fetch_truths(std::int64_t g) const {
    if (tasks_.part()) return;
    const Ids ids = group(g);
    for (const std::int64_t task : ids.first(std::min<std::size_t>(ids.size(), 64))) {
        __builtin_prefetch(reader_.at(row(task), tasks_.targets[task]));
    }
}

// The first indices of a task's filter, which are needed when its row has been counted.
template <class T>
void Ranker<T>::fetch_filter(std::int64_t task) const {
    if (filter_.windowed) return;  // to find the place costs more
    const Span span = filter_.span(filter_.list(task));
    const std::int64_t size = filter_.wide ? 8 : 4;
    const auto* start = static_cast<const char*>(filter_.indices) + span.start * size;
    const std::int64_t bytes = std::min(span.length * size, kFilterBytes);
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

// The same for groups whose rows are among top to top + lanes - 1, of a matrix whose columns are contiguous: a row is a
// lane, and a pass over the tile serves one task of each.
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

}  // namespace truerank
