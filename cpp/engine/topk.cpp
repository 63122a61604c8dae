#include <algorithm>
#include <mutex>

#include "engine/embeddings.hpp"
#include "engine/sweep.hpp"

namespace truerank {
namespace {

template <class C>
struct Entry {
    Key<C> key;  // every NaN has the lowest
    C score;
    std::int64_t column;
};

// The order of a list: higher scores first, then lower columns.
template <class C>
bool precedes_in_list(const Entry<C>& a, const Entry<C>& b) {
    return a.key != b.key ? a.key > b.key : a.column < b.column;
}

// Keeps the top k of the entries it is offered. It holds up to twice as many, and is then trimmed, so that an offer
// costs little whatever k is.
template <class C>
class TopK {
  public:
    // Whether an entry may be among the top k: once the list was trimmed, only one that precedes the k-th.
    bool accepts(const Entry<C>& entry, std::size_t k) const {
        return !is_trimmed_ || (k > 0 && precedes_in_list(entry, entries_[k - 1]));
    }
    // No score below this one can be among the top k; null until there is such a score.
    const C* threshold(std::size_t k) const { return is_trimmed_ && k > 0 ? &entries_[k - 1].score : nullptr; }
    void offer(const Entry<C>& entry, std::size_t k) {
        if (!accepts(entry, k)) return;
        entries_.push_back(entry);
        if (entries_.size() >= 2 * k + kSlack) trim(k);
    }
    void merge(TopK& other, std::size_t k) {
        if (entries_.empty()) return std::swap(*this, other);
        for (const Entry<C>& entry : other.entries_) offer(entry, k);
    }
    void clear() {
        entries_.clear();
        is_trimmed_ = false;
    }
    // The top k in order.
    const std::vector<Entry<C>>& sorted(std::size_t k) {
        trim(k);
        std::sort(entries_.begin(), entries_.end(), precedes_in_list<C>);
        return entries_;
    }
    // The list is trimmed when it has so many entries more than 2 k.
    static constexpr std::size_t kSlack = 16;

  private:
    void trim(std::size_t k) {
        if (entries_.size() <= k) return;
        if (k > 0) {
            const auto kth = entries_.begin() + static_cast<std::ptrdiff_t>(k) - 1;
            std::nth_element(entries_.begin(), kth, entries_.end(), precedes_in_list<C>);
        }
        entries_.resize(k);
        is_trimmed_ = true;
    }

    std::vector<Entry<C>> entries_;
    bool is_trimmed_ = false;
};

template <class C>
class TopKSink {
  public:
    struct Shared {
        const Selection& filter;
        const SortedTasks& sorted;
        std::size_t k;
        NanRule nan_rule;
        const C* current_scores;  // for every entity, or null
        const std::int64_t* current_queries;
        std::vector<TopK<C>> topk;  // for each task
        Fault fault{};
        std::mutex mutex{};
    };

    TopKSink(const SimilarityKernels<C>& kernels, Shared& shared) : kernels_(kernels), shared_(shared) {}

    void begin_cell(const Cell& cell, const std::vector<std::int64_t>& first) {
        cell_ = &cell;
        first_task_ = first.data();
        topk_.resize(std::max(topk_.size(), static_cast<std::size_t>(cell.last_task - cell.first_task)));
        for (auto& topk : topk_) topk.clear();
    }

    void begin_panel(const Panel& panel) {
        panel_ = panel;
        if (shared_.current_scores == nullptr) return;
        current_scores_.assign(kernels_.lanes, std::numeric_limits<C>::infinity());
        for (std::int64_t j = 0; j < panel.width; ++j) {
            current_scores_[static_cast<std::size_t>(j)] = shared_.current_scores[panel.columns[j]];
        }
    }

    std::int64_t take_scores(const C* scores, std::int64_t first_query, std::int64_t queries) {
        std::int64_t work = 0;
        for (std::int64_t i = 0; i < queries; ++i) {
            const C* row = scores + i * static_cast<std::int64_t>(kernels_.lanes);
            for (std::int64_t t = first_task_[first_query + i]; t < first_task_[first_query + i + 1]; ++t) {
                work += offer_row(row, t);
            }
        }
        return work;
    }

    void end_cell() {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        for (std::int64_t t = 0; t < cell_->last_task - cell_->first_task; ++t) {
            shared_.topk[static_cast<std::size_t>(task(t))].merge(topk_[static_cast<std::size_t>(t)], shared_.k);
        }
        if (precedes(fault_, shared_.fault)) shared_.fault = fault_;
    }

  private:
    std::int64_t task(std::int64_t t) const {
        return shared_.sorted.order[static_cast<std::size_t>(cell_->first_task + t)];
    }

