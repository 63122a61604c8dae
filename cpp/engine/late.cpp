#include "engine/late.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/gauge.hpp"
#include "engine/threads.hpp"
#include "engine/token_bounds.hpp"
#include "engine/token_plan.hpp"
#include "engine/token_scores.hpp"
#include "engine/tokens.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

template <class C>
class TokenWorker {
  public:
    TokenWorker(const Scoring<C>& scoring, const Quantisation<C>* quantisation) : scoring_(scoring), exact_(scoring) {
        if (quantisation != nullptr) bounds_ = std::make_unique<TokenBounds<C>>(*quantisation, scoring);
    }
    const BoundsTally& tally() const { return tally_; }

    void run(const TokenPlan& plan, const TokenChunk& chunk, const SortedQuery* sorted, Sink<C>& sink, bool is_caller,
             Stop& stop) {
        load_queries(chunk, sorted);
        load_documents(plan, chunk);
        auto start = Gauge::Clock::now();
        std::int64_t token_pairs = 0;
        bool was_asked = false, tries_bounds = false, was_bounded = false;
        for (std::size_t i = chunk.first_cell; i < chunk.last_cell; ++i) {
            const Cell& cell = plan.cells[i];
            load_cell(cell, chunk, plan, sorted);
            sink.begin_cell(cell, first_task_);
            const Panel panel{cell.begin, cell.end - cell.begin, columns_.data()};
            sink.begin_panel(panel);
            tally_.pairs += (cell.last_task - cell.first_task) * panel.width;
            const C* const thresholds = bounds_ && sink.query_tasks() ? sink.query_tasks()->thresholds() : nullptr;
            if (thresholds != nullptr && !std::exchange(was_asked, true)) {
                const auto before = Gauge::Clock::now();
                if (!std::exchange(was_tried_, true) && !are_bounds_forced()) try_bounds(thresholds, is_caller, stop);
                tries_bounds = are_bounds_forced() || gauge_.tries_bounds();
                start += Gauge::Clock::now() - before;
            }
            const bool is_bounded = tries_bounds && thresholds != nullptr && bounds_->quantise();
            was_bounded = was_bounded || is_bounded;
            token_pairs += tokens_of(wanted_) * candidate_tokens_;
            if (!(is_bounded ? decide(thresholds, *sink.query_tasks(), is_caller, stop)
                             : score(panel, sink, is_caller, stop))) {
                return;
            }
            sink.end_cell();
            stop.requested(is_caller, 0, (cell.last_query - cell.first_query) * panel.width);
        }
        const auto time = Gauge::Clock::now() - start;
        was_bounded ? gauge_.record_bounded(time, token_pairs) : gauge_.record_scored(time, token_pairs);
    }

    void score_pairs(const std::int64_t* rows, const std::int64_t* columns, std::int64_t n, C* out, bool is_caller,
                     Stop& stop) {
        wanted_ = {0, {1}};
        for (std::int64_t i = 0; i < n; ++i) {
            if (i == 0 || rows[i] != rows[i - 1]) {
                queries_.clear();
                queries_.add(scoring_.embeddings.query_tokens, rows[i]);
                exact_.set_queries(queries_);
            }
            documents_.clear();
            documents_.add(scoring_.embeddings.entity_tokens, columns[i]);
            panels_.assign(documents_, scoring_.kernels.lanes);
            exact_.set_documents(documents_, panels_, false);
            if (!exact_.take(wanted_, is_caller, stop)) return;
            out[i] = exact_.score(0, 0);
        }
    }

  private:
    // A pair of a task and a document that bounds leave open.
    struct Open {
        OpenPair pair;
        std::size_t query, document;  // in the cell, in the block
    };

