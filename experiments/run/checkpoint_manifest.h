// What a checkpoint holds, as manifest.json says it: docs/checkpoints.md.
//
// A manifest is never parsed. The one that the files on the disk ask for is
// made again and compared byte by byte, so that no flipped bit can pass and no
// name in it is ever used.
#ifndef EXPERIMENTS_RUN_CHECKPOINT_MANIFEST_H_
#define EXPERIMENTS_RUN_CHECKPOINT_MANIFEST_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace regard {

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kOptimizerFile[] = "optimizer.safetensors";
inline constexpr char kStateFile[] = "state.textproto";
inline constexpr char kWeightsFile[] = "weights.safetensors";

struct FileFacts {
  int64_t bytes = 0;
  std::string sha256;
};

// The manifest's text; `files` by name.
std::string ManifestText(int64_t step,
                         const std::map<std::string, FileFacts>& files);

// Whether the folder holds the whole checkpoint of `step`, unharmed; otherwise
// a DataLoss, or the error of a file that cannot be read. Reads every byte.
absl::Status VerifyCheckpointFolder(const std::string& path, int64_t step);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_CHECKPOINT_MANIFEST_H_
