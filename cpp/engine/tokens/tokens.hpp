// Lists of tokens, of queries and of documents, laid one after the other, the panels that they fill, and maxima of what
// is summed up for their pairs.
//
// Kernels take vectors in tiles of six and in panels of many lanes. Lists are laid densely into both, so that a tile
// may hold the tokens of two queries, and a panel those of several documents; unlike lengths then cost nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sweep/sweep.hpp"
#include "kernels/decisions.hpp"
#include "kernels/maxima.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// The tokens of some queries, or of some documents: the rows of the matrix that they are, list by list.
struct TokenLists {
    std::vector<std::int64_t> ids;
    std::vector<std::size_t> ends;  // of lists

    void clear() {
        ids.clear();
        ends.clear();
    }
    // Adds a list of the matrix in which list i has the rows from starts[i] to starts[i + 1].
    void add(std::span<const std::int64_t> starts, std::int64_t list) {
        const auto i = static_cast<std::size_t>(list);
        for (std::int64_t id = starts[i]; id < starts[i + 1]; ++id) ids.push_back(id);
        ends.push_back(ids.size());
    }
    std::size_t size() const { return ends.size(); }
    std::size_t tiles(std::size_t rows = kTileQueries) const { return (ids.size() + rows - 1) / rows; }
    std::size_t begin(std::size_t list) const { return list == 0 ? 0 : ends[list - 1]; }
    std::size_t end(std::size_t list) const { return ends[list]; }
    std::size_t length(std::size_t list) const { return end(list) - begin(list); }
    // The list that has a token.
    std::size_t list_with(std::size_t token) const {
        return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), token) - ends.begin());
    }
    // Adds which of the tokens from `first` up to but not including `last` are whose, counted from the first.
    void add_spans(std::size_t first, std::size_t last, std::vector<TokenSpan>& spans) const {
        for (std::size_t list = list_with(first); list < size() && begin(list) < last; ++list) {
            spans.push_back({.begin = static_cast<std::uint32_t>(std::max(first, begin(list)) - first),
                             .end = static_cast<std::uint32_t>(std::min(last, end(list)) - first),
                             .document = static_cast<std::uint32_t>(list),
                             .continues = begin(list) < first,
                             .ends = end(list) <= last});
        }
    }
};

// Some of up to kPanelLanes documents, one bit for each.
using DocumentMask = std::uint64_t;

// A panel that tokens of documents fill.
struct TokenPanel {
    std::size_t first, width;       // its tokens, in their lists
    std::size_t first_span, spans;  // which lanes are whose: in TokenBlock::spans
    DocumentMask documents = 0;
};

// The lists that one thread works on, of some queries and of up to kPanelLanes documents.
struct TokenBlock {
    TokenLists queries, documents;
    std::vector<TokenPanel> panels;
    std::vector<TokenSpan> spans;

    // Lays the tokens of the documents into panels of so many lanes.
    void fill_panels(std::size_t lanes) {
        panels.clear();
        spans.clear();
        for (std::size_t begin = 0; begin < documents.ids.size(); begin += lanes) {
            const std::size_t end = std::min(documents.ids.size(), begin + lanes);
            TokenPanel panel{.first = begin, .width = end - begin, .first_span = spans.size(), .spans = 0};
            documents.add_spans(begin, end, spans);
            panel.spans = spans.size() - panel.first_span;
            for (std::size_t i = panel.first_span; i < spans.size(); ++i) {
                panel.documents |= DocumentMask{1} << spans[i].document;
            }
            panels.push_back(panel);
        }
    }
};

// Pairs of a query and a document of which something is asked: consecutive queries of a block, from `first` on, and the
// documents of each.
struct WantedPairs {
    std::size_t first = 0;
    std::vector<DocumentMask> documents;
    // Lists the tiles, of so many rows, that have tokens of queries with any of these documents.
    void list_tiles(const TokenLists& queries, std::size_t rows, DocumentMask any,
                    std::vector<std::size_t>& tiles) const {
        tiles.clear();
        std::size_t next = 0;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            if ((documents[i] & any) == 0) continue;
            const std::size_t query = first + i, last = (queries.end(query) - 1) / rows;
            for (next = std::max(next, queries.begin(query) / rows); next <= last; ++next) {
                tiles.push_back(next);
            }
        }
    }
};

// The maxima of the tokens of queries over those of documents, of scores or of sums over levels.
template <class T>
class TokenMaxima {
  public:
    using Kernel = void (*)(const T* sums, std::size_t rows, const TokenSpan* spans, std::size_t n, std::size_t stride,
                            T* maxima, T* running);

    // The kernel is one of MaximaKernels, for panels of so many lanes.
    TokenMaxima(const TokenBlock& block, Kernel kernel, std::size_t lanes)
        : block_(block), kernel_(kernel), lanes_(lanes) {}

    // Takes the maxima of pairs; false if it was stopped. `sum(tile, panel, out)` sums up a tile of the queries' tokens
    // and a panel of the documents'; of levels, in a form. Panels come one after the other, each with all of its tiles.
    // `tile_work` is what a tile is worth between polls.
    template <class Sum>
    bool take(const WantedPairs& pairs, const LevelForm& form, const Sum& sum, std::size_t tile_work,
              const Poll& poll) {
        const std::size_t tile_rows = form.queries;
        resize(tile_rows);
        sums_.resize(tile_rows * lanes_);
        running_.resize(rows_ * kRunning<T>);
        for (std::size_t i = 0; i < block_.panels.size(); ++i) {
            const TokenPanel& panel = block_.panels[i];
            pairs.list_tiles(block_.queries, tile_rows, panel.documents, tiles_);
            {
                const Summing summing(form);
                for (const std::size_t tile : tiles_) {
                    const std::size_t row = tile * tile_rows;
                    sum(tile, i, sums_.data());
                    kernel_(sums_.data(), tile_rows, block_.spans.data() + panel.first_span, panel.spans, rows_,
                            maxima_.data() + row, running_.data() + row * kRunning<T>);
                }
            }
            if (poll.stops(static_cast<std::int64_t>(tiles_.size() * tile_work))) return false;
        }
        return true;
    }
    // Makes room for the maxima: that of a token is data()[document * rows + token], with as many rows as the tiles
    // have.
    void resize(std::size_t tile_rows = kTileQueries) {
        rows_ = block_.queries.tiles(tile_rows) * tile_rows;
        maxima_.resize(block_.documents.size() * rows_);
    }
    T* data() { return maxima_.data(); }
    // Those of all tokens of the queries over a document. Only those of pairs that were taken are known.
    const T* of(std::size_t document) const { return maxima_.data() + document * rows_; }

  private:
    const TokenBlock& block_;
    Kernel kernel_;
    std::size_t lanes_;
    std::vector<T> sums_;
    std::size_t rows_ = 0;  // of tiles: tokens of the queries, and some more
    std::vector<T> maxima_, running_;
    std::vector<std::size_t> tiles_;
};

}  // namespace truerank
