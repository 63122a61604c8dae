#include "engine/rank.hpp"

#include <algorithm>
#include <compare>
#include <set>
#include <tuple>
#include <vector>

#include "engine/row_counting.hpp"
#include "engine/row_finish.hpp"
#include "engine/row_problem.hpp"
#include "engine/threads.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

// How the work of a call is cut into chunks.
template <class T>
Plan make_plan(const RowProblem<T>& p, int threads) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const bool own_lists = p.candidates && !p.candidates.shared;
    Plan plan;
    plan.row_length = own_lists ? p.candidates.longest : p.candidates_of(0);
    plan.column_major = p.reader.contiguous_columns() && !p.candidates && !p.audit;
    plan.single_tasks = p.reader.contiguous_rows() && !p.candidates && !p.audit && p.groups() == p.tasks.size;
    plan.groups_at_once =
        p.reader.column_major() && !p.reader.contiguous_rows() && !own_lists ? divide_up(kLineBytes, size) : 1;

    const std::int64_t average = own_lists ? divide_up(p.candidates.entries, p.candidates.size) : plan.row_length;
    const std::int64_t row_bytes = std::max<std::int64_t>(size, average * size);
    const std::int64_t depth = p.tasks.size / p.groups();
    // As a float, since the product may be more than an integer holds.
    const double bytes =
        static_cast<double>(p.groups()) * static_cast<double>(row_bytes) * static_cast<double>(1 + depth / 8);
    plan.serial = bytes < measured::kSerialBytes;
    plan.duration = bytes < measured::kBriefBytes ? Duration::brief : Duration::any;

    if (plan.column_major) {
        // Strips of about the same height. Where rows have several tasks, strips are low, so that columns stay in the
        // cache while the tasks pass over them.
        const auto most = static_cast<std::int64_t>(p.kernels.max_lanes) / (p.groups() == p.tasks.size ? 1 : 8);
        const int team = threads > 0 ? threads : default_threads();
        std::int64_t strips = divide_up(p.scores.rows, most);
        // Chunks are as large as the number of threads allows: in each, the true scores of all lanes are read, and
        // their counts added up. But large chunks are cut, so that a stop is soon noticed.
        const bool whole_strips = team == 1 || strips >= 4 * team;
        if (whole_strips) strips = divide_up(strips, team) * team;
        plan.chunk_groups = divide_up(divide_up(p.scores.rows, strips), kLineBytes) * kLineBytes;
        const std::int64_t bytes = plan.chunk_groups * row_bytes;
        plan.chunks_per_row =
            std::max(divide_up(bytes, 64 * measured::kChunkBytes),
                     whole_strips ? 1 : std::min(divide_up(8 * team, strips), divide_up(bytes, measured::kChunkBytes)));
    } else if (!own_lists && row_bytes * plan.groups_at_once >= 2 * measured::kChunkBytes) {
        plan.chunk_groups = plan.groups_at_once;
        plan.chunks_per_row = divide_up(row_bytes * plan.groups_at_once, measured::kChunkBytes);
    } else {
        plan.chunk_groups =
            plan.groups_at_once * std::max<std::int64_t>(1, measured::kChunkBytes / (row_bytes * plan.groups_at_once));
    }
    // A chunk has whole cache lines, or whole visits.
    const std::int64_t unit = plan.column_major ? 5 * static_cast<std::int64_t>(measured::kColumnsPerVisit) : 64;
    plan.chunk_columns =
        divide_up(divide_up(std::max<std::int64_t>(plan.row_length, 1), plan.chunks_per_row), unit) * unit;
    plan.chunks_per_row = std::max<std::int64_t>(1, divide_up(plan.row_length, plan.chunk_columns));
    const std::int64_t extent = plan.column_major ? p.row(p.group(p.groups() - 1)[0]) + 1 : p.groups();
    plan.chunks = divide_up(extent, plan.chunk_groups) * plan.chunks_per_row;
    return plan;
}

