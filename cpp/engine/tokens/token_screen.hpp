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
        ranges_.clear();
        for (auto i = documents.list_with(begin); i < documents.size() && documents.begin(i) < end; ++i) {
            ranges_.push_back({.begin = static_cast<std::uint32_t>(std::max(documents.begin(i), begin) - begin),
                               .end = static_cast<std::uint32_t>(std::min(documents.end(i), end) - begin),
                               .document = static_cast<std::uint32_t>(i),
                               .continues = documents.begin(i) < begin});
        }
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
        for (const TokenRange& range : ranges_) {
            if ((documents >> range.document & 1) != 0) wanted_.push_back(range);
        }
        for (std::size_t panel = first; panel < last; ++panel) {
            if ((block_.panels[panel].documents & documents) == 0) continue;
            bounds_.sum(tile, panel, sums_.data() + (panel - first) * tile_rows() * lanes());
        }
        list_greatest(first_token, rows);
        score_listed(first_token, rows);
        take_maxima(first_token, rows, maxima);
    }
    // Lists the tokens that may have the maximum of their range, for some tokens of the queries: places_ and ends_.
    void list_greatest(std::size_t first_token, std::size_t rows) {
        const std::size_t n = wanted_.size();
        margins_.clear();
        for (std::size_t row = 0; row < rows; ++row) {
            for (const TokenRange& range : wanted_) {
                margins_.push_back(bounds_.margin(first_token + row, range.document));
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
    // Takes the greatest scores of each row and range of those that were listed, which follow each other.
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
