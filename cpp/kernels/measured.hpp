// What was chosen by time on one processor: distances, sizes and counts that no result depends on. They stand in one
// table so that who tunes for another processor sees all of them, each with the script in which a change is seen.
//
// Unless a row says otherwise they were measured on AMD's Zen 4 with AVX-512, 32 KB of first-level and 1 MB of
// second-level cache. What the width of the registers says (kTileVectors in steps.hpp, kMaxInRegisters in several.hpp)
// stands where it is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace truerank::measured {

// -- One true score for each row: bench/cases/test_bandwidth.py ---------------------------------------------------

// What differs from processor to processor. The first row of the table that fits is taken, once, with the instruction
// set.
//
// How far ahead of the scores that are read a cache line is prefetched: in rows of kLongBytes and more, in those of a
// page and more, and in short ones:
//
// - Zen 4: in short rows 512 bytes. 256 took 2, 8, 14 and 4 % longer for rows of 1.2, 2.4, 3.6 and 6 KB, 1 % less for
//   those of 400 bytes and 4 % less for those of 12 KB; in long rows both are equal. 384 bytes read rows of 12 KB at
//   0.86 of the rate of a read pass, 512 at 0.79. From 1 KB on rows of all lengths were slower by 10 to 20 %, in
//   vectors of either width, with large pages and with small ones. It is an AMD of family 25 with AVX-512; Zen 3, of
//   the same family, has none.
// - Zen 1: 1 KB took 0.85 of the time of 2 KB for rows of 60 KB and more, 0.91 to 0.93 for those of 4 to 12 KB, and
//   1.05 for those of 1.2 KB; 768 bytes and 1.5 KB were slower from 4 KB on. (Zen 2, of the same family, nobody
//   measured.)
// - Intel with AVX-512: on Emerald Rapids 2 KB read rows of 80 KB to 4 MB at 0.97 of the rate of a read pass, 1.21 to
//   1.24 times as fast as 256 bytes did, with one thread and with two. In short rows the hardware finds its stream anew
//   too often: on Sapphire Rapids 2 KB read rows of 400, 1,200 and 3,600 bytes faster than 512 bytes by 5 to 12 %, rows
//   of 12,000 and 60,000 faster than 256 bytes by 8 and 4 %, and 1.5 to 3 KB by no less.
// - Zen 5: long rows as Zen 4's (2 and 4 KB took 0.95 to 1.04 of that). Short rows, those of 120 to 4,000 bytes, took
//   0.75 to 0.92 of the time of 2 KB with 8 KB.
// - Any other with AVX-512: short rows as Intel's, long ones as Zen 4's.
// - Any other with AVX2: on Zen 3, 2 KB read long rows at 0.94 of the rate of a read pass and rows of 1,200 bytes at
//   0.85, where 256 and 512 bytes read 0.81 and 0.63, and 1.5, 3 and 4 KB were slower than 2.
//
// So a processor that was not measured gets what was best on all but one of those that were: with too short a distance
// these lost up to a quarter, Zen 4 with too long a one at most a fifth. Prefetched true scores gain nothing.
//
// Whether AVX-512 compares floats with several true scores, or AVX2 (bench/cases/test_tasks.py -k per_row). With 2 to
// 20 true scores AVX-512 took 0.80 to 0.84 of AVX2's time on Emerald Rapids, 0.73 to 0.92 on Zen 5, 1.2 to 1.5 on Zen
// 4. Other types AVX2 compares everywhere: on Emerald Rapids AVX-512 took 1.2 to 1.36 times as long with 10 or more
// doubles (0.9 with up to 3), and 1.29 times as long with bytes.
struct AheadBytes {
    std::size_t of_long_rows, of_rows, of_short_rows;
};
struct Processor {
    const char* vendor;    // as it calls itself; any, if null
    std::uint32_t family;  // any, if 0
    int widest_vector;     // that it has; any, if 0
    int vector_bytes;      // that the instruction set has; any, if 0
    AheadBytes ahead;
    bool compares_wide_floats;
};
inline constexpr Processor kProcessors[] = {
    {"AuthenticAMD", 25, 64, 0, {256, 384, 512}, false},  {"AuthenticAMD", 23, 0, 32, {1024, 1024, 2048}, false},
    {"AuthenticAMD", 26, 0, 64, {256, 2048, 8192}, true}, {"GenuineIntel", 0, 0, 64, {2048, 2048, 2048}, true},
    {nullptr, 0, 0, 64, {256, 2048, 2048}, false},        {nullptr, 0, 0, 32, {2048, 2048, 2048}, false},
    {nullptr, 0, 0, 0, {256, 512, 512}, false},
};
inline constexpr std::size_t kLongBytes = 65536;
// The NaN among so many bytes of scores are sought by one sum; in rows shorter than kLeastSummedBytes by what is
// neither above the true score nor below it. On Zen 1 that took 0.75 of the time of three comparisons in rows of 1,200
// bytes, 0.97 of that of a sum in rows of 4,000 to 12,000. Where other scores equal the true one, a row is read again:
// rows of 1,200 bytes then took 1.06 of the time of three comparisons, rows of 4,000 and more 1.25 of that of a sum.
// Rows that lie apart are counted in shorter pieces (kBytesOfApartRows). In an audit so many bytes are counted before
// they are read again, from the first-level cache: 8 and 24 KB took as long, 32 and 64 KB a tenth more (Zen 5).
inline constexpr std::size_t kSummedBytes = 16384, kLeastSummedBytes = 2560;
// Rows of so many bytes that follow one another are counted many at a time. On Zen 5 rows of 40, 120, 400, 1,200 and
// 4,000 bytes then took 0.3, 0.5, 0.7, 0.8 and 0.9 of the time that they took one by one, rows of 12,000 1.05; on Zen 4
// 0.2, 0.4, 0.6, 0.8 and 0.9. More than 4,064 would be too many for 8-bit counters.
inline constexpr std::int64_t kShortRowBytes = 4032;
// The counts of so many rows are written at a time. Written one by one they took 200 ns of each row of 60,000 bytes:
// their lines are missed, and break the stream.
inline constexpr std::int64_t kRowsAtOnce = 256;

