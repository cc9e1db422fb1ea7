// Runs inference over many examples, batch by batch, on threads and ranks.
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

// Calls work(passes, i) once for each i in 0 .. count - 1. With
// InferenceThreads, and if `forward` has no hook, several calls run at once.
// Each call has its own Forward over the same parameters. work() must begin its
// own steps, and must not touch data of another index. Results are
// bit-identical.
template <typename T>
void ParallelFor(Forward<T>& forward, int64_t count,
                 absl::FunctionRef<void(Forward<T>& passes, int64_t)> work);

// Returns the results of work(passes, i) for 0 <= i < count, in order. The
// calls run as in ParallelFor(). Unless `forward` has a hook, the ranks of
// InferenceRanks share the calls, and all ranks get all results. `count` must
// not depend on the number of threads, which may differ between ranks.
// optimization/ranks/value_bytes.h describes the supported types of results.
template <typename T, typename Work>
auto ParallelMap(Forward<T>& forward, int64_t count, Work work) {
  std::vector<std::invoke_result_t<Work, Forward<T>&, int64_t>> results(
      static_cast<size_t>(count));
  Ranks* const ranks =
      forward.hook() == nullptr ? InferenceRanks::Current() : nullptr;
  const int64_t first = ranks == nullptr ? 0 : ranks->rank();
  const int64_t stride = ranks == nullptr ? 1 : ranks->size();
  {
    const InferenceRanks alone(nullptr);
    ParallelFor<T>(forward, (count - first + stride - 1) / stride,
                   [&](Forward<T>& passes, int64_t turn) {
                     const int64_t i = first + turn * stride;
                     results[static_cast<size_t>(i)] = work(passes, i);
                   });
  }
  if (ranks != nullptr) GatherResults(*ranks, &results);
  return results;
}

// Processes the examples 0 .. size - 1, `most` at a time. Calls compute(passes,
// examples) in a new step, as ParallelMap() does. Then calls collect(examples,
// result) for each batch, in the order of examples.
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
  auto results = ParallelMap(forward, (size + most - 1) / most,
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
