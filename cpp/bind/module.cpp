// The extension truerank._core: what C++ gives to Python, one file after another.
#include "bind/calls.hpp"

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
    using namespace truerank::bind;
    m.doc() = "The compiled core of truerank. It is private, and may change at any time.";
    m.attr("__version__") = TRUERANK_VERSION;
    remember_main_thread();
    register_machine(m);
    register_scores(m);
    register_selections(m);
    register_tasks(m);
    register_ranking(m);
    register_embeddings(m);
    register_grids(m);
}
