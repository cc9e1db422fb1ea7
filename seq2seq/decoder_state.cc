#include "seq2seq/decoder_state.h"

#include <algorithm>
#include <functional>
#include <new>
#include <numeric>

#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
DecoderState<T>::DecoderState(Tape<T>& tape, int64_t sources,
                              absl::Span<const int32_t> lengths, int num_slots)
    : sources_(sources),
      slots_(tape.arena().template New<Slot>(num_slots),
             static_cast<size_t>(num_slots)) {
  std::fill(slots_.begin(), slots_.end(), Slot());
  if (lengths.empty()) return;
  const auto count = static_cast<int64_t>(lengths.size());
  REGARD_CHECK_EQ(count, sources) << "lengths of a batch of sources";
  int32_t* copy = tape.arena().template New<int32_t>(count);
  std::copy(lengths.begin(), lengths.end(), copy);
  lengths_ = {copy, lengths.size()};
}

template <typename T>
void DecoderState<T>::Set(int slot, Slot value, int64_t leading) {
  if (!value.value.has_value()) return;
  REGARD_CHECK_EQ(value.value.dim(0), leading)
      << "slot " << slot << ": " << value.value.shape() << " for " << sources_
      << " sources of " << rows_per_source_ << " rows";
  slots_[static_cast<size_t>(slot)] = value;
}

template <typename T>
void DecoderState<T>::SetSourceValue(int slot, Var<T> value) {
  Set(slot, {Kind::kSource, value}, sources());
}

template <typename T>
void DecoderState<T>::SetRowValue(int slot, Var<T> value) {
  Set(slot, {Kind::kRow, value}, rows());
}

template <typename T>
Var<T> DecoderState<T>::RowValue(int slot) const {
  const Var<T> value = (*this)[slot];
  REGARD_CHECK(value.has_value() || position_ == 0)
      << "slot " << slot << " was not kept after " << position_ << " positions";
  return value;
}

template <typename T>
Var<T> DecoderState<T>::Append(int slot, Var<T> part) {
  const Slot& before = slots_[static_cast<size_t>(slot)];
  const int64_t positions = before.positions;
  REGARD_CHECK(positions >= position_)
      << "slot " << slot << " holds " << positions << " of " << position_
      << " earlier positions";
  Var<T> whole = part;
  if (store_ != nullptr) {
    REGARD_CHECK(!part.needs_grad()) << "no gradient passes through a cache";
    whole = store_->Append(slot, positions, part);
  } else if (before.value.has_value()) {
    const Var<T> parts[] = {before.value, part};
    whole = Concat<T>(parts, /*axis=*/-2);
  }
  Set(slot, {Kind::kGrowing, whole, positions + part.dim(-2)}, rows());
  return whole;
}

template <typename T>
void DecoderState<T>::KeepFirstSources(int64_t count) {
  REGARD_CHECK(rows_per_source_ == 1 && count >= 0 && count <= sources_)
      << count << " of " << sources_ << " sources of " << rows_per_source_
      << " rows";
  sources_ = count;
  if (!lengths_.empty()) {
    lengths_ = lengths_.subspan(0, static_cast<size_t>(count));
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.value.has_value()) continue;
    REGARD_CHECK(slot.kind != Kind::kGrowing) << "slot " << i << " grows";
    slot.value = Slice(slot.value, /*axis=*/0, 0, count);
  }
}

template <typename T>
CachedRows<T>* DecoderState<T>::known_rows() const {
  return store_ == nullptr ? nullptr : &store_->known_rows_;
}

