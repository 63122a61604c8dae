#include <algorithm>
#include <mutex>

#include "engine/embeddings.hpp"
#include "engine/sweep.hpp"

namespace truerank {
namespace {

template <class C>
struct Entry {
    Key<C> key;  // every NaN has the least
    C score;
    std::int64_t column;
};

// The order of what is kept: better scores, then lower columns.
template <class C>
bool better(const Entry<C>& a, const Entry<C>& b) {
    return a.key != b.key ? a.key > b.key : a.column < b.column;
}

// The k best of what it is offered. It holds up to twice as many, and is then cut, so that an offer costs little
// whatever k is.
template <class C>
class Best {
  public:
    // Whether an entry may be among them: once it was cut, only what is better than the k-th.
    bool wants(const Entry<C>& entry, std::size_t k) const {
        return !cut_ || (k > 0 && better(entry, entries_[k - 1]));
    }
    // What no score below can change; null until there is such a score.
    const C* threshold(std::size_t k) const { return cut_ && k > 0 ? &entries_[k - 1].score : nullptr; }
    void offer(const Entry<C>& entry, std::size_t k) {
        if (!wants(entry, k)) return;
        entries_.push_back(entry);
        if (entries_.size() >= 2 * k + kSpare) cut(k);
    }
    void join(Best& other, std::size_t k) {
        if (entries_.empty()) return std::swap(*this, other);
        for (const Entry<C>& entry : other.entries_) offer(entry, k);
    }
    void clear() {
        entries_.clear();
        cut_ = false;
    }
    // They, best first.
    const std::vector<Entry<C>>& sorted(std::size_t k) {
        cut(k);
        std::sort(entries_.begin(), entries_.end(), better<C>);
        return entries_;
    }
    // Before the first cut, less than this is kept beyond 2 k.
    static constexpr std::size_t kSpare = 16;

  private:
    void cut(std::size_t k) {
        if (entries_.size() <= k) return;
        if (k > 0) {
            const auto kth = entries_.begin() + static_cast<std::ptrdiff_t>(k) - 1;
            std::nth_element(entries_.begin(), kth, entries_.end(), better<C>);
        }
        entries_.resize(k);
        cut_ = true;
    }

    std::vector<Entry<C>> entries_;
    bool cut_ = false;
};

template <class C>
class TopSink {
  public:
    struct Shared {
        const Selection& filter;
        const Sorted& sorted;
        std::size_t k;
        NanRule nan_rule;
        const C* held;  // of every entity, or null
        const std::int64_t* holders;
        std::vector<Best<C>> best;  // by task
        Fault fault{};
        std::mutex mutex{};
    };

    TopSink(const SimilarityKernels<C>& kernels, Shared& shared) : kernels_(kernels), shared_(shared) {}

    void begin(const Cell& cell, const std::vector<std::int64_t>& first) {
        cell_ = &cell;
        first_ = first.data();
        best_.resize(std::max(best_.size(), static_cast<std::size_t>(cell.last - cell.first)));
        for (auto& best : best_) best.clear();
    }

    void enter(const Panel& panel) {
        panel_ = panel;
        if (shared_.held == nullptr) return;
        held_.assign(kernels_.lanes, std::numeric_limits<C>::infinity());
        for (std::int64_t j = 0; j < panel.width; ++j) {
            held_[static_cast<std::size_t>(j)] = shared_.held[panel.columns[j]];
        }
    }

    std::int64_t take(const C* scores, std::int64_t first_query, std::int64_t queries) {
        std::int64_t work = 0;
        for (std::int64_t i = 0; i < queries; ++i) {
            const C* row = scores + i * static_cast<std::int64_t>(kernels_.lanes);
            for (std::int64_t t = first_[first_query + i]; t < first_[first_query + i + 1]; ++t) {
                work += look(row, t);
            }
        }
        return work;
    }

    void end() {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        for (std::int64_t t = 0; t < cell_->last - cell_->first; ++t) {
            shared_.best[static_cast<std::size_t>(task(t))].join(best_[static_cast<std::size_t>(t)], shared_.k);
        }
        if (sooner(fault_, shared_.fault)) shared_.fault = fault_;
    }

  private:
    std::int64_t task(std::int64_t t) const { return shared_.sorted.order[static_cast<std::size_t>(cell_->first + t)]; }

