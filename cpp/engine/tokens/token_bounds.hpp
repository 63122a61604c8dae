// Certified bounds of sums of maxima, for late interaction.
//
// A document has one step for the levels of all its tokens, so that the greatest sum over levels of a query's token
// belongs to the greatest product of quantised vectors. Its error is, at most, the one with the document's worst token.
// The maxima of a query's tokens, each times the token's own step, are added up, and so are their errors: that is the
// interval in which the value of the pair lies (docs/contributing/bounds.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/bounds/quantiser.hpp"
#include "engine/tokens/tokens.hpp"
#include "kernels/maxima.hpp"

namespace truerank {

template <class C>
class TokenBounds {
  public:
    TokenBounds(const Quantiser<C>& quantiser, const TokenBlock& block)
        : q_(quantiser), block_(block), maxima_(block, maxima_kernels<C>().take_levels, q_.kernels.lanes) {}

    // The coarsest levels come first. Finer ones take longer, and leave fewer pairs open.
    bool has_bytes() const { return form().bytes == 1; }
    bool has_finer() const { return form_ > 0; }
    void use_finer() { use(form_ - 1); }
    void use_coarsest() { use(q_.forms.size() - 1); }
    // The block has other queries, or other documents. They are quantised when they are first asked about.
    void forget_queries() { are_queries_usable_.reset(); }
    void forget_documents() { are_documents_usable_.reset(); }
    // Quantises the queries and the documents, unless they are. Returns whether all of them can be.
    bool quantise() {
        if (!are_queries_usable_) are_queries_usable_ = load_queries();
        if (!*are_queries_usable_) return false;
        if (!are_documents_usable_) are_documents_usable_ = load_documents();
        return *are_documents_usable_;
    }

    // Takes the greatest sums over levels of pairs; false if it was stopped.
    bool take(const WantedPairs& pairs, const Poll& poll) {
        const std::size_t work = form().queries * q_.kernels.lanes * (1 + q_.size() / 64);
        const auto sum_up = [&](std::size_t tile, std::size_t panel, std::int32_t* out) { sum(tile, panel, out); };
        return maxima_.take(pairs, form(), sum_up, work, poll);
    }
    // The sums over levels of a tile of the queries' tokens and a panel of the documents'.
    void sum(std::size_t tile, std::size_t panel, std::int32_t* out) const {
        form().sum(form(),
                   {query_levels_[tile], document_levels_[panel], form().groups(q_.size()),
                    starts_.data() + tile * form().queries},
                   out);
    }
    // Of which sums are made.
    const LevelForm& form() const { return q_.forms[form_]; }
    // By how much, at most, the sum of the document's token with the greatest score, or with one that ties with it, is
    // less than the greatest sum: twice the error of a token, in steps.
    std::int32_t margin(std::size_t token, std::size_t document) const {
        const DocumentFacts& of_document = document_facts_[document];
        const QueryToken& of_token = query_tokens_[token];
        const double error = of_token.norm * of_document.residue + of_token.residue * of_document.norm;
        return static_cast<std::int32_t>(std::min(2 * q_.kUp * error / of_document.step + 2, kMostMargin));
    }
    // The interval of the value of a pair whose sums were taken.
    std::pair<double, double> interval(std::size_t query, std::size_t document) const {
        const QueryFacts& of_query = query_facts_[query];
        const DocumentFacts& of_document = document_facts_[document];
        const std::size_t first = block_.queries.begin(query), tokens = block_.queries.length(query);
        const double sum = sum_levels_(maxima_.of(document) + first, steps_.data() + first, tokens);
        const double value = of_document.step * sum + of_query.offset;
        const double error = of_query.norm * of_document.residue + of_query.residue * of_document.norm + of_query.slack;
        return {value - error, value + error};
    }
    ValueThresholds thresholds(C score) const { return q_.scale.thresholds(static_cast<double>(score), 0); }

  private:
    void use(std::size_t form) {
        form_ = form;
        forget_queries();
        forget_documents();
    }
    // Of the tokens of a query, sums: of norms, of residues, and of what the shift adds to their products; and what
    // rounding may do to that, whatever the document.
    struct QueryFacts {
        double norm = 0, residue = 0, offset = 0, slack = 0;
    };
    // The norm and the residue of one token, in its steps.
    struct QueryToken {
        double norm, residue;
    };
    // The step of a document's tokens, and the largest of their residues and of the norms of their levels.
    struct DocumentFacts {
        double step = 0, residue = 0, norm = 0;
    };
    // So many tokens, so that no term is lost in what their errors have to spare.
    static constexpr std::size_t kMostTokens = std::size_t{1} << 20;
    // The norm of the levels of words, so that sums fit into 32 bits: no sum is greater than the product of two.
    static constexpr float kWordNorm = 32000;
    // Of bytes: two sums are never further apart.
    static constexpr double kMostMargin = 0x1p30;
    static_assert(2.0 * 127 * 127 * Quantiser<C>::kDeepest < kMostMargin);

