// Reads a text config, or one `path=value` argument, into a message in one
// pass: finds every problem with its exact place, continues after each, and
// notes where each field is set.
#ifndef EXPERIMENTS_CONFIG_TEXT_READER_H_
#define EXPERIMENTS_CONFIG_TEXT_READER_H_

#include "absl/status/status.h"
#include "experiments/config/config_text.h"
#include "experiments/config/origins.h"
#include "google/protobuf/message.h"

namespace regard {

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

#endif  // EXPERIMENTS_CONFIG_TEXT_READER_H_
