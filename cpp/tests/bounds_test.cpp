// What sums decide; and counts with bounds and without.
#include "engine/bounds/bounds.hpp"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "engine/sweep/embeddings.hpp"
#include "kernels/decisions.hpp"
#include "kernels/simd.hpp"
#include "kernels/sums.hpp"
#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

// Numbers of few digits, so that all arithmetic is exact, fused or not.
float eighths(Random& random, std::int64_t n) { return static_cast<float>(random.below(2 * n + 1) - n) / 8; }

template <class T>
void check_decisions(Checks& checks, Random& random) {
    const DecisionKernels<T>& kernels = decision_kernels<T>();
    const SumKernels<T>& summing = sum_kernels<T>();
    const std::size_t block = summing.lanes;
    constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (int repeat = 0; repeat < 400; ++repeat) {
        const auto rows = static_cast<std::size_t>(1 + random.below(kTileQueries));
        std::vector<std::int64_t> first(rows + 1, random.below(3));
        for (std::size_t i = 0; i < rows; ++i) first[i + 1] = first[i] + random.below(4);
        const auto tasks = static_cast<std::size_t>(first[rows]);
        const bool floats = random.one_in(2), has_error = !floats && random.one_in(2);
        const auto blocks = 1 + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kPanelLanes / block)));
        const std::size_t lanes = blocks * block;
        const LevelForm& form = floats ? summing.squares : summing.distances[static_cast<int>(Levels::int16)];
        std::vector<std::int32_t> sums(blocks * kTileQueries * block);
        std::vector<double> numbers(sums.size());
        const auto at_pair = [&](std::size_t i, std::size_t j) {
            return (j / block * kTileQueries + i) * block + j % block;
        };
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] = static_cast<std::int32_t>(random.below(19) - 9);
            numbers[i] = floats ? sums[i] / 4.0 : sums[i];
            if (floats) sums[i] = std::bit_cast<std::int32_t>(static_cast<float>(numbers[i]));
        }
        std::vector<ValueRow> value_rows(rows);
        for (ValueRow& row : value_rows) {
            row = {std::abs(eighths(random, 9)), std::abs(eighths(random, 9)), std::abs(eighths(random, 9))};
        }
        std::vector<float> of_lanes[6];
        for (std::size_t field = 0; field < 6; ++field) {
            for (std::size_t j = 0; j < lanes; ++j) {
                of_lanes[field].push_back(field < 4 ? eighths(random, 30) : std::abs(eighths(random, 9)));
            }
        }
        for (std::size_t j = 0; j < lanes; ++j) {
            of_lanes[3][j] = std::max(of_lanes[3][j], of_lanes[1][j]);
            const bool none = random.one_in(20);  // a lane without a candidate
            for (auto& field : of_lanes) field[j] = none ? nan : field[j];
        }
        ValueLanes values{};
        values.has_error = has_error;
        float* const fields[] = {values.low_scale, values.low,     values.high_scale,
                                 values.high,      values.residue, values.norm};
        for (std::size_t field = 0; field < 6; ++field) std::copy_n(of_lanes[field].begin(), lanes, fields[field]);
        std::vector<float> above(tasks), below(tasks);
        for (std::size_t t = 0; t < tasks; ++t) {
            above[t] = eighths(random, 60);
            below[t] = std::min(above[t], eighths(random, 60));
            if (random.one_in(5)) above[t] = infinity, below[t] = -infinity;  // all are open
            if (random.one_in(5)) above[t] = below[t] = infinity;             // none is
        }
        const auto interval = [&](std::size_t i, std::size_t j) {
            const auto of = [&](std::size_t field) { return static_cast<double>(of_lanes[field][j]); };
            const double x = numbers[at_pair(i, j)] * static_cast<double>(value_rows[i].scale);
            double error = 0;
            if (has_error) {
                error = static_cast<double>(value_rows[i].norm) * of(4) +
                        static_cast<double>(value_rows[i].residue) * of(5);
            }
            return std::pair(of(0) * x + of(1) - error, of(2) * x + of(3) + error);
        };
        std::vector<PairMasks> masks(tasks, {~0ULL, ~0ULL});
        kernels.decide(form, sums.data(), blocks, rows, value_rows.data(), values, first.data(), above.data(),
                       below.data(), masks.data());
        bool right = true;
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::int64_t t = first[i]; t < first[i + 1]; ++t) {
                const auto task = static_cast<std::size_t>(t);
                PairMasks expected{0, 0};
                for (std::size_t j = 0; j < lanes; ++j) {
                    const auto [low, high] = interval(i, j);
                    expected.above |= std::uint64_t{low > static_cast<double>(above[task])} << j;
                    expected.not_below |= std::uint64_t{high >= static_cast<double>(below[task])} << j;
                }
                const PairMasks& mask = masks[static_cast<std::size_t>(t - first[0])];
                right = right && mask.above == expected.above && mask.not_below == expected.not_below;
            }
        }
        checks.expect(right, "decide, %zu bytes, %zu rows, %zu tasks, floats %d, error %d", sizeof(T), rows, tasks,
                      floats, has_error);

        const auto layers = static_cast<std::size_t>(random.below(4));
        std::vector<RowOffset> offsets(rows);
        for (RowOffset& offset : offsets) {
            offset.low = eighths(random, 20);
            offset.high = offset.low + std::abs(eighths(random, 9));
        }
        above.clear(), below.clear();
        for (std::size_t at = 0; at < layers * block; ++at) {
            above.push_back(random.one_in(4) ? nan : eighths(random, 60));  // NaN: no task
            below.push_back(above[at] != above[at] ? nan : std::min(above[at], eighths(random, 60)));
            if (random.one_in(5)) above[at] = infinity, below[at] = -infinity;
        }
        std::vector<std::uint32_t> counters(layers * block + 1, 3), counted = counters;
        std::vector<PairMasks> open(rows * layers, {~0ULL, ~0ULL}), left_open(rows * layers, {0, 0});
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t at = 0; at < layers * block; ++at) {
                const auto [least, most] = interval(i, at % block);
                const double low = least + static_cast<double>(offsets[i].low);
                const double high = most + static_cast<double>(offsets[i].high);
                const bool is_above = low > static_cast<double>(above[at]);
                counted[at] += is_above;
                left_open[i * layers + at / block].not_below |=
                    std::uint64_t{!is_above && high >= static_cast<double>(below[at])} << at % block;
            }
        }
        kernels.decide_lanes(form, sums.data(), rows, value_rows.data(), values, offsets.data(),
                             {layers, above.data(), below.data()}, counters.data(), open.data());
        right = counters == counted;
        for (std::size_t i = 0; i < open.size(); ++i) {
            right = right && open[i].above == 0 && open[i].not_below == left_open[i].not_below;
        }
        checks.expect(right, "decide_lanes, %zu bytes, %zu rows, %zu layers, floats %d, error %d", sizeof(T), rows,
                      layers, floats, has_error);
    }
}

