// Adds the gradients of ranks: the levels of the tree of shards above those
// that one rank computes.
//
// Recursive halving: on each level, from the lowest, a rank and its neighbour
// hold the two children of a node. Each keeps one half of the chunks that both
// hold, receives the other's part of it, and adds left plus right. In the end a
// rank holds 1 / size of the sum, and updates that part of the weights;
// recursive doubling gathers them (Thakur, Rabenseifner and Gropp,
// "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 19, 2005). Each element is
// added as in one process. A rank sends and receives 2 (size - 1) / size slabs
// in all, and the marks once a level.
#ifndef OPTIMIZATION_RANKS_RANK_SUM_H_
#define OPTIMIZATION_RANKS_RANK_SUM_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/worker_pool.h"
#include "nn/parameters.h"
#include "optimization/ranks/ranks.h"
#include "optimization/slab_chunks.h"

namespace regard {

template <typename T>
class RankSum {
 public:
  // All outlive this; `chunks` are those of `store`. A power of two of ranks.
  RankSum(const ParameterStore<T>& store, const SlabChunks& chunks,
          WorkerPool& pool, Ranks& ranks);

  // The chunks whose sum this rank holds; maybe none.
  ChunkRange own() const { return held_.back(); }

  // Makes the own chunks of `slab` the sum of all ranks' slabs, and its marks
  // those of all. The values of its other chunks are no longer valid, but zero
  // where they are unmarked. Allocates at the first call alone.
  void Add(GradientSlab<T>& slab);

  // `values` has `width` elements for each chunk, the last of which may have
  // fewer: fills those of the chunks that are not own. Allocates nothing.
  template <typename U>
  void Gather(int64_t width, absl::Span<U> values) {
    for (size_t level = held_.size() - 1; level-- > 0;) {
      ranks_.Exchange(
          Partner(level),
          Bytes(SlabChunks::PartOf(values, held_[level + 1], width)),
          Bytes(SlabChunks::PartOf(values, Given(level), width)));
    }
  }

  // The same of a slab, on rank 0 alone; on others some chunks are filled.
  void GatherOnFirst(absl::Span<T> slab);

 private:
  int Partner(size_t level) const { return ranks_.rank() ^ (1 << level); }
  template <typename U>
  static absl::Span<uint8_t> Bytes(absl::Span<U> values) {
    return absl::MakeSpan(reinterpret_cast<uint8_t*>(values.data()),
                          values.size() * sizeof(U));
  }
  // Whether this rank has the left child of its node on a level.
  bool IsLeft(size_t level) const { return Partner(level) > ranks_.rank(); }
  // The half of held_[level] that the partner keeps.
  ChunkRange Given(size_t level) const;
  void AddPiece(bool left, ChunkRange piece, GradientSlab<T>& slab);

  const ParameterStore<T>& store_;
  const SlabChunks& chunks_;
  WorkerPool& pool_;
  Ranks& ranks_;
  std::vector<ChunkRange> held_;  // before each level, and in the end
  std::vector<uint8_t> marks_;    // the partner's
  std::vector<T> received_;       // a piece of the partner's slab
};

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_RANK_SUM_H_
