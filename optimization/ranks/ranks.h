// Processes, called ranks, that train one model together. Each rank computes
// some of the shards of every batch, and all ranks have the same weights.
//
// The number of ranks R is a power of two. The tree of shards
// (optimization/shard_tree.h) has a level with R nodes, and each rank computes
// one of them. Results are therefore bit-identical to one process. Ranks that
// communicate must call the same functions in the same order. A broken
// connection ends the process: no call returns an error.
#ifndef OPTIMIZATION_RANKS_RANKS_H_
#define OPTIMIZATION_RANKS_RANKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// Not thread-safe: one thread calls at a time.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;  // 0 <= rank() < size()
  virtual int size() const = 0;

  // Sends `sent` to rank `partner`, and fills `received` with the bytes that
  // the partner sends. The partner is another rank, and must call this with the
  // number of this rank. The lengths must agree, and may be 0.
  virtual void Exchange(int partner, absl::Span<const uint8_t> sent,
                        absl::Span<uint8_t> received) = 0;
};

// Whether `size` ranks can share `num_shards` shards.
inline bool RanksFit(int size, int num_shards) {
  return size >= 1 && (size & (size - 1)) == 0 && size <= num_shards;
}

// Gathers rows from all ranks. `rows` is [num_shards, width]. A rank must have
// filled the rows of its own shards. Fills the other rows. Allocates nothing.
void GatherShards(Ranks& ranks, int num_shards, absl::Span<uint8_t> rows);
template <typename T>
void GatherShards(Ranks& ranks, int num_shards, absl::Span<T> rows) {
  GatherShards(ranks, num_shards,
               absl::MakeSpan(reinterpret_cast<uint8_t*>(rows.data()),
                              rows.size() * sizeof(T)));
}

// Returns the values of all ranks, in the order of ranks.
template <typename T>
std::vector<T> GatherValues(Ranks& ranks, T value) {
  std::vector<T> values(static_cast<size_t>(ranks.size()));
  values[ranks.rank()] = value;
  GatherShards(ranks, ranks.size(), absl::MakeSpan(values));
  return values;
}
std::vector<std::string> GatherTexts(Ranks& ranks, absl::string_view text);

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_RANKS_H_