    // Returns how much work it was, in scores.
    std::int64_t look(const C* scores, std::int64_t t) {
        Best<C>& best = best_[static_cast<std::size_t>(t)];
        const auto lanes = static_cast<std::int64_t>(kernels_.lanes);
        const C* const threshold = best.threshold(shared_.k);
        // Few panels have anything for those that are full.
        if (threshold != nullptr && !kernels_.any_from(scores, *threshold)) return lanes;
        constexpr C never = std::numeric_limits<C>::infinity();
        if (shared_.held != nullptr && kernels_.rows_from(scores, 1, &never, held_.data()) == 0) return lanes;
        const std::int64_t task = this->task(t);
        const std::int64_t row = shared_.sorted.rows[static_cast<std::size_t>(cell_->first + t)];
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            const bool nan = scores[j] != scores[j];
            const Entry<C> entry{nan ? std::numeric_limits<Key<C>>::min() : Order<C>::key(scores[j]), scores[j],
                                 panel_.columns[j]};
            if (!nan && (!best.wants(entry, shared_.k) || !is_accepted(entry, row, j))) continue;
            if (shared_.filter && shared_.filter.has(shared_.filter.list(task), entry.column)) continue;
            if (nan && shared_.nan_rule == NanRule::raise) {
                const Fault fault{Fault::Kind::nan_score, task, row, entry.column};
                if (sooner(fault, fault_)) fault_ = fault;
            } else if (!nan || shared_.nan_rule == NanRule::worst) {
                best.offer(entry, shared_.k);
            }
        }
        return kScan * lanes;
    }

    // Whether the entity would leave what it holds: for a better score, or for a query before its own.
    bool is_accepted(const Entry<C>& entry, std::int64_t row, std::int64_t lane) const {
        if (shared_.held == nullptr) return true;
        const C held = held_[static_cast<std::size_t>(lane)];
        return entry.score > held || (entry.score == held && row < shared_.holders[entry.column]);
    }

    static constexpr std::int64_t kScan = 32;  // scores that are counted while one is looked at and kept

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_ = nullptr;
    Panel panel_{};
    std::vector<Best<C>> best_;
    std::vector<C> held_;
    Fault fault_{};
};

template <class C>
Fault top_as(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, const Selection& filter,
             const Selection& candidates, NanRule nan, const Held& held, const Way& way, std::int64_t* ids, C* scores) {
    const Scoring<C> scoring(embeddings);
    const Sorted sorted = sort_tasks(tasks, candidates, embeddings);
    using Sink = TopSink<C>;
    typename Sink::Shared shared{
        filter, sorted, static_cast<std::size_t>(k), nan, static_cast<const C*>(held.scores), held.queries, {}};
    shared.best.resize(static_cast<std::size_t>(tasks.size));
    const std::int64_t most = 2 * std::min(k, embeddings.entities.rows) + static_cast<std::int64_t>(Best<C>::kSpare);
    sweep(scoring, sorted, way, most * static_cast<std::int64_t>(sizeof(Entry<C>)),
          [&] { return Sink(scoring.kernels, shared); });
    if (shared.fault.kind != Fault::Kind::none) return shared.fault;
    constexpr std::int64_t step = 64;
    const std::int64_t pieces = divide_up(tasks.size, step);
    const Team team(way.threads, tasks.size * most < kWorkBetweenLooks ? 1 : pieces);
    parallel_for(team, pieces, way.interrupted, [&](std::int64_t piece, int, Stop&) {
        for (std::int64_t task = piece * step; task < std::min(tasks.size, (piece + 1) * step); ++task) {
            std::int64_t at = task * k;
            for (const Entry<C>& entry : shared.best[static_cast<std::size_t>(task)].sorted(shared.k)) {
                ids[at] = entry.column;
                scores[at++] = entry.score;
            }
        }
    });
    return {};
}

}  // namespace

Fault topk_embeddings(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, const Selection& filter,
                      const Selection& candidates, NanRule nan, const Held& held, const Way& way, std::int64_t* ids,
                      void* scores) {
    return embeddings.wide()
               ? top_as(embeddings, tasks, k, filter, candidates, nan, held, way, ids, static_cast<double*>(scores))
               : top_as(embeddings, tasks, k, filter, candidates, nan, held, way, ids, static_cast<float*>(scores));
}

}  // namespace truerank
