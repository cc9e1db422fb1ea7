// A pool of threads for work that is split by index. If calls of Run() follow
// one another closely, each call has an overhead of less than a microsecond.
//
// The work on one index must not touch data of another index. The result then
// does not depend on which thread runs an index. Denormal numbers are flushed
// to zero on all threads during the work.
#ifndef AUTODIFF_WORKER_POOL_H_
#define AUTODIFF_WORKER_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace regard {

class WorkerPool {
 public:
  // `threads` includes the caller of Run() and is at least 1. With 1, no thread
  // is started.
  explicit WorkerPool(int threads);
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls work(i) once for each i in 0 .. count - 1, and returns when all calls
  // are done. Must not be called during another call of Run(): this fails a
  // check if both calls use several threads.
  void Run(int64_t count, absl::FunctionRef<void(int64_t)> work);

  int threads() const { return static_cast<int>(threads_.size()) + 1; }

 private:
  void Serve();
  // Claims indices and runs the work on them, until all indices are claimed.
  void TakeWork();

  std::vector<std::thread> threads_;
  // The current call of Run(), written before `round_` announces it.
  const absl::FunctionRef<void(int64_t)>* work_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_ = 0;
  std::atomic<int> busy_ = 0;  // threads that have not finished this round
  std::atomic<uint64_t> round_ = 0;
  std::atomic<bool> running_ = false;
  std::atomic<bool> stop_ = false;
  // Used by threads that have stopped spinning and sleep.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
};

// Lets inference on the current thread use the threads of `pool` for the
// lifetime of this object. Large matrix products are split by columns
// (kernels/gemm.h), attention is split by heads (attention/kernels), and the
// work of a batch is split among threads (evaluation/batches.h). During this
// time, the pool must do no other work: a matrix product inside of the pool's
// Run() fails a check. Results are bit-identical if the calling thread flushes
// denormals (FlushDenormalsToZero()), as the threads of the pool do. Training
// does not need this, because each thread has its own shard. Scopes nest.
class InferenceThreads {
 public:
  explicit InferenceThreads(WorkerPool& pool) : InferenceThreads(&pool) {}
  ~InferenceThreads();

  InferenceThreads(const InferenceThreads&) = delete;
  InferenceThreads& operator=(const InferenceThreads&) = delete;

  // Makes the current thread compute without a pool for the lifetime of the
  // result.
  static InferenceThreads None() { return InferenceThreads(nullptr); }

  // Returns the pool of the innermost scope of the calling thread, or null.
  static WorkerPool* Pool();

 private:
  explicit InferenceThreads(WorkerPool* pool);

  WorkerPool* const outer_;
};

// Returns the number of threads that run at once on this machine, at least 1.
int HardwareThreads();

// Makes the calling thread treat denormal numbers as zero until the thread
// ends, both as operands and as results. Training produces denormal numbers,
// and they are slow. A library must not call this, because it must not change
// the threads of its caller.
void FlushDenormalsToZero();

// Calls FlushDenormalsToZero(), and restores the previous state of the thread
// when it is destroyed.
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals();
  ~ScopedFlushDenormals();
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;

 private:
  const unsigned int saved_;
};

}  // namespace regard

#endif  // AUTODIFF_WORKER_POOL_H_
