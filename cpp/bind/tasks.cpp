#include "bind/tasks.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace truerank::bind {
namespace {

// These are in the order of NanRule, and of Fault::Kind.
constexpr std::string_view kNanRules[] = {"raise", "worst", "omit"};
constexpr std::string_view kFaultKinds[] = {"none", "target", "nan", "nan_true_score"};

// These are in the order of Count. Names are made into Python strings once, with the module: making one takes longer
// than a small count.
constexpr const char* kCountNames[] = {"above", "tied", "candidates", "nan", "inf", "at_best", "best", "differing"};
py::handle count_names[std::size(kCountNames)];
py::handle make_zeros;  // numpy's

// From 128 KB on the C library may give memory back to the system as soon as it is freed.
constexpr std::int64_t kBlockCounts = (std::int64_t{128} << 10) / sizeof(std::int64_t);

TaskArrays make_tasks(std::optional<Int64Array> rows, std::optional<Int64Array> targets,
                      std::optional<SelectionArrays> filter, std::optional<SelectionArrays> candidates) {
    require(!filter || !filter->ranges, "filter: ranges");
    return {std::move(rows), std::move(targets), std::move(filter), std::move(candidates)};
}

AuditedRules make_rules(bool ascending, std::string_view nan, bool audit) {
    return {{ascending, nan_rule(nan)}, audit};
}

bool is_ascending(const AuditedRules& r) { return r.rules.ascending; }
std::string_view nan_name(const AuditedRules& r) { return kNanRules[static_cast<std::size_t>(r.rules.nan)]; }

using RulesState = std::tuple<bool, std::string, bool>;
RulesState state_of_rules(const AuditedRules& r) { return {r.rules.ascending, std::string(nan_name(r)), r.audit}; }
AuditedRules rules_from_state(const RulesState& state) { return std::apply(make_rules, state); }

std::string_view fault_name(const Fault& fault) { return kFaultKinds[static_cast<std::size_t>(fault.kind)]; }
Fault make_fault(std::string_view kind, std::int64_t task, std::int64_t row, std::int64_t column) {
    const auto* name = std::find(std::begin(kFaultKinds) + 1, std::end(kFaultKinds), kind);
    require(name != std::end(kFaultKinds), "fault: unknown kind");
    return {static_cast<Fault::Kind>(name - std::begin(kFaultKinds)), task, row, column};
}

using FaultState = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;
FaultState state_of_fault(const Fault& f) { return {std::string(fault_name(f)), f.task, f.row, f.column}; }
Fault fault_from_state(const FaultState& state) { return std::apply(make_fault, state); }

}  // namespace

NanRule nan_rule(std::string_view name) {
    const auto* rule = std::find(std::begin(kNanRules), std::end(kNanRules), name);
    require(rule != std::end(kNanRules), "nan: unknown rule");
    return static_cast<NanRule>(rule - std::begin(kNanRules));
}

std::int64_t TaskArrays::size() const {
    require(targets && targets->ndim() == 1, "targets: not one-dimensional");
    require(!rows || (rows->ndim() == 1 && rows->size() == targets->size()), "rows: not one for each task");
    return targets->size();
}

Tasks TaskArrays::view(std::int64_t tasks) const {
    return {tasks, rows ? rows->data() : nullptr, targets ? targets->data() : nullptr,
            filter ? filter->view(tasks) : Selection{}, candidates ? candidates->view(tasks) : Selection{}};
}

Tasks TaskArrays::view_of_part(std::int64_t tasks, std::int64_t first_column, std::int64_t columns,
                               const void* true_scores) const {
    using Limits = std::numeric_limits<std::int64_t>;
    require(first_column >= 0 && first_column <= Limits::max() - columns, "first_column: out of range");
    require_within(*targets, Limits::max(), "targets: negative", -1);
    Tasks part = view(tasks);
    part.true_scores = static_cast<const char*>(true_scores);
    part.first_column = first_column;
    part.filter = part.filter.within(first_column, first_column + columns);
    part.candidates = part.candidates.within(first_column, first_column + columns);
    return part;
}

void CountArrays::reserve(std::int64_t arrays, bool zeros) {
    const std::int64_t size = arrays * tasks_;
    reserved_ = zeros ? stay_if_ended([size] { return Int64Array(make_zeros(size, "i8")); }) : Int64Array(size);
    used_ = 0;
}

