// What Hugging Face's files call the parameters of BERT.
#ifndef PRETRAINED_BERT_NAMES_H_
#define PRETRAINED_BERT_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// The name of a parameter of Bert ("layers.3.attention_norm.bias") in a file
// ("encoder.layer.3.attention.output.LayerNorm.bias").
std::string HuggingFaceBertName(absl::string_view name);

// A name of a file as HuggingFaceBertName() gives it: without the prefix
// "bert." of models with a head, and of older files with "weight" and "bias"
// for "gamma" and "beta". Empty for tensors that are no parameters of Bert and
// of which nothing is lost: position ids, and the heads of tasks.
std::string CanonicalBertName(absl::string_view name);

}  // namespace regard

#endif  // PRETRAINED_BERT_NAMES_H_
