#include "embeddings.hpp"

#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "sweep.hpp"

namespace truerank {

namespace {

// Counts of the tasks of a cell, in the order of the cell, and how they are joined to those of other cells.
template <class C>
class CountSink {
  public:
    using Bits = typename Tallies<C>::Counter;

    struct Shared {
        const Tasks& tasks;
        const Selection& filter;
        const Counts& counts;
        const Sorted& sorted;
        const std::vector<C>& truths;
        NanRule nan_rule;
        // By task: NaN among its candidates, and, audited, the key of the best score.
        std::vector<std::int64_t> nan;
        std::vector<Key<C>> best;
        Fault fault{};
        std::mutex mutex{};
    };

    CountSink(const SimilarityKernels<C>& kernels, Shared& shared) : kernels_(kernels), shared_(shared) {}

    void begin(const Cell& cell, const std::vector<std::int64_t>& first) {
        cell_ = &cell;
        first_ = first.data();
        const auto n = static_cast<std::size_t>(cell.last - cell.first);
        above_.assign(n * kernels_.counters, 0);
        tied_.assign(n * kernels_.counters, 0);
        found_.assign(n, Found{});
        if (!shared_.filter) return;
        const std::int64_t low = cell.view.column(cell.begin), high = cell.view.column(cell.end - 1);
        const Selection window = shared_.filter.within(low, high + 1);
        for (std::size_t i = 0; i < n; ++i) {
            const Span span = window.span(window.list(task(i)));
            found_[i].position = span.start;
            found_[i].end = span.start + span.length;
            found_[i].next = span.length > 0 ? window.column(span.start) : kNone;
        }
    }

    void enter(const Panel& panel) { panel_ = panel; }

    std::int64_t take(C* scores, std::int64_t first_query, std::int64_t queries) {
        const auto lanes = static_cast<std::int64_t>(kernels_.lanes);
        if (panel_.width < lanes) {  // what is made up is neither above nor tied
            for (std::int64_t i = 0; i < queries; ++i) {
                std::fill(scores + i * lanes + panel_.width, scores + (i + 1) * lanes,
                          std::numeric_limits<C>::quiet_NaN());
            }
        }
        const std::int64_t* first = first_ + first_query;
        const bool nan = kernels_.count(scores, static_cast<std::size_t>(queries), first,
                                        {shared_.truths.data() + cell_->first, above_.data(), tied_.data()});
        std::int64_t work = lanes * (first[queries] - first[0]);
        for (std::int64_t i = 0; i < queries; ++i) {
            const C* row = scores + i * lanes;
            if (nan) find_nans(row, first[i], first[i + 1]);
            if (shared_.counts.audit()) audit(row, first[i], first[i + 1]);
            if (!shared_.filter) continue;
            for (std::int64_t t = first[i]; t < first[i + 1]; ++t) {
                Found& found = found_[static_cast<std::size_t>(t)];
                if (found.next > panel_.columns[panel_.width - 1]) continue;
                work += kStep * remove(row, static_cast<std::size_t>(t), found);
            }
        }
        return work;
    }

    void end() {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        const Counts& counts = shared_.counts;
        for (std::size_t i = 0; i < found_.size(); ++i) {
            const std::int64_t task = this->task(i);
            const Found& found = found_[i];
            counts.above[task] += sum(above_, i) - found.above;
            counts.tied[task] += sum(tied_, i) - found.tied;
            counts.candidates[task] -= found.removed;
            const auto t = static_cast<std::size_t>(task);
            shared_.nan[t] += found.nan;
            if (!counts.audit()) continue;
            counts.inf[task] += found.inf;
            if (found.best > shared_.best[t]) {
                shared_.best[t] = found.best;
                counts.at_best[task] = 0;
            }
            if (found.best == shared_.best[t]) counts.at_best[task] += found.at_best;
            if (found.best_removed == shared_.best[t]) counts.at_best[task] -= found.at_best_removed;
        }
        if (sooner(fault_, shared_.fault)) shared_.fault = fault_;
    }

  private:
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    static constexpr std::int64_t kStep = 16;  // scores that are counted while a filter's entry is looked at

    // What is seen of a task beside the tallies.
    struct Found {
        // Where the filter's list is, and the column it has there.
        std::int64_t next = kNone, position = 0, end = 0;
        std::int64_t above = 0, tied = 0, removed = 0;
        std::int64_t nan = 0, inf = 0;
        Key<C> best = Order<C>::bottom(), best_removed = Order<C>::bottom();
        std::int64_t at_best = 0, at_best_removed = 0;
    };

