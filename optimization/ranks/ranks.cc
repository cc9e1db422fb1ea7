#include "optimization/ranks/ranks.h"

#include <algorithm>
#include <cstddef>

#include "optimization/shard_tree.h"

namespace regard {

// Recursive doubling: on each level, a rank and its neighbour exchange their
// rows, which are the two halves of a node.
void GatherShards(Ranks& ranks, int num_shards, absl::Span<uint8_t> rows) {
  const size_t width = rows.size() / static_cast<size_t>(num_shards);
  const auto rows_of = [&](int part, int parts) {
    const IndexRange<int> shards = ShardsOf(part, parts, num_shards);
    return rows.subspan(static_cast<size_t>(shards.begin) * width,
                        static_cast<size_t>(shards.size()) * width);
  };
  for (int group = 1; group < ranks.size(); group *= 2) {
    const int parts = ranks.size() / group;
    const int part = ranks.rank() / group;
    ranks.Exchange(ranks.rank() ^ group, rows_of(part, parts),
                   rows_of(part ^ 1, parts));
  }
}

std::vector<std::string> GatherTexts(Ranks& ranks, absl::string_view text) {
  const std::vector<uint64_t> sizes =
      GatherValues<uint64_t>(ranks, text.size());
  const size_t width = *std::max_element(sizes.begin(), sizes.end());
  std::vector<uint8_t> rows(sizes.size() * width);
  std::copy(text.begin(), text.end(),
            rows.begin() + static_cast<ptrdiff_t>(
                               static_cast<size_t>(ranks.rank()) * width));
  GatherShards(ranks, ranks.size(), absl::MakeSpan(rows));
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto begin = rows.begin() + static_cast<ptrdiff_t>(rank * width);
    texts.emplace_back(begin, begin + static_cast<ptrdiff_t>(sizes[rank]));
  }
  return texts;
}

}  // namespace regard
