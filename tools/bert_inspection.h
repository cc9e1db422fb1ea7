// What the heads of a BERT look at in a text, as numbers and as a page.
#ifndef TOOLS_BERT_INSPECTION_H_
#define TOOLS_BERT_INSPECTION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/report/run_results.h"

namespace regard {

// A row for each head of the layers: the entropy of its weights in nats, and
// how much weight goes to the token itself, the one before, the one after,
// [CLS] and [SEP], averaged over the tokens between [CLS] and [SEP], or over
// all if there are none. Clark et al., "What does BERT look at?", 2019.
Table HeadsTable(const std::vector<LabelledMatrix>& layers);

// One offline page; `name` says which model.
std::string BertInspectionHtml(const std::vector<LabelledMatrix>& layers,
                               absl::string_view name);

}  // namespace regard

#endif  // TOOLS_BERT_INSPECTION_H_
