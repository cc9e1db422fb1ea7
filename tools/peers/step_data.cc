#include "tools/peers/step_data.h"

#include <algorithm>

#include "data/text/vocabulary.h"

namespace regard {

namespace {

// Returns element i of a stream by SplitMix64 (Steele et al. 2014).
uint64_t SplitMix(uint64_t stream, int64_t i) {
  uint64_t z = ((stream << 32) + static_cast<uint64_t>(i) + 1) *
               UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

// Returns element i of a stream of words. Reserved ids do not occur.
int32_t Word(uint64_t stream, int64_t i, int64_t vocabulary) {
  const auto words = static_cast<uint64_t>(vocabulary - Vocabulary::kReserved);
  return static_cast<int32_t>(SplitMix(stream, i) % words) +
         Vocabulary::kReserved;
}

// Returns the number of ids of sentence b, at most `time`, including <eos>.
int64_t LengthOf(const WorkOptions& options, uint64_t stream, int64_t b,
                 int64_t time) {
  if (!options.ragged) return time;
  const auto below = [&](uint64_t part, uint64_t bound) {
    return static_cast<int64_t>(SplitMix(stream + part, b) % bound);
  };
  const int64_t length =
      4 + below(0, 10) + below(1, 10) + (below(3, 16) == 0 ? below(2, 19) : 0);
  return std::min(length, time);
}

}  // namespace

std::vector<float> UniformData(uint64_t stream, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(SplitMix(stream, i) >> 40) * 0x1p-24F -
                     0.5F);
  }
  return values;
}

std::vector<SentencePairIds> PairData(const WorkOptions& options) {
  std::vector<SentencePairIds> pairs(static_cast<size_t>(options.batch));
  for (int64_t b = 0; b < options.batch; ++b) {
    SentencePairIds& pair = pairs[static_cast<size_t>(b)];
    const int64_t source = LengthOf(options, 3, b, options.source_time);
    const int64_t target = LengthOf(options, 7, b, options.target_time);
    for (int64_t t = 0; t < source; ++t) {
      pair.source.push_back(
          Word(1, b * options.source_time + t, options.source_vocabulary));
    }
    for (int64_t t = 0; t < target; ++t) {
      pair.target.push_back(
          Word(2, b * options.target_time + t, options.target_vocabulary));
    }
    pair.source.back() = Vocabulary::kEnd;
    pair.target.back() = Vocabulary::kEnd;
  }
  return pairs;
}

std::vector<int32_t> TextData(int64_t count, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>(SplitMix(1, i) %
                                       static_cast<uint64_t>(vocabulary)));
  }
  return ids;
}

std::vector<uint8_t> ImageData(const WorkOptions& options) {
  std::vector<uint8_t> pixels;
  const int64_t side = options.source_time;
  for (const float number :
       UniformData(1, options.batch * options.channels * side * side)) {
    pixels.push_back(static_cast<uint8_t>((number + 0.5F) * 256));
  }
  return pixels;
}

}  // namespace regard
