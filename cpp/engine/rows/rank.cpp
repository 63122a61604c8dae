#include "engine/rows/rank.hpp"

#include <algorithm>
#include <tuple>
#include <variant>
#include <vector>

#include "engine/rows/row_counting.hpp"
#include "engine/rows/row_finish.hpp"
#include "engine/rows/row_problem.hpp"
#include "engine/threads.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) { return divide_up(n, unit) * unit; }

// The height of a chunk, as in Plan, and how many chunks a row is cut into, if there are so many columns.
struct Cut {
    std::int64_t height;
    std::int64_t chunks_per_row = 1;
};

// Where columns are contiguous, a chunk is a strip of rows, all of about the same height, or some columns of one.
template <class T>
Cut cut_strips(const RowProblem<T>& p, std::int64_t row_bytes, int threads) {
    constexpr std::int64_t strips_per_thread = 4, chunks_per_thread = 8;
    // Where rows have several tasks, strips are low, so that columns stay in the cache while the tasks pass over them.
    const std::int64_t lanes_at_once = static_cast<std::int64_t>(p.kernels.max_lanes) / (p.has_single_tasks() ? 1 : 8);
    const int team = threads > 0 ? threads : default_threads();
    const std::int64_t fewest_strips = divide_up(p.scores.rows, lanes_at_once);
    // Chunks are as large as the number of threads allows: in each, the true scores of all lanes are read, and their
    // counts added up.
    const bool are_enough = team == 1 || fewest_strips >= strips_per_thread * team;
    const std::int64_t strips = are_enough ? round_up(fewest_strips, team) : fewest_strips;
    Cut cut{.height = round_up(divide_up(p.scores.rows, strips), kLineBytes)};
    const std::int64_t strip_bytes = cut.height * row_bytes;
    if (!are_enough) {
        cut.chunks_per_row =
            std::min(divide_up(chunks_per_thread * team, strips), divide_up(strip_bytes, measured::kChunkBytes));
    }
    // But large chunks are cut, so that a stop is soon noticed.
    cut.chunks_per_row = std::max(cut.chunks_per_row, divide_up(strip_bytes, 64 * measured::kChunkBytes));
    return cut;
}

// Elsewhere a chunk is some rows or, of rows that are long and of one length, some columns.
template <class T>
Cut cut_rows(const RowProblem<T>& p, std::int64_t row_bytes, std::int64_t groups_at_once) {
    const std::int64_t bytes_at_once = row_bytes * groups_at_once;
    const bool is_long = !p.has_own_lists() && bytes_at_once >= 2 * measured::kChunkBytes;
    if (is_long) return {groups_at_once, divide_up(bytes_at_once, measured::kChunkBytes)};
    // Rows that several tasks read are more work: threads end at the same time if a chunk has fewer of them.
    const std::int64_t chunk_bytes = measured::kChunkBytes / (p.has_single_tasks() ? 1 : 8);
    return {groups_at_once * std::max<std::int64_t>(1, chunk_bytes / bytes_at_once)};
}

// Whether tasks that have rows of their own share so many candidates that whole rows are read.
template <class T>
bool marks_candidates(const RowProblem<T>& p) {
    const bool may_mark = p.candidates && !p.has_own_lists() && !p.candidates.ranges && !p.audit;
    const bool may_read_rows = p.reader.contiguous_rows() && p.has_single_tasks() && p.groups() >= measured::kFewRows;
    const std::int64_t row_bytes = p.scores.columns * static_cast<std::int64_t>(sizeof(T));
    return may_mark && may_read_rows && row_bytes / measured::kBytesPerCandidate <= p.candidates_of(0);
}

template <class T>
std::int64_t mean_row_bytes(const RowProblem<T>& p, std::int64_t row_length) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t mean_length =
        p.has_own_lists() ? divide_up(p.candidates.entries, p.candidates.size) : row_length;
    return std::max<std::int64_t>(size, mean_length * size);
}

