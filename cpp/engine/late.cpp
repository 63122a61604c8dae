#include "engine/late.hpp"

#include "engine/gauge.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/quantiser.hpp"
#include "engine/threads.hpp"
#include "kernels/maxima.hpp"

namespace truerank {
namespace {

// Where bytes leave a larger share of the pairs of a query and a document open, words take less time.
constexpr double kFewOpen = 0.2;
constexpr auto kTileRows = static_cast<std::int64_t>(kTileQueries);

// The tokens of some queries or documents, one after the other.
struct TokenRows {
    std::vector<std::int64_t> ids, first;
    void clear() {
        ids.clear();
        first.assign(1, 0);
    }
    void add(const std::int64_t* indptr, std::int64_t i) {
        for (std::int64_t t = indptr[i]; t < indptr[i + 1]; ++t) ids.push_back(t);
        first.push_back(static_cast<std::int64_t>(ids.size()));
    }
    std::int64_t size() const { return static_cast<std::int64_t>(ids.size()); }
    std::int64_t count() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

// The queries of a cell and up to kPanelLanes documents over levels: bounds of sums of maxima. An interval of each
// token's maximum is that of the greatest sum over levels, since all tokens of a document have one step; its error is
// that of the document's worst token. Those of a query add up.
template <class C>
class TokenBounds {
  public:
    TokenBounds(const Quantisation<C>& quantisation, const Scoring<C>& scoring)
        : q_(quantisation, scoring), at_(quantisation.forms.size() - 1) {}

    // The coarsest levels come first; finer ones follow where they leave too much open.
    bool has_finer() const { return at_ > 0; }
    void use_finer() { --at_; }
    bool covers() const { return form().query_in_word == 0; }

    struct Facts {
        double step = 0, norm = 0, residue = 0, offset = 0;
    };
    bool load_queries(const TokenRows& rows) {
        const std::size_t size = q_.size();
        tiles_ = divide_up(rows.size(), kTileRows);
        levels_.assign(static_cast<std::size_t>(tiles_), form().size(size, kTileQueries));
        starts_.assign(static_cast<std::size_t>(tiles_ * kTileRows), 0);
        queries_.assign(static_cast<std::size_t>(rows.count()), {});
        shifted_.resize(size);
        row_.resize(size);
        if (!covers()) return false;
        for (std::int64_t i = 0; i < rows.count(); ++i) {
            Facts& facts = queries_[static_cast<std::size_t>(i)];
            const auto begin = static_cast<std::size_t>(rows.first[static_cast<std::size_t>(i)]);
            const auto end = static_cast<std::size_t>(rows.first[static_cast<std::size_t>(i) + 1]);
            float largest = 0;
            for (std::size_t t = begin; t < end; ++t) {
                const C* const row = q_.scoring.queries.row(rows.ids[t], false, row_.data());
                const Extent extent = q_.kernels.shift(row, q_.quantisation.zeros.data(), size, shifted_.data());
                if (!q_.is_usable(extent)) return false;
                largest = std::max(largest, extent.largest);
            }
            const LevelGrid grid = q_.quantisation.grid_of(largest, q_.quantisation.grid(form().query_greatest));
            facts.step = static_cast<double>(grid.step);
            for (std::size_t t = begin; t < end; ++t) {
                const C* const row = q_.scoring.queries.row(rows.ids[t], false, row_.data());
                const Extent extent = q_.kernels.shift(row, q_.quantisation.zeros.data(), size, shifted_.data());
                const Quantised made = q_.quantise(shifted_.data(), extent, grid, form(), 0, t % kTileQueries,
                                                   kTileQueries, levels_[t / kTileQueries]);
                starts_[t] = -made.levels * form().zero;
                facts.norm += made.norm;
                facts.residue += made.residue;
                for (std::size_t k = 0; k < size; ++k) {
                    facts.offset += static_cast<double>(row[k]) * static_cast<double>(q_.quantisation.shift[k]);
                }
            }
        }
        return true;
    }
    bool load_documents(const TokenRows& rows) {
        const std::size_t size = q_.size(), lanes = q_.kernels.lanes;
        blocks_.assign(static_cast<std::size_t>(divide_up(rows.size(), static_cast<std::int64_t>(lanes))),
                       form().size(size, lanes));
        documents_.assign(static_cast<std::size_t>(rows.count()), {});
        for (std::int64_t i = 0; i < rows.count(); ++i) {
            Facts& facts = documents_[static_cast<std::size_t>(i)];
            const auto begin = static_cast<std::size_t>(rows.first[static_cast<std::size_t>(i)]);
            const auto end = static_cast<std::size_t>(rows.first[static_cast<std::size_t>(i) + 1]);
            float largest = 0;
            extents_.resize(end - begin);
            all_shifted_.resize((end - begin) * size);
            for (std::size_t t = begin; t < end; ++t) {
                const C* const row = q_.scoring.candidates.row(rows.ids[t], false, row_.data());
                const Extent extent =
                    q_.kernels.shift(row, q_.quantisation.shift.data(), size, all_shifted_.data() + (t - begin) * size);
                if (!q_.is_usable(extent)) return false;
                extents_[t - begin] = extent;
                largest = std::max(largest, extent.largest);
            }
            const LevelGrid grid = q_.quantisation.grid_of(largest, q_.quantisation.grid(form().greatest));
            facts.step = static_cast<double>(grid.step);
            for (std::size_t t = begin; t < end; ++t) {
                const Quantised made =
                    q_.quantise(all_shifted_.data() + (t - begin) * size, extents_[t - begin], grid, form(),
                                form().zero, form().place(t % lanes), lanes, blocks_[t / lanes]);
                const double levels = made.norm + made.residue;
                const double residue = made.residue + q_.kFloatError * levels +
                                       q_.scale.gamma() * (made.norm + q_.quantisation.shift_norm);
                facts.norm = std::max(facts.norm, levels);
                facts.residue = std::max(facts.residue, residue);
            }
        }
        return true;
    }
    void sum(std::int64_t tile, std::int64_t block, std::int32_t* sums) const {
        form().sum(levels_[static_cast<std::size_t>(tile)], blocks_[static_cast<std::size_t>(block)],
                   form().groups(q_.size()), starts_.data() + tile * kTileRows, sums);
    }
    // The interval of a sum of maxima.
    std::pair<double, double> interval(std::size_t query, std::size_t document, double sum) const {
        const Facts &q = queries_[query], &e = documents_[document];
        const double x = sum * q.step * e.step + q.offset;
        const double error = (q.norm * e.residue + q.residue * e.norm) * q_.kUp +
                             q.norm * q_.quantisation.shift_norm * 0x1p-30 + std::abs(x) * 0x1p-40 + 0x1p-100;
        return {x - error, x + error};
    }
    ValueThresholds thresholds(C score) const { return q_.scale.thresholds(static_cast<double>(score), 0); }

