#include "attention/selections/key_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "attention/layer_state.h"
#include "attention/mask.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/transcendental.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

template <typename T>
constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

// The blocks of keys in one call. The first block may begin before the first
// key row.
struct Blocks {
  int64_t size;
  int64_t keys;
  int64_t first;  // index of the first block
  int64_t shift;  // number of positions of the first block before the first key
  int64_t count;

  Blocks(int64_t size, int64_t keys, int64_t first_key)
      : size(size),
        keys(keys),
        first(first_key / size),
        shift(first_key % size),
        count(keys == 0 ? 0 : (keys + shift - 1) / size + 1) {}

  KeyRange Rows(int64_t block) const {
    const int64_t begin = block * size - shift;
    return {static_cast<int32_t>(std::max<int64_t>(begin, 0)),
            static_cast<int32_t>(std::min(begin + size, keys))};
  }
  // Returns the block of a key row. The row may be before the first key or
  // after the last key.
  int64_t Of(int64_t row) const {
    const int64_t at = row + shift;
    return at >= 0 ? at / size : -((-at + size - 1) / size);
  }
};

// Computes the mean of the unmasked keys in `rows`, and returns the number of
// these keys. Adds keys in ascending order.
template <typename T>
int64_t MeanOfRows(const T* keys, int64_t width, const KeyRange& rows,
                   const VisibleKeys& visible, T* mean) {
  std::fill_n(mean, width, T(0));
  int64_t count = 0;
  const int64_t begin = std::max<int64_t>(rows.begin, visible.begin);
  const int64_t end = std::min<int64_t>(rows.end, visible.end);
  for (int64_t key = begin; key < end; ++key) {
    if (!visible(key)) continue;
    ++count;
    for (int64_t j = 0; j < width; ++j) mean[j] += keys[key * width + j];
  }
  for (int64_t j = 0; j < width; ++j) mean[j] /= static_cast<T>(count);
  return count;
}

// The gates of all blocks, for one key head and the queries of the heads that
// use this key head.
template <typename T>
class Gates {
 public:
  Gates(const Blocks& blocks, int64_t width, ScratchScope<T>& scratch)
      : blocks_(blocks),
        width_(width),
        means_(scratch.New(blocks.count * width)),
        mean_(scratch.New(width)) {}

  // Sets the keys of the head. `known` has the means of the first `num_known`
  // blocks.
  void SetKeys(const T* keys, const T* known, int64_t num_known) {
    keys_ = keys;
    mean_of_ = {0, 0};
    std::copy_n(known, num_known * width_, means_);
    const VisibleKeys all = {0, blocks_.keys, nullptr, -1};
    for (int64_t b = num_known; b < blocks_.count; ++b) {
      MeanOfRows(keys, width_, blocks_.Rows(b), all, means_ + b * width_);
    }
  }

  const T* means() const { return means_; }

  // Computes the gates [queries, blocks] as if no key were masked.
  void OfWholeBlocks(const ConstMatrix<T>& queries, T* gates) const {
    Gemm(queries, ConstMatrix<T>(means_, blocks_.count, width_).Transposed(),
         MutableMatrix<T>(gates, queries.rows, blocks_.count));
  }

  // Returns the gate of a block for one query. The gate is -inf if all keys of
  // the block are masked for the query, and `whole` if no key is masked.
  T Of(const T* query, int64_t block, const VisibleKeys& visible, T whole) {
    const KeyRange rows = blocks_.Rows(block);
    if (visible.dense == nullptr && !visible.excludes_one() &&
        visible.begin <= rows.begin && rows.end <= visible.end) {
      return whole;
    }
    const KeyRange seen = {
        static_cast<int32_t>(std::max<int64_t>(rows.begin, visible.begin)),
        static_cast<int32_t>(std::min<int64_t>(rows.end, visible.end))};
    if (seen.begin >= seen.end) return kMinusInfinity<T>;
    // All queries of a padded example see the same part of the last block, so
    // its mean is computed only once.
    const bool is_known = visible.dense == nullptr && !visible.excludes_one() &&
                          seen.begin == mean_of_.begin &&
                          seen.end == mean_of_.end;
    if (!is_known) {
      const int64_t count = MeanOfRows(keys_, width_, seen, visible, mean_);
      mean_of_ = seen;
      if (visible.dense != nullptr || visible.excludes_one()) mean_of_ = {0, 0};
      if (count == 0) return kMinusInfinity<T>;
    }
    T gate;
    Gemm(ConstMatrix<T>(query, 1, width_),
         ConstMatrix<T>(mean_, 1, width_).Transposed(),
         MutableMatrix<T>(&gate, 1, 1));
    return gate;
  }

