// What the heads of a BERT look at in a text, as numbers, and as what pages and
// terminals draw.
#ifndef EXPERIMENTS_REPORT_BERT_INSPECTION_H_
#define EXPERIMENTS_REPORT_BERT_INSPECTION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/text/wordpiece.h"
#include "experiments/report/run_results.h"
#include "language/bert.h"
#include "nn/forward.h"

namespace regard {

struct BertInspection {
  std::vector<std::string> tokens;  // [CLS] and [SEP] included
  // A map for each layer, with a matrix [tokens, tokens] for each head.
  std::vector<LabelledMatrix> layers;
};

// Of one text, on the tape of a step that has begun.
BertInspection InspectBert(const Bert<float>& bert, const WordPiece& pieces,
                           Forward<float>& forward, const BertBatch& text);

// A row for each head: the entropy of its weights in nats, and how much weight
// goes to the token itself, the one before, the one after, [CLS] and [SEP],
// averaged over the tokens between [CLS] and [SEP], or over all if there are
// none. Clark et al., "What does BERT look at?", 2019.
Table HeadsTable(const BertInspection& inspection);

// One offline page; `name` says which model.
std::string BertInspectionHtml(const BertInspection& inspection,
                               absl::string_view name);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_BERT_INSPECTION_H_
