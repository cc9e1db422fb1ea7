// environment.json: what determines the results of a run besides its config,
// and which processes trained it. Apart from the provenance, it holds no time,
// host or path, so a repeated run writes the same file.
#ifndef EXPERIMENTS_RUN_ENVIRONMENT_H_
#define EXPERIMENTS_RUN_ENVIRONMENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "files/git_tree.h"

namespace regard {

// Where a run comes from.
struct Provenance {
  GitTree tree = {};  // that the program was started from
  std::vector<std::string> command_line = {};  // without the program
  // Plugins::compute_digest; empty where it is not known.
  std::string compute_digest = {};
};

// The working tree is that of BUILD_WORKSPACE_DIRECTORY, which `bazel run`
// sets.
Provenance ReadProvenance(int argc, char** argv);

struct Environment {
  std::string compiler = {};
  // Name and version of the C library that the program runs on.
  std::string c_library = {};
  // Level of the x86-64 architecture that the program is compiled for, such as
  // "x86-64-v3"; the processor's name for others.
  std::string instruction_set = {};
  // "opt" or "debug": whether debug checks are left out.
  std::string mode = {};
  // Library name to version, as compiled against.
  std::map<std::string, std::string> libraries = {};
  // SHA-256 of each data file, by the name that the config gives it.
  std::map<std::string, std::string> data = {};
  // SHA-256 of each file of the run folder that using the model needs.
  std::map<std::string, std::string> files = {};
  // Without a command line, only its digest is written.
  Provenance provenance = {};
};

// What this program is built with; all else is left to the caller.
Environment BuildEnvironment();

// The file's text, in the order of the fields and of names.
std::string EnvironmentJson(const Environment& environment);

// How this program differs from the one that began the run in a folder, such as
// "compiler: GCC 12.2.0 before, GCC 14.2.0 now". Errors are complete to print.
absl::StatusOr<std::vector<std::string>> ProgramDifferences(
    const std::string& run_folder);

// Adds an entry for this process, which trains from `step` on, to `processes`
// in environment.json of a run folder. The entry before it ends at `step` if it
// was killed. A folder without `processes` gets an entry for the process that
// wrote its top-level keys. Returns how this program differs from the one
// before, as ProgramDifferences(); nothing for the first. Errors are complete
// to print.
absl::StatusOr<std::vector<std::string>> BeginProcess(
    const std::string& run_folder, int64_t step, const Provenance& provenance);

// Sets `to_step` of the last process. Errors are complete to print.
absl::Status EndProcess(const std::string& run_folder, int64_t step);

// `data`, `files`, `instruction_set` and `compute_digest` in environment.json
// of a run folder. Earlier programs wrote neither `files` nor the digest, which
// is empty, too, if the processes that trained the run had different digests.
// Errors are complete to print.
absl::StatusOr<Environment> ReadRunDigests(const std::string& run_folder);

// An error if `text` is not what the run wrote to its file `name`, as far as
// its digests tell. Errors are complete to print.
absl::Status CheckRunFile(const std::string& run_folder, absl::string_view name,
                          absl::string_view text);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_ENVIRONMENT_H_
