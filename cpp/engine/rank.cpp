#include "engine/rank.hpp"

#include <numeric>

#include "engine/ranker.hpp"
#include "engine/scan_body.hpp"
#include "engine/settle_body.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

// Sorts tasks by row, candidates and filter. Returns where those of each row and list of candidates start, and the end.
std::vector<std::int64_t> group_tasks(const Tasks& tasks, const Selection& filter, const Selection& candidates,
                                      std::vector<std::int64_t>& order) {
    order.resize(static_cast<std::size_t>(tasks.size));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto row = [&](std::int64_t task) { return tasks.rows[task]; };
    const auto list = [](const Selection& selection, std::int64_t task) {
        return selection ? selection.list(task) : 0;
    };
    const auto before = [&](std::int64_t a, std::int64_t b) {
        if (row(a) != row(b)) return row(a) < row(b);
        if (list(candidates, a) != list(candidates, b)) return list(candidates, a) < list(candidates, b);
        if (list(filter, a) != list(filter, b)) return list(filter, a) < list(filter, b);
        return a < b;
    };
    if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
    std::vector<std::int64_t> starts;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const bool same =
            i > 0 && row(order[i]) == row(order[i - 1]) && list(candidates, order[i]) == list(candidates, order[i - 1]);
        if (!same) starts.push_back(static_cast<std::int64_t>(i));
    }
    starts.push_back(tasks.size);
    return starts;
}

}  // namespace

