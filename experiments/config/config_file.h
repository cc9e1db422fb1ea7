// Reads a config file into memory, refusing what cannot be one.
#ifndef EXPERIMENTS_CONFIG_CONFIG_FILE_H_
#define EXPERIMENTS_CONFIG_CONFIG_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/config/config_text.h"

namespace regard {

// Larger files are refused before they are read.
inline constexpr size_t kMostConfigBytes = size_t{1} << 20;

struct ConfigFile {
  std::string text;
  // The same for two names of one file.
  std::pair<uint64_t, uint64_t> identity;
};

// Reads the regular file at `path` (as the user gave it). The error says why
// not, without the path: "is a directory".
absl::StatusOr<ConfigFile> ReadConfigFile(absl::string_view path);

// What keeps `text` from being a text config at all: nothing in it, a byte
// order mark, a NUL byte, invalid UTF-8, too many bytes.
std::optional<TextProblem> FindEncodingProblem(absl::string_view text);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_CONFIG_FILE_H_
