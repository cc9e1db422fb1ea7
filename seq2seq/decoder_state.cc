#include "seq2seq/decoder_state.h"

#include <algorithm>
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
void DecoderState<T>::Set(int slot, Kind kind, int64_t leading, Var<T> value) {
  if (!value.has_value()) return;
  REGARD_CHECK_EQ(value.dim(0), leading)
      << "slot " << slot << ": " << value.shape() << " for " << sources_
      << " sources of " << rows_per_source_ << " rows";
  slots_[static_cast<size_t>(slot)] = {kind, value};
}

template <typename T>
void DecoderState<T>::SetSource(int slot, Var<T> value) {
  Set(slot, Kind::kSource, sources(), value);
}

template <typename T>
void DecoderState<T>::SetRow(int slot, Var<T> value) {
  Set(slot, Kind::kRow, rows(), value);
}

template <typename T>
Var<T> DecoderState<T>::Append(int slot, Var<T> part) {
  const Var<T> before = (*this)[slot];
  Var<T> whole = part;
  if (before.has_value()) {
    const Var<T> parts[] = {before, part};
    whole = Concat<T>(parts, /*axis=*/-2);
  }
  Set(slot, Kind::kGrowing, rows(), whole);
  return whole;
}

template <typename T>
DecoderCache<T>::DecoderCache(const DecoderState<T>& state, int64_t max_rows,
                              int64_t vocabulary, Arena& arena)
    : arena_(arena),
      max_rows_(max_rows),
      sources_(state.sources()),
      rows_per_source_(state.rows_per_source()),
      position_(state.position()),
      known_rows_(vocabulary, arena) {
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
    if (from.kind != Kind::kSource) {
      Keep(from, all, &slot);
      continue;
    }
    slot.kind = Kind::kSource;
    slot.shape = from.value.shape();
    // Slots that share their values, as keys and values may, still do so.
    for (size_t j = 0; j < i && slot.data == nullptr; ++j) {
      const auto& other = state.slots()[j];
      if (other.kind == Kind::kSource && other.value.has_value() &&
          other.value.data() == from.value.data()) {
        slot.data = slots_[j].data;
      }
    }
    if (slot.data != nullptr) continue;
    slot.data = arena.New<T>(from.value.size());
    std::copy_n(from.value.data(), from.value.size(), slot.data);
  }
}

template <typename T>
void DecoderCache<T>::Keep(const typename DecoderState<T>::Slot& from,
                           absl::Span<const int32_t> rows, Slot* slot) {
  using Kind = typename DecoderState<T>::Kind;
  const auto count = static_cast<int64_t>(rows.size());
  REGARD_CHECK(count <= max_rows_) << count << " rows, at most " << max_rows_;
  const Var<T> value = from.value;
  const int64_t size = value.size() / std::max<int64_t>(value.dim(0), 1);
  const T* data = value.data();
  if (data == slot->data) {
    // The step left it as it was.
    T* const copy = value.tape().arena().template New<T>(value.size());
    data = std::copy_n(data, value.size(), copy) - value.size();
  }
  const int64_t needed = max_rows_ * size;
  if (needed > slot->capacity) {
    slot->capacity = from.kind == Kind::kGrowing
                         ? std::max(needed, 2 * slot->capacity)
                         : needed;
    slot->data = arena_.New<T>(slot->capacity);
  }
  slot->kind = from.kind;
  slot->shape = value.shape().With(0, count);
  T* to = slot->data;
  for (const int32_t row : rows) {
    to = std::copy_n(data + row * size, size, to);
  }
}

template <typename T>
void DecoderCache<T>::CompactSources(const DecoderState<T>& state,
                                     absl::Span<const int32_t> rows) {
  using Kind = typename DecoderState<T>::Kind;
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
void DecoderCache<T>::Gather(const DecoderState<T>& state,
                             absl::Span<const int32_t> rows,
                             int64_t rows_per_source) {
  using Kind = typename DecoderState<T>::Kind;
  const auto count = static_cast<int64_t>(rows.size());
  REGARD_CHECK_EQ(count % rows_per_source, 0)
      << rows_per_source << " rows a source";
  sources_ = count / rows_per_source;
  rows_per_source_ = rows_per_source;
  position_ = state.position();
  for (size_t i = 0; i < slots_.size(); ++i) {
    const auto& from = state.slots()[i];
    if (!from.value.has_value()) continue;
    if (from.kind == Kind::kSource) {
      REGARD_CHECK(from.value.data() == slots_[i].data)
          << "slot " << i << " of the sources changed after Begin()";
    } else {
      Keep(from, rows, &slots_[i]);
    }
  }
  CompactSources(state, rows);
}

template <typename T>
DecoderState<T> DecoderCache<T>::View(Tape<T>& tape) {
  DecoderState<T> state(tape, sources_, lengths_,
                        static_cast<int>(slots_.size()));
  state.rows_per_source_ = rows_per_source_;
  state.position_ = position_;
  state.known_rows_ = &known_rows_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.data == nullptr) continue;
    state.slots_[i] = {slot.kind,
                       tape.Leaf(slot.data, /*grad=*/nullptr, slot.shape)};
  }
  return state;
}

template class DecoderState<float>;
template class DecoderState<double>;
template class DecoderCache<float>;
template class DecoderCache<double>;

}  // namespace regard