 private:
  const Blocks blocks_;
  const int64_t width_;
  const T* keys_ = nullptr;
  T* const means_;  // means of whole blocks, [blocks, width]
  T* const mean_;   // mean of the keys in mean_of_
  KeyRange mean_of_ = {0, 0};
};

// The means of complete blocks, which the layer state stores between calls.
template <typename T>
class KeptMeans {
 public:
  KeptMeans(Tape<T>& tape, const ScoreInputs<T>& in,
            const BlockChoiceRule& choice)
      : state_(choice.means_slot == ScoreWidths::kNoSlot ||
                       in.positions.first_key != 0
                   ? nullptr
                   : in.state),
        slot_(choice.means_slot) {
    if (state_ == nullptr) return;
    const Shape& k = in.keys.shape();
    const int64_t read = in.positions.first_query;
    known_ = read / choice.size;
    complete_ = (read + in.queries.dim(2)) / choice.size;
    before_ = state_->RowValue(slot_);
    if (!before_.has_value()) known_ = 0;
    if (before_.has_value() && known_ == complete_) return;
    const auto room = static_cast<int64_t>(
        std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(complete_, 1))));
    after_ = tape.Full({k[0], k[1], room, k[3]}, T(0));
  }

  // The number of blocks whose means the state already has.
  int64_t known() const { return known_; }
  // Returns the stored means [known, width] of a row and key head, or null if
  // there are none.
  const T* Known(int64_t row, int64_t key_head) const {
    return known_ == 0 ? nullptr : At(before_, row, key_head);
  }
  // Saves the means of complete blocks, the first rows of `means` [blocks,
  // width], for a row and key head.
  void Store(int64_t row, int64_t key_head, const T* means) {
    if (!after_.has_value()) return;
    std::copy_n(means, complete_ * after_.dim(3), At(after_, row, key_head));
  }
  // Writes the saved means to the state.
  void Finish() {
    if (after_.has_value()) state_->SetRowValue(slot_, after_);
  }

 private:
  static T* At(Var<T> means, int64_t row, int64_t key_head) {
    const Shape& s = means.shape();
    return means.data() + (row * s[1] + key_head) * s[2] * s[3];
  }

  LayerState<T>* const state_;  // if null, every call computes all means
  const int slot_;
  int64_t known_ = 0;
  int64_t complete_ = 0;  // number of complete blocks after this call
  Var<T> before_;
  Var<T> after_;  // empty if the means do not change
};

// Chooses among the blocks that a query sees.
template <typename T>
class BlockChooser {
 public:
  BlockChooser(const Blocks& blocks, const BlockChoiceRule& choice,
               Tape<T>& tape)
      : blocks_(blocks),
        choice_(choice),
        kinds_(tape.scratch().template New<Kind>(blocks.count)),
        candidates_(tape.scratch().template New<Candidate>(blocks.count)) {}

  // Begins a query. `own` is the query's own block, or kNone if there is no
  // causal mask.
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  void SetQuery(const VisibleKeys& visible, int64_t own) {
    for (int64_t b = 0; b < blocks_.count; ++b) {
      const bool local = own != kNone && own - choice_.local < b && b <= own;
      kinds_[b] = !Sees(visible, blocks_.Rows(b))                ? kUnseen
                  : local || blocks_.first + b < choice_.initial ? kForced
                                                                 : kCompeting;
    }
  }

