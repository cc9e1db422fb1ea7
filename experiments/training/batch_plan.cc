#include "experiments/training/batch_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"

namespace regard {

namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Fisher-Yates on items[begin, end).
template <typename T>
void Shuffle(const RandomStream& stream, int64_t begin, int64_t end,
             std::vector<T>& items) {
  for (int64_t i = begin; i < end; ++i) {
    const auto j = static_cast<int64_t>(stream.BelowAt(
        static_cast<uint64_t>(i), static_cast<uint64_t>(end - i)));
    std::swap(items[i], items[i + j]);
  }
}

}  // namespace

BatchPlan::BatchPlan(const Experiment& config, Model<float>& model)
    : seed_(config.seed()),
      by_length_(config.training().group_by_length()),
      accumulate_(config.optimizer().accumulate_batches()) {
  model.BeginEpoch(std::nullopt);
  const Training& training = config.training();
  if (by_length_) {
    CutByLength(training, model);
  } else {
    Cut(training, model.num_examples());
  }
  updates_per_epoch_ =
      CeilDivide(static_cast<int64_t>(batch_begins_.size()) - 1, accumulate_);
  if (model.parameters().num_trainable_elements() == 0) return;
  total_updates_ = training.epochs() * updates_per_epoch_;
  if (training.max_updates() > 0) {
    total_updates_ = std::min(total_updates_, training.max_updates());
  }
}

// The batches of an epoch's last update are of almost one size.
void BatchPlan::Cut(const Training& training, int64_t num_examples) {
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

void BatchPlan::CutByLength(const Training& training,
                            const Model<float>& model) {
  struct Rounded {
    int64_t target;
    int64_t source;
    int64_t example;
  };
  const int64_t num_examples = model.num_examples();
  std::vector<Rounded> sorted(num_examples);
  const int64_t step = training.length_step();
  for (int64_t i = 0; i < num_examples; ++i) {
    const SequenceLengths length = model.Lengths(i);
    sorted[i] = {CeilDivide(length[1], step) * step,
                 CeilDivide(length[0], step) * step, i};
  }
  // Sources rise and fall in turn, so that they do not jump where the target's
  // length changes.
  std::sort(sorted.begin(), sorted.end(),
            [step](const Rounded& a, const Rounded& b) {
              const bool falls = a.target / step % 2 != 0;
              const int64_t a_source = falls ? -a.source : a.source;
              const int64_t b_source = falls ? -b.source : b.source;
              return std::tie(a.target, a_source, a.example) <
                     std::tie(b.target, b_source, b.example);
            });
  int64_t longest = 0;  // of the batch
  batch_begins_.push_back(0);
  for (int64_t i = 0; i < num_examples; ++i) {
    const Rounded& example = sorted[i];
    if (i == 0 || example.target != sorted[i - 1].target ||
        example.source != sorted[i - 1].source) {
      group_begins_.push_back(i);
    }
    examples_.push_back(example.example);
    const int64_t size = i - batch_begins_.back();
    longest = std::max({longest, example.source, example.target});
    const bool full = training.batch_tokens() > 0
                          ? (size + 1) * longest > training.batch_tokens()
                          : size == training.batch_size();
    if (full && size > 0) {
      batch_begins_.push_back(i);
      longest = std::max(example.source, example.target);
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
    Shuffle(random, group_begins_[i], group_begins_[i + 1], order_);
  }
  batches_.clear();
  for (size_t i = 0; i + 1 < batch_begins_.size(); ++i) {
    batches_.push_back(absl::MakeConstSpan(order_).subspan(
        static_cast<size_t>(batch_begins_[i]),
        static_cast<size_t>(batch_begins_[i + 1] - batch_begins_[i])));
  }
  if (!by_length_) return;
  Shuffle(RandomStream(seed_, absl::StrCat("batches/", epoch)), 0,
          static_cast<int64_t>(batches_.size()), batches_);
  // The last update has as many batches as the others.
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