    void load_queries(const TokenChunk& chunk, const SortedQuery* sorted) {
        if (first_query_ == chunk.first_query && last_query_ == chunk.last_query) return;
        first_query_ = chunk.first_query;
        last_query_ = chunk.last_query;
        queries_.clear();
        for (std::int64_t i = first_query_; i < last_query_; ++i) {
            queries_.add(scoring_.embeddings.query_tokens, sorted[i].row);
        }
        exact_.set_queries(queries_);
        if (bounds_) bounds_->set_queries(queries_);
    }
    void load_documents(const TokenPlan& plan, const TokenChunk& chunk) {
        documents_.clear();
        for (std::size_t i = chunk.first_document; i < chunk.last_document; ++i) {
            documents_.add(scoring_.embeddings.entity_tokens, plan.documents[i]);
        }
        panels_.assign(documents_, scoring_.kernels.lanes);
        exact_.set_documents(documents_, panels_, chunk.last_cell - chunk.first_cell > 1);
        if (bounds_) bounds_->set_documents(documents_, panels_);
    }
    // Takes the tasks of a cell's queries, and which of the block's documents are its candidates.
    void load_cell(const Cell& cell, const TokenChunk& chunk, const TokenPlan& plan, const SortedQuery* sorted) {
        list_first_tasks(cell, sorted, first_task_);
        columns_.clear();
        members_.clear();
        candidate_tokens_ = 0;
        DocumentMask mask = 0;
        const auto begin = plan.documents.begin() + static_cast<std::ptrdiff_t>(chunk.first_document),
                   end = plan.documents.begin() + static_cast<std::ptrdiff_t>(chunk.last_document);
        auto at = begin;
        for (std::int64_t i = cell.begin; i < cell.end; ++i) {
            columns_.push_back(cell.candidates(i));
            at = std::lower_bound(at, end - 1, columns_.back());
            members_.push_back(static_cast<std::size_t>(at - begin));
            mask |= DocumentMask{1} << members_.back();
            candidate_tokens_ += static_cast<std::int64_t>(documents_.length(members_.back()));
        }
        wanted_.first = static_cast<std::size_t>(cell.first_query - chunk.first_query);
        wanted_.documents.assign(first_task_.size() - 1, mask);
    }

    // The tokens of some queries.
    std::int64_t tokens_of(const WantedPairs& pairs) const {
        const std::size_t last = pairs.first + pairs.documents.size() - 1;
        return static_cast<std::int64_t>(queries_.end(last) - queries_.begin(pairs.first));
    }

    // Scores all pairs of a cell, and hands the scores on.
    bool score(const Panel& panel, Sink<C>& sink, bool is_caller, Stop& stop) {
        if (!exact_.take(wanted_, is_caller, stop)) return false;
        const std::int64_t lanes = scoring_.lanes(), rows = kTileQueries;
        const auto queries = static_cast<std::int64_t>(wanted_.documents.size());
        scores_.resize(static_cast<std::size_t>(rows * lanes));
        for (std::int64_t begin = 0; begin < panel.width; begin += lanes) {
            const std::int64_t width = std::min(lanes, panel.width - begin);
            sink.begin_panel({panel.begin + begin, width, panel.columns + begin});
            for (std::int64_t first = 0; first < queries; first += rows) {
                const std::int64_t n = std::min(rows, queries - first);
                for (std::int64_t lane = 0; lane < width; ++lane) {
                    const std::size_t document = members_[static_cast<std::size_t>(begin + lane)];
                    for (std::int64_t i = 0; i < n; ++i) {
                        scores_[static_cast<std::size_t>(i * lanes + lane)] =
                            exact_.score(wanted_.first + static_cast<std::size_t>(first + i), document);
                    }
                }
                sink.take_scores(scores_.data(), first, n);
            }
        }
        return true;
    }