  private:
    const Quantiser<C> q_;
    const LevelForm& form() const { return q_.quantisation.forms[at_]; }
    std::size_t at_;
    std::int64_t tiles_ = 0;
    LevelGroups levels_, blocks_;
    std::vector<std::int32_t> starts_;
    std::vector<Facts> queries_, documents_;
    std::vector<float> shifted_, all_shifted_;
    std::vector<Extent> extents_;
    std::vector<C> row_;
};

template <class C>
class TokenWorker {
  public:
    TokenWorker(const Scoring<C>& scoring, const Quantisation<C>* quantisation) : scoring_(scoring) {
        if (quantisation != nullptr) bounds_ = std::make_unique<TokenBounds<C>>(*quantisation, scoring);
    }
    const BoundsTally& tally() const { return tally_; }

    void run(const Cell& cell, const SortedQuery* sorted_queries, Sink<C>& sink, bool is_caller, Stop& stop) {
        load_tasks(cell, sorted_queries);
        sink.begin_cell(cell, first_task_);
        const std::int64_t lanes = scoring_.lanes();
        columns_.resize(static_cast<std::size_t>(lanes));
        scores_.resize(static_cast<std::size_t>(queries_.count() * lanes));
        for (std::int64_t begin = cell.begin; begin < cell.end; begin += lanes) {
            const Panel panel{begin, std::min(lanes, cell.end - begin), columns_.data()};
            documents_.clear();
            for (std::int64_t j = 0; j < panel.width; ++j) {
                columns_[static_cast<std::size_t>(j)] = cell.candidates(begin + j);
                documents_.add(scoring_.embeddings.entity_tokens, columns_[static_cast<std::size_t>(j)]);
            }
            sink.begin_panel(panel);
            tally_.pairs += (cell.last_task - cell.first_task) * panel.width;
            const auto start = Gauge::Clock::now();
            if (bounds_ && usable_ && sink.query_tasks() != nullptr && (are_bounds_forced() || gauge_.tries_bounds()) &&
                decide(panel, *sink.query_tasks())) {
                open_pairs_ = 0;
                if (!open_.empty() && !settle(*sink.query_tasks(), is_caller, stop)) return;
                if (!are_bounds_forced() && gauge_.is_trial() && bounds_->has_finer() &&
                    static_cast<double>(open_pairs_) > kFewOpen * static_cast<double>(queries_.count() * panel.width)) {
                    bounds_->use_finer();
                    usable_ = bounds_->load_queries(queries_);
                } else {
                    gauge_.record_bounded(Gauge::Clock::now() - start, queries_.size() * documents_.size());
                }
            } else {
                if (!take_maxima(documents_, nullptr, is_caller, stop)) return;
                for (std::int64_t i = 0; i < queries_.count(); ++i) {
                    for (std::int64_t j = 0; j < panel.width; ++j) {
                        scores_[static_cast<std::size_t>(i * lanes + j)] = score(i, j);
                    }
                }
                gauge_.record_scored(Gauge::Clock::now() - start, queries_.size() * documents_.size());
                for (std::int64_t i = 0; i < queries_.count(); i += kTileRows) {
                    sink.take_scores(scores_.data() + i * lanes, i, std::min(kTileRows, queries_.count() - i));
                }
            }
            done_ += queries_.count() * panel.width;
        }
        sink.end_cell();
    }

