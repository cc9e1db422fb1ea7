#include "optimization/gradient_reducer.h"

#include <algorithm>
#include <cmath>

#include "autodiff/instantiate.h"
#include "autodiff/kernels/reduce.h"
#include "optimization/chunk_addition.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
int GradientReducer<T>::NumSlabs(int num_shards, int accumulate_batches,
                                 int threads) {
  const int workers = std::min(threads, num_shards);
  int slabs = workers;
  for (int covered = workers; covered < num_shards; covered *= 2) ++slabs;
  // The sum of the earlier batches needs another slab.
  return std::min(slabs, num_shards) + (accumulate_batches > 1 ? 1 : 0);
}

template <typename T>
GradientReducer<T>::GradientReducer(const ParameterStore<T>& store,
                                    int num_shards, int accumulate_batches,
                                    WorkerPool& pool, Ranks* ranks)
    : store_(store),
      accumulate_batches_(accumulate_batches),
      pool_(pool),
      shards_(ranks == nullptr
                  ? IndexRange<int>{0, num_shards}
                  : ShardsOf(ranks->rank(), ranks->size(), num_shards)),
      num_workers_(std::min(pool.threads(), shards_.size())),
      chunks_(store),
      squared_norms_(static_cast<size_t>(chunks_.size()), 0.0) {
  REGARD_CHECK_GE(num_shards, 1);
  REGARD_CHECK_GE(accumulate_batches, 1);
  if (ranks != nullptr) {
    REGARD_CHECK(RanksFit(ranks->size(), num_shards))
        << ranks->size() << " ranks, " << num_shards << " shards";
    if (ranks->size() > 1) rank_sum_.emplace(store, chunks_, pool, *ranks);
  }
  const int slabs =
      NumSlabs(shards_.size(), accumulate_batches, pool.threads());
  for (int i = 0; i < slabs; ++i) {
    slabs_.push_back(std::make_unique<GradientSlab<T>>(store));
  }
  // Reserves memory, so that later calls do not allocate.
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
  next_shard_ = shards_.begin;
  free_.clear();
  for (const auto& slab : slabs_) {
    if (slab.get() != sum_) free_.push_back(slab.get());
  }
  std::fill(nodes_.begin(), nodes_.end(), Node());
  pool_.Run(num_workers_, [&](int64_t worker) {
    RunWorker(static_cast<int>(worker), compute);
  });

  folds_.clear();
  GradientSlab<T>* const batch =
      QueueRemainingFolds(shards_.begin, shards_.end);
  if (rank_sum_.has_value()) {
    RunPendingFolds(chunks_.all());
    rank_sum_->ReduceScatter(*batch);
  }
  if (sum_ == nullptr) {
    sum_ = batch;
  } else {
    QueueFold(sum_, batch);
  }
  ++batches_;
  RunPendingFolds(own_chunks());
  if (rank_sum_.has_value() && ready()) {
    rank_sum_->AllGather(1, absl::MakeSpan(squared_norms_));
  }
}

template <typename T>
ChunkRange GradientReducer<T>::own_chunks() const {
  return rank_sum_.has_value() ? rank_sum_->own() : chunks_.all();
}

template <typename T>
void GradientReducer<T>::Gather(absl::Span<T> slab) {
  if (rank_sum_.has_value()) rank_sum_->AllGather(SlabChunks::kElements, slab);
}

template <typename T>
absl::Span<const T> GradientReducer<T>::AllGatherGradient() {
  if (sum_ != nullptr) Gather(sum_->values());
  return gradient();
}

template <typename T>
absl::Span<const T> GradientReducer<T>::GatherToRankZero(const Slab<T>& part,
                                                         Slab<T>* whole) {
  if (!rank_sum_.has_value()) return part.span();
  *whole = Slab<T>(part.size());
  CopyOwnChunks(part, whole);
  rank_sum_->GatherToRankZero(whole->span());
  return whole->span();
}

template <typename T>
void GradientReducer<T>::CopyOwnChunks(const Slab<T>& whole,
                                       Slab<T>* part) const {
  const absl::Span<const T> own =
      SlabChunks::PartOf(whole.span(), own_chunks());
  std::copy(own.begin(), own.end(),
            SlabChunks::PartOf(part->span(), own_chunks()).begin());
}

template <typename T>
void GradientReducer<T>::RunPendingFolds(ChunkRange chunks) {
  if (folds_.empty() && !ready()) return;
  pool_.Run(chunks.size(), [&](int64_t i) {
    const int64_t chunk = chunks.begin + i;
    for (const Fold& fold : folds_) Add(fold, chunk);
    if (ready()) SetSquaredNorm(chunk);
  });
  folds_.clear();
}

template <typename T>
bool GradientReducer<T>::HasSum(int begin, int end) const {
  return nodes_[begin].slab != nullptr && nodes_[begin].end == end;
}

template <typename T>
int GradientReducer<T>::TakeFold(int begin, int end, Fold* fold,
                                 int* fold_end) {
  if (end - begin == 1) return -1;
  const int middle = MiddleShard(begin, end);
  if (HasSum(begin, middle) && HasSum(middle, end)) {
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
void GradientReducer<T>::RunWorker(int worker, ComputeShard compute) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (next_shard_ < shards_.end) {
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
    } else if (const int begin =
                   TakeFold(shards_.begin, shards_.end, &fold, &end);
               begin >= 0) {
      lock.unlock();
      for (int64_t i = 0; i < chunks_.size(); ++i) Add(fold, i);
      fold.left->MarkTouched(fold.right->marks());
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
GradientSlab<T>* GradientReducer<T>::QueueRemainingFolds(int begin, int end) {
  if (HasSum(begin, end)) return nodes_[begin].slab;
  const int middle = MiddleShard(begin, end);
  GradientSlab<T>* const left = QueueRemainingFolds(begin, middle);
  QueueFold(left, QueueRemainingFolds(middle, end));
  return left;
}

template <typename T>
void GradientReducer<T>::QueueFold(GradientSlab<T>* left,
                                   GradientSlab<T>* right) {
  folds_.push_back({left, right});
  // The marks are updated before the rows are added, because `left` may be the
  // right side of a later fold.
  left->MarkTouched(right->marks());
}

// The marks of the right side are always the marks of its whole subtree, both
// while shards are computed and in the final additions. The sums are therefore
// bit-identical.
template <typename T>
void GradientReducer<T>::Add(const Fold& fold, int64_t chunk) const {
  const int64_t first = chunk * SlabChunks::kElements;
  AddChunk<T>(store_, chunks_, chunk, *fold.right, fold.right->marks(),
              fold.right->values().data() + first,
              fold.left->values().data() + first);
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
