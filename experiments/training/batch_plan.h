// Which training examples make which batch: a function of seed and epoch, so a
// run resumes from its step alone.
#ifndef EXPERIMENTS_TRAINING_BATCH_PLAN_H_
#define EXPERIMENTS_TRAINING_BATCH_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "optimization/model.h"

namespace regard {

class Experiment;
class Training;

// Whether batches are made of examples of about one length: the config asks for
// it, and the examples have lengths.
bool GroupsByLength(const Training& training, const Model<float>& model);

// The updates of every epoch and their batches. An update has
// optimizer.accumulate_batches batches; at the end of an epoch the last ones
// may be smaller, or empty.
//
// Without GroupsByLength(), batches are consecutive pieces of a random
// order. With it, examples are sorted by their lengths in steps of
// `length_step` and cut into batches of batch_size examples, or of at most
// `batch_tokens` positions; examples of one step are in random order, and so
// are the batches of an epoch. Every epoch has the same number of batches.
class BatchPlan {
 public:
  // `config` is valid. The model's examples become those of no epoch.
  BatchPlan(const Experiment& config, Model<float>& model);

  int64_t updates_per_epoch() const { return updates_per_epoch_; }

  // Updates of the whole run, unless it ends early. A model without trainable
  // weights has none: it is evaluated only.
  int64_t total_updates() const { return total_updates_; }

  // The batches of update `step`, counted from 0 over all epochs. Valid until
  // the next call. Allocates only when the epoch changes.
  absl::Span<const absl::Span<const int64_t>> BatchesOf(int64_t step);

 private:
  void Cut(const Training& training, int64_t num_examples);
  void CutByLength(const Training& training, const Model<float>& model);
  void MakeEpoch(int64_t epoch);

  const uint64_t seed_;
  bool by_length_;
  const int64_t accumulate_;
  int64_t updates_per_epoch_ = 0;
  int64_t total_updates_ = 0;

  // All examples, where the groups begin that are shuffled each by itself, and
  // where batches begin; each list of begins ends with the size.
  std::vector<int64_t> examples_;
  std::vector<int64_t> group_begins_;
  std::vector<int64_t> batch_begins_;

  int64_t epoch_ = -1;
  std::vector<int64_t> order_;                      // of epoch_
  std::vector<absl::Span<const int64_t>> batches_;  // pieces of order_
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_BATCH_PLAN_H_
