// A sentence and what a model looked at to translate it, as numbers, and as
// what pages and terminals draw.
#ifndef EXPERIMENTS_TASKS_TRANSLATION_INSPECTION_H_
#define EXPERIMENTS_TASKS_TRANSLATION_INSPECTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "data/sentence_pair.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "seq2seq/attention_inspection.h"
#include "seq2seq/translator.h"

namespace regard {

struct Inspection {
  // As the model reads them, <eos> included; a word that it does not know is
  // here as it was given.
  std::vector<std::string> source;
  std::vector<std::string> target;
  std::vector<InspectedStep> steps;  // of each target word
  // Empty and absent where gold links are not known.
  std::vector<AlignmentLink> gold;
  std::optional<double> alignment_error_rate;
};

// `source` and `target` are not empty, and the model attends. `gold`, in words
// without <eos>, is empty where it is not known. One pass, forwards and
// backwards, for each target word, over all words before it.
Inspection Inspect(const Translator& translator,
                   const std::vector<std::string>& source,
                   const std::vector<std::string>& target,
                   const std::vector<AlignmentLink>& gold);

// "Attention" of a page. For each inspection, the weights and gradients of each
// attention over the source, [target, source], gold links outlined, and a table
// with a row for each target word: log probability, entropy, where the weight
// is greatest, and where more of it would gain and lose most. Tables are folded
// away but for the first.
Section AttentionSection(absl::Span<const Inspection> inspections);

// For a terminal, each line ended.
std::string InspectionText(const Inspection& inspection,
                           const AlignmentTextStyle& style);

// One offline page; `name` is the experiment's.
std::string InspectionHtml(const Inspection& inspection,
                           const std::string& name);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRANSLATION_INSPECTION_H_