// Thresholds on sums leave open what they may, and not much more; and sums are compared with them.
template <class T>
void check_sum_thresholds(Checks& checks, Random& random) {
    const DecisionKernels<T>& kernels = decision_kernels<T>();
    constexpr std::size_t room = 16;
    constexpr double most = 0x1p30;
    for (int repeat = 0; repeat < 300; ++repeat) {
        const auto rows = static_cast<std::size_t>(1 + random.below(kTileQueries));
        std::vector<std::int64_t> first(rows + 1, random.below(3));
        for (std::size_t i = 0; i < rows; ++i) first[i + 1] = first[i] + random.below(4);
        const auto tasks = static_cast<std::size_t>(first[rows]);
        const int exponent = repeat % 3 == 0 ? 0 : static_cast<int>(random.below(80)) - 40;
        const auto number = [&] { return std::ldexp(std::abs(static_cast<float>(random.normal())), exponent / 2); };
        std::vector<float> numbers[4];
        for (auto& of_tasks : numbers) of_tasks.resize(tasks + room);
        for (std::size_t t = 0; t < tasks; ++t) {
            numbers[0][t] = static_cast<float>(std::ldexp(random.normal(), exponent + 6));
            numbers[1][t] = numbers[0][t] - number();
            numbers[2][t] = number();
            numbers[3][t] = number();
            constexpr float infinity = std::numeric_limits<float>::infinity();
            if (random.one_in(9)) numbers[0][t] = infinity, numbers[1][t] = random.one_in(2) ? infinity : -infinity;
        }
        const SumPanel panel{static_cast<float>(std::ldexp(1 + std::abs(random.normal()), -exponent)), number(),
                             number()};
        std::vector<std::int32_t> above(tasks + room), below(tasks + room);
        kernels.set_sum_thresholds({numbers[0].data(), numbers[1].data(), numbers[2].data(), numbers[3].data()}, tasks,
                                   panel, above.data(), below.data());
        bool right = true;
        for (std::size_t t = 0; t < tasks; ++t) {
            const auto of = [&](std::size_t field) { return static_cast<double>(numbers[field][t]); };
            const auto step = static_cast<double>(panel.per_step);
            const double error = of(2) * static_cast<double>(panel.residue) + of(3) * static_cast<double>(panel.norm);
            // What the engine adds to the numbers of a task covers the roundings of floats.
            const auto slack = [&](double x) { return (std::abs(x) * 0x1p-20 + error * 1e-3) * step; };
            const double high = (of(0) + error) * step, low = (of(1) - error) * step;
            // Conversion to an integer cuts off less than 1; sums are integers.
            if (high < most) {
                right =
                    right && above[t] + 1 > high - slack(of(0)) && above[t] < std::max(high + slack(of(0)), -1.6e9) + 1;
            } else {
                right = right && above[t] >= (high > 2 * most ? most : most - slack(of(0)));
            }
            if (low > 2 * most) {
                right = right && below[t] >= most;
            } else if (low > -most) {
                right = right && below[t] < low + slack(of(1)) && below[t] > std::min(low - slack(of(1)), 1.6e9) - 3;
            } else {
                right = right && below[t] <= (low < -2 * most ? -most : slack(of(1)) - most);
            }
        }
        checks.expect(right, "thresholds of sums, %zu bytes, %zu tasks, exponent %d", sizeof(T), tasks, exponent);

        const std::size_t block = sum_kernels<T>().lanes;
        const auto blocks = 1 + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kPanelLanes / block)));
        std::vector<std::int32_t> sums(blocks * kTileQueries * block);
        for (std::int32_t& sum : sums) sum = static_cast<std::int32_t>(random.below(19) - 9);
        for (std::size_t t = 0; t < tasks; ++t) {
            above[t] = static_cast<std::int32_t>(random.below(21) - 10);
            below[t] = std::min(above[t], static_cast<std::int32_t>(random.below(21) - 10));
        }
        std::vector<PairMasks> masks(tasks, {~0ULL, ~0ULL});
        kernels.decide_sums({}, sums.data(), blocks, rows, first.data(), above.data(), below.data(), masks.data());
        right = true;
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::int64_t t = first[i]; t < first[i + 1]; ++t) {
                PairMasks expected{0, 0};
                for (std::size_t j = 0; j < blocks * block; ++j) {
                    const std::int32_t sum = sums[(j / block * kTileQueries + i) * block + j % block];
                    expected.above |= std::uint64_t{sum > above[static_cast<std::size_t>(t)]} << j;
                    expected.not_below |= std::uint64_t{sum > below[static_cast<std::size_t>(t)]} << j;
                }
                const PairMasks& mask = masks[static_cast<std::size_t>(t - first[0])];
                right = right && mask.above == expected.above && mask.not_below == expected.not_below;
            }
        }
        checks.expect(right, "decide_sums, %zu bytes, %zu rows, %zu tasks", sizeof(T), rows, tasks);
    }
}