  bool competes(int64_t block) const { return kinds_[block] == kCompeting; }
  bool unseen(int64_t block) const { return kinds_[block] == kUnseen; }

  // Chooses the blocks with the largest gates, in addition to the forced
  // blocks. Calls gate(block) for each visible block that is not forced.
  template <typename F>
  void Choose(F gate) {
    int64_t n = 0;
    int64_t left = choice_.chosen;
    for (int64_t b = 0; b < blocks_.count; ++b) {
      if (kinds_[b] == kForced) --left;
      if (kinds_[b] != kCompeting) continue;
      const T value = gate(b);
      candidates_[n++] = {std::isnan(value) ? kMinusInfinity<T> : value, b};
    }
    if (left <= 0) return;
    left = std::min(left, n);
    if (left < n) {
      std::nth_element(candidates_, candidates_ + left, candidates_ + n,
                       [](const Candidate& a, const Candidate& b) {
                         return a.gate > b.gate ||
                                (a.gate == b.gate && a.block < b.block);
                       });
    }
    for (int64_t i = 0; i < left; ++i) kinds_[candidates_[i].block] = kForced;
  }

  // Adds the chosen blocks of a query to `ranges`. Also adds unseen blocks,
  // which can join two ranges. Unseen blocks cost nothing, because all of their
  // keys are masked.
  void AddTo(KeyRanges& ranges, int64_t example, int64_t head,
             int64_t query) const {
    for (int64_t b = 0; b < blocks_.count; ++b) {
      if (kinds_[b] == kCompeting) continue;
      ranges.Add(example, head, query, blocks_.Rows(b));
    }
  }

 private:
  enum Kind : uint8_t { kUnseen, kForced, kCompeting };
  struct Candidate {
    T gate;
    int64_t block;
  };

  static bool Sees(const VisibleKeys& visible, const KeyRange& rows) {
    const int64_t begin = std::max<int64_t>(rows.begin, visible.begin);
    const int64_t end = std::min<int64_t>(rows.end, visible.end);
    if (visible.dense == nullptr) {
      return begin + (begin == visible.excluded ? 1 : 0) < end;
    }
    for (int64_t key = begin; key < end; ++key) {
      if (visible(key)) return true;
    }
    return false;
  }

  const Blocks blocks_;
  const BlockChoiceRule choice_;
  Kind* const kinds_;
  Candidate* const candidates_;
};

// Adds the softmax of gates / sqrt(width) over blocks to `weights`. Overwrites
// `gates`. Blocks whose gate is NaN get weight 0.
template <typename T>
void AddSoftmax(int64_t width, int64_t blocks, T* gates, T* weights) {
  T max = kMinusInfinity<T>;
  for (int64_t b = 0; b < blocks; ++b) {
    if (std::isnan(gates[b])) gates[b] = kMinusInfinity<T>;
    max = std::max(max, gates[b]);
  }
  if (max == kMinusInfinity<T>) return;
  const T scale = T(1) / std::sqrt(static_cast<T>(width));
  for (int64_t b = 0; b < blocks; ++b) gates[b] = (gates[b] - max) * scale;
  Exp(gates, gates, blocks);
  T sum = T(0);
  for (int64_t b = 0; b < blocks; ++b) sum += gates[b];
  for (int64_t b = 0; b < blocks; ++b) weights[b] += gates[b] / sum;
}

}  // namespace

