#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/sweep/embeddings.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

// Entries of a list, which the greater of two precedes: higher scores first, then lower columns; every NaN is last. No
// two entries of a list are equal.
template <class C>
class Entry {
  public:
    Entry() : Entry(std::numeric_limits<C>::quiet_NaN(), kLast) {}  // the last of all entries
    Entry(C score, std::int64_t column)
        : key_(score != score ? std::numeric_limits<Key<C>>::min() : Order<C>::key(score)),
          score_(score),
          column_(column) {}
    C score() const { return score_; }
    std::int64_t column() const { return column_; }
    friend bool operator>(const Entry& a, const Entry& b) {
        return a.key_ != b.key_ ? a.key_ > b.key_ : a.column_ < b.column_;
    }

    static constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

  private:
    Key<C> key_;
    C score_;
    std::int64_t column_;
};

// The same for floats and fewer than 2^31 columns, in half of the memory: the key of the score, then the column, the
// last one lowest, then whether the score is -0, which has the key of 0.
class ShortEntry {
  public:
    ShortEntry() : bits_(0) {}  // the last of all entries
    ShortEntry(float score, std::int64_t column) {
        const Key<float> key = score != score ? kNaN : Order<float>::key(score);
        const bool negative_zero = score == 0 && std::signbit(score);
        bits_ = std::uint64_t{static_cast<std::uint32_t>(key) ^ kTop} << 32 |
                static_cast<std::uint64_t>(kLast - column) << 1 | std::uint64_t{negative_zero};
    }
    float score() const {
        const auto key = static_cast<Key<float>>(static_cast<std::uint32_t>(bits_ >> 32) ^ kTop);
        if (key == kNaN) return std::numeric_limits<float>::quiet_NaN();
        return (bits_ & 1) != 0 ? -0.0F : Order<float>::score(key);
    }
    std::int64_t column() const { return kLast - static_cast<std::int64_t>(bits_ >> 1 & kLast); }
    friend bool operator>(const ShortEntry& a, const ShortEntry& b) { return a.bits_ > b.bits_; }

    static constexpr std::int64_t kLast = std::numeric_limits<std::int32_t>::max();

  private:
    static constexpr Key<float> kNaN = std::numeric_limits<Key<float>>::min();
    static constexpr std::uint32_t kTop = std::uint32_t{1} << 31;
    std::uint64_t bits_;
};

// Moves the k greatest of more entries to the front, the least of them to place k - 1. Branches on comparisons that may
// go either way would take most of the time: each entry is written both among the greater ones and, in `scratch`, among
// the others, and one of the two counts.
template <class E>
void select_greatest(std::vector<E>& entries, std::size_t k, std::vector<E>& scratch) {
    constexpr std::size_t few = 32, sampled = 9;
    const auto at = [&](std::size_t i) { return entries.begin() + static_cast<std::ptrdiff_t>(i); };
    if (scratch.size() < entries.size()) scratch.resize(entries.size());
    // Those before `first` are among the k greatest, those from `last` on are not.
    std::size_t first = 0, last = entries.size();
    while (last - first > few && first < k) {
        E sample[sampled];
        for (std::size_t i = 0; i < sampled; ++i) sample[i] = entries[first + i * (last - first - 1) / (sampled - 1)];
        std::sort(sample, sample + sampled, std::greater<E>());
        const E pivot = sample[(sampled - 1) * (k - first) / (last - first)];
        std::size_t greater_end = first, others = 0;
        for (std::size_t i = first; i < last; ++i) {
            const E entry = entries[i];
            const bool is_greater = entry > pivot;
            entries[greater_end] = entry;
            scratch[others] = entry;
            greater_end += is_greater;
            others += !is_greater;
        }
        std::copy_n(scratch.begin(), others, at(greater_end));
        if (greater_end == first) break;  // the sample was no guide
        if (greater_end < k) {
            first = greater_end;
        } else {
            last = greater_end;
        }
    }
    if (first < k) std::nth_element(at(first), at(k - 1), at(last), std::greater<E>());
}

