// Late interaction: queries and documents are lists of vectors, one for each token. This is what one thread of a sweep
// over them does.
//
// Sinks, cells and panels are those of a sweep, in which documents are candidates: so all that counts, lists or writes
// scores of vectors does so with these.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "engine/bounds/bounds.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/sweep/sweep.hpp"
#include "engine/tokens/token_bounds.hpp"
#include "engine/tokens/token_plan.hpp"
#include "engine/tokens/token_scores.hpp"
#include "engine/tokens/tokens.hpp"
#include "kernels/decisions.hpp"
#include "kernels/measured.hpp"

namespace truerank {

template <class C>
class TokenWorker {
  public:
    // Without a quantiser, no pair is decided by bounds.
    TokenWorker(const Scoring<C>& scoring, const SortedTasks& sorted, const Quantiser<C>* quantiser)
        : scoring_(scoring), sorted_(sorted), exact_(scoring, block_) {
        if (quantiser == nullptr) return;
        bounds_ = std::make_unique<TokenBounds<C>>(*quantiser, block_);
        if (bounds_->has_bytes()) screen_ = std::make_unique<TokenScreen<C>>(scoring, *bounds_, block_);
    }
    const BoundsTally& tally() const { return tally_; }

    // Hands all scores of a chunk's cells to a sink, or what bounds tell of them.
    void run(const TokenChunk& chunk, Sink<C>& sink, const Poll& poll) {
        load_queries(chunk);
        load_documents(chunk);
        const auto start = Gauge::Clock::now();
        Gauge::Clock::duration trial_time{};
        std::int64_t token_pairs = 0;
        bool has_chosen = false, uses_bounds = false, was_bounded = false;
        for (const Cell& cell : chunk.cells) {
            load_cell(cell, chunk);
            sink.begin_cell(cell, first_task_);
            const Panel panel{cell.begin, cell.end - cell.begin, columns_.data()};
            sink.begin_panel(panel);
            tally_.pairs += (cell.last_task - cell.first_task) * panel.width;
            BoundedTasks<C>* const tasks = bounds_ ? sink.query_tasks() : nullptr;
            const C* const thresholds = tasks != nullptr ? tasks->thresholds() : nullptr;
            if (thresholds != nullptr && !has_chosen) {
                const auto trial_start = Gauge::Clock::now();
                uses_bounds = choose_bounds(thresholds, poll);
                trial_time = Gauge::Clock::now() - trial_start;
                has_chosen = true;
            }
            const bool is_bounded = uses_bounds && thresholds != nullptr && bounds_->quantise();
            was_bounded = was_bounded || is_bounded;
            token_pairs += token_pairs_of(wanted_);
            const bool is_done = is_bounded ? decide(thresholds, *tasks, poll) : score(panel, sink, poll);
            if (!is_done) return;
            sink.end_cell();
            if (poll.stops(0, (cell.last_query - cell.first_query) * panel.width)) return;
        }
        record(gauge_, was_bounded, Gauge::Clock::now() - start - trial_time, token_pairs);
    }

  private:
    static void record(Gauge& gauge, bool was_bounded, Gauge::Clock::duration time, std::int64_t token_pairs) {
        if (was_bounded) return gauge.record_bounded(time, token_pairs);
        gauge.record_scored(time, token_pairs);
    }
    void load_queries(const TokenChunk& chunk) {
        if (first_query_ == chunk.first_query && last_query_ == chunk.last_query) return;
        first_query_ = chunk.first_query;
        last_query_ = chunk.last_query;
        block_.queries.clear();
        for (std::int64_t i = first_query_; i < last_query_; ++i) {
            block_.queries.add(scoring_.embeddings.query_tokens, sorted_.queries[static_cast<std::size_t>(i)].row);
        }
        exact_.load_queries();
        if (bounds_) bounds_->forget_queries();
        if (screen_) screen_->load_queries();
    }
    void load_documents(const TokenChunk& chunk) {
        block_.documents.clear();
        for (const std::int64_t id : chunk.documents) block_.documents.add(scoring_.embeddings.entity_tokens, id);
        block_.fill_panels(scoring_.kernels.lanes);
        exact_.load_documents(chunk.cells.size() > 1);
        if (bounds_) bounds_->forget_documents();
    }
    // Takes the tasks of a cell's queries, and which of the block's documents are its candidates.
    void load_cell(const Cell& cell, const TokenChunk& chunk) {
        list_first_tasks(cell, sorted_, first_task_);
        columns_.clear();
        members_.clear();
        candidate_tokens_ = 0;
        DocumentMask mask = 0;
        auto at = chunk.documents.begin();
        for (std::int64_t i = cell.begin; i < cell.end; ++i) {
            columns_.push_back(cell.candidates(i));
            at = std::lower_bound(at, chunk.documents.end() - 1, columns_.back());
            members_.push_back(static_cast<std::size_t>(at - chunk.documents.begin()));
            mask |= DocumentMask{1} << members_.back();
            candidate_tokens_ += block_.documents.length(members_.back());
        }
        wanted_.first = static_cast<std::size_t>(cell.first_query - chunk.first_query);
        wanted_.documents.assign(first_task_.size() - 1, mask);
    }
    // The pairs of a token of some queries and one of the cell's candidates.
    std::int64_t token_pairs_of(const WantedPairs& pairs) const {
        const std::size_t last = pairs.first + pairs.documents.size() - 1;
        const std::size_t tokens = block_.queries.end(last) - block_.queries.begin(pairs.first);
        return static_cast<std::int64_t>(tokens * candidate_tokens_);
    }