template <class T>
bool is_nan(const RowProblem<T>& p, std::int64_t row, std::int64_t column) {
    return p.is_nan(p.reader.load(row, column));
}

// The first target of a row's tasks whose score is NaN; else the number of columns.
template <class T>
std::int64_t first_nan_target(const RowProblem<T>& p, std::int64_t row) {
    std::int64_t first = p.scores.columns;
    for (std::int64_t task = 0; task < p.tasks.size; ++task) {
        if (p.row(task) == row && is_nan(p, row, p.target_column(task))) first = std::min(first, p.target_column(task));
    }
    return first;
}

// What says which columns of its row are the candidates of a task. Tasks of a row often share it.
struct CandidateLists {
    std::int64_t candidates, filter;  // the numbers of its lists
    std::int64_t target;              // in partial counts, which leave it out; else -1
    auto operator<=>(const CandidateLists&) const = default;
};

// The first NaN among the candidates of a row's tasks that stands before a column; else that column. Takes time in
// proportion to the row and the lists of its tasks.
template <class T>
std::int64_t first_nan_candidate(const RowProblem<T>& p, std::int64_t row, std::int64_t end) {
    std::vector<std::int64_t> nans;
    for (std::int64_t column = 0; column < end; ++column) {
        if (is_nan(p, row, column)) nans.push_back(column);
    }
    std::set<CandidateLists> lists_of_tasks;
    for (std::int64_t task = 0; task < p.tasks.size; ++task) {
        if (p.row(task) != row) continue;
        const bool is_left_out = p.tasks.is_partial() && p.has_target(task);
        lists_of_tasks.insert({p.candidates ? p.candidates.list(task) : 0, p.filter ? p.filter.list(task) : 0,
                               is_left_out ? p.target_column(task) : -1});
    }
    const std::int64_t first_column = p.tasks.first_column;
    for (const CandidateLists& lists : lists_of_tasks) {
        // Where a row has many lists, each looks only at the NaN from its first candidate to its last one.
        std::int64_t begin = 0, last = end - 1;
        if (p.candidates) {
            if (p.candidates.length(lists.candidates) == 0) continue;
            const std::int64_t* const indptr = p.candidates.indptr + lists.candidates;
            begin = p.candidates.column(indptr[0]) - first_column;
            last = std::min(last, p.candidates.column(indptr[1] - 1) - first_column);
        }
        const auto is_candidate = [&](std::int64_t column) {
            if (column == lists.target) return false;
            if (p.filter && p.filter.has(lists.filter, column + first_column)) return false;
            return !p.candidates || p.candidates.has(lists.candidates, column + first_column);
        };
        auto nan = std::lower_bound(nans.begin(), nans.end(), begin);
        while (nan != nans.end() && *nan <= last && !is_candidate(*nan)) ++nan;
        if (nan != nans.end() && *nan <= last) end = *nan;
    }
    return end;
}

// Finds the first column of a fault whose row is known.
template <class T>
Fault locate_fault(const RowProblem<T>& p, Fault fault) {
    if (fault.kind != Fault::Kind::nan_score && fault.kind != Fault::Kind::nan_true_score) return fault;
    fault.column = p.tasks.is_partial() ? p.scores.columns : first_nan_target(p, fault.row);
    if (fault.kind == Fault::Kind::nan_score) fault.column = first_nan_candidate(p, fault.row, fault.column);
    return fault;
}

