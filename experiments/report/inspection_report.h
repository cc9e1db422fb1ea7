// What a model looks at, as a report and a terminal show it.
#ifndef EXPERIMENTS_REPORT_INSPECTION_REPORT_H_
#define EXPERIMENTS_REPORT_INSPECTION_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/inspection.h"
#include "attention/inspection/trace.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"

namespace regard {

// A row for each output: its value and, if there is an alignment, the entropy
// of its weights in nats, where the weight is greatest, and where more of it
// would gain and lose most.
Table OutputsTable(const Inspection<float>& inspection);

// The error of the alignment against gold links; "no gold alignment ..." where
// they are not known, "" if there is no alignment.
std::string ErrorRateText(const Inspection<float>& inspection);

// "Attention" of a page. For each inspection, the weights and gradients of each
// alignment, gold links outlined, and OutputsTable(), which is folded away but
// for the first.
Section AttentionSection(absl::Span<const Inspection<float>> inspections);

// For a terminal: what was asked and answered, the alignment, and the table of
// outputs, each line ended.
std::string InspectionText(const Inspection<float>& inspection,
                           const AlignmentTextStyle& style);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_INSPECTION_REPORT_H_
