// The state of a decoder between two calls of Advance(), and the cache that
// keeps it when the tape is rewound.
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
class DecoderCache;

// The state of the layers of a decoder, and the sequences that it has read.
//
// A decoder numbers its slots, or its layers declare them; those that are not
// used stay empty. A row is a hypothesis: row r belongs to source r /
// rows_per_source(). There is one row a source at first, and as many as the
// beam is wide later.
//
// The values are on a tape, and gradients pass through them. Movable; the slots
// are in the tape's arena.
template <typename T>
class DecoderState : public LayerState<T> {
 public:
  enum class Kind : uint8_t { kSource, kRow, kGrowing };
  struct Slot {
    Kind kind = Kind::kRow;
    Var<T> value;
    int64_t positions = 0;  // valid ones of a growing slot
  };

  // An empty state, for Begin(). Copies `lengths`, the valid positions of each
  // source's memory, [sources] or empty, so that they need not outlive it.
  DecoderState(Tape<T>& tape, int64_t sources,
               absl::Span<const int32_t> lengths, int num_slots);

  DecoderState(DecoderState&&) = default;
  DecoderState& operator=(DecoderState&&) = default;

  int64_t sources() const { return sources_; }
  int64_t rows() const { return sources_ * rows_per_source_; }
  int64_t rows_per_source() const { return rows_per_source_; }
  // Ids that Advance() has read so far, the same for all rows.
  int64_t position() const { return position_; }
  // Valid positions of each source's memory, [sources]; empty: all.
  absl::Span<const int32_t> lengths() const { return lengths_; }

  // The value of a slot; empty if it was never set.
  Var<T> operator[](int slot) const {
    return slots_[static_cast<size_t>(slot)].value;
  }
  absl::Span<const Slot> slots() const { return slots_; }

  // The leading extent of `value` is sources() or rows(). An empty `value` is
  // ignored.
  void SetSource(int slot, Var<T> value) override;
  void SetRow(int slot, Var<T> value) override;
  Var<T> Source(int slot) const override { return (*this)[slot]; }
  // Set, unless the state has read no position.
  Var<T> Row(int slot) const override;
  // On a tape that records, the whole has the positions appended so far. In a
  // search the extent may be larger, so that a step copies nothing but its own
  // positions. A slot that does not hold all position() positions fails a
  // check.
  Var<T> Append(int slot, Var<T> part) override;

  // Forgets all sources but the first `count`. There is one row a source, and
  // no growing slot.
  void KeepFirst(int64_t count);

  // Called by Advance() when it has read `count` ids of each row.
  void AdvancePosition(int64_t count) { position_ += count; }

  // Rows that depend on an id alone, each computed once. Null unless a search
  // keeps the state.
  KnownRows<T>* known_rows() const;

 private:
  friend class DecoderCache<T>;

  void Set(int slot, Slot value, int64_t leading);

  int64_t sources_;
  int64_t rows_per_source_ = 1;
  int64_t position_ = 0;
  absl::Span<const int32_t> lengths_;
  absl::Span<Slot> slots_;
  DecoderCache<T>* cache_ = nullptr;  // that this is a View() of
};

// A decoder's state in storage of its own, so that the tape can be rewound
// after each step of a search. No gradient passes through it.
template <typename T>
class DecoderCache {
 public:
  struct Limits {
    int64_t rows;        // of the state, at most
    int64_t vocabulary;  // number of ids
    // Ids that a row reads, at most.
    int64_t positions = std::numeric_limits<int64_t>::max();
  };

  // Copies `state`. The storage is of `arena`.
  DecoderCache(const DecoderState<T>& state, const Limits& limits,
               Arena& arena);
  DecoderCache(const DecoderCache&) = delete;
  DecoderCache& operator=(const DecoderCache&) = delete;

  // Adds the rows of `state`, which is not a View(), behind those of the View()
  // that is to be gathered: rows that have read the same number of ids. No slot
  // is per source. `state` lives until then.
  void AddRows(const DecoderState<T>& state);

  // Row i becomes what row rows[i] of `state` is, or the added ones behind it
  // are. Each source has `rows_per_source` rows from now on, which come from
  // one source; sources that no row comes from are dropped. `state` is a View()
  // that advanced.
  void Gather(const DecoderState<T>& state, absl::Span<const int32_t> rows,
              int64_t rows_per_source);

  // The state as constants of `tape`. Valid until the next Gather(). What is
  // appended to it is forgotten unless Gather() takes it.
  DecoderState<T> View(Tape<T>& tape);

 private:
  friend class DecoderState<T>;

  struct Slot {
    typename DecoderState<T>::Kind kind;
    T* data = nullptr;      // of a source or row; null: the slot is empty
    Shape shape;            // of `data`
    int64_t positions = 0;  // of a growing slot
    GrowingRows<T>* growing = nullptr;  // its storage; null: the slot is empty
    Var<T> next;   // of a row, during Gather(): what the step left
    Var<T> added;  // rows that AddRows() put behind it
  };

  Var<T> Append(int slot, int64_t positions, Var<T> part);
  // `value`, copied to the tape if it lies in the storage of a slot.
  Var<T> OutsideOfStorage(Var<T> value) const;
  void KeepRows(Var<T> from, absl::Span<const int32_t> rows, Slot* slot);
  void CompactSources(const DecoderState<T>& state,
                      absl::Span<const int32_t> rows);

  Arena& arena_;
  const Limits limits_;
  int64_t sources_;
  int64_t rows_per_source_;
  int64_t position_;
  absl::Span<int32_t> lengths_;
  absl::Span<Slot> slots_;
  KnownRows<T> known_rows_;
  RowCopies copies_;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODER_STATE_H_
