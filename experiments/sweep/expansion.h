// Expands the description of a sweep into the list of its runs.
#ifndef EXPERIMENTS_SWEEP_EXPANSION_H_
#define EXPERIMENTS_SWEEP_EXPANSION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/ablation/grid.h"
#include "experiments/sweep/sweep.pb.h"
#include "options/config_text.h"
#include "options/reader.h"

namespace regard {

// A sweep, with the origin of each part. Parts from a file precede parts from
// flags.
struct SweepWithOrigins {
  Sweep sweep = {};
  ConfigOrigins origins = {};  // positions in the file; empty without a file
  // The number of axes that the file contains. Flags added the remaining axes.
  int axes_in_file = 0;
  // The number of overrides that the file contains. Flags added the remaining
  // overrides.
  int overrides_in_file = 0;

  // Returns the location of the part at `path`: "grid.textproto:4:3" or
  // "--axis".
  std::string OriginWithColumn(absl::string_view path) const;
};

// Reads the description of a sweep. Error messages can be printed as they are.
absl::StatusOr<SweepWithOrigins> ReadSweep(const std::string& path);

// A combination of values. Its runs differ only in their seeds.
struct SweepArm {
  // Unique name of letters, digits, '.', '_' and '-', such as
  // "dot__learning_rate_0.004".
  std::string name = {};
  std::vector<size_t> coordinates = {};              // see ComparedRun
  std::vector<ConfigTextWithOrigin> overrides = {};  // without the seed
};

struct ArmAndSeed {
  size_t arm = 0;
  uint64_t seed = 0;
};

struct ExpandedSweep {
  // The axes. If an axis does not apply to every arm, it has the additional
  // value kNotApplicable.
  std::vector<Axis> axes = {};
  std::vector<SweepArm> arms = {};
  // All arms with the first seed, then all arms with the second seed, and so
  // on, so that a partial result can be compared.
  std::vector<ArmAndSeed> cells = {};
};

inline constexpr char kNotApplicable[] = "-";

// Expands a sweep. All runs begin with the overrides `first`. Does not check
// values against the config. If the description has errors, returns an
// InvalidArgument error that lists all of them and can be printed as it is.
absl::StatusOr<ExpandedSweep> ExpandSweep(
    const SweepWithOrigins& source,
    std::vector<ConfigTextWithOrigin> first = {});

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_EXPANSION_H_