    // Offers the scores of a row to the list of task t. Returns how much work that was, in scores.
    std::int64_t offer_row(const C* scores, std::int64_t t) {
        TopK<C>& topk = topk_[static_cast<std::size_t>(t)];
        const auto lanes = static_cast<std::int64_t>(kernels_.lanes);
        const C* const threshold = topk.threshold(shared_.k);
        // Few panels have a score for a list that is full.
        if (threshold != nullptr && !kernels_.any_at_least(scores, *threshold)) return lanes;
        constexpr C no_threshold = std::numeric_limits<C>::infinity();
        if (shared_.current_scores != nullptr &&
            kernels_.rows_at_least(scores, 1, &no_threshold, current_scores_.data()) == 0) {
            return lanes;
        }
        const std::int64_t task = this->task(t);
        const std::int64_t row = shared_.sorted.rows[static_cast<std::size_t>(cell_->first_task + t)];
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            const bool nan = scores[j] != scores[j];
            const Entry<C> entry{nan ? std::numeric_limits<Key<C>>::min() : Order<C>::key(scores[j]), scores[j],
                                 panel_.columns[j]};
            if (!nan && (!topk.accepts(entry, shared_.k) || !improves_match(entry, row, j))) continue;
            if (shared_.filter && shared_.filter.has(shared_.filter.list(task), entry.column)) continue;
            if (nan && shared_.nan_rule == NanRule::raise) {
                const Fault fault{Fault::Kind::nan_score, task, row, entry.column};
                if (precedes(fault, fault_)) fault_ = fault;
            } else if (!nan || shared_.nan_rule == NanRule::worst) {
                topk.offer(entry, shared_.k);
            }
        }
        return kScoresPerLook * lanes;
    }

    // Whether the entity would leave its present match for this query: for a higher score, or for the same if the query
    // comes first.
    bool improves_match(const Entry<C>& entry, std::int64_t row, std::int64_t lane) const {
        if (shared_.current_scores == nullptr) return true;
        const C current = current_scores_[static_cast<std::size_t>(lane)];
        return entry.score > current || (entry.score == current && row < shared_.current_queries[entry.column]);
    }

    static constexpr std::int64_t kScoresPerLook = 32;  // looking at a score takes as long as counting so many

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_task_ = nullptr;
    Panel panel_{};
    std::vector<TopK<C>> topk_;
    std::vector<C> current_scores_;
    Fault fault_{};
};

template <class C>
Fault topk_as(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, const Selection& filter,
              const Selection& candidates, NanRule nan, const CurrentMatches& current_matches,
              const Execution& execution, std::int64_t* ids, C* scores) {
    const Scoring<C> scoring(embeddings);
    const SortedTasks sorted = sort_tasks(tasks, candidates, embeddings);
    using Sink = TopKSink<C>;
    typename Sink::Shared shared{filter,
                                 sorted,
                                 static_cast<std::size_t>(k),
                                 nan,
                                 static_cast<const C*>(current_matches.scores),
                                 current_matches.queries,
                                 {}};
    shared.topk.resize(static_cast<std::size_t>(tasks.size));
    const std::int64_t max_entries =
        2 * std::min(k, embeddings.entities.rows) + static_cast<std::int64_t>(TopK<C>::kSlack);
    sweep(scoring, sorted, execution, max_entries * static_cast<std::int64_t>(sizeof(Entry<C>)),
          [&] { return Sink(scoring.kernels, shared); });
    if (shared.fault.kind != Fault::Kind::none) return shared.fault;
    constexpr std::int64_t tasks_per_chunk = 64;
    const std::int64_t chunks = divide_up(tasks.size, tasks_per_chunk);
    const Team team(execution.threads, tasks.size * max_entries < kWorkBetweenPolls ? 1 : chunks);
    parallel_for(team, chunks, execution.interrupted, [&](std::int64_t chunk, int, Stop&) {
        for (std::int64_t task = chunk * tasks_per_chunk; task < std::min(tasks.size, (chunk + 1) * tasks_per_chunk);
             ++task) {
            std::int64_t at = task * k;
            for (const Entry<C>& entry : shared.topk[static_cast<std::size_t>(task)].sorted(shared.k)) {
                ids[at] = entry.column;
                scores[at++] = entry.score;
            }
        }
    });
    return {};
}

}  // namespace

Fault topk_embeddings(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, const Selection& filter,
                      const Selection& candidates, NanRule nan, const CurrentMatches& current_matches,
                      const Execution& execution, std::int64_t* ids, void* scores) {
    return embeddings.wide() ? topk_as(embeddings, tasks, k, filter, candidates, nan, current_matches, execution, ids,
                                       static_cast<double*>(scores))
                             : topk_as(embeddings, tasks, k, filter, candidates, nan, current_matches, execution, ids,
                                       static_cast<float*>(scores));
}

}  // namespace truerank
