// The extension truerank._core: what C++ gives to Python, one file after another.
#include "bind/calls.hpp"

namespace {

constexpr const char* kSubinterpreter =
    "truerank: cannot be imported in a subinterpreter, only in the main one; use processes or threads";

bool in_subinterpreter() { return PyInterpreterState_Get() != PyInterpreterState_Main(); }

}  // namespace

PYBIND11_MODULE(_core_anywhere, m, pybind11::mod_gil_not_used()) {
    using namespace truerank::bind;
    // Pythons from 3.13 on call the entry point in the main interpreter, and only this in the other one.
    if (in_subinterpreter()) throw py::import_error(kSubinterpreter);
    m.doc() = "The compiled core of truerank. It is private, and may change at any time.";
    m.attr("__version__") = TRUERANK_VERSION;
    remember_main_thread();
    register_calls(m);
    register_machine(m);
    register_scores(m);
    register_selections(m);
    register_tasks(m);
    register_ranking(m);
    register_embeddings(m);
    register_grids(m);
    register_lists(m);
    register_text_lists(m);
}

// What Python calls, and the only name that is exported. In a subinterpreter pybind11 would wait for ever for the GIL,
// which the same thread holds, before it ran any code of ours.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
    if (in_subinterpreter()) {
        PyErr_SetString(PyExc_ImportError, kSubinterpreter);
        return nullptr;
    }
    return PyInit__core_anywhere();
}