template <class T>
void check_collect(Checks& checks, Random& random) {
    const DecisionKernels<T>& kernels = decision_kernels<T>();
    const std::uint64_t all = ~0ULL;
    for (int repeat = 0; repeat < 300; ++repeat) {
        const auto task = static_cast<std::size_t>(random.below(5)), n = static_cast<std::size_t>(random.below(9));
        std::vector<PairMasks> masks(n);
        for (PairMasks& mask : masks) {
            mask = {random.bits() & all, random.one_in(2) ? all : random.bits() & all};
            if (random.one_in(2)) mask.above |= random.bits() & all;  // few are open, as a rule
            if (random.one_in(3)) mask.not_below = mask.above;        // or none
        }
        std::vector<std::uint32_t> counters(task + n + 1, 3), counted = counters;
        std::vector<OpenPair> open(n * kPanelLanes + kOpenRoom + 1, {7, 7}), expected;
        for (std::size_t t = 0; t < n; ++t) {
            for (std::uint32_t j = 0; j < kPanelLanes; ++j) {
                const bool is_above = masks[t].above >> j & 1, is_open = (masks[t].not_below >> j & 1) && !is_above;
                counted[task + t] += is_above;
                if (is_open) expected.push_back({static_cast<std::uint32_t>(task + t), j});
            }
        }
        const std::size_t found = kernels.collect(masks.data(), task, n, counters.data(), open.data());
        const bool right = found == expected.size() && counters == counted && open.back().lane == 7 &&
                           std::equal(expected.begin(), expected.end(), open.begin(),
                                      [](OpenPair a, OpenPair b) { return a.task == b.task && a.lane == b.lane; });
        checks.expect(right, "collect, %zu bytes, %zu tasks", sizeof(T), n);
    }
}

