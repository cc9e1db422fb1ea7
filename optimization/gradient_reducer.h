// Computes the gradients of the shards of a batch and adds them.
//
//   WorkerPool pool(threads);
//   GradientReducer<float> reducer(store, num_shards, batches, pool);
//   do {
//     reducer.AddBatch([&](int worker, int shard, GradientSlab<float>& slab) {
//       ...  // the shard's forward and backward pass, on the worker's tape
//     });
//   } while (!reducer.ready());
//   optimizer.Update({..., .gradient = reducer.gradient(),
//                     .chunks = reducer.own_chunks()}, pool);
//   reducer.Gather(store.values());
//
// The gradients of the shards are added in a balanced binary tree. The shape of
// the tree depends only on the number of shards, so the result is bit-identical
// for any number of threads. Workers claim shards in order. A worker that finds
// no free slab adds two finished neighbours of the tree, or waits until another
// worker finishes a node. With workers + ceil(log2(shards / workers)) slabs,
// this cannot deadlock. The additions that remain when all shards are finished
// are computed chunk by chunk on all threads.
//
// Each of several ranks computes the shards of one node of the tree, and
// RankSum computes the sums of all higher nodes. The result is bit-identical to
// one process. A rank then has a part of the sum, updates that part of the
// weights, and stores that part of the optimizer's state.
#ifndef OPTIMIZATION_GRADIENT_REDUCER_H_
#define OPTIMIZATION_GRADIENT_REDUCER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "autodiff/worker_pool.h"
#include "nn/parameters.h"
#include "optimization/ranks/rank_sum.h"
#include "optimization/ranks/ranks.h"
#include "optimization/shard_tree.h"
#include "optimization/slab_chunks.h"

namespace regard {

template <typename T>
class GradientReducer {
 public:
  // Writes the gradient of `shard` to `gradients`, which contains an earlier
  // gradient. At most one call with the same `worker` runs at a time.
  using ComputeShard = absl::FunctionRef<void(int worker, int shard,
                                              GradientSlab<T>& gradients)>;

  // `store` must be finalized. `store`, `pool` and `ranks` must outlive the
  // reducer. `num_shards` and `accumulate_batches` must be at least 1.
  // `num_shards` counts the shards of all ranks. `ranks` is null for a single
  // process. Several ranks must fit `num_shards` (RanksFit()).
  GradientReducer(const ParameterStore<T>& store, int num_shards,
                  int accumulate_batches, WorkerPool& pool,
                  Ranks* ranks = nullptr);

  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Returns the number of slabs that this process needs to compute `num_shards`
  // shards.
  static int NumSlabs(int num_shards, int accumulate_batches, int threads);

  // Calls `compute` for each shard of this rank. Adds their gradients to the
  // gradients of earlier batches of the same optimizer step. The first call
  // after ready() starts the next optimizer step. The gradients must be of a
  // loss whose denominators are sums over all batches of the step.
  void AddBatch(ComputeShard compute);

  bool ready() const { return batches_ == accumulate_batches_; }

  // The sum of the gradients, empty before the first batch. Valid until the
  // next AddBatch(). With several ranks, valid only if ready(), and only in
  // own_chunks().
  absl::Span<const T> gradient() const;

  // The Euclidean norm of the whole gradient. Valid only if ready().
  double gradient_norm() const;

  // The chunks whose weights this rank updates, and for which it stores the
  // state of the optimizer. A single process has all chunks.
  ChunkRange own_chunks() const;
  // Fill the chunks outside of own_chunks() with the values of the other ranks.
  // All ranks must make these calls at the same time. A no-op for one process.
  void Gather(absl::Span<T> slab);
  absl::Span<const T> AllGatherGradient();
  // Returns a whole slab on rank 0, gathered from the chunks of all ranks. The
  // result is valid as long as both arguments exist. Allocates `whole` if there
  // are several ranks.
  absl::Span<const T> GatherToRankZero(const Slab<T>& part, Slab<T>* whole);
  // Copies own_chunks() from `whole` to `part`. Does not touch other chunks of
  // `part`, so that these take no memory.
  void CopyOwnChunks(const Slab<T>& whole, Slab<T>* part) const;

  int num_shards() const { return static_cast<int>(nodes_.size()); }
  int num_workers() const { return num_workers_; }
  int num_slabs() const { return static_cast<int>(slabs_.size()); }

 private:
  // The finished sum of shards [index, end), where `index` is the index in
  // `nodes_`. The slab is null before the sum is finished, and after it has
  // become part of a larger sum.
  struct Node {
    GradientSlab<T>* slab = nullptr;
    int end = 0;
  };
  // A pending addition, *left += *right.
  struct Fold {
    GradientSlab<T>* left = nullptr;
    GradientSlab<T>* right = nullptr;
  };

  bool HasSum(int begin, int end) const;
  // Finds an inner node of the subtree [begin, end) whose children are
  // finished. Moves the children to `fold`, and sets `fold_end`. Returns the
  // first shard of the node, or -1 if no such node exists.
  int TakeFold(int begin, int end, Fold* fold, int* fold_end);
  void RunWorker(int worker, ComputeShard compute);
  // Appends the additions that the node [begin, end) still needs. Returns the
  // slab that will contain its sum.
  GradientSlab<T>* QueueRemainingFolds(int begin, int end);
  void QueueFold(GradientSlab<T>* left, GradientSlab<T>* right);
  // Executes folds_ on all threads, and sets the norms if the sum is ready.
  void RunPendingFolds(ChunkRange chunks);
  void Add(const Fold& fold, int64_t chunk) const;
  void SetSquaredNorm(int64_t chunk);

  const ParameterStore<T>& store_;
  const int accumulate_batches_;
  WorkerPool& pool_;
  const IndexRange<int> shards_;  // the shards of this rank
  const int num_workers_;
  const SlabChunks chunks_;
  std::optional<RankSum<T>> rank_sum_;  // absent if there is one rank
  std::vector<std::unique_ptr<GradientSlab<T>>> slabs_;
  GradientSlab<T>* sum_ = nullptr;     // the sum of the batches so far
  int batches_ = 0;                    // number of batches in the sum
  std::vector<Fold> folds_;            // pending additions, in order
  std::vector<double> squared_norms_;  // one per chunk of the sum

  // The members below describe the current batch. Invariant: while a worker
  // waits, another worker computes or adds, because finished shards cannot fill
  // all slabs.
  std::mutex mutex_;
  std::condition_variable progress_;  // a slab was freed, or a node finished
  int next_shard_ = 0;
  std::vector<GradientSlab<T>*> free_;
  std::vector<Node> nodes_;  // indexed by first shard
};

}  // namespace regard

#endif  // OPTIMIZATION_GRADIENT_REDUCER_H_
