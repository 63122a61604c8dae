// The pairs that bounds leave open in masses: those of a query without a direction, such as a zero vector, or with a
// true score that many candidates share. To settle such a pair by itself takes as long as scoring many of a row, so
// that the row is scored whole. Queries whose vectors are equal share a row.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/bounded_panel.hpp"
#include "engine/bounded_queries.hpp"
#include "engine/quantisation.hpp"
#include "kernels/decisions.hpp"
#include "kernels/measured.hpp"
#include "kernels/rows.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

template <class C>
class ScoredRows {
  public:
    ScoredRows(const Quantiser<C>& quantiser, const BoundedQueries<C>& queries, const BoundedPanel<C>& panel)
        : q_(quantiser), queries_(queries), panel_(panel) {}

    // Forgets the queries of the last cell. All tiles are looked at in its first panel.
    void clear() {
        is_watched_.assign(static_cast<std::size_t>(queries_.tiles()), 1);
        row_of_query_.assign(static_cast<std::size_t>(queries_.count()), kNoRow);
        rows_.clear();
        row_of_vector_.clear();
        packed_.clear();
        open_.clear();
    }

    // Takes note of how many pairs of a tile were open: only one that had many is looked at in the next panel.
    void record(std::int64_t tile, std::int64_t open) {
        const double pairs = static_cast<double>(kTileQueries * panel_.width());
        is_watched_[static_cast<std::size_t>(tile)] = static_cast<double>(open) >= measured::kOpenOfWatchedTile * pairs;
    }
    // Takes the pairs of those tasks out of the masks of a tile that have many open ones. masks[0] is that of the first
    // task. Returns the number of these pairs.
    std::int64_t take(std::int64_t tile, std::int64_t first, std::int64_t last, PairMasks* masks) {
        if (is_watched_[static_cast<std::size_t>(tile)] == 0) return 0;
        const int least = least_open();
        std::int64_t taken = 0;
        for (std::int64_t task = first; task < last; ++task) {
            PairMasks& mask = masks[task - first];
            const std::uint64_t open = mask.open();
            if (std::popcount(open) < least) continue;
            mask.not_below &= ~open;
            const auto at = static_cast<std::uint32_t>(task);
            open_.push_back({row_of(queries_.tasks()[at].query), at, open});
            taken += std::popcount(open);
        }
        return taken;
    }
    // The least number of open pairs with which the row of a task is scored.
    int least_open() const {
        return static_cast<int>(std::ceil(measured::kOpenOfScoredRow * static_cast<double>(panel_.width())));
    }
    // Scores the pairs that were taken from a panel.
    template <class Sink>
    void score(Sink& sink) {
        if (open_.empty()) return;
        std::sort(open_.begin(), open_.end(), [](const OpenLanes& a, const OpenLanes& b) { return a.row < b.row; });
        const auto *at = open_.data(), *const end = open_.data() + open_.size();
        while (at < end) {
            const std::size_t group = at->row / kFewQueries;
            const OpenLanes* next = at;
            while (next < end && next->row / kFewQueries == group) ++next;
            for (std::size_t lane = 0; lane < panel_.width(); lane += q_.scoring.lanes) {
                score_block(group, lane);
                for (const OpenLanes* open = at; open < next; ++open) take_scores(*open, lane, sink);
            }
            at = next;
        }
        open_.clear();
    }

  private:
    // The open pairs of a task: a bit for each lane of the panel.
    struct OpenLanes {
        std::size_t row;
        std::uint32_t task;
        std::uint64_t lanes;
    };
    static constexpr std::size_t kNoRow = ~std::size_t{0};