// -- Columns of a column-major matrix: bench/cases/test_layouts.py -k fortran ---------------------------------------

// So much of a column is counted at a time: the hardware has to find every read of it anew, and with 8 KB of 20,000
// rows the rate was three quarters of this; with more, the counters no longer fit into the cache.
inline constexpr std::size_t kColumnBytes = 98304;
// So many columns are counted in one visit to the counters of its rows: each is a stream of reads of its own, and with
// 8 or 16 of them the rate was lower, by a tenth and by a quarter.
inline constexpr std::size_t kColumnsPerVisit = 12;
// Each column is prefetched so far ahead, into the second-level cache; the first, 512 bytes and 2 KB were slower.
inline constexpr std::size_t kAheadBytesOfColumns = 1024;
// A pass over the columns of many rows serves one task of each row (a layer). If a row has more tasks than kMaxLayers,
// or fewer than one in kMaxRowsPerGroup rows is read, rows are counted one by one.
inline constexpr std::int64_t kMaxLayers = 8;
inline constexpr std::int64_t kMaxRowsPerGroup = 8;

// -- Several true scores for each row: bench/cases/test_tasks.py -k per_row -----------------------------------------

// So many scores, or their keys, stay in the first-level cache while several true scores are counted in them. For 8-bit
// scores the number is what their 8-bit counters allow in the narrowest vectors.
template <class T>
constexpr std::size_t kCachedKeys = sizeof(T) == 1 ? 4032 : 16384 / sizeof(T);
// How far ahead of the scores that are read a cache line is prefetched.
inline constexpr std::size_t kAheadBytesOfSeveral = 2048;
// From so many true scores on, searching for each score among them is cheaper than comparing it with each of them. The
// wider the score, the fewer comparisons an instruction makes.
template <class T>
inline constexpr std::size_t kLeastSearched = 512 / sizeof(T);
// From so many true scores on, and for so many scores, a histogram of the scores is made, with so many bins: comparing
// in groups costs as much with 32, and with 4,096 bins 1,000 true scores of a normal distribution took a third longer.
inline constexpr std::size_t kLeastBinned = 32;
inline constexpr std::size_t kLeastBinnedScores = 4096;
inline constexpr int kBins = 8192;
// Processor cycles for each score with bins: for its bin, and, if that has true scores, for those and for each step of
// a search among them. Without bins: of a search among all, or for so many true scores a cycle.
inline constexpr std::size_t kBinCycles = 5, kFoundCycles = 10, kStepCycles = 3;
inline constexpr std::size_t kSearchCycles = 16, kComparedPerCycle = 8;
// The bins of so many scores are made at a time, and those of so many are looked at before it is decided whether bins
// are used at all.
inline constexpr std::size_t kBinnedScores = 512;
inline constexpr std::size_t kProbedScores = 128;

// -- Rows that lie apart, copies and filters: bench/cases/test_blocks.py, test_layouts.py -k slices, -----------------
// -- test_tasks.py -k filter ------------------------------------------------------------------------------------------

