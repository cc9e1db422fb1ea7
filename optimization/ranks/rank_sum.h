// Adds the gradients of ranks: the levels of the tree of shards above the nodes
// that single ranks compute.
//
// The method is recursive halving. On each level, starting with the lowest, a
// rank and its neighbour have the two children of a node. Each rank keeps one
// half of the chunks that both ranks have, receives the neighbour's values of
// this half, and adds left plus right. In the end, a rank has one part of the
// sum, and updates this part of the weights. Recursive doubling gathers the
// weights. See Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH", International Journal of High Performance
// Computing Applications 19, 2005.
//
// The result is bit-identical to one process. In total, a rank sends and
// receives 2 * (size - 1) / size slabs, and the marks once per level.
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
  // All arguments must outlive this object. `chunks` must be the chunks of
  // `store`. The number of ranks must be a power of two.
  RankSum(const ParameterStore<T>& store, const SlabChunks& chunks,
          WorkerPool& pool, Ranks& ranks);

  // The chunks of the sum that this rank gets. May be empty.
  ChunkRange own() const { return held_.back(); }

  // Sets the chunks own() of `slab` to the sum of all ranks' slabs, and its
  // marks to the union of all marks. The values of other chunks become invalid,
  // except that unmarked rows stay zero. Allocates only at the first call.
  void ReduceScatter(GradientSlab<T>& slab);

  // Fills the chunks of `values` outside of own(). `values` has `width`
  // elements for each chunk, possibly fewer for the last chunk. Allocates
  // nothing.
  template <typename U>
  void AllGather(int64_t width, absl::Span<U> values) {
    for (size_t level = held_.size() - 1; level-- > 0;) {
      ranks_.Exchange(
          Partner(level),
          Bytes(SlabChunks::PartOf(values, held_[level + 1], width)),
          Bytes(SlabChunks::PartOf(values, PartnerChunks(level), width)));
    }
  }

  // Gathers the whole slab on rank 0. Other ranks receive only some chunks.
  void GatherToRankZero(absl::Span<T> slab);

 private:
  int Partner(size_t level) const { return ranks_.rank() ^ (1 << level); }
  template <typename U>
  static absl::Span<uint8_t> Bytes(absl::Span<U> values) {
    return absl::MakeSpan(reinterpret_cast<uint8_t*>(values.data()),
                          values.size() * sizeof(U));
  }
  // Whether this rank has the left child of its node on a level.
  bool IsLeft(size_t level) const { return Partner(level) > ranks_.rank(); }
  // Returns the half of held_[level] that the partner keeps.
  ChunkRange PartnerChunks(size_t level) const;
  void AddReceivedPiece(bool left, ChunkRange piece, GradientSlab<T>& slab);

  const ParameterStore<T>& store_;
  const SlabChunks& chunks_;
  WorkerPool& pool_;
  Ranks& ranks_;
  std::vector<ChunkRange> held_;  // own chunks before each level and at the end
  std::vector<uint8_t> marks_;    // marks of the partner
  std::vector<T> received_;       // a piece of the partner's slab
};

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_RANK_SUM_H_
