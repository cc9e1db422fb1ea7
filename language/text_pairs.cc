#include "language/text_pairs.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Segments begin .. end - 1.
struct Range {
  size_t begin;
  size_t end;

  size_t size() const { return end - begin; }
};

class PairMaker {
 public:
  PairMaker(absl::Span<const int64_t> lines,
            absl::Span<const int64_t> documents, int64_t tokens, uint64_t seed)
      : tokens_(tokens), random_(seed, "next_sentence") {
    REGARD_CHECK(tokens >= 2) << tokens << " tokens of a pair";
    const int64_t longest = tokens / 2;
    for (size_t d = 1; d < documents.size(); ++d) {
      const size_t first = segments_.size();
      for (int64_t i = documents[d - 1]; i < documents[d]; ++i) {
        for (int64_t begin = lines[i]; begin < lines[i + 1]; begin += longest) {
          segments_.push_back({begin, std::min(begin + longest, lines[i + 1])});
        }
      }
      documents_.push_back({first, segments_.size()});
    }
  }

  std::vector<SegmentPair> Make() {
    std::vector<SegmentPair> pairs;
    for (size_t document = 0; document < documents_.size(); ++document) {
      const size_t end = documents_[document].end;
      for (size_t begin = documents_[document].begin; begin < end;) {
        Range chunk = {begin, begin};
        int64_t length = 0;
        while (chunk.end < end && length < tokens_) {
          length += segments_[chunk.end++].size();
        }
        begin += AddPair(document, chunk, &pairs);
      }
    }
    return pairs;
  }

 private:
  uint64_t UniformInt(size_t bound) {
    return random_.UniformIntAt(draw_++, bound);
  }
  bool Coin() { return UniformInt(2) == 0; }

  TokenRange Join(Range range) const {
    return {segments_[range.begin].begin, segments_[range.end - 1].end};
  }

  // Adds the pair of a chunk, if possible. Returns the number of segments of
  // the chunk that the pair uses.
  size_t AddPair(size_t document, Range chunk,
                 std::vector<SegmentPair>* pairs) {
    const bool has_rest = chunk.size() > 1;
    const size_t cut =
        chunk.begin + 1 + (has_rest ? UniformInt(chunk.size() - 1) : 0);
    SegmentPair pair = {Join({chunk.begin, cut}), {}, false};
    std::optional<TokenRange> other;
    if (!has_rest || Coin()) {
      other = Other(document, chunk, tokens_ - pair.first.size());
    }
    if (!has_rest && !other.has_value()) return 1;
    pair.apart = other.has_value();
    pair.second = pair.apart ? *other : Join({cut, chunk.end});
    Truncate(&pair);
    pairs->push_back(pair);
    return (pair.apart ? cut : chunk.end) - chunk.begin;
  }

  // Returns successive lines outside the chunk. They are in another document
  // unless the text has only one document. They begin at a random line and have
  // at least `length` tokens, unless the document ends earlier. `nullopt` if
  // there are no lines outside the chunk.
  std::optional<TokenRange> Other(size_t document, Range chunk,
                                  int64_t length) {
    Range from = documents_[document];
    size_t start;
    if (documents_.size() > 1) {
      size_t other = UniformInt(documents_.size() - 1);
      if (other >= document) ++other;
      from = documents_[other];
      start = from.begin + UniformInt(from.size());
    } else {
      if (chunk.size() == from.size()) return std::nullopt;
      start = from.begin + UniformInt(from.size() - chunk.size());
      if (start < chunk.begin) {
        from.end = chunk.begin;
      } else {
        start += chunk.size();
      }
    }
    size_t end = start;
    int64_t sum = 0;
    do sum += segments_[end++].size();
    while (end < from.end && sum < length);
    return Join({start, end});
  }

  void Truncate(SegmentPair* pair) {
    while (pair->first.size() + pair->second.size() > tokens_) {
      TokenRange& longer =
          pair->first.size() > pair->second.size() ? pair->first : pair->second;
      if (Coin()) {
        ++longer.begin;
      } else {
        --longer.end;
      }
    }
  }

  const int64_t tokens_;
  const RandomStream random_;
  uint64_t draw_ = 0;
  std::vector<TokenRange> segments_;
  std::vector<Range> documents_;
};

}  // namespace

std::vector<SegmentPair> MakeTextPairs(absl::Span<const int64_t> lines,
                                       absl::Span<const int64_t> documents,
                                       int64_t tokens, uint64_t seed) {
  return PairMaker(lines, documents, tokens, seed).Make();
}

}  // namespace regard