std::int64_t* CountArrays::add(Count count, std::optional<std::int64_t> value) {
    // This is twice as fast as py::array, which is noticeable in small counts.
    const auto& api = py::detail::npy_api::get();
    Py_intptr_t shape = tasks_;
    std::int64_t* const place = reserved_ ? reserved_.mutable_data() + used_++ * tasks_ : nullptr;
    auto array = py::reinterpret_steal<py::array>(api.PyArray_NewFromDescr_(
        api.PyArray_Type_, api.PyArray_DescrFromType_(py::detail::npy_api::NPY_INT64_), 1, &shape, nullptr, place,
        place == nullptr ? 0 : int{py::detail::npy_api::NPY_ARRAY_WRITEABLE_}, nullptr));
    if (!array) throw py::error_already_set();
    if (place != nullptr && api.PyArray_SetBaseObject_(array.ptr(), reserved_.inc_ref().ptr()) != 0) {
        throw py::error_already_set();
    }
    auto* const data = static_cast<std::int64_t*>(array.mutable_data());
    const py::handle name = count_names[static_cast<std::size_t>(count)];
    if (counted_) {
        const auto numbers = (*counted_)[name].cast<Int64Array>();
        require(numbers.ndim() == 1 && numbers.size() == tasks_, "counted: not one for each task");
        std::copy_n(numbers.data(), tasks_, data);
    } else if (value) {
        std::fill_n(data, tasks_, *value);
    }
    arrays_[name] = array;
    return data;
}

Counts CountArrays::add_counts(const AuditedRules& rules, std::optional<std::int64_t> value) {
    // One block has large pages from 4 MB on, and when it is freed the C library keeps its memory for the next call,
    // where it gives back what several blocks had: each page is then a fault, in every call. Whoever keeps one of the
    // three arrays keeps the block, which is the memory of all. Those of an audit have a block of their own: it goes
    // once they are copied.
    constexpr std::int64_t arrays = 3;
    const bool has_blocks = !reserved_ && arrays * tasks_ >= kBlockCounts;
    if (has_blocks) reserve(arrays);
    Counts counts;
    counts.above = add(Count::above, value);
    counts.tied = add(Count::tied, value);
    counts.candidates = add(Count::candidates, value);
    if (!rules.audit) return counts;
    if (has_blocks) reserve(arrays);
    counts.nan = add(Count::nan);
    counts.inf = add(Count::inf);
    counts.at_best = add(Count::at_best);
    return counts;
}

Counts CountArrays::add_partial_counts(const AuditedRules& audited_rules, bool fills) {
    using Limits = std::numeric_limits<std::int64_t>;
    reserve(audited_rules.audit ? 6 : 3);
    Counts counts = add_counts(audited_rules, fills ? std::optional<std::int64_t>(0) : std::nullopt);
    // What mostly stays 0 is memory that the system gives so: then it is never touched.
    reserve(2, /*zeros=*/true);
    if (!audited_rules.audit) counts.nan = add(Count::nan, std::nullopt);
    counts.differing = add(Count::differing, std::nullopt);
    if (audited_rules.audit)
        counts.best = add(Count::best, audited_rules.rules.ascending ? Limits::max() : Limits::min());
    return counts;
}

std::optional<Fault> fault_or_none(const Fault& fault) {
    if (!fault) return {};
    return fault;
}

void register_tasks(py::module_& m) {
    for (std::size_t i = 0; i < std::size(kCountNames); ++i) {
        count_names[i] = PyUnicode_InternFromString(kCountNames[i]);
    }
    make_zeros = py::getattr(py::module_::import("numpy"), "zeros").release();
    m.def(
        "first_outside",
        [](const Int64Array& values, std::int64_t bound) {
            return first_outside(values.data(), values.size(), bound, 0);
        },
        py::arg("values"), py::arg("bound"), "The position of the first value outside of [0, bound), or -1.");
    py::class_<TaskArrays>(m, "Tasks", py::is_final(), "Which row each task reads, and which columns count.")
        .def(py::init(&make_tasks), py::arg("rows").none(true), py::arg("targets").none(true),
             py::arg("filter").none(true) = py::none(), py::arg("candidates").none(true) = py::none());
    py::class_<AuditedRules> rules(m, "Rules", py::is_final(), "How scores are compared and what is counted.");
    add_attribute<&is_ascending>(rules, "ascending");
    add_attribute<&nan_name>(rules, "nan");
    add_attribute<&AuditedRules::audit>(rules, "audit");
    rules.def(py::init(&make_rules), py::arg("ascending"), py::arg("nan"), py::arg("audit"))
        .def(py::pickle(&state_of_rules, &rules_from_state));
    py::class_<Fault> fault(m, "Fault", py::is_final(), "What made counts void.");
    add_attribute<&fault_name>(fault, "kind");
    add_attribute<&Fault::task>(fault, "task");
    add_attribute<&Fault::row>(fault, "row");
    add_attribute<&Fault::column>(fault, "column");
    fault.def(py::init(&make_fault), py::arg("kind"), py::arg("task"), py::arg("row"), py::arg("column"))
        .def(py::pickle(&state_of_fault, &fault_from_state));
    py::class_<CountArrays> counts(m, "Counts", py::is_final(), "Counts by name: arrays of one integer for each task.");
    add_attribute<&CountArrays::arrays>(counts, "arrays");
    add_attribute<&CountArrays::fault>(counts, "fault", "What made the counts void, or None.");
    add_attribute<&CountArrays::may_be_masked>(counts, "may_be_masked", "Whether a true score may be the worst float.");
}

}  // namespace truerank::bind
