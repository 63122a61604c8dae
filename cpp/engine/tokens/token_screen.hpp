// Exact maxima of late interaction, of which bytes tell where they can be.
//
// The sum over levels of a query's token and one of a document's bounds their score, with one error for all tokens of
// the document. A token whose sum is less than the greatest by more than twice that error has a score below that one's:
// it neither is the maximum nor ties with it. The others, a few in a hundred, are scored as scores are defined, and
// so the maxima are those of all scores, to the bit. docs/contributing/bounds.md has the proof.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/bounds/quantiser.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/tokens/token_bounds.hpp"
#include "engine/tokens/tokens.hpp"
#include "kernels/maxima.hpp"
#include "kernels/measured.hpp"

namespace truerank {

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
            for (const TokenRange& range : ranges_) documents |= DocumentMask{1} << range.document;
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
        const std::vector<std::size_t>& ends = block_.queries.ends;
        const std::size_t begin = tile * tile_rows(), end = begin + tile_rows();
        DocumentMask documents = 0;
        auto query = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
        for (; query < ends.size() && block_.queries.begin(query) < end; ++query) {
            const bool is_one = query >= pairs.first && query - pairs.first < pairs.documents.size();
            if (is_one) documents |= pairs.documents[query - pairs.first];
        }
        return documents;
    }
    // Where the tokens of some panels are, and which are of one document.
    void load_panels(std::size_t first, std::size_t last) {
        const std::size_t begin = block_.panels[first].first;
        const std::size_t end = block_.panels[last - 1].first + block_.panels[last - 1].width, n = end - begin;
        candidates_.resize(n);
        candidates_.load(0, block_.documents.ids.data() + begin, static_cast<std::int64_t>(n));
        ranges_.clear();
        std::size_t document = block_.spans[block_.panels[first].first_span].document;
        for (; document < block_.documents.size() && block_.documents.begin(document) < end; ++document) {
            const std::size_t from = block_.documents.begin(document), to = block_.documents.end(document);
            ranges_.push_back({static_cast<std::uint32_t>(std::max(from, begin) - begin),
                               static_cast<std::uint32_t>(std::min(to, end) - begin),
                               static_cast<std::uint32_t>(document), from < begin});
        }
        // A vector may be written after the last of all tokens.
        const std::size_t most = tile_rows() * n + lanes();
        sums_.resize((last - first) * tile_rows() * lanes());
        places_.resize(most);
        query_rows_.resize(most);
        candidate_rows_.resize(most);
        scores_.resize(most);
    }
    void take_tile(std::size_t tile, DocumentMask documents, std::size_t first, std::size_t last, C* maxima) {
        const std::size_t begin = tile * tile_rows();
        const std::size_t rows = std::min(tile_rows(), block_.queries.ids.size() - begin);
        wanted_.clear();
        for (const TokenRange& range : ranges_) {
            if ((documents >> range.document & 1) != 0) wanted_.push_back(range);
        }
        const std::size_t n = wanted_.size();
        margins_.clear();
        for (std::size_t row = 0; row < rows; ++row) {
            for (const TokenRange& range : wanted_) margins_.push_back(bounds_.margin(begin + row, range.document));
        }
        for (std::size_t panel = first; panel < last; ++panel) {
            if ((block_.panels[panel].documents & documents) == 0) continue;
            bounds_.sum(tile, panel, sums_.data() + (panel - first) * tile_rows() * lanes());
        }
        ends_.resize(rows * n);
        list_greatest_(sums_.data(), tile_rows(), rows, wanted_.data(), n, margins_.data(), running_.data() + begin,
                       places_.data(), ends_.data());
        score_listed(begin, rows, n);
        std::uint32_t at = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t i = 0; i < n; ++i) {
                C& most = maxima[wanted_[i].document * running_.size() + begin + row];
                C best = wanted_[i].continues ? most : -std::numeric_limits<C>::infinity();
                for (; at < ends_[row * n + i]; ++at) best = std::max(best, scores_[at]);
                most = best;
            }
        }
    }
    // Scores the tokens that were listed. Those of all rows follow each other, so that vectors are full.
    void score_listed(std::size_t begin, std::size_t rows, std::size_t n) {
        std::size_t at = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            for (; at < ends_[(row + 1) * n - 1]; ++at) {
                query_rows_[at] = queries_[begin + row];
                candidate_rows_[at] = candidates_[places_[at]];
            }
        }
        for (std::size_t i = 0; i < at; i += lanes()) {
            scoring_.kernels.accumulate_rows(scoring_.similarity, query_rows_.data() + i, candidate_rows_.data() + i,
                                             std::min(lanes(), at - i), depth(), scores_.data() + i);
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
    std::vector<TokenRange> ranges_;
    std::vector<std::int32_t> sums_;

    // What is wanted of a tile and these panels, and what is listed of it.
    std::vector<TokenRange> wanted_;
    std::vector<std::int32_t> margins_;
    std::vector<std::uint32_t> places_, ends_;
    std::vector<const C*> query_rows_, candidate_rows_;
    std::vector<C> scores_;
};

}  // namespace truerank