template <class T>
Plan Ranker<T>::make_plan(int threads) const {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const bool own_lists = candidates_ && !candidates_.shared;
    Plan plan;
    plan.row_length = own_lists ? candidates_.longest : candidates_of(0);
    plan.column_major = reader_.contiguous_columns() && !candidates_ && !counts_.audit();
    plan.single_tasks = reader_.contiguous_rows() && !candidates_ && !counts_.audit() && groups() == tasks_.size;
    plan.groups_at_once =
        reader_.column_major() && !reader_.contiguous_rows() && !own_lists ? divide_up(kLineBytes, size) : 1;

    const std::int64_t average = own_lists ? divide_up(candidates_.entries, candidates_.size) : plan.row_length;
    const std::int64_t row_bytes = std::max<std::int64_t>(size, average * size);
    const std::int64_t depth = tasks_.size / groups();
    // As a float, since the product may be more than an integer holds.
    const double bytes =
        static_cast<double>(groups()) * static_cast<double>(row_bytes) * static_cast<double>(1 + depth / 8);
    plan.serial = bytes < measured::kSerialBytes;
    plan.duration = bytes < measured::kBriefBytes ? Duration::brief : Duration::any;

    if (plan.column_major) {
        // Strips of about the same height. Where rows have several tasks, strips are low, so that columns stay in the
        // cache while the tasks pass over them.
        const auto most = static_cast<std::int64_t>(kernels_.max_lanes) / (groups() == tasks_.size ? 1 : 8);
        const int team = threads > 0 ? threads : default_threads();
        std::int64_t strips = divide_up(scores_.rows, most);
        // Chunks are as large as the number of threads allows: in each, the true scores of all lanes are read, and
        // their counts added up. But large chunks are cut, so that a stop is soon noticed.
        const bool whole_strips = team == 1 || strips >= 4 * team;
        if (whole_strips) strips = divide_up(strips, team) * team;
        plan.chunk_groups = divide_up(divide_up(scores_.rows, strips), kLineBytes) * kLineBytes;
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
    const std::int64_t extent = plan.column_major ? row(group(groups() - 1)[0]) + 1 : groups();
    plan.chunks = divide_up(extent, plan.chunk_groups) * plan.chunks_per_row;
    return plan;
}

template <class T>
std::int64_t Ranker<T>::first_group_from(std::int64_t wanted_row) const {
    std::int64_t low = 0, high = groups();
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (row(group(middle)[0]) < wanted_row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

template <class T>
Fault Ranker<T>::run(int threads, bool (*interrupted)()) {
    if (tasks_.size == 0) return {};
    if (tasks_.rows != nullptr) starts_ = group_tasks(tasks_, filter_, candidates_, order_);
    if (counts_.audit()) {
        best_.assign(static_cast<std::size_t>(tasks_.size), rules_.ascending ? Order<T>::top() : Order<T>::bottom());
        at_best_.assign(static_cast<std::size_t>(tasks_.size), 0);
    }

    const auto later = [](const Fault& a, const Fault& b) { return precedes(b, a) ? b : a; };

    const Plan plan = make_plan(threads);
    const Team team(plan.serial ? 1 : threads, plan.chunks, plan.duration);
    std::vector<Worker> workers(static_cast<std::size_t>(team.size()));
    const bool whole_rows = plan.chunks_per_row == 1;
    // The first number that is written for a task sets its pages up, which is left to all threads where that is easy.
    if (!tasks_.is_partial() && !(plan.single_tasks && whole_rows)) {
        std::fill_n(counts_.above, tasks_.size, 0);
        std::fill_n(counts_.tied, tasks_.size, 0);
    }
    parallel_for(team, plan.chunks, interrupted, [&](std::int64_t chunk, int id, Stop& stop) {
        Worker& worker = workers[static_cast<std::size_t>(id)];
        worker.stop = &stop;
        worker.is_caller = id == 0;
        const std::int64_t begin = chunk % plan.chunks_per_row * plan.chunk_columns;
        const std::int64_t end = std::min(plan.row_length, begin + plan.chunk_columns);
        const std::int64_t first = chunk / plan.chunks_per_row * plan.chunk_groups;
        if (plan.column_major) {
            scan_column_major(worker, plan, first, begin, end, whole_rows);
        } else {
            scan_rows(worker, plan, first, std::min(groups(), first + plan.chunk_groups), begin, end, whole_rows);
        }
    });
    if (!whole_rows) {
        const std::int64_t groups_per_chunk = 64;
        parallel_for(
            team, divide_up(groups(), groups_per_chunk), interrupted, [&](std::int64_t chunk, int id, Stop& stop) {
                Worker& worker = workers[static_cast<std::size_t>(id)];
                worker.stop = &stop;
                worker.is_caller = id == 0;
                finish_groups(worker, chunk * groups_per_chunk, std::min(groups(), (chunk + 1) * groups_per_chunk));
            });
    }
    Fault fault;
    for (const Worker& worker : workers) fault = later(fault, worker.fault);
    return locate_fault(fault);
}

namespace {

template <class T>
struct Run {
    static Fault rank(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
                      const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts) {
        return Ranker<T>(scores, tasks, filter, candidates, rules, counts).run(threads, interrupted);
    }
    static KeyRange keys(const Scores& column, std::int64_t* keys) {
        const Reader<T> reader(column);
        for (std::int64_t row = 0; row < column.rows; ++row) keys[row] = Order<T>::key(reader.load(row, 0));
        return {Order<T>::bottom(), Order<T>::top(), has_nan<T>};
    }
};

}  // namespace

Fault rank(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
           const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts) {
    using Entry = Fault (*)(const Scores&, const Tasks&, const Selection&, const Selection&, const Rules&, int,
                            bool (*)(), const Counts&);
    // In the order of DType.
    static constexpr Entry table[] = {
        Run<Half>::rank,         Run<BFloat16>::rank,      Run<float>::rank,         Run<double>::rank,
        Run<std::int8_t>::rank,  Run<std::int16_t>::rank,  Run<std::int32_t>::rank,  Run<std::int64_t>::rank,
        Run<std::uint8_t>::rank, Run<std::uint16_t>::rank, Run<std::uint32_t>::rank, Run<std::uint64_t>::rank,
    };
    return table[static_cast<int>(scores.dtype)](scores, tasks, filter, candidates, rules, threads, interrupted,
                                                 counts);
}

KeyRange keys_of(const Scores& column, std::int64_t* keys) {
    using Entry = KeyRange (*)(const Scores&, std::int64_t*);
    static constexpr Entry table[] = {
        Run<Half>::keys,         Run<BFloat16>::keys,      Run<float>::keys,         Run<double>::keys,
        Run<std::int8_t>::keys,  Run<std::int16_t>::keys,  Run<std::int32_t>::keys,  Run<std::int64_t>::keys,
        Run<std::uint8_t>::keys, Run<std::uint16_t>::keys, Run<std::uint32_t>::keys, Run<std::uint64_t>::keys,
    };
    return table[static_cast<int>(column.dtype)](column, keys);
}

}  // namespace truerank