    // The grid of vectors, of which one has this extent, with a step of no less than this.
    LevelGrid grid_of(const Extent& extent, int greatest, float least_step) const {
        const float most = has_bytes() ? static_cast<float>(greatest) : kWordNorm;
        const float largest = has_bytes() ? extent.largest : static_cast<float>(q_.norm_of(extent));
        return q_.product_grid(std::max(q_.step_of(largest, most), least_step), most);
    }

    bool load_queries() {
        const std::size_t size = q_.size(), tokens = block_.queries.ids.size();
        const std::size_t rows = form().queries, tiles = block_.queries.tiles(rows);
        query_levels_.assign(tiles, form().of_queries(), rows, size);
        starts_.assign(tiles * rows, 0);
        steps_.resize(tokens);
        query_tokens_.resize(tokens);
        query_facts_.assign(block_.queries.size(), {});
        shifted_.resize(size);
        row_.resize(size);
        for (std::size_t query = 0; query < block_.queries.size(); ++query) {
            if (block_.queries.length(query) > kMostTokens) return false;
            QueryFacts& facts = query_facts_[query];
            for (std::size_t token = block_.queries.begin(query); token < block_.queries.end(query); ++token) {
                if (!load_query_token(token, facts)) return false;
            }
            facts.norm *= q_.kUp;
            facts.residue *= q_.kUp;
            facts.slack = facts.norm * q_.shift_norm * 0x1p-30 + 0x1p-100;
        }
        return true;
    }
    bool load_query_token(std::size_t token, QueryFacts& facts) {
        const C* const row = q_.scoring.queries.row(block_.queries.ids[token], row_.data());
        const Extent extent = q_.kernels.subtract_shift(row, q_.zeros.data(), q_.size(), shifted_.data());
        if (!q_.is_usable(extent)) return false;
        const LevelGrid grid = grid_of(extent, form().query_greatest, q_.word_step(form(), shifted_.data()));
        const Quantised made = q_.quantise(shifted_.data(), extent, grid, query_levels_, token);
        starts_[token] = -made.levels * form().zero;
        steps_[token] = made.step;
        const auto step = static_cast<double>(made.step);
        query_tokens_[token] = {made.norm / step, made.residue / step};
        facts.norm += made.norm;
        facts.residue += made.residue;
        // Each token has a sum of its own: with as many terms as all have, a single one would round too often.
        facts.offset += q_.shift_product(row);
        return true;
    }

    bool load_documents() {
        const std::size_t size = q_.size(), lanes = q_.kernels.lanes;
        document_levels_.assign((block_.documents.ids.size() + lanes - 1) / lanes, form(), lanes, size);
        document_facts_.assign(block_.documents.size(), {});
        row_.resize(size);
        for (std::size_t document = 0; document < block_.documents.size(); ++document) {
            if (!load_document(document)) return false;
        }
        return true;
    }
    bool load_document(std::size_t document) {
        const std::size_t size = q_.size(), tokens = block_.documents.length(document);
        shifted_.resize(std::max(shifted_.size(), tokens * size));
        extents_.resize(std::max(extents_.size(), tokens));
        Extent most{};
        for (std::size_t i = 0; i < tokens; ++i) {
            const std::int64_t id = block_.documents.ids[block_.documents.begin(document) + i];
            const C* const row = q_.scoring.candidates.row(id, row_.data());
            const Extent extent = q_.kernels.subtract_shift(row, q_.shift.data(), size, shifted_.data() + i * size);
            if (!q_.is_usable(extent)) return false;
            extents_[i] = extent;
            most = {std::max(most.largest, extent.largest), std::max(most.squares, extent.squares)};
        }
        const LevelGrid grid = grid_of(most, form().greatest, 0);
        DocumentFacts& facts = document_facts_[document];
        facts.step = static_cast<double>(grid.step);
        for (std::size_t i = 0; i < tokens; ++i) {
            const std::size_t token = block_.documents.begin(document) + i;
            const Quantised made = q_.quantise(shifted_.data() + i * size, extents_[i], grid, document_levels_, token);
            const double level_norm = made.norm + made.residue;
            const double residue =
                made.residue + q_.kFloatError * level_norm + q_.scale.gamma() * (made.norm + q_.shift_norm);
            facts.norm = std::max(facts.norm, level_norm);
            facts.residue = std::max(facts.residue, residue);
        }
        return true;
    }

    const Quantiser<C>& q_;
    const TokenBlock& block_;
    double (*const sum_levels_)(const std::int32_t*, const float*, std::size_t) = maxima_kernels<C>().sum_levels;
    std::size_t form_ = q_.forms.size() - 1;

    std::optional<bool> are_queries_usable_;  // all of them, once they have been quantised
    LevelGroups query_levels_;                // of tiles
    std::vector<std::int32_t> starts_;        // of the sums of each token
    std::vector<float> steps_;                // of each token
    std::vector<QueryToken> query_tokens_;
    std::vector<QueryFacts> query_facts_;

    std::optional<bool> are_documents_usable_;
    LevelGroups document_levels_;  // of panels
    std::vector<DocumentFacts> document_facts_;

    TokenMaxima<std::int32_t> maxima_;
    std::vector<float> shifted_;  // the tokens that are being quantised, less the shift
    std::vector<Extent> extents_;
    std::vector<C> row_;
};

}  // namespace truerank