template <class T>
Fault rank_as(const RowProblem<T>& problem, const Counts& counts, int threads, bool (*interrupted)()) {
    const Tasks& tasks = problem.tasks;
    if (tasks.size == 0) return {};
    RowTotals<T> totals(problem, counts);
    RowFinish<T> finish(problem, totals);
    RowCounting<T> counting(problem, totals, finish);

    const Plan plan = make_plan(problem, threads);
    const Team team(plan.serial ? 1 : threads, plan.chunks, plan.duration);
    std::vector<RankWorker<T>> workers(static_cast<std::size_t>(team.size()));
    const bool whole_rows = plan.chunks_per_row == 1;
    // The first number that is written for a task sets its pages up, which is left to all threads where that is easy.
    if (!tasks.is_partial() && !(plan.single_tasks && whole_rows)) {
        std::fill_n(counts.above, tasks.size, 0);
        std::fill_n(counts.tied, tasks.size, 0);
    }
    parallel_for(team, plan.chunks, interrupted, [&](std::int64_t chunk, int id, Stop& stop) {
        RankWorker<T>& worker = workers[static_cast<std::size_t>(id)];
        worker.stop = &stop;
        worker.is_caller = id == 0;
        const std::int64_t begin = chunk % plan.chunks_per_row * plan.chunk_columns;
        const std::int64_t end = std::min(plan.row_length, begin + plan.chunk_columns);
        const std::int64_t first = chunk / plan.chunks_per_row * plan.chunk_groups;
        if (plan.column_major) {
            counting.scan_column_major(worker, plan, first, begin, end, whole_rows);
        } else {
            counting.scan_rows(worker, plan, first, std::min(problem.groups(), first + plan.chunk_groups), begin, end,
                               whole_rows);
        }
    });
    if (!whole_rows) {
        const std::int64_t groups_per_chunk = 64;
        parallel_for(team, divide_up(problem.groups(), groups_per_chunk), interrupted,
                     [&](std::int64_t chunk, int id, Stop& stop) {
                         RankWorker<T>& worker = workers[static_cast<std::size_t>(id)];
                         worker.stop = &stop;
                         worker.is_caller = id == 0;
                         finish.finish_groups(worker, chunk * groups_per_chunk,
                                              std::min(problem.groups(), (chunk + 1) * groups_per_chunk));
                     });
    }
    Fault fault;
    for (const RankWorker<T>& worker : workers) fault.take(worker.fault);
    return locate_fault(problem, fault);
}

// Calls `use` with the kernels for a type: with the same ones for all types of one size, as far as the compiler knows.
template <class Use>
auto with_kernels(DType dtype, const Use& use) {
    switch (dtype) {
        case DType::float16:
            return use(count_kernels<Half>());
        case DType::bfloat16:
            return use(count_kernels<BFloat16>());
        case DType::float32:
            return use(count_kernels<float>());
        case DType::float64:
            return use(count_kernels<double>());
        case DType::int8:
            return use(count_kernels<std::int8_t>());
        case DType::int16:
            return use(count_kernels<std::int16_t>());
        case DType::int32:
            return use(count_kernels<std::int32_t>());
        case DType::int64:
            return use(count_kernels<std::int64_t>());
        case DType::uint8:
            return use(count_kernels<std::uint8_t>());
        case DType::uint16:
            return use(count_kernels<std::uint16_t>());
        case DType::uint32:
            return use(count_kernels<std::uint32_t>());
        case DType::uint64:
            break;
    }
    return use(count_kernels<std::uint64_t>());
}

}  // namespace

void Fault::take(const Fault& other) {
    const auto place = [](const Fault& fault) {
        const bool is_target = fault.kind == Kind::not_a_candidate;
        return std::tuple(fault.kind, is_target ? fault.task : fault.row, fault.column);
    };
    if (other && (!*this || place(other) < place(*this))) *this = other;
}

Fault rank(const Scores& scores, const Tasks& tasks, const Rules& rules, int threads, bool (*interrupted)(),
           const Counts& counts) {
    return with_kernels(scores.dtype, [&]<class T>(const CountKernels<T>& kernels) {
        return rank_as<T>({kernels, scores, tasks, rules, counts.audit()}, counts, threads, interrupted);
    });
}

KeyRange keys_of(const Scores& column, std::int64_t* keys) {
    return with_kernels(column.dtype, [&]<class T>(const CountKernels<T>& kernels) -> KeyRange {
        const Reader<T> reader(column);
        const BitOrder<T>& order = kernels.order;
        for (std::int64_t row = 0; row < column.rows; ++row) keys[row] = order.key(reader.load(row, 0));
        return {order.bottom, order.top, order.floating};
    });
}

}  // namespace truerank
