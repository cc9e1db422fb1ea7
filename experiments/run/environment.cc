#include "experiments/run/environment.h"

#include <openssl/opensslv.h>

#include "Eigen/Core"
#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/run/json_text.h"
#include "google/protobuf/stubs/common.h"
#include "nlohmann/json.hpp"

namespace regard {
namespace {

// The levels of the x86-64 psABI, by the features that each adds.
absl::string_view InstructionSet() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && \
    defined(__AVX512DQ__) && defined(__AVX512VL__)
  return "x86-64-v4";
#elif defined(__AVX2__) && defined(__BMI2__) && defined(__F16C__) && \
    defined(__FMA__)
  return "x86-64-v3";
#elif defined(__SSE4_2__) && defined(__POPCNT__)
  return "x86-64-v2";
#elif defined(__x86_64__)
  return "x86-64";
#else
  return "other";
#endif
}

std::string JsonTexts(const std::map<std::string, std::string>& texts) {
  std::string json = "{";
  const char* separator = "\n    ";
  for (const auto& [name, text] : texts) {
    absl::StrAppend(&json, separator, JsonString(name), ": ", JsonString(text));
    separator = ",\n    ";
  }
  return absl::StrCat(json, texts.empty() ? "}" : "\n  }");
}

}  // namespace

Environment BuildEnvironment() {
  Environment environment;
#ifdef __clang__
  environment.compiler = __VERSION__;
#else
  environment.compiler = absl::StrCat("GCC ", __VERSION__);
#endif
  environment.instruction_set = std::string(InstructionSet());
#ifdef NDEBUG
  environment.mode = "opt";
#else
  environment.mode = "debug";
#endif
  environment.libraries = {
      {"abseil", absl::StrCat(ABSL_LTS_RELEASE_VERSION, ".",
                              ABSL_LTS_RELEASE_PATCH_LEVEL)},
      {"eigen", absl::StrCat(EIGEN_WORLD_VERSION, ".", EIGEN_MAJOR_VERSION, ".",
                             EIGEN_MINOR_VERSION)},
      {"nlohmann-json", absl::StrCat(NLOHMANN_JSON_VERSION_MAJOR, ".",
                                     NLOHMANN_JSON_VERSION_MINOR, ".",
                                     NLOHMANN_JSON_VERSION_PATCH)},
      {"openssl", OPENSSL_VERSION_STR},
      {"protobuf",
       google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)}};
  return environment;
}

std::string EnvironmentJson(const Environment& environment) {
  return absl::StrCat(
      "{\n  \"compiler\": ", JsonString(environment.compiler),
      ",\n  \"instruction_set\": ", JsonString(environment.instruction_set),
      ",\n  \"mode\": ", JsonString(environment.mode),
      ",\n  \"libraries\": ", JsonTexts(environment.libraries),
      ",\n  \"data\": ", JsonTexts(environment.data), "\n}\n");
}

std::optional<std::map<std::string, std::string>> ReadDataDigests(
    absl::string_view json) {
  const auto environment = nlohmann::json::parse(
      json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!environment.is_object()) return std::nullopt;
  const auto data = environment.find("data");
  if (data == environment.end() || !data->is_object()) return std::nullopt;
  std::map<std::string, std::string> digests;
  for (const auto& [name, digest] : data->items()) {
    if (!digest.is_string()) return std::nullopt;
    digests[name] = digest.get<std::string>();
  }
  return digests;
}

}  // namespace regard