// Scores that cannot be read in place are copied, so many bytes at a time that they stay in the second-level cache.
inline constexpr std::int64_t kPackBytes = 65536;
// So much of the rows is counted before what is filtered in them is read again, from the second-level cache or the
// third by then: with half as much a filter of 50 cost a third more, with twice as much the same.
inline constexpr std::int64_t kCachedBytes = 1048576;
// Where rows are far apart, scores are prefetched so far ahead: of 2 KB to 16 KB, 8 were the fastest by a tenth. And so
// many bytes of a row are counted before the next are prefetched: the first-level cache takes few lines at a time. On
// Zen 5 rows of 6, 8 and 20 KB took 0.60, 0.66 and 0.77 of the time with 2 KB, 0.79, 0.82 and 0.90 of that with 1 KB.
inline constexpr std::int64_t kAheadBytesOfApartRows = 8192;
inline constexpr std::int64_t kBytesOfApartRows = 512;
// Where so many tasks or more, each with a row of its own, share a candidate for so many bytes of a row, whole rows are
// read: a candidate that is sought alone costs a line of the cache, and a miss.
inline constexpr std::int64_t kFewRows = 8, kBytesPerCandidate = 160;

// -- Threads and chunks: bench/cases/test_small.py, test_axes.py -k threads ------------------------------------------

// Less than this is counted by the calling thread alone: waking OpenMP's threads costs milliseconds while another
// process keeps a core busy.
inline constexpr std::int64_t kSerialBytes = std::int64_t{8} << 20;
// Less than this takes some ten milliseconds, as long as a thread may wait for its turn beside one that spins: whether
// several threads are worth while is judged by the time of the calls before.
inline constexpr std::int64_t kBriefBytes = std::int64_t{256} << 20;
// The size of a chunk: small, so that threads end at the same time and soon notice a stop; large compared with the cost
// of handing it out.
inline constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

// -- Files: bench/cases/test_files.py --------------------------------------------------------------------------------

// What a thread reads at a time. The system copies it into the second-level cache, where it is then counted. Smaller
// chunks cost more calls (a quarter slower at 256 kB); larger ones leave the cache before they are counted.
inline constexpr std::int64_t kReadBytes = std::int64_t{1} << 20;
// What a thread reads of one column of a file in Fortran order: little, so that a chunk has many columns. (No script
// has such a file.)
inline constexpr std::int64_t kReadBytesOfColumns = std::int64_t{1} << 16;

// -- Vectors: bench/cases/test_embeddings.py -------------------------------------------------------------------------

// Bytes of the vectors in which blocks are transposed. Blocks of 16 floats, with the vectors of AVX-512, took up to
// twice the time: fewer pages are read in turn with blocks of 8.
inline constexpr int kMostTransposedBytes = 32;
// So many bytes of vectors are fetched into the first-level cache ahead of those that are read, more of them into the
// second: of 768 floats one query then took 0.70 of the time, of 300 0.79, of 128 1.3 (Zen 4).
inline constexpr std::size_t kNearVectorBytes = 8192;
// So many components of a panel stay in the second-level cache while all queries pass over them: half a megabyte with
// the widest vectors.
inline constexpr std::int64_t kDepthAtOnce = 2048;
// When a query is scored into a row that is then counted, by what else would be done, in comparisons of a score with a
// true score: a row takes as long as to compare each score with so many tasks, and with one more for so many components
// (bounds, where they gain, spare more of these); a filtered candidate of a task takes as long as so many scores. So
// many bytes of rows are scored at a time: with fewer, candidates are packed for too few queries.
inline constexpr std::int64_t kTasksInRow = 20, kDepthOfTask = 16, kScoresPerFiltered = 64;
inline constexpr std::int64_t kRowsBytes = std::int64_t{16} << 20;
// A step of a filter, and an entry that is offered to a list of the top k, take as long as counting so many scores: so
// much is added to the work after which a thread looks whether to stop.
inline constexpr std::int64_t kScoresPerStep = 16;
inline constexpr std::int64_t kScoresPerOffer = 64;

// -- Bounds: bench/cases/test_bounds.py ------------------------------------------------------------------------------

