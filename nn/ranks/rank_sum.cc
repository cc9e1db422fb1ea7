#include "nn/ranks/rank_sum.h"

#include "autodiff/instantiate.h"
#include "nn/chunk_addition.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Of a message, 1 MiB: it stays in the cache until it is added.
constexpr int64_t kPieceChunks = 64;

template <typename T>
absl::Span<uint8_t> Bytes(absl::Span<T> values) {
  return absl::MakeSpan(reinterpret_cast<uint8_t*>(values.data()),
                        values.size() * sizeof(T));
}

// At most kPieceChunks of `chunks`, after the first `done`.
ChunkRange Piece(ChunkRange chunks, int64_t done) {
  const int64_t begin = std::min(chunks.end, chunks.begin + done);
  return {begin, std::min(chunks.end, begin + kPieceChunks)};
}

}  // namespace

template <typename T>
RankSum<T>::RankSum(const ParameterStore<T>& store, const SlabChunks& chunks,
                    WorkerPool& pool, Ranks& ranks)
    : store_(store),
      chunks_(chunks),
      pool_(pool),
      ranks_(ranks),
      held_({{0, chunks.size()}}),
      received_(static_cast<size_t>(kPieceChunks * SlabChunks::kElements)) {
  const int size = ranks.size();
  REGARD_CHECK(RanksFit(size, size)) << size << " ranks";
  for (size_t level = 0; (1 << level) < size; ++level) {
    const ChunkRange held = held_.back();
    const int64_t middle = held.begin + held.size() / 2;
    held_.push_back(IsLeft(level) ? ChunkRange{held.begin, middle}
                                  : ChunkRange{middle, held.end});
  }
}

template <typename T>
ChunkRange RankSum<T>::Given(size_t level) const {
  const ChunkRange held = held_[level];
  const ChunkRange kept = held_[level + 1];
  return IsLeft(level) ? ChunkRange{kept.end, held.end}
                       : ChunkRange{held.begin, kept.begin};
}

template <typename T>
absl::Span<T> RankSum<T>::Elements(ChunkRange chunks,
                                   GradientSlab<T>& slab) const {
  const int64_t begin = chunks.begin * SlabChunks::kElements;
  const int64_t end =
      std::min(chunks.end * SlabChunks::kElements, store_.slab_size());
  return slab.values().subspan(
      static_cast<size_t>(std::min(begin, end)),
      static_cast<size_t>(std::max(begin, end) - begin));
}

template <typename T>
void RankSum<T>::Add(GradientSlab<T>& slab) {
  marks_.resize(slab.marks().size());
  for (size_t level = 0; level + 1 < held_.size(); ++level) {
    const ChunkRange kept = held_[level + 1];
    const ChunkRange given = Given(level);
    ranks_.Exchange(Partner(level), slab.marks(), absl::MakeSpan(marks_));
    const int64_t most = std::max(kept.size(), given.size());
    for (int64_t done = 0; done < most; done += kPieceChunks) {
      const ChunkRange piece = Piece(kept, done);
      ranks_.Exchange(
          Partner(level), Bytes(Elements(Piece(given, done), slab)),
          Bytes(absl::MakeSpan(received_).first(Elements(piece, slab).size())));
      AddPiece(IsLeft(level), piece, slab);
    }
    slab.MarkTouched(marks_);
  }
}

// The sum is made in the place of the left child.
template <typename T>
void RankSum<T>::AddPiece(bool left, ChunkRange piece, GradientSlab<T>& slab) {
  pool_.Run(piece.size(), [&](int64_t i) {
    const int64_t chunk = piece.begin + i;
    const absl::Span<T> own = Elements({chunk, chunk + 1}, slab);
    T* const received = received_.data() + i * SlabChunks::kElements;
    if (left) {
      AddChunk<T>(store_, chunks_, chunk, slab, marks_, received, own.data());
    } else {
      AddChunk<T>(store_, chunks_, chunk, slab, slab.marks(), own.data(),
                  received);
      std::copy_n(received, own.size(), own.data());
    }
  });
}

REGARD_INSTANTIATE_CLASS(RankSum);

}  // namespace regard
