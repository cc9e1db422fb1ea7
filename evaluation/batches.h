// Inference over many examples, batch by batch, on all threads and by all ranks
// that may help.
#ifndef EVALUATION_BATCHES_H_
#define EVALUATION_BATCHES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "nn/forward.h"
#include "optimization/ranks/inference_ranks.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// Calls work(passes, i) for 0 <= i < count, each once. With InferenceThreads,
// and if nobody watches `forward`, several run at once, each on a Forward of
// its own over the same parameters: work begins its own steps, and touches
// nothing that another index does. What it computes has the same bits.
template <typename T>
void ForEachApart(Forward<T>& forward, int64_t count,
                  absl::FunctionRef<void(Forward<T>& passes, int64_t)> work);

// The results work(passes, i) -> Result for 0 <= i < count, in order, of calls
// as ForEachApart() makes them. InferenceRanks share them, and have all of them
// then, unless somebody watches `forward`; so `count` must not depend on
// threads, of which each rank may have another number. For what a Result may be
// see optimization/ranks/value_bytes.h.
template <typename T, typename Work>
auto ResultsApart(Forward<T>& forward, int64_t count, Work work) {
  std::vector<std::invoke_result_t<Work, Forward<T>&, int64_t>> results(
      static_cast<size_t>(count));
  Ranks* const ranks =
      forward.probe() == nullptr ? InferenceRanks::Current() : nullptr;
  const int64_t first = ranks == nullptr ? 0 : ranks->rank();
  const int64_t stride = ranks == nullptr ? 1 : ranks->size();
  {
    const InferenceRanks alone(nullptr);
    ForEachApart<T>(forward, (count - first + stride - 1) / stride,
                    [&](Forward<T>& passes, int64_t turn) {
                      const int64_t i = first + turn * stride;
                      results[static_cast<size_t>(i)] = work(passes, i);
                    });
  }
  if (ranks != nullptr) GatherResults(*ranks, &results);
  return results;
}

// For examples 0 .. size - 1, `most` at a time: calls compute(passes, examples)
// in a new step, as ResultsApart() does, then collect(examples, result) with
// what each gave, in the order of the examples.
template <typename T, typename Compute, typename Collect>
void ForEachBatch(Forward<T>& forward, int64_t size, int64_t most,
                  Compute compute, Collect collect) {
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  const auto batch = [&](int64_t i) {
    return absl::MakeConstSpan(all).subspan(
        static_cast<size_t>(i * most),
        static_cast<size_t>(std::min(most, size - i * most)));
  };
  auto results = ResultsApart(forward, (size + most - 1) / most,
                              [&](Forward<T>& passes, int64_t i) {
                                passes.BeginStep();
                                return compute(passes, batch(i));
                              });
  for (size_t i = 0; i < results.size(); ++i) {
    collect(batch(static_cast<int64_t>(i)), std::move(results[i]));
  }
}

}  // namespace regard

#endif  // EVALUATION_BATCHES_H_
