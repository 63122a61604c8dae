// The mean of the top k scores of each row and of each column, which CSLS subtracts.
#include <algorithm>
#include <bit>
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

// The k highest of the scores offered to each of several lists. Once there are k, a list is in ascending order, or, if
// it is long, a heap with the lowest of its scores in front.
template <class C>
class TopScores {
  public:
    explicit TopScores(std::int64_t k) : k_(k) {}
    std::int64_t k() const { return k_; }
    std::int64_t bytes() const { return k_ * static_cast<std::int64_t>(sizeof(C)); }

    bool are_nearly_full(std::int64_t first, std::int64_t n) const {
        std::int64_t full = 0;
        for (std::int64_t i = first; i < first + n; ++i) {
            full += thresholds_[static_cast<std::size_t>(i)] > -std::numeric_limits<C>::infinity();
        }
        return are_nearly_all(full, n);
    }

    // `padding`: the number of thresholds after the last list's that no score reaches, so that all are read as whole
    // vectors.
    void reset(std::int64_t lists, std::int64_t padding) {
        sizes_.assign(static_cast<std::size_t>(lists), 0);
        thresholds_.assign(static_cast<std::size_t>(lists + padding), std::numeric_limits<C>::infinity());
        std::fill_n(thresholds_.begin(), lists, -std::numeric_limits<C>::infinity());
        values_.resize(static_cast<std::size_t>(lists * k_));
    }
    // The thresholds from a list on. No score below its list's threshold is among the k highest: to be kept, a score
    // must be above the k-th.
    C* thresholds_from(std::int64_t list) { return thresholds_.data() + list; }
    void offer(std::int64_t list, C value) {
        if (value >= thresholds_[static_cast<std::size_t>(list)]) insert(list, value);
    }
    // Takes the scores of a list of another, to which it leaves the threshold alone.
    void take(std::int64_t list, TopScores& other, std::int64_t from) {
        const auto i = static_cast<std::size_t>(list), j = static_cast<std::size_t>(from);
        const C* const values = other.values_.data() + from * k_;
        thresholds_[i] = std::max(thresholds_[i], other.thresholds_[j]);
        if (sizes_[i] == 0) {
            sizes_[i] = other.sizes_[j];
            std::copy_n(values, sizes_[i], values_.data() + list * k_);
        } else {
            for (std::int64_t at = 0; at < other.sizes_[j]; ++at) insert(list, values[at]);
        }
        other.sizes_[j] = 0;
    }
    C mean(std::int64_t list) {
        C* const values = values_.data() + list * k_;
        const std::int64_t n = sizes_[static_cast<std::size_t>(list)];
        std::sort(values, values + n);
        double sum = 0;
        for (std::int64_t i = n; i > 0; --i) sum += static_cast<double>(values[i - 1]);
        return n == 0 ? C{0} : static_cast<C>(sum / static_cast<double>(n));
    }

  private:
    // Keeps a score if it is among the k highest of the list, whatever is known of those of other lists. Those below it
    // move down. In a short list nothing branches on where it goes, which cannot be predicted.
    void insert(std::int64_t list, C value) {
        const auto i = static_cast<std::size_t>(list);
        C* const values = values_.data() + list * k_;
        if (sizes_[i] < k_) {
            values[sizes_[i]++] = value;
            if (sizes_[i] < k_) return;
            std::sort(values, values + k_);
        } else if (k_ > kLongList) {
            if (value <= values[0]) return;
            std::pop_heap(values, values + k_, std::greater<C>());
            values[k_ - 1] = value;
            std::push_heap(values, values + k_, std::greater<C>());
        } else {
            for (std::int64_t at = 0; at + 1 < k_; ++at) {
                values[at] = std::min(std::max(values[at], value), values[at + 1]);
            }
            values[k_ - 1] = std::max(values[k_ - 1], value);
        }
        // The next score after the k-th; none is after +inf.
        const Key<C> key = std::min(Order<C>::key(values[0]), Order<C>::top() - 1) + 1;
        thresholds_[i] = std::max(thresholds_[i], Order<C>::score(key));
    }

    // With heaps the means of 5,000 entities took 1.5 times as long with lists of 10 floats, 2.2 times with 100, and
    // 0.9 of the time with 1,000 (Zen 5).
    static constexpr std::int64_t kLongList = 2048 / sizeof(C);

    std::int64_t k_;
    std::vector<std::int64_t> sizes_;
    std::vector<C> thresholds_, values_;
};

template <class C>
class TopScoresSink : public Sink<C>, public BoundedTasks<C> {
  public:
    struct Shared {
        TopScores<C> left, right;
        const SortedTasks& sorted;
        NanRule nan_rule;
        Fault fault{};
        std::mutex mutex{};
    };

