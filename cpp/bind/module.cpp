// The extension truerank._core: what C++ gives to Python, one file after another.
#include "bind/calls.hpp"

namespace {

constexpr const char* kSubinterpreter =
    "truerank: cannot be imported in a subinterpreter, only in the main one; use processes or threads";

// Sets an exception in a subinterpreter.
bool refused() {
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) return false;
    PyErr_SetString(PyExc_ImportError, kSubinterpreter);
    return true;
}

using Fill = int (*)(PyObject* module);
Fill fill_anywhere = nullptr;

int fill_in_main_interpreter(PyObject* module) { return refused() ? -1 : fill_anywhere(module); }

}  // namespace

PYBIND11_MODULE(_core_anywhere, m, pybind11::mod_gil_not_used()) {
    using namespace truerank::bind;
    m.doc() = "The compiled core of truerank. It is private, and may change at any time.";
    m.attr("__version__") = TRUERANK_VERSION;
    remember_main_thread();
    // Looks up numpy's functions. Pybind11 would do so at their first use, with the GIL given up, and taken again in a
    // destructor.
    py::detail::npy_api::get();
    register_calls(m);
    register_machine(m);
    register_scores(m);
    register_selections(m);
    register_tasks(m);
    register_ranking(m);
    register_embeddings(m);
    register_integers(m);
    register_names(m);
}

// What Python calls, and the only name that is exported. In a subinterpreter pybind11 would wait for ever for the GIL,
// which the same thread holds, before it ran any code of ours. Pythons from 3.13 on call this in the main interpreter,
// and only what fills the module in the other one. That is refused before pybind11 hears of it, too: it would give the
// GIL up and take it again in every call from then on, to look up what it keeps for each interpreter.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
    if (refused()) return nullptr;
    PyObject* const definition = PyInit__core_anywhere();
    if (definition == nullptr) return nullptr;
    PyModuleDef_Slot* slot = reinterpret_cast<PyModuleDef*>(definition)->m_slots;
    while (slot->slot != Py_mod_exec) ++slot;
    if (fill_anywhere == nullptr) fill_anywhere = reinterpret_cast<Fill>(slot->value);
    slot->value = reinterpret_cast<void*>(&fill_in_main_interpreter);
    return definition;
}
