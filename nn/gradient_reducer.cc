#include "nn/gradient_reducer.h"

#include <algorithm>
#include <cmath>

#include "autodiff/instantiate.h"
#include "autodiff/kernels/reduce.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The first shard of the right child of the node [begin, end).
int Middle(int begin, int end) { return begin + (end - begin + 1) / 2; }

template <typename T>
void AddTo(T* __restrict sum, const T* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

}  // namespace

template <typename T>
int GradientReducer<T>::NumSlabs(int num_shards, int accumulate_batches,
                                 int threads) {
  const int workers = std::min(threads, num_shards);
  int slabs = workers;
  for (int covered = workers; covered < num_shards; covered *= 2) ++slabs;
  // The sum of the earlier batches takes one more.
  return std::min(slabs, num_shards) + (accumulate_batches > 1 ? 1 : 0);
}

template <typename T>
GradientReducer<T>::GradientReducer(const ParameterStore<T>& store,
                                    int num_shards, int accumulate_batches,
                                    WorkerPool& pool)
    : store_(store),
      accumulate_batches_(accumulate_batches),
      pool_(pool),
      num_workers_(std::min(pool.threads(), num_shards)),
      chunks_(store),
      squared_norms_(static_cast<size_t>(chunks_.size()), 0.0) {
  REGARD_CHECK_GE(num_shards, 1);
  REGARD_CHECK_GE(accumulate_batches, 1);
  const int slabs = NumSlabs(num_shards, accumulate_batches, pool.threads());
  for (int i = 0; i < slabs; ++i) {
    slabs_.push_back(std::make_unique<GradientSlab<T>>(store));
  }
  // No allocation later on.
  free_.reserve(slabs_.size());
  folds_.reserve(slabs_.size());
  nodes_.resize(static_cast<size_t>(num_shards));
}

template <typename T>
absl::Span<const T> GradientReducer<T>::gradient() const {
  if (sum_ == nullptr) return {};
  return absl::MakeConstSpan(sum_->values());
}

template <typename T>
double GradientReducer<T>::gradient_norm() const {
  REGARD_CHECK(ready()) << batches_ << " of " << accumulate_batches_
                        << " batches are added";
  double squared_norm = 0;
  for (const double part : squared_norms_) squared_norm += part;
  return std::sqrt(squared_norm);
}

template <typename T>
void GradientReducer<T>::AddBatch(ComputeShard compute) {
  if (ready()) {
    batches_ = 0;
    sum_ = nullptr;
  }
  next_shard_ = 0;
  free_.clear();
  for (const auto& slab : slabs_) {
    if (slab.get() != sum_) free_.push_back(slab.get());
  }
  std::fill(nodes_.begin(), nodes_.end(), Node());
  pool_.Run(num_workers_,
            [&](int64_t worker) { Work(static_cast<int>(worker), compute); });

  folds_.clear();
  GradientSlab<T>* const batch = FoldRest(0, num_shards());
  if (sum_ == nullptr) {
    sum_ = batch;
  } else {
    AppendFold(sum_, batch);
  }
  ++batches_;
  if (folds_.empty() && !ready()) return;
  pool_.Run(chunks_.size(), [this](int64_t chunk) {
    for (const Fold& fold : folds_) AddChunk(fold, chunk);
    if (ready()) SetSquaredNorm(chunk);
  });
}

template <typename T>
bool GradientReducer<T>::Finished(int begin, int end) const {
  return nodes_[begin].slab != nullptr && nodes_[begin].end == end;
}

template <typename T>
int GradientReducer<T>::TakeFold(int begin, int end, Fold* fold,
                                 int* fold_end) {
  if (end - begin == 1) return -1;
  const int middle = Middle(begin, end);
  if (Finished(begin, middle) && Finished(middle, end)) {
    *fold = {nodes_[begin].slab, nodes_[middle].slab};
    *fold_end = end;
    nodes_[begin].slab = nullptr;
    nodes_[middle].slab = nullptr;
    return begin;
  }
  const int left = TakeFold(begin, middle, fold, fold_end);
  return left >= 0 ? left : TakeFold(middle, end, fold, fold_end);
}

template <typename T>
void GradientReducer<T>::Work(int worker, ComputeShard compute) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (next_shard_ < num_shards()) {
    Fold fold;
    int end;
    if (!free_.empty()) {
      const int shard = next_shard_++;
      GradientSlab<T>* const slab = free_.back();
      free_.pop_back();
      lock.unlock();
      compute(worker, shard, *slab);
      lock.lock();
      nodes_[shard] = {slab, shard + 1};
    } else if (const int begin = TakeFold(0, num_shards(), &fold, &end);
               begin >= 0) {
      lock.unlock();
      for (int64_t i = 0; i < chunks_.size(); ++i) AddChunk(fold, i);
      fold.left->MarkTouched(*fold.right);
      lock.lock();
      nodes_[begin] = {fold.left, end};
      free_.push_back(fold.right);
    } else {
      progress_.wait(lock);
      continue;
    }
    progress_.notify_all();
  }
}

template <typename T>
GradientSlab<T>* GradientReducer<T>::FoldRest(int begin, int end) {
  if (Finished(begin, end)) return nodes_[begin].slab;
  const int middle = Middle(begin, end);
  GradientSlab<T>* const left = FoldRest(begin, middle);
  AppendFold(left, FoldRest(middle, end));
  return left;
}

template <typename T>
void GradientReducer<T>::AppendFold(GradientSlab<T>* left,
                                    GradientSlab<T>* right) {
  folds_.push_back({left, right});
  // Before the rows are added: a later fold may have `left` on its right.
  left->MarkTouched(*right);
}

// A row that the right gradient did not reach adds nothing. In both the eager
// and the final additions that is decided by the marks of the right side's
// whole subtree, so the bits are the same.
template <typename T>
void GradientReducer<T>::AddChunk(const Fold& fold, int64_t chunk) const {
  T* const sum = fold.left->values().data();
  const T* const x = fold.right->values().data();
  for (const SlabChunks::Range& range : chunks_[chunk]) {
    const uint8_t* const touched = fold.right->touched_rows(range.parameter);
    if (touched == nullptr) {
      AddTo(sum + range.begin, x + range.begin, range.end - range.begin);
      continue;
    }
    const ParameterInfo& info = store_.parameters()[range.parameter];
    const int64_t cols = info.shape[1];
    for (int64_t begin = range.begin; begin < range.end;) {
      const int64_t row = (begin - info.offset) / cols;
      const int64_t end = std::min(range.end, info.offset + (row + 1) * cols);
      if (touched[row] != 0) AddTo(sum + begin, x + begin, end - begin);
      begin = end;
    }
  }
}

template <typename T>
void GradientReducer<T>::SetSquaredNorm(int64_t chunk) {
  const absl::Span<const T> part =
      gradient().subspan(static_cast<size_t>(chunk * SlabChunks::kElements),
                         static_cast<size_t>(SlabChunks::kElements));
  squared_norms_[chunk] = SumEach<double>(
      static_cast<int64_t>(part.size()), [](auto x) { return x * x; },
      part.data());
}

REGARD_INSTANTIATE_CLASS(GradientReducer);

}  // namespace regard
