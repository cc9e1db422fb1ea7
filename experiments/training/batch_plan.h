// Assigns the training examples to batches. The batches depend only on the seed
// and the epoch, so a resumed run can plan them again from its step.
#ifndef EXPERIMENTS_TRAINING_BATCH_PLAN_H_
#define EXPERIMENTS_TRAINING_BATCH_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "optimization/model.h"

namespace regard {

class Experiment;
class Training;

// Whether each batch consists of examples of similar lengths. Requires
// training.group_by_length and a model whose examples have lengths.
bool GroupsByLength(const Training& training, const Model<float>& model);

// The batches of the optimizer steps of every epoch. An optimizer step has
// optimizer.accumulate_batches batches. The last batches of an epoch may be
// smaller, or empty. Every epoch has the same number of batches.
//
// If GroupsByLength() is false, batches are consecutive parts of a random
// order. If it is true, examples are sorted by their lengths, rounded up to
// multiples of `length_step`. They are then divided into batches of
// `batch_size` examples or of at most `batch_tokens` positions. Examples with
// equal rounded lengths are in random order, and so are the batches of an
// epoch.
class BatchPlan {
 public:
  // `config` must be valid. Calls model.BeginEpoch() without an epoch.
  BatchPlan(const Experiment& config, Model<float>& model);

  int64_t updates_per_epoch() const { return updates_per_epoch_; }

  // The number of optimizer steps of the whole run, if it does not end early. A
  // model without trainable weights makes no steps, and is only evaluated.
  int64_t total_updates() const { return total_updates_; }

  // Returns the batches of optimizer step `step`, counted from 0 over all
  // epochs. Valid until the next call. Allocates only if the epoch changes.
  absl::Span<const absl::Span<const int64_t>> BatchesOf(int64_t step);

 private:
  void MakeBatches(const Training& training, int64_t num_examples);
  void MakeBatchesByLength(const Training& training, const Model<float>& model);
  void MakeEpoch(int64_t epoch);

  const uint64_t seed_;
  bool by_length_;
  const int64_t accumulate_;
  int64_t updates_per_epoch_ = 0;
  int64_t total_updates_ = 0;

  // All examples, ordered by group.
  std::vector<int64_t> examples_;
  // The first index of each group, followed by the number of examples. Each
  // group is shuffled separately.
  std::vector<int64_t> group_begins_;
  // The first index of each batch, followed by the number of examples.
  std::vector<int64_t> batch_begins_;

  int64_t epoch_ = -1;
  // The examples in the order of epoch_.
  std::vector<int64_t> order_;
  std::vector<absl::Span<const int64_t>> batches_;  // parts of order_
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_BATCH_PLAN_H_