    // Takes the maxima of pairs: of the tokens that the screen leaves, or of all.
    bool take_exact(const WantedPairs& pairs, bool is_screened, const Poll& poll) {
        return is_screened ? exact_.take_screened(pairs, *screen_, poll) : exact_.take(pairs, poll);
    }
    // Whether bytes are quantised, by which tokens are screened.
    bool can_screen() { return screen_ && bounds_->has_bytes() && bounds_->quantise(); }
    // The same of all pairs of the cell, by what takes less time.
    bool take_cell(const Poll& poll) {
        if (!screen_) return exact_.take(wanted_, poll);
        if (!are_bounds_forced()) {
            if (!was_screen_tried_) try_screen(some_queries(), poll);
            was_screen_tried_ = true;
            prefers_screen_ = screen_gauge_.tries_bounds();
        }
        const auto start = Gauge::Clock::now();
        const bool is_screened = prefers_screen_ && can_screen();
        const bool was_taken = take_exact(wanted_, is_screened, poll);
        record(screen_gauge_, is_screened, Gauge::Clock::now() - start, token_pairs_of(wanted_));
        return was_taken;
    }
    // Sees whether to screen takes less time than to score all tokens; returns the shorter time.
    Gauge::Clock::duration try_screen(const WantedPairs& some, const Poll& poll) {
        const std::int64_t token_pairs = token_pairs_of(some);
        const auto time = [&](bool is_screened) {
            const auto start = Gauge::Clock::now();
            take_exact(some, is_screened, poll);
            return Gauge::Clock::now() - start;
        };
        const auto scored = time(false);
        screen_gauge_.record_scored(scored, token_pairs);
        prefers_screen_ = screen_ != nullptr;
        if (!can_screen()) return scored;
        const auto screened = time(true);
        prefers_screen_ = screened < scored;
        if (!prefers_screen_) screen_gauge_.record_lost(screened, token_pairs);
        return std::min(scored, screened);
    }
    WantedPairs some_queries() const {
        WantedPairs some = wanted_;
        some.documents.resize(std::min(some.documents.size(), measured::kTriedQueries));
        return some;
    }

