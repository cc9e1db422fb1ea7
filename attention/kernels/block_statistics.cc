#include "attention/kernels/block_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "autodiff/instantiate.h"
#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

namespace {

// An exponent so low that its exponential is 0. The constant is finite, so that
// its product with 0 is 0.
template <typename T>
constexpr T kLowestExponent = T(-1e4);

// Returns the index of the first element equal to `x`, which is the largest
// element.
template <typename T>
int64_t IndexOf(const T* row, int64_t count, T x) {
  constexpr int64_t kPart = 4 * kLanes;
  int64_t i = 0;
  while (i + kPart < count && MaxRow(row + i, kPart) < x) i += kPart;
  return std::find(row + i, row + count, x) - row;
}

// The sum of weights[k] * (exponents[k] - above), in a fixed order. Uses enough
// lanes to hide the latency of additions.
template <typename T>
T Moment(const T* weights, const T* exponents, T above, int64_t n) {
  using P = Packet<T>;
  constexpr int64_t kSize = kPacketSize<T>;
  constexpr int64_t kWide = 4 * kLanes;
  constexpr int64_t kPackets = kWide / kSize;
  const P shift = packet::pset1<P>(above);
  const P lowest = packet::pset1<P>(kLowestExponent<T>);
  P sums[kPackets];
  for (P& sum : sums) sum = packet::pset1<P>(T(0));
  const auto add = [&](P& sum, const P& weight, const P& exponent) {
    sum = packet::padd(
        sum, packet::pmul(weight,
                          packet::pmax(packet::psub(exponent, shift), lowest)));
  };
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide) {
    for (int64_t j = 0; j < kPackets; ++j) {
      add(sums[j], packet::ploadu<P>(weights + i + j * kSize),
          packet::ploadu<P>(exponents + i + j * kSize));
    }
  }
  for (int64_t j = 0; i < n; ++j, i += kSize) {
    const int64_t count = std::min(kSize, n - i);
    add(sums[j], LoadPart(weights + i, count), LoadPart(exponents + i, count));
  }
  T wide[kWide];
  for (int64_t j = 0; j < kPackets; ++j) {
    packet::pstoreu(wide + j * kSize, sums[j]);
  }
  T lanes[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) {
    lanes[j] = (wide[j] + wide[j + kLanes]) +
               (wide[j + 2 * kLanes] + wide[j + 3 * kLanes]);
  }
  return FoldLanes(lanes);
}

}  // namespace

template <typename T>
BlockStatistics<T>::BlockStatistics(const AttentionStatistics& to,
                                    Arena& scratch)
    : to_(to) {
  const auto numbers = [&](int64_t arrays) {
    return scratch.New<double>(wanted() ? arrays * kQueryBlock : 0);
  };
  largest_ = scratch.New<T>(wanted() ? kQueryBlock : 0);
  part_moments_ = scratch.New<T>(wanted() ? kQueryBlock : 0);
  sum_ = numbers(1);
  moment_ = numbers(1);
  best_ = numbers(1);
  top_key_ = scratch.New<int32_t>(wanted() ? kQueryBlock : 0);
  first_ = numbers(1);
  windows_ = numbers(static_cast<int64_t>(to.widths.size()));
  total_ = numbers(1);
  exponents_ = numbers(1);
  logarithms_ = numbers(1);
}

template <typename T>
void BlockStatistics<T>::Begin(const QueryBlock& block) {
  std::fill_n(sum_, block.count, 0.0);
  std::fill_n(moment_, block.count, 0.0);
  std::fill_n(best_, block.count, kMinusInfinity<double>);
  std::fill_n(first_, block.count, kMinusInfinity<double>);
  std::fill_n(top_key_, block.count, -1);
  for (size_t i = 0; i < to_.widths.size(); ++i) {
    std::fill_n(windows_ + static_cast<int64_t>(i) * kQueryBlock, block.count,
                0.0);
  }
}

template <typename T>
void BlockStatistics<T>::MeasureRows(int64_t begin, int64_t end, bool sink,
                                     int64_t count, const T* exponents,
                                     const T* weights) {
  for (int64_t i = begin; i < end; ++i) {
    // Without a sink, m is the largest score so far, whose exponent is 0.
    largest_[i] = sink ? MaxRow(exponents + i * count, count) : T(0);
    if (to_.entropy == nullptr) continue;
    part_moments_[i] =
        Moment(weights + i * count, exponents + i * count, largest_[i], count);
  }
}