// Plans how rows are read, and how the work of a call is cut into chunks.
template <class T>
Plan make_plan(const RowProblem<T>& p, int threads) {
    Plan plan;
    plan.marks_candidates = marks_candidates(p);
    const std::int64_t shared_length = plan.marks_candidates ? p.scores.columns : p.candidates_of(0);
    plan.row_length = p.has_own_lists() ? p.candidates.longest : shared_length;
    const bool all_columns = !p.candidates && !p.audit;
    plan.column_major = p.reader.contiguous_columns() && all_columns;
    plan.single_tasks = plan.marks_candidates || (p.reader.contiguous_rows() && all_columns && p.has_single_tasks());
    const bool shares_lines = p.reader.column_major() && !p.reader.contiguous_rows() && !p.has_own_lists();
    if (shares_lines) plan.groups_at_once = divide_up(kLineBytes, static_cast<std::int64_t>(sizeof(T)));

    // As many bytes as are read, and as many again for every eight tasks of a row. As a float, since the product may be
    // more than an integer holds.
    const std::int64_t row_bytes = mean_row_bytes(p, plan.row_length), tasks_per_group = p.tasks.size / p.groups();
    const double work =
        static_cast<double>(p.groups()) * static_cast<double>(row_bytes) * static_cast<double>(1 + tasks_per_group / 8);
    plan.serial = work < measured::kSerialBytes;
    plan.duration = work < measured::kBriefBytes ? Duration::brief : Duration::any;

    const Cut cut = plan.column_major ? cut_strips(p, row_bytes, threads) : cut_rows(p, row_bytes, plan.groups_at_once);
    plan.chunk_height = cut.height;
    // Chunks of part of a row have whole cache lines, or whole visits.
    const std::int64_t unit = plan.column_major ? kColumnsPerPass : 64;
    plan.chunk_columns = round_up(divide_up(std::max<std::int64_t>(plan.row_length, 1), cut.chunks_per_row), unit);
    plan.chunks_per_row = std::max<std::int64_t>(1, divide_up(plan.row_length, plan.chunk_columns));
    const std::int64_t last_row = p.row(p.group(p.groups() - 1)[0]);
    const std::int64_t height = plan.column_major ? last_row + 1 : p.groups();
    plan.chunks = divide_up(height, plan.chunk_height) * plan.chunks_per_row;
    return plan;
}

// The first of some columns, ascending, that is before `end` and a candidate of a task; `end` if none is.
template <class T>
std::int64_t first_candidate_among(const RowProblem<T>& p, std::int64_t task, const std::vector<std::int64_t>& some,
                                   std::int64_t end) {
    // Where a row has many lists, each looks only from its first candidate to its last one.
    const ListedColumns columns = p.candidate_columns(task);
    if (columns.size == 0) return end;
    const auto from = std::lower_bound(some.begin(), some.end(), columns(0));
    const auto to = std::lower_bound(from, some.end(), std::min(end, columns(columns.size - 1) + 1));
    const auto first = std::find_if(from, to, [&](std::int64_t column) { return p.is_candidate(task, column); });
    return first == to ? end : *first;
}

// The first NaN among the candidates of a row's tasks, true scores included, or the number of columns. Takes time in
// proportion to the row and the lists of its tasks.
template <class T>
std::int64_t find_nan(const RowProblem<T>& p, std::int64_t row, bool only_true_scores) {
    const auto is_nan = [&](std::int64_t column) { return p.is_nan(p.reader.load(row, column)); };
    const std::int64_t first = p.first_group_from(row), last = p.first_group_from(row + 1);
    std::int64_t first_nan = p.scores.columns;
    if (!p.tasks.is_partial()) {
        for (std::int64_t g = first; g < last; ++g) {
            const TaskIds ids = p.group(g);
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const std::int64_t target = p.target_column(ids[i]);
                if (target < first_nan && is_nan(target)) first_nan = target;
            }
        }
    }
    if (only_true_scores) return first_nan;
    std::vector<std::int64_t> nans;
    for (std::int64_t column = 0; column < first_nan; ++column) {
        if (is_nan(column)) nans.push_back(column);
    }
    // Tasks of a row with the same lists come one after the other. Partial counts leave each one's target out.
    std::int64_t previous = -1;
    for (std::int64_t g = first; g < last; ++g) {
        const TaskIds ids = p.group(g);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const std::int64_t task = ids[i];
            const bool has_same_lists = previous >= 0 && p.candidates.list(task) == p.candidates.list(previous) &&
                                        p.filter.list(task) == p.filter.list(previous);
            previous = task;
            if (has_same_lists && !p.tasks.is_partial()) continue;
            first_nan = first_candidate_among(p, task, nans, first_nan);
        }
    }
    return first_nan;
}

