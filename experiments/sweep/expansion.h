// From the description of a sweep to the runs that it trains.
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

// A sweep and where its parts come from: a file, then flags.
struct SweepSource {
  Sweep sweep = {};
  ConfigOrigins origins = {};  // places in the file; empty without a file
  // Parts that the file gave; later ones come from flags.
  int axes_in_file = 0;
  int overrides_in_file = 0;

  // The place of the part at `path`: "grid.textproto:4:3" or "--axis".
  std::string Where(absl::string_view path) const;
};

// Reads the file of a sweep. Errors are complete to print.
absl::StatusOr<SweepSource> ReadSweep(const std::string& path);

// A combination of values. Its runs differ in their seeds only.
struct SweepArm {
  // Unique, made of letters, digits, '.', '_' and '-':
  // "dot__learning_rate_0.004".
  std::string name = {};
  std::vector<size_t> coordinates = {};    // as in GridRun
  std::vector<ConfigText> overrides = {};  // without the seed
};

struct SweepCell {
  size_t arm = 0;
  uint64_t seed = 0;
};

struct SweepPlan {
  // An axis that does not apply to each arm has one more value, kNotApplicable.
  std::vector<Axis> axes = {};
  std::vector<SweepArm> arms = {};
  // All arms of the first seed, then of the second, and so on, so that what is
  // finished can be compared.
  std::vector<SweepCell> cells = {};
};

inline constexpr char kNotApplicable[] = "-";

// Expands a sweep, whose runs all begin with the overrides `first`. The error
// is InvalidArgument and complete to print: it shows all that is wrong with the
// description. Values are not checked against the config.
absl::StatusOr<SweepPlan> ExpandSweep(const SweepSource& source,
                                      std::vector<ConfigText> first = {});

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_EXPANSION_H_
