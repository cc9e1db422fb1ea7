// Computes the gradients of a batch's shards and adds them up.
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
// The shards' gradients are added in a balanced binary tree whose shape depends
// on the number of shards alone, so the result has the same bits for any number
// of threads. Workers claim shards in order. A worker that finds no free slab
// adds two finished neighbours of the tree, or waits for one to finish;
// workers + ceil(log2(shards / workers)) slabs are enough for that never to
// block for good. What is left when all shards are finished is added chunk by
// chunk on all threads.
//
// With ranks, each computes the shards of one node of the tree, and the nodes
// above them are added by RankSum: the bits are those of one process. A rank
// then has a part of the sum, updates that part of the weights, and keeps that
// part of the optimizer's state.
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
  // Writes the gradient of `shard` to `gradients`, which holds that of an
  // earlier one. At most one call with the same `worker` runs at a time.
  using ComputeShard = absl::FunctionRef<void(int worker, int shard,
                                              GradientSlab<T>& gradients)>;

  // `store` is finalized; it, `pool` and `ranks` outlive this. Both numbers are
  // >= 1. `ranks`, null for one process, fit `num_shards`, which counts the
  // shards of all of them.
  GradientReducer(const ParameterStore<T>& store, int num_shards,
                  int accumulate_batches, WorkerPool& pool,
                  Ranks* ranks = nullptr);

  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // For `num_shards` shards that this process computes.
  static int NumSlabs(int num_shards, int accumulate_batches, int threads);

  // Calls `compute` for each shard of this rank, and adds their gradients to
  // those of the earlier batches of the same update; the first call after
  // ready() starts the next update. The gradients of a batch are to be of a
  // loss whose denominators are those of the whole update.
  void AddBatch(ComputeShard compute);

  bool ready() const { return batches_ == accumulate_batches_; }

  // The sum; empty before the first batch. Valid until the next AddBatch(); of
  // several ranks, only when ready(), and in the own chunks alone.
  absl::Span<const T> gradient() const;

  // The Euclidean norm of the whole gradient. Only when ready().
  double gradient_norm() const;

  // The chunks whose weights this rank updates, and of whose elements it keeps
  // the state of the optimizer: all of one process.
  ChunkRange own_chunks() const;
  // Ranks call these together; for one process, they do nothing. Gather() fills
  // the other chunks of a slab.
  void Gather(absl::Span<T> slab);
  absl::Span<const T> GatherGradient();
  // On rank 0 all of a slab of which each rank has its own chunks, valid as
  // long as both arguments: `whole` gets memory if there are several ranks.
  absl::Span<const T> WholeOnFirst(const Slab<T>& part, Slab<T>* whole);
  // Copies the own chunks. Those that are not written to take no memory.
  void KeepOwn(const Slab<T>& whole, Slab<T>* part) const;

  int num_shards() const { return static_cast<int>(nodes_.size()); }
  int num_workers() const { return num_workers_; }
  int num_slabs() const { return static_cast<int>(slabs_.size()); }

 private:
  // The finished sum of shards [index, end); no slab before it is finished or
  // once it is part of a larger sum. The index is that in `nodes_`.
  struct Node {
    GradientSlab<T>* slab = nullptr;
    int end = 0;
  };
  // An addition: *left += *right.
  struct Fold {
    GradientSlab<T>* left = nullptr;
    GradientSlab<T>* right = nullptr;
  };

  bool Finished(int begin, int end) const;
  // An inner node of the subtree [begin, end) whose children are finished; its
  // first shard, or -1. Takes the children into `fold`, and sets `fold_end`.
  int TakeFold(int begin, int end, Fold* fold, int* fold_end);
  void Work(int worker, ComputeShard compute);
  // Appends the additions that [begin, end) lacks to folds_; returns its slab.
  GradientSlab<T>* FoldRest(int begin, int end);
  void AppendFold(GradientSlab<T>* left, GradientSlab<T>* right);
  // Does what folds_ says, and sets the norms of a sum that is ready, chunk by
  // chunk on all threads.
  void FinishChunks(ChunkRange chunks);
  void Add(const Fold& fold, int64_t chunk) const;
  void SetSquaredNorm(int64_t chunk);

  const ParameterStore<T>& store_;
  const int accumulate_batches_;
  WorkerPool& pool_;
  const IndexRange<int> shards_;  // of this rank
  const int num_workers_;
  const SlabChunks chunks_;
  std::optional<RankSum<T>> rank_sum_;  // absent for one rank
  std::vector<std::unique_ptr<GradientSlab<T>>> slabs_;
  GradientSlab<T>* sum_ = nullptr;     // of the batches so far
  int batches_ = 0;                    // in the sum
  std::vector<Fold> folds_;            // to be done chunk by chunk, in order
  std::vector<double> squared_norms_;  // of each chunk of the sum

  // These describe the batch at work. Invariant while a worker waits: some
  // worker computes or adds, because finished shards alone cannot fill all
  // slabs.
  std::mutex mutex_;
  std::condition_variable progress_;  // a slab became free, or a node finished
  int next_shard_ = 0;
  std::vector<GradientSlab<T>*> free_;
  std::vector<Node> nodes_;  // of each shard
};

}  // namespace regard

#endif  // OPTIMIZATION_GRADIENT_REDUCER_H_
