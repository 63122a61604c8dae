#include "engine/file.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>
#include <vector>

#ifndef _WIN32
#include <unistd.h>
#endif

#include "engine/threads.hpp"

namespace truerank {
namespace {

// What a thread reads at a time. Copied by the kernel into the second-level cache, it is counted from there; smaller
// pieces cost more calls (a quarter slower at 256 kB), larger ones come back from memory.
constexpr std::int64_t kReadBytes = std::int64_t{1} << 20;
// Of a file in Fortran order, whose pieces are as wide as they can be: what is read of one column at least.
constexpr std::int64_t kStretchBytes = std::int64_t{1} << 16;
constexpr std::int64_t kSerialBytes = std::int64_t{8} << 20;

void read_all(int descriptor, char* into, std::int64_t bytes, std::int64_t offset) {
#ifdef _WIN32
    (void)descriptor, (void)into, (void)bytes, (void)offset;
    throw std::invalid_argument("io: this system cannot read files at several places at once");
#else
    while (bytes > 0) {
        const ssize_t got = pread(descriptor, into, static_cast<std::size_t>(bytes), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) throw ReadFailure(offset, got < 0 ? errno : 0);
        into += got;
        offset += got;
        bytes -= got;
    }
#endif
}

// A buffer that starts on a cache line, so that its rows are read as fast as they can be.
class Buffer {
  public:
    char* get(std::int64_t bytes) {
        if (bytes > size_) {
            data_.reset(static_cast<char*>(::operator new(static_cast<std::size_t>(bytes), kLine)));
            size_ = bytes;
        }
        return data_.get();
    }

  private:
    static constexpr std::align_val_t kLine{64};
    struct Free {
        void operator()(char* data) const { ::operator delete(data, kLine); }
    };
    std::unique_ptr<char, Free> data_;
    std::int64_t size_ = 0;
};

// How a file is cut: along rows in C order, along columns in Fortran order.
struct Cut {
    bool by_rows;
    std::int64_t outer, inner;            // of the matrix
    std::int64_t outer_step, inner_step;  // of a piece
    bool whole_rows() const { return by_rows && inner_step == inner; }
    std::int64_t inner_pieces() const { return divide_up(inner, inner_step); }
    std::int64_t pieces() const { return divide_up(outer, outer_step) * inner_pieces(); }
};

Cut cut_of(const FileScores& scores) {
    Cut cut;
    cut.by_rows = scores.column_stride == scores.size;
    cut.outer = cut.by_rows ? scores.rows : scores.columns;
    cut.inner = cut.by_rows ? scores.columns : scores.rows;
    const std::int64_t most = (cut.by_rows ? kReadBytes : kStretchBytes) / scores.size;
    cut.inner_step = std::clamp<std::int64_t>(cut.inner, 1, most);
    cut.outer_step = std::max<std::int64_t>(1, kReadBytes / (cut.inner_step * scores.size));
    return cut;
}

Counts shifted(const Counts& counts, std::int64_t by) {
    Counts result = counts;
    for (std::int64_t** data : {&result.above, &result.tied, &result.candidates, &result.nan, &result.inf,
                                &result.at_best, &result.best, &result.differing}) {
        if (*data != nullptr) *data += by;
    }
    return result;
}

// What one thread found, where several threads find something for the same tasks.
struct Sums {
    std::vector<std::int64_t> data;
    Counts counts;

    void start(const Counts& like, std::int64_t tasks) {
        data.assign(static_cast<std::size_t>(8 * tasks), 0);
        std::int64_t* next = data.data();
        counts = {};
        counts.above = next;
        counts.tied = next += tasks;
        counts.candidates = next += tasks;
        counts.nan = next += tasks;
        counts.differing = next += tasks;
        if (!like.audit()) return;
        counts.inf = next += tasks;
        counts.at_best = next += tasks;
        counts.best = next += tasks;
        std::copy_n(like.best, tasks, counts.best);  // the worst key, before anything is found
    }

