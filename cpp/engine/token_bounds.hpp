// Certified bounds of sums of maxima, for late interaction.
//
// A document has one step for the levels of all its tokens, so that the greatest sum over levels of a query's token
// belongs to the greatest product of quantised vectors. Its error is, at most, the one with the document's worst token.
// The maxima of a query's tokens, each times the token's own step, are added up, and so are their errors: that is the
// interval in which the value of the pair lies. docs/contributing/bounds.md has the proof.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/quantiser.hpp"
#include "engine/token_maxima.hpp"
#include "engine/tokens.hpp"
#include "kernels/maxima.hpp"

namespace truerank {

template <class C>
class TokenBounds {
  public:
    TokenBounds(const Quantisation<C>& quantisation, const Scoring<C>& scoring)
        : q_(quantisation, scoring),
          form_(quantisation.forms.size() - 1),
          groups_(form().groups(q_.size())),
          maxima_(maxima_kernels<C>().take_levels, scoring.kernels.lanes) {}

    // The coarsest levels come first. Finer ones take longer, and leave fewer pairs open.
    bool has_finer() const { return form_ > 0; }
    void use_finer() {
        --form_;
        groups_ = form().groups(q_.size());
        are_queries_loaded_ = false;
    }
    // Takes other queries, or other documents. They are quantised when they are first asked about.
    void set_queries(const TokenLists& queries) {
        queries_ = &queries;
        are_queries_loaded_ = false;
    }
    void set_documents(const TokenLists& documents, const TokenPanels& panels) {
        documents_ = &documents;
        panels_ = &panels;
        documents_form_ = nullptr;
    }
    // Quantises the queries and the documents, unless they are. Returns whether all of them can be.
    bool quantise() {
        if (!are_queries_loaded_) are_queries_usable_ = load_queries();
        are_queries_loaded_ = true;
        if (are_queries_usable_ && documents_form_ != &form()) are_documents_usable_ = load_documents();
        return are_queries_usable_ && are_documents_usable_;
    }

    // Takes the greatest sums over levels of pairs; false if it was stopped.
    bool take(const WantedPairs& pairs, bool is_caller, Stop& stop) {
        const std::size_t work = kTileQueries * q_.kernels.lanes * (1 + q_.size() / 64);
        const auto sum = [&](std::size_t tile, std::size_t panel, std::int32_t* out) {
            form().sum(query_levels_[tile], document_levels_[panel], groups_, starts_.data() + tile * kTileQueries,
                       out);
        };
        return maxima_.take(*queries_, *panels_, pairs, sum, work, is_caller, stop);
    }
    // The interval of the value of a pair whose sums were taken.
    std::pair<double, double> interval(std::size_t query, std::size_t document) const {
        const QueryFacts& of_query = query_facts_[query];
        const DocumentFacts& of_document = document_facts_[document];
        const std::size_t first = queries_->begin(query), tokens = queries_->length(query);
        const double sum = sum_levels_(maxima_.of(document) + first, steps_.data() + first, tokens);
        const double value = of_document.step * sum + of_query.offset;
        const double error = of_query.norm * of_document.residue + of_query.residue * of_document.norm + of_query.slack;
        return {value - error, value + error};
    }
    ValueThresholds thresholds(C score) const { return q_.scale.thresholds(static_cast<double>(score), 0); }

  private:
    // Of the tokens of a query, sums: of norms, of residues, and of what the shift adds to their products; and what
    // rounding may do to that, whatever the document.
    struct QueryFacts {
        double norm = 0, residue = 0, offset = 0, slack = 0;
    };
    // The step of a document's tokens, and the largest of their residues and of the norms of their levels.
    struct DocumentFacts {
        double step = 0, residue = 0, norm = 0;
    };
    // So many tokens, so that no term is lost in what their errors have to spare.
    static constexpr std::size_t kMostTokens = std::size_t{1} << 20;
    // The norm of the levels of words, so that sums fit into 32 bits: no sum is greater than the product of two.
    static constexpr float kWordNorm = 32000;

    const LevelForm& form() const { return q_.quantisation.forms[form_]; }
    // The grid of vectors, of which one has this extent.
    LevelGrid grid_of(const Extent& extent, int greatest) const {
        const LevelGrid bytes = q_.quantisation.grid(greatest);
        if (form().bytes == 1) return q_.quantisation.grid_of(extent.largest, bytes);
        const LevelGrid words{0, 0, -kWordNorm, kWordNorm};
        return q_.quantisation.grid_of(static_cast<float>(q_.norm_of(extent)), words);
    }

