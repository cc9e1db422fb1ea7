// Shows the attention of a model for one prediction, as a report section and as
// text.
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

// Returns a table with one row for each output and its value. With an
// alignment, a row also has the entropy of its weights in nats, and the key
// with the largest weight. Two more columns name the keys at which more weight
// would increase or decrease the output most.
Table OutputsTable(const Inspection<float>& inspection);

// Returns the error rate of the alignment against gold alignments. Returns "no
// gold alignment ..." if there are no gold alignments, and "" if there is no
// alignment.
std::string ErrorRateText(const Inspection<float>& inspection);

// Returns the section "Attention" of a page. Shows the weights and gradients of
// each alignment, with gold alignments outlined, and OutputsTable(). Only the
// table of the first inspection is unfolded.
Section AttentionSection(absl::Span<const Inspection<float>> inspections);

// Returns a text for terminals: the input and the prediction, the alignment,
// and the table of outputs. Every line ends with a newline.
std::string InspectionText(const Inspection<float>& inspection,
                           const AlignmentTextStyle& style);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_INSPECTION_REPORT_H_
