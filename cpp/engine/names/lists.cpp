#include "engine/names/lists.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "engine/names/hash_table.hpp"
#include "engine/threads.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

constexpr std::int64_t kChunkEntries = 1 << 14;
constexpr std::int64_t kMostListsPerChunk = 1 << 12;
constexpr std::int64_t kMostTableIds = 1 << 18;  // A table of so many is in the cache.
constexpr std::int64_t kBriefEntries = 1 << 22;  // They take some ten milliseconds.

// The places of the ids of one list: in a table of all ids where these are few, else by hashing.
class ListedIds {
    auto is_at(std::int64_t id) const {
        return [this, id](std::int64_t place) { return lists_->column(begin_ + place) == id; };
    }
    const Selection* lists_ = nullptr;
    std::int64_t begin_ = 0;
    PlaceTable places_;
    std::vector<std::int64_t> last_places_;  // of each id; those before begin_ are of lists that were here earlier

  public:
    // Takes another list, behind those before, whose ids below `bound` are then added one after another.
    void start(const Selection& lists, std::int64_t list, std::int64_t bound) {
        lists_ = &lists;
        begin_ = lists.indptr[list];
        if (bound <= std::min(kMostTableIds, lists.entries)) {
            last_places_.resize(static_cast<std::size_t>(bound), -1);
        } else {
            places_.clear(2 * static_cast<std::size_t>(lists.length(list)));
        }
    }
    // Adds the id at a place; returns the first place that the list has it at.
    std::int64_t add(std::int64_t id, std::int64_t place) {
        if (last_places_.empty()) return begin_ + places_.place_or_add(hash_of(id), place - begin_, is_at(id));
        std::int64_t& last_place = last_places_[static_cast<std::size_t>(id)];
        if (last_place < begin_) last_place = place;
        return last_place;
    }
    // The place of an id, or -1.
    std::int64_t place(std::int64_t id) const {
        if (last_places_.empty()) {
            const std::int64_t place = places_.place(hash_of(id), is_at(id));
            return place < 0 ? -1 : begin_ + place;
        }
        const auto number = static_cast<std::uint64_t>(id);  // another thread may have written to it
        return number < last_places_.size() && last_places_[number] >= begin_ ? last_places_[number] : -1;
    }
};

// Appends the places of those ids of a list that are in a list of the filter, ascending.
void find_filtered(const Selection& lists, std::int64_t list, const ListedIds& listed, const Selection& filter,
                   std::int64_t filter_list, std::vector<std::int64_t>& places) {
    const std::int64_t begin = lists.indptr[list], end = lists.indptr[list + 1];
    if (filter.length(filter_list) > measured::kLongFilter * (end - begin)) {
        for (std::int64_t place = begin; place < end; ++place) {
            if (filter.has(filter_list, lists.column(place))) places.push_back(place);
        }
        return;
    }
    const auto first = static_cast<std::ptrdiff_t>(places.size());
    for (std::int64_t at = filter.indptr[filter_list]; at < filter.indptr[filter_list + 1]; ++at) {
        const std::int64_t id = filter.column(at);
        if (id < 0) continue;  // another thread may have written to the filter
        if (const std::int64_t place = listed.place(id); place >= 0) places.push_back(place);
    }
    std::sort(places.begin() + first, places.end());
}

// What a thread keeps of a list.
struct ListWorker {
    ListedIds listed;
    // Its tasks, by their lists of the filter, which are copies: another thread may write to the caller's arrays.
    std::vector<std::pair<std::int64_t, std::int64_t>> tasks;
};

struct ListCall {
    const Selection& lists;
    const ListTasks& tasks;
    const Selection& filter;
    const ListedTasks& arrays;

    std::int64_t first_task_from(std::int64_t list) const {
        return std::lower_bound(tasks.lists, tasks.lists + tasks.size, list) - tasks.lists;
    }
};

// Fills the arrays for the tasks of a list that is in the table, and appends what it filters. Returns whether it came
// to the end.
bool find_tasks(const ListCall& call, std::int64_t list, std::int64_t first, std::int64_t last, ListWorker& worker,
                FilteredPlaces& filtered, Stop& stop, bool is_caller) {
    const auto& [lists, tasks, filter, arrays] = call;
    for (std::int64_t task = first; task < last; ++task) arrays.place[task] = worker.listed.place(tasks.targets[task]);
    if (!filter) return true;
    worker.tasks.clear();
    for (std::int64_t task = first; task < last; ++task) worker.tasks.emplace_back(filter.list(task), task);
    if (!std::is_sorted(worker.tasks.begin(), worker.tasks.end())) std::sort(worker.tasks.begin(), worker.tasks.end());
    std::int64_t last_list = -1;
    for (const auto& [filter_list, task] : worker.tasks) {
        const std::int64_t length = filter.length(filter_list);
        if (filter_list != last_list) {
            const std::int64_t most = measured::kLongFilter * lists.length(list);
            if (stop.requested(is_caller, 16 * std::min(length, most))) return false;
            find_filtered(lists, list, worker.listed, filter, filter_list, filtered.places);
            filtered.indptr.push_back(static_cast<std::int64_t>(filtered.places.size()));
            last_list = filter_list;
        }
        // The target is never left out.
        const std::int64_t place = arrays.place[task];
        const bool is_named = filter.has(filter_list, tasks.targets[task]);
        const std::int64_t shared_list = std::ssize(filtered.indptr) - 2;  // the last one
        const auto begin = filtered.places.begin() + filtered.indptr[static_cast<std::size_t>(shared_list)];
        const auto end = filtered.places.end();
        arrays.shared[task] = shared_list;
        arrays.filtered[task] = length - (is_named ? 1 : 0);
        arrays.places[task] = end - begin - (is_named && place >= 0 ? 1 : 0);
        arrays.before[task] = place < 0 ? arrays.places[task] : std::lower_bound(begin, end, place) - begin;
    }
    return true;
}

