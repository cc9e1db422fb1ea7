#include "experiments/run/environment.h"

#include <openssl/opensslv.h>

#include <algorithm>
#include <cstdlib>

#include "Eigen/Core"
#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/sha256.h"
#include "google/protobuf/stubs/common.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

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

}  // namespace

Provenance ReadProvenance(int argc, char** argv) {
  Provenance provenance;
  provenance.command_line.assign(argv + std::min(argc, 1), argv + argc);
  const char* const tree = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (tree != nullptr) provenance.tree = ReadGitTree(tree);
  return provenance;
}

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
  nlohmann::ordered_json json = {
      {"compiler", environment.compiler},
      {"instruction_set", environment.instruction_set},
      {"mode", environment.mode},
      {"libraries", environment.libraries},
      {"data", environment.data},
      {"files", environment.files}};
  const Provenance& provenance = environment.provenance;
  if (!provenance.command_line.empty()) {
    if (!provenance.tree.commit.empty()) {
      json["commit"] = provenance.tree.commit;
      json["changed"] = provenance.tree.changed;
    }
    json["command_line"] = provenance.command_line;
  }
  return absl::StrCat(
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), "\n");
}

absl::StatusOr<Environment> ReadRunDigests(const std::string& run_folder) {
  REGARD_ASSIGN_OR_RETURN(
      JsonFile file, JsonFile::Read(JoinPath(run_folder, "environment.json")));
  const JsonObject json = file.root();
  json.Require("data");
  Environment digests = {.data = json.Texts("data"),
                         .files = json.Texts("files")};
  REGARD_RETURN_IF_ERROR(file.status());
  return digests;
}

absl::Status CheckRunFile(const std::string& run_folder, absl::string_view name,
                          absl::string_view text) {
  REGARD_ASSIGN_OR_RETURN(const Environment run, ReadRunDigests(run_folder));
  const auto found = run.files.find(std::string(name));
  const std::string digest = Sha256Hex(text);
  if (found == run.files.end() || found->second == digest) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("error: ", JoinPath(run_folder, name),
                   ": has changed since the run wrote it: its SHA-256 is ",
                   digest, ", environment.json has ", found->second));
}

}  // namespace regard
