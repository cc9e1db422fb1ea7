#include "experiments/training/batch_plan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"
#include "experiments/experiment.pb.h"

namespace regard {

namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Shuffles items[begin, end) by Fisher-Yates. Stops after the first `used`
// items, because the caller ignores the remaining items.
template <typename T>
void Shuffle(const RandomStream& stream, int64_t begin, int64_t end,
             int64_t used, std::vector<T>& items) {
  for (int64_t i = begin; i < std::min(end, used); ++i) {
    const auto j = static_cast<int64_t>(stream.UniformIntAt(
        static_cast<uint64_t>(i), static_cast<uint64_t>(end - i)));
    std::swap(items[i], items[i + j]);
  }
}

}  // namespace

bool GroupsByLength(const Training& training, const Model<float>& model) {
  return training.group_by_length() && model.num_examples() > 0 &&
         model.Lengths(0) != SequenceLengths();
}

BatchPlan::BatchPlan(const Experiment& config, Model<float>& model)
    : seed_(config.seed()),
      accumulate_(config.optimizer().accumulate_batches()) {
  model.BeginEpoch(std::nullopt);
  const Training& training = config.training();
  by_length_ = GroupsByLength(training, model);
  if (by_length_) {
    MakeBatchesByLength(training, model);
  } else {
    MakeBatches(training, model.num_examples());
  }
  updates_per_epoch_ =
      CeilDivide(static_cast<int64_t>(batch_begins_.size()) - 1, accumulate_);
  if (model.parameters().num_trainable_elements() == 0) return;
  total_updates_ = training.epochs() * updates_per_epoch_;
  if (training.max_updates() > 0) {
    total_updates_ = std::min(total_updates_, training.max_updates());
  }
}

// Divides the examples, in random order, into batches. The batches of the last
// optimizer step of an epoch have almost equal sizes.
void BatchPlan::MakeBatches(const Training& training, int64_t num_examples) {
  examples_.resize(num_examples);
  std::iota(examples_.begin(), examples_.end(), 0);
  group_begins_ = {0, num_examples};
  const int64_t limit = training.examples_per_epoch();
  const int64_t count =
      limit == 0 ? num_examples : std::min(limit, num_examples);
  const int64_t update = training.batch_size() * accumulate_;
  for (int64_t begin = 0; begin < count; begin += update) {
    const int64_t size = std::min(update, count - begin);
    for (int64_t part = 0; part < accumulate_; ++part) {
      batch_begins_.push_back(begin + size * part / accumulate_);
    }
  }
  batch_begins_.push_back(count);
}

void BatchPlan::MakeBatchesByLength(const Training& training,
                                    const Model<float>& model) {
  const int64_t num_examples = model.num_examples();
  const int64_t step = training.length_step();
  // Each element is {target length, source length, example}. Source lengths
  // alternately rise and fall (stored as negative numbers), so that they do not
  // jump where the target length changes.
  std::vector<std::array<int64_t, 3>> sorted(num_examples);
  for (int64_t i = 0; i < num_examples; ++i) {
    const SequenceLengths length = model.Lengths(i);
    const int64_t target = CeilDivide(length[1], step);
    const int64_t source = CeilDivide(length[0], step) * step;
    sorted[i] = {target * step, target % 2 != 0 ? -source : source, i};
  }
  std::sort(sorted.begin(), sorted.end());
  int64_t longest = 0;  // the longest sequence in the batch
  batch_begins_.push_back(0);
  for (int64_t i = 0; i < num_examples; ++i) {
    const auto& [target, source, example] = sorted[i];
    if (i == 0 || target != sorted[i - 1][0] || source != sorted[i - 1][1]) {
      group_begins_.push_back(i);
    }
    examples_.push_back(example);
    const int64_t size = i - batch_begins_.back();
    const int64_t length = std::max(target, std::abs(source));
    longest = std::max(longest, length);
    const bool full = training.batch_tokens() > 0
                          ? (size + 1) * longest > training.batch_tokens()
                          : size == training.batch_size();
    if (full && size > 0) {
      batch_begins_.push_back(i);
      longest = length;
    }
  }
  group_begins_.push_back(num_examples);
  if (num_examples > 0) batch_begins_.push_back(num_examples);
}

void BatchPlan::MakeEpoch(int64_t epoch) {
  epoch_ = epoch;
  order_ = examples_;
  const RandomStream random(seed_, absl::StrCat("order/", epoch));
  for (size_t i = 0; i + 1 < group_begins_.size(); ++i) {
    Shuffle(random, group_begins_[i], group_begins_[i + 1],
            batch_begins_.back(), order_);
  }
  batches_.clear();
  for (size_t i = 0; i + 1 < batch_begins_.size(); ++i) {
    batches_.push_back(absl::MakeConstSpan(order_).subspan(
        static_cast<size_t>(batch_begins_[i]),
        static_cast<size_t>(batch_begins_[i + 1] - batch_begins_[i])));
  }
  if (!by_length_) return;
  const auto batches = static_cast<int64_t>(batches_.size());
  Shuffle(RandomStream(seed_, absl::StrCat("batches/", epoch)), 0, batches,
          batches, batches_);
  // Fills up the last optimizer step with empty batches.
  while (static_cast<int64_t>(batches_.size()) % accumulate_ != 0) {
    batches_.emplace_back();
  }
}

absl::Span<const absl::Span<const int64_t>> BatchPlan::BatchesOf(int64_t step) {
  const int64_t epoch = step / updates_per_epoch_;
  if (epoch != epoch_) MakeEpoch(epoch);
  return absl::MakeConstSpan(batches_).subspan(
      static_cast<size_t>(step % updates_per_epoch_ * accumulate_),
      static_cast<size_t>(accumulate_));
}

}  // namespace regard
