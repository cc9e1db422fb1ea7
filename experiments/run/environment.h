// environment.json: the processes that trained a run, and everything except the
// config that determines its results. Only the provenance contains times, hosts
// or paths, so a repeated run without provenance writes the same file.
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

// Source tree and command line of a run.
struct Provenance {
  GitTree tree = {};  // working tree in which `bazel run` was started
  std::vector<std::string> command_line = {};  // without the program name
  // See Plugins::compute_digest. Empty if unknown.
  std::string compute_digest = {};
};

// Returns the command line and the working tree. The working tree is in
// BUILD_WORKSPACE_DIRECTORY, a variable that `bazel run` sets.
Provenance ReadProvenance(int argc, char** argv);

struct Environment {
  std::string compiler = {};
  // Name and version of the C library at run time.
  std::string c_library = {};
  // Level of the x86-64 architecture that the program is compiled for, such as
  // "x86-64-v3". On other architectures, the name of the processor.
  std::string instruction_set = {};
  // "opt" or "debug", depending on whether debug checks are compiled in.
  std::string mode = {};
  // Versions of the libraries that the program is compiled against, by name.
  std::map<std::string, std::string> libraries = {};
  // SHA-256 of each data file, by the config field that names it.
  std::map<std::string, std::string> data = {};
  // SHA-256 of each file in the run folder that predictions need.
  std::map<std::string, std::string> files = {};
  // The source tree and the command line. If the command line is empty, only
  // `compute_digest` is written.
  Provenance provenance = {};
};

// Describes this program. The fields `data`, `files` and `provenance` are
// empty.
Environment BuildEnvironment();

// Returns the text of environment.json. The keys are in the order of the
// fields, and names within a field are sorted.
std::string EnvironmentJson(const Environment& environment);

// Returns the differences between this program and the program that started the
// run, such as "compiler: GCC 12.2.0 before, GCC 14.2.0 now". Error messages
// can be printed as they are.
absl::StatusOr<std::vector<std::string>> ProgramDifferences(
    const std::string& run_folder);

// Adds an entry for this process, which trains from `step`, to `processes` in
// environment.json. If the previous process was killed, its entry ends at
// `step`. A file without `processes` first gets an entry for the process that
// wrote its top-level keys. Returns the differences from the previous program
// in the form of ProgramDifferences(), or an empty list for the first process.
// Error messages can be printed as they are.
absl::StatusOr<std::vector<std::string>> RecordProcessStart(
    const std::string& run_folder, int64_t step, const Provenance& provenance);

// Sets `to_step` of the last process. Error messages can be printed as they
// are.
absl::Status RecordProcessEnd(const std::string& run_folder, int64_t step);

// Reads `data`, `files`, `instruction_set` and `compute_digest` from
// environment.json. Earlier versions wrote neither `files` nor
// `compute_digest`. `compute_digest` is also empty if the processes of the run
// had different digests. Error messages can be printed as they are.
absl::StatusOr<Environment> ReadRunDigests(const std::string& run_folder);

// Returns an error if `text` differs from the recorded digest of the file
// `name`. Returns OK if the run has recorded no digest. Error messages can be
// printed as they are.
absl::Status CheckRunFile(const std::string& run_folder, absl::string_view name,
                          absl::string_view text);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_ENVIRONMENT_H_
