#include "seq2seq/padded_ids.h"

#include <algorithm>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

absl::Span<int32_t> Filled(int64_t count, int32_t value, Arena& arena) {
  auto* const ids = arena.New<int32_t>(count);
  std::fill_n(ids, count, value);
  return {ids, static_cast<size_t>(count)};
}

}  // namespace

void PaddedIds::Append(int64_t row, absl::Span<const int32_t> more) {
  int32_t& length = lengths[static_cast<size_t>(row)];
  const auto count = static_cast<int32_t>(more.size());
  REGARD_CHECK(length + count <= time) << length + count << " of " << time;
  std::copy_n(more.data(), count, ids.data() + row * time + length);
  length += count;
}

PaddedIds EmptyRows(int64_t rows, int64_t time, int32_t pad, Arena& arena) {
  return {rows, time, Filled(rows * time, pad, arena), Filled(rows, 0, arena)};
}

PaddedIds PadSequences(int64_t rows, int32_t pad, Arena& arena,
                       SequenceOfRow sequence) {
  size_t time = 0;
  for (int64_t row = 0; row < rows; ++row) {
    time = std::max(time, sequence(row).size());
  }
  PaddedIds padded = EmptyRows(rows, static_cast<int64_t>(time), pad, arena);
  for (int64_t row = 0; row < rows; ++row) padded.Append(row, sequence(row));
  return padded;
}

DecoderBatch TeacherForcingBatch(int64_t rows, int32_t begin, int32_t pad,
                                 Arena& arena, SequenceOfRow target) {
  const PaddedIds targets = PadSequences(rows, pad, arena, target);
  DecoderBatch batch = {EmptyRows(rows, targets.time, pad, arena), targets.ids};
  for (int64_t row = 0; row < rows; ++row) {
    const absl::Span<const int32_t> ids = target(row);
    batch.input.Append(row, {begin});
    batch.input.Append(row, ids.first(ids.size() - 1));
  }
  return batch;
}

}  // namespace regard
