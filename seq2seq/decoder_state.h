// The state of a decoder between two calls of Advance(), and the storage that
// keeps this state when a search rewinds the tape.
#ifndef SEQ2SEQ_DECODER_STATE_H_
#define SEQ2SEQ_DECODER_STATE_H_

#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "attention/layer_state.h"
#include "autodiff/arena.h"
#include "autodiff/tape.h"
#include "seq2seq/decoding/growing_rows.h"
#include "seq2seq/decoding/known_rows.h"

namespace regard {

template <typename T>
class DecoderStateStore;

// The state of a decoder's layers and the number of ids that it has read.
//
// The state consists of numbered slots, which the decoder or its layers define.
// Unused slots stay empty. A row is a hypothesis: row r belongs to source r /
// rows_per_source(). At first, each source has one row. In a beam search, it
// has one row per beam entry.
//
// The values are on a tape, and gradients flow through them. Movable. The arena
// of the tape owns the slots.
template <typename T>
class DecoderState : public LayerState<T> {
 public:
  enum class Kind : uint8_t { kSource, kRow, kGrowing };
  struct Slot {
    Kind kind = Kind::kRow;
    Var<T> value;
    int64_t positions = 0;  // valid positions of a growing slot
  };

  // Creates an empty state, for Begin(). `lengths` [sources] contains the
  // number of valid positions of each source's memory. Empty if all positions
  // are valid. The lengths are copied.
  DecoderState(Tape<T>& tape, int64_t sources,
               absl::Span<const int32_t> lengths, int num_slots);

  DecoderState(DecoderState&&) = default;
  DecoderState& operator=(DecoderState&&) = default;

  int64_t sources() const { return sources_; }
  int64_t rows() const { return sources_ * rows_per_source_; }
  int64_t rows_per_source() const { return rows_per_source_; }
  // The number of ids that Advance() has read so far, the same for all rows.
  int64_t position() const { return position_; }
  // The number of valid positions of each source's memory, [sources]. Empty if
  // all positions are valid.
  absl::Span<const int32_t> lengths() const { return lengths_; }

  // Returns the value of a slot, which is empty if it was never set.
  Var<T> operator[](int slot) const {
    return slots_[static_cast<size_t>(slot)].value;
  }
  absl::Span<const Slot> slots() const { return slots_; }

  // Sets a slot. The leading extent of `value` must be sources() for
  // SetSourceValue() and rows() for SetRowValue(). An empty `value` is ignored.
  void SetSourceValue(int slot, Var<T> value) override;
  void SetRowValue(int slot, Var<T> value) override;
  Var<T> SourceValue(int slot) const override { return (*this)[slot]; }
  // Returns the value of a slot. Fails a check if the slot is empty although
  // position() is above 0.
  Var<T> RowValue(int slot) const override;
  // Appends the positions of `part` to a growing slot, and returns all of them.
  // Fails a check if the slot does not already contain position() positions.
  //
  // In a search, the result may have spare positions after the valid positions,
  // so that a step copies only its own positions. On a tape that records, the
  // result has exactly the positions appended so far.
  Var<T> Append(int slot, Var<T> part) override;

  // Drops all sources except the first `count`. Requires one row per source and
  // no growing slot.
  void KeepFirstSources(int64_t count);

  // Advance() calls this after it has read `count` ids of each row.
  void AdvancePosition(int64_t count) { position_ += count; }

  // The cache of the rows that depend only on a token id (known_rows.h). Null
  // unless this state is a DecoderStateStore::View().
  CachedRows<T>* known_rows() const;

 private:
  friend class DecoderStateStore<T>;

  void Set(int slot, Slot value, int64_t leading);

  int64_t sources_;
  int64_t rows_per_source_ = 1;
  int64_t position_ = 0;
  absl::Span<const int32_t> lengths_;
  absl::Span<Slot> slots_;
  // The store if this is a View(), or null.
  DecoderStateStore<T>* store_ = nullptr;
};

// Storage for a decoder's state that survives rewinding the tape after each
// step of a search. No gradient flows through it.
template <typename T>
class DecoderStateStore {
 public:
  struct Limits {
    int64_t rows;        // maximum number of rows of the state
    int64_t vocabulary;  // number of ids
    // The maximum number of ids that a row reads.
    int64_t positions = std::numeric_limits<int64_t>::max();
  };

  // Copies `state` into storage from `arena`.
  DecoderStateStore(const DecoderState<T>& state, const Limits& limits,
                    Arena& arena);
  DecoderStateStore(const DecoderStateStore&) = delete;
  DecoderStateStore& operator=(const DecoderStateStore&) = delete;

  // Adds the rows of `state` after the rows of the current View(). The next
  // Gather() may select the added rows. `state` must have read as many ids as
  // the View(), and must outlive the next Gather(). `state` must not be a
  // View() or have slots per source.
  void AddRows(const DecoderState<T>& state);

  // Makes row i a copy of row rows[i] of `state`, which must be a View() that
  // has advanced. Indices beyond the rows of `state` select the rows that
  // AddRows() added.
  //
  // After the call, each source has `rows_per_source` rows, all copied from
  // rows of one source. Sources without rows are dropped.
  void Gather(const DecoderState<T>& state, absl::Span<const int32_t> rows,
              int64_t rows_per_source);

  // Returns the state as constants of `tape`, valid until the next Gather().
  // Values that are set or appended are kept only if Gather() receives the
  // returned state.
  DecoderState<T> View(Tape<T>& tape);

 private:
  friend class DecoderState<T>;

  struct Slot {
    typename DecoderState<T>::Kind kind;
    T* data = nullptr;                  // values of a source or row slot
    Shape shape;                        // shape of `data`
    int64_t positions = 0;              // valid positions of a growing slot
    GrowingRows<T>* growing = nullptr;  // values of a growing slot
    Var<T> next;   // during Gather(): the step's value of a row slot
    Var<T> added;  // the rows that AddRows() added
  };

  Var<T> Append(int slot, int64_t positions, Var<T> part);
  // Returns `value`, or a copy on the tape if `value` is in the storage of a
  // slot.
  Var<T> CopyToTapeIfStored(Var<T> value) const;
  void CopyRows(Var<T> from, absl::Span<const int32_t> rows, Slot* slot);
  void DropUnselectedSources(const DecoderState<T>& state,
                             absl::Span<const int32_t> rows);

  Arena& arena_;
  const Limits limits_;
  int64_t sources_;
  int64_t rows_per_source_;
  int64_t position_;
  absl::Span<int32_t> lengths_;
  absl::Span<Slot> slots_;
  CachedRows<T> known_rows_;
  RowCopyPlanner copies_;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODER_STATE_H_
