// What every call from Python needs: its arguments are checked, it counts without the GIL, and meanwhile it notices
// Ctrl-C and tells who listens how far it has come.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

#include "engine/threads.hpp"

namespace truerank::bind {

namespace py = pybind11;

// Keeps the calling thread where it is until the process ends.
[[noreturn]] void stay();

// Calls what may give the GIL up and take it again. Pythons before 3.14 end a daemon thread that asks for the GIL while
// the interpreter shuts down: pthread_exit, which glibc carries out by unwinding the stack. The destructors of what
// refers to Python's objects need the GIL; unwinding out of a destructor, or out of a parallel region, ends the
// process. The thread stays here instead, as newer Pythons arrange themselves. Hence no destructor takes the GIL, and
// nothing of pybind11's that does so is used: gil_scoped_release, gil_scoped_acquire, call_guard,
// gil_safe_call_once_and_store.
template <class Call>
auto stay_if_ended(const Call& call) {
#ifdef __GLIBCXX__
    try {
        return call();
    } catch (const abi::__forced_unwind&) {
        stay();
    }
#else
    return call();
#endif
}

// A contiguous and aligned array of int64; arrays that are not so are copied if no number changes.
using Int64Array = py::array_t<std::int64_t, int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_}>;

// Whether an object is such an array already.
bool is_int64_array(py::handle object);

// The package's own Python layer has checked all arguments. What memory safety depends on is checked again in every
// call before the GIL is released: bound objects only refer to arrays, whose contents others may change.
void require(bool holds, const char* message);
void require_within(const Int64Array& values, std::int64_t bound, const char* message, std::int64_t least = 0);
// Whether an array is contiguous and aligned.
bool is_plain(const py::array& array);

// A new array of these values. It is copied here: numpy gives the GIL up for a large copy.
template <class T>
py::array_t<T> array_of(const std::vector<T>& values) {
    py::array_t<T> array(static_cast<py::ssize_t>(values.size()));
    std::copy(values.begin(), values.end(), array.mutable_data());
    return array;
}

// Remembers the main thread, which is the only one to run Python's signal handlers; called once, when the module is
// loaded. In the child of a fork it is the thread that forked.
void remember_main_thread();

// What a call is to ask, now and then, whether to stop; null on threads that need not ask.
bool (*interrupt_hook())();

// A callable of Python that hears how far a call has come. If it raises, the call stops.
class PythonListener final : public Listener {
  public:
    PythonListener(py::object hear, double seconds) : Listener(Interval(seconds)), hear_(std::move(hear)) {}
    bool hear(std::int64_t done, std::int64_t total) override;

  private:
    py::object hear_;
};

// Runs work without the GIL. If it was interrupted, this throws the exception that Python's signal handler has set, or
// a listener.
void run_without_gil(void (*run)(const void* work), const void* work);
template <class Work>
void without_gil(const Work& work) {
    run_without_gil([](const void* given) { (*static_cast<const Work*>(given))(); }, &work);
}

template <class T, auto Get>
PyObject* get_attribute(PyObject* self, void*) {
    const auto* instance = reinterpret_cast<py::detail::instance*>(self);
    const auto* value = static_cast<const T*>(instance->simple_layout ? instance->simple_value_holder[0] : nullptr);
    try {
        if (value == nullptr) throw py::type_error("expected an object that __init__ has made");
        decltype(auto) found = std::invoke(Get, *value);
        using Caster = py::detail::make_caster<decltype(found)>;
        return Caster::cast(found, py::return_value_policy::copy, py::handle()).ptr();
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    }
    return nullptr;
}

// Gives a class a read-only attribute: a member of T, or what a function makes of a T. pybind11's own attributes are
// Python functions and take four times as long, which is noticeable in small counts.
template <auto Get, class T>
void add_attribute(py::class_<T>& bound, const char* name, const char* doc = nullptr) {
    static PyGetSetDef definition{name, get_attribute<T, Get>, nullptr, doc, nullptr};
    auto* const type = reinterpret_cast<PyTypeObject*>(bound.ptr());
    const auto attribute = py::reinterpret_steal<py::object>(PyDescr_NewGetSet(type, &definition));
    if (!attribute) throw py::error_already_set();
    bound.attr(name) = attribute;
}

// Each of these binds what is defined in the file of that name.
void register_calls(py::module_& m);
void register_machine(py::module_& m);
void register_scores(py::module_& m);
void register_selections(py::module_& m);
void register_tasks(py::module_& m);
void register_ranking(py::module_& m);
void register_embeddings(py::module_& m);
void register_integers(py::module_& m);
void register_names(py::module_& m);

}  // namespace truerank::bind

namespace pybind11::detail {

// Nearly all arguments are such arrays already: to have numpy convert them takes longer than a small count.
template <>
struct pyobject_caster<truerank::bind::Int64Array> {
    using type = truerank::bind::Int64Array;
    // The default constructor of the type would make an array.
    pyobject_caster() : value(reinterpret_steal<type>(handle())) {}
    bool load(handle source, bool convert) {
        if (truerank::bind::is_int64_array(source)) {
            value = reinterpret_borrow<type>(source);
        } else {
            value = reinterpret_steal<type>(handle());
            if (convert) value = truerank::bind::stay_if_ended([&] { return type::ensure(source); });
        }
        return static_cast<bool>(value);
    }
    static handle cast(const handle& source, return_value_policy, handle) { return source.inc_ref(); }
    PYBIND11_TYPE_CASTER(type, handle_type_name<type>::name);
};

// Refuses objects that __new__ has made without __init__: pybind11 would take uninitialised memory for their values.
template <class T>
class initialised_caster : public type_caster_base<T> {
  public:
    bool load(handle source, bool convert) { return this->template load_impl<initialised_caster<T>>(source, convert); }
    void load_value(value_and_holder&& held) {
        if (held.value_ptr() == nullptr) throw type_error("expected an object that __init__ has made");
        this->value = held.value_ptr();
    }
};

}  // namespace pybind11::detail

// This is to be written beside each class that is bound, outside of all namespaces.
#define TRUERANK_BOUND(name) \
    template <>              \
    class pybind11::detail::type_caster<name> : public pybind11::detail::initialised_caster<name> {}

TRUERANK_BOUND(truerank::bind::PythonListener);