    void score_pairs(const std::int64_t* rows, const std::int64_t* columns, std::int64_t n, C* out, bool is_caller,
                     Stop& stop) {
        for (std::int64_t i = 0; i < n; ++i) {
            if (i == 0 || rows[i] != rows[i - 1]) {
                queries_.clear();
                queries_.add(scoring_.embeddings.query_tokens, rows[i]);
                pack_queries();
            }
            documents_.clear();
            documents_.add(scoring_.embeddings.entity_tokens, columns[i]);
            if (!take_maxima(documents_, nullptr, is_caller, stop)) return;
            out[i] = score(0, 0);
        }
        loaded_first_query_ = -1;
    }

  private:
    void load_tasks(const Cell& cell, const SortedQuery* queries) {
        if (cell.first_query == loaded_first_query_ && cell.last_query == loaded_last_query_ &&
            cell.first_task == loaded_first_task_) {
            return;
        }
        loaded_first_query_ = cell.first_query;
        loaded_last_query_ = cell.last_query;
        loaded_first_task_ = cell.first_task;
        first_task_.clear();
        queries_.clear();
        for (std::int64_t i = cell.first_query; i < cell.last_query; ++i) {
            queries_.add(scoring_.embeddings.query_tokens, queries[i].row);
            first_task_.push_back(std::max(queries[i].first_task, cell.first_task) - cell.first_task);
        }
        first_task_.push_back(cell.last_task - cell.first_task);
        pack_queries();
        if (bounds_) {
            usable_ = bounds_->load_queries(queries_);
        }
    }
    void pack_queries() {
        const std::int64_t n = queries_.size(), depth = scoring_.depth();
        tiles_ = divide_up(n, kTileRows);
        packed_.resize(static_cast<std::size_t>(tiles_ * kTileRows * depth));
        std::vector<double> squares(static_cast<std::size_t>(kTileRows));
        for (std::int64_t i = 0; i < n; i += kTileRows) {
            scoring_.queries.pack(queries_.ids.data() + i, std::min(kTileRows, n - i), kTileRows, scoring_.packing(),
                                  packed_.data() + i * depth, squares.data(), scratch_);
        }
    }
    // The maxima of document j begin at maxima_[j * stride()].
    std::int64_t stride() const { return tiles_ * kTileRows; }
    C score(std::int64_t query, std::int64_t document) const {
        const C* const of = maxima_.data() + document * stride();
        double sum = 0;
        for (std::int64_t t = queries_.first[static_cast<std::size_t>(query)];
             t < queries_.first[static_cast<std::size_t>(query) + 1]; ++t) {
            sum += static_cast<double>(of[t]);
        }
        return static_cast<C>(sum);
    }
    // The lanes of a panel of tokens, by document.
    void list_spans(const TokenRows& documents, std::int64_t at, std::int64_t width) {
        spans_.clear();
        auto next = std::upper_bound(documents.first.begin(), documents.first.end(), at) - 1;
        for (auto d = next - documents.first.begin();
             d < documents.count() && documents.first[static_cast<std::size_t>(d)] < at + width; ++d) {
            const std::int64_t begin = documents.first[static_cast<std::size_t>(d)],
                               end = documents.first[static_cast<std::size_t>(d) + 1];
            if (end <= at || begin == end) continue;
            spans_.push_back({static_cast<std::uint32_t>(std::max(begin, at) - at),
                              static_cast<std::uint32_t>(std::min(end, at + width) - at), static_cast<std::uint32_t>(d),
                              begin < at, end <= at + width});
        }
    }
    // Scores the tokens of the queries with those of documents; with `open`, only tiles with queries for which one of
    // the panel's documents is open.
    bool take_maxima(const TokenRows& documents, const std::vector<std::vector<std::uint32_t>>* open, bool is_caller,
                     Stop& stop) {
        const std::int64_t lanes = scoring_.lanes(), depth = scoring_.depth();
        sums_.resize(static_cast<std::size_t>(kTileRows * lanes));
        panel_.resize(static_cast<std::size_t>(depth * lanes));
        maxima_.resize(static_cast<std::size_t>(documents.count() * stride()));
        running_.resize(static_cast<std::size_t>(stride()) * kRunning<C>);
        std::vector<double> squares(static_cast<std::size_t>(lanes));
        for (std::int64_t d = 0; d < documents.count(); ++d) {  // those without tokens
            if (documents.first[static_cast<std::size_t>(d)] == documents.first[static_cast<std::size_t>(d) + 1]) {
                std::fill_n(maxima_.data() + d * stride(), stride(), -std::numeric_limits<C>::infinity());
            }
        }
        is_needed_.assign(static_cast<std::size_t>(tiles_), open == nullptr);
        for (std::int64_t at = 0; at < documents.size(); at += lanes) {
            const std::int64_t width = std::min(lanes, documents.size() - at);
            list_spans(documents, at, width);
            if (open != nullptr) {
                std::fill(is_needed_.begin(), is_needed_.end(), 0);
                for (const LaneSpan& span : spans_) {
                    for (const std::uint32_t query : (*open)[span.document]) {
                        const std::int64_t from = queries_.first[query], to = queries_.first[query + 1];
                        for (std::int64_t tile = from / kTileRows; tile * kTileRows < to; ++tile) {
                            is_needed_[static_cast<std::size_t>(tile)] = 1;
                        }
                    }
                }
            }
            {
                scoring_.candidates.pack(documents.ids.data() + at, width, lanes, scoring_.packing(), panel_.data(),
                                         squares.data(), scratch_);
            }
            for (std::int64_t tile = 0; tile < tiles_; ++tile) {
                if (is_needed_[static_cast<std::size_t>(tile)] == 0) continue;
                scoring_.kernels.accumulate(scoring_.similarity, packed_.data() + tile * depth * kTileRows,
                                            panel_.data(), static_cast<std::size_t>(depth), true, sums_.data());
                maxima_kernels_.take(sums_.data(), kTileQueries, spans_.data(), spans_.size(),
                                     static_cast<std::size_t>(stride()), maxima_.data() + tile * kTileRows,
                                     running_.data() + static_cast<std::size_t>(tile * kTileRows) * kRunning<C>);
            }
            if (stop.requested(is_caller, queries_.size() * lanes * (1 + depth / 16), std::exchange(done_, 0)))
                return false;
        }
        return true;
    }
    // Decides pairs by bounds, and lists those that stay open.
    bool decide(const Panel& panel, BoundedTasks<C>& tasks) {
        const C* const scores = tasks.thresholds();
        if (scores == nullptr) return false;
        {
            if (!bounds_->load_documents(documents_)) return false;
        }
        const std::int64_t lanes = scoring_.lanes();
        level_sums_.resize(static_cast<std::size_t>(kTileRows * lanes));
        level_maxima_.resize(static_cast<std::size_t>(panel.width * stride()));
        level_running_.resize(static_cast<std::size_t>(stride()) * kRunning<std::int32_t>);
        {
            for (std::int64_t at = 0; at < documents_.size(); at += lanes) {
                list_spans(documents_, at, std::min(lanes, documents_.size() - at));
                for (std::int64_t tile = 0; tile < tiles_; ++tile) {
                    bounds_->sum(tile, at / lanes, level_sums_.data());
                    maxima_kernels_.take_levels(
                        level_sums_.data(), kTileQueries, spans_.data(), spans_.size(),
                        static_cast<std::size_t>(stride()), level_maxima_.data() + tile * kTileRows,
                        level_running_.data() + static_cast<std::size_t>(tile * kTileRows) * kRunning<std::int32_t>);
                }
            }
        }
        const bool counts = tasks.counts();
        std::uint32_t* const counters = tasks.counters();
        open_.clear();
        for (std::int64_t i = 0; i < queries_.count(); ++i) {
            const auto query = static_cast<std::size_t>(i);
            double low[kPanelLanes], high[kPanelLanes];
            for (std::int64_t j = 0; j < panel.width; ++j) {
                const std::int32_t* const of = level_maxima_.data() + j * stride();
                std::int64_t sum = 0;
                for (std::int64_t t = queries_.first[query]; t < queries_.first[query + 1]; ++t) sum += of[t];
                std::tie(low[j], high[j]) =
                    bounds_->interval(query, static_cast<std::size_t>(j), static_cast<double>(sum));
                const auto d = static_cast<std::size_t>(j);
                if (documents_.first[d] == documents_.first[d + 1]) {  // no tokens: scored
                    low[j] = -std::numeric_limits<double>::infinity();
                    high[j] = -low[j];
                }
            }
            const std::int64_t first = first_task_[query], last = first_task_[query + 1];
            masks_.assign(static_cast<std::size_t>(last - first), {});
            for (std::int64_t t = first; t < last; ++t) {
                if (scores[t] != scores[t]) continue;  // nothing is above a NaN
                const ValueThresholds thresholds = bounds_->thresholds(scores[t]);
                PairMasks& mask = masks_[static_cast<std::size_t>(t - first)];
                for (std::int64_t j = 0; j < panel.width; ++j) {
                    mask.above |= static_cast<std::uint64_t>(counts && low[j] > thresholds.above) << j;
                    mask.not_below |= static_cast<std::uint64_t>(!(high[j] < thresholds.below)) << j;
                }
            }
            tasks.take_masks(masks_.data(), i, 1);
            for (std::int64_t t = first; t < last; ++t) {
                const PairMasks& mask = masks_[static_cast<std::size_t>(t - first)];
                counters[t] += static_cast<std::uint32_t>(std::popcount(mask.above));
                for (std::uint64_t bits = mask.open(); bits != 0; bits &= bits - 1) {
                    open_.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(t),
                                     static_cast<std::uint32_t>(std::countr_zero(bits))});
                }
            }
        }
        tally_.bounded += first_task_.back() * panel.width;
        tally_.open += static_cast<std::int64_t>(open_.size());
        return true;
    }
    bool settle(BoundedTasks<C>& tasks, bool is_caller, Stop& stop) {
        std::sort(open_.begin(), open_.end(),
                  [](const Open& a, const Open& b) { return std::pair(a.lane, a.query) < std::pair(b.lane, b.query); });
        open_documents_.clear();
        open_queries_.clear();
        open_pairs_ = 0;
        for (std::size_t i = 0; i < open_.size(); ++i) {
            if (i == 0 || open_[i].lane != open_[i - 1].lane) {
                open_documents_.add(scoring_.embeddings.entity_tokens, columns_[open_[i].lane]);
                open_queries_.emplace_back();
            }
            auto& of_document = open_queries_.back();
            if (of_document.empty() || of_document.back() != open_[i].query) {
                of_document.push_back(open_[i].query);
                ++open_pairs_;
            }
        }
        if (!take_maxima(open_documents_, &open_queries_, is_caller, stop)) return false;
        std::int64_t document = -1;
        for (std::size_t i = 0; i < open_.size(); ++i) {
            document += i == 0 || open_[i].lane != open_[i - 1].lane;
            const OpenPair pair{open_[i].task, open_[i].lane};
            const C value = score(open_[i].query, document);
            tasks.take_scores(&pair, &value, 1);
        }
        return true;
    }

