#include "engine/files/file.hpp"

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
#include "kernels/measured.hpp"

namespace truerank {
namespace {

void read_all(int descriptor, char* into, std::int64_t bytes, std::int64_t offset) {
#ifdef _WIN32
    (void)descriptor, (void)into, (void)bytes, (void)offset;
    throw std::invalid_argument("io: this system cannot read files at several places at once");
#else
    while (bytes > 0) {
        const ssize_t bytes_read = pread(descriptor, into, static_cast<std::size_t>(bytes), static_cast<off_t>(offset));
        if (bytes_read < 0 && errno == EINTR) continue;
        if (bytes_read <= 0) throw ReadFailure(offset, bytes_read < 0 ? errno : 0);
        into += bytes_read;
        offset += bytes_read;
        bytes -= bytes_read;
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

// How a file is cut into chunks: along rows in C order, along columns in Fortran order.
struct FileChunks {
    bool by_rows;
    std::int64_t outer, inner;            // of the matrix
    std::int64_t outer_step, inner_step;  // of a chunk
    bool whole_rows() const { return by_rows && inner_step == inner; }
    std::int64_t inner_chunks() const { return divide_up(inner, inner_step); }
    std::int64_t count() const { return divide_up(outer, outer_step) * inner_chunks(); }

    struct Chunk {
        std::int64_t top, left, height, width;
    };
    Chunk chunk(std::int64_t i) const {
        const std::int64_t outer_at = i / inner_chunks() * outer_step, inner_at = i % inner_chunks() * inner_step;
        const std::int64_t outer_size = std::min(outer_step, outer - outer_at);
        const std::int64_t inner_size = std::min(inner_step, inner - inner_at);
        if (by_rows) return {.top = outer_at, .left = inner_at, .height = outer_size, .width = inner_size};
        return {.top = inner_at, .left = outer_at, .height = inner_size, .width = outer_size};
    }
};

FileChunks chunks_of(const FileScores& scores) {
    FileChunks layout;
    layout.by_rows = scores.column_stride == scores.size;
    layout.outer = layout.by_rows ? scores.rows : scores.columns;
    layout.inner = layout.by_rows ? scores.columns : scores.rows;
    const std::int64_t most = (layout.by_rows ? measured::kReadBytes : measured::kReadBytesOfColumns) / scores.size;
    layout.inner_step = std::clamp<std::int64_t>(layout.inner, 1, most);
    layout.outer_step = std::max<std::int64_t>(1, measured::kReadBytes / (layout.inner_step * scores.size));
    return layout;
}

Counts shifted(const Counts& counts, std::int64_t by) {
    Counts result = counts;
    for (std::int64_t** data : {&result.above, &result.tied, &result.candidates, &result.nan, &result.inf,
                                &result.at_best, &result.best, &result.differing}) {
        if (*data != nullptr) *data += by;
    }
    return result;
}

// The counts of one thread, where several threads count for the same tasks.
struct ThreadCounts {
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
        std::copy_n(like.best, tasks, counts.best);  // the worst key, as long as there is no score
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
            into.add_best(t, {counts.best[t], counts.at_best[t]}, ascending);
        }
    }
};

// Reads the scores of a chunk, one after another as they lie in the file.
Scores read_chunk(const FileScores& scores, const FileChunks& layout, const FileChunks::Chunk& chunk, Buffer& buffer) {
    const std::int64_t outer_stride = layout.by_rows ? scores.row_stride : scores.column_stride;
    const std::int64_t outer_size = layout.by_rows ? chunk.height : chunk.width;
    const std::int64_t inner_bytes = (layout.by_rows ? chunk.width : chunk.height) * scores.size;
    const std::int64_t start = scores.offset + chunk.top * scores.row_stride + chunk.left * scores.column_stride;
    char* const data = buffer.get(outer_size * inner_bytes);
    const bool is_one_piece = inner_bytes == outer_stride;
    const std::int64_t pieces = is_one_piece ? 1 : outer_size, piece_bytes = outer_size * inner_bytes / pieces;
    for (std::int64_t i = 0; i < pieces; ++i) {
        read_all(scores.descriptor, data + i * piece_bytes, piece_bytes, start + i * outer_stride);
    }
    return {.data = data,
            .rows = chunk.height,
            .columns = chunk.width,
            .row_stride = static_cast<std::ptrdiff_t>(layout.by_rows ? inner_bytes : scores.size),
            .column_stride = static_cast<std::ptrdiff_t>(layout.by_rows ? scores.size : inner_bytes),
            .dtype = scores.dtype,
            .swapped = scores.swapped};
}

Tasks tasks_of(const Tasks& tasks, std::int64_t first, std::int64_t last, const FileScores& scores,
               const FileChunks::Chunk& chunk) {
    Tasks part = tasks;
    part.size = last - first;
    part.targets += first;
    if (tasks.rows != nullptr) part.rows += first;
    if (tasks.is_partial()) part.true_scores += first * scores.size;
    part.first_row += chunk.top;
    part.first_column += chunk.left;
    for (Selection* selection : {&part.filter, &part.candidates}) {
        *selection = selection->from_task(first);
        if (chunk.width == scores.columns) continue;
        *selection = selection->within(part.first_column, part.first_column + chunk.width);
    }
    return part;
}

}  // namespace

bool reads_whole_rows(const FileScores& scores) { return chunks_of(scores).whole_rows(); }

Fault rank(const FileScores& scores, const Tasks& tasks, const Rules& rules, int threads, bool (*interrupted)(),
           const Counts& counts) {
    if (tasks.size == 0) return {};
    // A matrix without columns has nothing to read, but its tasks still have to be counted.
    if (scores.columns == 0) {
        const Scores nothing{nullptr, scores.rows, 0, 0, 0, scores.dtype, scores.swapped};
        return rank(nothing, tasks, rules, 1, nullptr, counts);
    }
    const FileChunks layout = chunks_of(scores);
    const bool disjoint = layout.whole_rows();  // every chunk has tasks of its own
    const auto first_task_from = [&](std::int64_t row) {
        if (tasks.rows == nullptr) return std::min(row, tasks.size);
        return static_cast<std::int64_t>(std::lower_bound(tasks.rows, tasks.rows + tasks.size, row + tasks.first_row) -
                                         tasks.rows);
    };

    const bool small = scores.rows * scores.columns * scores.size < measured::kSerialBytes;
    const Team team(small ? 1 : threads, layout.count());
    struct Worker {
        Buffer buffer;
        ThreadCounts thread_counts;
    };
    std::vector<Worker> workers(static_cast<std::size_t>(team.size()));
    Fault fault;
    std::mutex mutex;
    parallel_for(team, layout.count(), interrupted, [&](std::int64_t i, int id, Stop&) {
        Worker& worker = workers[static_cast<std::size_t>(id)];
        const FileChunks::Chunk chunk = layout.chunk(i);
        const std::int64_t first = first_task_from(chunk.top), last = first_task_from(chunk.top + chunk.height);
        if (first == last) return;
        const Scores chunk_scores = read_chunk(scores, layout, chunk, worker.buffer);
        const Tasks chunk_tasks = tasks_of(tasks, first, last, scores, chunk);
        if (!disjoint && worker.thread_counts.data.empty()) worker.thread_counts.start(counts, tasks.size);
        const Counts& chunk_counts = disjoint ? counts : worker.thread_counts.counts;
        Fault chunk_fault = rank(chunk_scores, chunk_tasks, rules, 1, nullptr, shifted(chunk_counts, first));
        if (!chunk_fault) return;
        chunk_fault.task += first;
        chunk_fault.row += chunk.top;
        if (chunk_fault.column >= 0) chunk_fault.column += chunk.left;
        const std::lock_guard<std::mutex> lock(mutex);
        fault.take(chunk_fault);
    });
    for (const Worker& worker : workers) worker.thread_counts.add_to(counts, tasks.size, rules.ascending);
    return fault;
}

}  // namespace truerank