    std::int64_t task(std::size_t i) const { return shared_.sorted.order[static_cast<std::size_t>(cell_->first) + i]; }
    std::int64_t sum(const std::vector<Bits>& counters, std::size_t i) const {
        const Bits* first = counters.data() + i * kernels_.counters;
        return std::accumulate(first, first + kernels_.counters, std::int64_t{0});
    }
    bool is_filtered(std::int64_t task, std::int64_t column) const {
        return column != shared_.tasks.targets[task] && shared_.filter &&
               shared_.filter.has(shared_.filter.list(task), column);
    }

    void find_nans(const C* scores, std::int64_t first, std::int64_t last) {
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            if (scores[j] == scores[j]) continue;
            for (std::int64_t t = first; t < last; ++t) {
                const auto i = static_cast<std::size_t>(t);
                const std::int64_t task = this->task(i);
                if (is_filtered(task, panel_.columns[j])) continue;
                ++found_[i].nan;
                const std::int64_t row = shared_.sorted.rows[static_cast<std::size_t>(cell_->first + t)];
                const bool truth = panel_.columns[j] == shared_.tasks.targets[task];
                using Kind = Fault::Kind;
                const Fault fault{shared_.nan_rule == NanRule::raise ? Kind::nan_score : Kind::nan_truth, task, row,
                                  panel_.columns[j]};
                if (shared_.nan_rule == NanRule::raise || (shared_.nan_rule == NanRule::omit && truth)) {
                    if (sooner(fault, fault_)) fault_ = fault;
                }
            }
        }
    }

    // Infinities among the candidates, and how many share the best score before the filter.
    void audit(const C* scores, std::int64_t first, std::int64_t last) {
        Key<C> best = Order<C>::bottom();
        std::int64_t at_best = 0, inf = 0;
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            inf += std::isinf(scores[j]);
            const Key<C> key = Order<C>::key(scores[j]);
            at_best = key > best ? 1 : at_best + (key == best);
            best = std::max(best, key);
        }
        for (std::int64_t t = first; t < last; ++t) {
            Found& found = found_[static_cast<std::size_t>(t)];
            found.inf += inf;
            if (best > found.best) found.at_best = 0;
            found.best = std::max(found.best, best);
            if (best == found.best) found.at_best += at_best;
        }
    }

    // Takes the columns of the filter's list that the panel has out of the counts; returns how many steps that took.
    std::int64_t remove(const C* scores, std::size_t i, Found& found) {
        const std::int64_t* const columns = panel_.columns;
        const std::int64_t* const end = columns + panel_.width;
        const std::int64_t target = shared_.tasks.targets[task(i)];
        const bool dense = end[-1] - columns[0] == panel_.width - 1;
        const std::int64_t* at = columns;
        std::int64_t steps = 0;
        while (found.next <= end[-1]) {
            ++steps;
            at = dense ? columns + std::max<std::int64_t>(at - columns, found.next - columns[0])
                       : std::lower_bound(at, end, found.next);
            if (at == end) break;  // no list that is in order
            if (*at == found.next) {
                if (found.next != target) remove(scores[at - columns], i, found);
                ++found.position;
            } else {  // the next that is a candidate, for there may be far fewer of these
                found.position = shared_.filter.seek(found.position + 1, found.end, *at);
            }
            found.next = found.position < found.end ? shared_.filter.column(found.position) : kNone;
        }
        return steps;
    }

    void remove(C score, std::size_t i, Found& found) {
        const C truth = shared_.truths[static_cast<std::size_t>(cell_->first) + i];
        ++found.removed;
        found.above += score > truth;
        found.tied += score == truth;
        if (!shared_.counts.audit()) return;
        found.inf -= std::isinf(score);
        const Key<C> key = Order<C>::key(score);
        if (key > found.best_removed) found.at_best_removed = 0;
        found.best_removed = std::max(found.best_removed, key);
        found.at_best_removed += key == found.best_removed;
    }

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_ = nullptr;
    Panel panel_{};
    std::vector<Bits> above_, tied_;
    std::vector<Found> found_;
    Fault fault_{};
};

template <class C>
void score_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                 const Way& way, C* out) {
    // Enough work to be worth handing out.
    const std::int64_t size = std::clamp<std::int64_t>((1 << 20) / (1 + scoring.depth()), 1, 1 << 14) * scoring.lanes();
    const Team team(way.threads, divide_up(n, size));
    std::vector<Sweeper<C>> sweepers(static_cast<std::size_t>(team.size()), Sweeper<C>(scoring));
    parallel_for(team, divide_up(n, size), way.interrupted, [&](std::int64_t piece, int worker, Stop& stop) {
        const std::int64_t at = piece * size;
        sweepers[static_cast<std::size_t>(worker)].pairs(rows + at, columns + at, std::min(size, n - at), out + at,
                                                         worker == 0, stop);
    });
}

