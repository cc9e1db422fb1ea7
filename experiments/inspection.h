// A sentence and what a trained model looked at to translate it, as numbers,
// text and a page.
#ifndef EXPERIMENTS_INSPECTION_H_
#define EXPERIMENTS_INSPECTION_H_

#include <optional>
#include <string>
#include <vector>

#include "experiments/report/alignment_text.h"
#include "experiments/trained_translator.h"
#include "seq2seq/attention_inspection.h"
#include "seq2seq/sentence_pair.h"

namespace regard {

struct Inspection {
  // As the model reads them, <eos> included; a word that it does not know is
  // here as it was typed.
  std::vector<std::string> source;
  std::vector<std::string> target;
  std::vector<InspectedStep> steps;  // of each target word
  // Gold links, and the alignment error rate against them, where the run's data
  // knows this pair.
  std::vector<AlignmentLink> gold;
  std::optional<double> alignment_error_rate;
};

// Gold links of a pair, in words without <eos>, from the data that a config
// generates: of a phrasebook, of sequences to copy or to reverse. Empty where
// they are not known.
std::vector<AlignmentLink> GoldAlignment(
    const Experiment& config, const std::vector<std::string>& source,
    const std::vector<std::string>& target);

// `source` and `target` are not empty, and the model attends.
Inspection Inspect(TrainedTranslator& trained,
                   const std::vector<std::string>& source,
                   const std::vector<std::string>& target);

// For a terminal, each line ended.
std::string InspectionText(const Inspection& inspection,
                           const AlignmentTextStyle& style);

// One offline page; `name` is the experiment's.
std::string InspectionHtml(const Inspection& inspection,
                           const std::string& name);

}  // namespace regard

#endif  // EXPERIMENTS_INSPECTION_H_
