// Scores of late interaction (MaxSim), as they are defined.
//
// The score of a pair is the sum, over the tokens of the query, of the greatest score of that token with any of the
// document's. The scores of tokens are those of a sweep, to the bit; sums are in double precision and in the order of
// the tokens, and are rounded once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/bounds/quantiser.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/sweep/sweep.hpp"
#include "engine/tokens/token_bounds.hpp"
#include "engine/tokens/tokens.hpp"
#include "kernels/maxima.hpp"
#include "kernels/measured.hpp"

namespace truerank {

// Exact maxima, of which bytes tell where they can be.
//
// The sum over levels of a query's token and one of a document's bounds their score, with one error for all tokens of
// the document. A token whose sum is less than the greatest by more than twice that error has a score below that one's:
// it neither is the maximum nor ties with it. The others, a few in a hundred, are scored as scores are defined, and
// so the maxima are those of all scores, to the bit. docs/contributing/bounds.md has the proof.
template <class C>
class TokenScreen {
  public:
    TokenScreen(const Scoring<C>& scoring, const TokenBounds<C>& bounds, const TokenBlock& block)
        : scoring_(scoring),
          bounds_(bounds),
          block_(block),
          queries_(scoring.queries, false),
          candidates_(scoring.candidates, false) {}

    // Takes other queries of the block.
    void load_queries() {
        queries_.resize(block_.queries.ids.size());
        queries_.load(0, block_.queries.ids.data(), std::ssize(block_.queries.ids));
        running_.resize(block_.queries.tiles() * kTileQueries);
    }
    // Takes the maxima of pairs, as TokenMaxima keeps them; false if it was stopped. Queries and documents have been
    // quantised, as bytes. Panels are taken in groups: their sums with a tile stay in the nearest caches, and there are
    // enough of them for what is left to fill vectors.
    bool take(const WantedPairs& pairs, C* maxima, const Poll& poll) {
        const std::size_t panel_bytes = depth() * (sizeof(C) + 1) * lanes(), panels = block_.panels.size();
        const std::size_t most = std::max(measured::kScreenedBytes / panel_bytes, measured::kLeastScreenedPanels);
        for (std::size_t first = 0, last; first < panels; first = last) {
            last = std::min(first + most, panels);
            load_panels(first, last);
            DocumentMask documents = 0;
            for (const TokenSpan& span : spans_) documents |= DocumentMask{1} << span.document;
            pairs.list_tiles(block_.queries, tile_rows(), documents, tiles_);
            {
                const Summing summing(bounds_.form());
                for (const std::size_t tile : tiles_) take_tile(tile, wanted_by(tile, pairs), first, last, maxima);
            }
            const std::size_t work = tile_rows() * lanes() * (1 + depth() / 64) * (last - first);
            if (poll.stops(static_cast<std::int64_t>(tiles_.size() * work))) return false;
        }
        return true;
    }

  private:
    std::size_t depth() const { return static_cast<std::size_t>(scoring_.depth()); }
    std::size_t lanes() const { return scoring_.kernels.lanes; }
    std::size_t tile_rows() const { return bounds_.form().queries; }

