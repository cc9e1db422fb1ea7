// Inference over many examples, batch by batch, on all threads that may help.
#ifndef NN_BATCHES_H_
#define NN_BATCHES_H_

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

namespace regard {

// Calls work(passes, i) for 0 <= i < count, each once. With InferenceThreads,
// and if nobody watches `forward`, several run at once, each on a Forward of
// its own over the same parameters: work begins its own steps, and touches
// nothing that another index does. What it computes has the same bits.
template <typename T>
void ForEachApart(Forward<T>& forward, int64_t count,
                  absl::FunctionRef<void(Forward<T>& passes, int64_t)> work);

// For examples 0 .. size - 1, `most` at a time: calls compute(passes, examples)
// in a new step, as ForEachApart() does, then collect(examples, result) with
// what each gave, in the order of the examples.
template <typename T, typename Compute, typename Collect>
void ForEachBatch(Forward<T>& forward, int64_t size, int64_t most,
                  Compute compute, Collect collect) {
  using Examples = absl::Span<const int64_t>;
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Examples> batches;
  for (int64_t first = 0; first < size; first += most) {
    batches.push_back(Examples(all).subspan(
        static_cast<size_t>(first),
        static_cast<size_t>(std::min(most, size - first))));
  }
  std::vector<std::invoke_result_t<Compute, Forward<T>&, Examples>> results(
      batches.size());
  ForEachApart<T>(forward, std::ssize(batches),
                  [&](Forward<T>& passes, int64_t i) {
                    const auto index = static_cast<size_t>(i);
                    passes.BeginStep();
                    results[index] = compute(passes, batches[index]);
                  });
  for (size_t i = 0; i < batches.size(); ++i) {
    collect(batches[i], std::move(results[i]));
  }
}

}  // namespace regard

#endif  // NN_BATCHES_H_
