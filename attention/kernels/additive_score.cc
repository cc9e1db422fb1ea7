#include "attention/kernels/additive_score.h"

#include <algorithm>
#include <cstdint>

#include "Eigen/Core"
#include "autodiff/instantiate.h"
#include "autodiff/kernels/lanes.h"
#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"

namespace regard {

namespace {

// Number of keys that are scored together. They share each load of query and
// vector.
constexpr int kKeys = 4;

// The contributions of one packet of a query and a key to the gradients. d is
// the gradient of the score.
template <typename T>
struct PacketGradients {
  PacketGradients(const Packet<T>& q, const Packet<T>& k, const Packet<T>& v,
                  const Packet<T>& d) {
    const Packet<T> tanh = TanhPacket(packet::padd(q, k));
    const Packet<T> one = packet::pset1<Packet<T>>(T(1));
    vector = packet::pmul(d, tanh);
    sum = packet::pmul(packet::pmul(d, v),
                       packet::psub(one, packet::pmul(tanh, tanh)));
  }

  Packet<T> vector;
  Packet<T> sum;  // gradient of query + key
};

// Types that load and store packets of a row: whole packets, or the last
// elements of the row.
template <typename T>
struct WholePacket {
  Packet<T> Load(const T* x) const { return packet::ploadu<Packet<T>>(x); }
  void Store(T* x, const Packet<T>& p) const { packet::pstoreu(x, p); }
};
template <typename T>
struct PartOfPacket {
  int64_t count;
  Packet<T> Load(const T* x) const { return LoadPart(x, count); }
  void Store(T* x, const Packet<T>& p) const { StorePart(x, p, count); }
};

// Computes the scores of kCount keys, starting with key `first`. Structs are
// passed by value, because the compiler would reload the pointers of a struct
// passed by reference after each store.
template <int kCount, typename T>
void Score(AdditiveScoreOperands<T> row, int64_t first, T* scores) {
  constexpr int64_t kSize = kPacketSize<T>;
  LanePackets<T> sums[kCount];
  for (LanePackets<T>& sum : sums) sum = LanePackets<T>::Zero();
  const auto add = [&](int64_t lane, int64_t j, auto part) {
    const Packet<T> q = part.Load(row.query + j);
    const Packet<T> v = part.Load(row.vector + j);
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      const Packet<T> k = part.Load(row.keys + (first + i) * row.width + j);
      const Packet<T> tanh = TanhPacket(packet::padd(q, k));
      Packet<T>& sum = sums[i].packets[lane];
      sum = packet::padd(sum, packet::pmul(tanh, v));
    }
  };
  int64_t j = 0;
  for (; j + kLanes <= row.width; j += kLanes) {
#pragma GCC unroll 8
    for (int64_t lane = 0; lane < kLanePackets<T>; ++lane) {
      add(lane, j + lane * kSize, WholePacket<T>());
    }
  }
  for (int64_t lane = 0; j < row.width; ++lane, j += kSize) {
    add(lane, j, PartOfPacket<T>{std::min(kSize, row.width - j)});
  }
  for (int i = 0; i < kCount; ++i) scores[first + i] = sums[i].Sum();
}

// Adds the contributions of kCount keys, starting with key `first`, for the
// packet that begins at element j. The gradients of query and vector stay in
// registers.
template <int kCount, typename T, typename Part>
void AddShares(AdditiveScoreOperands<T> row, int64_t first, int64_t j,
               Part part, const T* d_scores, AdditiveScoreGradients<T> d) {
  const Packet<T> zero = packet::pset1<Packet<T>>(T(0));
  const Packet<T> q = part.Load(row.query + j);
  const Packet<T> v = part.Load(row.vector + j);
  Packet<T> d_q = d.query == nullptr ? zero : part.Load(d.query + j);
  Packet<T> d_v = d.vector == nullptr ? zero : part.Load(d.vector + j);
#pragma GCC unroll 4
  for (int64_t i = first; i < first + kCount; ++i) {
    const int64_t at = i * row.width + j;
    const PacketGradients<T> shares(q, part.Load(row.keys + at), v,
                                    packet::pset1<Packet<T>>(d_scores[i]));
    d_q = packet::padd(d_q, shares.sum);
    d_v = packet::padd(d_v, shares.vector);
    if (d.keys == nullptr) continue;
    part.Store(d.keys + at, packet::padd(part.Load(d.keys + at), shares.sum));
  }
  if (d.query != nullptr) part.Store(d.query + j, d_q);
  if (d.vector != nullptr) part.Store(d.vector + j, d_v);
}

template <int kCount, typename T>
void AddShares(AdditiveScoreOperands<T> row, int64_t first, const T* d_scores,
               AdditiveScoreGradients<T> d) {
  constexpr int64_t kSize = kPacketSize<T>;
  int64_t j = 0;
  for (; j + kSize <= row.width; j += kSize) {
    AddShares<kCount>(row, first, j, WholePacket<T>(), d_scores, d);
  }
  if (j == row.width) return;
  AddShares<kCount>(row, first, j, PartOfPacket<T>{row.width - j}, d_scores, d);
}

template <typename T>
bool Overlap(const T* a, int64_t size_of_a, const T* b, int64_t size_of_b) {
  return a != nullptr && b != nullptr && a < b + size_of_b && b < a + size_of_a;
}

}  // namespace

template <typename T>
void AdditiveScore(const AdditiveScoreOperands<T>& row, T* scores) {
  int64_t i = 0;
  for (; i + kKeys <= row.n; i += kKeys) Score<kKeys>(row, i, scores);
  for (; i < row.n; ++i) Score<1>(row, i, scores);
}

template <typename T>
void AdditiveScoreBackward(const AdditiveScoreOperands<T>& row,
                           const T* d_scores,
                           const AdditiveScoreGradients<T>& d) {
  const int64_t size = row.n * row.width;
  if (Overlap(d.query, row.width, d.keys, size) ||
      Overlap(d.vector, row.width, d.keys, size) ||
      Overlap(d.query, row.width, d.vector, row.width)) {
    // Gradients in registers would miss additions to overlapping arrays, so
    // each array has its own pass.
    AdditiveScoreBackward(row, d_scores, {d.query, nullptr, nullptr});
    AdditiveScoreBackward(row, d_scores, {nullptr, d.keys, nullptr});
    AdditiveScoreBackward(row, d_scores, {nullptr, nullptr, d.vector});
    return;
  }
  int64_t i = 0;
  for (; i + kKeys <= row.n; i += kKeys) AddShares<kKeys>(row, i, d_scores, d);
  for (; i < row.n; ++i) AddShares<1>(row, i, d_scores, d);
}

REGARD_INSTANTIATE_FUNCTION(AdditiveScore);
REGARD_INSTANTIATE_FUNCTION(AdditiveScoreBackward);

}  // namespace regard
