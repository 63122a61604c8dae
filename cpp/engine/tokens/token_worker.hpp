// Late interaction (MaxSim): queries and documents are lists of vectors, one for each token. This is what one thread of
// a sweep over them does.
//
// The score of a pair is the sum, over the tokens of the query, of the greatest score of that token with any of the
// document's. The scores of tokens are those of a sweep, to the bit; sums are in double precision and in the order of
// the tokens, and are rounded once. Sinks, cells and panels are those of a sweep, in which documents are candidates: so
// all that counts, lists or writes scores of vectors does so with these.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/sweep/gauge.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/sweep/sweep.hpp"
#include "engine/tokens/token_bounds.hpp"
#include "engine/tokens/token_plan.hpp"
#include "engine/tokens/token_screen.hpp"
#include "engine/tokens/tokens.hpp"
#include "kernels/maxima.hpp"
#include "kernels/measured.hpp"

namespace truerank {

// Scores of late interaction, as they are defined: the tokens of a block are scored, and the maxima of these scores
// are added up.
template <class C>
class TokenScores {
  public:
    TokenScores(const Scoring<C>& scoring, const TokenBlock& block)
        : scoring_(scoring), block_(block), maxima_(block, maxima_kernels<C>().take, scoring.kernels.lanes) {}

    // Takes other queries of the block.
    void load_queries() {
        const TokenLists& queries = block_.queries;
        constexpr std::int64_t tile = kTileQueries;
        const auto tokens = static_cast<std::int64_t>(queries.ids.size());
        packed_queries_.resize(queries.tiles() * kTileQueries * depth());
        for (std::int64_t i = 0; i < tokens; i += tile) {
            scoring_.queries.pack(queries.ids.data() + i, std::min(tile, tokens - i), tile, scoring_.packing(),
                                  packed_queries_.data() + i * scoring_.depth(), nullptr, scratch_);
        }
    }
    // Takes other documents. Their panels are packed as they are needed, and all are kept where the documents serve
    // several cells.
    void load_documents(bool are_kept) {
        packed_as_.assign(are_kept ? block_.panels.size() : 1, kNoPanel);
        packed_panels_.resize(packed_as_.size() * panel_size());
    }
    // Takes the maxima of pairs; false if it was stopped.
    bool take(const WantedPairs& pairs, const Poll& poll) {
        const std::size_t work = kTileQueries * scoring_.kernels.lanes * (1 + depth() / 16);
        const auto sum = [&](std::size_t tile, std::size_t panel, C* out) {
            scoring_.kernels.accumulate(scoring_.similarity, packed_queries_.data() + tile * kTileQueries * depth(),
                                        pack(panel), depth(), true, out);
        };
        return maxima_.take(pairs, sum, work, poll);
    }
    // Likewise, of the tokens that a screen leaves.
    bool take_screened(const WantedPairs& pairs, TokenScreen<C>& screen, const Poll& poll) {
        return screen.take(pairs, maxima_.make_room(), poll);
    }
    // The score of a pair whose maxima were taken. The sum is in the order of the tokens, and is rounded once.
    C score(std::size_t query, std::size_t document) const {
        const C* const maxima = maxima_.of(document);
        double sum = 0;
        for (std::size_t token = block_.queries.begin(query); token < block_.queries.end(query); ++token) {
            sum += static_cast<double>(maxima[token]);
        }
        return static_cast<C>(sum);
    }

  private:
    static constexpr std::size_t kNoPanel = std::numeric_limits<std::size_t>::max();

    std::size_t depth() const { return static_cast<std::size_t>(scoring_.depth()); }
    std::size_t panel_size() const { return depth() * scoring_.kernels.lanes; }
    const C* pack(std::size_t panel) {
        const std::size_t place = packed_as_.size() > 1 ? panel : 0;
        C* const packed = packed_panels_.data() + place * panel_size();
        if (std::exchange(packed_as_[place], panel) != panel) {
            const TokenPanel& tokens = block_.panels[panel];
            scoring_.candidates.pack(block_.documents.ids.data() + tokens.first,
                                     static_cast<std::int64_t>(tokens.width), scoring_.lanes(), scoring_.packing(),
                                     packed, nullptr, scratch_);
        }
        return packed;
    }

    const Scoring<C>& scoring_;
    const TokenBlock& block_;
    std::vector<C> packed_queries_, packed_panels_, scratch_;
    std::vector<std::size_t> packed_as_;  // the panel that lies at each place
    TokenMaxima<C> maxima_;
};

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
    // A pair of a task and a document that bounds leave open.
    struct Open {
        OpenPair pair;
        std::size_t query, document;  // in the cell, in the block
    };

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
        open_.clear();
        open_pairs_ = {wanted_.first, std::vector<DocumentMask>(wanted_.documents.size())};
        const bool counts = tasks.counts();
        std::uint32_t* const counters = tasks.counters();
        for (std::size_t query = 0; query < wanted_.documents.size(); ++query) {
            const auto first = static_cast<std::size_t>(first_task_[query]),
                       last = static_cast<std::size_t>(first_task_[query + 1]);
            masks_.resize(last - first);
            take_intervals(query);
            for (std::size_t task = first; task < last; ++task) {
                masks_[task - first] = mask_of(thresholds[task], counts);
            }
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
        if (!take_exact(open_pairs_, poll)) return false;
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
            if (!bounds_->has_finer() || static_cast<double>(open) <= measured::kOpenOfTokens * pairs) return;
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
    std::vector<Open> open_;
    WantedPairs open_pairs_;
};

// The scores of some pairs of a query and a document: the same bits as in a sweep.
template <class C>
void score_token_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                       C* out, const Poll& poll) {
    const Embeddings& embeddings = scoring.embeddings;
    TokenBlock block;
    TokenScores<C> exact(scoring, block);
    for (std::int64_t i = 0; i < n; ++i) {
        if (i == 0 || rows[i] != rows[i - 1]) {
            block.queries.clear();
            block.queries.add(embeddings.query_tokens, rows[i]);
            exact.load_queries();
        }
        block.documents.clear();
        block.documents.add(embeddings.entity_tokens, columns[i]);
        block.fill_panels(scoring.kernels.lanes);
        exact.load_documents(false);
        if (!exact.take({0, {1}}, poll)) return;
        out[i] = exact.score(0, 0);
    }
}

}  // namespace truerank
