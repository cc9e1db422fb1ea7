// The data of a workload, with the same numbers as step_data.py.
#ifndef TOOLS_PEERS_STEP_DATA_H_
#define TOOLS_PEERS_STEP_DATA_H_

#include <cstdint>
#include <vector>

#include "tools/peers/work_options.h"

namespace regard {

// Returns `count` floats in [-1/2, 1/2), on a grid of 2^-24.
std::vector<float> UniformData(uint64_t stream, int64_t count);

// Two sentences as ids. Each ends with <eos>.
struct SentenceIds {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

// Returns sentences of full length, unless the workload is ragged.
std::vector<SentenceIds> PairData(const WorkOptions& options);

// Returns `count` ids of a text, 0 <= id < vocabulary.
std::vector<int32_t> TextData(int64_t count, int64_t vocabulary);

// Returns the bytes of `batch` images, each [channels, source_time,
// source_time].
std::vector<uint8_t> ImageData(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_STEP_DATA_H_