    // The row of a query, which is packed when it is first asked for.
    std::size_t row_of(std::uint32_t query) {
        std::size_t& row = row_of_query_[query];
        if (row != kNoRow) return row;
        const C* const vector = queries_.row(query);
        const std::string_view bytes(reinterpret_cast<const char*>(vector), q_.size() * sizeof(C));
        const auto found = row_of_vector_.emplace(bytes, rows_.size()).first;
        const bool is_known = found->second < rows_.size();
        if (is_known && queries_.facts(rows_[found->second]).mean == queries_.facts(query).mean) {
            return row = found->second;
        }
        row = rows_.size();
        rows_.push_back(query);
        const std::size_t group = row / kFewQueries * kFewQueries * q_.size();
        packed_.resize(group + kFewQueries * q_.size());
        for (std::size_t k = 0; k < q_.size(); ++k) packed_[group + k * kFewQueries + row % kFewQueries] = vector[k];
        return row;
    }

    // Scores the rows of a group against the candidates from a lane on.
    void score_block(std::size_t group, std::size_t lane) {
        const std::size_t lanes = q_.scoring.lanes, first = group * kFewQueries;
        const std::size_t rows = std::min(kFewQueries, rows_.size() - first);
        const std::size_t width = std::min(lanes, panel_.width() - lane);
        scores_.resize(kFewQueries * lanes);
        vectors_.resize(lanes);
        for (auto* addends : {&bias_, &means_}) addends->assign(lanes, C{0});
        squares_.assign(lanes, 0);
        for (std::size_t j = 0; j < lanes; ++j) {
            const std::size_t of = lane + std::min(j, width - 1);
            const std::int64_t column = panel_.column(of);
            vectors_[j] = panel_.row(of);
            squares_[j] = panel_.squares(of);
            if (q_.bias != nullptr) bias_[j] = q_.bias[column];
            if (q_.candidate_means != nullptr) means_[j] = q_.candidate_means[column];
        }
        C query_means[kFewQueries];
        double query_squares[kFewQueries];
        for (std::size_t i = 0; i < rows; ++i) {
            const QueryFacts& query = queries_.facts(rows_[first + i]);
            query_means[i] = static_cast<C>(query.mean);
            query_squares[i] = query.squares;
        }
        row_kernels<C>().accumulate(q_.similarity, packed_.data() + first * q_.size(), rows, vectors_.data(), q_.size(),
                                    false, lanes, scores_.data());
        RegisterTile<C> tile{scores_.data(), rows, nullptr, query_squares, squares_.data(), nullptr, nullptr, false};
        if (q_.bias != nullptr) tile.bias = bias_.data();
        if (q_.query_means != nullptr) {
            tile.query_means = query_means;
            tile.candidate_means = means_.data();
        }
        q_.scoring.finish(q_.similarity, tile);
    }
    // Tells the sink the scores of the open pairs of a task among the lanes of a block.
    template <class Sink>
    void take_scores(const OpenLanes& open, std::size_t lane, Sink& sink) const {
        const std::size_t lanes = q_.scoring.lanes;
        const C* const scores = scores_.data() + open.row % kFewQueries * lanes;
        const std::uint64_t of_block = lanes < 64 ? (std::uint64_t{1} << lanes) - 1 : ~std::uint64_t{0};
        for (std::uint64_t left = open.lanes >> lane & of_block; left != 0; left &= left - 1) {
            const auto j = static_cast<std::size_t>(std::countr_zero(left));
            sink.take_score(open.task, static_cast<std::uint32_t>(lane + j), scores[j]);
        }
    }

    const Quantiser<C>& q_;
    const BoundedQueries<C>& queries_;
    const BoundedPanel<C>& panel_;
    std::vector<char> is_watched_;                                     // of tiles
    std::vector<std::size_t> row_of_query_;                            // or kNoRow
    std::vector<std::uint32_t> rows_;                                  // a query of each
    std::unordered_map<std::string_view, std::size_t> row_of_vector_;  // by its bytes
    std::vector<C> packed_;                                            // the rows, kFewQueries of them side by side
    std::vector<OpenLanes> open_;
    std::vector<const C*> vectors_;
    std::vector<C> scores_, bias_, means_;  // of a block
    std::vector<double> squares_;
};

}  // namespace truerank
