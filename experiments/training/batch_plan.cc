#include "experiments/training/batch_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"

namespace regard {

namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t ExamplesPerEpoch(const Experiment& config, int64_t num_examples) {
  const int64_t limit = config.training().examples_per_epoch();
  return limit == 0 ? num_examples : std::min(limit, num_examples);
}

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

void ExampleOrder(uint64_t seed, int64_t epoch, int64_t size, int64_t count,
                  std::vector<int64_t>* order) {
  const RandomStream stream(seed, absl::StrCat("order/", epoch));
  order->resize(size);
  std::iota(order->begin(), order->end(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const auto j = static_cast<int64_t>(stream.BelowAt(
        static_cast<uint64_t>(i), static_cast<uint64_t>(size - i)));
    std::swap((*order)[i], (*order)[i + j]);
  }
  order->resize(count);
}

BatchPlan::BatchPlan(const Experiment& config, int64_t num_examples,
                     const LengthsOf& lengths)
    : seed_(config.seed()),
      num_examples_(num_examples),
      count_(ExamplesPerEpoch(config, num_examples)),
      batch_size_(config.training().batch_size()),
      accumulate_(config.optimizer().accumulate_batches()) {
  const Training& training = config.training();
  if (training.group_by_length()) {
    MakeGroups(training, lengths);
    updates_per_epoch_ =
        CeilDivide(static_cast<int64_t>(batch_begins_.size()) - 1, accumulate_);
  } else {
    updates_per_epoch_ = CeilDivide(count_, batch_size_ * accumulate_);
  }
}

void BatchPlan::MakeGroups(const Training& training, const LengthsOf& lengths) {
  struct Rounded {
    int64_t target;
    int64_t source;
    int64_t example;
  };
  std::vector<Rounded> sorted(num_examples_);
  const int64_t step = training.length_step();
  for (int64_t i = 0; i < num_examples_; ++i) {
    const SequenceLengths length = lengths(i);
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
  for (int64_t i = 0; i < num_examples_; ++i) {
    const Rounded& example = sorted[i];
    if (i == 0 || example.target != sorted[i - 1].target ||
        example.source != sorted[i - 1].source) {
      group_begins_.push_back(i);
    }
    grouped_.push_back(example.example);
    const int64_t size = i - batch_begins_.back();
    longest = std::max({longest, example.source, example.target});
    const bool full = training.batch_tokens() > 0
                          ? (size + 1) * longest > training.batch_tokens()
                          : size == batch_size_;
    if (full && size > 0) {
      batch_begins_.push_back(i);
      longest = std::max(example.source, example.target);
    }
  }
  group_begins_.push_back(num_examples_);
  if (num_examples_ > 0) batch_begins_.push_back(num_examples_);
}

void BatchPlan::MakeEpoch(int64_t epoch) {
  epoch_ = epoch;
  batches_.clear();
  if (grouped_.empty()) {
    ExampleOrder(seed_, epoch, num_examples_, count_, &order_);
    const int64_t update = batch_size_ * accumulate_;
    for (int64_t begin = 0; begin < count_; begin += update) {
      const int64_t size = std::min(update, count_ - begin);
      for (int64_t part = 0; part < accumulate_; ++part) {
        const int64_t first = size * part / accumulate_;
        const int64_t last = size * (part + 1) / accumulate_;
        batches_.push_back(absl::MakeConstSpan(order_).subspan(
            static_cast<size_t>(begin + first),
            static_cast<size_t>(last - first)));
      }
    }
    return;
  }
  order_ = grouped_;
  const RandomStream examples(seed_, absl::StrCat("order/", epoch));
  for (size_t i = 0; i + 1 < group_begins_.size(); ++i) {
    Shuffle(examples, group_begins_[i], group_begins_[i + 1], order_);
  }
  for (size_t i = 0; i + 1 < batch_begins_.size(); ++i) {
    batches_.push_back(absl::MakeConstSpan(order_).subspan(
        static_cast<size_t>(batch_begins_[i]),
        static_cast<size_t>(batch_begins_[i + 1] - batch_begins_[i])));
  }
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
