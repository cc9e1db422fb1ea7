// Reads an experiment's config from text: files that extend one another by
// `base: "other.textproto"`, then `--set path=value` arguments.
//
// Any proto2 message will do. A string field `base` of the outermost message
// is what makes inheritance work; it is empty in the result. Maps and groups
// have no place in a config.
#ifndef EXPERIMENTS_CONFIG_READER_H_
#define EXPERIMENTS_CONFIG_READER_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "experiments/config/origins.h"
#include "google/protobuf/message.h"

namespace regard {

// More bases on top of one another are refused.
inline constexpr int kMostBases = 16;

struct ConfigSource {
  // The path as the user gave it (see ResolveUserPath), or what to call an
  // embedded text in messages.
  std::string name;
  // Present for a text that is embedded in the program; it cannot have a base.
  std::optional<std::string> embedded;
};

// Reads `source`, its bases, and `overrides` in their order into `config`, and
// returns where each value came from. Each file is checked alone, so a field
// set twice in it is an error, and goes over its base (see ReadText).
//
// The error is InvalidArgument. Its message is ready to print and shows all
// problems of the first file that has any, else those of all overrides;
// `config` is then unspecified.
absl::StatusOr<ConfigOrigins> ReadConfig(
    const ConfigSource& source, absl::Span<const std::string> overrides,
    google::protobuf::Message* config);

// Lays `overrides` over `config`, which was read from `origins`, and adds them
// there. Errors are as ReadConfig's.
absl::Status ApplyOverrides(absl::Span<const ConfigText> overrides,
                            google::protobuf::Message* config,
                            ConfigOrigins* origins);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_READER_H_