template <class T>
Fault rank_as(const RowProblem<T>& problem, const Counts& counts, int threads, bool (*interrupted)()) {
    const Tasks& tasks = problem.tasks;
    if (tasks.size == 0) return {};
    const Plan plan = make_plan(problem, threads);
    RowTotals<T> totals(problem, counts);
    RowFinish<T> finish(problem, totals);
    RowCounting<T> counting(problem, plan, totals, finish);

    const Team team(plan.serial ? 1 : threads, plan.chunks, plan.duration);
    std::vector<RankWorker<T>> workers(static_cast<std::size_t>(team.size()));
    // The first number that is written for a task sets its pages up, which is left to all threads where that is easy.
    const bool starts_at_zero = tasks.is_partial() ? counts.are_new : !(plan.single_tasks && plan.whole_rows());
    if (starts_at_zero && !counting.has_short_rows()) counting.set_to_zero(0, tasks.size);
    const auto for_chunks = [&](std::int64_t chunks, const auto& work) {
        parallel_for(team, chunks, interrupted, [&](std::int64_t chunk, int id, Stop& stop) {
            RankWorker<T>& worker = workers[static_cast<std::size_t>(id)];
            worker.stop = &stop;
            worker.is_caller = id == 0;
            work(worker, chunk);
        });
    };
    for_chunks(plan.chunks, [&](RankWorker<T>& worker, std::int64_t chunk) { counting.scan(worker, chunk); });
    if (!plan.whole_rows()) {
        constexpr std::int64_t at_once = 64;
        for_chunks(divide_up(problem.groups(), at_once), [&](RankWorker<T>& worker, std::int64_t chunk) {
            finish.finish_groups(worker, chunk * at_once, std::min(problem.groups(), (chunk + 1) * at_once));
        });
    }
    Fault fault;
    bool has_masked = !counting.has_short_rows();
    for (const RankWorker<T>& worker : workers) {
        fault.take(worker.fault);
        has_masked |= worker.has_masked;
    }
    if (counts.may_be_masked != nullptr) *counts.may_be_masked = has_masked;
    const bool is_nan = fault.kind == Fault::Kind::nan_score || fault.kind == Fault::Kind::nan_true_score;
    if (is_nan) fault.column = find_nan(problem, fault.row, fault.kind == Fault::Kind::nan_true_score);
    return fault;
}

// The kernels for a type: types of one size have kernels of one type.
using AnyKernels = std::variant<CountKernels<std::uint8_t>, CountKernels<std::uint16_t>, CountKernels<std::uint32_t>,
                                CountKernels<std::uint64_t>>;
template <class T>
AnyKernels find_kernels() {
    return count_kernels<T>();
}
constexpr AnyKernels (*kKernels[])() = {
    // in the order of DType
    find_kernels<Half>,         find_kernels<BFloat16>,      find_kernels<float>,         find_kernels<double>,
    find_kernels<std::int8_t>,  find_kernels<std::int16_t>,  find_kernels<std::int32_t>,  find_kernels<std::int64_t>,
    find_kernels<std::uint8_t>, find_kernels<std::uint16_t>, find_kernels<std::uint32_t>, find_kernels<std::uint64_t>};
template <class Use>
auto with_kernels(DType dtype, const Use& use) {
    return std::visit(use, kKernels[static_cast<int>(dtype)]());
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
