#include "pretrained/activation_names.h"

#include <vector>

#include "files/json_file.h"

namespace regard {

namespace {

// If several names mean the same activation, Regard writes the first name.
constexpr struct {
  absl::string_view name;
  FeedForwardConfig::Activation activation;
} kActivations[] = {
    {"gelu", FeedForwardConfig::GELU},
    {"relu", FeedForwardConfig::RELU},
    {"gelu_new", FeedForwardConfig::GELU_TANH},
    {"gelu_pytorch_tanh", FeedForwardConfig::GELU_TANH},
};

}  // namespace

FeedForwardConfig::Activation ReadActivation(
    const JsonObject& json, const std::string& key,
    FeedForwardConfig::Activation otherwise) {
  if (!json.Has(key)) return otherwise;
  std::vector<absl::string_view> names;
  for (const auto& known : kActivations) names.push_back(known.name);
  return kActivations[json.Choice(key, names, 0)].activation;
}

absl::string_view ActivationName(FeedForwardConfig::Activation activation) {
  for (const auto& known : kActivations) {
    if (known.activation == activation) return known.name;
  }
  return kActivations[0].name;
}

}  // namespace regard