template <typename T>
DecoderStateStore<T>::DecoderStateStore(const DecoderState<T>& state,
                                        const Limits& limits, Arena& arena)
    : arena_(arena),
      limits_(limits),
      sources_(state.sources()),
      rows_per_source_(state.rows_per_source()),
      position_(state.position()),
      known_rows_(limits.vocabulary, arena),
      copies_(limits.rows, arena) {
  using Kind = typename DecoderState<T>::Kind;
  const absl::Span<const int32_t> lengths = state.lengths();
  lengths_ = {arena.New<int32_t>(static_cast<int64_t>(lengths.size())),
              lengths.size()};
  std::copy(lengths.begin(), lengths.end(), lengths_.begin());
  const auto num_slots = state.slots().size();
  slots_ = {arena.New<Slot>(static_cast<int64_t>(num_slots)), num_slots};
  std::fill(slots_.begin(), slots_.end(), Slot());
  const absl::Span<int32_t> all(arena.New<int32_t>(state.rows()),
                                static_cast<size_t>(state.rows()));
  std::iota(all.begin(), all.end(), 0);
  for (size_t i = 0; i < num_slots; ++i) {
    const auto& from = state.slots()[i];
    Slot& slot = slots_[i];
    if (!from.value.has_value()) continue;
    slot.kind = from.kind;
    if (from.kind == Kind::kRow) {
      CopyRows(from.value, all, &slot);
      continue;
    }
    if (from.kind == Kind::kGrowing) {
      Append(static_cast<int>(i), /*positions=*/0, from.value);
      slot.positions = from.positions;
      continue;
    }
    slot.shape = from.value.shape();
    // Slots that share one array in `state`, such as keys and values, also
    // share one array in the cache.
    for (size_t j = 0; j < i && slot.data == nullptr; ++j) {
      const auto& other = state.slots()[j];
      if (other.kind == Kind::kSource && other.value.has_value() &&
          other.value.data() == from.value.data()) {
        slot.data = slots_[j].data;
      }
    }
    if (slot.data != nullptr) continue;
    // Even a value without elements gets its own address, because equal
    // addresses mean shared values.
    slot.data = arena.New<T>(std::max<int64_t>(from.value.size(), 1));
    std::copy_n(from.value.data(), from.value.size(), slot.data);
  }
}

template <typename T>
Var<T> DecoderStateStore<T>::Append(int slot, int64_t positions, Var<T> part) {
  GrowingRows<T>*& growing = slots_[static_cast<size_t>(slot)].growing;
  if (growing == nullptr) {
    growing = new (arena_.New<GrowingRows<T>>(1))
        GrowingRows<T>(limits_.rows, limits_.positions, arena_);
  }
  growing->Append(positions, part);
  return growing->View(part.tape());
}

template <typename T>
void DecoderStateStore<T>::CopyRows(Var<T> from, absl::Span<const int32_t> rows,
                                    Slot* slot) {
  const int64_t count = from.dim(0);
  const int64_t size = from.size() / std::max<int64_t>(count, 1);
  const Var<T> added = slot->added;
  slot->added = {};
  REGARD_CHECK(!added.has_value() ||
               added.shape().With(0, count) == from.shape())
      << "rows " << added.shape() << " added to " << from.shape();
  if (slot->data == nullptr || slot->shape.Stride(0) != size) {
    slot->data = arena_.New<T>(limits_.rows * size);
  }
  slot->kind = DecoderState<T>::Kind::kRow;
  slot->shape = from.shape().With(0, static_cast<int64_t>(rows.size()));
  T* to = slot->data;
  for (const int32_t row : rows) {
    const T* const data = row < count ? from.data() + row * size
                                      : added.data() + (row - count) * size;
    to = std::copy_n(data, size, to);
  }
}

template <typename T>
Var<T> DecoderStateStore<T>::CopyToTapeIfStored(Var<T> value) const {
  const bool inside = std::ranges::any_of(slots_, [&](const Slot& slot) {
    return slot.data != nullptr && !std::less<>()(value.data(), slot.data) &&
           std::less<>()(value.data(), slot.data + slot.shape.size());
  });
  if (!inside) return value;
  const Var<T> copy = value.tape().New(value.shape(), /*needs_grad=*/false);
  std::copy_n(value.data(), value.size(), copy.data());
  return copy;
}

template <typename T>
void DecoderStateStore<T>::AddRows(const DecoderState<T>& state) {
  using Kind = typename DecoderState<T>::Kind;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const auto& from = state.slots()[i];
    Slot& slot = slots_[i];
    const bool grows = slot.growing != nullptr;
    if (!from.value.has_value()) {
      REGARD_CHECK(slot.data == nullptr && !grows)
          << "slot " << i << " of added rows";
    } else if (from.kind == Kind::kGrowing && grows) {
      slot.growing->AddRows(from.value);
    } else {
      REGARD_CHECK(from.kind == Kind::kRow && !grows)
          << "slot " << i << " of added rows";
      slot.added = from.value;
    }
  }
}