// Keeps the top k of the entries it is offered. It holds up to twice as many, and is then trimmed, so that an offer
// costs little whatever k is.
template <class E, class C>
class TopK {
  public:
    // Whether an entry may be among the top k: once there are k, only one that the k-th does not precede.
    bool accepts(const E& entry) const { return !(least_ > entry); }
    // No score below this one can be among the top k.
    C threshold() const { return least_.score(); }
    void offer(const E& entry, std::size_t k, std::vector<E>& buffer) {
        if (k == 0 || !accepts(entry)) return;
        entries_.push_back(entry);
        if (entries_.size() >= 2 * k + kSlack) trim(k, buffer);
    }
    // Raises the threshold, if that takes less time than the entries between it and the k-th would.
    void tighten(std::size_t k, std::vector<E>& buffer) {
        if (entries_.size() >= k + (k + kFewMoreIn) / kFewMoreIn) trim(k, buffer);
    }
    // Takes the entries of another list, and leaves it what it knows of the k-th.
    void take(TopK& other) {
        entries_.clear();
        std::swap(entries_, other.entries_);
        least_ = other.least_;
    }
    void merge(TopK& other, std::size_t k, std::vector<E>& buffer) {
        if (other.least_ > least_) least_ = other.least_;
        if (entries_.empty()) return std::swap(entries_, other.entries_);
        for (const E& entry : other.entries_) offer(entry, k, buffer);
    }
    // The top k in order.
    const std::vector<E>& sorted(std::size_t k, std::vector<E>& buffer) {
        trim(k, buffer);
        std::sort(entries_.begin(), entries_.end(), std::greater<E>());
        return entries_;
    }
    // The list is trimmed when it has so many entries more than 2 k.
    static constexpr std::size_t kSlack = 16;

  private:
    // One part in so many of k: fewer entries more than k are not worth a trim.
    static constexpr std::size_t kFewMoreIn = 4;

    void trim(std::size_t k, std::vector<E>& buffer) {
        if (entries_.size() <= k) return;
        if (k > 0) {
            select_greatest(entries_, k, buffer);
            least_ = entries_[k - 1];
        }
        entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(k), entries_.end());
    }

    std::vector<E> entries_;
    // No entry that this one precedes is among the top k; at first the last of all entries.
    E least_;
};

template <class C, class E>
class TopKSink : public Sink<C>, public BoundedTasks<C> {
  public:
    using List = TopK<E, C>;
    struct Shared {
        const Selection& filter;
        const SortedTasks& sorted;
        std::size_t k;
        NanRule nan_rule;
        std::vector<List> topk;  // for each task
        bool are_bounds_exact = false;
        Fault fault{};
        std::mutex mutex{};
    };

    TopKSink(const SimilarityKernels<C>& kernels, Shared& shared) : kernels_(kernels), shared_(shared) {}

    // Lists go on from cell to cell: a worker takes them along. Another that is at the same tasks finds them empty, and
    // knows which scores are too low.
    void begin_cell(const Cell& cell, const std::vector<std::int64_t>& first) override {
        cell_ = &cell;
        first_task_ = first.data();
        const auto n = static_cast<std::size_t>(cell.last_task - cell.first_task);
        if (topk_.size() < n) topk_.resize(n);
        thresholds_.resize(n);
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        for (std::size_t t = 0; t < n; ++t) {
            topk_[t].take(shared_.topk[static_cast<std::size_t>(task(static_cast<std::int64_t>(t)))]);
            thresholds_[t] = topk_[t].threshold();
        }
    }

    void begin_panel(const Panel& panel) override {
        panel_ = panel;
        lanes_ = panel.width < 64 ? (std::uint64_t{1} << panel.width) - 1 : ~std::uint64_t{0};
    }

