#include "experiments/run/environment.h"

#include <gnu/libc-version.h>
#include <openssl/opensslv.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "Eigen/Core"
#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/sha256.h"
#include "google/protobuf/stubs/common.h"
#include "nlohmann/json.hpp"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kProcesses[] = "processes";
constexpr char kFromStep[] = "from_step";
constexpr char kToStep[] = "to_step";
constexpr char kComputeDigestKey[] = "compute_digest";
// Keys that describe the program, in the order of the file.
constexpr const char* kProgramKeys[] = {
    "version",   "commit",          "changed", kComputeDigestKey, "compiler",
    "c_library", "instruction_set", "mode",    "libraries"};

// Returns the level of the x86-64 psABI that the program was compiled for. Each
// level adds the features that its condition lists.
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

std::string Dump(const Json& json) {
  return absl::StrCat(json.dump(2, ' ', false, Json::error_handler_t::replace),
                      "\n");
}

void AddCommit(const Provenance& provenance, Json* json) {
  if (provenance.command_line.empty() || provenance.tree.commit.empty()) return;
  (*json)["commit"] = provenance.tree.commit;
  (*json)["changed"] = provenance.tree.changed;
}

// Returns an entry for the process that wrote the top-level keys of `json`. The
// entry begins at step 0.
Json FirstProcess(const Json& json) {
  Json process = {{kFromStep, 0}};
  for (const char* key : kProgramKeys) {
    if (json.contains(key)) process[key] = json[key];
  }
  return process;
}

Json ThisProcess(const Provenance& provenance) {
  Environment environment = BuildEnvironment();
  environment.provenance = provenance;
  return FirstProcess(Json::parse(EnvironmentJson(environment)));
}

std::string Shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Adds the values that differ. Skips keys that are missing in `before` or
// `now`, because earlier versions did not write all keys.
void AddDifferences(const Json& before, const Json& now,
                    std::vector<std::string>* differences) {
  for (const auto& [key, value] : now.items()) {
    if (key == kFromStep || !before.contains(key) || before[key] == value) {
      continue;
    }
    if (value.is_object()) {
      AddDifferences(before[key], value, differences);
    } else {
      differences->push_back(absl::StrCat(key, ": ", Shown(before[key]),
                                          " before, ", Shown(value), " now"));
    }
  }
}

absl::StatusOr<Json> ReadEnvironment(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(ReadFile(path)));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": error: must be a JSON object"));
}

absl::Status WriteEnvironment(const std::string& path, const Json& json) {
  return EnsureErrorPrefix(WriteFileAtomically(path, Dump(json)));
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
  environment.c_library = absl::StrCat("glibc ", gnu_get_libc_version());
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
  Json json = {{"version", kVersion},
               {"compiler", environment.compiler},
               {"c_library", environment.c_library},
               {"instruction_set", environment.instruction_set},
               {"mode", environment.mode},
               {"libraries", environment.libraries},
               {"data", environment.data},
               {"files", environment.files}};
  const Provenance& provenance = environment.provenance;
  AddCommit(provenance, &json);
  if (!provenance.compute_digest.empty()) {
    json[kComputeDigestKey] = provenance.compute_digest;
  }
  if (!provenance.command_line.empty()) {
    json["command_line"] = provenance.command_line;
  }
  return Dump(json);
}

absl::StatusOr<std::vector<std::string>> ProgramDifferences(
    const std::string& run_folder) {
  REGARD_ASSIGN_OR_RETURN(
      const Json json,
      ReadEnvironment(JoinPath(run_folder, "environment.json")));
  std::vector<std::string> differences;
  AddDifferences(FirstProcess(json), ThisProcess({}), &differences);
  return differences;
}

absl::StatusOr<std::vector<std::string>> RecordProcessStart(
    const std::string& run_folder, int64_t step, const Provenance& provenance) {
  const std::string path = JoinPath(run_folder, "environment.json");
  REGARD_ASSIGN_OR_RETURN(Json json, ReadEnvironment(path));
  Json process = ThisProcess(provenance);
  process[kFromStep] = step;
  Json& processes = json[kProcesses];
  if (!processes.is_array()) processes = Json::array();
  if (processes.empty() && step > 0) processes.push_back(FirstProcess(json));
  std::vector<std::string> differences;
  if (!processes.empty()) {
    Json& before = processes.back();
    if (!before.contains(kToStep)) before[kToStep] = step;
    AddDifferences(before, process, &differences);
    // Removes the previous process if it finished no optimizer step, or if a
    // kill lost its steps.
    if (before[kToStep] == before[kFromStep]) {
      processes.erase(processes.end() - 1);
    }
  }
  processes.push_back(std::move(process));
  REGARD_RETURN_IF_ERROR(WriteEnvironment(path, json));
  return differences;
}

absl::Status RecordProcessEnd(const std::string& run_folder, int64_t step) {
  const std::string path = JoinPath(run_folder, "environment.json");
  REGARD_ASSIGN_OR_RETURN(Json json, ReadEnvironment(path));
  if (!json[kProcesses].is_array() || json[kProcesses].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": error: must have an entry in `processes` for the "
                     "process that trains"));
  }
  json[kProcesses].back()[kToStep] = step;
  return WriteEnvironment(path, json);
}

absl::StatusOr<Environment> ReadRunDigests(const std::string& run_folder) {
  REGARD_ASSIGN_OR_RETURN(
      JsonFile file, JsonFile::Read(JoinPath(run_folder, "environment.json")));
  const JsonObject json = file.root();
  json.Require("data");
  Environment digests = {.data = json.Texts("data"),
                         .files = json.Texts("files")};
  if (json.Has("instruction_set")) {
    digests.instruction_set = json.Text("instruction_set");
  }
  std::string& compute = digests.provenance.compute_digest;
  if (json.Has(kComputeDigestKey)) compute = json.Text(kComputeDigestKey);
  if (json.Has(kProcesses)) {
    for (const JsonObject& process : json.Objects(kProcesses)) {
      if (!process.Has(kComputeDigestKey) ||
          process.Text(kComputeDigestKey) != compute) {
        compute.clear();
      }
    }
  }
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
                   digest, ", but environment.json records ", found->second));
}

}  // namespace regard
