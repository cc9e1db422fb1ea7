#include "nn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "nn/schedule.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

template <typename T>
void AddTo(T* __restrict sum, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

// sum[i] = the sum over `count` shards from `first` on of part(shard)[i], added
// as a balanced binary tree whose shape depends on `count` alone. A part is n
// numbers, n <= kChunk, or null where they are all zero. The sum may take the
// place of the first part.
template <typename T, typename Part>
void SumShards(const Part& part, size_t first, size_t count, int64_t n,
               T* sum) {
  if (count == 1) {
    const T* const only = part(first);
    if (only == nullptr) {
      std::fill_n(sum, n, T(0));
    } else if (only != sum) {
      std::copy_n(only, n, sum);
    }
    return;
  }
  const size_t half = (count + 1) / 2;
  SumShards(part, first, half, n, sum);
  if (count == 2) {
    const T* const second = part(first + 1);
    if (second != nullptr) AddTo(sum, second, n);
    return;
  }
  T right[Optimizer<T>::kChunk];
  SumShards(part, first + half, count - half, n, right);
  AddTo(sum, right, n);
}

// The fields that Adam and AdamW share.
struct AdamNumbers {
  double beta1, beta2, epsilon, weight_decay;
  bool decoupled;
};

AdamNumbers NumbersOf(const OptimizerConfig& config) {
  if (config.has_adamw()) {
    const AdamWConfig& adamw = config.adamw();
    return {adamw.beta1(), adamw.beta2(), adamw.epsilon(), adamw.weight_decay(),
            true};
  }
  const AdamConfig& adam = config.adam();
  return {adam.beta1(), adam.beta2(), adam.epsilon(), adam.weight_decay(),
          false};
}

}  // namespace

template <typename T>
Optimizer<T>::Optimizer(const OptimizerConfig& config,
                        ParameterStore<T>& parameters)
    : config_(config),
      accumulate_batches_(config.accumulate_batches()),
      parameters_(parameters),
      batches_sum_(accumulate_batches_ == 1 ? 0 : parameters.slab_size()),
      squared_norms_((parameters.slab_size() + kChunk - 1) / kChunk, 0.0) {
  REGARD_CHECK(parameters.finalized()) << "an optimiser of an unfinished store";
  const int64_t size = parameters.slab_size();
  if (!config_.has_sgd()) {
    moments_.push_back({"first_moment", Slab<T>(size)});
    moments_.push_back({"second_moment", Slab<T>(size)});
  } else if (config_.sgd().momentum() > 0) {
    moments_.push_back({"momentum", Slab<T>(size)});
  }
  CutIntoRanges();
  CutIntoPieces();
}

// Rows of sparse gradients are pieces; so is what lies between, chunk by chunk.
template <typename T>
void Optimizer<T>::CutIntoPieces() {
  int64_t begin = 0;
  const auto cut = [&](int64_t end, int64_t most, int32_t parameter) {
    for (int64_t row = 0; begin < end; ++row) {
      const int64_t row_end = std::min(end, begin + most);
      while (begin < row_end) {
        const int64_t next = std::min(row_end, (begin / kChunk + 1) * kChunk);
        pieces_.push_back({begin, next, parameter, row});
        begin = next;
      }
    }
  };
  const absl::Span<const ParameterInfo> infos = parameters_.parameters();
  for (size_t i = 0; i < infos.size(); ++i) {
    const ParameterInfo& info = infos[i];
    if (!info.options.sparse_gradient || !info.options.trainable) continue;
    cut(info.offset, info.offset, kDense);
    cut(info.offset + info.size(), info.shape[1], static_cast<int32_t>(i));
  }
  cut(parameters_.slab_size(), parameters_.slab_size(), kDense);
  size_t piece = 0;
  for (int64_t chunk = 0; chunk <= num_chunks(); ++chunk) {
    while (piece < pieces_.size() && pieces_[piece].begin < chunk * kChunk) {
      ++piece;
    }
    first_piece_.push_back(static_cast<int64_t>(piece));
  }
}

template <typename T>
void Optimizer<T>::CutIntoRanges() {
  for (const ParameterInfo& info : parameters_.parameters()) {
    if (!info.options.trainable) continue;
    const int64_t end = info.offset + info.size();
    for (int64_t begin = info.offset; begin < end;) {
      const int64_t next = std::min(end, (begin / kChunk + 1) * kChunk);
      ranges_.push_back({begin, next, info.options.learning_rate_scale,
                         info.options.weight_decay});
      begin = next;
    }
  }
  size_t range = 0;
  for (int64_t chunk = 0; chunk <= num_chunks(); ++chunk) {
    while (range < ranges_.size() && ranges_[range].begin < chunk * kChunk) {
      ++range;
    }
    first_range_.push_back(static_cast<int64_t>(range));
  }
}

template <typename T>
void Optimizer<T>::BeginReduction(absl::Span<GradientSlab<T>* const> shards) {
  REGARD_CHECK(!shards.empty()) << "a batch of no shards";
  REGARD_CHECK(!ready()) << "an update is due";
  shards_.clear();
  for (GradientSlab<T>* shard : shards) {
    REGARD_CHECK_EQ(static_cast<int64_t>(shard->values().size()),
                    parameters_.slab_size());
    shards_.push_back(shard);
  }
  gradient_ = batches_sum_.data();
  if (accumulate_batches_ == 1) {
    gradient_ = shards[0]->values().data();
    for (const GradientSlab<T>* shard : shards) shards[0]->TouchLike(*shard);
  }
  ++batches_;
}