    struct Open {
        std::uint32_t query, task, lane;
    };

    const Scoring<C>& scoring_;
    const MaximaKernels<C>& maxima_kernels_ = maxima_kernels<C>();
    std::unique_ptr<TokenBounds<C>> bounds_;
    bool usable_ = false;
    Gauge gauge_;
    std::int64_t open_pairs_ = 0;  // of a query and a document, in the last panel
    BoundsTally tally_;
    std::int64_t done_ = 0;

    std::int64_t loaded_first_query_ = -1, loaded_last_query_ = -1, loaded_first_task_ = -1;
    std::vector<std::int64_t> first_task_;
    TokenRows queries_;
    std::int64_t tiles_ = 0;
    std::vector<C> packed_;

    std::vector<std::int64_t> columns_;
    TokenRows documents_;
    std::vector<LaneSpan> spans_;
    std::vector<C> panel_, sums_, maxima_, running_, scores_, scratch_;
    std::vector<std::int32_t> level_sums_, level_maxima_, level_running_;

    std::vector<PairMasks> masks_;
    std::vector<Open> open_;
    TokenRows open_documents_;
    std::vector<std::vector<std::uint32_t>> open_queries_;
    std::vector<char> is_needed_;
};

}  // namespace

template <class C>
void sweep_tokens(const Scoring<C>& scoring, const SortedTasks& sorted, const Execution& execution,
                  std::int64_t task_bytes, const std::function<std::unique_ptr<Sink<C>>()>& make_sink) {
    const Embeddings& of = scoring.embeddings;
    const std::int64_t tokens = divide_up(of.queries.rows, std::max<std::int64_t>(1, of.token_queries));
    const int threads = execution.threads > 0 ? execution.threads : default_threads();
    const CellSizing sizing{scoring.depth() * tokens,
                            scoring.lanes(),
                            sizeof(C),
                            task_bytes,
                            execution.block > 0 ? execution.block : scoring.lanes(),
                            threads};
    const std::vector<Cell> cells = cut_cells(sorted, sizing);
    const auto chunks = static_cast<std::int64_t>(cells.size());
    const Team team(threads, chunks);
    std::vector<std::unique_ptr<Sink<C>>> sinks;
    for (int i = 0; i < team.size(); ++i) sinks.push_back(make_sink());
    std::optional<Quantisation<C>> quantisation;
    if (sinks[0]->query_tasks() != nullptr && execution.bounded) {
        quantisation = Quantisation<C>::make(scoring.embeddings, scoring.candidates);
    }
    std::vector<std::unique_ptr<TokenWorker<C>>> workers;
    for (int i = 0; i < team.size(); ++i) {
        workers.push_back(std::make_unique<TokenWorker<C>>(scoring, quantisation ? &*quantisation : nullptr));
    }
    std::int64_t pairs = 0;
    for (const Cell& cell : cells) pairs += (cell.last_query - cell.first_query) * (cell.end - cell.begin);
    const auto run = [&](std::int64_t chunk, int worker, Stop& stop) {
        const auto w = static_cast<std::size_t>(worker);
        workers[w]->run(cells[static_cast<std::size_t>(chunk)], sorted.queries.data(), *sinks[w], worker == 0, stop);
    };
    parallel_for(team, chunks, execution.interrupted, run, execution.listener, pairs);
    for (const auto& worker : workers) add_to_tally(worker->tally());
}