template <typename T>
void DecoderStateStore<T>::DropUnselectedSources(
    const DecoderState<T>& state, absl::Span<const int32_t> rows) {
  using Kind = typename DecoderState<T>::Kind;
  const bool holds_sources =
      !lengths_.empty() || std::ranges::any_of(slots_, [](const Slot& slot) {
        return slot.kind == Kind::kSource && slot.data != nullptr;
      });
  if (!holds_sources) return;
  const auto source_of = [&](int64_t source) -> int64_t {
    return rows[static_cast<size_t>(source * rows_per_source_)] /
           state.rows_per_source();
  };
  for (int64_t i = 0; i < sources_; ++i) {
    const int64_t from = source_of(i);
    REGARD_CHECK(from >= i && from < state.sources())
        << "source " << i << " cannot become source " << from << " of "
        << state.sources();
    if (from == i) continue;
    if (!lengths_.empty()) {
      lengths_[static_cast<size_t>(i)] = lengths_[static_cast<size_t>(from)];
    }
    for (size_t s = 0; s < slots_.size(); ++s) {
      const Slot& slot = slots_[s];
      if (slot.kind != Kind::kSource || slot.data == nullptr) continue;
      const auto shares = [&](const Slot& other) {
        return other.data == slot.data;
      };
      if (std::any_of(slots_.begin(), slots_.begin() + s, shares)) continue;
      const int64_t size = slot.shape.size() / slot.shape[0];
      std::copy_n(slot.data + from * size, size, slot.data + i * size);
    }
  }
  for (Slot& slot : slots_) {
    if (slot.kind == Kind::kSource && slot.data != nullptr) {
      slot.shape = slot.shape.With(0, sources_);
    }
  }
  if (!lengths_.empty()) {
    lengths_ = lengths_.first(static_cast<size_t>(sources_));
  }
}

template <typename T>
void DecoderStateStore<T>::Gather(const DecoderState<T>& state,
                                  absl::Span<const int32_t> rows,
                                  int64_t rows_per_source) {
  using Kind = typename DecoderState<T>::Kind;
  const auto count = static_cast<int64_t>(rows.size());
  const absl::Span<const RowCopyPlanner::Copy> copies =
      copies_.PlanCopies(rows);
  REGARD_CHECK_EQ(count % rows_per_source, 0)
      << rows_per_source << " rows a source";
  sources_ = count / rows_per_source;
  rows_per_source_ = rows_per_source;
  position_ = state.position();
  // A decoder may leave a slot as it was, or move its value to another slot.
  // All values are therefore read before any storage is written.
  const auto for_each = [&](auto fn) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      const auto& from = state.slots()[i];
      if (from.value.has_value()) fn(i, from, slots_[i]);
    }
  };
  for_each([&](size_t, const auto& from, Slot& slot) {
    if (from.kind == Kind::kRow) slot.next = CopyToTapeIfStored(from.value);
  });
  for_each([&](size_t, const auto& from, Slot& slot) {
    if (from.kind == Kind::kRow) CopyRows(slot.next, rows, &slot);
  });
  for_each([&](size_t i, const auto& from, Slot& slot) {
    if (from.kind == Kind::kGrowing) {
      slot.kind = from.kind;
      slot.positions = from.positions;
      slot.growing->Gather(copies, count);
    } else if (from.kind == Kind::kSource) {
      REGARD_CHECK(from.value.data() == slot.data)
          << "slot " << i << " of the sources changed after Begin()";
    }
  });
  DropUnselectedSources(state, rows);
}

template <typename T>
DecoderState<T> DecoderStateStore<T>::View(Tape<T>& tape) {
  DecoderState<T> state(tape, sources_, lengths_,
                        static_cast<int>(slots_.size()));
  state.rows_per_source_ = rows_per_source_;
  state.position_ = position_;
  state.store_ = this;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.growing != nullptr && slot.positions > 0) {
      state.slots_[i] = {slot.kind, slot.growing->View(tape), slot.positions};
    } else if (slot.data != nullptr) {
      state.slots_[i] = {slot.kind, tape.View(slot.data, slot.shape)};
    }
  }
  return state;
}

REGARD_INSTANTIATE_CLASS(DecoderState);
REGARD_INSTANTIATE_CLASS(DecoderStateStore);

}  // namespace regard
