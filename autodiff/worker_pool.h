// Threads that wait for work: a call to Run() costs a fraction of a microsecond
// when calls follow one another.
//
// Which thread runs which index never matters to the result: work on one index
// must touch nothing that work on another does, and denormal numbers are zero
// on all of them during the work.
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
  // `threads` counts the caller of Run(): 1 starts none. At least 1.
  explicit WorkerPool(int threads);
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls work(i) for 0 <= i < count, each once, and returns when all are done.
  // CHECK-fails if the threads are at work on another call.
  void Run(int64_t count, absl::FunctionRef<void(int64_t)> work);

  int threads() const { return static_cast<int>(threads_.size()) + 1; }

 private:
  void Serve();
  // Takes indices until none is left.
  void TakeWork();

  std::vector<std::thread> threads_;
  // One call of Run(); written before `round_` announces it.
  const absl::FunctionRef<void(int64_t)>* work_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_ = 0;
  std::atomic<int> busy_ = 0;  // threads that have not finished this round
  std::atomic<uint64_t> round_ = 0;
  std::atomic<bool> running_ = false;
  std::atomic<bool> stop_ = false;
  // For threads that have spun long enough.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
};

// During its lifetime, inference of the thread that created it may use the
// threads of `pool`: large products are cut (kernels/gemm.h), attention is over
// heads (attention/kernels), and batches are spread (evaluation/batches.h).
// They do no other work meanwhile: a product inside of the pool's Run() is a
// failed check. The bits do not change. Training needs none, since each thread
// has a shard. Scopes nest.
class InferenceThreads {
 public:
  explicit InferenceThreads(WorkerPool& pool) : InferenceThreads(&pool) {}
  ~InferenceThreads();

  InferenceThreads(const InferenceThreads&) = delete;
  InferenceThreads& operator=(const InferenceThreads&) = delete;

  // During its lifetime, the thread works alone.
  static InferenceThreads None() { return InferenceThreads(nullptr); }

  // That of the calling thread's innermost scope, or null.
  static WorkerPool* Pool();

 private:
  explicit InferenceThreads(WorkerPool* pool);

  WorkerPool* const outer_;
};

// Threads that run at the same time on this machine, at least 1.
int HardwareThreads();

// Denormal numbers read and write as zero on the calling thread from now on:
// training reaches them, and they are slow. For programs: a library leaves the
// threads of its caller as they are.
void FlushDenormalsToZero();

// The same while this lives; then the thread is as it was.
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