    std::int64_t take_scores(C* scores, std::int64_t first_query, std::int64_t queries) override {
        const auto lanes = static_cast<std::int64_t>(kernels_.lanes);
        const std::int64_t* const first = first_task_ + first_query;
        std::int64_t work = lanes * queries;
        for (std::int64_t i = 0; i < queries; ++i) {
            for (std::int64_t t = first[i]; t < first[i + 1]; ++t) {
                work += offer_row(scores + i * lanes, t);
            }
        }
        return work;
    }

    // What bounds need, and what they tell (engine/bounds/bounded_panels.hpp): no more than which pairs certainly are
    // in no list.
    BoundedTasks<C>* query_tasks() override { return this; }
    bool counts() const override { return false; }
    // Null while few candidates have been seen, or lists are not full, for then too many pairs would be open.
    const C* thresholds() override {
        const std::int64_t per_entry =
            shared_.are_bounds_exact ? measured::kCandidatesPerEntryOfBytes : measured::kCandidatesPerEntry;
        const bool saw_few = panel_.begin / per_entry < static_cast<std::int64_t>(shared_.k);
        if (saw_few && !are_bounds_forced()) return nullptr;
        const bool are_nearly_full = tighten_thresholds();
        return are_nearly_full || are_bounds_forced() ? bounded_thresholds_.data() : nullptr;
    }
    std::uint32_t* counters() override {
        not_counted_.resize(bounded_thresholds_.size());
        return not_counted_.data();
    }
    void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) override {
        for (std::size_t i = 0; i < n; ++i) {
            List& topk = topk_[pairs[i].task];
            offer(pairs[i].task, topk, pairs[i].lane, scores[i]);
            thresholds_[pairs[i].task] = topk.threshold();
        }
    }

    void end_cell() override {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        for (std::int64_t t = 0; t < cell_->last_task - cell_->first_task; ++t) {
            shared_.topk[static_cast<std::size_t>(task(t))].merge(topk_[static_cast<std::size_t>(t)], shared_.k,
                                                                  buffer_);
        }
        shared_.fault.take(fault_);
    }

  private:
    // Offers the score of a lane to the list of task t, unless it is filtered.
    void offer(std::int64_t t, List& topk, std::int64_t lane, C score) {
        const std::int64_t column = panel_.columns[lane];
        const bool nan = score != score;
        const E entry(score, column);
        if (!nan && !topk.accepts(entry)) return;
        const std::int64_t task = this->task(t);
        if (shared_.filter.task_has(task, column)) return;
        if (nan && shared_.nan_rule == NanRule::raise) {
            const std::int64_t row = shared_.sorted.rows[static_cast<std::size_t>(cell_->first_task + t)];
            fault_.take({Fault::Kind::nan_score, task, row, column});
        } else if (!nan || shared_.nan_rule == NanRule::worst) {
            topk.offer(entry, shared_.k, buffer_);
        }
    }

    // Trims the lists of the cell and renews their thresholds. Returns whether nearly all lists are full.
    bool tighten_thresholds() {
        bounded_thresholds_.resize(thresholds_.size());
        std::size_t full = 0;
        for (std::size_t t = 0; t < thresholds_.size(); ++t) {
            topk_[t].tighten(shared_.k, buffer_);
            const C threshold = topk_[t].threshold();
            const bool is_full = threshold == threshold;  // NaN: fewer entries, or the last of the list is one
            thresholds_[t] = threshold;
            bounded_thresholds_[t] = is_full ? threshold : -std::numeric_limits<C>::infinity();
            full += is_full;
        }
        return are_nearly_all(full, thresholds_.size());
    }

    std::int64_t task(std::int64_t t) const {
        return shared_.sorted.order[static_cast<std::size_t>(cell_->first_task + t)];
    }

    // Offers the scores of a row to the list of task t. Returns how much work that was, in scores.
    std::int64_t offer_row(const C* scores, std::int64_t t) {
        // Few panels have a score for a list that is full.
        C& threshold = thresholds_[static_cast<std::size_t>(t)];
        std::uint64_t reached = 0;
        kernels_.lane_bits_at_least(scores, 1, &threshold, nullptr, &reached);
        reached &= lanes_;
        if (reached == 0) return 0;
        List& topk = topk_[static_cast<std::size_t>(t)];
        std::int64_t work = 0;
        for (; reached != 0; reached &= reached - 1) {
            work += measured::kScoresPerOffer;
            const int lane = std::countr_zero(reached);
            offer(t, topk, lane, scores[lane]);
        }
        threshold = topk.threshold();
        return work;
    }

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_task_ = nullptr;
    Panel panel_{};
    std::uint64_t lanes_ = 0;  // the bits of the panel's candidates
    std::vector<List> topk_;
    std::vector<C> thresholds_;  // of the lists
    std::vector<E> buffer_;
    std::vector<C> bounded_thresholds_;
    std::vector<std::uint32_t> not_counted_;
    Fault fault_{};
};

