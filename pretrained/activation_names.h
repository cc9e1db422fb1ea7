// The names of activations in Hugging Face configs.
#ifndef PRETRAINED_ACTIVATION_NAMES_H_
#define PRETRAINED_ACTIVATION_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "attention/transformer/transformer.pb.h"

namespace regard {

class JsonObject;

// Returns the activation that the field `key` names, or `otherwise` if the
// field is absent. Reports a problem of the file if Regard does not support the
// activation.
FeedForwardConfig::Activation ReadActivation(
    const JsonObject& json, const std::string& key,
    FeedForwardConfig::Activation otherwise);

// Returns the name of an activation. For SWIGLU, which has no name, returns
// "gelu". CheckSameTransformer() then rejects the config.
absl::string_view ActivationName(FeedForwardConfig::Activation activation);

}  // namespace regard

#endif  // PRETRAINED_ACTIVATION_NAMES_H_