    bool load_queries() {
        const std::size_t size = q_.size(), tokens = queries_->tokens();
        query_levels_.assign(queries_->tiles(), form().size(size, kTileQueries));
        starts_.assign(queries_->tiles() * kTileQueries, 0);
        steps_.resize(tokens);
        query_facts_.assign(queries_->size(), {});
        shifted_.resize(size);
        row_.resize(size);
        for (std::size_t query = 0; query < queries_->size(); ++query) {
            if (queries_->length(query) > kMostTokens) return false;
            QueryFacts& facts = query_facts_[query];
            for (std::size_t token = queries_->begin(query); token < queries_->end(query); ++token) {
                if (!load_query_token(token, facts)) return false;
            }
            facts.norm *= q_.kUp;
            facts.residue *= q_.kUp;
            facts.slack = facts.norm * q_.quantisation.shift_norm * 0x1p-30 + 0x1p-100;
        }
        return true;
    }
    bool load_query_token(std::size_t token, QueryFacts& facts) {
        const Quantisation<C>& quantisation = q_.quantisation;
        const C* const row = q_.scoring.queries.row(queries_->id(token), false, row_.data());
        const Extent extent = q_.kernels.shift(row, quantisation.zeros.data(), q_.size(), shifted_.data());
        if (!q_.is_usable(extent)) return false;
        LevelGrid grid = grid_of(extent, form().query_greatest);
        if (form().query_in_word != 0) {
            grid = quantisation.with_step(std::max(grid.step, q_.word_step(form(), shifted_.data())), grid);
        }
        const Quantised made = q_.quantise(shifted_.data(), extent, grid, form(), 0, token % kTileQueries, kTileQueries,
                                           query_levels_[token / kTileQueries]);
        starts_[token] = -made.levels * form().zero;
        steps_[token] = made.step;
        facts.norm += made.norm;
        facts.residue += made.residue;
        // Each token has a sum of its own: with as many terms as all have, a single one would round too often.
        double offset = 0;
        for (std::size_t k = 0; k < q_.size(); ++k) {
            offset += static_cast<double>(row[k]) * static_cast<double>(quantisation.shift[k]);
        }
        facts.offset += offset;
        return true;
    }

    bool load_documents() {
        const std::size_t size = q_.size(), lanes = q_.kernels.lanes;
        documents_form_ = &form();
        document_levels_.assign((documents_->tokens() + lanes - 1) / lanes, form().size(size, lanes));
        document_facts_.assign(documents_->size(), {});
        row_.resize(size);
        for (std::size_t document = 0; document < documents_->size(); ++document) {
            if (!load_document(document)) return false;
        }
        return true;
    }
    bool load_document(std::size_t document) {
        const std::size_t size = q_.size(), lanes = q_.kernels.lanes, tokens = documents_->length(document);
        const Quantisation<C>& quantisation = q_.quantisation;
        shifted_.resize(std::max(shifted_.size(), tokens * size));
        extents_.resize(std::max(extents_.size(), tokens));
        Extent most{};
        for (std::size_t i = 0; i < tokens; ++i) {
            const std::int64_t id = documents_->id(documents_->begin(document) + i);
            const C* const row = q_.scoring.candidates.row(id, false, row_.data());
            const Extent extent = q_.kernels.shift(row, quantisation.shift.data(), size, shifted_.data() + i * size);
            if (!q_.is_usable(extent)) return false;
            extents_[i] = extent;
            most = {std::max(most.largest, extent.largest), std::max(most.squares, extent.squares)};
        }
        const LevelGrid grid = grid_of(most, form().greatest);
        DocumentFacts& facts = document_facts_[document];
        facts.step = static_cast<double>(grid.step);
        for (std::size_t i = 0; i < tokens; ++i) {
            const std::size_t token = documents_->begin(document) + i;
            const Quantised made = q_.quantise(shifted_.data() + i * size, extents_[i], grid, form(), form().zero,
                                               form().place(token % lanes), lanes, document_levels_[token / lanes]);
            const double levels = made.norm + made.residue;
            facts.norm = std::max(facts.norm, levels);
            facts.residue = std::max(facts.residue, made.residue + q_.kFloatError * levels +
                                                        q_.scale.gamma() * (made.norm + quantisation.shift_norm));
        }
        return true;
    }

    const Quantiser<C> q_;
    double (*const sum_levels_)(const std::int32_t*, const float*, std::size_t) = maxima_kernels<C>().sum_levels;
    std::size_t form_;    // among those of the quantisation
    std::size_t groups_;  // of levels, in which it has a vector

    const TokenLists* queries_ = nullptr;
    bool are_queries_loaded_ = false, are_queries_usable_ = false;
    LevelGroups query_levels_;          // of tiles
    std::vector<std::int32_t> starts_;  // of the sums of each token
    std::vector<float> steps_;          // of each token
    std::vector<QueryFacts> query_facts_;

    const TokenLists* documents_ = nullptr;
    const TokenPanels* panels_ = nullptr;
    const LevelForm* documents_form_ = nullptr;  // in which they are quantised, if they are
    bool are_documents_usable_ = false;
    LevelGroups document_levels_;  // of panels
    std::vector<DocumentFacts> document_facts_;

    TokenMaxima<std::int32_t> maxima_;
    std::vector<float> shifted_;  // the tokens that are being quantised, less the shift
    std::vector<Extent> extents_;
    std::vector<C> row_;
};

}  // namespace truerank
