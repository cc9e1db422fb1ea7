// Whether a config.json that was written says all of a model.
#ifndef PRETRAINED_SAME_TRANSFORMER_H_
#define PRETRAINED_SAME_TRANSFORMER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attention/transformer/transformer.pb.h"

namespace regard {

// Whether `read`, what a config.json says, computes what `config` does; else
// InvalidArgument, complete to print, says what would have to be changed to
// make `config` "a GPT-2". First values and what saves memory do not count.
absl::Status CheckSameTransformer(const TransformerConfig& read,
                                  const TransformerConfig& config,
                                  absl::string_view kind);

// Without rates of dropping, in training, that transformers does not have.
TransformerConfig WithoutRates(TransformerConfig config);

}  // namespace regard

#endif  // PRETRAINED_SAME_TRANSFORMER_H_