    // Decides pairs by bounds, and scores those that stay open.
    bool decide(const C* thresholds, BoundedTasks<C>& tasks, bool is_caller, Stop& stop) {
        if (!bounds_->take(wanted_, is_caller, stop)) return false;
        open_.clear();
        open_pairs_ = {wanted_.first, std::vector<DocumentMask>(wanted_.documents.size())};
        const bool counts = tasks.counts();
        std::uint32_t* const counters = tasks.counters();
        for (std::size_t query = 0; query < wanted_.documents.size(); ++query) {
            const auto first = static_cast<std::size_t>(first_task_[query]),
                       last = static_cast<std::size_t>(first_task_[query + 1]);
            masks_.resize(last - first);
            take_intervals(query);
            for (std::size_t task = first; task < last; ++task)
                masks_[task - first] = mask_of(thresholds[task], counts);
            tasks.take_masks(masks_.data(), static_cast<std::int64_t>(query), 1);
            for (std::size_t task = first; task < last; ++task) {
                counters[task] += static_cast<std::uint32_t>(std::popcount(masks_[task - first].above));
                for (std::uint64_t bits = masks_[task - first].open(); bits != 0; bits &= bits - 1) {
                    const auto lane = static_cast<std::uint32_t>(std::countr_zero(bits));
                    open_.push_back({{static_cast<std::uint32_t>(task), lane}, query, members_[lane]});
                    open_pairs_.documents[query] |= DocumentMask{1} << members_[lane];
                }
            }
        }
        tally_.bounded += first_task_.back() * static_cast<std::int64_t>(members_.size());
        tally_.open += static_cast<std::int64_t>(open_.size());
        tally_.scored += static_cast<std::int64_t>(open_.size());
        if (open_.empty()) return true;
        if (!exact_.take(open_pairs_, is_caller, stop)) return false;
        for (const Open& open : open_) {
            const C value = exact_.score(wanted_.first + open.query, open.document);
            tasks.take_scores(&open.pair, &value, 1);
        }
        return true;
    }
    // The intervals of a query of the cell and its candidates.
    void take_intervals(std::size_t query) {
        for (std::size_t lane = 0; lane < members_.size(); ++lane) {
            std::tie(low_[lane], high_[lane]) = bounds_->interval(wanted_.first + query, members_[lane]);
        }
    }
    // What the intervals tell about a task. Nothing is above a NaN.
    PairMasks mask_of(C threshold, bool counts) const {
        PairMasks mask{};
        if (threshold != threshold) return mask;
        const ValueThresholds values = bounds_->thresholds(threshold);
        for (std::size_t lane = 0; lane < members_.size(); ++lane) {
            mask.above |= static_cast<std::uint64_t>(counts && low_[lane] > values.above) << lane;
            mask.not_below |= static_cast<std::uint64_t>(!(high_[lane] < values.below)) << lane;
        }
        return mask;
    }
    // Chooses the coarsest levels that leave few pairs open, by some of the cell's queries, and sees how long these
    // take to be scored.
    void try_bounds(const C* thresholds, bool is_caller, Stop& stop) {
        WantedPairs some = wanted_;
        some.documents.resize(std::min(some.documents.size(), measured::kTriedQueries));
        const std::size_t queries = some.documents.size();
        for (; bounds_->quantise() && bounds_->take(some, is_caller, stop); bounds_->use_finer()) {
            std::int64_t open = 0;
            for (std::size_t query = 0; query < queries; ++query) {
                take_intervals(query);
                for (std::int64_t task = first_task_[query]; task < first_task_[query + 1]; ++task) {
                    open += std::popcount(mask_of(thresholds[task], true).open());
                }
            }
            const auto pairs = static_cast<double>(first_task_[queries] * static_cast<std::int64_t>(members_.size()));
            if (!bounds_->has_finer() || static_cast<double>(open) <= measured::kOpenOfTokens * pairs) break;
        }
        const auto start = Gauge::Clock::now();
        exact_.take(some, is_caller, stop);
        gauge_.record_scored(Gauge::Clock::now() - start, tokens_of(some) * candidate_tokens_);
    }

    const Scoring<C>& scoring_;
    TokenScores<C> exact_;
    std::unique_ptr<TokenBounds<C>> bounds_;  // null where no pair is decided by bounds
    bool was_tried_ = false;
    Gauge gauge_;
    BoundsTally tally_;

    // The batch of queries and the block of documents that were loaded last.
    std::int64_t first_query_ = -1, last_query_ = -1;
    TokenLists queries_, documents_;
    TokenPanels panels_;