template <class C>
void score_token_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                       const Execution& execution, C* out) {
    constexpr std::int64_t size = 16;
    const Team team(execution.threads, divide_up(n, size));
    std::vector<std::unique_ptr<TokenWorker<C>>> workers;
    for (int i = 0; i < team.size(); ++i) workers.push_back(std::make_unique<TokenWorker<C>>(scoring, nullptr));
    parallel_for(team, divide_up(n, size), execution.interrupted, [&](std::int64_t chunk, int worker, Stop& stop) {
        const std::int64_t at = chunk * size;
        workers[static_cast<std::size_t>(worker)]->score_pairs(rows + at, columns + at, std::min(size, n - at),
                                                               out + at, worker == 0, stop);
    });
}

template void sweep_tokens(const Scoring<float>&, const SortedTasks&, const Execution&, std::int64_t,
                           const std::function<std::unique_ptr<Sink<float>>()>&);
template void sweep_tokens(const Scoring<double>&, const SortedTasks&, const Execution&, std::int64_t,
                           const std::function<std::unique_ptr<Sink<double>>()>&);
template void score_token_pairs(const Scoring<float>&, const std::int64_t*, const std::int64_t*, std::int64_t,
                                const Execution&, float*);
template void score_token_pairs(const Scoring<double>&, const std::int64_t*, const std::int64_t*, std::int64_t,
                                const Execution&, double*);

}  // namespace truerank
