// Integers: where they stand among others.
#include "engine/integers.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "bind/calls.hpp"

namespace truerank::bind {
namespace {

std::span<const std::int64_t> values_of(const Int64Array& array) {
    return {array.data(), static_cast<std::size_t>(array.size())};
}

}  // namespace

// A table, and the integers that it reads. If these change, it finds others, and nothing worse happens.
class IntegerArray {
  public:
    explicit IntegerArray(Int64Array values) : values_(std::move(values)) {
        without_gil([&] { table_.emplace(values_of(values_)); });
    }
    Int64Array find(const Int64Array& sought) const {
        Int64Array positions(sought.size());
        std::int64_t* const found = positions.mutable_data();
        without_gil([&] { table_->find(values_of(sought), found); });
        return positions;
    }

  private:
    Int64Array values_;
    std::optional<IntegerTable> table_;
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::IntegerArray);

namespace truerank::bind {

void register_integers(py::module_& m) {
    py::class_<IntegerArray>(m, "IntegerTable", py::is_final(), "Finds integers among others.")
        .def(py::init<Int64Array>(), py::arg("values"))
        .def("find", &IntegerArray::find, py::arg("sought"),
             "The first position of each integer among the values; -1 where there is none.");
}

}  // namespace truerank::bind
