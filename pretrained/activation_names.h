// What configs of Hugging Face's call activations.
#ifndef PRETRAINED_ACTIVATION_NAMES_H_
#define PRETRAINED_ACTIVATION_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "attention/transformer/transformer.pb.h"

namespace regard {

class JsonObject;

// A problem of the file unless the field is one that is computed here.
FeedForwardConfig::Activation ReadActivation(
    const JsonObject& json, const std::string& key,
    FeedForwardConfig::Activation otherwise);

// "gelu" for SWIGLU, which has another network; CheckSameTransformer() finds
// that it is not.
absl::string_view ActivationName(FeedForwardConfig::Activation activation);

}  // namespace regard

#endif  // PRETRAINED_ACTIVATION_NAMES_H_