    void add_to(const Counts& into, std::int64_t tasks, bool ascending) const {
        if (data.empty()) return;
        for (std::int64_t t = 0; t < tasks; ++t) {
            into.above[t] += counts.above[t];
            into.tied[t] += counts.tied[t];
            into.candidates[t] += counts.candidates[t];
            into.nan[t] += counts.nan[t];
            into.differing[t] += counts.differing[t];
            if (!into.audit()) continue;
            into.inf[t] += counts.inf[t];
            if (ascending ? counts.best[t] < into.best[t] : counts.best[t] > into.best[t]) {
                into.best[t] = counts.best[t];
                into.at_best[t] = 0;
            }
            if (counts.best[t] == into.best[t]) into.at_best[t] += counts.at_best[t];
        }
    }
};

}  // namespace

bool can_read_files() {
#ifdef _WIN32
    return false;
#else
    return true;
#endif
}

bool reads_whole_rows(const FileScores& scores) { return cut_of(scores).whole_rows(); }

Fault rank_file(const FileScores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
                const Rules& rules, int threads, bool (*interrupted)(), const Counts& counts) {
    if (tasks.size == 0) return {};
    // A matrix without columns has nothing to read, but its tasks are to be settled.
    if (scores.columns == 0) {
        const Scores nothing{nullptr, scores.rows, 0, 0, 0, scores.dtype, scores.swapped};
        return rank(nothing, tasks, filter, candidates, rules, 1, nullptr, counts);
    }
    const Cut cut = cut_of(scores);
    const bool disjoint = cut.whole_rows();  // every piece has tasks of its own
    const std::int64_t outer_stride = cut.by_rows ? scores.row_stride : scores.column_stride;
    const auto first_task_from = [&](std::int64_t row) {
        if (tasks.rows == nullptr) return std::min(row, tasks.size);
        return static_cast<std::int64_t>(std::lower_bound(tasks.rows, tasks.rows + tasks.size, row + tasks.first_row) -
                                         tasks.rows);
    };

    const bool small = scores.rows * scores.columns * scores.size < kSerialBytes;
    const Team team(small ? 1 : threads, cut.pieces());
    struct Worker {
        Buffer buffer;
        Sums sums;
    };
    std::vector<Worker> workers(static_cast<std::size_t>(team.size()));
    Fault fault;
    std::mutex mutex;
    parallel_for(team, cut.pieces(), interrupted, [&](std::int64_t piece, int id, Stop&) {
        Worker& worker = workers[static_cast<std::size_t>(id)];
        const std::int64_t outer = piece / cut.inner_pieces() * cut.outer_step;
        const std::int64_t inner = piece % cut.inner_pieces() * cut.inner_step;
        const std::int64_t outer_size = std::min(cut.outer_step, cut.outer - outer);
        const std::int64_t inner_size = std::min(cut.inner_step, cut.inner - inner);
        const std::int64_t top = cut.by_rows ? outer : inner, left = cut.by_rows ? inner : outer;
        const std::int64_t height = cut.by_rows ? outer_size : inner_size,
                           width = cut.by_rows ? inner_size : outer_size;
        const std::int64_t first = first_task_from(top), last = first_task_from(top + height);
        if (first == last) return;

        const std::int64_t line = inner_size * scores.size;
        char* const data = worker.buffer.get(outer_size * line);
        const std::int64_t start = scores.offset + outer * outer_stride + inner * scores.size;
        if (line == outer_stride) {
            read_all(scores.descriptor, data, outer_size * line, start);
        } else {
            for (std::int64_t i = 0; i < outer_size; ++i) {
                read_all(scores.descriptor, data + i * line, line, start + i * outer_stride);
            }
        }

        const Scores part{data,
                          height,
                          width,
                          static_cast<std::ptrdiff_t>(cut.by_rows ? line : scores.size),
                          static_cast<std::ptrdiff_t>(cut.by_rows ? scores.size : line),
                          scores.dtype,
                          scores.swapped};
        Tasks some = tasks;
        some.size = last - first;
        some.targets += first;
        if (tasks.rows != nullptr) some.rows += first;
        if (tasks.part()) some.truths += first * scores.size;
        some.first_row += top;
        some.first_column += left;
        Selection without = filter.from(first), among = candidates.from(first);
        if (width != scores.columns) {
            without = without.within(some.first_column, some.first_column + width);
            among = among.within(some.first_column, some.first_column + width);
        }
        if (!disjoint && worker.sums.data.empty()) worker.sums.start(counts, tasks.size);
        const Counts& found = disjoint ? counts : worker.sums.counts;
        Fault wrong = rank(part, some, without, among, rules, 1, nullptr, shifted(found, first));
        if (wrong.kind == Fault::Kind::none) return;
        wrong.task += first;
        wrong.row += top;
        if (wrong.column >= 0) wrong.column += left;
        const std::lock_guard<std::mutex> lock(mutex);
        if (sooner(wrong, fault)) fault = wrong;
    });
    for (const Worker& worker : workers) worker.sums.add_to(counts, tasks.size, rules.ascending);
    return fault;
}

}  // namespace truerank