template <class T>
Scores matrix(const std::vector<T>& numbers, std::size_t rows) {
    const auto columns = static_cast<std::int64_t>(numbers.size() / rows);
    const DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
    return {reinterpret_cast<const char*>(numbers.data()),
            static_cast<std::int64_t>(rows),
            columns,
            static_cast<std::ptrdiff_t>(columns * static_cast<std::int64_t>(sizeof(T))),
            sizeof(T),
            dtype,
            false};
}

// When bounds are tried. A scored pair has taken 1,000 ns; times are in ns, for numbers of pairs by which they are
// divided exactly.
struct GaugedPanels {
    Gauge gauge;
    std::int64_t asked = 0;
    bool right = true;  // whether every kPanelsPerCheck-th panel was scored

    GaugedPanels() {
        right = !gauge.tries_bounds();
        gauge.record_scored(Gauge::Clock::duration{4000}, 4);
    }
    // The panels that are scored before the next that goes by bounds, but for those that tell how long scores take.
    std::int64_t pause() {
        for (std::int64_t panels = 0;; ++panels) {
            bool tries = gauge.tries_bounds();
            if (++asked % measured::kPanelsPerCheck == 0) {
                right = right && !tries;
                tries = gauge.tries_bounds();
                ++asked;
            }
            if (tries || panels > 100'000) return panels;
        }
    }
    // Whether bounds are still used after panels that took so long.
    bool keeps(std::initializer_list<std::int64_t> times) {
        for (const std::int64_t time : times) gauge.record_bounded(Gauge::Clock::duration{8 * time}, 8);
        return !gauge.is_trial();
    }
    // The pause after a trial that took so long.
    std::int64_t pause_after(std::int64_t time) {
        gauge.record_lost(Gauge::Clock::duration{2 * time}, 2);
        right = right && gauge.is_trial();
        return pause();
    }
};

void check_gauge(Checks& checks) {
    using measured::kLongestDoubledPause, measured::kShortestPause;
    GaugedPanels untried;
    for (std::int64_t i = 0; i < 2 * measured::kPanelsPerCheck; ++i) untried.right &= untried.pause() == 0;
    checks.expect(untried.right && untried.gauge.is_trial(), "gauge: one panel of many is scored");

    GaugedPanels clear;
    std::int64_t scored = 0;
    clear.right &= clear.keeps({240, 240, 240, 240, 240});
    for (std::int64_t i = 0; i < measured::kPanelsPerClearCheck; ++i) scored += !clear.gauge.tries_bounds();
    checks.expect(clear.right && scored == 1, "gauge: %lld panels are scored where bounds gain much",
                  static_cast<long long>(scored));
    clear.right &= clear.keeps({260, 260, 260, 260, 260});
    for (std::int64_t i = 0; i < measured::kPanelsPerCheck; ++i) scored += !clear.gauge.tries_bounds();
    checks.expect(clear.right && scored == 2, "gauge: more of them where bounds gain less");

    // The first panels by bounds are timed, and then those with which so many pairs are full.
    GaugedPanels rarely;
    for (std::int64_t i = 0; i < measured::kPanelsOfMean; ++i) {
        rarely.right &= rarely.gauge.times_panel(1) && rarely.keeps({240});
    }
    for (std::int64_t times = 0; times < 3; ++times) {
        rarely.right &= !rarely.gauge.times_panel(measured::kPairsPerTime - 1) && rarely.gauge.times_panel(1);
    }
    rarely.gauge.record_lost(Gauge::Clock::duration{10}, 1);
    checks.expect(rarely.right && rarely.gauge.times_panel(1), "gauge: one panel for many pairs is timed");

    GaugedPanels lost;
    for (std::int64_t pause = kShortestPause, i = 0; i < 6; ++i, pause = std::min(2 * pause, kLongestDoubledPause)) {
        lost.right &= lost.pause_after(10) == pause;
    }
    checks.expect(lost.right, "gauge: pauses double");
    // The doubling goes on where one panel gained, and begins anew where several did.
    lost.right &= lost.keeps({900}) && lost.pause_after(10) == kLongestDoubledPause;
    lost.right &= lost.keeps({900, 900, 900, 900}) && lost.pause_after(10) == kLongestDoubledPause;
    lost.right &= lost.keeps({900, 900, 900, 900, 900}) && lost.pause_after(10) == kShortestPause;
    lost.right &= lost.pause_after(10) == 2 * kShortestPause;
    checks.expect(lost.right, "gauge: pauses are short again where bounds have gained");

    GaugedPanels longer;
    longer.right &= longer.pause_after(20'010) == static_cast<std::int64_t>(20.01 * measured::kPauseOfLost);
    longer.right &= longer.pause_after(10) == 2 * kShortestPause;
    longer.right &= longer.pause_after(1'000'000'000) == static_cast<std::int64_t>(measured::kLongestPause);
    checks.expect(longer.right, "gauge: a pause is as long as what was lost");

    // The shortest time of a score counts, and is forgotten slowly.
    GaugedPanels timed;
    const auto pause_of_scored = [&](std::int64_t time, std::int64_t pairs) {
        timed.gauge.record_scored(Gauge::Clock::duration{time}, pairs);
        return static_cast<double>(timed.pause_after(90'000)) / measured::kPauseOfLost;
    };
    for (const auto& [time, pairs, shortest] :
         {std::array{50'000, 5, 1050}, {50'000, 5, 1102}, {500, 0, 500}, {510, 1, 510}}) {
        timed.right &= std::abs(pause_of_scored(time, pairs) * shortest / 9e4 - 1) < 0.002;
    }
    checks.expect(timed.right, "gauge: the shortest time of a score");

    static_assert(measured::kPanelsOfMean == 4 && measured::kMostOfFirstPanels == 2);
    // The first panels may take up to twice as long; then the mean of the last ones may take as long as scores. The
    // very first is not part of it, and one that was disturbed counts as if it had taken twice as long.
    const auto keeps = [](std::initializer_list<std::int64_t> times) { return GaugedPanels().keeps(times); };
    checks.expect(keeps({2000}) && !keeps({2001}) && keeps({2000, 2000, 2000, 2000}) && !keeps({1, 1, 4001}) &&
                      keeps({1, 1, 3998}),
                  "gauge: the first panels");
    checks.expect(!keeps({1500, 1500, 1500, 1500, 1500}) && keeps({1000, 1000, 1000, 1000, 1000, 1000, 1000}) &&
                      keeps({1900, 1000, 1000, 1000, 998}) && !keeps({1900, 1000, 1000, 1000, 1004}),
                  "gauge: the mean of panels");
    checks.expect(keeps({500, 500, 500, 500, 500, 99'000}) && !keeps({500, 500, 500, 500, 500, 99'000, 1380}) &&
                      keeps({500, 500, 500, 500, 500, 99'000, 1370}),
                  "gauge: a panel that was disturbed");
}

// All candidates of all queries are targets, so that each score is a threshold for all others.
template <class T>
void check_counts_with_bounds(Checks& checks, Random& random) {
    constexpr std::size_t queries = 7, entities = 67, tasks = queries * entities;
    std::vector<std::int64_t> rows(tasks), targets(tasks);
    for (std::size_t t = 0; t < tasks; ++t) {
        rows[t] = static_cast<std::int64_t>(t / entities);
        targets[t] = static_cast<std::int64_t>(t % entities);
    }
    for (const auto& [name, similarity] : kSimilarities) {
        for (const std::size_t depth : {2u, 4u, 8u, 30u, 64u}) {
            for (int kind = 0; kind < 4; ++kind) {
                std::vector<T> q(queries * depth), e(entities * depth), bias(entities);
                const auto component = [&] {
                    if (kind == 0) return static_cast<T>(random.below(5) - 2);
                    if (kind == 1)
                        return static_cast<T>(std::ldexp(random.normal(), static_cast<int>(random.below(20))));
                    return static_cast<T>(random.normal() / 16);
                };
                for (T& x : q) x = component();
                for (std::size_t i = 0; i < entities; ++i) {
                    const std::size_t twin = i / 2 * depth;  // every other candidate is nearly one before
                    for (std::size_t k = 0; k < depth; ++k) e[i * depth + k] = i % 2 == 0 ? component() : e[twin + k];
                    T& moved = e[i * depth + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(depth)))];
                    if (i % 2 == 1) moved = std::nextafter(moved, static_cast<T>(random.below(3) - 1) * 1000);
                    bias[i] = static_cast<T>(random.normal());
                }
                Embeddings embeddings{matrix(q, queries), matrix(e, entities), similarity};
                if (kind == 3) embeddings.bias = bias.data();
                Grid grid{embeddings, std::vector<std::int64_t>(queries), std::vector<std::int64_t>(entities)};
                std::iota(grid.left.begin(), grid.left.end(), 0);
                std::iota(grid.right.begin(), grid.right.end(), 0);
                // Of the queries by themselves; of the queries and of the entities of the grid.
                constexpr std::size_t arrays = 9;
                std::vector<std::int64_t> counts[arrays], plain[arrays];
                const std::vector<std::string> names = usable_levels();
                for (std::size_t i = 0; i < names.size(); ++i) {
                    choose_levels((names[i] + "!").c_str());
                    for (auto& of_tasks : counts) of_tasks.assign(tasks, 0);
                    Counts out[3];
                    for (std::size_t j = 0; j < 3; ++j) {
                        out[j].above = counts[3 * j].data();
                        out[j].tied = counts[3 * j + 1].data();
                        out[j].candidates = counts[3 * j + 2].data();
                    }
                    const Tasks all{static_cast<std::int64_t>(tasks), rows.data(), targets.data()};
                    rank_embeddings(embeddings, all, NanRule::worst, {0, 1, nullptr}, out[0]);
                    rank_grid(grid, all, {}, NanRule::worst, {0, 1, nullptr}, out[1], out[2]);
                    if (i == 0) std::copy_n(counts, arrays, plain);
                    checks.expect(
                        std::equal(counts, counts + 3, counts + 3) && std::equal(counts, counts + arrays, plain),
                        "counts by %s, %s, %zu bytes, depth %zu, kind %d", names[i].c_str(), name, sizeof(T), depth,
                        kind);
                }
            }
        }
    }
    choose_levels("off");
}

// Counts of vectors of bytes are those of plain sums of integers, and words leave nothing open but ties. All candidates
// are targets, some are copies or one unit apart; the longest sums are beyond 2^24.
template <class Byte>
void check_counts_of_bytes(Checks& checks, DType dtype, Random& random) {
    constexpr std::size_t queries = 7, entities = 64, tasks = queries * entities;
    std::vector<std::int64_t> rows(tasks), targets(tasks);
    for (std::size_t t = 0; t < tasks; ++t) {
        rows[t] = static_cast<std::int64_t>(t / entities);
        targets[t] = static_cast<std::int64_t>(t % entities);
    }
    for (const Similarity similarity : {Similarity::dot, Similarity::sql2}) {
        for (const std::size_t depth : {1u, 8u, 33u, 96u, 300u, 1100u}) {
            for (int kind = 0; kind < 3; ++kind) {
                const int least = std::numeric_limits<Byte>::min(), most = std::numeric_limits<Byte>::max();
                std::vector<Byte> q(queries * depth), e(entities * depth);
                const auto component = [&] {
                    if (kind == 0) return static_cast<Byte>(least + random.below(256));
                    if (kind == 1) return static_cast<Byte>(random.one_in(2) ? least : most);
                    return static_cast<Byte>(random.one_in(30) ? most - random.below(2) : most);
                };
                for (Byte& x : q) x = component();
                for (std::size_t i = 0; i < entities; ++i) {
                    const std::size_t twin = i / 3 * 3 * depth;
                    for (std::size_t k = 0; k < depth; ++k) e[i * depth + k] = i % 3 == 0 ? component() : e[twin + k];
                    if (i % 3 == 1) e[i * depth] = static_cast<Byte>(e[twin] + (e[twin] == most ? -1 : 1));
                }
                std::vector<std::int64_t> scores(tasks), counts[3], expected[2];
                for (std::size_t t = 0; t < tasks; ++t) {
                    for (std::size_t k = 0; k < depth; ++k) {
                        const int x = q[t / entities * depth + k], y = e[t % entities * depth + k];
                        scores[t] += similarity == Similarity::dot ? x * y : -(x - y) * (x - y);
                    }
                }
                for (auto& of_tasks : expected) of_tasks.assign(tasks, 0);
                // What is open: ties, and of squares, whose sums are half as large, what is tied once it is halved.
                std::int64_t ties = 0;
                const auto half = [&](std::int64_t query, std::int64_t score) {
                    if (similarity == Similarity::dot) return score;
                    std::int64_t squares = 0;
                    for (std::size_t k = 0; k < depth; ++k) {
                        const int x = q[static_cast<std::size_t>(query) * depth + k] + (least == 0 ? -128 : 0);
                        squares += x * x;
                    }
                    return (squares + score) >> 1;
                };
                for (std::size_t t = 0; t < tasks; ++t) {
                    for (std::size_t j = 0; j < entities; ++j) {
                        const std::int64_t score = scores[t / entities * entities + j];
                        expected[0][t] += score > scores[t];
                        expected[1][t] += score == scores[t];
                        ties += half(rows[t], score) == half(rows[t], scores[t]);
                    }
                }
                const auto size = static_cast<std::int64_t>(depth);
                const auto matrix_of = [&](const std::vector<Byte>& bytes, std::int64_t n) {
                    return Scores{reinterpret_cast<const char*>(bytes.data()), n, size, size, 1, dtype, false};
                };
                for (const std::string& name : usable_levels()) {
                    choose_levels((name + "!").c_str());
                    for (auto& of_tasks : counts) of_tasks.assign(tasks, 0);
                    const std::int64_t open_before = bounds_tally.open;
                    rank_embeddings({matrix_of(q, queries), matrix_of(e, entities), similarity},
                                    {static_cast<std::int64_t>(tasks), rows.data(), targets.data()}, NanRule::worst,
                                    {0, 1, nullptr}, {counts[0].data(), counts[1].data(), counts[2].data()});
                    const std::int64_t open = bounds_tally.open - open_before;
                    checks.expect(counts[0] == expected[0] && counts[1] == expected[1],
                                  "counts of bytes by %s, similarity %d, depth %zu, kind %d", name.c_str(),
                                  static_cast<int>(similarity), depth, kind);
                    const bool is_exact = name == "int16" || name == "tiles" ||
                                          (name == "int8" && byte_products() == ByteProducts::fours);
                    checks.expect(!is_exact || open == ties, "bytes: %lld are open of %lld ties, depth %zu",
                                  static_cast<long long>(open), static_cast<long long>(ties), depth);
                }
            }
        }
    }
    choose_levels("off");
}

// What became of the pairs of queries, each of which is near the entity that is its target, with levels of a name.
BoundsTally tally_of(const std::string& levels, Similarity similarity, std::size_t depth, float mean) {
    constexpr std::size_t queries = 500, entities = 600;
    Random random;
    std::vector<float> q, e(entities * depth);
    for (float& x : e) x = mean + static_cast<float>(random.normal());
    for (std::size_t i = 0; i < queries * depth; ++i) q.push_back(e[i] + static_cast<float>(random.normal()) / 4);
    e[depth * (entities - 1)] = std::numeric_limits<float>::infinity();  // which the shift is not made of
    std::vector<std::int64_t> targets(queries), counts[3];
    std::iota(targets.begin(), targets.end(), 0);
    for (auto& of_tasks : counts) of_tasks.assign(queries, 0);
    const BoundsTally before = bounds_tally;
    choose_levels(levels.c_str());
    rank_embeddings({matrix(q, queries), matrix(e, entities), similarity}, {queries, nullptr, targets.data()},
                    NanRule::worst, {0, 1, nullptr}, {counts[0].data(), counts[1].data(), counts[2].data()});
    choose_levels("off");
    const BoundsTally after = bounds_tally;
    return {after.pairs - before.pairs, after.bounded - before.bounded, after.open - before.open,
            after.scored - before.scored};
}

// Counts are the same whether bounds decide pairs or not: what they spare is seen in the tally alone.
void check_tally(Checks& checks) {
    for (const auto& [name, similarity] : kSimilarities) {
        if (similarity == Similarity::poincare || similarity == Similarity::complex_l1) continue;
        const BoundsTally shallow = tally_of("int16", similarity, measured::kLeastDepth - 1, 0),
                          deep = tally_of("int16", similarity, 256, 0), off = tally_of("off", similarity, 256, 0);
        checks.expect(off.bounded == 0 && shallow.bounded == 0 && deep.bounded > 0, "bounds are tried, %s", name);
        // The shift takes away what the vectors have in common. The last panel has a vector that bounds do not cover.
        const BoundsTally finest = tally_of("int16!", similarity, 16, 30);
        checks.expect(finest.bounded > finest.pairs / 10 * 9 && finest.bounded < finest.pairs &&
                          finest.open < finest.bounded / 200 && finest.scored <= finest.open,
                      "bounds of vectors with a common part, %s", name);
        if (!can_use(Levels::int8)) continue;
        const BoundsTally words = tally_of("int16!", similarity, 8, 0), bytes = tally_of("int8!", similarity, 8, 0);
        const bool is_distance = similarity == Similarity::l1 || similarity == Similarity::inverse_l1;
        checks.expect(
            bytes.bounded == words.bounded && (is_distance ? bytes.open == words.open : bytes.open > words.open),
            "bytes leave more open than words, %s", name);
    }
}

}  // namespace

void check_bounds(Checks& checks) {
    Random random;
    check_decisions<float>(checks, random);
    check_decisions<double>(checks, random);
    check_sum_thresholds<float>(checks, random);
    check_sum_thresholds<double>(checks, random);
    check_collect<float>(checks, random);
    check_collect<double>(checks, random);
    check_gauge(checks);
    check_tally(checks);
    const BoundsTally before = bounds_tally;
    check_counts_of_bytes<std::int8_t>(checks, DType::int8, random);
    check_counts_of_bytes<std::uint8_t>(checks, DType::uint8, random);
    check_counts_with_bounds<float>(checks, random);
    check_counts_with_bounds<double>(checks, random);
    const BoundsTally after = bounds_tally;
    checks.expect(after.bounded > before.bounded && after.open > before.open && after.scored > before.scored,
                  "no pairs went by bounds");
}

}  // namespace truerank::tests