// Enters the ids of a list in the table. Returns the first that is out of range or a repeat; nothing if it was stopped.
std::optional<ListFault> enter_ids(const Selection& lists, std::int64_t list, std::int64_t bound, ListedIds& listed,
                                   Stop& stop, bool is_caller) {
    listed.start(lists, list, bound);
    if (stop.requested(is_caller, 16)) return std::nullopt;
    const std::int64_t begin = lists.indptr[list], end = lists.indptr[list + 1];
    for (std::int64_t place = begin; place < end; ++place) {
        const bool polls = (place - begin) % kChunkEntries == 0;
        if (polls && stop.requested(is_caller, 16 * kChunkEntries)) return std::nullopt;
        const std::int64_t id = lists.column(place);
        const bool is_outside = id < 0 || id >= bound;
        const std::int64_t first_place = is_outside ? -1 : listed.add(id, place);
        if (first_place != place) return ListFault{place, first_place};
    }
    return ListFault{};
}

}  // namespace

ListFault find_listed(const Selection& lists, std::int64_t bound, const ListTasks& tasks, const Selection& filter,
                      int threads, bool (*interrupted)(), const ListedTasks& arrays, FilteredPlaces& filtered) {
    const std::int64_t mean_length = std::max<std::int64_t>(1, lists.entries / std::max<std::int64_t>(1, lists.size));
    const std::int64_t per_chunk = std::clamp<std::int64_t>(kChunkEntries / mean_length, 1, kMostListsPerChunk);
    const std::int64_t chunks = divide_up(lists.size, per_chunk);
    const Duration duration = lists.entries < kBriefEntries ? Duration::brief : Duration::any;
    const Team team(chunks < 4 ? 1 : threads, chunks, duration);
    std::vector<ListWorker> workers(static_cast<std::size_t>(team.size()));
    std::vector<FilteredPlaces> filtered_of(static_cast<std::size_t>(chunks));
    std::vector<ListFault> faults(static_cast<std::size_t>(chunks));
    const ListCall call{lists, tasks, filter, arrays};
    for (auto* const counts : {arrays.filtered, arrays.before, arrays.places, arrays.shared}) {
        std::fill_n(counts, tasks.size, 0);
    }
    parallel_for(team, chunks, interrupted, [&](std::int64_t chunk, int id, Stop& stop) {
        const auto c = static_cast<std::size_t>(chunk);
        ListWorker& worker = workers[static_cast<std::size_t>(id)];
        const std::int64_t first = chunk * per_chunk, last = std::min(lists.size, first + per_chunk);
        std::int64_t task = call.first_task_from(first);
        for (std::int64_t list = first; list < last; ++list) {
            const std::optional<ListFault> fault = enter_ids(lists, list, bound, worker.listed, stop, id == 0);
            if (!fault) return;  // it was stopped
            faults[c] = *fault;
            if (fault->place >= 0) return;
            const std::int64_t first_of_list = task;
            while (task < tasks.size && tasks.lists[task] == list) ++task;
            if (!find_tasks(call, list, first_of_list, task, worker, filtered_of[c], stop, id == 0)) return;
        }
    });
    for (const ListFault& fault : faults) {
        if (fault.place >= 0) return fault;
    }
    std::size_t total = 0;
    for (const FilteredPlaces& part : filtered_of) total += part.places.size();
    filtered.places.reserve(total);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const FilteredPlaces of_chunk = std::move(filtered_of[static_cast<std::size_t>(chunk)]);  // and then freed
        // So far, `shared` has the number of a task's list in the chunk.
        const std::int64_t places_before = filtered.indptr.back(), lists_before = std::ssize(filtered.indptr) - 1;
        const std::int64_t end = call.first_task_from((chunk + 1) * per_chunk);
        for (std::int64_t task = call.first_task_from(chunk * per_chunk); task < end; ++task) {
            arrays.shared[task] += lists_before;
        }
        const auto lists_of_chunk = std::span(of_chunk.indptr).subspan(1);
        for (const std::int64_t end_of_list : lists_of_chunk) filtered.indptr.push_back(places_before + end_of_list);
        filtered.places.insert(filtered.places.end(), of_chunk.places.begin(), of_chunk.places.end());
    }
    return {};
}

}  // namespace truerank
