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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "experiments/config/origins.h"
#include "files/config_text.h"
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

// Messages nested deeper are refused: the recursion of the reader is not
// bounded otherwise.
inline constexpr int kDeepestNesting = 64;

// Adds `text` to `origins` and reads it over what `config` holds: scalars
// replace, messages combine field by field, repeated fields replace as a whole,
// and a member of a oneof clears the others. Notes in `origins` what it sets.
//
// An override sets one field. Its path leads through messages, which come into
// being as needed, and elements that exist; a list of at most one element needs
// no index:
//
//   model.layers[1].heads=8        layers={heads: 4}        sizes=[8, 16]
//   model.outside.[lab.my_score].width=8                    data.path=fra.txt
//
// The value is written as in a file; a string may go without its quotes.
//
// The error is InvalidArgument, complete to print: the first kMostProblems
// problems by place. `config` is then unspecified.
absl::Status ReadText(ConfigText text, google::protobuf::Message* config,
                      ConfigOrigins* origins);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_READER_H_
