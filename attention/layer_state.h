// Values that the layers of a decoder keep between steps. Each layer declares
// named slots in its constructor, and reads and writes them through a
// LayerState.
#ifndef ATTENTION_LAYER_STATE_H_
#define ATTENTION_LAYER_STATE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The names of the slots of a state.
class StateSlotNames {
 public:
  // Returns the index of the new slot. CHECK-fails if the name is already used.
  int Add(std::string name) {
    REGARD_CHECK(std::find(names_.begin(), names_.end(), name) == names_.end())
        << "slot " << name << " is declared twice";
    names_.push_back(std::move(name));
    return size() - 1;
  }

  int size() const { return static_cast<int>(names_.size()); }
  absl::Span<const std::string> names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// A scope in which a layer declares its slots, in its constructor:
// `keys_(slots.Add("keys"))`. Cheap to copy. The StateSlotNames must outlive
// the scope.
class SlotScope {
 public:
  SlotScope(StateSlotNames& slots, std::string prefix)
      : slots_(&slots), prefix_(std::move(prefix)) {}

  int Add(const std::string& name) const {
    return slots_->Add(prefix_ + "." + name);
  }
  SlotScope Sub(const std::string& name) const {
    return {*slots_, prefix_ + "." + name};
  }

 private:
  StateSlotNames* slots_;
  std::string prefix_;
};

// The values of the slots. There are three kinds:
//
//   per source  [sources, ..]: prepared keys of a memory
//   per row     [rows, ..]: a state whose size is fixed or changes rarely
//   growing     [rows, .., extent, width]: keys and values of the positions
//               read so far
//
// A row is a sequence that a decoder writes. A search has several rows for each
// source.
template <typename T>
class LayerState {
 public:
  virtual ~LayerState() = default;

  // Appends `part` [rows, .., n, width] to a growing slot. Returns the whole
  // slot, [rows, .., extent, width], which begins with the positions appended
  // so far. Further positions may follow, with finite values. A mask, such as a
  // causal mask, must hide them.
  virtual Var<T> Append(int slot, Var<T> part) = 0;

  // Returns the value [rows, ..] of a per-row slot. Empty if it was never set.
  virtual Var<T> RowValue(int slot) const = 0;
  virtual void SetRowValue(int slot, Var<T> value) = 0;

  // Returns the value [sources, ..] of a per-source slot. Empty if it was never
  // set.
  virtual Var<T> SourceValue(int slot) const = 0;
  virtual void SetSourceValue(int slot, Var<T> value) = 0;

 protected:
  LayerState() = default;
  LayerState(const LayerState&) = default;
  LayerState(LayerState&&) = default;
  LayerState& operator=(const LayerState&) = default;
  LayerState& operator=(LayerState&&) = default;
};

}  // namespace regard

#endif  // ATTENTION_LAYER_STATE_H_
