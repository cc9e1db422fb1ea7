// Which training examples make which batch: a function of seed and epoch, so a
// run resumes from its step alone.
#ifndef EXPERIMENTS_TRAINING_BATCH_PLAN_H_
#define EXPERIMENTS_TRAINING_BATCH_PLAN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "experiments/experiment.pb.h"
#include "nn/model.h"

namespace regard {

// Sets `order` to a permutation of 0 .. size - 1 (Fisher-Yates), cut to its
// first `count`.
void ExampleOrder(uint64_t seed, int64_t epoch, int64_t size, int64_t count,
                  std::vector<int64_t>* order);

// Lengths of example i.
using LengthsOf = std::function<SequenceLengths(int64_t example)>;

// The updates of every epoch and their batches. An update has
// optimizer.accumulate_batches batches; at the end of an epoch the last ones
// may be smaller, or empty.
//
// Without training.group_by_length, batches are consecutive pieces of a random
// order. With it, examples are sorted by their lengths in steps of
// `length_step` and cut into batches of batch_size examples, or of at most
// `batch_tokens` positions; examples of one step are in random order, and so
// are the batches of an epoch. Every epoch has the same number of batches.
class BatchPlan {
 public:
  // `config` is valid; `lengths` is called with grouping alone.
  BatchPlan(const Experiment& config, int64_t num_examples,
            const LengthsOf& lengths);

  int64_t updates_per_epoch() const { return updates_per_epoch_; }

  // The batches of update `step`, counted from 0 over all epochs. Valid until
  // the next call. Makes the order anew when the epoch changes, and allocates
  // nothing otherwise.
  absl::Span<const absl::Span<const int64_t>> BatchesOf(int64_t step);

 private:
  void MakeGroups(const Training& training, const LengthsOf& lengths);
  void MakeEpoch(int64_t epoch);

  const uint64_t seed_;
  const int64_t num_examples_;
  const int64_t count_;  // examples of an epoch
  const int64_t batch_size_;
  const int64_t accumulate_;
  int64_t updates_per_epoch_ = 0;

  // With groups: all examples by their lengths, where examples of equal lengths
  // begin, and where batches do; each list of begins ends with the size.
  std::vector<int64_t> grouped_;
  std::vector<int64_t> group_begins_;
  std::vector<int64_t> batch_begins_;

  int64_t epoch_ = -1;
  std::vector<int64_t> order_;                      // of epoch_
  std::vector<absl::Span<const int64_t>> batches_;  // pieces of order_
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_BATCH_PLAN_H_