template <class E, class C>
void write_lists(std::vector<TopK<E, C>>& lists, std::int64_t k, std::int64_t max_entries, const Execution& execution,
                 std::int64_t* ids, C* scores) {
    constexpr std::int64_t lists_per_chunk = 64;
    const std::int64_t n = std::ssize(lists), chunks = divide_up(n, lists_per_chunk);
    const Team team(execution.threads, n * max_entries < kWorkBetweenPolls ? 1 : chunks);
    std::vector<std::vector<E>> buffers(static_cast<std::size_t>(team.size()));
    parallel_for(team, chunks, execution.interrupted, [&](std::int64_t chunk, int worker, Stop&) {
        std::vector<E>& buffer = buffers[static_cast<std::size_t>(worker)];
        const std::int64_t first = chunk * lists_per_chunk, last = std::min(n, first + lists_per_chunk);
        for (std::int64_t list = first; list < last; ++list) {
            std::int64_t at = list * k;
            for (const E& entry : lists[static_cast<std::size_t>(list)].sorted(static_cast<std::size_t>(k), buffer)) {
                ids[at] = entry.column();
                scores[at] = entry.score();
                ++at;
            }
        }
    });
}

template <class C, class E>
Fault topk_as(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, NanRule nan, const Execution& execution,
              std::int64_t* ids, C* scores) {
    const Scoring<C> scoring(embeddings);
    const SortedTasks sorted = sort_tasks(tasks, embeddings);
    using List = TopK<E, C>;
    typename TopKSink<C, E>::Shared shared{tasks.filter, sorted, static_cast<std::size_t>(k), nan, {}};
    shared.topk.resize(static_cast<std::size_t>(tasks.size));
    shared.are_bounds_exact = scoring.has_byte_levels();
    const std::int64_t max_entries =
        2 * std::min(k, embeddings.entity_count()) + static_cast<std::int64_t>(List::kSlack);
    sweep<C>(scoring, sorted, execution, max_entries * static_cast<std::int64_t>(sizeof(E)),
             [&] { return std::make_unique<TopKSink<C, E>>(scoring.kernels, shared); });
    if (shared.fault) return shared.fault;
    write_lists(shared.topk, k, max_entries, execution, ids, scores);
    return {};
}

}  // namespace

Fault topk_embeddings(const Embeddings& embeddings, const Tasks& tasks, std::int64_t k, NanRule nan,
                      const Execution& execution, std::int64_t* ids, void* scores) {
    const auto run = [&]<class C, class E>() {
        return topk_as<C, E>(embeddings, tasks, k, nan, execution, ids, static_cast<C*>(scores));
    };
    if (embeddings.wide()) return run.template operator()<double, Entry<double>>();
    return embeddings.entity_count() <= ShortEntry::kLast ? run.template operator()<float, ShortEntry>()
                                                          : run.template operator()<float, Entry<float>>();
}

}  // namespace truerank