    // Scores all pairs of a cell, and hands the scores on.
    bool score(const Panel& panel, Sink<C>& sink, const Poll& poll) {
        if (!take_cell(poll)) return false;
        const std::int64_t lanes = scoring_.lanes(), rows = kTileQueries;
        const auto queries = static_cast<std::int64_t>(wanted_.documents.size());  // Each has a mask of documents.
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
    bool decide(const C* thresholds, BoundedTasks<C>& tasks, const Poll& poll) {
        if (!bounds_->take(wanted_, poll)) return false;
        list_open(thresholds, tasks);
        tally_.bounded += first_task_.back() * std::ssize(members_);
        tally_.open += static_cast<std::int64_t>(open_.count);
        tally_.scored += static_cast<std::int64_t>(open_.count);  // all of them
        if (open_.count == 0) return true;
        if (!take_exact(open_pairs_, prefers_screen_ && can_screen(), poll)) return false;
        for (std::size_t i = 0; i < open_.count; ++i) {
            const OpenPair& pair = open_.list[i];
            const C score = exact_.score(wanted_.first + open_queries_[i], members_[pair.lane]);
            tasks.take_scores(&pair, &score, 1);
        }
        return true;
    }
    // Counts the pairs that are above, and lists those that stay open.
    void list_open(const C* thresholds, BoundedTasks<C>& tasks) {
        const std::size_t queries = wanted_.documents.size();
        open_.count = 0;
        open_queries_.clear();
        open_pairs_ = {wanted_.first, std::vector<DocumentMask>(queries)};
        for (std::size_t query = 0; query < queries; ++query) {
            const auto first = static_cast<std::size_t>(first_task_[query]),
                       n = static_cast<std::size_t>(first_task_[query + 1]) - first;
            masks_.resize(n);
            const Intervals intervals = value_intervals(query);
            for (std::size_t i = 0; i < n; ++i) masks_[i] = mask_of(intervals, thresholds[first + i], tasks.counts());
            tasks.take_masks(masks_.data(), static_cast<std::int64_t>(query), 1);
            open_.count += collect_(masks_.data(), first, n, tasks.counters(), open_.room(n * kPanelLanes));
            for (std::size_t i = open_queries_.size(); i < open_.count; ++i) {
                open_queries_.push_back(query);
                open_pairs_.documents[query] |= DocumentMask{1} << members_[open_.list[i].lane];
            }
        }
    }
    // Of the values of a query of the cell and its candidates.
    using Intervals = std::array<std::pair<double, double>, kPanelLanes>;
    Intervals value_intervals(std::size_t query) const {
        Intervals intervals;
        for (std::size_t lane = 0; lane < members_.size(); ++lane) {
            intervals[lane] = bounds_->interval(wanted_.first + query, members_[lane]);
        }
        return intervals;
    }
    // What the intervals tell about a task. Nothing is above a NaN.
    PairMasks mask_of(const Intervals& intervals, C threshold, bool counts_above) const {
        PairMasks mask{};
        if (threshold != threshold) return mask;
        const ValueThresholds values = bounds_->thresholds(threshold);
        for (std::size_t lane = 0; lane < members_.size(); ++lane) {
            const auto [low, high] = intervals[lane];
            const bool is_above = counts_above && low > values.above, is_below = high < values.below;
            mask.above |= static_cast<std::uint64_t>(is_above) << lane;
            mask.not_below |= static_cast<std::uint64_t>(!is_below) << lane;
        }
        return mask;
    }
    // Whether a chunk goes by bounds.
    bool choose_bounds(const C* thresholds, const Poll& poll) {
        if (are_bounds_forced()) return true;
        if (!was_tried_) try_levels(thresholds, poll);
        was_tried_ = true;
        return !only_screens_ && gauge_.tries_bounds();
    }
    // Sees how long some of the cell's queries take to be scored, and chooses the coarsest levels that leave few pairs
    // open, unless finer ones take as long.
    void try_levels(const C* thresholds, const Poll& poll) {
        const WantedPairs some = some_queries();
        const auto scored = try_screen(some, poll);
        gauge_.record_scored(scored, token_pairs_of(some));
        const bool has_tiles = chosen_levels() == Levels::tiles;
        const double few = has_tiles ? measured::kOpenOfTokensByTiles : measured::kOpenOfTokens;
        bool are_finer = false;
        while (bounds_->quantise()) {
            const auto start = Gauge::Clock::now();
            bounds_->take(some, poll);
            const bool is_slower = Gauge::Clock::now() - start >= scored;
            only_screens_ = prefers_screen_ && are_finer && is_slower;
            if (only_screens_) return bounds_->use_coarsest();
            if (!bounds_->has_finer() || open_share(thresholds, some.documents.size()) <= few) return;
            bounds_->use_finer();
            are_finer = true;
        }
    }
    // The share of pairs that stay open, of the tasks of so many of the cell's queries.
    double open_share(const C* thresholds, std::size_t queries) const {
        std::int64_t open = 0;
        for (std::size_t query = 0; query < queries; ++query) {
            const Intervals intervals = value_intervals(query);
            for (std::int64_t task = first_task_[query]; task < first_task_[query + 1]; ++task) {
                open += std::popcount(mask_of(intervals, thresholds[task], true).open());
            }
        }
        const auto pairs = static_cast<double>(first_task_[queries] * std::ssize(members_));
        return static_cast<double>(open) / std::max(1.0, pairs);
    }

    const Scoring<C>& scoring_;
    const SortedTasks& sorted_;

    // The batch of queries and the block of documents that were loaded last, their scores and their bounds.
    std::int64_t first_query_ = -1, last_query_ = -1;
    TokenBlock block_;
    TokenScores<C> exact_;
    std::unique_ptr<TokenBounds<C>> bounds_;  // null where no pair is decided by bounds
    bool was_tried_ = false;
    Gauge gauge_;
    std::unique_ptr<TokenScreen<C>> screen_;  // null where bounds are null, or have no bytes
    bool was_screen_tried_ = false;
    bool prefers_screen_ = are_bounds_forced();  // whether it takes less time than to score all tokens
    bool only_screens_ = false;                  // whether it takes less time than bounds do
    Gauge screen_gauge_;
    BoundsTally tally_;

    // The cell: the tasks of its queries, its candidates and where they are in the block, and its pairs.
    std::vector<std::int64_t> first_task_, columns_;
    std::vector<std::size_t> members_;
    std::size_t candidate_tokens_ = 0;
    WantedPairs wanted_;
    std::vector<C> scores_;

    std::vector<PairMasks> masks_;
    OpenPairs open_;
    std::vector<std::size_t> open_queries_;  // of open pairs
    WantedPairs open_pairs_;
    const decltype(DecisionKernels<C>::collect) collect_ = decision_kernels<C>().collect;
};

}  // namespace truerank