template <typename T>
void BlockStatistics<T>::Add(const AttentionProblem<T>& p,
                             const QueryBlock& block, int64_t first_key,
                             int64_t count,
                             const BlockSoftmaxIntermediates<T>& of) {
  // Windows that begin after these keys are still empty.
  const int64_t first_position = p.positions.Offset(block.query(0));
  const auto begins_later = [&](int64_t width) {
    return first_position - width + 1 >= first_key + count;
  };
  const bool reads_windows =
      !std::all_of(to_.widths.begin(), to_.widths.end(), begins_later);
  for (int64_t i = 0; i < block.count; ++i) {
    // The query sees none of these keys, so its maximum does not change.
    if (!(of.sums[i] > T(0))) continue;
    const int64_t row = block.rows == nullptr ? i : block.rows[i];
    const T* const exponents = of.exponents + i * count;
    const auto max = static_cast<double>(of.max[i]);
    const double largest = max + static_cast<double>(largest_[i]);
    const double old_best = best_[row];
    if (largest > old_best) {
      best_[row] = largest;
      if (to_.top != nullptr) {
        top_key_[row] = static_cast<int32_t>(
            first_key + IndexOf(exponents, count, largest_[i]));
      }
    }
    if (first_key == 0) first_[row] = max + static_cast<double>(exponents[0]);
    double& sum = sum_[row];
    const auto part_sum = static_cast<double>(of.sums[i]);
    const double decay = sum > 0 ? static_cast<double>(of.decay[i]) : 0.0;
    if (to_.entropy != nullptr) {
      // Both sums use the rounded differences between scores and m, like the
      // weights.
      const double best = best_[row];
      const double old =
          decay > 0 ? decay * (moment_[row] + (old_best - best) * sum) : 0;
      moment_[row] = old + static_cast<double>(part_moments_[i]) +
                     (largest - best) * part_sum;
    }
    const int64_t position = p.positions.Offset(block.query(i)) - first_key;
    for (size_t w = 0; reads_windows && w < to_.widths.size(); ++w) {
      double& inside = windows_[static_cast<int64_t>(w) * kQueryBlock + row];
      inside *= decay;
      const int64_t begin =
          std::clamp<int64_t>(position - to_.widths[w] + 1, 0, count);
      const int64_t end = std::clamp<int64_t>(position + 1, begin, count);
      if (begin == end) continue;
      inside += static_cast<double>(
          SumRow(of.weights + i * count + begin, end - begin));
    }
    sum = sum * decay + part_sum;
  }
}

template <typename T>
void BlockStatistics<T>::End(const AttentionProblem<T>& p,
                             const QueryBlock& block, const T* max,
                             const T* sum) {
  const int64_t count = block.count;
  // The score is -inf if the query sees no key, or does not see key row 0.
  const auto exp_each = [&](auto score) {
    for (int64_t i = 0; i < count; ++i) {
      exponents_[i] = score(i) == kMinusInfinity<double>
                          ? kMinusInfinity<double>
                          : score(i) - static_cast<double>(max[i]);
    }
    Exp(exponents_, exponents_, count);
  };
  std::copy_n(sum_, count, total_);
  if (p.sink.has_value()) {
    exp_each([&](int64_t) {
      return static_cast<double>(p.sink.data()[block.head]);
    });
    for (int64_t i = 0; i < count; ++i) total_[i] += exponents_[i];
  }
  const auto write = [&](double* to, auto value) {
    for (int64_t i = 0; i < count; ++i) {
      to[block.row + i] = std::isnan(sum[i])
                              ? std::numeric_limits<double>::quiet_NaN()
                          : sum_[i] == 0 ? 0
                                         : value(i);
    }
  };
  const auto share = [&](int64_t i) { return exponents_[i] / total_[i]; };
  write(to_.sum, [&](int64_t i) { return sum_[i] / total_[i]; });
  if (to_.entropy != nullptr) {
    Log(sum_, logarithms_, count);
    write(to_.entropy, [&](int64_t i) {
      const double above = best_[i] - static_cast<double>(max[i]);
      return std::max(logarithms_[i] - above - moment_[i] / sum_[i], 0.0);
    });
  }
  if (to_.top != nullptr) {
    exp_each([&](int64_t i) { return best_[i]; });
    write(to_.top, share);
    write(to_.max, share);
    for (int64_t i = 0; i < count; ++i) {
      const bool sees = sum_[i] > 0 && !std::isnan(sum[i]);
      to_.top_key[block.row + i] = sees ? top_key_[i] : -1;
    }
  }
  if (to_.first != nullptr) {
    exp_each([&](int64_t i) { return first_[i]; });
    write(to_.first, share);
  }
  for (size_t w = 0; w < to_.widths.size(); ++w) {
    const auto index = static_cast<int64_t>(w);
    write(to_.window(index), [&](int64_t i) {
      return windows_[index * kQueryBlock + i] / total_[i];
    });
  }
}

REGARD_INSTANTIATE_CLASS(BlockStatistics);

}  // namespace regard
