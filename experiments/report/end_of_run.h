// The text that a run prints when it is done: what a person wants to see first.
#ifndef EXPERIMENTS_REPORT_END_OF_RUN_H_
#define EXPERIMENTS_REPORT_END_OF_RUN_H_

#include <optional>
#include <string>
#include <vector>

#include "experiments/report/alignment_text.h"
#include "experiments/report/run_results.h"

namespace regard {

struct EndOfRun {
  std::vector<Metric> metrics = {};
  std::vector<TranslationSample> samples = {};
  std::optional<LabelledMatrix> alignment = {};
  std::string run_path = {};
  std::string report_path = {};  // empty where no report was written
};

// Ends with a newline. Parts that are empty are left out. Fits into `style`'s
// width as far as words allow.
std::string EndOfRunText(const EndOfRun& run, const AlignmentTextStyle& style);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_END_OF_RUN_H_
