#include <algorithm>
#include <mutex>

#include "embeddings.hpp"
#include "sweep.hpp"

namespace truerank {
namespace {

template <class C>
struct Entry {
    Key<C> key;  // every NaN has the least
    std::int64_t column;
    C score;
};

// The order of what is kept: better scores, then lower columns. As a heap's order it puts the worst on top.
template <class C>
bool better(const Entry<C>& a, const Entry<C>& b) {
    return a.key != b.key ? a.key > b.key : a.column < b.column;
}

// A heap of the k best.
template <class C>
void offer(std::vector<Entry<C>>& heap, std::size_t k, const Entry<C>& entry) {
    if (heap.size() == k) {
        if (k == 0 || !better(entry, heap.front())) return;
        std::pop_heap(heap.begin(), heap.end(), better<C>);
        heap.pop_back();
    }
    heap.push_back(entry);
    std::push_heap(heap.begin(), heap.end(), better<C>);
}

template <class C>
class TopSink {
  public:
    struct Shared {
        const Selection& filter;
        const Sorted& sorted;
        std::size_t k;
        NanRule nan_rule;
        std::vector<std::vector<Entry<C>>> heaps;  // by task
        Fault fault{};
        std::mutex mutex{};
    };

    TopSink(const SimilarityKernels<C>& kernels, Shared& shared) : kernels_(kernels), shared_(shared) {}

    void begin(const Cell& cell, const std::vector<std::int64_t>& first) {
        cell_ = &cell;
        first_ = first.data();
        heaps_.resize(std::max(heaps_.size(), static_cast<std::size_t>(cell.last - cell.first)));
        for (auto& heap : heaps_) heap.clear();
    }

    void enter(const Panel& panel) { panel_ = panel; }

    void take(const C* scores, std::int64_t first_query, std::int64_t queries) {
        for (std::int64_t i = 0; i < queries; ++i) {
            const C* row = scores + i * static_cast<std::int64_t>(kernels_.lanes);
            for (std::int64_t t = first_[first_query + i]; t < first_[first_query + i + 1]; ++t) look(row, t);
        }
    }

    void end() {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        for (std::int64_t t = 0; t < cell_->last - cell_->first; ++t) {
            auto& heap = shared_.heaps[static_cast<std::size_t>(task(t))];
            for (const Entry<C>& entry : heaps_[static_cast<std::size_t>(t)]) offer(heap, shared_.k, entry);
        }
        if (sooner(fault_, shared_.fault)) shared_.fault = fault_;
    }

  private:
    std::int64_t task(std::int64_t t) const { return shared_.sorted.order[static_cast<std::size_t>(cell_->first + t)]; }

    void look(const C* scores, std::int64_t t) {
        auto& heap = heaps_[static_cast<std::size_t>(t)];
        // Few panels have anything for a heap that is full.
        const bool full = heap.size() == shared_.k;
        if (full && shared_.k > 0 && !kernels_.any_from(scores, heap.front().score)) return;
        const std::int64_t task = this->task(t);
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            const bool nan = scores[j] != scores[j];
            const Entry<C> entry{nan ? std::numeric_limits<Key<C>>::min() : Order<C>::key(scores[j]), panel_.columns[j],
                                 scores[j]};
            if (!nan && heap.size() == shared_.k && (shared_.k == 0 || !better(entry, heap.front()))) continue;
            if (shared_.filter && shared_.filter.has(shared_.filter.list(task), entry.column)) continue;
            if (nan && shared_.nan_rule == NanRule::raise) {
                const std::int64_t row = shared_.sorted.rows[static_cast<std::size_t>(cell_->first + t)];
                const Fault fault{Fault::Kind::nan_score, task, row, entry.column};
                if (sooner(fault, fault_)) fault_ = fault;
            } else if (!nan || shared_.nan_rule == NanRule::worst) {
                offer(heap, shared_.k, entry);
            }
        }
    }

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_ = nullptr;
    Panel panel_{};
    std::vector<std::vector<Entry<C>>> heaps_;
    Fault fault_{};
};

template <class C>
Fault top_as(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, const Selection& filter,
             const Selection& candidates, NanRule nan, const Way& way, std::int64_t* ids, C* scores) {
    const Scoring<C> scoring(embeddings);
    const Sorted sorted = sort_tasks(tasks, candidates, embeddings.entities.rows);
    using Sink = TopSink<C>;
    typename Sink::Shared shared{filter, sorted, static_cast<std::size_t>(k), nan, {}};
    shared.heaps.resize(static_cast<std::size_t>(tasks.size));
    const std::int64_t most = std::min(k, embeddings.entities.rows);
    sweep(scoring, sorted, way, most * static_cast<std::int64_t>(sizeof(Entry<C>)),
          [&] { return Sink(scoring.kernels, shared); });
    if (shared.fault.kind != Fault::Kind::none) return shared.fault;
    for (std::int64_t task = 0; task < tasks.size; ++task) {
        auto& heap = shared.heaps[static_cast<std::size_t>(task)];
        std::sort_heap(heap.begin(), heap.end(), better<C>);
        for (std::size_t i = 0; i < heap.size(); ++i) {
            ids[task * k + static_cast<std::int64_t>(i)] = heap[i].column;
            scores[task * k + static_cast<std::int64_t>(i)] = heap[i].score;
        }
    }
    return {};
}

}  // namespace

Fault topk_embeddings(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, const Selection& filter,
                      const Selection& candidates, NanRule nan, const Way& way, std::int64_t* ids, void* scores) {
    return embeddings.wide()
               ? top_as(embeddings, tasks, k, filter, candidates, nan, way, ids, static_cast<double*>(scores))
               : top_as(embeddings, tasks, k, filter, candidates, nan, way, ids, static_cast<float*>(scores));
}

}  // namespace truerank
