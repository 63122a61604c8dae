// The maxima of the tokens of queries over those of documents, of scores or of sums over levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/threads.hpp"
#include "engine/tokens.hpp"
#include "kernels/maxima.hpp"

namespace truerank {

template <class T>
class TokenMaxima {
  public:
    using Take = void (*)(const T* sums, const LaneSpan* spans, std::size_t n, std::size_t stride, T* maxima,
                          T* running);

    // `take` is one of MaximaKernels, for panels of so many lanes.
    TokenMaxima(Take take, std::size_t lanes) : take_(take), sums_(kTileQueries * lanes) {}

    // Takes the maxima of pairs; false if it was stopped. `sum(tile, panel, out)` sums up a tile of the queries' tokens
    // and a panel of the documents'. Panels come one after the other, each with all of its tiles. `tile_work` is what a
    // tile is worth between polls.
    template <class Sum>
    bool take(const TokenLists& queries, const TokenPanels& panels, const WantedPairs& pairs, const Sum& sum,
              std::size_t tile_work, bool is_caller, Stop& stop) {
        rows_ = queries.tiles() * kTileQueries;
        maxima_.resize(panels.documents() * rows_);
        running_.resize(rows_ * kRunning<T>);
        for (std::size_t panel = 0; panel < panels.size(); ++panel) {
            pairs.list_tiles(queries, panels.documents(panel), tiles_);
            for (const std::size_t tile : tiles_) {
                const std::size_t row = tile * kTileQueries;
                sum(tile, panel, sums_.data());
                take_(sums_.data(), panels.spans(panel), panels.span_count(panel), rows_, maxima_.data() + row,
                      running_.data() + row * kRunning<T>);
            }
            if (stop.requested(is_caller, static_cast<std::int64_t>(tiles_.size() * tile_work))) return false;
        }
        return true;
    }
    // Those of all tokens of the queries over a document. Only those of pairs that were taken are known.
    const T* of(std::size_t document) const { return maxima_.data() + document * rows_; }

  private:
    Take take_;
    std::vector<T> sums_;
    std::size_t rows_ = 0;  // of tiles: tokens of the queries, and some more
    std::vector<T> maxima_, running_;
    std::vector<std::size_t> tiles_;
};

}  // namespace truerank