// So many queries of bytes are summed in place, in integers, where there are no bounds; and where there are, since
// bytes that are their own levels are quantised in the time of so many: of vectors that fill registers, and of others.
inline constexpr std::int64_t kFewQueriesOfBytes = 16, kFewBoundedOfBytes = 8, kFewBoundedOfRest = 2;
// For fewer queries than kLeastBoundedQueries + kLeastBoundedNumbers / d it takes longer to quantise a candidate than
// to score it. For distances half as many do, which take twice as long to score. (From d = 16 to 768: bounds lost with
// 128 queries of 64 components and 48 of 300, and gained with 160 and 64.)
inline constexpr std::int64_t kLeastBoundedQueries = 40, kLeastBoundedNumbers = 6400;
// Shorter vectors are scored in less time. Products by AVX-512 are as fast without bounds up to 16 components (0.9 of
// the time with 8, on Sapphire Rapids); with AVX2 bounds gain from 8 on.
inline constexpr std::int64_t kLeastDepth = 8, kLeastDepthOfWideProducts = 16;
// Where bytes leave more open than a share of d / (kSettledDepth + kSettledTimes * d), words gain more than their sums
// take: to settle an open pair takes as long as sums over words need in addition for 1600 components, and for 10 more
// for each that it has. (From d = 64 to 300.)
inline constexpr double kSettledDepth = 1600, kSettledTimes = 10;
// By tiles words take little time, whatever the depth (Sapphire Rapids). Of lists, what is open is to be scored anyway.
inline constexpr double kSettledOfTiles = 0.003;
// Words that are the bytes of vectors leave ties alone open, and take less time to make, while what rougher bytes leave
// open is settled in doubles: so much of that share is few. (Zen 1, with AVX2: ranks of clustered vectors took 0.78
// and 0.82 of the time with 128 and 768 components. Of lists, what is open is to be scored anyway: with less than the
// whole share they took 1.06 of it.)
inline constexpr double kSettledOfBytes = 0.33;
// Bounds lose where a larger share of the pairs is open than d / (kPromisedDepth + kPromisedTimes * d): to settle a
// pair takes as long as to score so many components, and so many pairs. (On Sapphire Rapids, from d = 8 to 256.)
inline constexpr double kPromisedDepth = 300, kPromisedTimes = 6;
// Of distances so many times this share, since they take twice as long to score. Random vectors of 300 and 512 numbers
// had been scored, and took 0.61 and 0.63 of that time by bounds (AVX2, on an AMD of Zen's first generation).
inline constexpr double kPromisedOfDistances = 2;
// A task that has such a share of a panel's candidates open has its row scored, which takes about as long as settling
// them. Only tiles are looked at for such tasks that had such a share of their pairs open in the panel before.
inline constexpr double kOpenOfScoredRow = 0.625;
inline constexpr double kOpenOfWatchedTile = 0.0625;
// Bounds that lost are tried again after so many panels, then after twice as many, and so on; but so late that what was
// lost is one part in kPauseOfLost of what is scored meanwhile. One panel in kPanelsPerCheck is scored, to know how
// long that takes.
inline constexpr std::int64_t kShortestPause = 16, kLongestDoubledPause = 128;
inline constexpr double kPauseOfLost = 50, kLongestPause = 10'000;
inline constexpr std::int64_t kPanelsPerCheck = 256;
// Where bounds take less than one part in kClearGain of that time, one panel in so many is.
inline constexpr double kClearGain = 4;
inline constexpr std::int64_t kPanelsPerClearCheck = 4096;
// A trial takes so many tiles of a cell's queries.
inline constexpr std::int64_t kTriedTiles = 16;
// The clock of a thread takes as long as a thousand pairs of bytes: one panel for so many pairs is timed.
inline constexpr std::int64_t kPairsPerTime = 1 << 16;
// The mean time of so many panels tells whether bounds lose; before there are as many, a mean of more than this factor.
inline constexpr std::int64_t kPanelsOfMean = 4;
inline constexpr double kMostOfFirstPanels = 2;
// The lists of the top k (--parts "top k") and the means of CSLS (--parts alignment) use bounds from so many candidates
// before a panel on, for each entry of a list: of 32, 64, 96 and 128, for 10 and 100 entries of 256 and 300 components,
// this was the fastest by a few per cent (Sapphire Rapids), or as fast.
inline constexpr std::int64_t kCandidatesPerEntry = 64, kCandidatesPerEntryOfBytes = 16;
// The thresholds of lists are looked at again after one part in so many more candidates.
inline constexpr std::int64_t kCandidatesPerLook = 32;

// -- Late interaction: bench/cases/test_late.py -----------------------------------------------------------------------

// For fewer tokens of queries it takes longer to quantise a document than to score it.
inline constexpr std::int64_t kLeastBoundedTokens = 64;
// So many bytes of documents' tokens and of their levels, but no fewer panels, are screened at once.
inline constexpr std::size_t kScreenedBytes = 1 << 19, kLeastScreenedPanels = 8;
// Where bytes leave a larger share of the pairs of a task and a document open, words take less time. So many queries
// are looked at for that.
inline constexpr double kOpenOfTokens = 0.2, kOpenOfTokensByTiles = 0.1;
inline constexpr std::size_t kTriedQueries = 8;

// -- Lists of the top k that others made: no script has long filters -------------------------------------------------

// A filter that is longer than so many times the list is searched for every listed id, and not read.
inline constexpr std::int64_t kLongFilter = 8;

}  // namespace truerank::measured
