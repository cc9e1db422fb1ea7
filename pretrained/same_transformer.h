// Checks that a config.json describes a model completely.
#ifndef PRETRAINED_SAME_TRANSFORMER_H_
#define PRETRAINED_SAME_TRANSFORMER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attention/transformer/transformer.pb.h"

namespace regard {

// Returns OK if `read`, the contents of a config.json, describes the same
// computation as `config`. Otherwise, returns InvalidArgument with a message
// for the user. The message lists the changes that would make `config` a model
// of `kind`, such as "GPT-2". Initial values and memory settings do not matter.
absl::Status CheckSameTransformer(const TransformerConfig& read,
                                  const TransformerConfig& config,
                                  absl::string_view kind);

// Returns `config` without the dropout rates that transformers lacks. These
// rates matter only in training.
TransformerConfig WithoutDropoutRates(TransformerConfig config);

}  // namespace regard

#endif  // PRETRAINED_SAME_TRANSFORMER_H_
