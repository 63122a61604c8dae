// Late interaction: queries and documents are lists of vectors, one for each token. This is what one thread of a sweep
// over them does.
//
// Sinks, cells and panels are those of a sweep, in which documents are candidates: so all that counts, lists or writes
// scores of vectors does so with these.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/sweep/gauge.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/sweep/sweep.hpp"
#include "engine/tokens/token_bounds.hpp"
#include "engine/tokens/token_plan.hpp"
#include "engine/tokens/token_scores.hpp"
#include "engine/tokens/token_screen.hpp"
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
        auto start = Gauge::Clock::now();
        std::int64_t token_pairs = 0;
        bool was_asked = false, tries_bounds = false, was_bounded = false;
        for (const Cell& cell : chunk.cells) {
            load_cell(cell, chunk);
            sink.begin_cell(cell, first_task_);
            const Panel panel{cell.begin, cell.end - cell.begin, columns_.data()};
            sink.begin_panel(panel);
            tally_.pairs += (cell.last_task - cell.first_task) * panel.width;
            BoundedTasks<C>* const tasks = bounds_ ? sink.query_tasks() : nullptr;
            const C* const thresholds = tasks != nullptr ? tasks->thresholds() : nullptr;
            if (thresholds != nullptr && !std::exchange(was_asked, true)) {
                const auto before = Gauge::Clock::now();
                if (!std::exchange(was_tried_, true) && !are_bounds_forced()) try_bounds(thresholds, poll);
                tries_bounds = are_bounds_forced() || (!only_screens_ && gauge_.tries_bounds());
                start += Gauge::Clock::now() - before;
            }
            const bool is_bounded = tries_bounds && thresholds != nullptr && bounds_->quantise();
            was_bounded = was_bounded || is_bounded;
            token_pairs += token_pairs_of(wanted_);
            if (!(is_bounded ? decide(thresholds, *tasks, poll) : score(panel, sink, poll))) return;
            sink.end_cell();
            poll.stops(0, (cell.last_query - cell.first_query) * panel.width);
        }
        const auto time = Gauge::Clock::now() - start;
        was_bounded ? gauge_.record_bounded(time, token_pairs) : gauge_.record_scored(time, token_pairs);
    }

  private:
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

    // Takes the maxima of pairs: of all their tokens, or of those that the screen leaves.
    bool take_exact(const WantedPairs& pairs, const Poll& poll) {
        return screens() ? exact_.take_screened(pairs, *screen_, poll) : exact_.take(pairs, poll);
    }
    bool screens() { return screen_ && screens_ && bounds_->has_bytes() && bounds_->quantise(); }
    // The same of all pairs of the cell, by what takes less time.
    bool take_cell(const Poll& poll) {
        if (!screen_) return exact_.take(wanted_, poll);
        if (!are_bounds_forced()) {
            if (!std::exchange(was_screen_tried_, true)) try_screen(some_queries(), poll);
            screens_ = screening_.tries_bounds();
        }
        const auto start = Gauge::Clock::now();
        const bool is_screened = screens(), was_stopped = !take_exact(wanted_, poll);
        const auto time = Gauge::Clock::now() - start;
        const std::int64_t pairs = token_pairs_of(wanted_);
        is_screened ? screening_.record_bounded(time, pairs) : screening_.record_scored(time, pairs);
        return !was_stopped;
    }
    // Sees whether to screen takes less time than to score all tokens; returns the shorter time.
    Gauge::Clock::duration try_screen(const WantedPairs& some, const Poll& poll) {
        const auto time = [&] {
            const auto start = Gauge::Clock::now();
            take_exact(some, poll);
            return Gauge::Clock::now() - start;
        };
        screens_ = false;
        const auto whole = time();
        screening_.record_scored(whole, token_pairs_of(some));
        screens_ = screen_ != nullptr;
        if (!screens()) return whole;
        const auto screened = time();
        screens_ = screened < whole;
        if (!screens_) screening_.record_lost(screened, token_pairs_of(some));
        return std::min(whole, screened);
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
    bool decide(const C* thresholds, BoundedTasks<C>& tasks, const Poll& poll) {
        if (!bounds_->take(wanted_, poll)) return false;
        const std::size_t queries = wanted_.documents.size();
        open_.count = 0;
        open_ends_.resize(queries);
        open_pairs_ = {wanted_.first, std::vector<DocumentMask>(queries)};
        for (std::size_t query = 0; query < queries; ++query) {
            const auto first = static_cast<std::size_t>(first_task_[query]),
                       n = static_cast<std::size_t>(first_task_[query + 1]) - first;
            masks_.resize(n);
            take_intervals(query);
            for (std::size_t i = 0; i < n; ++i) masks_[i] = mask_of(thresholds[first + i], tasks.counts());
            tasks.take_masks(masks_.data(), static_cast<std::int64_t>(query), 1);
            const std::size_t before = open_.count;
            open_.count += collect_(masks_.data(), first, n, tasks.counters(), open_.room(n * kPanelLanes));
            open_ends_[query] = open_.count;
            for (std::size_t i = before; i < open_.count; ++i) {
                open_pairs_.documents[query] |= DocumentMask{1} << members_[open_.list[i].lane];
            }
        }
        tally_.bounded += first_task_.back() * static_cast<std::int64_t>(members_.size());
        tally_.open += static_cast<std::int64_t>(open_.count);
        tally_.scored += static_cast<std::int64_t>(open_.count);
        if (open_.count == 0) return true;
        if (!take_exact(open_pairs_, poll)) return false;
        for (std::size_t query = 0, i = 0; query < queries; ++query) {
            for (; i < open_ends_[query]; ++i) {
                const OpenPair& open = open_.list[i];
                const C value = exact_.score(wanted_.first + query, members_[open.lane]);
                tasks.take_scores(&open, &value, 1);
            }
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
    // Sees how long some of the cell's queries take to be scored, and chooses the coarsest levels that leave few pairs
    // open, unless finer ones take as long.
    void try_bounds(const C* thresholds, const Poll& poll) {
        const WantedPairs some = some_queries();
        const std::size_t queries = some.documents.size();
        const auto scored = try_screen(some, poll);
        gauge_.record_scored(scored, token_pairs_of(some));
        for (bool are_finer = false; bounds_->quantise(); are_finer = true) {
            const auto start = Gauge::Clock::now();
            bounds_->take(some, poll);
            only_screens_ = screens_ && are_finer && Gauge::Clock::now() - start >= scored;
            if (only_screens_) return bounds_->use_coarsest();
            std::int64_t open = 0;
            for (std::size_t query = 0; query < queries; ++query) {
                take_intervals(query);
                for (std::int64_t task = first_task_[query]; task < first_task_[query + 1]; ++task) {
                    open += std::popcount(mask_of(thresholds[task], true).open());
                }
            }
            const auto pairs = static_cast<double>(first_task_[queries] * static_cast<std::int64_t>(members_.size()));
            const bool has_tiles = chosen_levels() == Levels::tiles;
            const double few = has_tiles ? measured::kOpenOfTokensByTiles : measured::kOpenOfTokens;
            if (!bounds_->has_finer() || static_cast<double>(open) <= few * pairs) return;
            bounds_->use_finer();
        }
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
    bool screens_ = are_bounds_forced();  // whether it takes less time than to score all tokens
    bool only_screens_ = false;           // whether it takes less time than bounds do
    Gauge screening_;
    BoundsTally tally_;

    // The cell: the tasks of its queries, its candidates and where they are in the block, and its pairs.
    std::vector<std::int64_t> first_task_, columns_;
    std::vector<std::size_t> members_;
    std::size_t candidate_tokens_ = 0;
    WantedPairs wanted_;
    std::vector<C> scores_;

    double low_[kPanelLanes], high_[kPanelLanes];
    std::vector<PairMasks> masks_;
    OpenPairs open_;
    std::vector<std::size_t> open_ends_;  // of each query
    WantedPairs open_pairs_;
    const decltype(DecisionKernels<C>::collect) collect_ = decision_kernels<C>().collect;
};

}  // namespace truerank
