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

#include "engine/sweep/scoring.hpp"
#include "engine/sweep/sweep.hpp"
#include "engine/tokens/token_screen.hpp"
#include "engine/tokens/tokens.hpp"
#include "kernels/maxima.hpp"

namespace truerank {

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
