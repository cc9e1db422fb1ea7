// The data of a workload. step_data.py generates the same numbers.
#ifndef TOOLS_PEERS_STEP_DATA_H_
#define TOOLS_PEERS_STEP_DATA_H_

#include <cstdint>
#include <vector>

#include "tools/peers/work_options.h"

namespace regard {

// Returns `count` floats in [-1/2, 1/2) that are multiples of 2^-24.
std::vector<float> UniformData(uint64_t stream, int64_t count);

// Two sentences as ids. Each ends with <eos>.
struct SentencePairIds {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

// Returns sentences of full length, or of different lengths if the workload is
// ragged.
std::vector<SentencePairIds> PairData(const WorkOptions& options);

// Returns a text of `count` ids with 0 <= id < vocabulary.
std::vector<int32_t> TextData(int64_t count, int64_t vocabulary);

// Returns `batch` images of bytes, each [channels, source_time, source_time].
std::vector<uint8_t> ImageData(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_STEP_DATA_H_
