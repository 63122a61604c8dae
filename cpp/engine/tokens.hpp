// Lists of tokens, of queries or of documents, laid one after the other, and the panels that they fill.
//
// Late interaction has several vectors for each query and document, one for each of its tokens. Kernels take vectors
// in tiles of six and in panels of many lanes. Lists are laid densely into both, so that a tile may hold the tokens of
// two queries, and a panel those of several documents; unlike lengths then cost nothing. Spans say which lanes are
// whose.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/decisions.hpp"
#include "kernels/maxima.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// The tokens of some queries, or of some documents.
class TokenLists {
  public:
    void clear() {
        ids_.clear();
        ends_.clear();
    }
    // Adds a list of the matrix in which list i has the rows from starts[i] to starts[i + 1].
    void add(const std::int64_t* starts, std::int64_t list) {
        for (std::int64_t id = starts[list]; id < starts[list + 1]; ++id) ids_.push_back(id);
        ends_.push_back(ids_.size());
    }
    std::size_t size() const { return ends_.size(); }
    std::size_t tokens() const { return ids_.size(); }
    std::size_t tiles() const { return (ids_.size() + kTileQueries - 1) / kTileQueries; }
    std::size_t begin(std::size_t list) const { return list == 0 ? 0 : ends_[list - 1]; }
    std::size_t end(std::size_t list) const { return ends_[list]; }
    std::size_t length(std::size_t list) const { return end(list) - begin(list); }
    // The row of the matrix that a token is.
    std::int64_t id(std::size_t token) const { return ids_[token]; }
    const std::int64_t* ids() const { return ids_.data(); }

  private:
    std::vector<std::int64_t> ids_;
    std::vector<std::size_t> ends_;
};

// Some of up to kPanelLanes documents, one bit for each.
using DocumentMask = std::uint64_t;

// The panels that the tokens of up to kPanelLanes documents fill.
class TokenPanels {
  public:
    void assign(const TokenLists& documents, std::size_t lanes) {
        lanes_ = lanes;
        tokens_ = documents.tokens();
        documents_ = documents.size();
        panels_.clear();
        spans_.clear();
        std::size_t document = 0;
        for (std::size_t at = 0; at < tokens_; at += lanes) {
            const std::size_t end = std::min(tokens_, at + lanes);
            Of panel{spans_.size(), 0, 0};
            for (;; ++document) {
                const std::size_t from = std::max(at, documents.begin(document)), last = documents.end(document);
                spans_.push_back({static_cast<std::uint32_t>(from - at),
                                  static_cast<std::uint32_t>(std::min(end, last) - at),
                                  static_cast<std::uint32_t>(document), documents.begin(document) < at, last <= end});
                panel.documents |= DocumentMask{1} << document;
                if (last >= end) break;
            }
            document += documents.end(document) == end;
            panel.last_span = spans_.size();
            panels_.push_back(panel);
        }
    }
    std::size_t size() const { return panels_.size(); }
    std::size_t documents() const { return documents_; }
    std::size_t first(std::size_t panel) const { return panel * lanes_; }
    std::size_t width(std::size_t panel) const { return std::min(lanes_, tokens_ - first(panel)); }
    DocumentMask documents(std::size_t panel) const { return panels_[panel].documents; }
    const LaneSpan* spans(std::size_t panel) const { return spans_.data() + panels_[panel].first_span; }
    std::size_t span_count(std::size_t panel) const { return panels_[panel].last_span - panels_[panel].first_span; }

  private:
    struct Of {
        std::size_t first_span, last_span;
        DocumentMask documents;
    };
    std::size_t lanes_ = 1, tokens_ = 0, documents_ = 0;
    std::vector<Of> panels_;
    std::vector<LaneSpan> spans_;
};

// Pairs of a query and a document of which something is asked: consecutive queries of some lists, from `first` on, and
// the documents of each.
struct WantedPairs {
    std::size_t first = 0;
    std::vector<DocumentMask> documents;
    // Lists the tiles that have tokens of queries with any of these documents.
    void list_tiles(const TokenLists& queries, DocumentMask any, std::vector<std::size_t>& tiles) const {
        tiles.clear();
        std::size_t next = 0;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            if ((documents[i] & any) == 0) continue;
            const std::size_t query = first + i, last = (queries.end(query) - 1) / kTileQueries;
            for (next = std::max(next, queries.begin(query) / kTileQueries); next <= last; ++next) {
                tiles.push_back(next);
            }
        }
    }
};

}  // namespace truerank
