// Reads a text config into its message in one pass: finds every problem with
// its exact place, continues after each, and notes where each field is set.
#ifndef EXPERIMENTS_CONFIG_TEXT_READER_H_
#define EXPERIMENTS_CONFIG_TEXT_READER_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/config/config_text.h"
#include "experiments/config/origins.h"
#include "google/protobuf/message.h"

namespace regard {

// Messages nested deeper are refused: the recursion of the reader is not
// bounded otherwise.
inline constexpr int kDeepestNesting = 64;

// Reads the fields of `text` over what `config` holds: scalars replace,
// messages combine field by field, repeated fields replace as a whole, and a
// member of a oneof clears the others. Notes in `origins` what the text sets,
// as part of the text that was added last. Returns the problems by place, at
// most kMostProblems; with any, `config` is unspecified.
std::vector<TextProblem> ReadText(absl::string_view text,
                                  google::protobuf::Message* config,
                                  ConfigOrigins* origins);

// Reads in the same way what follows byte `begin` of `text`: the value that
// `assignment` sets in `message`, which is at the assignment's parent.
std::vector<TextProblem> ReadValue(absl::string_view text, size_t begin,
                                   const FieldAssignment& assignment,
                                   google::protobuf::Message* message,
                                   ConfigOrigins* origins);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_TEXT_READER_H_
