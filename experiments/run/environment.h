// What a run's bits depend on besides its config: environment.json. It holds no
// time, host or path, so that the file of a repeated run is the same.
#ifndef EXPERIMENTS_RUN_ENVIRONMENT_H_
#define EXPERIMENTS_RUN_ENVIRONMENT_H_

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace regard {

struct Environment {
  std::string compiler = {};
  // Level of the x86-64 architecture that the program is compiled for, such as
  // "x86-64-v3"; the processor's name for others.
  std::string instruction_set = {};
  // "opt" or "debug": whether debug checks are left out.
  std::string mode = {};
  // Library name to version, as compiled against.
  std::map<std::string, std::string> libraries = {};
  // SHA-256 of each data file, by the name that the config gives it.
  std::map<std::string, std::string> data = {};
};

// What this program is built with; `data` is left to the caller.
Environment BuildEnvironment();

// The file's text, in the order of the fields and of names.
std::string EnvironmentJson(const Environment& environment);

// Environment::data of such a text; absent if it is not one.
std::optional<std::map<std::string, std::string>> ReadDataDigests(
    absl::string_view json);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_ENVIRONMENT_H_
