// Turns the gradients of a batch's shards into an update of all parameters.
//
//   optimizer.BeginReduction(shards);
//   for (chunk...) optimizer.ReduceChunk(chunk);
//   if (optimizer.ready()) {
//     optimizer.BeginUpdate(schedule.LearningRate(optimizer.updates() + 1));
//     for (chunk...) optimizer.UpdateChunk(chunk);
//   }
//
// The slab is cut into fixed chunks. Chunks may be run in any order and by any
// threads (all of one pass before the next call): shards are added in a fixed
// tree, squared norms are added in order of chunks, so the bits stay the same.
#ifndef NN_OPTIMIZER_H_
#define NN_OPTIMIZER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "nn/optimizer.pb.h"
#include "nn/parameters.h"
#include "nn/slab.h"

namespace regard {

template <typename T>
class Optimizer {
 public:
  static constexpr int64_t kChunk = 4096;  // elements

  // One number per parameter that is kept from update to update.
  struct Moment {
    const char* name;  // "momentum", "first_moment", "second_moment"
    Slab<T> values;    // laid out as the parameters
  };

  struct UpdateStatistics {
    double gradient_norm;  // before clipping
    double clip_factor;    // 1 where nothing was clipped
  };

  // `config` is valid; `parameters` is finalized and outlives this.
  Optimizer(const OptimizerConfig& config, ParameterStore<T>& parameters);

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  int64_t num_chunks() const {
    return static_cast<int64_t>(squared_norms_.size());
  }

  // Starts adding the gradients of one batch; nobody else writes to `shards`,
  // at least one, until the next call or the end of the update. Where an update
  // is one batch, the sum takes the place of the first shard's gradients.
  // Batches of one update are summed: their denominators are to be those of all
  // of them together.
  void BeginReduction(absl::Span<GradientSlab<T>* const> shards);
  void ReduceChunk(int64_t chunk);

  // Whether accumulate_batches were reduced, so that an update is due.
  bool ready() const { return batches_ == accumulate_batches_; }

  // Fixes the clip factor and the numbers of this update.
  UpdateStatistics BeginUpdate(double learning_rate);
  void UpdateChunk(int64_t chunk);

  // Both passes on this thread.
  void Reduce(absl::Span<GradientSlab<T>* const> shards);
  UpdateStatistics Update(double learning_rate);

  // The gradient as last reduced, before clipping; empty before that. Where an
  // update is one batch it stands in the first shard, until its next step.
  absl::Span<const T> gradient() const {
    const int64_t size = gradient_ == nullptr ? 0 : parameters_.slab_size();
    return absl::MakeConstSpan(gradient_, static_cast<size_t>(size));
  }

  // The state that a checkpoint keeps.
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }
  absl::Span<Moment> moments() { return absl::MakeSpan(moments_); }

 private:
  // A part of a chunk in one parameter.
  struct Range {
    int64_t begin;
    int64_t end;
    double learning_rate_scale;
    bool weight_decay;
  };

  // A part of a chunk that a shard's gradient has or lacks as a whole: a row,
  // or a part of it, of a sparse gradient.
  struct Piece {
    int64_t begin;
    int64_t end;
    int32_t parameter;  // kDense where every shard has it
    int64_t row;
  };
  static constexpr int32_t kDense = -1;

  void CutIntoRanges();
  void CutIntoPieces();
  void UpdateSgd(const Range& range);
  void UpdateAdam(const Range& range);

  const OptimizerConfig config_;
  const int32_t accumulate_batches_;
  ParameterStore<T>& parameters_;
  Slab<T> batches_sum_;    // empty where an update is one batch
  T* gradient_ = nullptr;  // the sum: batches_sum_ or the first shard
  std::vector<Moment> moments_;
  std::vector<double> squared_norms_;     // of each chunk of gradient_
  std::vector<Range> ranges_;             // of trainable parameters
  std::vector<int64_t> first_range_;      // of each chunk, and the end
  std::vector<Piece> pieces_;             // of the slab
  std::vector<int64_t> first_piece_;      // of each chunk, and the end
  std::vector<GradientSlab<T>*> shards_;  // between BeginReduction and ready
  int32_t batches_ = 0;                   // reduced for the coming update
  int64_t updates_ = 0;

  // Of the current update.
  double learning_rate_ = 0;
  double clip_factor_ = 1;
};

extern template class Optimizer<float>;
extern template class Optimizer<double>;

}  // namespace regard

#endif  // NN_OPTIMIZER_H_
