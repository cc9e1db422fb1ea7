// Values that layers keep between the calls of a decoder.
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

// The slots of a state, by name.
class StateSlots {
 public:
  // Returns the number of the slot. A name that is taken fails a check.
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

// A place in which a layer declares its slots, once and in its constructor:
// `keys_(slots.Add("keys"))`. Cheap to copy; valid as long as the list.
class SlotScope {
 public:
  SlotScope(StateSlots& slots, std::string prefix)
      : slots_(&slots), prefix_(std::move(prefix)) {}

  int Add(const std::string& name) const {
    return slots_->Add(prefix_ + "." + name);
  }
  SlotScope Sub(const std::string& name) const {
    return {*slots_, prefix_ + "." + name};
  }

 private:
  StateSlots* slots_;
  std::string prefix_;
};

// The values of the slots, each of one kind:
//
//   per source  [sources, ..]: prepared keys of a memory
//   per row     [rows, ..]: a state, of fixed size or of few sizes
//   growing     [rows, .., extent, width]: keys and values of the positions
//               that were read
//
// A row is a sequence that a decoder writes. A search has several for each
// source.
template <typename T>
class LayerState {
 public:
  virtual ~LayerState() = default;

  // Appends `part` [rows, .., n, width] to a growing slot. Returns the whole,
  // [rows, .., extent, width], whose first positions are those appended so far.
  // The extent may be larger: a mask has to hide the other positions, as a
  // causal one does. They hold finite numbers.
  virtual Var<T> Append(int slot, Var<T> part) = 0;

  // A slot of each row; empty if it was never set.
  virtual Var<T> Row(int slot) const = 0;
  virtual void SetRow(int slot, Var<T> value) = 0;

  // A slot of each source; empty if it was never set.
  virtual Var<T> Source(int slot) const = 0;
  virtual void SetSource(int slot, Var<T> value) = 0;

 protected:
  LayerState() = default;
  LayerState(const LayerState&) = default;
  LayerState(LayerState&&) = default;
  LayerState& operator=(const LayerState&) = default;
  LayerState& operator=(LayerState&&) = default;
};

}  // namespace regard

#endif  // ATTENTION_LAYER_STATE_H_