template <typename T>
KeyRanges ChooseBlocks(Tape<T>& tape, const ScoreInputs<T>& in,
                       const BlockChoiceRule& choice) {
  constexpr int64_t kRows = 128;
  const Shape& q = in.queries.shape();
  const Shape& k = in.keys.shape();
  REGARD_CHECK(q.rank() == 4 && k.rank() == 4 && q[0] == k[0] && k[1] > 0 &&
               q[1] % k[1] == 0 && q[3] == k[3])
      << "queries " << q << ", keys " << k
      << "; a score that prepares keys of another width declares "
         "kPreparesOtherWidths";
  const int64_t heads = q[1];
  const int64_t queries = q[2];
  const int64_t width = q[3];
  const int64_t group = heads / k[1];
  const Blocks blocks(choice.size, k[2], in.positions.first_key);
  // The maximum number of ranges of a query. Without a dense mask, these are
  // runs of chosen blocks and at most three runs of unseen blocks. Unseen
  // blocks lie before or after the visible keys, or contain only the excluded
  // key.
  const int64_t alternating = blocks.count / 2 + 1;
  const int64_t most =
      in.mask.dense.empty()
          ? std::min(alternating,
                     std::max(choice.chosen, choice.initial + choice.local) + 3)
          : alternating;
  KeyRanges ranges = KeyRanges::New(tape.arena(), q[0], heads, queries, most);
  const MaskReader reader(in.mask, in.positions, q[0], queries, k[2]);
  ScratchScope<T> scratch(tape);
  Gates<T> gates(blocks, width, scratch);
  BlockChooser<T> chooser(blocks, choice, tape);
  const int64_t rows = std::min(kRows, queries);
  T* const whole = scratch.New(group * rows * blocks.count);
  T* const of_head = scratch.New(blocks.count);
  T* const sums = scratch.New(blocks.count);
  // Chooses blocks for queries first .. first + count - 1 of a key head.
  const auto choose = [&](int64_t example, int64_t key_head, int64_t first,
                          int64_t count) {
    const auto queries_of = [&](int64_t h) {
      return in.queries.data() +
             ((example * heads + key_head * group + h) * queries + first) *
                 width;
    };
    for (int64_t h = 0; h < group; ++h) {
      gates.OfWholeBlocks(ConstMatrix<T>(queries_of(h), count, width),
                          whole + h * rows * blocks.count);
    }
    for (int64_t i = 0; i < count; ++i) {
      const VisibleKeys visible = reader(example, first + i);
      const int64_t own = in.mask.causal
                              ? blocks.Of(in.positions.Offset(first + i))
                              : BlockChooser<T>::kNone;
      const auto gate = [&](int64_t h, int64_t block) {
        return gates.Of(queries_of(h) + i * width, block, visible,
                        whole[(h * rows + i) * blocks.count + block]);
      };
      if (choice.heads_choose_together) {
        chooser.SetQuery(visible, own);
        std::fill_n(sums, blocks.count, T(0));
        for (int64_t h = 0; h < group; ++h) {
          for (int64_t b = 0; b < blocks.count; ++b) {
            of_head[b] =
                chooser.unseen(b) || b == own ? kMinusInfinity<T> : gate(h, b);
          }
          AddSoftmax(width, blocks.count, of_head, sums);
        }
        chooser.Choose([&](int64_t b) { return sums[b]; });
      }
      for (int64_t h = 0; h < group; ++h) {
        if (!choice.heads_choose_together) {
          chooser.SetQuery(visible, own);
          chooser.Choose([&](int64_t b) { return gate(h, b); });
        }
        chooser.AddTo(ranges, example, key_head * group + h, first + i);
      }
    }
  };
  KeptMeans<T> kept(tape, in, choice);
  for (int64_t example = 0; example < q[0]; ++example) {
    for (int64_t key_head = 0; key_head < k[1]; ++key_head) {
      gates.SetKeys(in.keys.data() + (example * k[1] + key_head) * k[2] * width,
                    kept.Known(example, key_head), kept.known());
      kept.Store(example, key_head, gates.means());
      for (int64_t first = 0; first < queries; first += rows) {
        choose(example, key_head, first, std::min(rows, queries - first));
      }
    }
  }
  kept.Finish();
  return ranges;
}

REGARD_INSTANTIATE_FUNCTION(ChooseBlocks);

}  // namespace regard
