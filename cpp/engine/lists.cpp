#include "engine/lists.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

#include "engine/threads.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

constexpr std::int64_t kChunkEntries = 1 << 14;
constexpr std::int64_t kMostListsPerChunk = 1 << 12;

// The places of the ids of one list: open addressing, at most half full.
class PlaceTable {
  public:
    void clear(std::int64_t entries) {
        const auto size = std::bit_ceil(static_cast<std::size_t>(std::max<std::int64_t>(entries, 8)) * 2);
        slots_.assign(size, Slot{});
        mask_ = size - 1;
    }
    // Enters an id, which is not negative; returns its earlier place, or -1.
    std::int64_t enter(std::int64_t id, std::int64_t place) {
        Slot& slot = slots_[find(id)];
        if (slot.id == id) return slot.place;
        slot = {id, place};
        return -1;
    }
    std::int64_t place(std::int64_t id) const {
        const Slot& slot = slots_[find(id)];
        return slot.id == id ? slot.place : -1;
    }

  private:
    struct Slot {
        std::int64_t id = -1;
        std::int64_t place = -1;
    };
    std::size_t find(std::int64_t id) const {
        std::uint64_t hash = static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
        std::size_t at = static_cast<std::size_t>(hash) & mask_;
        while (slots_[at].id != id && slots_[at].id >= 0) at = (at + 1) & mask_;
        return at;
    }
    std::vector<Slot> slots_;
    std::size_t mask_ = 0;
};

// Appends the places of the filtered ids of a task, ascending.
void find_filtered(const Selection& lists, std::int64_t list, const PlaceTable& table, const Selection& filter,
                   std::int64_t filter_list, std::int64_t target, std::vector<std::int64_t>& places) {
    const std::int64_t begin = lists.indptr[list], end = lists.indptr[list + 1];
    if (filter.length(filter_list) > measured::kLongFilter * (end - begin)) {
        for (std::int64_t place = begin; place < end; ++place) {
            const std::int64_t id = lists.column(place);
            if (id != target && filter.has(filter_list, id)) places.push_back(place);
        }
        return;
    }
    const auto first = static_cast<std::ptrdiff_t>(places.size());
    for (std::int64_t at = filter.indptr[filter_list]; at < filter.indptr[filter_list + 1]; ++at) {
        const std::int64_t id = filter.column(at);
        if (id < 0 || id == target) continue;  // another thread may have written to the filter
        if (const std::int64_t place = table.place(id); place >= 0) places.push_back(place);
    }
    std::sort(places.begin() + first, places.end());
}

}  // namespace

ListFault find_listed(const Selection& lists, std::int64_t bound, const ListTasks& tasks, const Selection& filter,
                      int threads, bool (*interrupted)(), const ListedTasks& found,
                      std::vector<std::int64_t>& filtered_places) {
    const std::int64_t mean_length = std::max<std::int64_t>(1, lists.entries / std::max<std::int64_t>(1, lists.size));
    const std::int64_t per_chunk = std::clamp<std::int64_t>(kChunkEntries / mean_length, 1, kMostListsPerChunk);
    const std::int64_t chunks = divide_up(lists.size, per_chunk);
    const Team team(chunks < 4 ? 1 : threads, chunks);
    std::vector<PlaceTable> tables(static_cast<std::size_t>(team.size()));
    std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(chunks));
    std::vector<ListFault> faults(static_cast<std::size_t>(chunks));
    std::atomic<std::int64_t> first_fault{std::numeric_limits<std::int64_t>::max()};  // its chunk
    parallel_for(team, chunks, interrupted, [&](std::int64_t chunk, int worker, Stop& stop) {
        if (chunk > first_fault.load(std::memory_order_relaxed)) return;
        PlaceTable& table = tables[static_cast<std::size_t>(worker)];
        std::vector<std::int64_t>& chunk_places = places[static_cast<std::size_t>(chunk)];
        const std::int64_t first = chunk * per_chunk, last = std::min(lists.size, first + per_chunk);
        std::int64_t task = std::lower_bound(tasks.lists, tasks.lists + tasks.size, first) - tasks.lists;
        for (std::int64_t list = first; list < last; ++list) {
            const std::int64_t begin = lists.indptr[list], end = lists.indptr[list + 1];
            table.clear(end - begin);
            if (stop.requested(worker == 0, 16)) return;
            for (std::int64_t place = begin; place < end; ++place) {
                if ((place - begin) % kChunkEntries == 0 && stop.requested(worker == 0, 16 * kChunkEntries)) return;
                const std::int64_t id = lists.column(place);
                const bool outside = id < 0 || id >= bound;
                const std::int64_t earlier = outside ? -1 : table.enter(id, place);
                if (!outside && earlier < 0) continue;
                faults[static_cast<std::size_t>(chunk)] = {place, earlier};
                std::int64_t before = first_fault.load();
                while (chunk < before && !first_fault.compare_exchange_weak(before, chunk)) {
                }
                return;
            }
            for (; task < tasks.size && tasks.lists[task] == list; ++task) {
                const std::int64_t target = tasks.targets[task], place = table.place(target);
                const std::size_t start = chunk_places.size();
                found.place[task] = place;
                found.filtered[task] = 0;
                if (filter) {
                    const std::int64_t filter_list = filter.list(task), length = filter.length(filter_list);
                    if (stop.requested(worker == 0, 16 * std::min(length, measured::kLongFilter * (end - begin))))
                        return;
                    found.filtered[task] = length - (filter.has(filter_list, target) ? 1 : 0);
                    find_filtered(lists, list, table, filter, filter_list, target, chunk_places);
                }
                found.places[task] = static_cast<std::int64_t>(chunk_places.size() - start);
                const auto task_places = chunk_places.begin() + static_cast<std::ptrdiff_t>(start);
                found.before[task] = place < 0 ? found.places[task]
                                               : std::lower_bound(task_places, chunk_places.end(), place) - task_places;
            }
        }
    });
    for (const ListFault& fault : faults) {
        if (fault.place >= 0) return fault;
    }
    std::size_t total = 0;
    for (const auto& chunk_places : places) total += chunk_places.size();
    filtered_places.reserve(total);
    for (auto& chunk_places : places) {
        filtered_places.insert(filtered_places.end(), chunk_places.begin(), chunk_places.end());
        std::vector<std::int64_t>().swap(chunk_places);
    }
    return {};
}

}  // namespace truerank
