// The data of a work: step_data.py in C++, number for number.
#ifndef TOOLS_PEERS_STEP_DATA_H_
#define TOOLS_PEERS_STEP_DATA_H_

#include <cstdint>
#include <vector>

#include "tools/peers/work_options.h"

namespace regard {

// `count` floats in [-1/2, 1/2), on a grid of 2^-24.
std::vector<float> UniformData(uint64_t stream, int64_t count);

// Two sentences as ids, each ending in <eos>.
struct SentenceIds {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

// Sentences of full length unless ragged.
std::vector<SentenceIds> PairData(const WorkOptions& options);

// `count` ids of a text, 0 <= id < vocabulary.
std::vector<int32_t> TextData(int64_t count, int64_t vocabulary);

// Bytes of `batch` images, [channels, source_time, source_time] each.
std::vector<uint8_t> ImageData(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_STEP_DATA_H_