template <typename T>
void Optimizer<T>::ReduceChunk(int64_t chunk) {
  for (int64_t i = first_piece_[chunk]; i < first_piece_[chunk + 1]; ++i) {
    const Piece& piece = pieces_[i];
    const int64_t n = piece.end - piece.begin;
    T* const gradient = gradient_ + piece.begin;
    // The first shard's, where the sum may stand, is zero where not touched.
    const auto part = [&](size_t shard) -> const T* {
      GradientSlab<T>& slab = *shards_[shard];
      const bool all_zero = shard > 0 && piece.parameter != kDense &&
                            slab.touched_rows(piece.parameter)[piece.row] == 0;
      return all_zero ? nullptr : slab.values().data() + piece.begin;
    };
    if (batches_ == 1) {
      SumShards<T>(part, 0, shards_.size(), n, gradient);
    } else {
      T sum[kChunk];
      SumShards<T>(part, 0, shards_.size(), n, sum);
      AddTo(gradient, sum, n);
    }
  }
  if (!ready()) return;
  const int64_t begin = chunk * kChunk;
  const int64_t n = std::min(kChunk, parameters_.slab_size() - begin);
  const T* const gradient = gradient_ + begin;
  squared_norms_[chunk] = SumEach<double>(n, [=](int64_t i) {
    return static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  });
}

template <typename T>
typename Optimizer<T>::UpdateStatistics Optimizer<T>::BeginUpdate(
    double learning_rate) {
  REGARD_CHECK(ready()) << batches_ << " of " << accumulate_batches_
                        << " batches were reduced";
  double squared_norm = 0;
  for (const double part : squared_norms_) squared_norm += part;
  const double norm = std::sqrt(squared_norm);
  // As torch.nn.utils.clip_grad_norm_.
  const double limit = config_.clip_norm();
  clip_factor_ = limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1.0;
  learning_rate_ = learning_rate;
  batches_ = 0;
  ++updates_;
  return {norm, clip_factor_};
}

template <typename T>
void Optimizer<T>::UpdateChunk(int64_t chunk) {
  for (int64_t i = first_range_[chunk]; i < first_range_[chunk + 1]; ++i) {
    if (config_.has_sgd()) {
      UpdateSgd(ranges_[i]);
    } else {
      UpdateAdam(ranges_[i]);
    }
  }
}

template <typename T>
void Optimizer<T>::UpdateSgd(const Range& range) {
  const SgdConfig& config = config_.sgd();
  const T rate = static_cast<T>(learning_rate_ * range.learning_rate_scale);
  const T decay =
      static_cast<T>(range.weight_decay ? config.weight_decay() : 0);
  const T clip = static_cast<T>(clip_factor_);
  T* const __restrict value = parameters_.values().data();
  const T* const __restrict gradient = gradient_;
  if (moments_.empty()) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      value[i] -= rate * (clip * gradient[i] + decay * value[i]);
    }
    return;
  }
  T* const __restrict velocity = moments_[0].values.data();
  const T momentum = static_cast<T>(config.momentum());
  const T ahead = config.nesterov() ? T(1) : T(0);
  const T share = config.nesterov() ? momentum : T(1);
  for (int64_t i = range.begin; i < range.end; ++i) {
    const T slope = clip * gradient[i] + decay * value[i];
    velocity[i] = momentum * velocity[i] + slope;
    value[i] -= rate * (ahead * slope + share * velocity[i]);
  }
}

template <typename T>
void Optimizer<T>::UpdateAdam(const Range& range) {
  const AdamNumbers numbers = NumbersOf(config_);
  const double rate = learning_rate_ * range.learning_rate_scale;
  const double weight_decay = range.weight_decay ? numbers.weight_decay : 0;
  const T shrink =
      static_cast<T>(numbers.decoupled ? 1 - rate * weight_decay : 1);
  const T decay = static_cast<T>(numbers.decoupled ? 0 : weight_decay);
  const T clip = static_cast<T>(clip_factor_);
  const T beta1 = static_cast<T>(numbers.beta1);
  const T beta2 = static_cast<T>(numbers.beta2);
  const T one_minus_beta1 = static_cast<T>(1 - numbers.beta1);
  const T one_minus_beta2 = static_cast<T>(1 - numbers.beta2);
  const T epsilon = static_cast<T>(numbers.epsilon);
  const T step =
      static_cast<T>(rate / (1 - IntegerPower(numbers.beta1, updates_)));
  const T root_scale =
      static_cast<T>(1 / std::sqrt(1 - IntegerPower(numbers.beta2, updates_)));
  T* const __restrict value = parameters_.values().data();
  const T* const __restrict gradient = gradient_;
  T* const __restrict first = moments_[0].values.data();
  T* const __restrict second = moments_[1].values.data();
  for (int64_t i = range.begin; i < range.end; ++i) {
    const T slope = clip * gradient[i] + decay * value[i];
    first[i] = beta1 * first[i] + one_minus_beta1 * slope;
    second[i] = beta2 * second[i] + one_minus_beta2 * slope * slope;
    const T root = std::sqrt(second[i]) * root_scale + epsilon;
    value[i] = shrink * value[i] - step * (first[i] / root);
  }
}

template <typename T>
void Optimizer<T>::Reduce(absl::Span<GradientSlab<T>* const> shards) {
  BeginReduction(shards);
  for (int64_t chunk = 0; chunk < num_chunks(); ++chunk) ReduceChunk(chunk);
}

template <typename T>
typename Optimizer<T>::UpdateStatistics Optimizer<T>::Update(
    double learning_rate) {
  const UpdateStatistics statistics = BeginUpdate(learning_rate);
  for (int64_t chunk = 0; chunk < num_chunks(); ++chunk) UpdateChunk(chunk);
  return statistics;
}

template class Optimizer<float>;
template class Optimizer<double>;

}  // namespace regard
