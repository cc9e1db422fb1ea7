// A LayerState whose values live on a tape, for checks and tests.
#ifndef ATTENTION_CHECKS_TAPE_STATE_H_
#define ATTENTION_CHECKS_TAPE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/layer_state.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
class TapeLayerState : public LayerState<T> {
 public:
  explicit TapeLayerState(const StateSlotNames& slots)
      : values_(static_cast<size_t>(slots.size())) {}

  Var<T> Append(int slot, Var<T> part) override {
    Var<T>& whole = At(slot);
    whole = whole.has_value() ? Concat<T>({whole, part}, -2) : part;
    return whole;
  }
  Var<T> RowValue(int slot) const override {
    return values_[static_cast<size_t>(slot)];
  }
  void SetRowValue(int slot, Var<T> value) override { At(slot) = value; }
  Var<T> SourceValue(int slot) const override { return RowValue(slot); }
  void SetSourceValue(int slot, Var<T> value) override { At(slot) = value; }

  // Replaces row i by the current row rows[i], for all i.
  void Gather(absl::Span<const int64_t> rows) {
    for (Var<T>& value : values_) {
      if (!value.has_value()) continue;
      std::vector<Var<T>> parts;
      for (const int64_t row : rows) parts.push_back(Slice(value, 0, row, 1));
      value = Concat<T>(parts, 0);
    }
  }

 private:
  Var<T>& At(int slot) { return values_[static_cast<size_t>(slot)]; }

  std::vector<Var<T>> values_;
};

}  // namespace regard

#endif  // ATTENTION_CHECKS_TAPE_STATE_H_