    TopScoresSink(const SimilarityKernels<C>& kernels, Shared& shared)
        : kernels_(kernels),
          shared_(shared),
          row_lists_(shared.left.k()),
          column_lists_(shared.right.k()),
          not_counted_(kernels.lanes) {}

    // Lists go on from cell to cell: a worker takes them along. Another that is at the same rows or columns finds them
    // empty, and knows which scores are too low.
    void begin_cell(const Cell& cell, const std::vector<std::int64_t>&) override {
        cell_ = &cell;
        const auto lanes = static_cast<std::int64_t>(kernels_.lanes);
        row_lists_.reset(cell.last_query - cell.first_query, 0);
        column_lists_.reset(cell.end - cell.begin, lanes);
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        for (std::int64_t i = 0; i < cell.last_query - cell.first_query; ++i) {
            row_lists_.take(i, shared_.left, cell.first_query + i);
        }
        const std::int64_t first_column = cell.candidates.start + cell.begin;
        for (std::int64_t j = 0; j < cell.end - cell.begin; ++j) column_lists_.take(j, shared_.right, first_column + j);
    }

    void begin_panel(const Panel& panel) override { panel_ = panel; }

    std::int64_t take_scores(C* scores, std::int64_t first_query, std::int64_t queries) override {
        const auto lanes = static_cast<std::int64_t>(kernels_.lanes);
        const std::int64_t begin = panel_.begin - cell_->begin;
        reached_lanes_.resize(static_cast<std::size_t>(queries));
        kernels_.lane_bits_at_least(scores, static_cast<std::size_t>(queries), row_lists_.thresholds_from(first_query),
                                    column_lists_.thresholds_from(begin), reached_lanes_.data());
        const std::uint64_t width_bits = ~std::uint64_t{0} >> (64 - panel_.width);
        std::int64_t work = queries * lanes;
        for (std::int64_t i = 0; i < queries; ++i) {
            std::uint64_t reached = reached_lanes_[static_cast<std::size_t>(i)] & width_bits;
            for (; reached != 0; reached &= reached - 1) {
                work += measured::kScoresPerOffer;
                const std::int64_t lane = std::countr_zero(reached), query = first_query + i;
                const C score = scores[i * lanes + lane];
                if (score == score) {
                    row_lists_.offer(query, score);
                    column_lists_.offer(begin + lane, score);
                } else if (shared_.nan_rule == NanRule::raise) {  // A NaN reaches every threshold.
                    const auto position = static_cast<std::size_t>(cell_->first_query + query);
                    fault_.take({.kind = Fault::Kind::nan_score,
                                 .row = shared_.sorted.queries[position].row,
                                 .column = panel_.columns[lane]});
                }
            }
        }
        return work;
    }

    // What bounds need, and what they tell (engine/bounds/bounded_panels.hpp): no more than which scores certainly are
    // in no list, first of the rows, then of the columns (Lanes).
    BoundedTasks<C>* query_tasks() override { return this; }
    bool counts() const override { return false; }
    const C* thresholds() override {
        const std::int64_t queries = cell_->last_query - cell_->first_query;
        if (not_counted_.size() < static_cast<std::size_t>(queries)) {
            not_counted_.resize(static_cast<std::size_t>(queries));
        }
        return knows(row_lists_, cell_->candidates.start + panel_.begin, 0, queries) ? row_lists_.thresholds_from(0)
                                                                                     : nullptr;
    }
    std::uint32_t* counters() override { return not_counted_.data(); }
    void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) override {
        for (std::size_t i = 0; i < n; ++i) row_lists_.offer(pairs[i].task, scores[i]);
    }
    LayeredTasks<C>* lane_tasks() override { return &lanes_; }

    void end_cell() override {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        for (std::int64_t i = 0; i < cell_->last_query - cell_->first_query; ++i) {
            shared_.left.take(cell_->first_query + i, row_lists_, i);
        }
        const std::int64_t first_column = cell_->candidates.start + cell_->begin;
        for (std::int64_t j = 0; j < cell_->end - cell_->begin; ++j)
            shared_.right.take(first_column + j, column_lists_, j);
        shared_.fault.take(fault_);
    }

  private:
    // The columns of the panel: one layer, in which each lane has a list.
    class Lanes : public LayeredTasks<C> {
      public:
        explicit Lanes(TopScoresSink& sink) : sink_(sink) {}
        bool counts() const override { return false; }
        std::size_t layers() const override { return 1; }
        std::int64_t tasks() const override { return sink_.panel_.width; }
        const C* thresholds() override {
            const bool known = sink_.knows(sink_.column_lists_, sink_.cell_->first_query, first(), tasks());
            return known ? sink_.column_lists_.thresholds_from(first()) : nullptr;
        }
        std::uint32_t* counters() override { return sink_.counters(); }
        void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) override {
            for (std::size_t i = 0; i < n; ++i) sink_.column_lists_.offer(first() + pairs[i].task, scores[i]);
        }

      private:
        // The list of the panel's first column.
        std::int64_t first() const { return sink_.panel_.begin - sink_.cell_->begin; }

        TopScoresSink& sink_;
    };

    // Whether so many scores were offered to some lists before that bounds spare most of what is to come.
    bool knows(const TopScores<C>& lists, std::int64_t before, std::int64_t first, std::int64_t n) const {
        return are_bounds_forced() ||
               (before >= measured::kCandidatesPerEntry * lists.k() && lists.are_nearly_full(first, n));
    }

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    TopScores<C> row_lists_, column_lists_;
    std::vector<std::uint64_t> reached_lanes_;  // of queries, a bit for each lane
    std::vector<std::uint32_t> not_counted_;
    const Cell* cell_ = nullptr;
    Panel panel_{};
    Lanes lanes_{*this};
    Fault fault_{};
};