    // The documents that are asked for with any query that has tokens in a tile.
    DocumentMask wanted_by(std::size_t tile, const WantedPairs& pairs) const {
        const TokenLists& queries = block_.queries;
        const std::size_t first_token = tile * tile_rows(), end = first_token + tile_rows();
        DocumentMask documents = 0;
        for (auto query = queries.list_with(first_token); query < queries.size() && queries.begin(query) < end;
             ++query) {
            const bool is_wanted = query >= pairs.first && query - pairs.first < pairs.documents.size();
            if (is_wanted) documents |= pairs.documents[query - pairs.first];
        }
        return documents;
    }
    // Loads the tokens of some panels, and lists which are whose.
    void load_panels(std::size_t first, std::size_t last) {
        const TokenLists& documents = block_.documents;
        const std::size_t begin = block_.panels[first].first;
        const std::size_t end = block_.panels[last - 1].first + block_.panels[last - 1].width, n = end - begin;
        candidates_.resize(n);
        candidates_.load(0, documents.ids.data() + begin, static_cast<std::int64_t>(n));
        spans_.clear();
        documents.add_spans(begin, end, spans_);
        sums_.resize((last - first) * tile_rows() * lanes());
        const std::size_t most_listed = tile_rows() * n + lanes();  // a vector may be written after the last one
        places_.resize(most_listed);
        for (auto* rows : {&query_rows_, &candidate_rows_}) rows->resize(most_listed);
        scores_.resize(most_listed);
    }
    void take_tile(std::size_t tile, DocumentMask documents, std::size_t first, std::size_t last, C* maxima) {
        const std::size_t first_token = tile * tile_rows();
        const std::size_t rows = std::min(tile_rows(), block_.queries.ids.size() - first_token);
        wanted_.clear();
        for (const TokenSpan& span : spans_) {
            if ((documents >> span.document & 1) != 0) wanted_.push_back(span);
        }
        for (std::size_t panel = first; panel < last; ++panel) {
            if ((block_.panels[panel].documents & documents) == 0) continue;
            bounds_.sum(tile, panel, sums_.data() + (panel - first) * tile_rows() * lanes());
        }
        list_greatest(first_token, rows);
        score_listed(first_token, rows);
        take_maxima(first_token, rows, maxima);
    }
    // Lists the tokens that may have the maximum of their span, for some tokens of the queries: places_ and ends_.
    void list_greatest(std::size_t first_token, std::size_t rows) {
        const std::size_t n = wanted_.size();
        margins_.clear();
        for (std::size_t row = 0; row < rows; ++row) {
            for (const TokenSpan& span : wanted_) {
                margins_.push_back(bounds_.margin(first_token + row, span.document));
            }
        }
        ends_.resize(rows * n);
        list_greatest_(sums_.data(), tile_rows(), rows, wanted_.data(), n, margins_.data(),
                       running_.data() + first_token, places_.data(), ends_.data());
    }
    // Scores the tokens that were listed. Those of all rows follow each other, so that vectors are full.
    void score_listed(std::size_t first_token, std::size_t rows) {
        std::size_t listed = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            const std::uint32_t row_end = ends_[(row + 1) * wanted_.size() - 1];
            for (; listed < row_end; ++listed) {
                query_rows_[listed] = queries_[first_token + row];
                candidate_rows_[listed] = candidates_[places_[listed]];
            }
        }
        for (std::size_t i = 0; i < listed; i += lanes()) {
            scoring_.kernels.accumulate_rows(scoring_.similarity, query_rows_.data() + i, candidate_rows_.data() + i,
                                             std::min(lanes(), listed - i), depth(), scores_.data() + i);
        }
    }
    // Takes the greatest scores of each row and span of those that were listed, which follow each other.
    void take_maxima(std::size_t first_token, std::size_t rows, C* maxima) const {
        std::uint32_t listed = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t i = 0; i < wanted_.size(); ++i) {
                C& maximum = maxima[wanted_[i].document * running_.size() + first_token + row];
                C greatest = wanted_[i].continues ? maximum : -std::numeric_limits<C>::infinity();
                const std::uint32_t end = ends_[row * wanted_.size() + i];
                for (; listed < end; ++listed) greatest = std::max(greatest, scores_[listed]);
                maximum = greatest;
            }
        }
    }

    const Scoring<C>& scoring_;
    const TokenBounds<C>& bounds_;
    const TokenBlock& block_;
    const decltype(MaximaKernels<C>::list_greatest) list_greatest_ = maxima_kernels<C>().list_greatest;

    KeptVectors<C> queries_;             // of the block
    std::vector<std::int32_t> running_;  // of each token of a tile
    std::vector<std::size_t> tiles_;

    // The panels that were loaded last: their tokens, and their sums with a tile.
    KeptVectors<C> candidates_;
    std::vector<TokenSpan> spans_;
    std::vector<std::int32_t> sums_;

    // What is wanted of a tile and these panels, and what is listed of it.
    std::vector<TokenSpan> wanted_;
    std::vector<std::int32_t> margins_;
    std::vector<std::uint32_t> places_, ends_;
    std::vector<const C*> query_rows_, candidate_rows_;
    std::vector<C> scores_;
};

// The tokens of a block are scored, all or those that a screen leaves, and the maxima of these scores are added up.
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
        panel_at_.assign(are_kept ? block_.panels.size() : 1, kNoPanel);
        packed_panels_.resize(panel_at_.size() * panel_size());
    }
    // Takes the maxima of pairs; false if it was stopped.
    bool take(const WantedPairs& pairs, const Poll& poll) {
        const std::size_t work = kTileQueries * scoring_.kernels.lanes * (1 + depth() / 16);
        const auto sum = [&](std::size_t tile, std::size_t panel, C* out) {
            scoring_.kernels.accumulate(scoring_.similarity, packed_queries_.data() + tile * kTileQueries * depth(),
                                        packed_panel(panel), depth(), true, out);
        };
        return maxima_.take(pairs, {}, sum, work, poll);
    }
    // Likewise, of the tokens that a screen leaves.
    bool take_screened(const WantedPairs& pairs, TokenScreen<C>& screen, const Poll& poll) {
        maxima_.resize();
        return screen.take(pairs, maxima_.data(), poll);
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
    const C* packed_panel(std::size_t panel) {
        const std::size_t place = panel_at_.size() > 1 ? panel : 0;
        C* const packed = packed_panels_.data() + place * panel_size();
        if (panel_at_[place] == panel) return packed;
        panel_at_[place] = panel;
        const TokenPanel& tokens = block_.panels[panel];
        scoring_.candidates.pack(block_.documents.ids.data() + tokens.first, static_cast<std::int64_t>(tokens.width),
                                 scoring_.lanes(), scoring_.packing(), packed, nullptr, scratch_);
        return packed;
    }

    const Scoring<C>& scoring_;
    const TokenBlock& block_;
    std::vector<C> packed_queries_, packed_panels_, scratch_;
    std::vector<std::size_t> panel_at_;  // which panel lies at each place
    TokenMaxima<C> maxima_;
};

// The scores of some pairs of a query and a document: the same bits as in a sweep.
template <class C>
void score_token_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                       C* out, const Poll& poll) {
    const Embeddings& embeddings = scoring.embeddings;
    TokenBlock block;
    TokenScores<C> exact(scoring, block);
    const WantedPairs only_pair{.first = 0, .documents = {DocumentMask{1}}};
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
        if (!exact.take(only_pair, poll)) return;
        out[i] = exact.score(0, 0);
    }
}

}  // namespace truerank
