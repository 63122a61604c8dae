// How the work of late interaction is cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/embeddings.hpp"
#include "engine/sweep.hpp"
#include "engine/threads.hpp"
#include "kernels/decisions.hpp"

namespace truerank {

// What a worker does at once: cells of some queries, all of them against documents of one block.
struct TokenChunk {
    std::size_t first_cell, last_cell;
    std::int64_t first_query, last_query;  // positions in SortedTasks::queries
    std::size_t first_document, last_document;
};

// The work of a call. Documents that any query has as a candidate are cut into blocks, and queries into batches. So
// queries that have candidates of their own share what is made of a block for one of them.
struct TokenPlan {
    std::vector<std::int64_t> documents;  // ascending
    std::vector<Cell> cells;
    std::vector<TokenChunk> chunks;
    std::int64_t pairs = 0;

    TokenPlan(const Embeddings& embeddings, const SortedTasks& sorted, const CellSizing& sizing, std::int64_t block)
        : documents(union_of(sorted.groups, embeddings.entity_count())) {
        // Each of these has all candidates of its group.
        const std::vector<Cell> rows = cut_cells(sorted, sizing);
        std::vector<std::int64_t> places(rows.size(), 0);  // at which each has arrived among its candidates
        std::vector<std::pair<std::size_t, std::size_t>> batches;
        std::int64_t tokens = 0;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const std::int64_t more = tokens_of(embeddings, sorted, rows[row]);
            if (batches.empty() || (tokens += more) > kBatchNumbers / (1 + embeddings.queries.columns)) {
                batches.push_back({row, row});
                tokens = more;
            }
            batches.back().second = row + 1;
        }
        const auto few =
            static_cast<std::int64_t>(batches.size() * documents.size()) / (kChunksPerThread * sizing.threads);
        const std::int64_t most = std::clamp<std::int64_t>(few, kFewDocuments, kPanelLanes);
        for (const auto& [first_row, last_row] : batches) {
            for (std::size_t first = 0, last; first < documents.size(); first = last) {
                last = end_of_block(embeddings, first, block > 0 ? std::min(block, most) : most);
                const std::size_t first_cell = cells.size();
                for (std::size_t row = first_row; row < last_row; ++row) add_cell(rows[row], places[row], first, last);
                if (cells.size() == first_cell) continue;
                chunks.push_back({first_cell, cells.size(), rows[first_row].first_query, rows[last_row - 1].last_query,
                                  first, last});
            }
        }
    }

  private:
    // So many numbers of a block's tokens, or of a batch's, stay in the caches. Fewer documents are a block only where
    // threads would have nothing to do otherwise.
    static constexpr std::int64_t kBlockNumbers = 1 << 21, kBatchNumbers = 1 << 21, kFewDocuments = 8;
    static constexpr std::int64_t kChunksPerThread = 8;

    static std::vector<std::int64_t> union_of(const std::vector<Group>& groups, std::int64_t count) {
        std::vector<std::int64_t> documents(static_cast<std::size_t>(count));
        std::iota(documents.begin(), documents.end(), std::int64_t{0});
        const auto has_all = [&](const Group& group) { return group.candidates.size == count; };
        if (std::any_of(groups.begin(), groups.end(), has_all)) return documents;
        std::vector<char> is_candidate(documents.size());
        for (const Group& group : groups) {
            for (std::int64_t i = 0; i < group.candidates.size; ++i) {
                is_candidate[static_cast<std::size_t>(group.candidates(i))] = 1;
            }
        }
        std::erase_if(documents, [&](std::int64_t id) { return is_candidate[static_cast<std::size_t>(id)] == 0; });
        return documents;
    }
    static std::int64_t tokens_of(const Embeddings& embeddings, const SortedTasks& sorted, const Cell& rows) {
        std::int64_t tokens = 0;
        for (std::int64_t i = rows.first_query; i < rows.last_query; ++i) {
            const std::int64_t query = sorted.queries[static_cast<std::size_t>(i)].row;
            tokens += embeddings.query_tokens[query + 1] - embeddings.query_tokens[query];
        }
        return tokens;
    }
    std::size_t end_of_block(const Embeddings& embeddings, std::size_t first, std::int64_t most) const {
        std::int64_t tokens = 0;
        std::size_t at = first;
        for (; at < documents.size() && at - first < static_cast<std::size_t>(most); ++at) {
            const std::int64_t document = documents[at];
            tokens += embeddings.entity_tokens[document + 1] - embeddings.entity_tokens[document];
            if (at > first && tokens > kBlockNumbers / (1 + embeddings.entities.columns)) break;
        }
        return at;
    }
    // Adds the part of a cell whose candidates are in a block, and goes on to those after them.
    void add_cell(Cell cell, std::int64_t& place, std::size_t first, std::size_t last) {
        const std::int64_t end = std::min(cell.end, place + static_cast<std::int64_t>(last - first));
        cell.begin = place;
        while (place < end && cell.candidates(place) <= documents[last - 1]) ++place;
        cell.end = place;
        if (cell.begin == cell.end) return;
        cells.push_back(cell);
        pairs += (cell.last_query - cell.first_query) * (cell.end - cell.begin);
    }
};

}  // namespace truerank
