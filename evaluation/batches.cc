#include "evaluation/batches.h"

#include <atomic>

#include "autodiff/instantiate.h"
#include "autodiff/worker_pool.h"

namespace regard {

template <typename T>
void ParallelFor(Forward<T>& forward, int64_t count,
                 absl::FunctionRef<void(Forward<T>& passes, int64_t)> work) {
  const ScopedFlushDenormals flush;  // as on the threads of a pool
  WorkerPool* const pool = InferenceThreads::Pool();
  // Without a hook, nothing needs a gradient.
  const bool records = forward.hook() != nullptr;
  const auto run = [&](Forward<T>& passes, int64_t i) {
    const bool recording = passes.tape().recording();
    passes.tape().set_recording(recording && records);
    work(passes, i);
    passes.tape().set_recording(recording);
  };
  // If there are fewer calls than threads, the threads share the matrix
  // products of each call instead.
  if (pool == nullptr || pool->threads() == 1 || count < pool->threads() ||
      forward.hook() != nullptr) {
    for (int64_t i = 0; i < count; ++i) run(forward, i);
    return;
  }
  const InferenceThreads alone = InferenceThreads::None();
  forward.MakeCompanions(pool->threads() - 1);
  std::atomic<int64_t> next = 0;
  pool->Run(pool->threads(), [&](int64_t index) {
    Forward<T>& passes = index > 0 ? forward.companion(index - 1) : forward;
    for (int64_t i = next++; i < count; i = next++) run(passes, i);
  });
}

REGARD_INSTANTIATE_FUNCTION(ParallelFor);

}  // namespace regard
