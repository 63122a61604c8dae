// How the work of late interaction is cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/sweep/embeddings.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/decisions.hpp"

namespace truerank {

// What a worker does at once: some queries against a block of documents, in cells.
struct TokenChunk {
    std::vector<Cell> cells;
    std::int64_t first_query, last_query;     // positions in SortedTasks::queries
    std::span<const std::int64_t> documents;  // ascending
};

// The work of a call. Documents that any query has as a candidate are cut into blocks, and queries into batches. So
// queries that have candidates of their own share what is made of a block for one of them.
struct TokenPlan {
    std::vector<std::int64_t> documents;  // ascending
    std::vector<TokenChunk> chunks;
    std::int64_t pairs = 0;

    // `rows` are cells of some queries, each with all candidates of its group.
    TokenPlan(const Embeddings& embeddings, const SortedTasks& sorted, const std::vector<Cell>& rows,
              std::int64_t block, int threads)
        : documents(union_of(sorted.groups, embeddings.entity_count())) {
        const std::vector<Batch> batches = cut_batches(embeddings, sorted, rows);
        const auto per_chunk =
            static_cast<std::int64_t>(batches.size() * documents.size()) / (kChunksPerThread * threads);
        std::int64_t most = std::clamp<std::int64_t>(per_chunk, kFewDocuments, kPanelLanes);
        if (block > 0) most = std::min(most, block);
        std::vector<std::int64_t> places(rows.size(), 0);  // at which each row has arrived among its candidates
        for (const Batch& batch : batches) {
            for (std::size_t first = 0, last; first < documents.size(); first = last) {
                last = block_end(embeddings, first, static_cast<std::size_t>(most));
                TokenChunk chunk{.cells = {},
                                 .first_query = rows[batch.first_row].first_query,
                                 .last_query = rows[batch.last_row - 1].last_query,
                                 .documents = std::span(documents).subspan(first, last - first)};
                for (auto row = batch.first_row; row < batch.last_row; ++row) add_cell(chunk, rows[row], places[row]);
                if (!chunk.cells.empty()) chunks.push_back(std::move(chunk));
            }
        }
    }
    TokenPlan(const TokenPlan&) = delete;  // its chunks refer to it
    TokenPlan& operator=(const TokenPlan&) = delete;

  private:
    // So many numbers of a block's tokens, or of a batch's, stay in the caches. Fewer documents are a block only where
    // threads would have nothing to do otherwise.
    static constexpr std::int64_t kBlockNumbers = 1 << 21, kBatchNumbers = 1 << 21, kFewDocuments = 8;
    static constexpr std::int64_t kChunksPerThread = 8;

    static std::int64_t list_length(std::span<const std::int64_t> starts, std::int64_t list) {
        const auto i = static_cast<std::size_t>(list);
        return starts[i + 1] - starts[i];
    }
    struct Batch {
        std::size_t first_row, last_row;
    };
    static std::vector<Batch> cut_batches(const Embeddings& embeddings, const SortedTasks& sorted,
                                          const std::vector<Cell>& rows) {
        const std::int64_t most_tokens = kBatchNumbers / (1 + embeddings.queries.columns);
        std::vector<Batch> batches;
        std::int64_t batch_tokens = 0;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            std::int64_t tokens = 0;
            for (std::int64_t i = rows[row].first_query; i < rows[row].last_query; ++i) {
                tokens += list_length(embeddings.query_tokens, sorted.queries[static_cast<std::size_t>(i)].row);
            }
            batch_tokens += tokens;
            if (batches.empty() || batch_tokens > most_tokens) {
                batches.push_back({.first_row = row, .last_row = row});
                batch_tokens = tokens;
            }
            batches.back().last_row = row + 1;
        }
        return batches;
    }
    // Where a block of at most so many documents ends: earlier if more numbers of tokens would not stay in the caches.
    std::size_t block_end(const Embeddings& embeddings, std::size_t first, std::size_t most) const {
        const std::size_t end = std::min(documents.size(), first + most);
        std::int64_t numbers = 0;
        for (std::size_t i = first; i < end; ++i) {
            numbers += list_length(embeddings.entity_tokens, documents[i]) * (1 + embeddings.entities.columns);
            if (i > first && numbers > kBlockNumbers) return i;
        }
        return end;
    }
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
    // Adds the part of a row whose candidates are in the chunk's block, and goes on to those after them.
    void add_cell(TokenChunk& chunk, Cell cell, std::int64_t& place) {
        const std::int64_t end = std::min(cell.end, place + static_cast<std::int64_t>(chunk.documents.size()));
        cell.begin = place;
        while (place < end && cell.candidates(place) <= chunk.documents.back()) ++place;
        cell.end = place;
        if (cell.begin == cell.end) return;
        chunk.cells.push_back(cell);
        pairs += (cell.last_query - cell.first_query) * (cell.end - cell.begin);
    }
};

}  // namespace truerank
