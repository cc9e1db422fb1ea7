#include "nn/batches.h"

#include <atomic>
#include <optional>

#include "autodiff/instantiate.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"

namespace regard {

template <typename T>
void ForEachApart(Forward<T>& forward, int64_t count,
                  absl::FunctionRef<void(Forward<T>& passes, int64_t)> work) {
  WorkerPool* const pool = InferenceThreads::Pool();
  // Fewer than the threads share the products of each.
  if (pool == nullptr || pool->threads() == 1 || count < pool->threads() ||
      forward.probe() != nullptr) {
    for (int64_t i = 0; i < count; ++i) work(forward, i);
    return;
  }
  const InferenceThreads alone = InferenceThreads::None();
  std::atomic<int64_t> next = 0;
  pool->Run(pool->threads(), [&](int64_t thread) {
    std::optional<Tape<T>> tape;
    std::optional<Forward<T>> own;
    if (thread > 0) {
      tape.emplace();
      own.emplace(*tape, forward.parameters(), /*gradients=*/nullptr);
    }
    Forward<T>& passes = thread > 0 ? *own : forward;
    for (int64_t i = next++; i < count; i = next++) work(passes, i);
  });
}

REGARD_INSTANTIATE_FUNCTION(ForEachApart);

}  // namespace regard
