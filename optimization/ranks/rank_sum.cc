#include "optimization/ranks/rank_sum.h"

#include <algorithm>

#include "autodiff/instantiate.h"
#include "optimization/chunk_addition.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The number of chunks in a message. The size of a message is 1 MiB, so it
// stays in the cache.
constexpr int64_t kPieceChunks = 64;

// Returns at most kPieceChunks of `chunks`, after the first `done`.
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
ChunkRange RankSum<T>::PartnerChunks(size_t level) const {
  const ChunkRange held = held_[level];
  const ChunkRange kept = held_[level + 1];
  return IsLeft(level) ? ChunkRange{kept.end, held.end}
                       : ChunkRange{held.begin, kept.begin};
}

// Recursive doubling in one direction: in each pair of partners, only the rank
// with the larger number sends.
template <typename T>
void RankSum<T>::GatherToRankZero(absl::Span<T> slab) {
  for (size_t level = held_.size() - 1; level-- > 0;) {
    if (!IsLeft(level)) {
      ranks_.Exchange(Partner(level),
                      Bytes(SlabChunks::PartOf(slab, held_[level + 1])), {});
      return;
    }
    ranks_.Exchange(Partner(level), {},
                    Bytes(SlabChunks::PartOf(slab, PartnerChunks(level))));
  }
}

template <typename T>
void RankSum<T>::ReduceScatter(GradientSlab<T>& slab) {
  marks_.resize(slab.marks().size());
  for (size_t level = 0; level + 1 < held_.size(); ++level) {
    const ChunkRange kept = held_[level + 1];
    const ChunkRange given = PartnerChunks(level);
    ranks_.Exchange(Partner(level), slab.marks(), absl::MakeSpan(marks_));
    const int64_t most = std::max(kept.size(), given.size());
    for (int64_t done = 0; done < most; done += kPieceChunks) {
      const ChunkRange piece = Piece(kept, done);
      const absl::Span<T> given_piece =
          SlabChunks::PartOf(slab.values(), Piece(given, done));
      const size_t wanted = SlabChunks::PartOf(slab.values(), piece).size();
      ranks_.Exchange(Partner(level), Bytes(given_piece),
                      Bytes(absl::MakeSpan(received_).first(wanted)));
      AddReceivedPiece(IsLeft(level), piece, slab);
    }
    slab.MarkTouched(marks_);
  }
}

// AddChunk() writes the sum to the left child. If the left child was received,
// the sum is then copied to the slab.
template <typename T>
void RankSum<T>::AddReceivedPiece(bool left, ChunkRange piece,
                                  GradientSlab<T>& slab) {
  pool_.Run(piece.size(), [&](int64_t i) {
    const int64_t chunk = piece.begin + i;
    const absl::Span<T> own =
        SlabChunks::PartOf(slab.values(), {chunk, chunk + 1});
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