    // The cell: the tasks of its queries, its candidates and where they are in the block, and its pairs.
    std::vector<std::int64_t> first_task_, columns_;
    std::vector<std::size_t> members_;
    std::int64_t candidate_tokens_ = 0;
    WantedPairs wanted_;
    std::vector<C> scores_;

    double low_[kPanelLanes], high_[kPanelLanes];
    std::vector<PairMasks> masks_;
    std::vector<Open> open_;
    WantedPairs open_pairs_;
};

}  // namespace

template <class C>
void sweep_tokens(const Scoring<C>& scoring, const SortedTasks& sorted, const Execution& execution,
                  std::int64_t task_bytes, const std::function<std::unique_ptr<Sink<C>>()>& make_sink) {
    const Embeddings& embeddings = scoring.embeddings;
    const Workload work(sorted, embeddings.mean_depth());
    const int threads = work.threads(execution);
    const std::int64_t tokens = divide_up(embeddings.queries.rows, std::max<std::int64_t>(1, embeddings.query_count()));
    const CellSizing sizing{scoring.depth() * tokens,
                            scoring.lanes(),
                            sizeof(C),
                            task_bytes,
                            std::max<std::int64_t>(1, embeddings.entity_count()),
                            threads > 0 ? threads : default_threads()};
    const TokenPlan plan(embeddings, sorted, sizing, execution.block);
    const auto chunks = static_cast<std::int64_t>(plan.chunks.size());
    const Team team(threads, chunks, work.duration());
    std::vector<std::unique_ptr<Sink<C>>> sinks;
    for (int i = 0; i < team.size(); ++i) sinks.push_back(make_sink());
    std::optional<Quantisation<C>> quantisation;
    if (sinks[0]->query_tasks() != nullptr && execution.bounded &&
        (are_bounds_forced() || embeddings.queries.rows >= measured::kLeastBoundedTokens)) {
        quantisation = Quantisation<C>::make(embeddings, scoring.candidates);
    }
    std::vector<std::unique_ptr<TokenWorker<C>>> workers;
    for (int i = 0; i < team.size(); ++i) {
        workers.push_back(std::make_unique<TokenWorker<C>>(scoring, quantisation ? &*quantisation : nullptr));
    }
    const auto run = [&](std::int64_t chunk, int worker, Stop& stop) {
        const auto w = static_cast<std::size_t>(worker);
        workers[w]->run(plan, plan.chunks[static_cast<std::size_t>(chunk)], sorted.queries.data(), *sinks[w],
                        worker == 0, stop);
    };
    parallel_for(team, chunks, execution.interrupted, run, execution.listener, plan.pairs);
    for (const auto& worker : workers) add_to_tally(worker->tally());
}

template <class C>
void score_token_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                       const Execution& execution, C* out) {
    constexpr std::int64_t size = 16;
    const Team team(execution.threads, divide_up(n, size));
    std::vector<std::unique_ptr<TokenWorker<C>>> workers;
    for (int i = 0; i < team.size(); ++i) workers.push_back(std::make_unique<TokenWorker<C>>(scoring, nullptr));
    parallel_for(team, divide_up(n, size), execution.interrupted, [&](std::int64_t chunk, int worker, Stop& stop) {
        const std::int64_t at = chunk * size;
        workers[static_cast<std::size_t>(worker)]->score_pairs(rows + at, columns + at, std::min(size, n - at),
                                                               out + at, worker == 0, stop);
    });
}

template void sweep_tokens(const Scoring<float>&, const SortedTasks&, const Execution&, std::int64_t,
                           const std::function<std::unique_ptr<Sink<float>>()>&);
template void sweep_tokens(const Scoring<double>&, const SortedTasks&, const Execution&, std::int64_t,
                           const std::function<std::unique_ptr<Sink<double>>()>&);
template void score_token_pairs(const Scoring<float>&, const std::int64_t*, const std::int64_t*, std::int64_t,
                                const Execution&, float*);
template void score_token_pairs(const Scoring<double>&, const std::int64_t*, const std::int64_t*, std::int64_t,
                                const Execution&, double*);

}  // namespace truerank
