#include "autodiff/worker_pool.h"

#include <immintrin.h>

#include <algorithm>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The pool of the innermost InferenceThreads of this thread, or null.
thread_local WorkerPool* inference_pool = nullptr;

// The number of attempts before a thread sleeps. They take about 50
// microseconds, which is longer than the gap between two parts of a step. A
// core that spins for this time hardly slows down its neighbours.
constexpr int kSpins = 2000;

// Spins until `ready`. Returns false after kSpins attempts.
template <typename Ready>
bool SpinUntil(Ready ready) {
  for (int i = 0; i < kSpins; ++i) {
    if (ready()) return true;
    _mm_pause();
  }
  return ready();
}

}  // namespace

InferenceThreads::InferenceThreads(WorkerPool* pool) : outer_(inference_pool) {
  inference_pool = pool;
}

InferenceThreads::~InferenceThreads() { inference_pool = outer_; }

WorkerPool* InferenceThreads::Pool() { return inference_pool; }

int HardwareThreads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

void FlushDenormalsToZero() {
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _mm_setcsr(_mm_getcsr() | 0x0040);  // denormals-are-zero
}

ScopedFlushDenormals::ScopedFlushDenormals() : saved_(_mm_getcsr()) {
  FlushDenormalsToZero();
}

ScopedFlushDenormals::~ScopedFlushDenormals() { _mm_setcsr(saved_); }

WorkerPool::WorkerPool(int threads) {
  REGARD_CHECK(threads >= 1) << threads << " threads";
  for (int i = 1; i < threads; ++i) {
    threads_.emplace_back([this] { Serve(); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    ++round_;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(int64_t count, absl::FunctionRef<void(int64_t)> work) {
  const ScopedFlushDenormals flush;
  if (threads_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  REGARD_CHECK(!running_.exchange(true))
      << "Run() was called inside Run() of the same pool";
  work_ = &work;
  count_ = count;
  next_ = 0;
  busy_ = static_cast<int>(threads_.size());
  {
    // The lock keeps a thread that is about to sleep from missing the round.
    const std::lock_guard<std::mutex> lock(mutex_);
    ++round_;
  }
  wake_.notify_all();
  TakeWork();
  const auto all_done = [this] { return busy_ == 0; };
  if (!SpinUntil(all_done)) {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, all_done);
  }
  running_ = false;
}

void WorkerPool::TakeWork() {
  for (int64_t i = next_++; i < count_; i = next_++) (*work_)(i);
}

void WorkerPool::Serve() {
  FlushDenormalsToZero();
  uint64_t seen = 0;
  while (true) {
    const auto announced = [&] { return round_ != seen; };
    if (!SpinUntil(announced)) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, announced);
    }
    if (stop_) return;
    seen = round_;
    TakeWork();
    if (--busy_ == 0) {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_.notify_one();
    }
  }
}

}  // namespace regard