template <class C>
Fault rank_as(const Embeddings& embeddings, const Tasks& tasks, const Selection& filter, const Selection& candidates,
              NanRule nan, const Way& way, const Counts& counts) {
    for (std::int64_t task = 0; candidates && task < tasks.size; ++task) {
        if (!candidates.has(candidates.list(task), tasks.targets[task])) {
            return {Fault::Kind::not_a_candidate, task, tasks.rows == nullptr ? task : tasks.rows[task], -1};
        }
    }
    const Scoring<C> scoring(embeddings);
    const Sorted sorted = sort_tasks(tasks, candidates, embeddings);
    std::vector<std::int64_t> targets;
    for (const std::int64_t task : sorted.order) {
        targets.push_back(std::clamp<std::int64_t>(tasks.targets[task], 0, embeddings.entities.rows - 1));
    }
    std::vector<C> truths(targets.size());
    score_pairs(scoring, sorted.rows.data(), targets.data(), tasks.size, way, truths.data());

    using Sink = CountSink<C>;
    typename Sink::Shared shared{tasks, filter, counts, sorted, truths, nan, {}, {}};
    shared.nan.assign(static_cast<std::size_t>(tasks.size), 0);
    shared.best.assign(static_cast<std::size_t>(counts.audit() ? tasks.size : 0), Order<C>::bottom());
    for (const Group& group : sorted.groups) {
        for (std::int64_t i = group.first; i < group.last; ++i) {
            counts.candidates[sorted.order[static_cast<std::size_t>(i)]] = group.view.size;
        }
    }
    sweep(scoring, sorted, way, static_cast<std::int64_t>(2 * scoring.kernels.counters * sizeof(C)),
          [&] { return Sink(scoring.kernels, shared); });
    if (shared.fault.kind != Fault::Kind::none) return shared.fault;
    for (std::size_t i = 0; i < sorted.order.size(); ++i) {
        const std::int64_t task = sorted.order[i];
        const std::int64_t nans = shared.nan[static_cast<std::size_t>(task)];
        if (counts.audit()) counts.nan[task] = nans;
        if (truths[i] != truths[i]) {
            counts.above[task] = counts.candidates[task] - 1;
            counts.tied[task] = 1;
        } else if (nan == NanRule::omit) {
            counts.candidates[task] -= nans;
        }
    }
    return {};
}

// Copies scores out.
template <class C>
class WriteSink {
  public:
    WriteSink(const Sorted& sorted, std::int64_t lanes, std::int64_t columns, C* out)
        : sorted_(sorted), lanes_(lanes), columns_(columns), out_(out) {}
    void begin(const Cell& cell, const std::vector<std::int64_t>& first) {
        cell_ = &cell;
        first_ = first.data();
    }
    void enter(const Panel& panel) { panel_ = panel; }
    std::int64_t take(const C* scores, std::int64_t first_query, std::int64_t queries) {
        for (std::int64_t i = 0; i < queries; ++i) {
            for (std::int64_t t = first_[first_query + i]; t < first_[first_query + i + 1]; ++t) {
                const std::int64_t task = sorted_.order[static_cast<std::size_t>(cell_->first + t)];
                std::copy_n(scores + i * lanes_, panel_.width, out_ + task * columns_ + panel_.columns[0]);
            }
        }
        return lanes_ * (first_[first_query + queries] - first_[first_query]);
    }
    void end() {}

  private:
    const Sorted& sorted_;
    std::int64_t lanes_, columns_;
    C* out_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_ = nullptr;
    Panel panel_{};
};

template <class C>
void score_as(const Embeddings& embeddings, const std::int64_t* rows, const std::int64_t* columns, std::int64_t tasks,
              const Way& way, C* out) {
    const Scoring<C> scoring(embeddings);
    if (columns != nullptr) return score_pairs(scoring, rows, columns, tasks, way, out);
    const Sorted sorted = sort_tasks({tasks, rows, nullptr}, {}, embeddings);
    sweep(scoring, sorted, way, 0,
          [&] { return WriteSink<C>(sorted, scoring.lanes(), embeddings.entities.rows, out); });
}

}  // namespace

Fault rank_embeddings(const Embeddings& embeddings, const Tasks& tasks, const Selection& filter,
                      const Selection& candidates, NanRule nan, const Way& way, const Counts& counts) {
    const auto run = embeddings.wide() ? rank_as<double> : rank_as<float>;
    return run(embeddings, tasks, filter, candidates, nan, way, counts);
}

void score_embeddings(const Embeddings& embeddings, const std::int64_t* rows, const std::int64_t* columns,
                      std::int64_t tasks, const Way& way, void* out) {
    if (embeddings.wide()) {
        score_as(embeddings, rows, columns, tasks, way, static_cast<double*>(out));
    } else {
        score_as(embeddings, rows, columns, tasks, way, static_cast<float*>(out));
    }
}

}  // namespace truerank
