// Scores of late interaction, as they are defined.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/scoring.hpp"
#include "engine/threads.hpp"
#include "engine/token_maxima.hpp"
#include "engine/tokens.hpp"

namespace truerank {

// Scores the tokens of queries with those of up to kPanelLanes documents, and takes the maxima of these scores.
template <class C>
class TokenScores {
  public:
    explicit TokenScores(const Scoring<C>& scoring)
        : scoring_(scoring), maxima_(maxima_kernels<C>().take, scoring.kernels.lanes) {}

    void set_queries(const TokenLists& queries) {
        queries_ = &queries;
        constexpr std::int64_t tile = kTileQueries;
        const auto tokens = static_cast<std::int64_t>(queries.tokens());
        packed_queries_.resize(queries.tiles() * kTileQueries * depth());
        for (std::int64_t i = 0; i < tokens; i += tile) {
            scoring_.queries.pack(queries.ids() + i, std::min(tile, tokens - i), tile, scoring_.packing(),
                                  packed_queries_.data() + i * scoring_.depth(), nullptr, scratch_);
        }
    }
    // Their panels are packed as they are needed. All are kept where the documents serve several cells.
    void set_documents(const TokenLists& documents, const TokenPanels& panels, bool are_kept) {
        documents_ = &documents;
        panels_ = &panels;
        packed_as_.assign(are_kept ? panels.size() : 1, kNoPanel);
        packed_panels_.resize(packed_as_.size() * panel_size());
    }
    // Takes the maxima of pairs; false if it was stopped.
    bool take(const WantedPairs& pairs, bool is_caller, Stop& stop) {
        const std::size_t work = kTileQueries * scoring_.kernels.lanes * (1 + depth() / 16);
        const auto sum = [&](std::size_t tile, std::size_t panel, C* out) {
            scoring_.kernels.accumulate(scoring_.similarity, packed_queries_.data() + tile * kTileQueries * depth(),
                                        pack(panel), depth(), true, out);
        };
        return maxima_.take(*queries_, *panels_, pairs, sum, work, is_caller, stop);
    }
    // The score of a pair whose maxima were taken. The sum is in the order of the tokens, and is rounded once.
    C score(std::size_t query, std::size_t document) const {
        const C* const maxima = maxima_.of(document);
        double sum = 0;
        for (std::size_t token = queries_->begin(query); token < queries_->end(query); ++token) {
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
        if (packed_as_[place] != panel) {
            scoring_.candidates.pack(documents_->ids() + panels_->first(panel),
                                     static_cast<std::int64_t>(panels_->width(panel)), scoring_.lanes(),
                                     scoring_.packing(), packed, nullptr, scratch_);
            packed_as_[place] = panel;
        }
        return packed;
    }

    const Scoring<C>& scoring_;
    const TokenLists *queries_ = nullptr, *documents_ = nullptr;
    const TokenPanels* panels_ = nullptr;
    std::vector<C> packed_queries_, packed_panels_, scratch_;
    std::vector<std::size_t> packed_as_;  // the panel that lies at each place
    TokenMaxima<C> maxima_;
};

}  // namespace truerank