// All queries and entities. For bounds, lists must have so many scores that few of what is to come are higher. So the
// first rows and columns come before all others: with them all lists get scores of some columns, or of some rows.
std::vector<Group> make_groups(const Grid& grid, std::int64_t k, std::int64_t lanes) {
    const std::int64_t first = divide_up(measured::kCandidatesPerEntry * k, lanes) * lanes;
    const std::int64_t rows = grid.left_size(), columns = grid.right_size(), bound = grid.embeddings.entities.rows;
    if (2 * first > std::min(rows, columns)) return {{0, rows, {grid.right, {0, columns}, bound}}};
    const ListedColumns first_columns(grid.right, {0, first}, bound);
    const ListedColumns others(grid.right, {first, columns - first}, bound);
    return {{0, rows, first_columns}, {0, first, others}, {first, rows, others}};
}

template <class C>
Fault mean_topk_as(const Grid& grid, std::int64_t k, NanRule nan, Execution execution, void* left, void* right) {
    const Scoring<C> scoring(grid.embeddings);
    SortedTasks sorted;
    sorted.groups = make_groups(grid, k, scoring.lanes());
    // Each query has one task, so that the memory for tasks limits the number of queries in a cell.
    for (const std::int64_t id : grid.left) {
        sorted.queries.push_back({id, static_cast<std::int64_t>(sorted.queries.size())});
    }
    sorted.queries.push_back({-1, grid.left_size()});
    // No list is longer than the other side.
    typename TopScoresSink<C>::Shared shared{TopScores<C>(std::min(k, grid.right_size())),
                                             TopScores<C>(std::min(k, grid.left_size())), sorted, nan};
    shared.left.reset(grid.left_size(), 0);
    shared.right.reset(grid.right_size(), 0);
    // The lists of a block of columns stay in the last-level cache, roughly, as those of the queries do: where these
    // are fewer columns than a block would have at most.
    constexpr std::int64_t list_bytes = std::int64_t{16} << 20, largest_block = 1 << 16;
    const std::int64_t block = std::max<std::int64_t>(1, list_bytes / shared.right.bytes());
    if (execution.block == 0 && block < std::min(largest_block, grid.right_size())) execution.block = block;
    sweep<C>(scoring, sorted, execution, shared.left.bytes(),
             [&] { return std::make_unique<TopScoresSink<C>>(scoring.kernels, shared); });
    if (shared.fault) return shared.fault;
    const auto write_means = [&](TopScores<C>& lists, std::int64_t n, C* means) {
        constexpr std::int64_t work_per_entry = 16;
        const std::int64_t size = std::max<std::int64_t>(1, kWorkBetweenPolls / (work_per_entry * lists.k()));
        const std::int64_t chunks = divide_up(n, size);
        const Team team(n * lists.k() < kWorkBetweenPolls ? 1 : execution.threads, chunks);
        parallel_for(team, chunks, execution.interrupted, [&](std::int64_t chunk, int worker, Stop& stop) {
            if (stop.requested(worker == 0, kWorkBetweenPolls)) return;
            for (std::int64_t i = chunk * size; i < std::min(n, (chunk + 1) * size); ++i) means[i] = lists.mean(i);
        });
    };
    write_means(shared.left, grid.left_size(), static_cast<C*>(left));
    write_means(shared.right, grid.right_size(), static_cast<C*>(right));
    return {};
}

}  // namespace

Fault mean_topk(const Grid& grid, std::int64_t k, NanRule nan, const Execution& execution, void* left, void* right) {
    const auto run = grid.embeddings.wide() ? mean_topk_as<double> : mean_topk_as<float>;
    return run(grid, k, nan, execution, left, right);
}

}  // namespace truerank
