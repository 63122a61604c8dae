#include "bind/calls.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#ifndef _WIN32
#include <pthread.h>
#endif

#include "engine/selection.hpp"

namespace truerank::bind {
namespace {

unsigned long main_thread = 0;

// A thread that counts gave this up with the GIL, and takes it back with it.
thread_local PyThreadState* released = nullptr;

bool on_main_thread() { return PyThread_get_thread_ident() == main_thread; }

// Calls Python from within run_without_gil, on its thread. It does so by hand, for PyGILState_Ensure would look up the
// thread's state, and crash where the interpreter has dropped it; and Python must not end a thread within a destructor.
template <class Call>
auto with_gil(const Call& call) {
    return stay_if_ended([&] {
        PyEval_RestoreThread(released);
        auto result = call();
        released = PyEval_SaveThread();
        return result;
    });
}

bool signal_raised() {
    return with_gil([] { return PyErr_CheckSignals() != 0; });
}

}  // namespace

void stay() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

bool is_int64_array(py::handle object) {
    if (!py::isinstance<py::array>(object)) return false;
    const auto array = py::reinterpret_borrow<py::array>(object);
    const py::dtype type = array.dtype();
    constexpr int flags = int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
    return type.kind() == 'i' && array.itemsize() == 8 && type.byteorder() == '=' && (array.flags() & flags) == flags;
}

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

void require_within(const Int64Array& values, std::int64_t bound, const char* message, std::int64_t least) {
    require(first_outside(values.data(), values.size(), bound, least) < 0, message);
}

bool is_plain(const py::array& array) {
    return (array.flags() & py::array::c_style) != 0 &&
           reinterpret_cast<std::uintptr_t>(array.data()) % static_cast<std::uintptr_t>(array.itemsize()) == 0;
}

void remember_main_thread() {
    main_thread = py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
#ifndef _WIN32
    pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
#endif
}

bool (*interrupt_hook())() { return on_main_thread() ? signal_raised : nullptr; }

bool PythonListener::hear(std::int64_t done, std::int64_t total) {
    return with_gil([&] {
        PyObject* const result =
            PyObject_CallFunction(hear_.ptr(), "LL", static_cast<long long>(done), static_cast<long long>(total));
        const bool heard = result != nullptr;
        Py_XDECREF(result);
        return heard;
    });
}

void run_without_gil(void (*run)(const void* work), const void* work) {
    released = PyEval_SaveThread();
    std::exception_ptr failure;
    try {
        run(work);
    } catch (...) {
        failure = std::current_exception();
    }
    stay_if_ended([] { PyEval_RestoreThread(released); });
    if (!failure) return;
    try {
        std::rethrow_exception(failure);
    } catch (const Interrupted&) {
        throw py::error_already_set();
    }
}

void register_calls(py::module_& m) {
    py::class_<PythonListener>(m, "Listener", py::is_final(), "Hears how far a call has come: (done, total).")
        .def(py::init<py::object, double>(), py::arg("hear"), py::arg("seconds"));
}

}  // namespace truerank::bind
