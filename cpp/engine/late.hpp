// Late interaction (MaxSim): queries and documents are lists of vectors, one for each token.
//
// The score of a pair is the sum, over the tokens of the query, of the greatest score of that token with any of the
// document's. The scores of tokens are those of a sweep, to the bit; sums are in double precision and in the order of
// the tokens, and are rounded once. Sinks, cells and panels are those of a sweep, in which documents are candidates: so
// all that counts, lists or writes scores of vectors does so with these.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/sweep.hpp"

namespace truerank {

// As sweep() and score_pairs(), of queries and entities with tokens.
template <class C>
void sweep_tokens(const Scoring<C>& scoring, const SortedTasks& sorted, const Execution& execution,
                  std::int64_t task_bytes, const std::function<std::unique_ptr<Sink<C>>()>& make_sink);
template <class C>
void score_token_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                       const Execution& execution, C* out);

}  // namespace truerank
